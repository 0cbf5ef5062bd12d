use super::*;
use crate::config::{MaxWindow, Profile, ReductionBase};
use crate::congestion::CongestionEvent;

const MSS: u32 = 1000;

fn ack(bytes: u64) -> AckReport {
    AckReport { mss: MSS, acked_bytes: bytes, fresh_bytes: bytes, ..AckReport::default() }
}

#[test]
fn state_fits_its_budget() {
    assert!(std::mem::size_of::<Controller>() <= 96, "{}", std::mem::size_of::<Controller>());
}

#[test]
fn a_product_may_need_more_than_64_bits_and_a_quotient_may_not() {
    use crate::congestion::product_over;
    assert_eq!(product_over(6, 7, 4), 10);
    assert_eq!(product_over(1 << 40, 1 << 40, 1 << 20), 1 << 60);
    assert_eq!(product_over(u64::MAX, 2, 4), u64::MAX / 2);
    assert_eq!(product_over(u64::MAX, 3, 2), u64::MAX, "at most this");
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
    let mut law = Controller::new(&cfg, MSS);
    assert_eq!(law.cwnd(), 4000);
    law.on_ack(&cfg, &ack(1000), &AfterAck::CALM);
    law.on_ack(&cfg, &ack(300), &AfterAck::CALM);
    law.on_ack(&cfg, &ack(2000), &AfterAck::CALM); // RFC 5681, equation 2: min(N, SMSS)
    assert_eq!(law.cwnd(), 6300);
}

#[test]
fn reno_avoidance_opens_by_one_segment_a_window() {
    let cfg = Profile::Rfc5681.config();
    let mut law = Controller::new(&cfg, MSS);
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, 20_000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (10_000, 10_000));
    for expected in [10_000, 10_000, 10_000, 10_000, 11_000, 11_000] {
        law.on_ack(&cfg, &ack(2000), &AfterAck::CALM);
        assert_eq!(law.cwnd(), expected);
    }
}

#[test]
fn a_loss_window_is_one_segment_unless_the_configuration_says_otherwise() {
    // RFC 5681, 3.1; ns-1.2a2's tcp.cc restarted with the initial window instead (RFC 2416)
    for (segments, expected) in [(1, 1000), (4, 4000)] {
        for profile in [Profile::Rfc5681, Profile::Ns2_1998, Profile::Linux6] {
            let cfg = TcpConfig { loss_window_segments: segments, ..profile.config() };
            let mut law = Controller::new(&cfg, MSS);
            law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, 12_000, MSS);
            assert_eq!(law.cwnd(), expected, "{profile:?}");
        }
    }
}

#[test]
fn reno_holds_ssthresh_when_the_timer_expires_again() {
    let cfg = Profile::Rfc5681.config();
    let mut law = Controller::new(&cfg, MSS);
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, 12_000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (1000, 6000));
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::RtoRepeat, 12_000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (1000, 6000));
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, 1000, MSS);
    assert_eq!(law.ssthresh(), 2000); // equation 4: at least two segments
}

/// ns-2 adds 1 packet per ACK below ssthresh, and 1/cwnd of a packet per ACK above; only whole packets may be sent.
#[test]
fn packets_grow_per_ack_whatever_it_acknowledges() {
    let cfg = TcpConfig { initial_ssthresh_segments: 4, ..Profile::Ns2_1998.config() };
    let mut law = Controller::new(&cfg, MSS);
    for expected in [2000, 3000, 4000] {
        law.on_ack(&cfg, &ack(2000), &AfterAck::CALM);
        assert_eq!(law.cwnd(), expected);
    }
    // cwnd in packets: 4.25, 4.485, 4.708, 4.921, 5.124
    for expected in [4000, 4000, 4000, 4000, 5000] {
        law.on_ack(&cfg, &ack(1000), &AfterAck::CALM);
        assert_eq!(law.cwnd(), expected);
    }
}

/// ns-2 halves min(cwnd, `window_`), with a minimum ssthresh of two packets, and halves again at each timeout.
#[test]
fn packets_halve_the_usable_window() {
    let cfg = Profile::Ns2_1998.config(); // window 20
    let mut law = Controller::new(&cfg, MSS);
    law.set_cwnd(45_000, MSS);
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, 3000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (10_000, 10_000));
    law.set_cwnd(7000, MSS);
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, 7000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (1000, 3000));
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::RtoRepeat, 7000, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (1000, 2000));
}

/// After a loss at 13 packets, ns-2.35 sets cwnd to 13/2 = 6.5 (ssthresh 6), so that 4 ACKs bring it to 7; ns-2 of 1998
/// sets it to 6, and 7 ACKs bring it to 7.
#[test]
fn packets_keep_the_half_packet_unless_whole_ones_are_asked_for() {
    for (reduce_from, acks) in [(ReductionBase::Cwnd, 4), (ReductionBase::CwndWholeSegments, 7)] {
        let cfg = TcpConfig { reduce_from, ..Profile::Ns2_1998.config() };
        let mut law = Controller::new(&cfg, MSS);
        law.set_cwnd(13_000, MSS);
        law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, 13_000, MSS);
        assert_eq!((law.cwnd(), law.ssthresh()), (6000, 6000));
        law.set_window(Setting::Segments(3), MSS); // inflation, as in fast recovery
        assert_eq!(law.cwnd(), 9000);
        law.change(&cfg, Time::ZERO, WindowChange::DeflateBySegments(3), MSS);
        let mut counted = 0;
        while law.cwnd() < 7000 {
            law.on_ack(&cfg, &ack(1000), &AfterAck::CALM);
            counted += 1;
        }
        assert_eq!(counted, acks, "{reduce_from:?}");
    }
}

/// The 1/sqrt(p) law (Mathis et al. 1997): with one loss every 1/p segments and no delayed ACKs, the mean window is
/// sqrt(3/2)/sqrt(p) = 1.22/sqrt(p).
#[test]
fn reno_obeys_the_square_root_law() {
    for profile in [Profile::Rfc5681, Profile::Ns2_1998] {
        let cfg = TcpConfig { max_window: MaxWindow::Segments(1 << 20), ..profile.config() };
        for period in [200_u32, 1_000, 5_000, 20_000, 100_000] {
            let published = 1.22 * f64::from(period).sqrt();
            let mut law = Controller::new(&cfg, MSS);
            law.set_cwnd(published as u64 * 1000, MSS);
            let (mut rtts, mut total) = (0.0, 0.0);
            for cycle in 0..30 {
                law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, law.cwnd(), MSS);
                for _ in 0..period {
                    law.on_ack(&cfg, &ack(1000), &AfterAck::CALM);
                    if cycle >= 10 {
                        rtts += 1000.0 / law.cwnd() as f64;
                        total += 1.0;
                    }
                }
            }
            let mean = total / rtts;
            println!(
                "{} p 1/{period}: {mean:.2}, law {published:.2}, {:+.1} %",
                profile.name(),
                100.0 * (mean / published - 1.0)
            );
            assert!((mean / published - 1.0).abs() < 0.05, "{} p 1/{period}: {mean}, law {published}", profile.name());
        }
    }
}

#[test]
fn undo_of_reno_restores_both_values_and_keeps_what_grew() {
    let cfg = Profile::Rfc5681.config();
    let mut law = Controller::new(&cfg, MSS);
    law.set_cwnd(20_000, MSS);
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Loss, 20_000, MSS);
    law.on_undo(Time::ZERO, MSS);
    assert_eq!((law.cwnd(), law.ssthresh()), (20_000, u64::MAX));
}

#[test]
fn the_window_does_not_grow_while_the_application_limits_it() {
    let cfg = Profile::Linux6.config();
    let mut law = Controller::new(&cfg, MSS);
    law.on_ack(&cfg, &ack(1000), &AfterAck { cwnd_limited: false, ..AfterAck::CALM });
    assert_eq!(law.cwnd(), 10_000);
    law.on_ack(&cfg, &ack(1000), &AfterAck::CALM);
    assert_eq!(law.cwnd(), 11_000);
}

/// In Linux, slow start opens the window by all bytes that an ACK acknowledges, up to ssthresh. The rest counts in
/// congestion avoidance.
#[test]
fn slow_start_without_limit_stops_at_ssthresh() {
    let cfg = TcpConfig { window_law: WindowLawKind::Reno, ..Profile::Linux6.config() };
    let mut law = Controller::new(&cfg, MSS);
    law.set_cwnd(8000, MSS);
    law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, 8000, MSS); // ssthresh 4
    law.on_ack(&cfg, &ack(2000), &AfterAck::CALM);
    assert_eq!(law.cwnd(), 3000);
    // The ACK of four segments opens the window by one, up to ssthresh. The other three count towards the four that
    // congestion avoidance needs for the next increase.
    law.on_ack(&cfg, &ack(4000), &AfterAck::CALM);
    assert_eq!(law.cwnd(), 4000);
    law.on_ack(&cfg, &ack(1000), &AfterAck::CALM);
    assert_eq!(law.cwnd(), 5000);
}

#[test]
fn restart_after_idle_is_at_most_the_initial_window() {
    let cfg = Profile::Rfc5681.config();
    let mut law = Controller::new(&cfg, MSS);
    law.set_cwnd(40_000, MSS);
    law.on_idle_restart(&cfg, MSS, 1);
    assert_eq!(law.cwnd(), 4000);
    law.set_cwnd(2000, MSS);
    law.on_idle_restart(&cfg, MSS, 1);
    assert_eq!(law.cwnd(), 2000); // RFC 5681, 4.1: min(IW, cwnd)
}

/// In HyStart++'s CSS, the window grows by a quarter of slow start's increase; at the end of CSS, ssthresh becomes
/// cwnd.
#[test]
fn conservative_slow_start_grows_by_a_quarter() {
    let cfg = TcpConfig { slow_start: SlowStartKind::HystartPlusPlus, ..Profile::Linux6.config() };
    let mut law = Controller::new(&cfg, MSS);
    let (mut una, mut window) = (0_u64, 10_u64);
    let mut sizes = Vec::new();
    for round in 0..10 {
        let rtt = Time::from_millis(if round < 3 { 100 } else { 150 });
        for _ in 0..window {
            una += 1000;
            let snd_nxt = una - 1000 + law.cwnd();
            let ack = AckReport { snd_una: una - 1, snd_nxt, rtt: Some(rtt), srtt: rtt, ..ack(1000) };
            law.on_ack(&cfg, &ack, &AfterAck::CALM);
        }
        sizes.push((law.cwnd() / 1000, law.in_conservative_slow_start()));
        window = law.cwnd() / 1000;
    }
    println!("{sizes:?}");
    assert_eq!(sizes[..3], [(20, false), (40, false), (80, false)]);
    assert!(sizes[3].1 && sizes[3].0 < 120, "CSS within the first slow round: {:?}", sizes[3]);
    assert!(!law.in_slow_start(), "after five rounds of CSS: congestion avoidance");
    assert_eq!(law.ssthresh() / 1000, sizes[7].0);
}

/// The kernel sets ssthresh to 0.7 of cwnd in whole segments, even if only one segment is in flight; the RFCs set it to
/// 0.7 of the data in flight.
#[test]
fn reductions_start_from_cwnd_or_from_the_flight() {
    for (reduce_from, ssthresh) in
        [(ReductionBase::CwndWholeSegments, 7000), (ReductionBase::Cwnd, 7700), (ReductionBase::FlightSize, 2000)]
    {
        let cfg = TcpConfig {
            window_law: WindowLawKind::Cubic(crate::CubicConfig { fast_convergence: true }),
            reduce_from,
            ..Profile::Linux6.config()
        };
        let mut law = Controller::new(&cfg, MSS);
        law.set_cwnd(11_000, MSS);
        law.on_congestion(&cfg, Time::ZERO, CongestionEvent::Rto, 1000, MSS);
        assert_eq!((law.cwnd(), law.ssthresh()), (1000, ssthresh));
    }
}
