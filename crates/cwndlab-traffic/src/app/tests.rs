//! What all kinds of applications have in common: the fields that are checked, and what is said of their transport.

use serde_json::{json, Value};

use super::*;
use crate::dist::Rng;
use crate::event::{Command, ObjectRecord, Side};

fn fixed(value: f64) -> Value {
    json!({"kind": "fixed", "value": value})
}

/// The least that each kind needs, and the fields that hold distributions.
fn kinds() -> Vec<(Value, Vec<&'static str>)> {
    let size = fixed(1000.0);
    let common = ["packet_bytes", "first_s", "duration_s"];
    let more = |fields: &[&'static str]| [&common[..], fields].concat();
    vec![
        (json!({"kind": "bulk"}), vec!["first_s"]),
        (json!({"kind": "ftp", "file_bytes": size}), vec!["file_bytes", "request_bytes", "pause_s", "first_s"]),
        (
            json!({"kind": "web", "protocol": "http/1.1", "clock": "syn", "inline_trigger": "whole-primary",
                "object_bytes": size, "request_bytes": size, "think_s": fixed(1.0)}),
            vec!["object_bytes", "request_bytes", "think_s", "first_s", "inline_bytes"],
        ),
        (
            json!({"kind": "crr", "request_bytes": size, "response_bytes": size}),
            vec!["request_bytes", "response_bytes", "first_s"],
        ),
        (
            json!({"kind": "rr", "request_bytes": size, "response_bytes": size}),
            vec!["request_bytes", "response_bytes", "think_s", "first_s"],
        ),
        (
            json!({"kind": "pipeline", "request_bytes": size, "response_bytes": size, "depth": 2}),
            vec!["request_bytes", "response_bytes", "first_s"],
        ),
        (json!({"kind": "short-flows", "arrival_rate": 5.0, "flow_bytes": size}), vec!["flow_bytes", "first_s"]),
        (json!({"kind": "cbr", "rate_bps": 9000}), more(&[])),
        (
            json!({"kind": "on-off", "rate_bps": 9000, "on_s": fixed(1.0), "off_s": fixed(1.0)}),
            more(&["on_s", "off_s"]),
        ),
        (json!({"kind": "poisson", "rate_bps": 9000}), more(&[])),
        (
            json!({"kind": "voip", "talk_s": fixed(1.0), "silence_s": fixed(1.0)}),
            more(&["interval_s", "talk_s", "silence_s"]),
        ),
    ]
}

fn read(spec: &Value) -> AppSpec {
    serde_json::from_value(spec.clone()).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

#[test]
fn every_distribution_of_every_kind_is_checked() {
    let shared = BTreeMap::new();
    for (spec, fields) in kinds() {
        assert_eq!(read(&spec).check(&shared), Ok(()), "{spec}");
        for field in fields {
            let mut bad = spec.clone();
            bad[field] = json!({"kind": "uniform", "low": 2.0, "high": 1.0});
            let error = read(&bad).check(&shared).expect_err(field).to_string();
            assert!(error.starts_with(field), "{bad}: {error}");
        }
    }
}

/// Those that send datagrams, and only those, have packets with a codepoint.
#[test]
fn datagrams_have_their_sizes_and_their_codepoint() {
    for (spec, _) in kinds() {
        let kind = spec["kind"].as_str().unwrap().to_owned();
        let unresponsive = ["cbr", "on-off", "poisson", "voip"].contains(&&kind[..]);
        assert_eq!(read(&spec).is_unresponsive(), unresponsive, "{kind}");
        let mut marked = spec.clone();
        if unresponsive {
            marked["ecn"] = "ect1".into();
            marked["packet_bytes"] = fixed(777.0);
        }
        let expected = unresponsive.then_some((&Dist::Fixed { value: 777.0 }, EcnField::Ect1));
        assert_eq!(read(&marked).datagrams(), expected, "{kind}");
    }
    let video = json!({"kind": "video", "encoded_rate_bps": 500_000, "packet_bytes": fixed(777.0), "ecn": "ect0"});
    assert_eq!(read(&video).datagrams(), Some((&Dist::Fixed { value: 777.0 }, EcnField::Ect0)));
    assert!(read(&video).is_unresponsive());
}

fn built(spec: &Value, over_quic: bool) -> App {
    let shared = BTreeMap::new();
    let mut setup = Setup {
        tcp_client: 3,
        tcp_server: 4,
        mss: 1000,
        over_quic,
        ip_header_bytes: 20,
        shared: &shared,
        stream: &mut |name| Rng::new(name.len() as u128),
    };
    App::new(&read(spec), &mut setup).unwrap()
}

/// Memory grows with the transactions that may be under way, and with the connections of a request.
#[test]
fn memory_is_in_proportion_to_what_may_be_under_way() {
    let size = fixed(1000.0);
    let of = |key: &str, n: u32| {
        let mut spec = json!({"request_bytes": size, "response_bytes": size});
        (spec["kind"], spec[key]) = (if key == "depth" { "pipeline" } else { "rr" }.into(), n.into());
        built(&spec, false).memory_bytes()
    };
    for key in ["depth", "fan_out"] {
        let one = of(key, 2) / 2;
        assert!(one >= 8 && [2, 3, 10].iter().all(|&n| of(key, n) == one * u64::from(n)), "{key}: {one}");
    }
    assert_eq!(built(&json!({"kind": "bulk"}), false).memory_bytes(), 0);
}

/// Over QUIC, datagrams follow each other once the sender's end is established, and each is an object from its sending to its
/// arrival.
#[test]
fn datagrams_over_quic_are_objects_that_arrive_or_do_not() {
    let ms = Time::from_millis;
    for (from, sender, other) in [("client", Side::Client, Side::Server), ("server", Side::Server, Side::Client)] {
        let spec = json!({"kind": "cbr", "rate_bps": 800_000, "packet_bytes": fixed(1000.0), "from": from});
        let mut app = built(&spec, true);
        let mut handle = |at: u64, event: Event| {
            let mut out = Vec::new();
            app.handle(ms(at), event, &mut out);
            out
        };
        let records = |out: Vec<Command>| -> Vec<ObjectRecord> {
            let record = |command| if let Command::Record(record) = command { Some(record) } else { None };
            out.into_iter().filter_map(record).collect()
        };
        let connect = handle(0, Event::Start);
        assert!(matches!(connect[..], [Command::Connect { conn: 0, tcp_client: 3, tcp_server: 4 }]), "{connect:?}");
        assert!(handle(5, Event::Established { conn: 0, side: other }).is_empty());
        for (at, event) in [(7, Event::Established { conn: 0, side: sender }), (17, Event::Timer), (27, Event::Timer)] {
            let sent = handle(at, event);
            let [Command::Send { conn: 0, side, payload: 972, bytes: 1000, .. }, Command::Timer { at: next }] =
                sent[..]
            else {
                panic!("{sent:?}")
            };
            assert_eq!((side, next), (sender, ms(at + 10)));
        }
        let arrived = records(handle(40, Event::Arrived { conn: 0, number: 1 }));
        assert_eq!(
            arrived.iter().map(|one| (one.index, one.start, one.end, one.bytes)).collect::<Vec<_>>(),
            [(1, ms(17), ms(40), 972)]
        );
        assert!(handle(41, Event::Arrived { conn: 0, number: 1 }).is_empty(), "a copy is no other arrival");
        let missing = records(handle(50, Event::End));
        let missing: Vec<_> = missing.iter().map(|one| (one.index, one.start, one.end)).collect();
        assert_eq!(missing, [(0, ms(7), Time::MAX), (2, ms(27), Time::MAX)]);
    }
}
