use super::*;
use crate::flight::Keeps;
use crate::Profile;

const MS: fn(u64) -> Time = Time::from_millis;

/// Ten segments of 100 bytes are outstanding; the only RTT sample is 100 ms.
fn sender(cfg: &TcpConfig) -> (SendState, Flight) {
    let (mut s, mut flight) = (SendState::new(cfg, 100), Flight::default());
    flight.keep(Keeps { order: true, ..Keeps::default() });
    s.rtt.on_sample(&cfg.rto, MS(100), MS(100), (1, 1));
    (s.end, s.nxt, s.max) = (1001, 1001, 1001);
    (s, flight)
}

/// The reordering window grows by a quarter of the round trip in each round with a DSACK, up to SRTT (RFC 8985, section
/// 6.2, step 4).
#[test]
fn the_reordering_window_grows_once_a_round_with_dsack_up_to_the_smoothed_round_trip() {
    let cfg = Profile::Linux6.config();
    let ((mut s, flight), mut rack) = (sender(&cfg), Rack { reorderings: 1, ..Rack::new() });
    for (round, window) in [50, 75, 100, 100].into_iter().enumerate() {
        rack.widening.note(true, s.una, s.max);
        rack.widening.note(true, s.una, s.max); // a second DSACK in the same round
        assert_eq!(rack.reordering_window(&cfg, &s, &flight), MS(window), "after {round} rounds");
        (s.una, s.max) = (s.max, s.max + 1000);
    }
}

/// `tcp_try_undo_recovery` does not count a repair that is undone.
#[test]
fn a_repair_that_is_undone_does_not_make_the_window_narrow_again() {
    for (details, narrow) in [(true, false), (false, true)] {
        let cfg = TcpConfig { linux_details: details, ..Profile::Linux6.config() };
        let ((s, flight), mut rack) = (sender(&cfg), Rack { reorderings: 1, ..Rack::new() });
        rack.widening.note(true, s.una, s.max);
        (0..16).for_each(|_| rack.count_repair(&cfg, true));
        assert_eq!(rack.reordering_window(&cfg, &s, &flight), MS(if narrow { 25 } else { 50 }));
    }
}

#[test]
fn where_nothing_was_reordered_a_recovery_or_three_reports_leave_no_window() {
    let cfg = Profile::Linux6.config();
    let ((s, flight), mut rack) = (sender(&cfg), Rack::new());
    assert_eq!(rack.reordering_window(&cfg, &s, &flight), MS(25));
    for phase in [Phase::Recovery, Phase::Loss] {
        rack.phase = phase;
        assert_eq!(rack.reordering_window(&cfg, &s, &flight), Time::ZERO);
    }
}

/// `tcp_dsack_seen`: more duplicates than retransmissions are the network's.
#[test]
fn a_dsack_counts_up_to_the_number_of_retransmissions() {
    let cfg = Profile::Linux6.config();
    let mut rack = Rack::new();
    assert!(rack.believes_dsack(&cfg, 2, 3));
    assert!(rack.believes_dsack(&cfg, 1, 3));
    assert!(!rack.believes_dsack(&cfg, 1, 3));
    assert!(rack.believes_dsack(&TcpConfig { linux_details: false, ..cfg }, 1, 3));
}

/// `FLAG_DSACK_TLP`: a segment that ends where the probe does.
#[test]
fn a_dsack_reports_the_probe_if_it_is_its_segment() {
    let rack = Rack { probe_end: Some(5001), ..Rack::new() };
    assert!(rack.is_probe(Some((4001, 5001)), 1000));
    assert!(!rack.is_probe(Some((3001, 5001)), 1000));
    assert!(!rack.is_probe(Some((3001, 4001)), 1000));
    assert!(!rack.is_probe(None, 1000));
}
