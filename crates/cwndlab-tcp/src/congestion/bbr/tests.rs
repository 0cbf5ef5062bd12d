//! Tests each rule with ACKs made by hand, on a path of one packet per millisecond (12 Mb/s with 1500 bytes) and a
//! round trip of 40 ms.

use super::*;
use crate::flight::RateSample;
use crate::Profile;
use rand::SeedableRng;

const MSS: u32 = 1500;
const RATE: u64 = RATE_UNIT / 1000;

/// A connection with a window of ten packets, whose handshake took 40 ms.
struct Flow {
    bbr: Bbr,
    cwnd: u64,
    now_ms: u64,
    delivered: u64,
}

/// An ACK. Tests change fields of [`ACK`], which delivers one packet 1 ms after the previous ACK.
#[derive(Clone, Copy)]
struct Ack {
    packets: u64,
    after_ms: u64,
    /// Packets delivered before the acknowledged one was sent; `None` stands for 40 fewer than after this ACK.
    prior: Option<u64>,
    /// Packets delivered in the 40 ms of the rate sample.
    rate: u64,
    rtt_ms: u64,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
    in_recovery: bool,
    after_timeout: bool,
}

const ACK: Ack = Ack {
    packets: 1,
    after_ms: 1,
    prior: None,
    rate: 40,
    rtt_ms: 40,
    in_flight: 40,
    lost: 0,
    app_limited: false,
    in_recovery: false,
    after_timeout: false,
};

/// A window of `packets` packets.
fn window(packets: u32) -> Windows {
    Windows { cwnd: packets * MSS, ssthresh: u32::MAX }
}

impl Flow {
    fn new() -> Flow {
        let mut bbr = Bbr::new(&Profile::Linux6.config());
        let ms = Time::from_millis;
        let start = Start { now: ms(1000), mss: MSS, mtu: MSS, srtt: ms(40), min_rtt: ms(40) };
        bbr.on_start(&start, Some(Rng::seed_from_u64(1)), &mut window(10));
        Flow { bbr, cwnd: 10, now_ms: 1000, delivered: SYN }
    }

    fn ack(&mut self, ack: Ack) {
        let mss = u64::from(MSS);
        self.now_ms += ack.after_ms;
        self.delivered += ack.packets;
        let now = Time::from_millis(self.now_ms);
        let prior = ack.prior.unwrap_or(self.delivered.saturating_sub(40));
        let rate = RateSample {
            delivered_bytes: ack.rate * mss,
            delivered_packets: ack.rate,
            interval: Time::from_millis(40),
            send_elapsed: Time::from_millis(40),
            ack_elapsed: Time::from_millis(40),
            prior_delivered_bytes: 0,
            prior_delivered_packets: prior,
            tx_in_flight_bytes: 40 * mss,
            prior_lost_bytes: 0,
            prior_ce_bytes: 0,
            app_limited: ack.app_limited,
            retransmission: false,
            min_rtt: Time::from_millis(40),
        };
        let report = AckReport {
            now,
            kind: AckKind::New,
            mss: MSS,
            acked_bytes: ack.packets * mss,
            prior_flight_bytes: 40 * mss,
            prior_in_flight_bytes: (ack.in_flight + ack.packets) * mss,
            rtt: Some(Time::from_millis(ack.rtt_ms)),
            srtt: Time::from_millis(40),
            rate: Some(rate),
            ..AckReport::default()
        };
        let after = AfterAck {
            lost_bytes: ack.lost * mss,
            in_recovery: ack.in_recovery,
            after_timeout: ack.after_timeout,
            in_flight_bytes: ack.in_flight * mss,
            total_delivered_packets: self.delivered,
            delivered_at: now,
            ..AfterAck::default()
        };
        let lost =
            LostSegment { start: 0, bytes: mss, tx_in_flight: 40 * mss, prior_lost: 0, app_limited: ack.app_limited };
        for _ in 0..ack.lost {
            self.bbr.on_lost(&lost, self.delivered, now, window(self.cwnd as u32));
        }
        self.cwnd = self.bbr.take_ack(&report, &after, self.cwnd);
    }

    /// Takes an ACK that begins a round.
    fn round(&mut self, ack: Ack) {
        self.ack(Ack { prior: Some(self.bbr.rounds.ends_at), ..ack });
    }

    /// A flow in `PROBE_BW` that has measured the path's rate.
    fn probing() -> Flow {
        let mut flow = Flow::new();
        for _ in 0..4 {
            flow.round(Ack { in_flight: 100, ..ACK });
        }
        assert_eq!(flow.bbr.mode, Mode::Drain);
        flow.ack(ACK);
        assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth);
        flow
    }
}

#[test]
fn the_first_rate_is_the_window_a_round_trip_times_the_high_gain_less_one_percent() {
    let flow = Flow::new();
    // 10 packets of 1500 bytes in 40 ms are 375,000 bytes per second; the gain is 739/256
    assert!(flow.bbr.pacing_rate.abs_diff(375_000 * 739 / 256 * 99 / 100) < 200, "{}", flow.bbr.pacing_rate);
    let mut unknown = Bbr::new(&Profile::Linux6.config());
    unknown.on_start(
        &Start { now: Time::ZERO, mss: MSS, mtu: MSS, srtt: Time::ZERO, min_rtt: Time::MAX },
        None,
        &mut window(10),
    );
    assert!(unknown.pacing_rate.abs_diff(15_000_000 * 739 / 256 * 99 / 100) < 1000, "a millisecond is assumed");
}

#[test]
fn startup_ends_after_three_rounds_without_growth_by_a_quarter() {
    let mut flow = Flow::new();
    for (rate, full) in [(10, false), (13, false), (17, false), (22, false), (23, false), (24, false), (25, true)] {
        flow.round(Ack { rate, in_flight: 100, ..ACK });
        assert_eq!(flow.bbr.full, full, "{rate}");
    }
    assert_eq!((flow.bbr.mode, flow.bbr.pacing_gain), (Mode::Drain, DRAIN_GAIN));
    // 25 packets per round trip and three trains of two, rounded up to an even number
    assert_eq!(flow.bbr.ssthresh, Some(32));
}

#[test]
fn rounds_that_the_application_limits_do_not_end_startup_and_low_rates_of_them_do_not_count() {
    let mut flow = Flow::new();
    flow.round(ACK);
    for _ in 0..5 {
        flow.round(Ack { rate: 5, app_limited: true, ..ACK });
    }
    assert_eq!((flow.bbr.mode, u64::from(flow.bbr.bandwidth.get())), (Mode::Startup, RATE));
    flow.round(Ack { rate: 80, app_limited: true, ..ACK });
    assert_eq!(u64::from(flow.bbr.bandwidth.get()), 2 * RATE_UNIT / 1000, "a higher one does");
}

#[test]
fn drain_lasts_until_a_product_is_in_flight() {
    let mut flow = Flow::new();
    for _ in 0..5 {
        flow.round(Ack { in_flight: 100, ..ACK });
    }
    // The target: 40 packets and three trains of two.
    flow.ack(Ack { in_flight: 47, ..ACK });
    assert_eq!(flow.bbr.mode, Mode::Drain);
    flow.ack(Ack { in_flight: 46, ..ACK });
    assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth);
    assert_ne!(flow.bbr.cycle, 1, "not in the draining phase");
}

#[test]
fn the_first_phase_is_any_but_the_draining_one() {
    let mut flow = Flow::probing();
    let mut seen = [0; 8];
    for _ in 0..700 {
        flow.bbr.probe_bandwidth();
        seen[flow.bbr.cycle] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(phase, &times)| phase == 1 || times > 60), "{seen:?}");
}

#[test]
fn a_phase_lasts_a_round_trip_probing_until_its_target_or_a_loss_and_draining_until_its() {
    let phase_after = |cycle: usize, after_ms: u64, in_flight: u64, lost: u64| {
        let mut flow = Flow::probing();
        (flow.bbr.cycle, flow.bbr.pacing_gain) = (cycle, CYCLE[cycle]);
        flow.bbr.cycle_began_us = flow.now_ms * 1000;
        flow.ack(Ack { after_ms, in_flight, lost, ..ACK });
        flow.bbr.cycle
    };
    assert_eq!((phase_after(3, 40, 40, 0), phase_after(3, 41, 40, 0)), (3, 4));
    // The target is 58 packets: 5/4 of 40, three trains of two, and two more. Packets in the network are those in
    // flight, the one that this ACK acknowledges, and a train of two that is about to be sent.
    assert_eq!((phase_after(0, 41, 54, 0), phase_after(0, 41, 55, 0)), (0, 1));
    assert_eq!((phase_after(0, 41, 40, 1), phase_after(0, 30, 60, 1)), (1, 0));
    // The target is 46 packets: the bandwidth-delay product of 40, and three trains (segments sent at once) of two. The
    // acknowledged packet still counts as in flight.
    assert_eq!((phase_after(1, 1, 46, 0), phase_after(1, 1, 45, 0), phase_after(1, 41, 60, 0)), (1, 2, 2));
}

#[test]
fn the_window_is_twice_the_product_with_room_for_trains() {
    let mut flow = Flow::probing();
    flow.bbr.cycle = 2;
    for _ in 0..100 {
        flow.ack(Ack { prior: Some(0), after_ms: 1, ..ACK });
        flow.bbr.cycle = 2;
    }
    // 80 packets and three trains of two; one packet is acknowledged each millisecond, as expected
    assert_eq!(flow.cwnd, 86 + flow.bbr.aggregation.allowance(flow.bbr.bandwidth()).next_multiple_of(2));
    assert!(flow.bbr.aggregation.allowance(flow.bbr.bandwidth()) <= 2);
}

#[test]
fn packets_that_arrive_at_once_widen_the_window_by_what_was_not_expected() {
    let mut flow = Flow::probing();
    flow.ack(Ack { after_ms: 20, packets: 20, prior: Some(0), ..ACK });
    flow.ack(Ack { after_ms: 0, packets: 30, prior: Some(0), ..ACK });
    let excess = flow.bbr.aggregation.allowance(flow.bbr.bandwidth());
    assert!((30..=50).contains(&excess), "{excess}");
    for _ in 0..15 {
        flow.round(Ack { after_ms: 60, packets: 40, ..ACK });
    }
    let later = flow.bbr.aggregation.allowance(flow.bbr.bandwidth());
    assert!(later <= 40, "{later}: forgotten after ten rounds");
    assert!(Aggregation::default().allowance(u32::MAX) == 0);
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_its_end_restores_the_window() {
    let mut flow = Flow::probing();
    flow.cwnd = 80;
    flow.bbr.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS, &mut window(80));
    flow.ack(Ack { lost: 3, in_flight: 50, in_recovery: true, ..ACK });
    assert_eq!(flow.cwnd, 51, "what is in flight and what was delivered");
    flow.ack(Ack { in_flight: 50, in_recovery: true, prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 51);
    flow.round(Ack { in_flight: 51, in_recovery: true, ..ACK });
    assert_eq!(flow.cwnd, 52, "slow start from the second round on");
    flow.ack(Ack { prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 81, "the window before, and one packet delivered");
}

#[test]
fn a_loss_outside_recovery_takes_its_packets_from_the_window() {
    let mut flow = Flow::probing();
    flow.cwnd = 60;
    flow.ack(Ack { lost: 5, prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 56);
}

#[test]
fn after_a_timeout_the_window_grows_from_one_packet_and_is_restored_at_its_end() {
    let mut flow = Flow::probing();
    flow.bbr.on_congestion(CongestionEvent::Rto, Time::ZERO, MSS, &mut window(70));
    flow.cwnd = 1;
    flow.ack(Ack { after_timeout: true, in_flight: 1, prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 4, "never less than four");
    flow.ack(Ack { prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 71);
}

#[test]
fn probe_rtt_holds_four_packets_for_200_ms_and_a_round_every_ten_seconds() {
    let mut flow = Flow::probing();
    flow.cwnd = 80;
    flow.ack(Ack { after_ms: 9_995, rtt_ms: 50, ..ACK });
    assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth, "more than ten seconds");
    flow.ack(Ack { after_ms: 10, rtt_ms: 50, ..ACK });
    assert_eq!((flow.bbr.mode, flow.cwnd, flow.bbr.limits_itself()), (Mode::ProbeRtt, 4, true));
    assert_eq!(flow.bbr.min_rtt_us, 50_000, "the old minimum has expired");
    flow.ack(Ack { after_ms: 300, in_flight: 5, ..ACK });
    flow.ack(Ack { after_ms: 1, in_flight: 4, prior: Some(0), ..ACK });
    flow.round(Ack { after_ms: 200, in_flight: 4, ..ACK });
    assert_eq!(flow.bbr.mode, Mode::ProbeRtt, "200 ms are not over");
    flow.ack(Ack { after_ms: 1, in_flight: 4, prior: Some(0), ..ACK });
    assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth);
    assert!(flow.cwnd >= 80 && !flow.bbr.limits_itself(), "{}", flow.cwnd);
}

#[test]
fn after_idling_it_paces_at_the_estimate_and_does_not_probe_the_round_trip() {
    let mut flow = Flow::probing();
    flow.bbr.pacing_rate = 0;
    flow.now_ms += 20_000;
    let mut windows = window(80);
    flow.bbr.on_app_restart(Time::from_millis(flow.now_ms), MSS, &mut windows);
    assert_eq!(windows, window(80));
    let estimate = 1_500_000 * 99 / 100;
    assert!(flow.bbr.pacing_rate.abs_diff(estimate) < 200, "{}", flow.bbr.pacing_rate);
    flow.ack(ACK);
    assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth, "an idle time has drained the queue");
}

#[test]
fn two_lossy_intervals_of_one_rate_are_a_policer_and_set_the_rate_for_48_rounds() {
    let mut flow = Flow::probing();
    let lossy = Ack { packets: 20, after_ms: 40, rate: 40, lost: 8, ..ACK };
    for _ in 0..8 {
        flow.round(lossy);
    }
    let policed = flow.bbr.policer.bandwidth().expect("half a packet per millisecond, 40 % lost");
    assert!(u64::from(policed).abs_diff(RATE / 2) < RATE / 50, "{policed}");
    // `bbr_update_gains`: no probing, and a window of twice the product
    assert_eq!((flow.bbr.pacing_gain, flow.bbr.cwnd_gain), (UNIT, 2 * UNIT));
    for _ in 0..47 {
        flow.round(Ack { packets: 20, after_ms: 40, ..ACK });
    }
    assert!(flow.bbr.policer.bandwidth().is_some());
    flow.round(Ack { packets: 20, after_ms: 40, ..ACK });
    assert!(flow.bbr.policer.bandwidth().is_none());
}

#[test]
fn without_rack_a_policer_is_known_by_the_losses_that_acks_find() {
    let recovery = Profile::Linux6.recovery(RecoveryKind::Sack);
    assert!(Bbr::new(&TcpConfig { recovery, ..Profile::Linux6.config() }).acks_find_losses);
    let mut flow = Flow::probing();
    flow.bbr.acks_find_losses = true;
    let lossy = Ack { packets: 20, after_ms: 40, rate: 40, lost: 3, ..ACK };
    for _ in 0..8 {
        flow.round(lossy); // each loss is counted here and by `on_lost`
    }
    assert!(flow.bbr.policer.bandwidth().is_some());
}

/// `tp->lost`, against `rs->losses`.
#[test]
fn for_the_policer_losses_count_that_no_ack_has_found() {
    let mut flow = Flow::probing();
    let lost = LostSegment { start: 0, bytes: 1500, tx_in_flight: 0, prior_lost: 0, app_limited: false };
    for _ in 0..12 {
        for _ in 0..7 {
            flow.bbr.on_lost(&lost, flow.delivered, Time::from_millis(flow.now_ms), window(80));
        }
        flow.round(Ack { packets: 20, after_ms: 40, rate: 40, lost: 1, ..ACK });
    }
    assert!(flow.bbr.policer.bandwidth().is_some(), "one loss in twenty packets alone is no policer");
}

#[test]
fn fewer_losses_or_an_application_without_data_are_no_policer() {
    for ack in [Ack { lost: 3, ..ACK }, Ack { lost: 8, app_limited: true, ..ACK }] {
        let mut flow = Flow::probing();
        for _ in 0..40 {
            flow.round(Ack { packets: 20, after_ms: 40, ..ack });
        }
        assert_eq!(flow.bbr.policer.bandwidth(), None);
    }
}

#[test]
fn trains_are_of_one_packet_below_1200_kbit_a_second() {
    let mut flow = Flow::probing();
    flow.bbr.pacing_rate = 149_999;
    assert_eq!(flow.bbr.grant(15_000).quantum, Quantum::OfRate(1));
    flow.bbr.pacing_rate = 150_000;
    let grant = flow.bbr.grant(15_000);
    assert_eq!(grant.quantum, Quantum::OfRate(2));
    assert_eq!((grant.cwnd_bytes, grant.pacing_rate, grant.owns_recovery), (15_000, Some(150_000), true));
}

/// `bbr_save_cwnd`: the window of an undisturbed time is kept as it is; during a repair or `PROBE_RTT` a larger one stays.
#[test]
fn a_window_that_was_cut_does_not_replace_the_larger_one() {
    let modes = [Mode::Startup, Mode::Drain, Mode::ProbeBandwidth, Mode::ProbeRtt];
    for (repair, mode) in [Repair::None, Repair::Recovery, Repair::Loss].into_iter().flat_map(|r| modes.map(|m| (r, m)))
    {
        let mut bbr = Flow::new().bbr;
        (bbr.prior_repair, bbr.mode, bbr.prior_cwnd) = (repair, mode, 50);
        bbr.save_cwnd(40);
        let is_cut = repair != Repair::None || mode == Mode::ProbeRtt;
        assert_eq!(bbr.prior_cwnd, if is_cut { 50 } else { 40 }, "{repair:?} {mode:?}");
        bbr.save_cwnd(60);
        assert_eq!(bbr.prior_cwnd, 60);
    }
}
