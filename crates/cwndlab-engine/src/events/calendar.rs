//! The calendar: a ring of days, each a list of its events in order of time.
//!
//! 64 days are a *week*. One word of a bitmap tells which days of a week have events. The calendar knows the current
//! week, not the current day: if the week has events, the first event is on the first of its days that have any.

use std::num::NonZeroU64;

use super::{Source, OWN};

/// Words in the bitmap of days, one for each week of a year. One word (`summary`) has a bit for each of them.
const WORDS: usize = 64;
/// Days in a year, which consists of the current week and the 63 weeks after it.
const DAYS: usize = WORDS * WEEK;
/// Days in a week.
const WEEK: usize = 64;
/// In [`Entry::next`] and in `heads`: there is no entry.
const NIL: u32 = u32::MAX;
/// Time of an owned entry that is not in the calendar. Without debug assertions, a removed entry keeps its old time.
const IDLE: u64 = u64::MAX;
/// A day lasts 2^13 ns at first.
pub(super) const FIRST_DAY_BITS: u32 = 13;

/// An entry for an event. It is in the list of the event's day, unless it is not in use.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    source: Source,
    /// The next entry of the day's list or, if this shared entry is free, of the list of free entries; [`NIL`] if none.
    next: u32,
}

/// The first day that has events: the lowest bit that is set in `days`, the word of the day's week in the bitmap.
/// `word`, modulo [`WORDS`], is the index of this word.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    word: usize,
    days: NonZeroU64,
}

impl First {
    #[inline]
    fn slot(self) -> usize {
        self.word % WORDS * WEEK + self.days.trailing_zeros() as usize
    }
}

/// Events from the current week up to the end of the year.
#[derive(Debug)]
pub(super) struct Calendar {
    /// A day lasts `2^day_bits` ns.
    day_bits: u32,
    /// Number of the current week, counted from time zero: that of the last event taken, or, after
    /// [`Calendar::advance`], that of the first event that is left.
    week: u64,
    /// One bit for each word of `map` that is not zero.
    summary: u64,
    /// One bit for each day: whether the day has events.
    map: [u64; WORDS],
    /// First entry of each day. Not on the heap, so that no pointer has to be loaded for each event.
    heads: [u32; DAYS],
    /// Last entry of each day that has several, so that an event no earlier than these is added without a search.
    tails: Box<[u32; DAYS]>,
    /// One entry for each source below `owners`, at the index of the source; then shared entries, for other events.
    entries: Vec<Entry>,
    owners: u32,
    /// First free shared entry.
    free: u32,
}

impl Calendar {
    #[inline]
    pub(super) fn owners(&self) -> u32 {
        self.owners
    }

    /// A calendar in which each of the sources below `owners` has an entry of its own.
    pub(super) fn new(owners: u32) -> Calendar {
        Calendar {
            day_bits: FIRST_DAY_BITS,
            week: 0,
            summary: 0,
            map: [0; WORDS],
            heads: [NIL; DAYS],
            tails: Box::new([NIL; DAYS]),
            entries: (0..owners).map(|source| Entry { time: IDLE, source, next: NIL }).collect(),
            owners,
            free: NIL,
        }
    }

    #[inline]
    pub(super) fn day_bits(&self) -> u32 {
        self.day_bits
    }

    /// The day that contains `time`.
    #[inline]
    fn day(&self, time: u64) -> u64 {
        time >> self.day_bits
    }

    /// The number of the earliest week in whose year `time` lies. A week's year begins with this week.
    #[inline]
    pub(super) fn comes_into_view(&self, time: u64) -> u64 {
        (self.day(time) / WEEK as u64).saturating_sub(WORDS as u64 - 1)
    }

    /// Whether `week` is the current week or an earlier one.
    #[inline]
    pub(super) fn has_come(&self, week: u64) -> bool {
        week <= self.week
    }

    /// Whether `day` lies within the year.
    #[inline]
    fn covers_day(&self, day: u64) -> bool {
        // A week before the current one wraps to a large number.
        (day / WEEK as u64).wrapping_sub(self.week) < WORDS as u64
    }

    /// Whether `time` lies within the year.
    #[inline]
    pub(super) fn covers(&self, time: u64) -> bool {
        self.covers_day(self.day(time))
    }

    /// Whether `time` lies before the current week.
    #[inline]
    pub(super) fn is_past(&self, time: u64) -> bool {
        self.day(time) / (WEEK as u64) < self.week
    }

    /// Makes the week of `time` the current one. The calendar must be empty.
    pub(super) fn move_to(&mut self, time: u64) {
        self.week = self.day(time) / WEEK as u64;
    }

    /// Adds an event after all events of the same or an earlier time. Returns the number of entries with which it was
    /// compared. If the event lies outside the year, returns `None` and has no effect.
    #[inline]
    pub(super) fn insert(&mut self, time: u64, source: Source) -> Option<u32> {
        let day = self.day(time);
        if !self.covers_day(day) {
            return None;
        }
        Some(self.insert_on(day, time, source))
    }

    /// Adds an event as [`Calendar::insert`] does, but in the entry that the source owns, which must not be in use.
    #[inline]
    pub(super) fn insert_own(&mut self, time: u64, source: Source) -> Option<u32> {
        let day = self.day(time);
        if !self.covers_day(day) {
            return None;
        }
        let own = &mut self.entries[source as usize];
        debug_assert!(source < self.owners && own.time == IDLE && own.next == NIL);
        own.time = time;
        Some(self.enter_on(day, source, time))
    }

    /// Adds an event by its label. The event must not lie beyond the year. An event before the current week enters the
    /// list of this week's first day. Returns the number of entries with which it was compared.
    #[cold]
    pub(super) fn insert_labelled(&mut self, time: u64, label: u32) -> u32 {
        let day = self.day(time).max(self.week * WEEK as u64);
        if label & OWN == 0 {
            return self.insert_on(day, time, label);
        }
        let source = label & !OWN;
        self.entries[source as usize].time = time;
        self.enter_on(day, source, time)
    }
    #[inline]
    fn insert_on(&mut self, day: u64, time: u64, source: Source) -> u32 {
        let at = self.free;
        let Some(entry) = self.entries.get_mut(at as usize) else { return self.insert_grown(day, time, source) };
        self.free = entry.next;
        *entry = Entry { time, source, next: NIL };
        self.enter_on(day, at, time)
    }

    /// Adds the entry at index `at` to the list of its day. Returns the number of entries with which it was compared.
    #[inline]
    fn enter_on(&mut self, day: u64, at: u32, time: u64) -> u32 {
        let slot = day as usize % DAYS;
        let head = self.heads[slot];
        if head != NIL {
            return self.insert_in_list(slot, head, at, time);
        }
        self.heads[slot] = at;
        let days = self.map[slot / WEEK];
        self.map[slot / WEEK] = days | 1 << (slot % WEEK);
        if days == 0 {
            self.summary |= 1 << (slot / WEEK);
        }
        0
    }

    #[cold]
    #[inline(never)]
    fn insert_grown(&mut self, day: u64, time: u64, source: Source) -> u32 {
        self.free = self.entries.len() as u32;
        self.entries.push(Entry { time, source, next: NIL });
        self.insert_on(day, time, source)
    }

    #[inline(never)]
    fn insert_in_list(&mut self, slot: usize, head: u32, at: u32, time: u64) -> u32 {
        let tail = if self.entries[head as usize].next == NIL { head } else { self.tails[slot] };
        if self.entries[tail as usize].time <= time {
            self.entries[tail as usize].next = at;
            self.tails[slot] = at;
            return 1;
        }
        if self.entries[head as usize].time > time {
            self.entries[at as usize].next = head;
            self.heads[slot] = at;
            self.tails[slot] = tail;
            return 2;
        }
        // The day's last entry is later than `time`, so the search ends there at the latest.
        let (mut before, mut steps) = (head, 3);
        loop {
            let next = self.entries[before as usize].next;
            if self.entries[next as usize].time > time {
                self.entries[at as usize].next = next;
                self.entries[before as usize].next = at;
                return steps;
            }
            before = next;
            steps += 1;
        }
    }

    /// The first day of the current week that has events; `None` if no day of this week has any.
    #[inline]
    pub(super) fn first(&self) -> Option<First> {
        let word = self.week as usize % WORDS;
        let days = self.map[word];
        NonZeroU64::new(days).map(|days| First { word, days })
    }

    /// Moves to the first week that has events, which may be the current one, and returns its first day with events. If
    /// there are no events, returns `None`, and the current week is undefined until [`Calendar::move_to`] is called.
    #[inline]
    pub(super) fn advance(&mut self) -> Option<First> {
        let ahead = self.summary.rotate_right(self.week as u32 % WORDS as u32).trailing_zeros();
        self.week += u64::from(ahead);
        let word = self.week as usize % WORDS;
        NonZeroU64::new(self.map[word]).map(|days| First { word, days })
    }

    /// Whether there are no events.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.summary == 0
    }

    /// Removes the first event of the day `first`, unless it is later than `until`. Returns its time and the index of
    /// its entry. The index of an owned entry is its source; other entries must be released.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn pop_until(&mut self, first: First, until: u64) -> Option<(u64, u32)> {
        let slot = first.slot();
        let at = self.heads[slot];
        let entry = &mut self.entries[at as usize];
        let Entry { time, next, .. } = *entry;
        if time > until {
            return None;
        }
        if cfg!(debug_assertions) {
            entry.time = IDLE;
        }
        if next != NIL {
            entry.next = NIL;
        }
        self.set_head(first, slot, next);
        Some((time, at))
    }

    /// Frees a shared entry that [`Calendar::pop_until`] has returned. Returns the source of its event.
    pub(super) fn release(&mut self, at: u32) -> Source {
        debug_assert!(at >= self.owners);
        let entry = &mut self.entries[at as usize];
        entry.next = self.free;
        self.free = at;
        entry.source
    }
    #[inline]
    fn set_head(&mut self, first: First, slot: usize, head: u32) {
        self.heads[slot] = head;
        if head == NIL {
            let (word, days) = (first.word % WORDS, first.days.get());
            let others = days & (days - 1);
            self.map[word] = others;
            if others == 0 {
                self.summary &= !(1 << word);
            }
        }
    }

    /// Empties the calendar and makes a day last `2^day_bits` ns. Returns time and label of each event, earliest first.
    pub(super) fn restart(&mut self, day_bits: u32) -> Vec<(u64, u32)> {
        let (mut events, now) = (Vec::new(), (self.week * WEEK as u64) << self.day_bits);
        while let Some(first) = self.advance() {
            let slot = first.slot();
            let mut at = self.heads[slot];
            while at != NIL {
                let entry = self.entries[at as usize];
                events.push((entry.time, if at < self.owners { at | OWN } else { entry.source }));
                at = entry.next;
            }
            self.set_head(first, slot, NIL);
        }
        self.entries.truncate(self.owners as usize);
        self.entries.iter_mut().for_each(|own| (own.time, own.next) = (IDLE, NIL));
        self.free = NIL;
        self.day_bits = day_bits;
        self.move_to(now);
        events
    }

    /// Number of events. Visits all days and events, so it is slow.
    pub(super) fn len(&self) -> usize {
        let entry = |at: u32| self.entries.get(at as usize);
        self.heads.iter().map(|&head| std::iter::successors(entry(head), |first| entry(first.next)).count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 1 << FIRST_DAY_BITS;
    const WEEK_NS: u64 = 64 * DAY;

    #[test]
    fn a_year_is_the_current_week_and_the_63_after_it() {
        let mut calendar = Calendar::new(0);
        calendar.move_to(5 * WEEK_NS + 3 * DAY);
        for (time, covered, past) in [
            (5 * WEEK_NS - 1, false, true),
            (5 * WEEK_NS, true, false),
            (69 * WEEK_NS - 1, true, false),
            (69 * WEEK_NS, false, false),
        ] {
            assert_eq!((calendar.covers(time), calendar.is_past(time)), (covered, past), "{time}");
            assert_eq!(calendar.insert(time, 7).is_some(), covered, "{time}");
        }
        assert_eq!([4, 5, 6].map(|week| calendar.has_come(week)), [true, true, false]);
        let view =
            [0, 63 * WEEK_NS, 64 * WEEK_NS - 1, 64 * WEEK_NS, 100 * WEEK_NS].map(|at| calendar.comes_into_view(at));
        assert_eq!(view, [0, 0, 0, 1, 37]);
        assert_eq!(calendar.len(), 2);
    }

    /// An insertion looks at the last entry, then at the first, and then at each entry in between until one is later.
    #[test]
    fn the_entries_that_an_insertion_looks_at_are_counted() {
        let mut calendar = Calendar::new(0);
        let steps: Vec<_> = [10, 20, 20, 5, 12, 18, 30, 6].map(|time| calendar.insert(time, 1).unwrap()).to_vec();
        assert_eq!(steps, [0, 1, 1, 2, 4, 5, 1, 3]);
        let mut times = Vec::new();
        while let Some(first) = calendar.first() {
            let (time, at) = calendar.pop_until(first, u64::MAX).unwrap();
            calendar.release(at);
            times.push(time);
        }
        assert_eq!(times, [5, 6, 10, 12, 18, 20, 20, 30]);
        assert!(calendar.is_empty());
    }

    #[test]
    fn the_first_day_is_one_of_the_current_week() {
        let mut calendar = Calendar::new(0);
        assert!(calendar.first().is_none());
        calendar.insert(3 * WEEK_NS + 2 * DAY, 1);
        assert!(calendar.first().is_none(), "not of this week");
        assert_eq!(calendar.advance().map(First::slot), Some(3 * WEEK + 2));
        assert_eq!((calendar.week, calendar.first().map(First::slot)), (3, Some(3 * WEEK + 2)));
    }

    #[test]
    fn a_calendar_with_other_days_begins_in_the_week_of_the_old_one() {
        for bits in [FIRST_DAY_BITS - 2, FIRST_DAY_BITS, FIRST_DAY_BITS + 3] {
            let mut calendar = Calendar::new(2);
            calendar.move_to(8 * WEEK_NS);
            calendar.insert(9 * WEEK_NS, 50);
            calendar.insert_own(10 * WEEK_NS, 1);
            calendar.insert(8 * WEEK_NS + 7, 51);
            assert!(calendar.first().is_some());
            let events = calendar.restart(bits);
            assert_eq!(events, [(8 * WEEK_NS + 7, 51), (9 * WEEK_NS, 50), (10 * WEEK_NS, 1 | OWN)]);
            // `restart` has moved to the week of the last event, and then back to the first week of the old calendar.
            assert_eq!(calendar.week, (8 * WEEK_NS) >> bits >> 6, "{bits}");
            assert_eq!((calendar.is_empty(), calendar.len()), (true, 0));
        }
    }
}
