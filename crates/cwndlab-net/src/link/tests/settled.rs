//! When a caller that has scheduled a service has nothing left to do after an offer.

use super::*;

/// The time for which a caller that follows [`Link::is_settled`] has scheduled the next service, after each offer.
#[test]
fn an_offer_is_settled_if_the_service_stays_where_it_is_scheduled() {
    for queue in [QueueConfig::Codel(CodelConfig::default()), bounded_class(drop_tail(9), true)] {
        let mut link = link(8_000_000, Time::ZERO, &queue);
        let mut armed = Time::MAX;
        let mut moved = 0;
        for k in 0..4 {
            assert_eq!(link.offer(Time::from_micros(10 * k), &packet(1000)), Offered::Queued);
            let due = link.next_service();
            assert_eq!(link.is_settled(armed), due == armed || due.is_never(), "{queue:?}: packet {k}");
            moved += u32::from(due != armed);
            armed = due;
            assert!(link.is_settled(armed));
        }
        assert!((1..4).contains(&moved), "both answers are seen, {moved} times a change");
    }
}

#[test]
fn an_offer_that_drops_a_packet_is_not_settled() {
    let mut link = link(8_000_000, Time::ZERO, &QueueConfig::Codel(CodelConfig { limit: 1, ..CodelConfig::default() }));
    for _ in 0..2 {
        assert_eq!(link.offer(Time::ZERO, &packet(1000)), Offered::Queued);
    }
    let armed = link.next_service();
    assert!(link.is_settled(armed));
    link.offer(Time::ZERO, &packet(1000));
    assert_eq!(link.next_service(), armed);
    assert!(!link.is_settled(armed), "the dropped packet is not fetched yet");
    assert!(link.pop_dropped().is_some());
    assert!(link.is_settled(armed));
}

#[test]
fn a_queue_that_decides_at_arrival_is_always_settled() {
    let mut link = link(8_000_000, Time::ZERO, &drop_tail(9));
    assert!(link.is_settled(Time::ZERO) && link.next_service().is_never());
    link.offer(Time::ZERO, &packet(1000));
    assert!(link.is_settled(Time::ZERO) && link.next_service().is_never());
}

#[test]
fn nothing_but_queueing_follows_from_an_offer_to_a_settled_link_without_impairments() {
    let codel = QueueConfig::Codel(CodelConfig::default());
    let mut queued = link(8_000_000, Time::ZERO, &codel);
    for _ in 0..2 {
        queued.offer(Time::ZERO, &packet(1000));
    }
    let due = queued.next_service();
    assert_eq!(due, Time::from_millis(1));
    assert!(queued.only_queued(due) && !queued.only_queued(due + Time::from_nanos(1)));
    let never = Impairments::new(&[ImpairmentConfig::Bernoulli { p: 0.0 }]);
    let mut lossy = link(8_000_000, Time::ZERO, &codel).impaired(never);
    lossy.offer(Time::ZERO, &packet(1000));
    assert!(lossy.is_settled(lossy.next_service()) && !lossy.only_queued(lossy.next_service()));
}

#[test]
fn delays_are_drawn_as_packets_enter_if_nothing_else_can_happen_to_them() {
    let jitter = |keep_order| ImpairmentConfig::Jitter { max_ns: Time::from_millis(1), keep_order };
    let loss = || ImpairmentConfig::Bernoulli { p: 0.1 };
    let red = QueueConfig::Red(RedConfig::new(20, 5.0, 15.0));
    for (queue, impairments, early) in [
        (drop_tail(9), vec![jitter(true)], true),
        (drop_tail(9), vec![jitter(true), jitter(true)], true),
        (drop_tail(9), vec![jitter(false)], false),
        (drop_tail(9), vec![loss(), jitter(true)], false),
        (drop_tail(9), vec![loss()], false),
        (red, vec![jitter(true)], false),
    ] {
        let link = link(8_000_000, Time::ZERO, &queue).impaired(Impairments::new(&impairments));
        assert_eq!((link.is_early(), link.holds_back()), (early, !early), "{impairments:?}");
    }
}
