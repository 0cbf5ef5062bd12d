//! What a simulation takes from its scenario: queues, distributions, names, hosts and links that delay.

use cwndlab_tcp::WindowLawKind;

use super::*;
use crate::probe::NoProbe;
use crate::{build_application, Streams};

fn reno() -> String {
    tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno)
}

#[test]
fn a_queue_of_a_kernel_is_refused_with_its_place() {
    let scenario = chain(&reno(), 1, r#"{"kind": "kernel", "qdisc": "fq"}"#, "", 1);
    let error = Simulation::new(&scenario, 1, 0, NoProbe).err().unwrap().to_string();
    assert!(error.starts_with("links[1] (r1>r2).queue: ") && error.contains("linux-virtual"), "{error}");
}

#[test]
fn an_application_is_built_by_its_number() {
    let scenario = chain(&reno(), 1, DROP_TAIL, "", 1);
    assert!(build_application(&scenario, 0, 1460, Streams::new(1, 0)).is_ok());
    let error = build_application(&scenario, 1, 1460, Streams::new(1, 0)).err().unwrap().to_string();
    assert_eq!(error, "traffic: entry 1 does not exist; there are 1");
}

#[test]
fn distributions_that_a_scenario_names_are_those_of_its_applications() {
    let mut scenario = chain(&reno(), 1, DROP_TAIL, "", 20);
    scenario.distributions = serde_json::from_str(r#"{"sizes": {"kind": "fixed", "value": 12345}}"#).unwrap();
    let app = r#"{"kind": "ftp", "file_bytes": {"kind": "named", "name": "sizes"}, "files": 2}"#;
    scenario.traffic[0].app = serde_json::from_str(app).unwrap();
    let (_, log) = run(&scenario, 0);
    assert_eq!(log.objects.iter().map(|one| one.bytes).collect::<Vec<_>>(), [12_345; 2]);
}

/// Two sources share what a queue isolates by source, though one of them has three connections.
#[test]
fn a_queue_that_knows_hosts_knows_those_of_each_route() {
    let share = |isolation: &str| {
        let queue = format!(r#"{{"kind": "cake", "rate_bps": 1400000, "isolation": "{isolation}"}}"#);
        let mut scenario = merge(&queue);
        for k in 0..2 {
            let mut more = scenario.traffic[0].clone();
            more.name = format!("more {k}");
            scenario.traffic.push(more);
        }
        for entry in &mut scenario.traffic {
            entry.app = serde_json::from_str(r#"{"kind": "bulk", "from": "client"}"#).unwrap();
        }
        let (_, log) = run(&scenario, 0);
        let of = |traffic| {
            log.connections.iter().filter(|one| one.traffic == traffic).map(|one| one.bytes_up as f64).sum::<f64>()
        };
        of(1) / (0..4).map(of).sum::<f64>()
    };
    let (by_flow, by_source) = (share("flows"), share("dual-srchost"));
    assert!((by_flow - 0.25).abs() < 0.05 && (by_source - 0.5).abs() < 0.06, "{by_flow} {by_source}");
}

/// A law that draws has a stream for each end of each connection of each traffic entry.
#[test]
fn laws_that_draw_have_streams_by_the_names_of_their_traffic() {
    let mut scenario = chain(&reno(), 3000, DROP_TAIL, "", 10);
    scenario.tcp[0].window_law = WindowLawKind::Bbr1;
    scenario.tcp[0].pacing = true;
    let mut second = scenario.traffic[0].clone();
    second.name = "second".into();
    scenario.traffic.push(second);
    let names = |scenario: &Scenario| Simulation::new(scenario, 1, 0, NoProbe).unwrap().traffic_names;
    assert_eq!(names(&scenario), ["transfer", "second"]);
    scenario.tcp[0].window_law = WindowLawKind::Reno;
    assert!(names(&scenario).is_empty());
}

/// Delays that keep the order are drawn as packets enter their first link; all arrive, and later than without them.
#[test]
fn a_first_link_with_jitter_delivers_all_packets() {
    let mut scenario = chain(&reno(), 60_000, DROP_TAIL, "", 60);
    let (plain, without) = run(&scenario, 0);
    let jitter = serde_json::from_str(r#"[{"kind": "jitter", "max_ns": 5000000}]"#).unwrap();
    scenario.links[0].impairments = jitter;
    let (late, log) = run(&scenario, 0);
    assert_eq!((late.dropped, late.in_flight, late.injected), (0, 0, late.delivered));
    assert_eq!((log.connections[0].bytes_up, log.connections[0].retransmits), (60_000, 0));
    assert!(log.objects[0].end > without.objects[0].end + Time::from_millis(3) && plain.dropped == 0);
}

/// Intervals of limits and of states, by connection.
#[derive(Default)]
struct Traced(Vec<(Way, cwndlab_tcp::Traced)>);

impl Probe for Traced {
    const ENABLED: bool = true;
    fn traced(&mut self, way: Way, traced: &cwndlab_tcp::Traced) {
        self.0.push((way, *traced));
    }
}

#[test]
fn traces_of_several_connections_are_kept_apart_and_are_of_what_is_asked_for() {
    use cwndlab_tcp::Traced::{Expired, Limited, Was};
    let mut scenario = chain(&reno(), 60_000, DROP_TAIL, r#"{"kind": "bernoulli", "p": 0.05}"#, 30);
    for k in 1..3 {
        let mut more = scenario.traffic[0].clone();
        (more.name, more.start_ns) = (format!("transfer {k}"), Time::from_millis(100 * k));
        scenario.traffic.push(more);
    }
    for (limits, states) in [(true, false), (false, true)] {
        (scenario.probes.limits, scenario.probes.states) = (limits, states);
        let seen = Simulation::new(&scenario, 1, 0, Traced::default()).unwrap().run().unwrap().1 .0;
        assert!(seen
            .iter()
            .all(|(_, one)| matches!(one, Limited { .. }) == limits
                && matches!(one, Was { .. } | Expired { .. }) == states));
        for (connection, from_client) in (0..3).flat_map(|k| [(k, true), (k, false)]) {
            let way = Way { connection, from_client };
            let span = |one: &cwndlab_tcp::Traced| match *one {
                Limited { from, to, .. } | Was { from, to, .. } => Some((from, to)),
                Expired { .. } => None,
            };
            let mine = seen.iter().filter(|(of, _)| *of == way);
            let spans: Vec<_> = mine.filter_map(|(_, one)| span(one)).collect();
            assert_eq!(spans[0].0, Time::from_millis(100 * u64::from(connection)), "{way:?}");
            assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "{way:?}: {spans:?}");
            assert!(!from_client || spans.len() > 2, "{way:?}: {spans:?}");
        }
    }
}

/// The records of a probe count in the memory of a run.
#[test]
fn a_run_ends_if_its_records_take_too_much() {
    struct Heavy(u64);
    impl Probe for Heavy {
        const ENABLED: bool = true;
        fn held_bytes(&self) -> u64 {
            self.0
        }
    }
    let scenario = chain(&reno(), 1, DROP_TAIL, "", 1);
    for (held, fits) in [(1000, true), (1001, false)] {
        let mut simulation = Simulation::new(&scenario, 1, 0, Heavy(held)).unwrap();
        simulation.watch.budget.memory_bytes = simulation.watch.fixed_bytes + 1000;
        assert_eq!(simulation.check_memory().is_ok(), fits, "{held}");
    }
}
