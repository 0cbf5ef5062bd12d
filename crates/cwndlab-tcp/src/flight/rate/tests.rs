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

/// `tcp_rate_gen`: the time of the last delivery is also that of an ACK which reports no segment of the record.
#[test]
fn what_arrived_twice_counts_in_bytes_and_packets_and_as_the_last_delivery() {
    let mut sampler = RateSampler { delivered: 500, delivered_packets: 1, ..RateSampler::default() };
    sampler.arrive_unrecorded(MS(7), 2500, 3);
    assert_eq!((sampler.delivered_bytes(), sampler.total()), (3000, (4, MS(7))));
}

/// What a segment's marks are counted from is the total when it was sent.
#[test]
fn a_sample_has_the_marks_reported_before_its_segment_was_sent() {
    let ms = Time::from_millis;
    let mut sampler = RateSampler::new(Time::from_secs(10), Clock::default());
    sampler.begin(ms(1), true);
    sampler.note_ce(700);
    sampler.note_ce(300);
    let stamp = sampler.stamp(&Tally::default());
    sampler.note_ce(5000);
    let sent = Sent { start: 1, end: 1001, at: ms(1), ..Sent::default() };
    sampler.arrive(&sent, stamp, true);
    let sample = sampler.sample(ms(101), Some(ms(100))).expect("is measured");
    assert_eq!((sample.prior_ce_bytes, sample.interval, sample.delivered_bytes), (1000, ms(100), 1000));
}
