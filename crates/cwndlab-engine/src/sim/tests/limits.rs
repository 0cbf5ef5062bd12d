//! Runs that would not end, or would fill the memory, end with an error.

use cwndlab_tcp::{Profile, RecoveryKind};

use super::*;
use crate::budget::{Budget, RunError};
use crate::probe::NoProbe;

fn small(budget: Budget, scenario: &Scenario) -> Result<Summary, RunError> {
    let simulation = Simulation::new(scenario, 1, 0, NoProbe).unwrap().with_budget(budget);
    simulation.run().map(|(summary, _)| summary)
}

fn transfer(bytes: u64, duration_s: u64) -> Scenario {
    chain(&tcp(Profile::Rfc5681, RecoveryKind::NewReno), bytes, DROP_TAIL, "", duration_s)
}

#[test]
fn a_run_takes_as_many_events_as_its_budget_has_and_no_more() {
    let scenario = transfer(1_000_000, 100);
    let events = small(Budget::UNLIMITED, &scenario).unwrap().events;
    let with = |events| small(Budget { events, ..Budget::default() }, &scenario);
    assert_eq!(with(events).unwrap().events, events);
    let error = with(events - 1).unwrap_err();
    let RunError::Events { budget, at, duration } = error else { panic!("{error}") };
    assert_eq!((budget, duration), (events - 1, scenario.duration_ns));
    assert!(at > Time::ZERO && at < duration && error.at() == at, "{error}");
}

/// Two hundred senders put 65,535 segments each into the unlimited queue of the first link, in two hundred events.
#[test]
fn a_burst_within_few_events_ends_at_the_memorys_budget() {
    let mut scenario = chain(&tcp(Profile::Ns2_1998, RecoveryKind::Reno), 1 << 40, DROP_TAIL, "", 100);
    scenario.tcp[0].initial_window = cwndlab_tcp::InitialWindow::Segments(65_535);
    scenario.tcp[0].max_window = cwndlab_tcp::MaxWindow::Segments(65_535);
    scenario.traffic = vec![scenario.traffic[0].clone(); 200];
    scenario.check().unwrap();
    let error = small(Budget { memory_bytes: 100 << 20, ..Budget::default() }, &scenario).unwrap_err();
    let RunError::Memory { budget_bytes, packets, .. } = error else { panic!("{error}") };
    assert_eq!(budget_bytes, 100 << 20);
    assert!((900_000..2_200_000).contains(&packets), "{packets}");
}

#[test]
fn a_run_in_which_nothing_takes_time_ends() {
    let mut scenario = transfer(1 << 40, 100);
    for link in &mut scenario.links {
        (link.rate_bps, link.delay_ns) = (cwndlab_units::Rate::from_bps(400_000_000_000), Time::ZERO);
    }
    let tcp = &mut scenario.tcp[0];
    (tcp.mss, tcp.header_bytes, tcp.ack_bytes) = (1, 0, 1);
    scenario.check().unwrap();
    let error = small(Budget::default(), &scenario).unwrap_err();
    assert!(matches!(error, RunError::Standstill { .. }), "{error}");
}

#[test]
fn a_run_stops_when_it_is_asked_to() {
    let scenario = transfer(1 << 40, 10_000);
    let mut looks = Vec::new();
    let stopped = Simulation::new(&scenario, 1, 0, NoProbe).unwrap().run_while(&mut |now| {
        looks.push(now);
        looks.len() <= 3
    });
    let error = stopped.err().unwrap();
    assert!(matches!(error, RunError::Stopped { .. }) && looks.len() == 4, "{error}");
    assert!(looks[0] == Time::ZERO && looks.is_sorted() && looks[3] == error.at() && looks[1] < looks[3], "{looks:?}");
    let at_once = Simulation::new(&scenario, 1, 0, NoProbe).unwrap().run_while(&mut |_| false);
    assert_eq!(at_once.err().unwrap().at(), Time::ZERO);
}

/// Ten thousand flows, of which at most a few are open at a time: the budget is enough for 100 connections.
#[test]
fn flows_in_sequence_need_the_memory_of_those_that_are_open() {
    let mut scenario = transfer(1, 110);
    scenario.tcp[0].fin.as_mut().unwrap().time_wait_ns = Time::from_millis(1);
    let flows = r#"{"kind": "short-flows", "arrival_rate": 100, "flow_bytes": {"kind": "fixed", "value": 1000}, "flows": 10000}"#;
    scenario.traffic[0].app = serde_json::from_str(flows).unwrap();
    let bytes = 100 * size_of::<Conn>() as u64;
    let summary = small(Budget { memory_bytes: bytes, ..Budget::default() }, &scenario).unwrap();
    assert_eq!(summary.connections, 10_000);
}

/// A packet in flight takes 112 bytes: its time, its header and the record of its segment.
#[test]
fn the_memory_of_a_run_is_that_of_its_packets_connections_and_applications() {
    let scenario = transfer(1, 10);
    let mut simulation = Simulation::new(&scenario, 1, 0, NoProbe).unwrap();
    simulation.run_until(Time::from_secs(5)).unwrap();
    assert_eq!(simulation.conns.len(), 1);
    let counts = simulation.summary;
    simulation.summary = Summary { injected: 10, delivered: 3, dropped: 2, ..counts };
    simulation.watch.fixed_bytes = 1_000_000;
    let bytes = 5 * 112 + size_of::<Conn>() as u64 + 1_000_000;
    simulation.watch.budget.memory_bytes = bytes;
    assert_eq!(simulation.check_memory(), Ok(()));
    simulation.watch.budget.memory_bytes = bytes - 1;
    let RunError::Memory { budget_bytes, at, connections, packets, .. } = simulation.check_memory().unwrap_err() else {
        panic!("another error")
    };
    assert_eq!((budget_bytes, at, connections, packets), (bytes - 1, Time::from_secs(5), 1, 5));
}

/// A million events at an instant, and eight for each source of events, are a standstill.
#[test]
fn time_stands_still_after_many_events_at_one_instant() {
    let scenario = transfer(1, 10);
    let mut simulation = Simulation::new(&scenario, 1, 0, NoProbe).unwrap();
    // Sources: two for each of six links, an application, the sampler, and two for each connection.
    let most = 1_000_000 + 8 * (2 * 6 + 1 + 1);
    simulation.watch.last = Time::from_secs(1);
    simulation.now = Time::from_secs(2);
    assert_eq!(simulation.look(most), Ok(()));
    assert_eq!((simulation.watch.standing, simulation.watch.last), (0, simulation.now));
    assert_eq!(simulation.look(most - 1), Ok(()));
    assert_eq!(simulation.look(1), Err(RunError::Standstill { at: simulation.now, events: most }));
}

/// Inside an event, the budget is looked at again after another 2^20 packets, and packets that need labels are asked for
/// one by one.
#[test]
fn a_look_inside_an_event_says_when_the_next_one_is() {
    for delays in [false, true] {
        let mut scenario = transfer(1, 10);
        scenario.probes = ProbeSpec { delays, ..ProbeSpec::default() };
        let mut simulation = Simulation::new(&scenario, 1, 0, Log::default()).unwrap();
        simulation.summary.injected = 77;
        assert!(simulation.look_inside());
        let next = 77 + (1 << 20);
        assert_eq!(simulation.watch.look_at_packet, next);
        assert_eq!(simulation.watch.plain_below, if delays { 0 } else { next });
        simulation.watch.budget.memory_bytes = 0;
        assert!(!simulation.look_inside() && !simulation.has_room());
        assert_eq!((simulation.watch.look_at_packet, simulation.watch.plain_below), (0, 0));
        assert!(simulation.events.is_empty(), "nothing follows");
    }
}
