//! Rules of Linux's sender, and PAWS.

use super::loss::recovering;
use super::*;

fn linux(kind: RecoveryKind) -> TcpConfig {
    TcpConfig { linux_details: true, ..recovering(kind) }
}

/// RFC 7323, section 5.3, R1: what an old duplicate acknowledges and carries is not taken, but it is answered.
#[test]
fn a_segment_with_an_older_timestamp_is_answered_but_not_taken() {
    let end = client(
        &TcpConfig { timestamps: true, sack: false, mss: 1012, ..config(4) },
        "0 write 2000
         0 > data 0-1000
         0 > data 1000-2000
         0.010 < data 0-1000 ts 5000 0
         0.010 > ack 1000
         0.011 < data 1000-2000 ack 1000 ts 4999 0
         0.011 > ack 1000
         0.012 < data 0-1000 ack 2000 ts 4999 0
         0.012 > ack 1000
         0.013 < ack 2000 ts 4999 0
         = flight 2000
         0.014 < data 1000-2000 ack 2000 ts 5000 0
         0.014 > ack 2000",
    );
    assert_eq!((end.received(), end.in_flight()), (2000, 0));
}

/// `TCP_PAWS_WINDOW`, in milliseconds of the kernel's clock; `tcp_disordered_ack`: a duplicate ACK may be late by 1.2
/// times the timeout.
#[test]
fn linux_takes_a_timestamp_that_is_a_millisecond_older_and_late_duplicate_acks() {
    let cfg = TcpConfig { timestamps: true, mss: 1012, ..linux(RecoveryKind::Rack) };
    let end = server(
        &cfg,
        "0.010 < data 0-1000 ts 5000 0
         0.010 > ack 1000
         0.011 < data 1000-2000 ts 4000 0
         0.011 > ack 2000
         0.012 < data 2000-3000 ts 3999 0
         0.012 > ack 2000",
    );
    assert_eq!(end.received(), 2000);
    let sent = format!(
        "0 write 4000
         {}0.010 < data 0-1000 ack 0 ts 9000 0
         0.010 > ack 1000
         ",
        sends("0", 0..4000)
    );
    client(&cfg, &format!("{sent}0.011 < ack 0 sack 1000-4000 ts 1000 0\n0.011 > data 0-1000"));
    client(&cfg, &format!("{sent}0.011 < ack 1000 ts 1000 0\n= flight 4000"));
}

/// `tcp_rack_mark_lost`: an ACK that reports no arrival reveals no loss, only the reordering timer does.
#[test]
fn an_ack_without_news_reveals_no_loss() {
    let script = |at: &str| {
        format!(
            "0 write 4000
             {}0.1 < ack 0 sack 3000-4000
             0.126 < ack 0 sack 3000-4000 win 90000
             {at} > data 0-1000",
            sends("0", 0..4000)
        )
    };
    let timed = |linux_details| {
        let RecoveryConfig::Rack(rack) = RecoveryKind::Rack.standard() else { unreachable!() };
        TcpConfig {
            linux_details,
            recovery: RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, ..rack }),
            rto: RtoConfig { timer_hz: 1000, ..config(10).rto },
            ..recovering(RecoveryKind::Rack)
        }
    };
    client(&timed(false), &script("0.126"));
    client(&timed(true), &script("0.128"));
}

/// `tcp_fastretrans_alert`: a duplicate ACK with an echo that reveals a loss begins recovery, as without the echo.
#[test]
fn a_loss_that_comes_with_an_echo_reduces_the_window_once() {
    let cfg = TcpConfig { ecn: EcnKind::Rfc3168, ..linux(RecoveryKind::Rack) };
    let flags = |end: Connection| (end.cwnd_bytes(), end.ssthresh_bytes(), end.stats().fast_retransmits);
    let [with, without] = ["ece", ""].map(|echo| {
        flags(client(
            &cfg,
            &format!(
                "0 write 10000
                 {}0.1 < ack 0 sack 1000-4000 {echo}
                 0.1 > data 0-1000
                 0.11 < ack 0 sack 1000-6000 {echo}
                 0.12 < ack 0 sack 1000-9000 {echo}",
                sends("0", 0..10_000)
            ),
        ))
    });
    assert_eq!(with, without);
    assert_eq!((with.1, with.2), (5000, 1));
}
