use super::*;

const SEGMENT: u64 = 1000;

/// Passes rounds of ACKs to HyStart++ and returns the result of each ACK.
struct Script {
    hystart: Hystart,
    round_end: u64,
}

impl Script {
    fn new() -> Self {
        Script { hystart: Hystart::new(), round_end: 0 }
    }

    /// Passes one round of ACKs: the first ACK ends the round before, and the others lie within this round.
    fn round(&mut self, rtt_us: &[u64]) -> Vec<Growth> {
        let una = self.round_end;
        self.round_end = una + 100 * SEGMENT;
        (una..)
            .zip(rtt_us)
            .map(|(una, rtt)| self.hystart.on_ack(una, self.round_end, Some(Time::from_micros(*rtt))))
            .collect()
    }

    fn steady(&mut self, rtt_us: u64) -> Growth {
        *self.round(&[rtt_us; 10]).last().expect("ten ACKs")
    }
}

#[test]
fn a_steady_path_stays_in_slow_start() {
    let mut s = Script::new();
    for _ in 0..20 {
        assert_eq!(s.steady(100_000), Growth::Full);
    }
}

/// RFC 9406, 4.2: the threshold is an eighth of the last round's minimum, between 4 and 16 ms.
#[test]
fn the_threshold_is_an_eighth_within_4_and_16_ms() {
    for (base_us, threshold_us) in
        [(8_000, 4_000), (32_000, 4_000), (80_000, 10_000), (128_000, 16_000), (800_000, 16_000)]
    {
        let mut below = Script::new();
        below.steady(base_us);
        assert_eq!(below.steady(base_us + threshold_us - 1), Growth::Full, "below the threshold of {base_us} us");
        let mut at = Script::new();
        at.steady(base_us);
        assert_eq!(at.steady(base_us + threshold_us), Growth::Conservative, "at the threshold of {base_us} us");
    }
}

/// CSS needs eight samples of a round, so it begins with the eighth.
#[test]
fn css_begins_with_the_eighth_sample_of_a_round() {
    let mut s = Script::new();
    s.steady(100_000);
    let grown = s.round(&[150_000; 10]);
    assert_eq!(grown[..7], [Growth::Full; 7]);
    assert_eq!(grown[7..], [Growth::Conservative; 3]);
}

#[test]
fn seven_samples_never_decide() {
    let mut s = Script::new();
    s.steady(100_000);
    for rtt in [150_000, 200_000, 250_000] {
        assert_eq!(s.round(&[rtt; 7]), [Growth::Full; 7]);
    }
}

/// One low sample in the round is its minimum: jitter does not end slow start.
#[test]
fn the_minimum_of_the_round_decides() {
    let mut s = Script::new();
    s.steady(100_000);
    assert_eq!(
        s.round(&[150_000, 150_000, 101_000, 150_000, 150_000, 150_000, 150_000, 150_000, 150_000, 150_000])[9],
        Growth::Full
    );
}

/// RFC 9406, 4.2: if CSS lasts five rounds, including the one in which it begins, slow start ends.
#[test]
fn css_ends_in_congestion_avoidance_after_five_rounds() {
    let mut s = Script::new();
    s.steady(100_000);
    for round in 1..=5 {
        assert_eq!(s.steady(150_000), Growth::Conservative, "CSS round {round}");
    }
    assert_eq!(s.round(&[150_000; 10])[0], Growth::Exit);
}

/// If the delay falls below the baseline of CSS, slow start continues, and CSS may begin again.
#[test]
fn css_ends_in_slow_start_if_the_delay_falls_again() {
    let mut s = Script::new();
    s.steady(100_000);
    s.steady(150_000);
    assert!(s.hystart.in_css());
    assert_eq!(s.steady(149_000), Growth::Full);
    assert_eq!(s.steady(149_000), Growth::Full);
    assert_eq!(s.steady(149_000 + 16_000), Growth::Conservative);
    for _ in 2..=5 {
        assert_eq!(s.steady(165_000), Growth::Conservative, "the rounds of the first CSS do not count");
    }
    assert_eq!(s.round(&[165_000; 10])[0], Growth::Exit);
}

/// ACKs without a measurement (Karn's algorithm) do not count as samples.
#[test]
fn unmeasured_acks_are_no_samples() {
    let mut s = Script::new();
    s.steady(100_000);
    assert_eq!(s.hystart.rtt_samples, 10);
    for una in 20..40 {
        assert_eq!(s.hystart.on_ack(una, s.round_end, None), Growth::Full);
    }
    assert_eq!(s.hystart.rtt_samples, 10);
}
