//! The event queue: what happens next.
//!
//! A 4-ary implicit heap on one packed key. Popping leaves a hole at the root; the push that nearly always
//! follows (the same link's next packet) fills it and sifts down once, where pop-then-push would sift twice.

use cwndlab_units::Time;

/// Where an event comes from: a link's next arrival, a link's next service, a timer.
/// Each source has at most one live entry in the queue.
pub type Source = u32;

/// 2^24 sources and 2^40 schedulings fit beside the 64-bit time in one 128-bit key.
const SOURCE_BITS: u32 = 24;
/// The largest number of sources.
pub const MAX_SOURCES: u32 = 1 << SOURCE_BITS;
const ARITY: usize = 4;

/// Pending events, earliest first; events of the same instant in the order in which they were scheduled.
#[derive(Debug)]
pub struct EventQueue {
    /// Keys: time in the upper 64 bits, then the number of the scheduling, then the source.
    keys: Vec<u128>,
    /// Whether `keys[0]` has been popped and not yet replaced.
    hole: bool,
    scheduled: u64,
}

impl EventQueue {
    /// An empty queue.
    pub fn new() -> EventQueue {
        EventQueue { keys: Vec::with_capacity(64), hole: false, scheduled: 0 }
    }

    /// Schedules `source` at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, source: Source) {
        debug_assert!(source < MAX_SOURCES && self.scheduled < 1 << (64 - SOURCE_BITS));
        let key = u128::from(time.as_nanos()) << 64 | u128::from(self.scheduled << SOURCE_BITS) | u128::from(source);
        self.scheduled += 1;
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.keys.push(key);
            self.sift_up(key);
        }
    }

    /// The earliest event at or before `until`, removed.
    #[inline]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, Source)> {
        if self.hole {
            self.hole = false;
            let last = self.keys.pop()?;
            if self.keys.is_empty() {
                return None;
            }
            self.sift_down(last);
        }
        let key = *self.keys.first()?;
        let time = Time::from_nanos((key >> 64) as u64);
        if time > until {
            return None;
        }
        self.hole = true;
        Some((time, key as u32 & (MAX_SOURCES - 1)))
    }

    /// How many entries are pending (stale timer entries included).
    pub fn len(&self) -> usize {
        self.keys.len() - usize::from(self.hole)
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn sift_down(&mut self, key: u128) {
        let keys = &mut self.keys[..];
        let mut at = 0;
        loop {
            let first = ARITY * at + 1;
            let (best, best_key) = if let Some(&[a, b, c, d]) = keys.get(first..first + ARITY) {
                // a tournament of selects: no branch to mispredict
                let (i, x) = if b < a { (1, b) } else { (0, a) };
                let (j, y) = if d < c { (3, d) } else { (2, c) };
                if y < x {
                    (first + j, y)
                } else {
                    (first + i, x)
                }
            } else {
                let Some((i, &k)) = keys.iter().enumerate().skip(first).min_by_key(|&(_, k)| k) else { break };
                (i, k)
            };
            if key <= best_key {
                break;
            }
            keys[at] = best_key;
            at = best;
        }
        keys[at] = key;
    }

    #[inline]
    fn sift_up(&mut self, key: u128) {
        let keys = &mut self.keys[..];
        let mut at = keys.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if keys[parent] <= key {
                break;
            }
            keys[at] = keys[parent];
            at = parent;
        }
        keys[at] = key;
    }
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_time_order_and_ties_in_order_of_scheduling(
            steps in proptest::collection::vec((0_u64..20, any::<bool>()), 0..400)
        ) {
            let mut queue = EventQueue::new();
            let mut model: Vec<(u64, u32)> = Vec::new(); // kept sorted by (time, number of scheduling)
            for (number, &(time, pop_first)) in steps.iter().enumerate() {
                if pop_first {
                    let expected = (!model.is_empty()).then(|| model.remove(0));
                    let got = queue.pop_until(Time::MAX).map(|(t, s)| (t.as_nanos(), s));
                    prop_assert_eq!(got, expected);
                }
                queue.push(Time::from_nanos(time), number as u32);
                let at = model.partition_point(|&(t, _)| t <= time);
                model.insert(at, (time, number as u32));
                prop_assert_eq!(queue.len(), model.len());
            }
            for (t, s) in model {
                prop_assert_eq!(queue.pop_until(Time::MAX), Some((Time::from_nanos(t), s)));
            }
            prop_assert_eq!(queue.pop_until(Time::MAX), None);
        }
    }

    #[test]
    fn an_event_after_the_end_stays() {
        let mut queue = EventQueue::new();
        queue.push(Time::from_nanos(5), 1);
        assert_eq!(queue.pop_until(Time::from_nanos(4)), None);
        assert_eq!(queue.pop_until(Time::from_nanos(5)), Some((Time::from_nanos(5), 1)));
        assert!(queue.is_empty());
    }
}
