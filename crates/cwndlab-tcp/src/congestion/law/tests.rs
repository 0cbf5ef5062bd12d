use super::*;
use crate::config::Profile;

const MSS: u32 = 1000;

fn ack(bytes: u64) -> AckSample {
    AckSample { mss: MSS, acked_bytes: bytes, delivered_bytes: bytes, cwnd_limited: true, ..AckSample::default() }
}

#[test]
fn state_fits_its_budget() {
    assert!(std::mem::size_of::<WindowLaw>() <= 96, "{}", std::mem::size_of::<WindowLaw>());
}

#[test]
fn initial_windows_are_those_of_the_rfcs() {
    // RFC 3390, section 1 and RFC 6928, section 2
    for (mss, rfc3390, rfc6928) in
        [(536, 2144, 5360), (1095, 4380, 10_950), (1460, 4380, 14_600), (9000, 18_000, 18_000)]
    {
        assert_eq!(initial_window_bytes(InitialWindow::Rfc3390, mss), rfc3390, "MSS {mss}");
        assert_eq!(initial_window_bytes(InitialWindow::Rfc6928, mss), rfc6928, "MSS {mss}");
    }
    assert_eq!(initial_window_bytes(InitialWindow::Segments(3), 512), 1536);
}

#[test]
fn reno_slow_start_opens_by_at_most_one_segment_an_ack() {
    let cfg = Profile::Rfc5681.config();
    let mut law = WindowLaw::new(&cfg, MSS);
    assert_eq!(law.cwnd(), 4000);
    law.on_ack(&cfg, &ack(1000));
    law.on_ack(&cfg, &ack(300));
    law.on_ack(&cfg, &ack(2000)); // RFC 5681, equation 2: min(N, SMSS)
    assert_eq!(law.cwnd(), 6300);
}

#[test]
fn reno_avoidance_opens_by_one_segment_a_window() {
    let cfg = Profile::Rfc5681.config();
    let mut law = WindowLaw::new(&cfg, MSS);
    law.on_congestion(&cfg, CongestionEvent::Loss, 20_000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (10_000, 10_000));
    for expected in [10_000, 10_000, 10_000, 10_000, 11_000, 11_000] {
        law.on_ack(&cfg, &ack(2000));
        assert_eq!(law.cwnd(), expected);
    }
}

#[test]
fn reno_holds_ssthresh_when_the_timer_expires_again() {
    let cfg = Profile::Rfc5681.config();
    let mut law = WindowLaw::new(&cfg, MSS);
    law.on_congestion(&cfg, CongestionEvent::Rto, 12_000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (1000, 6000));
    law.on_congestion(&cfg, CongestionEvent::RtoRepeat, 12_000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (1000, 6000));
    law.on_congestion(&cfg, CongestionEvent::Rto, 1000, MSS);
    assert_eq!(law.ssthresh(), 2000); // equation 4: at least two segments
}
