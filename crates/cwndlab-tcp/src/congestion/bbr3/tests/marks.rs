//! The response of Google's BBR v3 branch to CE marks.

use super::flow::{Ack, Flow, ACK};
use super::*;

/// A flow with the knob `ecn` and a round trip of 4 ms.
fn marked() -> Flow {
    let mut flow = Flow::with(Bbr3Config { rules: Bbr3Rules::GoogleV3, ecn: true });
    flow.law.min_rtt = MinRtt::new(Time::from_millis(1000), Time::from_millis(4));
    flow
}

#[test]
fn two_rounds_of_startup_with_half_of_the_bytes_marked_end_it() {
    let mut flow = marked();
    flow.round(Ack { rtt_ms: 4, in_flight: 100, ..ACK });
    flow.round(Ack { rtt_ms: 4, in_flight: 100, ce: 1, ..ACK });
    assert_eq!(flow.law.state, State::Startup);
    flow.round(Ack { rtt_ms: 4, in_flight: 100, ce: 1, ..ACK });
    assert_eq!(flow.law.state, State::Drain);
    let mut far = Flow::with(Bbr3Config { rules: Bbr3Rules::GoogleV3, ecn: true });
    for rate in [10, 20, 40, 80] {
        far.round(Ack { in_flight: 100, rate, ce: 1, ..ACK });
    }
    assert_eq!(far.law.state, State::Startup, "not over 5 ms");
}

#[test]
fn outside_probes_marks_lower_the_window_by_a_third_of_their_share() {
    let mut flow = marked();
    for _ in 0..5 {
        flow.round(Ack { rtt_ms: 4, in_flight: 100, ..ACK });
    }
    flow.ack(Ack { in_flight: 2, prior: Some(0), rtt_ms: 4, ..ACK });
    flow.ack(Ack { in_flight: 2, prior: Some(0), rtt_ms: 4, ..ACK });
    assert_eq!(flow.law.state, State::Cruise);
    flow.law.inflight_shortterm = 100 * MSS;
    flow.round(Ack { in_flight: 2, rtt_ms: 4, ce: 1, ..ACK });
    let cut = flow.law.ecn.expect("is on").cut();
    assert!(cut < 1.0 && cut > 1.0 - 85.0 / 256.0, "{cut}");
    assert_eq!(flow.law.inflight_shortterm, scaled(100, cut) * MSS);
    assert_eq!(flow.law.bw_shortterm, NONE, "marks do not lower the rate");
}

#[test]
fn without_the_knob_or_accurate_feedback_marks_are_not_used() {
    assert!(Flow::google().law.ecn.is_none());
    let cfg = Bbr3Config { rules: Bbr3Rules::GoogleV3, ecn: true };
    assert!(Bbr3::new(&Profile::Linux6.config(), cfg).ecn.is_none());
}
