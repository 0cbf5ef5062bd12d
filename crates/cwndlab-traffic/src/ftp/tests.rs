use cwndlab_units::Time;

use crate::event::{Command, Event, Losses, Side};
use crate::testing::{app, Network};

const MS: fn(u64) -> Time = Time::from_millis;

#[test]
fn files_follow_one_another_on_connections_of_their_own_and_the_clock_starts_at_the_syn() {
    let a = app(r#"{"kind":"ftp","file_bytes":{"kind":"fixed","value":1000000}}"#, 1).unwrap();
    let net = Network::new(a, MS(100)).run(Time::from_secs(1));
    // In ms: SYN at 0, established at 100, request arrives at 150, file at 200; the next SYN follows at once.
    let opened: Vec<u64> = net.connects.iter().map(|(t, _)| t.as_nanos() / 1_000_000).collect();
    assert_eq!(opened, [0, 200, 400, 600, 800]);
    assert_eq!(net.records.len(), 5);
    for (k, r) in net.records.iter().enumerate() {
        assert_eq!((r.index as usize, r.start), (k, MS(200 * k as u64)));
        assert_eq!(r.end, if k < 4 { MS(200 * (k as u64 + 1)) } else { Time::MAX });
        assert_eq!(r.bytes, 1_000_000);
    }
}

#[test]
fn the_clock_can_start_at_the_request_and_the_series_can_end() {
    let json = r#"{"kind":"ftp","file_bytes":{"kind":"fixed","value":5},"clock":"request","files":2,
        "first_s":{"kind":"fixed","value":0.3},"pause_s":{"kind":"fixed","value":0.05}}"#;
    let net = Network::new(app(json, 1).unwrap(), MS(100)).run(Time::from_secs(2));
    let spans: Vec<(Time, Time)> = net.records.iter().map(|r| (r.start, r.end)).collect();
    assert_eq!(spans, [(MS(400), MS(500)), (MS(650), MS(750))]);
}

#[test]
fn the_request_is_80_bytes_and_the_server_closes_together_with_the_file() {
    let mut a = app(r#"{"kind":"ftp","file_bytes":{"kind":"fixed","value":2000}}"#, 1).unwrap();
    let mut tell = |event| {
        let mut out = Vec::new();
        a.handle(MS(1), event, &mut out);
        out
    };
    assert_eq!(tell(Event::Start), [Command::Connect { conn: 0, tcp_client: 0, tcp_server: 1 }]);
    assert_eq!(
        tell(Event::Established { conn: 0, side: Side::Client }),
        [
            Command::Write { conn: 0, side: Side::Client, bytes: 80 },
            Command::NotifyAt { conn: 0, side: Side::Server, total: 80 },
            Command::NotifyAt { conn: 0, side: Side::Client, total: 2000 },
        ]
    );
    assert_eq!(
        tell(Event::Delivered { conn: 0, side: Side::Server, total: 80, losses: Losses::default() }),
        [Command::Write { conn: 0, side: Side::Server, bytes: 2000 }, Command::Close { conn: 0, side: Side::Server }]
    );
    let losses = Losses { retransmits: 3, timeouts: 1 };
    let out = tell(Event::Delivered { conn: 0, side: Side::Client, total: 2000, losses });
    assert!(matches!(out[..], [Command::Record(r), Command::Connect { conn: 1, .. }] if r.retransmits == 3));
    assert_eq!(
        tell(Event::PeerClosed { conn: 0, side: Side::Client }),
        [Command::Close { conn: 0, side: Side::Client }]
    );
}

#[test]
fn a_broken_connection_is_recorded_as_unfinished_and_the_next_file_is_tried() {
    let a = app(r#"{"kind":"ftp","file_bytes":{"kind":"fixed","value":10},"files":3}"#, 1).unwrap();
    let mut net = Network::new(a, MS(100));
    net.broken.push_back(2);
    let net = net.run(Time::from_secs(5));
    let finished: Vec<bool> = net.records.iter().map(|r| !r.end.is_never()).collect();
    assert_eq!(finished, [true, false, true]);
}

#[test]
fn a_server_that_closes_after_the_response_sends_its_fin_apart() {
    let json = r#"{"kind":"ftp","file_bytes":{"kind":"fixed","value":2000},"server_closes":"after-response"}"#;
    let mut a = app(json, 1).unwrap();
    let mut tell = |event| {
        let mut out = Vec::new();
        a.handle(MS(1), event, &mut out);
        out
    };
    tell(Event::Start);
    tell(Event::Established { conn: 0, side: Side::Client });
    let losses = Losses::default();
    assert_eq!(
        tell(Event::Delivered { conn: 0, side: Side::Server, total: 80, losses }),
        [Command::Write { conn: 0, side: Side::Server, bytes: 2000 }]
    );
    let out = tell(Event::Delivered { conn: 0, side: Side::Client, total: 2000, losses });
    assert_eq!(out[0], Command::Close { conn: 0, side: Side::Server });
}
