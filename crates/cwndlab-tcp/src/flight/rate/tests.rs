use super::*;
use proptest::prelude::*;

const MS: fn(u64) -> Time = Time::from_millis;

proptest! {
    #[test]
    fn the_windowed_minimum_is_that_of_the_last_values(values in proptest::collection::vec((1_u64..50, 1_u64..100), 1..60)) {
        let (mut now, mut seen) = (0, Vec::new());
        let mut least = WindowedMin { window: MS(100), falling: Ring::new() };
        for (after, value) in values {
            now += after;
            seen.push((now, value));
            least.note(MS(now), MS(value));
            let expected = seen.iter().filter(|(at, _)| at + 100 >= now).map(|(_, value)| *value).min().unwrap();
            prop_assert_eq!(least.get(), MS(expected));
        }
    }
}

#[test]
fn what_arrived_twice_counts_in_bytes_and_packets() {
    let mut sampler = RateSampler { delivered: 500, delivered_packets: 1, ..RateSampler::default() };
    sampler.arrive_twice(2500, 3);
    assert_eq!((sampler.delivered_bytes(), sampler.delivered_packets), (3000, 4));
}
