//! The order of an arrival and of a transmission that begins at the same instant.

use super::*;
use crate::queue::{CbqClassConfig, DropTailConfig, QueueConfig, Sharing, Unit};
use crate::DropCause;
use rand::SeedableRng as _;

/// A bounded class of 1 Mb/s on a link of 8 Mb/s, whose queue has room for no byte behind a packet in service.
fn class() -> BoundedClass {
    let config = |parent, rate_bps, queue| CbqClassConfig {
        parent,
        rate_bps: Rate::from_bps(rate_bps),
        priority: 0,
        bounded: parent.is_some(),
        traffic: Vec::new(),
        numbers: Vec::new(),
        flows: Vec::new(),
        queue,
        max_burst: 1,
        min_idle_ns: None,
        max_packet_bytes: 40,
    };
    let full = DropTailConfig { limit: 1, unit: Unit::Bytes, counts_in_service: false };
    let queue = Some(Box::new(QueueConfig::DropTail(full)));
    let classes = vec![config(None, 8_000_000, None), config(Some(0), 1_000_000, queue)];
    let config = CbqConfig { classes, default: 1, sharing: Sharing::Formal };
    BoundedClass::new(&config, Rate::from_bps(8_000_000)).expect("a single bounded leaf")
}

fn us(us: u64) -> Time {
    Time::from_micros(us)
}

/// Eight packets of 40 bytes that were accepted at time 0, and when each begins to be sent.
fn waiting() -> (BoundedClass, Vec<Time>) {
    let mut class = class();
    let mut free_at = Time::ZERO;
    let begins = (0..8).map(|_| {
        let begin = class.begin(Time::ZERO, free_at, 40);
        free_at = begin + us(40);
        begin
    });
    let begins: Vec<_> = begins.collect();
    // 40 bytes take 320 us at the rate of the class, which lets one packet go early.
    assert!(begins.windows(2).skip(2).all(|pair| pair[1] - pair[0] == us(320)), "{begins:?}");
    (class, begins)
}

fn serve(class: &mut BoundedClass, until: Time) {
    while class.due() <= until {
        class.serve(class.due());
    }
}

/// What becomes of a packet of `bytes` that arrives as the transmission numbered 5 begins, after another one at `last`.
fn arrives_with_the_fifth(last: Time, bytes: u32) -> Admit {
    let (mut class, begins) = waiting();
    let mut rng = Rng::seed_from_u64(1);
    serve(&mut class, last);
    class.on_arrival(last, 40, Ecn::NotEct, &mut rng);
    serve(&mut class, begins[5]);
    class.on_arrival(begins[5], bytes, Ecn::NotEct, &mut rng)
}

/// The packet ahead has left at the rate of the class when the next one begins. An arrival that is handled before this
/// finds nothing in service, and a queue that has room; one that is handled after it finds the packet that begins.
#[test]
fn an_arrival_back_to_back_with_the_one_before_is_handled_before_a_transmission_between_them() {
    let (_, begins) = waiting();
    let full = Admit::Drop(DropCause::Full);
    let before = begins[4] - us(1); // 1000 bytes take 1000 us of the link, and the two arrivals are 321 us apart
    assert_eq!(arrives_with_the_fifth(before, 1000), Admit::Enqueue);
    assert_eq!(arrives_with_the_fifth(before, 321), Admit::Enqueue, "exactly back to back");
    assert_eq!(arrives_with_the_fifth(before, 320), full, "not back to back");
    assert_eq!(arrives_with_the_fifth(begins[4], 1000), full, "no transmission has begun since");
    assert_eq!(arrives_with_the_fifth(begins[4] + us(1), 1000), full);
}

#[test]
fn a_packet_that_waits_behind_none_is_served_when_the_link_is_free_and_when_it_may_be_sent() {
    let mut class = class();
    let never = Time::MAX;
    assert_eq!((class.begin(Time::ZERO, Time::ZERO, 40), class.due()), (Time::ZERO, never));
    class.serve(Time::ZERO);
    // The next begins when the class may send again, which is later than the link is free.
    let second = class.begin(us(10), us(40), 40);
    assert!(second > us(40), "{second}");
    assert_eq!(class.due(), us(40));
    class.serve(us(40));
    assert_eq!(class.due(), second);
    let third = class.begin(us(50), second + us(40), 40);
    assert!(third > second && class.due() == second, "only the first of those that wait has an event");
    class.serve(second);
    assert_eq!((class.due(), class.waiting(second).1.collect::<Vec<_>>()), (never, vec![third]));
    class.serve(third);
    // On a free link, it is due when it may be sent.
    let fourth = class.begin(third + us(60), third + us(40), 40);
    assert_eq!(class.due(), fourth);
    class.serve(fourth);
    let at = fourth + us(9000);
    assert_eq!((class.begin(at, fourth + us(40), 40), class.due()), (at, never), "it is sent at once");
}

#[test]
fn only_a_single_leaf_that_is_bounded_is_alone() {
    let leaf =
        |bounded| serde_json::json!({"parent": 0, "rate_bps": 5, "bounded": bounded, "queue": {"kind": "infinite"}});
    let root = serde_json::json!({"rate_bps": 10});
    for (classes, alone) in [
        (vec![root.clone(), leaf(true)], true),
        (vec![root.clone(), leaf(false)], false),
        (vec![root.clone(), leaf(true), leaf(true)], false),
    ] {
        let config: CbqConfig = serde_json::from_value(serde_json::json!({"classes": classes, "default": 1})).unwrap();
        assert_eq!(BoundedClass::new(&config, Rate::from_bps(10)).is_some(), alone);
    }
}
