//! What counts as delivered, or as a duplicate, where no segment of the record stands for it.

use super::seams::{external, reports};
use super::*;

/// `tcp_add_reno_sack`, `tcp_remove_reno_sacks`: without SACK three duplicate ACKs have delivered three packets, so an ACK of
/// three delivers one more, the repair, which was sent 0.08 s ago, when the third was delivered.
#[test]
fn without_sack_an_arrival_that_a_duplicate_ack_reported_is_not_delivered_again() {
    let script = format!(
        "0 write 12000
         {}0.1 < ack 0
         0.1 > data 10000-11000
         0.11 < ack 0
         0.11 > data 11000-12000
         0.12 < ack 0
         0.12 > data 0-1000
         0.2 < ack 3000",
        sends("0", 0..10_000)
    );
    let rack = external(TcpConfig { linux_details: true, ..super::loss::recovering(RecoveryKind::Rack) });
    let cfg = TcpConfig { sack: false, limited_transmit: true, ..rack };
    let rate = reports(&cfg, &script).last().unwrap().rate.unwrap();
    assert_eq!((rate.delivered_packets, rate.ack_elapsed), (1, Time::from_millis(80)));
}

/// `tcp_data_queue`: a duplicate that a withheld ACK was to report is forgotten when more data arrives.
#[test]
fn a_withheld_ack_reports_a_duplicate_only_if_nothing_arrives_after_it() {
    let cfg = TcpConfig {
        ack_policy: AckPolicy::Linux,
        linux_details: true,
        sack: true,
        dsack: true,
        withheld_ack_slack_ns: Time::from_micros(100),
        ..config(4)
    };
    let three = "0.100 < data 1000-2000
         0.100 > ack 0 sack 1000-2000
         0.100 < data 2000-3000
         0.100 > ack 0 sack 1000-3000
         0.100 < data 3000-4000
         0.100 > ack 0 sack 1000-4000
         0.1002 < data 2000-3000\n";
    server(&cfg, &format!("{three}0.1013 > ack 0 sack 2000-3000 1000-4000"));
    server(&cfg, &format!("{three}0.1005 < data 4000-5000\n0.1013 > ack 0 sack 1000-5000"));
}
