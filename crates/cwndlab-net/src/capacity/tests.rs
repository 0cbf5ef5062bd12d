use cwndlab_units::{Rate, Serializer, Time};
use proptest::prelude::*;

use super::*;

fn steps(steps: &[(u64, u64)], repeat_ms: Option<u64>) -> CapacityConfig {
    CapacityConfig::Steps {
        at_ns: steps.iter().map(|&(ms, _)| Time::from_millis(ms)).collect(),
        rates_bps: steps.iter().map(|&(_, rate)| rate).collect(),
        repeat_ns: repeat_ms.map(Time::from_millis),
    }
}

fn us(us: u64) -> Time {
    Time::from_micros(us)
}

#[test]
fn the_bits_left_at_a_change_are_sent_at_the_new_rate() {
    // 1500 bytes take 12 ms at 1 Mb/s. Half of them are sent in the first 6 ms, the rest at 10 Mb/s in 0.6 ms.
    let mut faster = steps(&[(0, 1_000_000), (6, 10_000_000)], None).build();
    assert_eq!(faster.finish(Time::ZERO, false, 1500), us(6600));
    assert_eq!(faster.finish(us(6600), true, 1500), us(7800));
    let mut slower = steps(&[(0, 12_000_000), (1, 1_200_000), (2, 12_000_000)], None).build();
    assert_eq!(slower.finish(us(500), false, 1500), us(2400)); // 6000 bits, 1200 in 1 ms, 4800 in 0.4 ms
}

#[test]
fn rounds_of_nanoseconds_are_not_counted_one_by_one() {
    // The packet of 1500 bytes is sent at 8 bit/s, then at rates that alternate between 24 and 8 bit/s.
    let config = |rates: &[u64]| CapacityConfig::Steps {
        at_ns: (0..rates.len() as u64).map(Time::from_nanos).collect(),
        rates_bps: rates.to_vec(),
        repeat_ns: Some(Time::from_nanos(rates.len() as u64)),
    };
    assert_eq!(
        config(&[8]).build().finish(Time::from_nanos(7), false, 1500),
        Time::from_secs(1500) + Time::from_nanos(7)
    );
    assert_eq!(config(&[24, 8]).build().finish(Time::ZERO, false, 1500), Time::from_secs(750));
}

#[test]
fn a_rate_of_zero_holds_the_packet_back() {
    let mut link = steps(&[(0, 12_000_000), (10, 0), (30, 12_000_000)], None).build();
    assert_eq!(link.finish(us(9500), false, 1500), us(30_500));
    let mut idle = steps(&[(0, 12_000_000), (10, 0), (30, 12_000_000)], None).build();
    assert_eq!(idle.finish(us(15_000), false, 1500), us(31_000));
}

#[test]
fn steps_repeat() {
    let mut link = steps(&[(0, 12_000_000), (10, 1_200_000)], Some(20)).build();
    assert_eq!(link.finish(us(5_000), false, 1500), us(6_000));
    assert_eq!(link.finish(us(1_000_015_000), false, 600), us(1_000_019_000)); // 50,000 rounds later
    assert_eq!(link.finish(us(1_000_019_000), true, 1500), us(1_000_020_900)); // 1200 bits before the change
}

proptest! {
    #[test]
    fn a_constant_schedule_is_a_link_of_one_rate(rate in 8_u64..10_000_000_000, bytes in 1_u32..65_536, begin in 0_u64..1 << 50) {
        let at = Time::from_nanos(begin);
        let mut one = steps(&[(0, rate)], None).build();
        let end = at + Rate::from_bps(rate).serialization_time(bytes);
        prop_assert_eq!(one.finish(at, false, bytes), end);
        if rate >= 1000 {
            prop_assert!(end.as_nanos().abs_diff((at + Serializer::new(Rate::from_bps(rate)).time(bytes)).as_nanos()) <= 1);
        }
    }

    #[test]
    fn packets_back_to_back_have_the_bits_of_the_schedule(
        rates in proptest::collection::vec(prop_oneof![Just(0_u64), 1000_u64..100_000_000], 1..5),
        sizes in proptest::collection::vec(40_u32..1500, 1..200)
    ) {
        let mut list: Vec<_> = rates.iter().enumerate().map(|(k, &rate)| (10 * k as u64, rate)).collect();
        list[0].1 = list[0].1.max(1000);
        let mut link = steps(&list, Some(10 * list.len() as u64)).build();
        let period_bits: f64 = list.iter().map(|&(_, rate)| rate as f64 * 0.01).sum();
        let mut at = Time::ZERO;
        for &bytes in &sizes {
            at = link.finish(at, true, bytes);
        }
        let bits: f64 = sizes.iter().map(|&bytes| 8.0 * f64::from(bytes)).sum();
        let rounds = (at.as_secs_f64() / (0.01 * list.len() as f64)).floor();
        let rest = at.as_secs_f64() - rounds * 0.01 * list.len() as f64;
        let part: f64 = list.iter().map(|&(ms, rate)| rate as f64 * (rest - ms as f64 / 1e3).clamp(0.0, 0.01)).sum();
        let sent = rounds * period_bits + part;
        // Each departure is rounded by up to 0.5 ns, which is 0.05 bits at 100 Mb/s.
        prop_assert!((sent - bits).abs() <= 0.11 * sizes.len() as f64 + 1e-6 * bits, "{sent} {bits}");
    }
}

fn trace(at_ms: &[u64]) -> Capacity {
    CapacityConfig::Deliveries { at_ms: at_ms.to_vec() }.build()
}

#[test]
fn each_opportunity_sends_1500_bytes_shared_by_those_that_wait() {
    let ms = Time::from_millis;
    let mut link = trace(&[1, 3, 3, 10]);
    // The first packet leaves 500 bytes of the opportunity at 1 ms. The second packet takes these, and its other 500
    // bytes have to wait for the opportunity at 3 ms.
    assert_eq!(link.finish(Time::ZERO, false, 1000), ms(1));
    assert_eq!(link.finish(ms(1), true, 1000), ms(3));
    // Of the two opportunities at 3 ms, 1000 bytes of the first are left, and all 1500 of the second.
    assert_eq!(link.finish(ms(3), true, 1000), ms(3));
    assert_eq!(link.finish(ms(3), true, 1500), ms(3));
    assert_eq!(link.finish(ms(3), true, 1), ms(10));
}

#[test]
fn what_nobody_waits_for_is_lost_and_the_trace_repeats() {
    let ms = Time::from_millis;
    let mut link = trace(&[1, 4]);
    assert_eq!(link.finish(ms(2), false, 100), ms(4));
    // A packet that arrives at the instant at which the previous one leaves cannot use the same opportunity.
    assert_eq!(link.finish(ms(4), false, 100), ms(5));
    assert_eq!(link.finish(ms(4_000_006), false, 1500), ms(4_000_008));
}

#[test]
fn impossible_schedules_are_rejected() {
    let wrong = |config: &CapacityConfig| config.check().unwrap_err().to_string();
    assert_eq!(wrong(&steps(&[(1, 1000)], None)), "the first value must be for time 0");
    assert_eq!(wrong(&steps(&[(0, 1000), (5, 1000), (5, 1000)], None)), "the times must rise");
    assert_eq!(wrong(&steps(&[(0, 1000), (5, 1000)], Some(5))), "repeat must be later than the last time");
    assert!(wrong(&steps(&[(0, 1000), (5, 0)], None)).starts_with("the last rate is 0"));
    assert!(wrong(&steps(&[(0, 0)], Some(5))).starts_with("all rates are 0"));
    assert!(wrong(&steps(&[(0, 7)], None)).contains("at least 8 bit/s"));
    assert!(wrong(&CapacityConfig::Deliveries { at_ms: vec![] }).contains("more than 0 ms"));
    assert!(wrong(&CapacityConfig::Deliveries { at_ms: vec![2, 1] }).contains("never fall"));
    assert!(steps(&[(0, 1000), (5, 0)], Some(6)).check().is_ok());
}

#[test]
fn schedules_at_their_bounds_are_valid() {
    for good in [
        steps(&[(0, 8)], None),
        steps(&[(0, 400_000_000_000), (5, 0)], Some(6)),
        steps(&[(0, 0), (1, 1000)], None),
        CapacityConfig::Deliveries { at_ms: vec![0, 1] },
        CapacityConfig::Deliveries { at_ms: vec![1, 3, 3] },
    ] {
        assert_eq!(good.check(), Ok(()), "{good:?}");
    }
    for bad in [
        steps(&[(0, 400_000_000_001)], None),
        steps(&[(0, 0), (1, 0)], Some(2)),
        steps(&[(0, 1000), (1, 0)], None),
        CapacityConfig::Deliveries { at_ms: vec![0] },
        CapacityConfig::Deliveries { at_ms: vec![0, 2, 1, 3] },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn a_packet_takes_at_least_its_time_at_the_highest_rate() {
    assert_eq!(steps(&[(0, 1_000_000), (5, 8_000_000), (9, 0)], Some(20)).least_time(1000), Time::from_millis(1));
    assert_eq!(CapacityConfig::Deliveries { at_ms: vec![3] }.least_time(1000), Time::ZERO);
}

/// A packet whose last bit leaves exactly as the rate changes, or as a pause begins.
#[test]
fn a_packet_may_end_at_the_instant_of_a_change() {
    for next in [1_000_000, 0] {
        let mut link = steps(&[(0, 12_000_000), (1, next), (9, 24_000_000)], Some(20)).build();
        assert_eq!(link.finish(Time::ZERO, false, 1500), us(1000));
        // The next one has 8 ms at 1 Mb/s, or none, and then 24 Mb/s.
        let bits_left = 12_000 - if next > 0 { 8000 } else { 0 };
        assert_eq!(link.finish(us(1000), true, 1500), us(9000) + Time::from_nanos((bits_left * 1000 + 12) / 24));
    }
}
