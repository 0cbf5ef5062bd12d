use proptest::prelude::*;

use super::timeline::{End, Timeline};
use super::*;
use crate::table::Table;
use crate::tables::{
    ConnectionRow, Connections, DelayRow, Delays, ExpiredTimer, LimitRow, Limits, ObjectRow, Objects, SendLimit,
    SenderState, StateCause, StateRow, States, TimeoutRow, Timeouts, WindowRow, Windows,
};

const US: u64 = 1_000;
const DURATION: u64 = 10_000_000 * US;

/// Two hosts, connected by links of 50 ms and 8 Mb/s, on which a byte takes 1 µs. Packets have headers of 40 bytes.
fn scenario() -> Scenario {
    let mut tcp = cwndlab_tcp::Profile::Rfc5681.config();
    (tcp.header_bytes, tcp.ack_bytes, tcp.timestamps) = (40, 40, false);
    let tcp = serde_json::to_string(&tcp).unwrap();
    let link = |name, from, to| {
        format!(
            r#"{{"name":"{name}","from":{from},"to":{to},"rate_bps":8000000,"delay_ns":50000000,"queue":{{"kind":"infinite"}}}}"#
        )
    };
    let traffic = |name| {
        format!(
            r#"{{"name":"{name}","client":0,"server":1,"tcp_client":0,"tcp_server":0,"start_ns":0,
                "app":{{"kind":"bulk","bytes":null,"from":"client"}}}}"#
        )
    };
    let text = format!(
        r#"{{"duration_ns":{DURATION},"nodes":["a","b"],"tcp":[{tcp}],"links":[{},{}],"traffic":[{},{}]}}"#,
        link("a>b", 0, 1),
        link("b>a", 1, 0),
        traffic("t"),
        traffic("u"),
    );
    Scenario::from_json(&text).unwrap()
}

/// The tables of a run under construction.
#[derive(Default)]
struct Recorded {
    connections: Connections,
    objects: Objects,
    limits: Limits,
    states: States,
    timeouts: Timeouts,
    windows: Windows,
    delays: Delays,
}

impl Recorded {
    fn connection(&mut self, connection: u32, traffic: u32, start_ns: u64, end_ns: Option<u64>) {
        self.connections.push(ConnectionRow {
            connection,
            traffic,
            client: 0,
            server: 1,
            start_ns,
            established_ns: None,
            end_ns,
            bytes_up: 0,
            bytes_down: 0,
            segments_sent: 0,
            retransmits: 0,
            timeouts: 0,
            fast_retransmits: 0,
            ecn_reductions: 0,
            drops: 0,
            marks: 0,
            failed: false,
        });
    }

    fn object(&mut self, traffic: u32, start_ns: u64, end_ns: Option<u64>) {
        self.objects.push(ObjectRow {
            traffic,
            kind: OneOf(ObjectKind::File),
            index: 0,
            start_ns,
            end_ns,
            bytes: 1,
            connections: 1,
            retransmits: 0,
            timeouts: 0,
            finished: end_ns.is_some(),
        });
    }

    /// Adds a packet with the times at which it was sent and arrived.
    fn packet(&mut self, connection: u32, from_client: bool, sent: u64, time_ns: u64, len: u32) {
        let delay_ns = time_ns.saturating_sub(sent);
        self.delays.push(DelayRow { time_ns, connection, from_client, delay_ns, len });
    }

    /// Adds the limits of an end, each with the time from which it holds.
    fn limits(&mut self, from_client: bool, since: &[(u64, SendLimit)]) {
        for (at, &(from_ns, limit)) in since.iter().enumerate() {
            let to_ns = since.get(at + 1).map_or(DURATION, |next| next.0);
            self.limits.push(LimitRow { connection: 0, from_client, from_ns, to_ns, limit: OneOf(limit) });
        }
    }

    fn finish(self) -> Tables {
        Tables::from([
            ("connections".to_string(), vec![self.connections.finish()]),
            ("objects".to_string(), vec![self.objects.finish()]),
            ("limits".to_string(), vec![self.limits.finish()]),
            ("states".to_string(), vec![self.states.finish()]),
            ("timeouts".to_string(), vec![self.timeouts.finish()]),
            ("cwnd".to_string(), vec![self.windows.finish()]),
            ("delays".to_string(), vec![self.delays.finish()]),
        ])
    }
}

/// The kind and the duration of a budget, and its parts above zero.
type Row = (&'static str, i128, Vec<(&'static str, u64)>);

fn budgets(tables: &Tables, until: u64) -> Vec<Row> {
    let batch = time_budgets(&scenario(), tables, None, Time::from_nanos(until)).unwrap();
    let column = |name: &str| <u64 as Cell>::view(&batch.column(name).unwrap().array).unwrap();
    let kinds = crate::table::column::<OneOf<Kind>>(&batch, "budgets", "kind").unwrap();
    let (start, end) = (column("start_ns"), column("end_ns"));
    let parts: Vec<_> = Part::WORDS.iter().map(|word| (*word, column(&format!("{word}_ns")))).collect();
    (0..batch.rows())
        .map(|row| {
            let kind = Kind::WORDS[usize::from(<OneOf<Kind> as Cell>::get(kinds, row).0.code())];
            let spent = parts.iter().map(|(word, column)| (*word, column[row])).filter(|(_, spent)| *spent > 0);
            (kind, i128::from(end[row]) - i128::from(start[row]), spent.collect())
        })
        .collect()
}

/// A run with a file of one segment, requested in one segment. The server answers after `server` µs, and the request is
/// sent `late` µs after the handshake.
fn one_file(server: u64, late: u64) -> Recorded {
    let mut run = Recorded::default();
    let asked = (100_080 + late) * US;
    let (arrived, answered) = (asked + 50_140 * US, asked + (50_140 + server) * US);
    run.connection(0, 0, 0, None);
    run.object(0, 0, Some(answered + 51_040 * US));
    run.packet(0, true, 0, 50_040 * US, 0);
    run.packet(0, false, 50_040 * US, 100_080 * US, 0);
    run.packet(0, true, asked, arrived, 100);
    run.packet(0, false, answered, answered + 51_040 * US, 1_000);
    run.limits(true, &[(0, SendLimit::Handshake), (100_080 * US, SendLimit::Application)]);
    run.limits(false, &[(0, SendLimit::Handshake), (arrived, SendLimit::Idle)]);
    run
}

#[test]
fn a_file_of_one_segment_costs_a_handshake_a_request_and_its_delivery() {
    let known = vec![
        ("handshake", 100_000 * US),
        ("request", 50_000 * US),
        ("serialization", 1_260 * US),
        ("delivery", 50_000 * US),
    ];
    let found = budgets(&one_file(0, 0).finish(), DURATION);
    assert_eq!(found[0], ("file", i128::from(201_260 * US), known.clone()));
    // The connection stays open until the end of the run.
    let open = [known, vec![("closing", DURATION - 201_260 * US)]].concat();
    assert_eq!(found[1], ("connection", i128::from(DURATION), open));
}

#[test]
fn the_server_and_an_expired_timer_have_parts_of_their_own() {
    let mut run = one_file(30_000, 1_000_000);
    run.timeouts.push(TimeoutRow {
        time_ns: 1_100_080 * US,
        connection: 0,
        from_client: true,
        timer: OneOf(ExpiredTimer::Retransmission),
        set_ns: 100_080 * US,
        backoffs: 1,
        seq: 0,
    });
    let parts = &budgets(&run.finish(), DURATION)[0].2;
    assert!(parts.contains(&("server", 30_000 * US)) && parts.contains(&("rto", 1_000_000 * US)), "{parts:?}");
}

#[test]
fn a_window_ends_open_connections_and_has_no_object_that_ended_with_it_or_later() {
    let tables = one_file(0, 0).finish();
    let found = budgets(&tables, 201_260 * US);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1), ("connection", i128::from(201_260 * US)));
    assert_eq!(budgets(&tables, 201_260 * US + 1).len(), 2);
}

#[test]
fn tables_that_do_not_fit_are_refused_by_name() {
    let refused = |tables: &Tables| time_budgets(&scenario(), tables, None, Time::MAX).unwrap_err().to_string();
    let mut tables = one_file(0, 0).finish();
    let limits = tables.remove("limits").unwrap();
    assert_eq!(refused(&tables), "time budgets need the table \"limits\"");
    tables.insert("limits".into(), tables["states"].clone());
    assert!(refused(&tables).starts_with("table limits: column \"limit\" is missing"));
    tables.insert("limits".into(), limits);
    let mut foreign = Recorded::default();
    foreign.connection(7, 2, 0, None);
    tables.insert("connections".into(), vec![foreign.connections.finish()]);
    assert_eq!(refused(&tables), "table connections: connection 7 has traffic 2, but the scenario has 2");
}

const LIMITS: [SendLimit; 14] = [
    SendLimit::Handshake,
    SendLimit::Cwnd,
    SendLimit::MaxWindow,
    SendLimit::ReceiveWindow,
    SendLimit::Recovery,
    SendLimit::Pacing,
    SendLimit::SmallSegment,
    SendLimit::SendBuffer,
    SendLimit::Application,
    SendLimit::Idle,
    SendLimit::Closed,
    SendLimit::Timeout,
    SendLimit::Probe,
    SendLimit::Reordering,
];
const STATES: [SenderState; 5] =
    [SenderState::Open, SenderState::Disorder, SenderState::Cwr, SenderState::Recovery, SenderState::Loss];
const TIMERS: [ExpiredTimer; 4] =
    [ExpiredTimer::Retransmission, ExpiredTimer::Probe, ExpiredTimer::Reordering, ExpiredTimer::Persist];

/// A time from a capture that may hold anything. Most of these times are close together.
fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0_u64..400, 20 => (0_u64..400).prop_map(|time| time * 1_000_000), 1 => any::<u64>()]
}

/// The fields of a row about a sender: the connection (which may be unknown), whether the sender is the client, and two
/// times.
fn any_row() -> impl Strategy<Value = (u32, bool, u64, u64)> {
    (prop_oneof![20 => 0_u32..4, 1 => Just(u32::MAX)], any::<bool>(), any_time(), any_time())
}

fn rows<T: std::fmt::Debug>(row: impl Strategy<Value = T>, most: usize) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(row, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The rows of each end are in order of time; rows with the same time are in the order of the table.
    #[test]
    fn a_timeline_has_each_ends_rows_in_order_of_time(
        of in rows((0_usize..3, any::<bool>(), prop_oneof![0_i64..5, Just(i64::MIN), Just(i64::MAX)]), 30),
        in_order in any::<bool>(),
    ) {
        let mut entries: Vec<_> = of.iter().map(|&(owner, is_client, time)| (End::new(owner, is_client), time, 0)).collect();
        if in_order {
            entries.sort_by_key(|&(_, time, _)| time);
        }
        (0..).zip(&mut entries).for_each(|(number, entry)| entry.2 = number);
        let found = Timeline::new(3, &entries);
        let mut expected = entries;
        expected.sort_by_key(|&(end, time, _)| (end, time));
        let ends = (0..3).flat_map(|owner| [End::new(owner, false), End::new(owner, true)]);
        let seen: Vec<_> =
            ends.flat_map(|end| found.of(end).map(move |at| (end, at))).map(|(end, at)| (end, found.time(at), *found.row(at))).collect();
        prop_assert_eq!(seen, expected);
    }

    /// A capture may hold anything: packets before their connections, intervals that overlap, times that run backwards.
    #[test]
    fn parts_add_up_to_the_duration_whatever_the_tables_hold(
        opened in prop::collection::vec((0_u32..2, any_time(), prop::option::of(any_time())), 3),
        objects in rows((0_u32..3, any_time(), prop::option::of(any_time())), 6),
        packets in rows((any_row(), prop::sample::select(&[0_u32, 0, 1, 1000, u32::MAX][..])), 40),
        limits in rows((any_row(), prop::sample::select(&LIMITS[..])), 30),
        states in rows((any_row(), prop::sample::select(&STATES[..])), 10),
        timeouts in rows((any_row(), prop::sample::select(&TIMERS[..]), 0_u32..3), 10),
        windows in rows((any_row(), any::<u64>(), prop::option::of(any::<u64>())), 6),
        until in prop_oneof![Just(DURATION), any_time()],
    ) {
        let mut run = Recorded::default();
        for (serial, (traffic, start, end)) in (0..).zip(opened) {
            run.connection(serial, traffic, start, end);
        }
        for (traffic, start, end) in objects {
            run.object(traffic, start, end);
        }
        for ((connection, from_client, time_ns, delay_ns), len) in packets {
            run.delays.push(DelayRow { time_ns, connection, from_client, delay_ns, len });
        }
        for ((connection, from_client, from_ns, to_ns), limit) in limits {
            run.limits.push(LimitRow { connection, from_client, from_ns, to_ns, limit: OneOf(limit) });
        }
        for ((connection, from_client, from_ns, to_ns), state) in states {
            let (entered_by, left_by) = (OneOf(StateCause::Start), None);
            run.states.push(StateRow { connection, from_client, from_ns, to_ns, state: OneOf(state), entered_by, left_by });
        }
        for ((connection, from_client, time_ns, set_ns), timer, backoffs) in timeouts {
            run.timeouts.push(TimeoutRow { time_ns, connection, from_client, timer: OneOf(timer), set_ns, backoffs, seq: 0 });
        }
        for ((connection, from_client, time_ns, _), cwnd_bytes, ssthresh_bytes) in windows {
            let (srtt_ns, state) = (None, OneOf(SenderState::Open));
            run.windows.push(WindowRow {
                time_ns, connection, from_client, cwnd_bytes, ssthresh_bytes, srtt_ns, in_flight_bytes: 0, state,
            });
        }
        for (kind, duration, parts) in budgets(&run.finish(), until) {
            let sum: i128 = parts.iter().map(|&(_, spent)| i128::from(spent)).sum();
            prop_assert_eq!(sum, duration.max(0), "{}: {:?}", kind, parts);
        }
    }
}
