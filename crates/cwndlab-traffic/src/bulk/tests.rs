use std::collections::BTreeMap;

use cwndlab_units::Time;

use crate::app::{App, AppSpec};
use crate::dist::Rng;
use crate::event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
use crate::spec::Setup;

fn app(json: &str) -> Result<App, String> {
    let spec: AppSpec = serde_json::from_str(json).map_err(|e| e.to_string())?;
    let shared = BTreeMap::new();
    App::new(
        &spec,
        &mut Setup {
            tcp_client: 3,
            tcp_server: 4,
            mss: 1000,
            over_quic: false,
            ip_header_bytes: 20,
            shared: &shared,
            stream: &mut |_| Rng::new(1),
        },
    )
    .map_err(|error| error.to_string())
}

fn tell(app: &mut App, ms: u64, event: Event) -> Vec<Command> {
    let mut out = Vec::new();
    app.handle(Time::from_millis(ms), event, &mut out);
    out
}

#[test]
fn a_transfer_of_n_segments_writes_them_closes_and_is_recorded_when_the_last_byte_arrives() {
    let mut a = app(r#"{"kind":"bulk","segments":5}"#).unwrap();
    assert_eq!(tell(&mut a, 10, Event::Start), [Command::Connect { conn: 0, tcp_client: 3, tcp_server: 4 }]);
    assert_eq!(tell(&mut a, 20, Event::Established { conn: 0, side: Side::Server }), []);
    assert_eq!(
        tell(&mut a, 20, Event::Established { conn: 0, side: Side::Client }),
        [
            Command::Write { conn: 0, side: Side::Client, bytes: 5000 },
            Command::Close { conn: 0, side: Side::Client },
            Command::NotifyAt { conn: 0, side: Side::Server, total: 5000 }
        ]
    );
    let losses = Losses { retransmits: 2, timeouts: 1 };
    assert_eq!(
        tell(&mut a, 90, Event::Delivered { conn: 0, side: Side::Server, total: 5000, losses }),
        [Command::Record(ObjectRecord {
            kind: ObjectKind::File,
            index: 0,
            start: Time::from_millis(10),
            end: Time::from_millis(90),
            bytes: 5000,
            connections: 1,
            retransmits: 2,
            timeouts: 1
        })]
    );
    assert_eq!(
        tell(&mut a, 91, Event::PeerClosed { conn: 0, side: Side::Server }),
        [Command::Close { conn: 0, side: Side::Server }]
    );
    assert_eq!(tell(&mut a, 99, Event::Finished { conn: 0, failed: false, losses }), []);
    assert_eq!(tell(&mut a, 100, Event::End), [], "recorded once");
}

#[test]
fn a_transfer_cut_short_by_the_end_of_the_run_is_recorded_as_unfinished() {
    let mut a = app(r#"{"kind":"bulk","bytes":100,"from":"server"}"#).unwrap();
    tell(&mut a, 0, Event::Start);
    assert_eq!(tell(&mut a, 5, Event::Established { conn: 0, side: Side::Server }).len(), 3);
    let out = tell(&mut a, 50, Event::End);
    assert!(matches!(out[..], [Command::Record(r)] if r.end.is_never() && r.bytes == 100));
}

#[test]
fn a_transfer_without_end_never_closes_and_records_nothing() {
    let mut a = app(r#"{"kind":"bulk"}"#).unwrap();
    tell(&mut a, 0, Event::Start);
    assert_eq!(
        tell(&mut a, 5, Event::Established { conn: 0, side: Side::Client }),
        [Command::Write { conn: 0, side: Side::Client, bytes: Command::UNLIMITED }]
    );
    assert_eq!(tell(&mut a, 50, Event::End), []);
}

/// 2500 bytes that arrive at once, read at 8 kb/s in segments of 1000 bytes: at 15 ms, 1015 ms and 2015 ms.
#[test]
fn a_slow_reader_takes_a_segment_at_a_time_and_closes_when_it_has_read_all() {
    let mut a = app(r#"{"kind":"bulk","bytes":2500,"read_rate_bps":8000}"#).unwrap();
    let (conn, side, losses) = (0, Side::Server, Losses::default());
    let asks = |total| Command::NotifyAt { conn, side, total };
    let connect = Command::Connect { conn, tcp_client: 3, tcp_server: 4 };
    assert_eq!(tell(&mut a, 0, Event::Start), [connect, Command::Hold { conn, side }, asks(1)]);
    tell(&mut a, 10, Event::Established { conn, side: Side::Client });
    let arrived = Event::Delivered { conn, side, total: 2500, losses };
    let read = |bytes, until| [Command::Read { conn, side, bytes }, Command::Timer { at: Time::from_millis(until) }];
    assert_eq!(tell(&mut a, 15, arrived), read(1000, 1015));
    assert_eq!(tell(&mut a, 16, Event::PeerClosed { conn, side }), [], "closing before all is read would reset");
    assert_eq!(tell(&mut a, 1015, Event::Timer), [asks(1001)]);
    assert_eq!(tell(&mut a, 1015, arrived), read(1000, 2015));
    assert_eq!(tell(&mut a, 2015, Event::Timer), [asks(2001)]);
    let last = tell(&mut a, 2015, arrived);
    assert_eq!(last[..2], [Command::Read { conn, side, bytes: 500 }, Command::Close { conn, side }]);
    assert!(matches!(last[2..], [Command::Record(r)] if r.end == Time::from_millis(2015) && r.bytes == 2500));
}

#[test]
fn contradictory_or_misspelt_specifications_are_refused() {
    for (json, part) in [
        (r#"{"kind":"bulk","bytes":1,"segments":1}"#, "give one"),
        (r#"{"kind":"bulk","bytes":0}"#, "0 bytes"),
        (r#"{"kind":"bulk","segments":18446744073709551615}"#, "too large"),
        (r#"{"kind":"bulk","read_rate_bps":0}"#, "never reads"),
        (r#"{"kind":"bulk","byts":1}"#, "unknown field"),
    ] {
        let e = app(json).err().expect(json);
        assert!(e.contains(part), "{json}: {e}");
    }
}

#[test]
fn a_transfer_waits_for_its_drawn_start_and_its_clock_runs_from_there() {
    let mut a = app(r#"{"kind":"bulk","segments":1,"first_s":{"kind":"uniform","low":1.0,"high":2.0}}"#).unwrap();
    let asked = tell(&mut a, 500, Event::Start);
    let [Command::Timer { at }] = asked[..] else { panic!("{asked:?}") };
    assert!((Time::from_millis(1500)..Time::from_millis(2500)).contains(&at), "{at:?}");
    let mut out = Vec::new();
    a.handle(at, Event::Timer, &mut out);
    assert_eq!(out, [Command::Connect { conn: 0, tcp_client: 3, tcp_server: 4 }]);
    tell(&mut a, 2600, Event::Established { conn: 0, side: Side::Client });
    let done = Event::Delivered { conn: 0, side: Side::Server, total: 1000, losses: Losses::default() };
    let recorded = tell(&mut a, 2700, done);
    assert!(matches!(recorded[..], [Command::Record(ObjectRecord { start, .. })] if start == at), "{recorded:?}");
}

#[test]
fn a_run_that_ends_before_the_drawn_start_records_no_transfer() {
    let mut a = app(r#"{"kind":"bulk","bytes":100,"first_s":{"kind":"fixed","value":9.0}}"#).unwrap();
    tell(&mut a, 0, Event::Start);
    assert_eq!(tell(&mut a, 100, Event::End), []);
}
