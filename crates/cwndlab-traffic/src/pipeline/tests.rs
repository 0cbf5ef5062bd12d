use std::collections::BTreeMap;

use cwndlab_units::Time;

use crate::event::{Command, Event, Losses, Side};
use crate::testing::{app, Network};
use crate::AppSpec;

const JSON: &str = r#"{"kind": "pipeline", "request_bytes": {"kind": "fixed", "value": 100},
    "response_bytes": {"kind": "fixed", "value": 5000}, "depth": 3}"#;

fn ms(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

#[test]
fn requests_up_to_the_depth_are_under_way_at_once_on_one_connection() {
    let net = Network::new(app(JSON, 1).unwrap(), Time::from_millis(100)).run(Time::from_millis(450));
    assert_eq!(net.connects.len(), 1);
    // a handshake of 100 ms, then three transactions in each round trip
    let done: Vec<_> = net.records.iter().filter(|r| r.end != Time::MAX).map(|r| (r.index, ms(r.start))).collect();
    assert_eq!(done, [(0, 100), (1, 100), (2, 100), (3, 200), (4, 200), (5, 200), (6, 300), (7, 300), (8, 300)]);
    assert!(net.records[..9].iter().all(|r| ms(r.end - r.start) == 100 && r.bytes == 5000));
    let unfinished: Vec<_> = net.records[9..].iter().map(|r| (r.index, ms(r.start), r.end == Time::MAX)).collect();
    assert_eq!(unfinished, [(9, 400, true), (10, 400, true), (11, 400, true)]);
}

#[test]
fn the_last_response_closes_the_connection() {
    let json = JSON.replace("\"depth\": 3", "\"depth\": 3, \"transactions\": 4");
    let net = Network::new(app(&json, 1).unwrap(), Time::from_millis(100)).run(Time::from_secs(5));
    assert_eq!(
        net.records.iter().map(|r| (r.index, ms(r.end))).collect::<Vec<_>>(),
        [(0, 200), (1, 200), (2, 200), (3, 300)]
    );
    assert_eq!(net.connects.len(), 1);
}

#[test]
fn a_connection_that_cannot_be_opened_is_opened_again() {
    let json = JSON.replace("\"depth\": 3", "\"depth\": 2, \"transactions\": 2");
    let mut net = Network::new(app(&json, 1).unwrap(), Time::from_millis(100));
    net.broken = [1].into();
    let net = net.run(Time::from_secs(5));
    assert_eq!(net.connects.iter().map(|(at, _)| ms(*at)).collect::<Vec<_>>(), [0, 400]);
    assert_eq!(net.records.iter().map(|r| (ms(r.start), ms(r.end))).collect::<Vec<_>>(), [(500, 600), (500, 600)]);
}

/// Hands events to an application at a time in ms, and returns its commands.
fn handle(app: &mut crate::App, now: u64, event: Event) -> Vec<Command> {
    let mut out = Vec::new();
    app.handle(Time::from_millis(now), event, &mut out);
    out
}

fn lost(retransmits: u32) -> Losses {
    Losses { retransmits, timeouts: 0 }
}

fn arrived(side: Side, total: u64, losses: Losses) -> Event {
    Event::Delivered { conn: 0, side, total, losses }
}

#[test]
fn the_server_answers_each_request_once_it_is_whole() {
    let mut app = app(JSON, 1).unwrap();
    handle(&mut app, 0, Event::Start);
    handle(&mut app, 100, Event::Established { conn: 0, side: Side::Client });
    let writes = |out: &[Command]| out.iter().filter(|c| matches!(c, Command::Write { .. })).count();
    let out = handle(&mut app, 150, arrived(Side::Server, 199, lost(0)));
    assert_eq!(writes(&out), 1, "the second request lacks a byte");
    assert!(matches!(out[1], Command::NotifyAt { side: Side::Server, total: 200, .. }), "{out:?}");
    assert_eq!(writes(&handle(&mut app, 160, arrived(Side::Server, 300, lost(0)))), 2);
    assert!(handle(&mut app, 170, arrived(Side::Server, 300, lost(0))).is_empty());
    // the next request is the only one that the server has not answered, so its arrival is awaited
    let out = handle(&mut app, 200, arrived(Side::Client, 5000, lost(0)));
    assert!(out.contains(&Command::NotifyAt { conn: 0, side: Side::Server, total: 400 }), "{out:?}");
    assert!(out.contains(&Command::NotifyAt { conn: 0, side: Side::Client, total: 10_000 }), "{out:?}");
}

#[test]
fn a_transaction_counts_the_losses_since_its_own_request() {
    let mut app = app(JSON, 1).unwrap();
    handle(&mut app, 0, Event::Start);
    handle(&mut app, 100, Event::Established { conn: 0, side: Side::Client });
    handle(&mut app, 150, arrived(Side::Server, 300, lost(0)));
    let losses = |out: Vec<Command>| -> Vec<u32> {
        out.iter().filter_map(|c| if let Command::Record(r) = c { Some(r.retransmits) } else { None }).collect()
    };
    assert_eq!(losses(handle(&mut app, 200, arrived(Side::Client, 10_000, lost(4)))), [4, 4]);
    handle(&mut app, 250, arrived(Side::Server, 500, lost(4)));
    // the third began with the first two, the fourth and the fifth at 200 ms
    assert_eq!(losses(handle(&mut app, 300, arrived(Side::Client, 25_000, lost(5)))), [5, 1, 1]);
}

#[test]
fn a_broken_connection_leaves_its_transactions_unfinished_and_a_new_one_begins_at_its_first_byte() {
    let mut app = app(JSON, 1).unwrap();
    handle(&mut app, 0, Event::Start);
    handle(&mut app, 100, Event::Established { conn: 0, side: Side::Client });
    handle(&mut app, 150, arrived(Side::Server, 100, lost(0)));
    let out = handle(&mut app, 200, Event::Finished { conn: 0, failed: true, losses: lost(7) });
    let records: Vec<_> = out.iter().filter_map(|c| if let Command::Record(r) = c { Some(*r) } else { None }).collect();
    assert_eq!(records.iter().map(|r| (r.index, r.retransmits)).collect::<Vec<_>>(), [(0, 7), (1, 7), (2, 7)]);
    assert!(records.iter().all(|r| r.end == Time::MAX));
    assert!(matches!(out[3], Command::Timer { at } if ms(at) == 200), "{out:?}");
    assert!(matches!(handle(&mut app, 200, Event::Timer)[..], [Command::Connect { .. }]));
    let out = handle(&mut app, 300, Event::Established { conn: 0, side: Side::Client });
    assert!(out.contains(&Command::NotifyAt { conn: 0, side: Side::Server, total: 100 }), "{out:?}");
    assert!(out.contains(&Command::NotifyAt { conn: 0, side: Side::Client, total: 5000 }), "{out:?}");
}

#[test]
fn a_depth_of_none_or_of_too_many_is_an_error() {
    for (depth, wrong) in [(0, true), (1, false), (10_000, false), (10_001, true)] {
        let json = JSON.replace("\"depth\": 3", &format!("\"depth\": {depth}"));
        let spec: AppSpec = serde_json::from_str(&json).unwrap();
        assert_eq!(spec.check(&BTreeMap::new()).is_err(), wrong, "{depth}");
    }
}

#[test]
fn a_pipeline_of_one_sends_what_requests_in_turn_do() {
    let one = JSON.replace("\"depth\": 3", "\"depth\": 1");
    let turns = JSON.replace("pipeline", "rr").replace(", \"depth\": 3", "");
    let run = |json: &str| Network::new(app(json, 1).unwrap(), Time::from_millis(100)).run(Time::from_secs(2)).records;
    assert_eq!(run(&one), run(&turns));
}
