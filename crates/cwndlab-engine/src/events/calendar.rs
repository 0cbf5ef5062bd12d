//! The calendar: a ring of days, each a list of its events in order of time.

use super::Source;

/// Words in the bitmap of days: as many as a word has bits, so that one word summarizes the whole bitmap.
const WORDS: usize = 64;
/// Days in a year.
const DAYS: usize = WORDS * 64;
/// The end of a list.
const NIL: u32 = u32::MAX;
/// Time of an owned entry that is not in the calendar. Without debug assertions, a removed entry keeps its old time.
const IDLE: u64 = u64::MAX;
/// A day lasts 2^13 ns at first.
const FIRST_DAY_BITS: u32 = 13;

/// An event in the list of its day, or a free entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    source: Source,
    next: u32,
}

/// Events from today up to the end of the year, `DAYS` days later.
#[derive(Debug)]
pub(super) struct Calendar {
    /// A day lasts `2^day_bits` ns.
    day_bits: u32,
    /// Day of the last event that was taken.
    today: u64,
    /// One bit for each word of `map` that is not zero.
    summary: u64,
    /// One bit for each day that has events.
    map: [u64; WORDS],
    /// First entry of each day.
    heads: Box<[u32; DAYS]>,
    /// Last entry of each day with several events, so that events of the same instant are added without a walk.
    tails: Box<[u32; DAYS]>,
    /// One entry for each source below `owners`, followed by those that all other sources share.
    entries: Vec<Entry>,
    owners: u32,
    /// First free shared entry.
    free: u32,
}

impl Calendar {
    /// A calendar in which each of the sources below `owners` has an entry of its own.
    pub(super) fn new(owners: u32) -> Calendar {
        Calendar {
            day_bits: FIRST_DAY_BITS,
            today: 0,
            summary: 0,
            map: [0; WORDS],
            heads: Box::new([NIL; DAYS]),
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
    pub(super) fn day(&self, time: u64) -> u64 {
        time >> self.day_bits
    }

    /// The earliest value of `today` for which `day` lies within the year.
    #[inline]
    pub(super) fn comes_into_view(day: u64) -> u64 {
        day.saturating_sub(DAYS as u64 - 1)
    }

    /// Whether `day` is today or earlier.
    #[inline]
    pub(super) fn has_come(&self, day: u64) -> bool {
        day <= self.today
    }

    /// Whether `time` lies within the year.
    #[inline]
    pub(super) fn covers(&self, time: u64) -> bool {
        // A day before today wraps to a large number.
        self.day(time).wrapping_sub(self.today) < DAYS as u64
    }

    /// Whether `time` lies before today.
    #[inline]
    pub(super) fn is_past(&self, time: u64) -> bool {
        self.day(time) < self.today
    }

    /// Makes the day of `time` today. The calendar must be empty.
    pub(super) fn move_to(&mut self, time: u64) {
        self.today = self.day(time);
    }

    /// Adds an event after all events of the same or an earlier time. Returns the number of entries with which it was
    /// compared. If the event lies outside the year, returns `None` and has no effect.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub(super) fn insert(&mut self, time: u64, source: Source) -> Option<u32> {
        let day = self.day(time);
        if day.wrapping_sub(self.today) >= DAYS as u64 {
            return None;
        }
        Some(self.insert_on(day, time, source))
    }

    /// As [`Calendar::insert`], but with the entry that the source owns, which must not be in the calendar.
    #[allow(clippy::inline_always)] // once per packet-hop
    #[inline(always)]
    pub(super) fn insert_own(&mut self, time: u64, source: Source) -> Option<u32> {
        let day = self.day(time);
        if day.wrapping_sub(self.today) >= DAYS as u64 {
            return None;
        }
        let own = &mut self.entries[source as usize];
        debug_assert!(source < self.owners && own.time == IDLE);
        (own.time, own.next) = (time, NIL);
        Some(self.enter_on(day, source, time))
    }

    /// Adds an event whose day is before today to the list of today. Returns the number of entries with which it was
    /// compared.
    #[cold]
    pub(super) fn insert_past(&mut self, time: u64, source: Source) -> u32 {
        self.insert_on(self.today, time, source)
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn insert_on(&mut self, day: u64, time: u64, source: Source) -> u32 {
        let at = self.free;
        let Some(entry) = self.entries.get_mut(at as usize) else { return self.insert_grown(day, time, source) };
        self.free = entry.next;
        *entry = Entry { time, source, next: NIL };
        self.enter_on(day, at, time)
    }

    /// Adds an entry to the list of its day. Returns the number of entries with which it was compared.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn enter_on(&mut self, day: u64, at: u32, time: u64) -> u32 {
        let slot = day as usize % DAYS;
        let head = self.heads[slot];
        if head != NIL {
            return self.insert_in_list(slot, head, at, time);
        }
        self.heads[slot] = at;
        self.map[slot / 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
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
        // The tail is later than `time`, so the search ends there at the latest.
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

    /// Days from today to the first day that has events; `None` if there are no events.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn first(&self) -> Option<u64> {
        let slot = self.today as usize % DAYS;
        let here = self.map[slot / 64] >> (slot % 64);
        if here != 0 {
            return Some(u64::from(here.trailing_zeros()));
        }
        self.first_further()
    }

    /// As [`Calendar::first`], if no day from today to the end of today's word of the bitmap has events.
    #[inline]
    fn first_further(&self) -> Option<u64> {
        if self.summary == 0 {
            return None;
        }
        let slot = self.today as usize % DAYS;
        // The search starts with the word after today's, wraps around, and ends with the days before today in today's
        // word.
        let ahead = self.summary.rotate_right(slot as u32 / 64 + 1).trailing_zeros() as usize + 1;
        let bit = self.map[(slot / 64 + ahead) % WORDS].trailing_zeros() as usize;
        Some((64 * ahead + bit - slot % 64) as u64)
    }

    /// Takes the first event of the day `days` after today, which [`Calendar::first`] returned, unless the event is
    /// later than `until`. Its day becomes today.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn pop_until(&mut self, days: u64, until: u64) -> Option<(u64, Source)> {
        let day = self.today + days;
        let slot = day as usize % DAYS;
        let at = self.heads[slot];
        let entry = &mut self.entries[at as usize];
        let Entry { time, source, next } = *entry;
        if time > until {
            return None;
        }
        if at >= self.owners {
            entry.next = self.free;
            self.free = at;
        } else if cfg!(debug_assertions) {
            entry.time = IDLE;
        }
        self.today = day;
        self.set_head(slot, next);
        Some((time, source))
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn set_head(&mut self, slot: usize, head: u32) {
        self.heads[slot] = head;
        if head == NIL {
            let word = self.map[slot / 64] & !(1 << (slot % 64));
            self.map[slot / 64] = word;
            if word == 0 {
                self.summary &= !(1 << (slot / 64));
            }
        }
    }

    /// Empties the calendar and changes the length of a day to `2^day_bits` ns. Returns the events in order.
    pub(super) fn restart(&mut self, day_bits: u32) -> Vec<(u64, Source)> {
        let mut events = Vec::new();
        while let Some(days) = self.first() {
            let slot = (self.today + days) as usize % DAYS;
            let mut at = self.heads[slot];
            while at != NIL {
                let entry = self.entries[at as usize];
                events.push((entry.time, entry.source));
                at = entry.next;
            }
            self.set_head(slot, NIL);
        }
        self.entries.truncate(self.owners as usize);
        self.entries.iter_mut().for_each(|own| own.time = IDLE);
        self.free = NIL;
        let now = self.today << self.day_bits;
        self.day_bits = day_bits;
        self.today = now >> day_bits;
        events
    }

    /// Number of events. Takes time in proportion to the number of days.
    pub(super) fn len(&self) -> usize {
        let entry = |at: u32| self.entries.get(at as usize);
        self.heads.iter().map(|&head| std::iter::successors(entry(head), |first| entry(first.next)).count()).sum()
    }
}
