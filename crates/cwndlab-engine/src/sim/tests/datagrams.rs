//! Unresponsive traffic through the queues and impairments of the chain.

use super::*;

/// The chain, with its bottleneck of 1.5 Mb/s, and `app` in place of its transfer.
fn datagrams(app: &str, queue: &str, impairments: &str, seconds: u64) -> Scenario {
    let mut scenario = chain(&tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno), 1, queue, impairments, seconds);
    scenario.traffic[0].app = serde_json::from_str(app).unwrap();
    scenario
}

#[test]
fn what_is_sent_above_the_links_rate_is_lost_and_counted() {
    // 1500 bytes take 8 ms at 1.5 Mb/s; at 2 Mb/s a packet is sent every 6 ms, from 0 to 60 s
    let (summary, log) = run(&datagrams(r#"{"kind": "cbr", "rate_bps": 2000000}"#, DROP_TAIL, "", 60), 0);
    let record = log.connections[0];
    assert_eq!(record.segments_sent, 10_001);
    // the bottleneck sends one packet every 8 ms from 1.12 ms on; the last packet to arrive by 60 s left it 21.12 ms
    // earlier
    let delivered = (60_000_000 - 1_120 - 21_120) / 8_000;
    assert_eq!((summary.delivered, record.bytes_up, record.bytes_down), (delivered, delivered * 1472, 0));
    assert_eq!(u64::from(record.drops), log.links[1].drops.iter().sum::<u64>());
    assert_eq!(summary.injected, summary.delivered + summary.dropped + summary.in_flight);
    assert!(record.end.is_never() && record.failure.is_none() && record.retransmits == 0);
}

#[test]
fn the_senders_codepoint_decides_between_marks_and_drops() {
    let red = r#"{"kind": "red", "limit": 50, "min_th": 5, "max_th": 15, "max_p": 1.0, "w_q": 0.1, "ecn": true}"#;
    for (ecn, marked) in [("not-ect", false), ("ect0", true), ("ect1", true)] {
        let app = format!(r#"{{"kind": "cbr", "rate_bps": 1600000, "ecn": "{ecn}"}}"#);
        let (_, log) = run(&datagrams(&app, red, "", 5), 0);
        let record = log.connections[0];
        // RED drops what it does not mark, and everything above max_th
        assert_eq!((record.marks > 100, record.drops > 30), (marked, !marked), "{ecn}: {record:?}");
    }
}

#[test]
fn copies_and_losses_of_datagrams_are_accounted_for() {
    let impairments = r#"{"kind": "duplicate", "p": 0.1}, {"kind": "bernoulli", "p": 0.2}, {"kind": "reorder", "p": 0.1, "extra_ns": 15000000}"#;
    let scenario = datagrams(r#"{"kind": "poisson", "rate_bps": 1000000}"#, DROP_TAIL, impairments, 30);
    let (summary, log) = run(&scenario, 3);
    let record = log.connections[0];
    assert_eq!(summary.injected, summary.delivered + summary.dropped + summary.in_flight);
    assert!(summary.injected > record.segments_sent && record.bytes_up == summary.delivered * 1472);
    assert_eq!(summary, run(&scenario, 3).0);
}
