use super::*;
use crate::clock::Clock;

const MS: fn(u64) -> Time = Time::from_millis;

fn ack(flight: &mut Flight, una: u64, now: Time, rtt: Option<Time>) -> Option<RateSample> {
    flight.on_ack(una);
    flight.sample(now, rtt).1
}

/// Segments of 100 bytes, sent at these times in ms.
fn sent(what: Keeps, at: &[u64]) -> Flight {
    let mut flight = Flight::default();
    flight.keep(what);
    for (k, &at) in (0..).zip(at) {
        flight.on_sent(100 * k, 100 * (k + 1), MS(at), k == 0);
    }
    flight
}

#[test]
fn a_segment_sent_again_is_timed_from_then_and_its_neighbours_are_not() {
    let mut flight = sent(Keeps { acknowledged: true, ..Keeps::default() }, &[10, 20, 30]);
    flight.on_sent(0, 100, MS(40), false);
    assert_eq!(flight.first().map(|first| first.at), Some(MS(40)));
    flight.on_ack(250);
    let mut seen = Vec::new();
    seen.extend(flight.take_acknowledged());
    assert_eq!(seen, [MS(40), MS(20)]);
    assert_eq!(flight.first().map(|first| first.at), Some(MS(30)));
    assert_eq!(flight.take_acknowledged().next(), None);
}

#[test]
fn it_drains_until_what_a_timeout_found_is_acknowledged_and_this_is_not_timed() {
    let mut flight = sent(Keeps { acknowledged: true, ..Keeps::default() }, &[0]);
    flight.on_timeout(100);
    assert!(flight.drains(99) && !flight.drains(100));
    flight.on_ack(100);
    assert_eq!(flight.take_acknowledged().next(), None);
}

#[test]
fn what_was_out_when_something_went_again_gives_no_round_trip() {
    let mut flight = sent(Keeps { round_trips: true, ..Keeps::default() }, &[0, 10]);
    flight.on_sent(0, 100, MS(20), false);
    flight.on_sent(200, 300, MS(30), false);
    flight.on_ack(200);
    assert_eq!(flight.sample(MS(50), None).0, None);
    flight.on_ack(300);
    assert_eq!(flight.sample(MS(60), None).0, Some(MS(30)));
}

#[test]
fn a_segment_is_shown_once_to_have_arrived_and_a_block_counts_what_is_news() {
    let mut flight = sent(Keeps { order: true, ..Keeps::default() }, &[0, 10, 20]);
    assert_eq!(flight.on_block(100, 250), 150);
    assert_eq!(flight.on_block(100, 250), 0);
    assert_eq!(flight.on_block(100, 300), 50);
    let shown: Vec<_> = flight.arrived().iter().map(|arrived| (arrived.sent.start, arrived.sacked)).collect();
    assert_eq!(shown, [(100, true), (200, true)]);
    assert_eq!((flight.tally().sacked, flight.tally().pipe), (2, 100));
    assert_eq!((flight.on_ack(300), flight.len(), flight.tally().pipe), (200, 0, 0));
}

/// Segments of 100 bytes, sent every 10 ms; the round trip is 50 ms.
fn measured(segments: u64) -> Flight {
    let mut flight = Flight::default();
    flight.measure_rate(Time::from_secs(10), Clock::default());
    for k in 0..segments {
        flight.on_sent(1 + 100 * k, 101 + 100 * k, MS(10 * k), k == 0);
    }
    flight
}

#[test]
fn an_ack_for_each_segment_gives_the_rate_of_sending() {
    let mut flight = measured(5);
    for k in 0..5 {
        let sample = ack(&mut flight, 101 + 100 * k, MS(50 + 10 * k), Some(MS(50))).unwrap();
        // Nothing had been delivered when the first flight was sent, so each sample begins with this flight.
        assert_eq!((sample.delivered_bytes, sample.ack_elapsed), (100 * (k + 1), MS(50 + 10 * k)));
    }
    flight.on_sent(501, 601, MS(100), false);
    let sample = ack(&mut flight, 601, MS(150), Some(MS(50))).unwrap();
    assert_eq!((sample.delivered_bytes, sample.prior_delivered_bytes), (100, 500));
    assert_eq!((sample.send_elapsed, sample.ack_elapsed, sample.interval), (MS(60), MS(60), MS(60)));
}

#[test]
fn compressed_acks_do_not_exceed_the_rate_of_sending() {
    let mut flight = measured(1);
    ack(&mut flight, 101, MS(50), Some(MS(20)));
    for k in 1..5 {
        flight.on_sent(1 + 100 * k, 101 + 100 * k, MS(50 + 20 * k), false);
    }
    let sample = ack(&mut flight, 501, MS(131), None).unwrap();
    assert_eq!((sample.send_elapsed, sample.ack_elapsed), (MS(130), MS(81)));
    assert_eq!((sample.delivered_bytes, sample.interval), (400, MS(130)));
}

#[test]
fn a_segment_reported_by_sack_counts_once() {
    let mut flight = measured(3);
    flight.on_block(101, 301);
    let sample = ack(&mut flight, 1, MS(70), None).unwrap();
    assert_eq!((sample.delivered_bytes, sample.send_elapsed), (200, MS(20)));
    flight.on_block(101, 301);
    assert_eq!(ack(&mut flight, 1, MS(71), None), None, "nothing new");
    flight.on_sent(1, 101, MS(75), false);
    let sample = ack(&mut flight, 301, MS(125), None).unwrap();
    assert_eq!((sample.delivered_bytes, sample.prior_delivered_bytes, sample.retransmission), (100, 200, true));
}

#[test]
fn samples_are_limited_by_the_application_until_its_gap_has_been_delivered() {
    let mut flight = measured(2);
    flight.rate().unwrap().on_app_limited(2);
    flight.on_sent(201, 301, MS(20), false);
    assert!(!ack(&mut flight, 201, MS(60), None).unwrap().app_limited, "sent before the gap");
    assert!(ack(&mut flight, 301, MS(70), None).unwrap().app_limited);
    flight.on_sent(301, 401, MS(80), true);
    assert!(!ack(&mut flight, 401, MS(130), None).unwrap().app_limited);
}

#[test]
fn a_sample_shorter_than_a_round_trip_is_dropped() {
    let mut flight = measured(1);
    assert_eq!(ack(&mut flight, 101, MS(40), Some(MS(50))), None);
}

#[test]
fn a_lost_segment_is_reported_once_with_what_was_in_flight_when_it_was_sent() {
    let mut flight = measured(4);
    assert!(flight.take_lost().is_none() && !flight.has_lost());
    ack(&mut flight, 101, MS(50), Some(MS(50)));
    flight.on_sent(401, 501, MS(60), false);
    flight.lose_overdue(MS(50), MS(75)); // those of 10 and 20 ms
    assert!(flight.has_lost());
    let (delivered, lost) = flight.take_lost().unwrap();
    let lost: Vec<_> = lost.map(|one| (one.start, one.bytes, one.tx_in_flight, one.prior_lost)).collect();
    assert_eq!((delivered, lost), (2, vec![(101, 100, 200, 0), (201, 100, 300, 0)]), "the SYN and one segment arrived");
    assert!(flight.take_lost().is_none(), "they are reported once");
    flight.lose_overdue(MS(50), MS(110)); // those of 30 and 60 ms
    let (_, lost) = flight.take_lost().unwrap();
    let lost: Vec<_> = lost.map(|one| (one.start, one.tx_in_flight, one.prior_lost)).collect();
    assert_eq!(lost, [(301, 400, 0), (401, 400, 0)]);
}
