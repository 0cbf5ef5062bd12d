//! Tables that can be emptied, as if their probes had been off.

use super::*;

use crate::tables::{
    DelayRow, ExpiredTimer, LimitRow, SendLimit, SenderState, StateCause, StateRow, TimeoutRow, WindowRow,
};

/// A row in each of these tables.
fn full() -> Records {
    let mut recorder = recorder();
    let (connection, from_client) = (0, true);
    recorder.segment(Time::ZERO, Seen::Sent { timeout: false }, DATA, 0, &data(1));
    recorder.windows.push(WindowRow {
        time_ns: 1,
        connection,
        from_client,
        cwnd_bytes: 1,
        ssthresh_bytes: None,
        srtt_ns: None,
        in_flight_bytes: 0,
        state: OneOf(SenderState::Open),
    });
    let (from_ns, to_ns) = (0, 1);
    recorder.limits.push(LimitRow { connection, from_client, from_ns, to_ns, limit: OneOf(SendLimit::Cwnd) });
    recorder.states.push(StateRow {
        connection,
        from_client,
        from_ns,
        to_ns,
        state: OneOf(SenderState::Open),
        entered_by: OneOf(StateCause::Start),
        left_by: None,
    });
    recorder.timeouts.push(TimeoutRow {
        time_ns: 1,
        connection,
        from_client,
        timer: OneOf(ExpiredTimer::Retransmission),
        set_ns: 0,
        backoffs: 0,
        seq: 0,
    });
    recorder.delays.push(DelayRow { time_ns: 1, connection, from_client, delay_ns: 1, len: 1 });
    recorder.finish()
}

#[test]
fn each_named_table_is_emptied_and_no_other() {
    let tables = ["segments", "cwnd", "limits", "states", "timeouts", "delays"];
    let rows = |records: &Records, name| records.table(name).unwrap().rows();
    let records = full();
    for name in tables {
        let left = records.without(&[name]);
        for other in tables {
            let emptied = name == other && name != "segments";
            assert_eq!(rows(&left, other), usize::from(!emptied), "{other} without {name}");
        }
    }
    let left = records.without(&["limits", "delays"]);
    assert_eq!(tables.map(|name| rows(&left, name)), [1, 1, 0, 1, 1, 0]);
    assert_ne!(left.digest(), records.digest());
}
