//! Flows on a simulated path, with the rules of draft-ietf-ccwg-bbr-06 and of Google's BBR v3 branch.

use super::path::Path;
use super::*;

const BOTH: [Bbr3Rules; 2] = [Bbr3Rules::Draft, Bbr3Rules::GoogleV3];

#[test]
fn a_1_startup_measures_the_link_within_two_percent_and_doubles_its_rate_each_round() {
    for rules in BOTH {
        let mut path = Path::new(rules, 10.0, 40, 2.0);
        assert!(path.run_until(1.0, |path| path.law.state == State::Drain));
        assert!(path.law.max_bw().abs_diff(path.rate) < path.rate / 50, "{}", path.law.max_bw());
        // The rate reaches the path's in two round trips (10 packets grow to 33); in three more, the rate does not
        // grow.
        assert!(path.law.rounds.count <= 7, "{}", path.law.rounds.count);
    }
}

#[test]
fn a_4_where_the_rate_falls_by_a_tenth_drain_ends_after_three_rounds() {
    let mut path = Path::new(Bbr3Rules::Draft, 10.0, 40, 2.0);
    assert!(path.run_until(1.0, |path| path.law.state == State::Drain));
    path.rate = path.rate / 10 * 9;
    let began = path.law.rounds.count;
    assert!(path.run_until(1.0, |path| path.law.state == State::Down));
    assert!(path.law.rounds.count <= began + 4);
}

#[test]
fn a_5_to_a_10_a_long_transfer_goes_through_the_states_in_order_and_keeps_its_queue_short() {
    for rules in BOTH {
        let mut path = Path::new(rules, 10.0, 40, 2.0);
        let mut seen = Vec::new();
        let mut queue = (0_u64, 0_u64);
        let bdp = bytes_in(path.rate, path.rtt);
        path.run_until(14.0, |path| {
            if seen.last() != Some(&path.law.state) {
                seen.push(path.law.state);
            }
            queue = (queue.0 + path.in_flight().saturating_sub(bdp), queue.1 + 1);
            false
        });
        let cycle = [State::Down, State::Cruise, State::Refill, State::Up, State::Down];
        assert_eq!(seen[..2], [State::Startup, State::Drain]);
        assert!(seen.windows(5).any(|five| five == cycle), "{seen:?}");
        assert!((2..=3).contains(&seen.iter().filter(|&&state| state == State::ProbeRtt).count()), "{seen:?}");
        assert!(queue.0 / queue.1 < bdp / 4, "{} of {bdp} bytes queued on average", queue.0 / queue.1);
        assert!(path.utilization(10.0) > 0.93, "{rules:?}");
        assert_eq!(path.dropped, 0);
    }
}

#[test]
fn a_12_and_a_13_acks_that_come_in_bursts_leave_the_link_in_use() {
    for rules in BOTH {
        let mut path = Path::new(rules, 50.0, 20, 4.0);
        path.slot = Time::from_millis(10);
        path.run(3.0);
        let bdp = bytes_in(path.rate, path.rtt);
        assert!(path.law.aggregation.allowance(path.law.bw()) > bdp / 5);
        assert!(path.cwnd > 2 * bdp + bdp / 5, "{} with a product of {bdp}", path.cwnd);
        assert!(path.utilization(5.0) > 0.9, "{rules:?}");
    }
}

#[test]
fn a_14_where_the_product_is_less_than_a_packet_four_are_the_least_window() {
    for rules in BOTH {
        let mut path = Path::new(rules, 0.1, 10, 1.0);
        path.buffer = 20 * MSS;
        path.run(20.0);
        assert!(path.law.state.is_probe_bw() || path.law.state == State::ProbeRtt, "{:?}", path.law.state);
        assert!(path.cwnd >= 4 * MSS, "{}", path.cwnd);
        let exact = path.law.bw() as f64 / path.rate as f64;
        assert!((0.9..1.1).contains(&exact), "{exact}");
        assert!(path.utilization(20.0) > 0.95);
    }
}

#[test]
fn a_15_ten_times_the_bandwidth_is_found() {
    for rules in BOTH {
        let mut path = Path::new(rules, 10.0, 40, 2.0);
        path.run(4.0);
        path.rate *= 10;
        path.buffer *= 10;
        assert!(path.run_until(20.0, |path| path.law.max_bw() > path.rate / 100 * 95), "{}", path.law.max_bw());
    }
}

#[test]
fn a_16_a_tenth_of_the_bandwidth_is_accepted_after_two_cycles() {
    for rules in BOTH {
        let mut path = Path::new(rules, 100.0, 40, 1.0);
        path.run(4.0);
        (path.rate, path.buffer) = (path.rate / 10, path.buffer / 10);
        assert!(path.run_until(2.0, |path| path.law.bw_shortterm < path.rate * 3), "{:?}", path.law.bw_shortterm);
        assert!(path.run_until(12.0, |path| path.law.max_bw() < path.rate / 10 * 11), "{}", path.law.max_bw());
    }
}

#[test]
fn a_17_behind_a_policer_it_settles_near_the_token_rate_with_few_losses() {
    for rules in BOTH {
        let mut path = Path::new(rules, 100.0, 40, 4.0);
        let rate = 1_250_000; // 10 Mb/s
        path.policer = Some((rate, 100_000));
        path.run(20.0);
        let (sent, dropped, delivered) = (path.sent, path.dropped, path.delivered);
        path.run(20.0);
        let goodput = ((path.delivered - delivered) * MSS) as f64 / (20.0 * rate as f64);
        let lost = (path.dropped - dropped) as f64 / (path.sent - sent) as f64;
        assert!((0.8..1.01).contains(&goodput), "{rules:?}: {goodput}");
        assert!(lost < 0.05, "{rules:?}: {lost}");
    }
}

#[test]
fn random_loss_of_one_percent_leaves_most_of_the_link_in_use_and_of_ten_percent_does_not() {
    for rules in BOTH {
        let used = |loss: f64| {
            let mut path = Path::new(rules, 50.0, 30, 1.0);
            path.loss = Some(loss);
            path.run(3.0);
            path.utilization(20.0)
        };
        let (little, much) = (used(0.01), used(0.1));
        assert!(little > 0.7, "{rules:?}: {little}");
        assert!(much < little / 2.0, "{rules:?}: {much}");
    }
}
