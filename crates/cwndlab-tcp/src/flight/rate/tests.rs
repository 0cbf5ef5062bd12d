use super::*;
use proptest::prelude::*;

const MS: fn(u64) -> Time = Time::from_millis;

/// Segments of 100 bytes, one each 10 ms; the round trip is 50 ms.
fn sender(segments: u64) -> RateSampler {
    let mut sampler = RateSampler::new(Time::from_secs(10));
    for k in 0..segments {
        sampler.on_sent(1 + 100 * k, 101 + 100 * k, MS(10 * k), k == 0);
    }
    sampler
}

#[test]
fn an_ack_for_each_segment_gives_the_rate_of_sending() {
    let mut sampler = sender(5);
    for k in 0..5 {
        let sample = sampler.on_ack(101 + 100 * k, MS(50 + 10 * k), Some(MS(50))).unwrap();
        // the first flight was sent before anything was delivered: from its beginning
        assert_eq!((sample.delivered_bytes, sample.ack_elapsed), (100 * (k + 1), MS(50 + 10 * k)));
    }
    sampler.on_sent(501, 601, MS(100), false);
    let sample = sampler.on_ack(601, MS(150), Some(MS(50))).unwrap();
    assert_eq!((sample.delivered_bytes, sample.prior_delivered_bytes), (100, 500));
    assert_eq!((sample.send_elapsed, sample.ack_elapsed, sample.interval), (MS(60), MS(60), MS(60)));
}

#[test]
fn compressed_acks_do_not_exceed_the_rate_of_sending() {
    let mut sampler = sender(1);
    sampler.on_ack(101, MS(50), Some(MS(20)));
    for k in 1..5 {
        sampler.on_sent(1 + 100 * k, 101 + 100 * k, MS(50 + 20 * k), false);
    }
    let sample = sampler.on_ack(501, MS(131), None).unwrap();
    assert_eq!((sample.send_elapsed, sample.ack_elapsed), (MS(130), MS(81)));
    assert_eq!((sample.delivered_bytes, sample.interval), (400, MS(130)));
}

#[test]
fn a_segment_reported_by_sack_counts_once() {
    let mut sampler = sender(3);
    sampler.on_block(101, 301);
    let sample = sampler.on_ack(1, MS(70), None).unwrap();
    assert_eq!((sample.delivered_bytes, sample.send_elapsed), (200, MS(20)));
    sampler.on_block(101, 301);
    assert_eq!(sampler.on_ack(1, MS(71), None), None, "nothing new");
    sampler.on_sent(1, 101, MS(75), false);
    let sample = sampler.on_ack(301, MS(125), None).unwrap();
    assert_eq!((sample.delivered_bytes, sample.prior_delivered_bytes, sample.retransmission), (100, 200, true));
}

#[test]
fn samples_are_limited_by_the_application_until_its_gap_has_been_delivered() {
    let mut sampler = sender(2);
    sampler.on_app_limited(200);
    sampler.on_sent(201, 301, MS(20), false);
    assert!(!sampler.on_ack(201, MS(60), None).unwrap().app_limited, "sent before the gap");
    assert!(sampler.on_ack(301, MS(70), None).unwrap().app_limited);
    sampler.on_sent(301, 401, MS(80), true);
    assert!(!sampler.on_ack(401, MS(130), None).unwrap().app_limited);
}

#[test]
fn a_sample_shorter_than_a_round_trip_is_dropped() {
    let mut sampler = sender(1);
    assert_eq!(sampler.on_ack(101, MS(40), Some(MS(50))), None);
}

proptest! {
    #[test]
    fn the_windowed_minimum_is_that_of_the_last_values(values in proptest::collection::vec((1_u64..50, 1_u64..100), 1..60)) {
        let (mut now, mut seen) = (0, Vec::new());
        let mut least = WindowedMin { window: MS(100), falling: VecDeque::new() };
        for (after, value) in values {
            now += after;
            seen.push((now, value));
            least.note(MS(now), MS(value));
            let expected = seen.iter().filter(|(at, _)| at + 100 >= now).map(|(_, value)| *value).min().unwrap();
            prop_assert_eq!(least.get(), MS(expected));
        }
    }
}
