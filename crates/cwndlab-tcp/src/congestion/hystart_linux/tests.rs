use super::*;

const MSS: u32 = 1448;

/// Passes one ACK of `una` to HyStart, with a window of 20 segments. All ACKs of a test belong to one round, which ends
/// after position 1,000,000.
fn ack(h: &mut HystartLinux, at_us: u64, una: u64, rtt_us: u64) -> bool {
    h.on_ack(Time::from_micros(at_us), 1 + una, 1_000_000, Some(Time::from_micros(rtt_us)), (20 * MSS, MSS))
}

/// The ninth sample ends slow start (the kernel counts eight before it compares) if the round's minimum exceeds the
/// minimum RTT by more than an eighth, at most 16 ms.
#[test]
fn delay_above_an_eighth_ends_slow_start_at_the_ninth_sample() {
    for (rtt_us, exits) in [(225_001, true), (216_001, true), (216_000, false)] {
        let mut h = HystartLinux::new(false);
        h.on_ack(Time::ZERO, 2, 1, Some(Time::from_millis(200)), (10 * MSS, MSS));
        let ended: Vec<bool> = (1..=10).map(|i| ack(&mut h, i * 10_000, i, rtt_us)).collect();
        assert_eq!(ended[..8], [false; 8]);
        assert_eq!(ended[8], exits, "{rtt_us} us against 200 ms + 16 ms");
    }
}

/// Slow start does not end while the window is smaller than 16 segments.
#[test]
fn below_sixteen_segments_nothing_ends() {
    let mut h = HystartLinux::new(false);
    h.on_ack(Time::ZERO, 2, 1, Some(Time::from_millis(10)), (10 * MSS, MSS));
    for i in 1..30 {
        assert!(!h.on_ack(Time::from_millis(i), i, 1_000_000, Some(Time::from_millis(900)), (15 * MSS, MSS)));
    }
}

/// ACKs at most 2 ms apart end slow start once they are spread over more than (100 + 1)/2 ms.
#[test]
fn a_long_ack_train_ends_slow_start() {
    let mut h = HystartLinux::new(false);
    for i in 0..=50 {
        assert!(!ack(&mut h, 1_000_000 + 1_000 * i, i + 1, 100_000), "{i} ms into the train");
    }
    assert!(ack(&mut h, 1_051_000, 52, 100_000));
}

#[test]
fn a_gap_ends_the_train() {
    let mut h = HystartLinux::new(false);
    for i in 0..=100 {
        let gap = if i < 20 { 0 } else { 3_000 };
        assert!(!ack(&mut h, 1_000_000 + 1_000 * i + gap, i + 1, 100_000), "{i}");
    }
}

/// Pacing alone spreads the window, so a paced train may last 100 + 1 ms, not half of this.
#[test]
fn a_paced_train_may_take_a_whole_round_trip() {
    let mut h = HystartLinux::new(true);
    for i in 0..=101 {
        assert!(!ack(&mut h, 1_000_000 + 1_000 * i, i + 1, 100_000), "{i} ms into the train");
    }
    assert!(ack(&mut h, 1_102_000, 103, 100_000));
}

/// At 2 * 20,000 kB in 100 ms, four bursts leave in 0.65 ms, so a train may last (100 + 0.65)/2 ms.
#[test]
fn a_large_window_leaves_less_time_for_bursts() {
    let mut h = HystartLinux::new(false);
    let mut ack = |at_us, una| {
        h.on_ack(Time::from_micros(at_us), 1 + una, 1_000_000, Some(Time::from_millis(100)), (20_000_000, MSS))
    };
    for i in 0..=50 {
        assert!(!ack(1_000_000 + 1_000 * i, i + 1), "{i} ms into the train");
    }
    assert!(!ack(1_050_320, 52));
    assert!(ack(1_050_350, 53));
}

/// `cubictcp_init`: the first round ends with the first byte. ACKs that only report by SACK count in it.
#[test]
fn the_first_round_lasts_until_new_data_is_acknowledged() {
    let mut h = HystartLinux::new(false);
    let mut ack = |una, nxt| h.on_ack(Time::from_millis(40), una, nxt, Some(Time::from_millis(40)), (10 * MSS, MSS));
    assert!(!ack(1, 14_481));
    assert!(!ack(1449, 17_377));
    assert_eq!(h.round_end, 17_377, "not what was sent when the first report came");
}
