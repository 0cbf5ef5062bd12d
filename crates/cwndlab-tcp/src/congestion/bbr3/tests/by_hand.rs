//! Tests one rule at a time, with ACKs made by hand.
#![allow(clippy::float_cmp)] // gains are constants

use super::flow::{Ack, Flow, ACK, BDP, RATE};
use super::*;
use crate::congestion::Quantum;

#[test]
fn a_gain_scales_small_and_large_numbers_alike() {
    for (value, gain, expected) in [
        (7, 0.5, 3),
        (1000, 2.77, 2770),
        ((1 << 52) - 2, 0.5, (1 << 51) - 1),
        (1 << 52, 0.5, 1 << 51),
        (1 << 53, 2.0, 1 << 54),
        (3, 1024.0, 3072),
        (3, 1023.0, 3069),
    ] {
        assert_eq!(scaled(value, gain), expected, "{value} {gain}");
    }
}

#[test]
fn the_first_rate_is_the_window_a_round_trip_times_the_startup_gain() {
    // 10 packets of 1500 bytes in 40 ms are 375,000 bytes per second; Google's BBR v3 branch subtracts its margin of 1
    // %
    assert_eq!(Flow::new().law.pacing_rate, 375_000 * 277 / 100);
    assert_eq!(Flow::google().law.pacing_rate, (375_000.0 * (710.0 / 256.0 * 0.99)) as u64);
    let mut unknown = Bbr3::new(&Profile::Linux6.config(), Bbr3Config::STANDARD);
    unknown.on_start(
        &Start { now: Time::ZERO, mss: 1500, mtu: 1500, srtt: Time::ZERO, min_rtt: Time::MAX },
        None,
        &mut window(15_000),
    );
    assert_eq!(unknown.pacing_rate, 15_000_000 * 277 / 100, "a millisecond is assumed");
}

#[test]
fn a_1_startup_ends_after_three_rounds_without_growth_by_a_quarter() {
    for start in [Flow::new, Flow::google] {
        let mut flow = start();
        for (rate, full) in [(10, false), (13, false), (17, false), (22, false), (23, false), (24, false), (25, true)] {
            flow.round(Ack { rate, in_flight: 100, ..ACK });
            assert_eq!((flow.law.full.now, flow.law.full.reached), (full, full), "{rate}");
        }
        assert_eq!(flow.law.state, State::Drain);
    }
}

#[test]
fn between_rounds_the_branch_takes_growth_into_account_and_the_draft_does_not() {
    for (start, rate) in [(Flow::new as fn() -> Flow, 10), (Flow::google, 20)] {
        let mut flow = start();
        flow.round(Ack { rate: 10, in_flight: 100, ..ACK });
        flow.ack(Ack { rate: 20, in_flight: 100, prior: Some(0), ..ACK });
        assert_eq!(flow.law.full.rate / 1000, rate * RATE / 40_000);
    }
}

#[test]
fn a_2_startup_ends_by_loss_where_the_application_limits_the_rate() {
    for (start, bound) in [(Flow::new as fn() -> Flow, BDP), (Flow::google, BDP + MSS)] {
        let mut flow = start();
        let limited = Ack { app_limited: true, in_flight: 100, ..ACK };
        flow.round(limited);
        flow.law.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS as u32, &mut window(flow.cwnd));
        for _ in 0..6 {
            flow.ack(Ack { lost: 1, in_recovery: true, prior: Some(0), ..limited });
            assert_eq!(flow.law.state, State::Startup, "a whole round of recovery is awaited");
        }
        flow.round(Ack { lost: 1, in_recovery: true, tx_in_flight: 49, ..limited });
        assert_eq!(flow.law.state, State::Drain, "1 of 49 is more than 2 %");
        assert!(flow.law.full.now && flow.law.full.reached);
        assert_eq!(flow.law.inflight_longterm, bound, "max(bdp, inflight_latest), by the branch rounded up");
    }
    // Five lost ranges, or losses of 1 packet in 52 (less than 2 %), do not end Startup.
    for (losses, tx_in_flight) in [(4, 49), (6, 52)] {
        let mut flow = Flow::new();
        flow.round(ACK);
        flow.law.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS as u32, &mut window(flow.cwnd));
        for _ in 0..losses {
            flow.ack(Ack { lost: 1, in_recovery: true, prior: Some(0), ..ACK });
        }
        flow.round(Ack { lost: 1, in_recovery: true, tx_in_flight, ..ACK });
        assert_eq!(flow.law.state, State::Startup);
    }
}

#[test]
fn a_3_drain_ends_once_a_product_is_in_flight() {
    let mut flow = Flow::new().draining();
    assert_eq!((flow.law.pacing_gain(), flow.law.cwnd_gain()), (0.5, 2.0));
    flow.ack(Ack { in_flight: 41, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Drain);
    flow.ack(Ack { in_flight: 40, prior: Some(0), ..ACK });
    assert_eq!((flow.law.state, flow.law.pacing_gain()), (State::Down, 0.9));
    let google = Flow::google().draining();
    assert_eq!(google.law.pacing_gain(), 88.0 / 256.0);
    assert_eq!(google.down().law.pacing_gain(), 232.0 / 256.0);
}

#[test]
fn a_4_drain_ends_after_three_rounds_by_the_draft_and_lasts_by_the_branch() {
    for (start, ends) in [(Flow::new as fn() -> Flow, true), (Flow::google, false)] {
        let mut flow = start().draining();
        for _ in 0..3 {
            flow.round(Ack { in_flight: 60, ..ACK });
            assert_eq!(flow.law.state, State::Drain);
        }
        flow.round(Ack { in_flight: 60, ..ACK });
        assert_eq!(flow.law.state == State::Down, ends);
    }
}

#[test]
fn the_draft_counts_bytes_and_the_branch_whole_packets() {
    let (draft, google) = (Flow::new().law, Flow::google().law);
    assert_eq!((draft.scaled_product(RATE, 1.01), google.scaled_product(RATE, 1.01)), (40 * MSS + 600, 41 * MSS));
    assert_eq!((draft.share(BDP, 0.99), google.share(BDP, 0.99)), (39 * MSS + 900, 39 * MSS));
    // 51 packets may lose a packet by the branch, 1.02 by the draft; another packet may then be sent.
    let first_loss = Sample { tx_in_flight: 52 * MSS, lost: MSS, ..Sample::default() };
    assert_eq!(google.inflight_at_loss(&first_loss, MSS), 52 * MSS);
    assert_eq!(draft.inflight_at_loss(&first_loss, MSS), 51 * MSS + 1561);
    // 20 packets in 40 ms are 8388.6 units of 2^-24 packets per microsecond, and 8389 units are 750,035.1 bytes per
    // second.
    for (mut flow, rate) in [(Flow::new(), 750_000), (Flow::google(), 750_036)] {
        flow.round(Ack { rate: 20, ..ACK });
        assert_eq!(flow.law.max_bw(), rate);
    }
}

#[test]
fn a_5_up_ends_on_a_plateau() {
    let mut flow = Flow::new().up();
    assert_eq!((flow.law.pacing_gain(), flow.law.cwnd_gain()), (1.25, 2.25));
    for _ in 0..2 {
        flow.round(Ack { in_flight: 50, ..ACK });
        assert_eq!(flow.law.state, State::Up);
    }
    flow.round(Ack { in_flight: 50, ..ACK });
    assert_eq!(flow.law.state, State::Down);
}

#[test]
fn a_6_up_ends_by_loss_and_an_application_that_limits_it_sets_no_bound() {
    for app_limited in [false, true] {
        let mut flow = Flow::new().up();
        flow.ack(Ack { lost: 2, tx_in_flight: 50, app_limited, in_recovery: true, prior: Some(0), ..ACK });
        assert_eq!(flow.law.state, State::Down);
        // The draft's appendix expects a bound "appropriately"; HandleInflightTooHigh (5.5.10.2) sets none if the
        // application limits the sender.
        let bound = flow.law.inflight_longterm;
        assert_eq!(bound == NONE, app_limited, "{bound}");
    }
}

#[test]
fn a_7_without_loss_an_application_that_limits_the_rate_ends_neither_startup_nor_up() {
    for mut flow in [Flow::new(), Flow::new().up()] {
        let state = flow.law.state;
        for _ in 0..50 {
            flow.round(Ack { app_limited: true, rate: 5, ..ACK });
        }
        assert_eq!(flow.law.state, state);
    }
}

#[test]
fn a_8_down_ends_with_headroom_and_no_more_than_a_product_in_flight() {
    let state = |longterm: u64, in_flight: u64| {
        let mut flow = Flow::new().down();
        flow.law.inflight_longterm = longterm;
        flow.ack(Ack { in_flight: in_flight - 1, prior: Some(0), tx_in_flight: 0, ..ACK });
        flow.law.state
    };
    assert_eq!((state(NONE, 41), state(NONE, 40)), (State::Down, State::Cruise));
    // with headroom, the bound is 34 packets: 85 % of 40
    assert_eq!((state(BDP, 35), state(BDP, 34)), (State::Down, State::Cruise));
}

#[test]
fn a_9_down_ends_in_refill_once_the_wait_is_over() {
    let mut flow = Flow::new().down();
    let wait = flow.law.probe.wait.as_nanos() / 1_000_000;
    assert!((2000..3000).contains(&wait), "{wait} ms");
    flow.ack(Ack { after_ms: wait, in_flight: 60, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Down);
    flow.ack(Ack { in_flight: 60, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Refill);
}

#[test]
fn a_reno_flow_of_the_same_window_would_probe_after_as_many_rounds_at_most_63() {
    for (rate, rounds) in [(40, 40), (400, 63)] {
        let mut flow = Flow::new().cruising();
        flow.law.max_bw = [RATE * rate / 40; 2];
        flow.cwnd = 10_000 * MSS;
        flow.law.min_rtt = MinRtt::new(Time::from_millis(flow.now_ms), Time::from_millis(40));
        let began = flow.law.probe.rounds;
        let mut taken = 0;
        while flow.law.state == State::Cruise {
            flow.round(Ack { after_ms: 0, rate, in_flight: 20, ..ACK });
            taken += 1;
        }
        assert_eq!(u64::from(began) + taken, rounds);
    }
}

#[test]
fn a_10_probe_rtt_halves_the_window_for_200_ms_and_a_round_every_five_seconds() {
    let mut flow = Flow::new().cruising();
    flow.cwnd = 80 * MSS;
    let before = flow.law.min_rtt.get();
    flow.ack(Ack { after_ms: 4000, rtt_ms: 50, ..ACK });
    assert_ne!(flow.law.state, State::ProbeRtt, "more than five seconds");
    flow.ack(Ack { after_ms: 1100, rtt_ms: 50, ..ACK });
    assert_eq!((flow.law.state, flow.law.cwnd_gain()), (State::ProbeRtt, 0.5));
    assert!(flow.law.limits_itself());
    assert_eq!((flow.cwnd, flow.law.min_rtt.get()), (20 * MSS, before), "the minimum lasts for ten seconds");
    flow.ack(Ack { after_ms: 300, in_flight: 21, prior: Some(0), ..ACK });
    flow.ack(Ack { after_ms: 1, in_flight: 20, prior: Some(0), ..ACK });
    flow.round(Ack { after_ms: 200, in_flight: 20, ..ACK });
    assert_eq!(flow.law.state, State::ProbeRtt, "200 ms are not over");
    flow.ack(Ack { after_ms: 1, in_flight: 20, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Cruise);
    assert!(flow.cwnd >= 80 * MSS && !flow.law.limits_itself(), "{}", flow.cwnd / MSS);
}

#[test]
fn a_11_after_idling_it_paces_at_the_estimate_and_skips_probe_rtt() {
    let mut flow = Flow::new().cruising();
    flow.now_ms += 20_000;
    let mut windows = window(80 * MSS);
    flow.law.on_app_restart(Time::from_millis(flow.now_ms), MSS as u32, &mut windows);
    assert_eq!(windows, window(80 * MSS));
    assert!(flow.law.idle_restart);
    assert_eq!(flow.law.pacing_rate, RATE * 99 / 100);
    flow.ack(ACK);
    assert_ne!(flow.law.state, State::ProbeRtt);
    assert!(!flow.law.idle_restart);
}

#[test]
fn a_12_and_a_13_what_is_acknowledged_at_once_widens_the_window_for_ten_rounds() {
    let mut flow = Flow::new().cruising();
    flow.cwnd = 80 * MSS;
    flow.ack(Ack { after_ms: 20, packets: 20, prior: Some(0), ..ACK });
    flow.ack(Ack { after_ms: 0, packets: 30, prior: Some(0), ..ACK });
    let extra = flow.law.aggregation.allowance(RATE) / MSS;
    assert_eq!(extra, 50);
    for _ in 0..100 {
        flow.ack(Ack { prior: Some(0), ..ACK });
    }
    assert_eq!(flow.cwnd, 2 * BDP + extra * MSS);
    for _ in 0..20 {
        flow.round(Ack { after_ms: 60, packets: 1, ..ACK });
    }
    let later = flow.law.aggregation.allowance(RATE) / MSS;
    assert!(later <= 2, "{later}: forgotten after ten rounds");
    // Google's BBR v3 branch adds at most 100 ms of data
    let mut google = Flow::google().cruising();
    google.cwnd = 1000 * MSS;
    google.law.full.reached = false; // so that the window does not change
    google.ack(Ack { after_ms: 1, packets: 500, prior: Some(0), ..ACK });
    assert_eq!(google.law.aggregation.allowance(RATE), 100 * MSS);
}

#[test]
fn a_18_and_a_19_a_spurious_recovery_returns_to_the_probe_by_the_draft_and_not_by_the_branch() {
    for timeout in [false, true] {
        for (start, state) in [(Flow::new as fn() -> Flow, State::Refill), (Flow::google, State::Down)] {
            let mut flow = start().up();
            flow.cwnd = 90 * MSS;
            flow.law.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS as u32, &mut window(flow.cwnd));
            if timeout {
                flow.law.note_timeout();
                flow.cwnd = 20 * MSS;
            }
            let lost = Ack { lost: 3, tx_in_flight: 50, in_flight: 50, prior: Some(0), ..ACK };
            flow.ack(Ack { in_recovery: true, after_timeout: timeout, ..lost });
            assert_eq!(flow.law.state, State::Down);
            assert!(flow.law.inflight_longterm <= 50 * MSS);
            let mut windows = window(flow.cwnd);
            flow.law.on_undo(MSS as u32, &mut windows);
            flow.cwnd = u64::from(windows.cwnd);
            assert_eq!(flow.law.state, state);
            let model = (flow.law.bw_shortterm, flow.law.inflight_shortterm, flow.law.inflight_longterm);
            assert_eq!(model, (NONE, NONE, NONE));
            assert_eq!(flow.cwnd, 90 * MSS);
        }
    }
}

#[test]
fn a_spurious_recovery_that_ended_startup_returns_to_it() {
    let mut flow = Flow::new();
    flow.round(ACK);
    flow.law.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS as u32, &mut window(flow.cwnd));
    for _ in 0..6 {
        flow.ack(Ack { lost: 1, in_recovery: true, prior: Some(0), in_flight: 100, ..ACK });
    }
    flow.round(Ack { in_recovery: true, in_flight: 100, lost: 1, ..ACK });
    assert_eq!(flow.law.state, State::Drain);
    flow.law.on_undo(MSS as u32, &mut window(flow.cwnd));
    assert_eq!((flow.law.state, flow.law.full.reached), (State::Startup, false));
}

#[test]
fn a_20_probe_rtt_in_startup_returns_to_startup() {
    let mut flow = Flow::new();
    flow.round(ACK);
    flow.ack(Ack { after_ms: 5001, rtt_ms: 50, ..ACK });
    assert_eq!(flow.law.state, State::ProbeRtt);
    flow.ack(Ack { in_flight: 4, ..ACK });
    flow.round(Ack { after_ms: 201, in_flight: 4, ..ACK });
    assert_eq!(flow.law.state, State::Startup);
}

#[test]
fn a_21_loss_while_probing_lowers_the_long_term_bound_to_what_was_in_flight_then() {
    let mut flow = Flow::new().up();
    flow.law.inflight_longterm = 60 * MSS;
    flow.ack(Ack { lost: 3, tx_in_flight: 52, in_recovery: true, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Down);
    assert!(flow.law.probe.too_high && !flow.law.probe.samples);
    // The second loss crosses 2 %. The bound is the 51 packets that were in flight when the lost packet was sent, plus
    // 30 of its bytes: had only these 30 bytes of it been lost, the losses would be exactly 2 %.
    assert_eq!(flow.law.inflight_longterm, 51 * MSS + 30);
    // The bound is at least 0.7 of the target. The target is 40 packets.
    let mut flow = Flow::new().up();
    flow.cwnd = 80 * MSS;
    flow.ack(Ack { lost: 3, tx_in_flight: 10, in_recovery: true, prior: Some(0), ..ACK });
    assert_eq!(flow.law.inflight_longterm, 28 * MSS);
}

#[test]
fn a_22_refill_ends_after_a_round_and_low_rates_of_an_idle_application_do_not_count() {
    let mut flow = Flow::new().cruising();
    flow.ack(Ack { after_ms: 3001, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Refill);
    flow.round(Ack { app_limited: true, rate: 5, ..ACK });
    assert_eq!((flow.law.state, flow.law.max_bw()), (State::Up, RATE));
}

#[test]
fn the_probe_after_one_that_went_too_high_stops_at_the_bound_and_another_follows_at_once() {
    let mut flow = Flow::new().up();
    flow.law.probe.too_high = true;
    flow.law.inflight_longterm = 45 * MSS;
    flow.ack(Ack { in_flight: 43, prior: Some(0), ..ACK });
    assert_eq!(flow.law.state, State::Up);
    flow.ack(Ack { in_flight: 44, prior: Some(0), ..ACK });
    assert_eq!((flow.law.state, flow.law.probe.precautionary), (State::Down, true));
    flow.round(Ack { in_flight: 44, ..ACK });
    assert_eq!((flow.law.state, flow.law.probe.precautionary), (State::Refill, false));
}

#[test]
fn in_up_the_long_term_bound_grows_by_twice_as_much_each_round() {
    let mut flow = Flow::new().up();
    flow.law.inflight_longterm = 20 * MSS;
    let mut grown = Vec::new();
    for _ in 0..5 {
        let before = flow.law.inflight_longterm;
        let acked = flow.cwnd.min(before) / MSS;
        for k in 0..acked {
            let in_flight = flow.cwnd / MSS - 1;
            let ack = Ack { in_flight, tx_in_flight: 0, rate: 40, ..ACK };
            if k == 0 {
                flow.round(ack);
            } else {
                flow.ack(Ack { prior: Some(0), ..ack });
            }
        }
        grown.push((flow.law.inflight_longterm - before) / MSS);
    }
    assert_eq!(flow.law.state, State::Up);
    assert_eq!(grown[1..], [2, 4, 8, 16]);
}

#[test]
fn outside_probes_a_round_with_loss_lowers_the_short_term_model_to_seven_tenths_or_what_was_delivered() {
    let mut flow = Flow::new().cruising();
    flow.cwnd = 80 * MSS;
    flow.ack(Ack { lost: 1, in_recovery: true, prior: Some(0), rate: 10, ..ACK });
    (flow.law.latest.rate, flow.law.latest.inflight) = (0, 0);
    let before = flow.cwnd;
    flow.round(Ack { in_recovery: true, rate: 10, ..ACK });
    assert_eq!((flow.law.bw_shortterm, flow.law.inflight_shortterm), (RATE * 7 / 10, before * 7 / 10));
    assert_eq!((flow.law.bw(), flow.cwnd), (RATE * 7 / 10, before * 7 / 10));
    flow.ack(Ack { lost: 1, in_recovery: true, prior: Some(0), rate: 10, ..ACK });
    flow.round(Ack { in_recovery: true, rate: 36, ..ACK });
    assert_eq!(flow.law.bw_shortterm, RATE * 36 / 40, "no less than was delivered");
    assert_eq!(flow.law.max_bw(), RATE, "the long-term model stays");
}

#[test]
fn cruising_leaves_headroom_and_the_other_states_of_the_cycle_do_not() {
    for (state, packets) in [(State::Down, 60), (State::Cruise, 51), (State::Refill, 60), (State::Up, 60)] {
        let mut flow = Flow::new().cruising();
        flow.law.inflight_longterm = 60 * MSS;
        (flow.law.state, flow.law.cwnd) = (state, 100 * MSS);
        flow.law.set_cwnd(&Sample::default());
        assert_eq!(flow.law.cwnd / MSS, packets, "{state:?}");
    }
}

#[test]
fn headroom_is_15_percent_but_a_segment_at_least_and_leaves_four() {
    let mut flow = Flow::new().cruising();
    for (long_term, left) in [(60 * MSS, 51 * MSS), (20 * MSS, 17 * MSS), (6 * MSS, 5 * MSS), (5 * MSS, 4 * MSS)] {
        flow.law.inflight_longterm = long_term;
        assert_eq!(flow.law.inflight_with_headroom(), left, "{long_term}");
    }
    for packets in 1..=4 {
        flow.law.inflight_longterm = packets * MSS;
        assert_eq!(flow.law.inflight_with_headroom(), 4 * MSS, "{packets} packets");
    }
    flow.law.inflight_longterm = NONE;
    assert_eq!(flow.law.inflight_with_headroom(), NONE);
}

#[test]
fn the_window_after_recovery_is_that_before_it_bounded_by_the_model() {
    let mut flow = Flow::new().cruising();
    flow.cwnd = 80 * MSS;
    flow.law.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS as u32, &mut window(flow.cwnd));
    flow.cwnd = 20 * MSS;
    flow.ack(Ack { after_timeout: true, prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 21 * MSS, "slow start");
    flow.ack(Ack { prior: Some(0), ..ACK });
    assert_eq!(flow.cwnd, 2 * BDP + flow.law.aggregation.allowance(RATE));
    assert!(flow.cwnd < 85 * MSS);
}

#[test]
fn trains_last_a_millisecond_and_have_two_segments_at_least() {
    let mut flow = Flow::new();
    for (rate, bytes) in [(100_000, 3000), (10_000_000, 10_000), (1_000_000_000, 65_536)] {
        flow.law.use_rate(rate);
        let grant = flow.law.grant(15_000);
        assert_eq!(grant.quantum, Quantum::Bytes(bytes));
        assert_eq!((grant.cwnd_bytes, grant.pacing_rate, grant.owns_recovery), (15_000, Some(rate), true));
    }
    assert_eq!(Flow::google().law.grant(1).quantum, Quantum::DEFAULT);
}

/// `RestoreCwnd`: the window before a repair comes back when it ends; by the branch only after a timeout.
#[test]
fn the_window_before_a_repair_is_restored_at_its_end() {
    use Repair::{Loss, None, Recovery};
    for (start, after_recovery) in [(Flow::new as fn() -> Flow, 9000), (Flow::google, 5000)] {
        for (before, now, cwnd) in [
            (Loss, None, 9000),
            (Recovery, None, after_recovery),
            (None, None, 5000),
            (Recovery, Recovery, 5000),
            (Loss, Recovery, 5000),
            (None, Recovery, 5000),
        ] {
            let mut law = start().law;
            (law.prior_repair, law.cwnd, law.prior_cwnd) = (before, 5000, 9000);
            law.end_recovery(now);
            assert_eq!(law.cwnd, cwnd, "{before:?}, then {now:?}");
            assert!(law.prior_repair == now);
        }
        let mut law = start().law;
        (law.prior_repair, law.cwnd, law.prior_cwnd) = (Loss, 9000, 5000);
        law.end_recovery(None);
        assert_eq!(law.cwnd, 9000, "a larger window stays");
    }
}
