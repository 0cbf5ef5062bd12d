use super::calendar::FIRST_DAY_BITS;
use super::*;
use proptest::prelude::*;

/// Number of sources that have an entry of their own.
const OWNERS: u32 = 16;

/// Takes the earliest event and returns its source.
fn pop(queue: &mut EventQueue, owners: u32, until: u64) -> Option<(u64, u32)> {
    let (time, entry) = queue.pop_until(Time::from_nanos(until))?;
    let source = if entry < owners { entry } else { queue.release(entry) };
    Some((time.as_nanos(), source))
}

proptest! {
    #[test]
    fn events_come_in_time_order_and_ties_in_order_of_scheduling(
        steps in proptest::collection::vec((0_u64..20, any::<bool>()), 0..400)
    ) {
        let mut queue = EventQueue::new(40);
        let mut model: Vec<(u64, u32)> = Vec::new(); // sorted by (time, order of scheduling)
        for (number, &(time, pop_first)) in steps.iter().enumerate() {
            if pop_first {
                let expected = (!model.is_empty()).then(|| model.remove(0));
                prop_assert_eq!(pop(&mut queue, 40, u64::MAX), expected);
            }
            if number < 40 {
                queue.push_own(Time::from_nanos(time), number as u32);
            } else {
                queue.push(Time::from_nanos(time), number as u32);
            }
            let at = model.partition_point(|&(t, _)| t <= time);
            model.insert(at, (time, number as u32));
            prop_assert_eq!(queue.len(), model.len());
        }
        for (t, s) in model {
            prop_assert_eq!(pop(&mut queue, 40, u64::MAX), Some((t, s)));
        }
        prop_assert_eq!(pop(&mut queue, 40, u64::MAX), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    /// Phases in which events are spaced very differently make the calendar change the length of its days many times.
    #[test]
    fn the_order_does_not_depend_on_the_length_of_a_day(
        phases in proptest::collection::vec((0_u32..44, 1_usize..4000, 1_usize..300), 1..8), seed in any::<u64>()
    ) {
        let (mut queue, mut model) = (EventQueue::new(OWNERS), BinaryHeap::new());
        let mut pending_own = [false; OWNERS as usize];
        let (mut now, mut number, mut random) = (0, 0_u32, seed | 1);
        for (bits, steps, pending) in phases {
            for _ in 0..steps {
                random ^= random << 13; // xorshift (Marsaglia 2003)
                random ^= random >> 7;
                random ^= random << 17;
                if model.len() < pending {
                    let time = now + (random >> 7) % (1 << bits) * u64::from(random % 5 != 0);
                    let own = number % OWNERS;
                    let owned = random % 3 > 0 && !std::mem::replace(&mut pending_own[own as usize], true);
                    let source = if owned { own } else { OWNERS + number };
                    if owned {
                        queue.push_own(Time::from_nanos(time), source);
                    } else {
                        queue.push(Time::from_nanos(time), source);
                    }
                    model.push(Reverse((time, number, source)));
                    number += 1;
                }
                if model.len() >= pending || random % 3 == 0 {
                    let until = if random % 11 == 0 { now } else { u64::MAX };
                    let due = model.peek().is_some_and(|Reverse((time, ..))| *time <= until);
                    let expected = if due { model.pop() } else { None };
                    let expected = expected.map(|Reverse((time, _, source))| (time, source));
                    let got = pop(&mut queue, OWNERS, until);
                    prop_assert_eq!(got, expected);
                    now = got.map_or(now, |(time, _)| time);
                    if let Some((_, source)) = got.filter(|&(_, source)| source < OWNERS) {
                        pending_own[source as usize] = false;
                    }
                }
            }
            prop_assert_eq!(queue.len(), model.len());
        }
    }
}

#[test]
fn an_event_after_the_end_stays() {
    let mut queue = EventQueue::new(0);
    queue.push(Time::from_nanos(5), 1);
    assert_eq!(pop(&mut queue, 0, 4), None);
    assert!(!queue.is_empty());
    assert_eq!(pop(&mut queue, 0, 5), Some((5, 1)));
    assert!(queue.is_empty());
}

#[test]
fn long_days_become_shorter_where_a_review_comes_at_every_event() {
    let (mut queue, pending) = (EventQueue::new(0), 4000);
    for number in 0..pending {
        queue.push(Time::from_nanos((1 << 36) + 10 * u64::from(number)), number);
        // far ahead: days become long
    }
    let (start, mut number) = (queue.calendar.day_bits(), pending);
    assert!(start > FIRST_DAY_BITS + 4, "{start}");
    while number < 2 * pending {
        let (now, _) = pop(&mut queue, 0, u64::MAX).expect("as many events come as go");
        queue.push(Time::from_nanos(now + 5 * u64::from(pending)), number); // in the middle of a list
        number += 1;
    }
    let entries_a_day = (1 << queue.calendar.day_bits()) / 10;
    assert!(entries_a_day < 16, "{entries_a_day} entries in the list of a day");
}

/// A review after `taken` events, of which `overflowed` went through the heap, and whose insertions passed `steps` entries:
/// the bits by which the length of a day changes.
fn review(taken: u64, steps: u64, overflowed: u64) -> i64 {
    let mut queue = EventQueue::new(0);
    queue.allow(1_000_000);
    queue.left_at_review = queue.left + taken;
    (queue.steps, queue.overflowed) = (steps, overflowed);
    queue.review();
    assert_eq!((queue.left_at_review, queue.steps, queue.overflowed), (queue.left, 0, 0));
    i64::from(queue.calendar.day_bits()) - i64::from(FIRST_DAY_BITS)
}

#[test]
fn days_get_longer_for_events_beyond_the_year_and_shorter_for_long_lists() {
    for (taken, steps, overflowed, change) in [
        (1600, 0, 100, 0),
        (1600, 0, 101, 1),
        (1600, 999, 101, 1),
        (1600, 320, 0, 0),
        (1600, 321, 0, -1),
        (1600, 321, 49, -1),
        (1600, 321, 50, 0),
        (0, 0, 1, 1),
    ] {
        assert_eq!(review(taken, steps, overflowed), change, "{taken} {steps} {overflowed}");
    }
}

#[test]
fn days_are_from_a_nanosecond_to_18_minutes_long() {
    for (bits, overflowed, steps, then) in [(39, 9, 0, 40), (40, 9, 0, 40), (1, 0, 9, 0), (0, 0, 9, 0)] {
        let mut queue = EventQueue::new(0);
        queue.change_days(bits);
        queue.allow(100);
        queue.left_at_review = queue.left + 10;
        (queue.steps, queue.overflowed) = (steps, overflowed);
        queue.review();
        assert_eq!(queue.calendar.day_bits(), then, "{bits}");
    }
}

/// A change in the same direction as the one before it is followed by a review after 128 entries; each change of direction
/// doubles that.
#[test]
fn a_change_of_direction_doubles_the_time_to_the_next_review() {
    let mut queue = EventQueue::new(0);
    let after: Vec<_> = [14, 15, 14, 15, 16, 15, 14]
        .into_iter()
        .map(|bits| {
            queue.change_days(bits);
            (queue.made_longer, queue.review_after)
        })
        .collect();
    assert_eq!(after, [(true, 256), (true, 128), (false, 256), (true, 512), (true, 128), (false, 256), (false, 128)]);
}

/// The budget of events is counted over reviews.
#[test]
fn events_that_may_be_taken_are_counted() {
    let mut queue = EventQueue::new(0);
    for number in 0..5 {
        queue.push(Time::from_nanos(u64::from(number)), number);
    }
    queue.allow(3);
    assert_eq!(queue.left(), 3);
    for left in [2, 1] {
        assert!(pop(&mut queue, 0, u64::MAX).is_some());
        assert_eq!((queue.left(), queue.left_at_review.wrapping_sub(queue.left)), (left, 3 - left));
    }
    queue.allow(10);
    assert_eq!((queue.left(), queue.left_at_review), (10, 12), "two have been taken since the last review");
}
