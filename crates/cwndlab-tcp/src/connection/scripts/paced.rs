//! Pacing; every time is computed by hand.

use super::*;

/// An initial window of nine segments, and slow start without a limit.
fn paced() -> TcpConfig {
    TcpConfig { pacing: true, slow_start_limit_segments: 0, ..config(9) }
}

const STARTED: &str = "0 > data 0-1000
    0 > data 1000-2000
    0 > data 2000-3000
    0 > data 3000-4000
    0 > data 4000-5000
    0 > data 5000-6000
    0 > data 6000-7000
    0 > data 7000-8000
    0 > data 8000-9000
    # 200 % of 10 segments in 0.1 s: two take 10 ms, half of it forgiven, as none went for long
    0.1 < ack 1000
    0.1 > data 9000-10000
    0.1 > data 10000-11000
    ";

/// After the tenth segment, trains of two segments leave every 6.25 ms, at 320 kB/s.
#[test]
fn trains_leave_at_twice_the_window_a_round_trip() {
    client(
        &paced(),
        &format!(
            "0 write 23000
            {STARTED}
            0.101 < ack 7000                # room for twelve
            = cwnd 16000
            0.105 > data 11000-12000
            0.105 > data 12000-13000
            0.11125 > data 13000-14000
            0.11125 > data 14000-15000
            0.1175 > data 15000-16000
            0.1175 > data 16000-17000
            0.12375 > data 17000-18000
            0.12375 > data 18000-19000
            0.13 > data 19000-20000
            0.13 > data 20000-21000
            0.13625 > data 21000-22000
            0.13625 > data 22000-23000
            0.3 < ack 23000"
        ),
    );
}

/// ACKs do not wait for the pacer, and no timer is left running at the end.
#[test]
fn acks_are_not_paced() {
    let end = client(
        &paced(),
        &format!(
            "0 write 13000
            {STARTED}
            0.101 < ack 9000
            0.102 < data 0-1000
            0.102 > ack 1000
            0.105 > data 11000-12000
            0.105 > data 12000-13000
            0.106 < ack 13000
            0.2 write 0"
        ),
    );
    assert_eq!(end.poll_timeout(), Time::MAX);
}
