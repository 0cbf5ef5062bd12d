//! The rules of ECN (RFC 3168, section 6.1), asserted on every segment that a node sees in runs through RED.

use cwndlab_tcp::{Flags, Profile};

use super::*;

const CE: u8 = 3;
const RED: &str = r#"{"kind": "red", "limit": 60, "min_th": 4, "max_th": 30, "max_p": 0.1, "w_q": 0.02, "ecn": true}"#;

impl Seen {
    fn marks(&self) -> usize {
        self.segments.iter().filter(|(event, ..)| matches!(event, SegmentEvent::Marked { .. })).count()
    }
}

fn endpoint(ecn: &str) -> String {
    let mut tcp = serde_json::to_value(Profile::Rfc5681.config()).unwrap();
    tcp["ecn"] = ecn.into();
    tcp.to_string()
}

/// Transfers 2 MB from client to server, and returns what `node` sees.
fn transfer(client: &str, server: &str, impairments: &str, node: u32) -> Seen {
    let mut scenario = chain(&endpoint(client), 2_000_000, RED, impairments, 600);
    scenario.tcp.push(serde_json::from_str(&endpoint(server)).unwrap());
    scenario.traffic[0].tcp_server = 1;
    watch(scenario, node)
}

const LOSSY: &str = r#"{"kind": "bernoulli", "p": 0.01}"#;

#[test]
fn only_new_data_is_ecn_capable_and_syns_negotiate() {
    for (kind, codepoint) in [("rfc2481", 2), ("rfc3168", 2), ("rfc3168-ect1", 1)] {
        let seen = transfer(kind, kind, LOSSY, 0);
        let mut again = 0;
        for (event, from_client, _, segment) in &seen.segments {
            let syn = segment.flags.has(Flags::SYN);
            let setup = segment.flags.0 & (Flags::ECE | Flags::CWR).0;
            if syn {
                assert_eq!(setup, if *from_client { (Flags::ECE | Flags::CWR).0 } else { Flags::ECE.0 });
            }
            if matches!(event, SegmentEvent::Sent { .. }) {
                let new_data = segment.len > 0 && !segment.retransmission;
                assert_eq!(segment.ecn, if new_data { codepoint } else { 0 }, "{segment:?}");
                assert!(kind == "rfc2481" || syn || !segment.flags.has(Flags::CWR) || new_data, "{segment:?}");
                again += u32::from(segment.retransmission);
            }
        }
        assert!(again > 0 && seen.marks() > 5, "{kind}: {again} retransmissions, {} marks", seen.marks());
    }
}

#[test]
fn every_segment_echoes_from_a_ce_until_a_cwr() {
    let seen = transfer("rfc3168", "rfc3168", LOSSY, 3);
    let (mut echo, mut echoes) = (false, 0);
    for (event, from_client, _, segment) in seen.segments.iter().filter(|(.., segment)| !segment.flags.has(Flags::SYN))
    {
        match event {
            SegmentEvent::Received if *from_client && segment.len > 0 => {
                echo = segment.ecn == CE || (echo && !segment.flags.has(Flags::CWR));
            }
            SegmentEvent::Sent { .. } => {
                assert_eq!(segment.flags.has(Flags::ECE), echo, "{segment:?}");
                echoes += u32::from(echo);
            }
            _ => {}
        }
    }
    assert!(echoes > 20);
}

#[test]
fn the_sender_reduces_once_a_window_and_says_so() {
    let seen = transfer("rfc3168", "rfc3168", "", 0);
    let (mut cwrs, mut last_cwr, mut acked, mut echoed, mut sent_to) = (0, 0, 0, false, 0);
    for (event, from_client, _, segment) in seen.segments.iter().filter(|(.., segment)| !segment.flags.has(Flags::SYN))
    {
        match event {
            SegmentEvent::Received if !*from_client => {
                acked = segment.ack;
                echoed |= segment.flags.has(Flags::ECE);
            }
            SegmentEvent::Sent { .. } if segment.flags.has(Flags::CWR) => {
                assert!(echoed, "a reduction without an echo, though nothing was lost");
                assert_eq!(segment.seq, sent_to, "CWR rides on the first new segment");
                assert!(acked > last_cwr, "a second reduction before anything sent after the first was acknowledged");
                (cwrs, last_cwr, echoed) = (cwrs + 1, segment.seq, false);
            }
            _ => {}
        }
        if matches!(event, SegmentEvent::Sent { .. }) {
            sent_to = sent_to.max(segment.seq + segment.len);
        }
    }
    let record = seen.connections[0];
    assert_eq!((record.ecn_reductions, record.retransmits), (cwrs, 0));
    assert!(cwrs >= 5, "{cwrs} reductions");
    assert_eq!((record.marks as usize, record.drops), (seen.marks(), 0));
    let regions = seen.regions.expect("RED keeps an average");
    assert_eq!(regions.below + regions.between + regions.above, Time::from_secs(600));
    assert!(regions.between > Time::from_secs(2));
}

#[test]
fn mixed_endpoints_negotiate_it_off_and_are_dropped_instead() {
    for (client, server) in [("rfc3168", "off"), ("off", "rfc3168"), ("off", "accept"), ("accept", "accept")] {
        let seen = transfer(client, server, "", 0);
        assert!(seen.segments.iter().all(|(.., segment)| segment.ecn == 0), "{client} to {server}");
        let record = seen.connections[0];
        assert!((record.marks, record.ecn_reductions) == (0, 0) && record.drops > 3 && record.retransmits > 3);
    }
    let seen = transfer("rfc3168", "accept", "", 0);
    assert!(seen.marks() > 5);
}

#[test]
fn every_recovery_says_that_it_reduced_for_a_loss() {
    for recovery in cwndlab_tcp::RecoveryKind::ALL {
        let mut endpoint = serde_json::to_value(Profile::Rfc5681.config()).unwrap();
        endpoint["ecn"] = "rfc3168".into();
        endpoint["recovery"] = serde_json::to_value(recovery.standard()).unwrap();
        endpoint["sack"] = true.into();
        let loss = r#"{"kind": "drop-nth", "packets": [60]}"#;
        let scenario = chain(&endpoint.to_string(), 200_000, r#"{"kind": "infinite"}"#, loss, 600);
        let seen = watch(scenario, 0);
        let cwr = |(event, .., segment): &&Sight| {
            matches!(event, SegmentEvent::Sent { .. })
                && segment.flags.has(Flags::CWR)
                && !segment.flags.has(Flags::SYN)
        };
        let record = seen.connections[0];
        assert_eq!((record.marks, record.timeouts), (0, 0), "{recovery:?}");
        let reductions = seen.segments.iter().filter(cwr).count();
        assert_eq!(reductions, record.fast_retransmits as usize, "{recovery:?}");
        assert!(reductions > 0, "{recovery:?}");
    }
}
