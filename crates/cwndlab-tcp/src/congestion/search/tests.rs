use super::*;

const MSS: u32 = 1000;

/// Acknowledges `rate(round)` segments in each round trip, evenly. Returns the round in which slow start ends, and the
/// result of [`Search::on_ack`].
fn run(rtt: Time, rounds: u64, rate: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
    let mut search = Search::default();
    search.start(Time::ZERO, rtt);
    let mut una = 1;
    for round in 0..rounds {
        let segments = rate(round);
        for k in 0..segments {
            una += u64::from(MSS);
            let ack = AckReport {
                now: Time::from_nanos(rtt.as_nanos() * (round + 1) + rtt.as_nanos() * k / segments),
                mss: MSS,
                snd_una: una,
                acked_bytes: u64::from(MSS),
                rtt: Some(rtt),
                ..AckReport::default()
            };
            if let Some(beyond) = search.on_ack(&ack) {
                return Some((round, beyond));
            }
        }
    }
    None
}

#[test]
fn deliveries_that_double_do_not_end_slow_start() {
    assert_eq!(run(Time::from_millis(50), 12, |round| 10 << round), None);
}

/// draft-chung-ccwg-search, section 4, on THRESH: "can be detected about 2 RTTs of reaching capacity".
#[test]
fn a_plateau_ends_slow_start_about_two_round_trips_later() {
    let rtt = Time::from_millis(50);
    let (ended, beyond) = run(rtt, 20, |round| (10 << round).min(640)).expect("slow start ends");
    assert!((7..=9).contains(&ended), "capacity is reached in round 6, slow start ends in round {ended}");
    // the bytes of five bins, or 1.75 round trips, with 640 segments per round trip
    assert!((1_050_000..=1_130_000).contains(&beyond), "{beyond}");
}

/// The example of draft-chung-ccwg-search, section 4: with deliveries of 1, 2, 4, 8, 16, 16, the difference is 0.27
/// (below THRESH), and later 0.5.
#[test]
fn the_difference_is_normalized_by_twice_the_earlier_deliveries() {
    let mut search = Search::default();
    search.start(Time::ZERO, Time::from_millis(100));
    // Ten bins of 1000 bytes, then ten of 2000. A window has ten bins, so the last one has 20,000 bytes.
    search.complete = 20;
    for number in 0..20 {
        search.bins[number] = if number < 10 { 1000 } else { 2000 };
    }
    assert!((search.sum(0, WINDOW_BINS, 0.0) - 20_000.0).abs() < 1e-9);
    // a window that ends 2.5 bins earlier: 7.5 bins of 2000 bytes and 2.5 of 1000
    assert!((search.sum(2, WINDOW_BINS, 0.5) - 17_500.0).abs() < 1e-9);
}

#[test]
fn bins_without_acks_are_empty() {
    let mut search = Search::default();
    search.start(Time::ZERO, Time::from_millis(100));
    search.bins = [7; BINS];
    search.acknowledged = Some(1);
    search.update_bins(Time::from_millis(35 * 4), 1001);
    assert_eq!((search.complete, search.bin_end), (4, Time::from_millis(35 * 5)));
    assert_eq!(search.bins[..5], [0, 0, 0, 1000, 7]);
}

#[test]
fn a_round_trip_beyond_the_bins_ends_nothing() {
    let mut search = Search::default();
    search.start(Time::ZERO, Time::from_millis(10));
    let mut una = 1;
    for k in 1..2000 {
        una += 1000;
        let ack = AckReport {
            now: Time::from_millis(4 * k),
            mss: MSS,
            snd_una: una,
            acked_bytes: 1000,
            rtt: Some(Time::from_millis(57)), // 16 bins of 3.5 ms
            ..AckReport::default()
        };
        assert_eq!(search.on_ack(&ack), None);
    }
}

/// 25 bins lie between the newest one and the oldest that a window 15.5 bins earlier reads.
#[test]
fn the_oldest_bin_is_read_before_it_is_overwritten() {
    let mut search = Search::default();
    search.start(Time::ZERO, Time::from_millis(100));
    search.acknowledged = Some(0);
    let mut acknowledged = 0;
    for number in 1..=40 {
        acknowledged += 1000 * number;
        search.update_bins(Time::from_millis(35 * number), acknowledged);
    }
    // the last 26 bins have 15 to 40 kB
    assert!((search.sum(EXTRA_BINS, WINDOW_BINS, 0.0) - 205_000.0).abs() < 1e-9, "16 to 25 kB");
    assert!(
        (search.sum(EXTRA_BINS, WINDOW_BINS, 0.5) - 200_000.0).abs() < 1e-9,
        "half of 25 and of 15, and 16 to 24 kB"
    );
}
