//! Steps of a capture's clock forward, which look like pauses: hosts' own clocks and timers show that there was none.

use cwndlab_tcp::Flags;

use super::clock::Step;
use super::raw::Raw;

/// A shorter pause is never looked at.
const LEAST_NS: i64 = 200_000_000;
/// So many parts of an end's segments with timestamps show the rate of its clock.
const PARTS: usize = 32;
const FEWEST: usize = 8;
/// A host's clock is trusted to one part in so many, and to so many of its ticks.
const PART: i128 = 10;
const TICKS: i128 = 3;
/// Rates of hosts' clocks are in ticks per this many nanoseconds.
const RATE_NS: i128 = 1_000_000_000_000;
/// A sender with data on its way repeats it within this time, and within so many of its longest round trips.
const LONGEST_TIMER_NS: i64 = 3_000_000_000;
const LONGEST_TRIPS: i64 = 4;
/// Steps that are looked for at most.
const MOST: usize = 64;

/// Two segments that follow each other, and by how much their times are further apart than the hosts show.
struct Pair {
    places: (usize, usize),
    excess_ns: i64,
}

/// The steps forward between packets at these times, in the order of the file.
///
/// The timestamps of hosts (RFC 7323) advance with their clocks. A clock with a tick shows no step of less than two.
/// Without them, an acknowledgment that is later than any
/// retransmission timer, of data that was not sent again, shows a step.
pub fn find<'a>(connections: impl Iterator<Item = &'a [Raw]> + Clone, times: &[i64], tick_ns: i64) -> Vec<Step> {
    let least_ns = LEAST_NS.max(2 * tick_ns);
    let gaps: Vec<usize> = (1..times.len()).filter(|&at| times[at] - times[at - 1] >= least_ns).collect();
    if gaps.is_empty() {
        return Vec::new();
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for raw in connections.clone() {
        for from_first in [true, false] {
            stamped_pairs(raw, from_first, times, least_ns, &mut pairs);
        }
    }
    let mut steps = agreed(&pairs, &gaps, times);
    let mut late: Vec<Pair> = Vec::new();
    connections.for_each(|raw| late_answers(raw, times, &mut late));
    // What hosts' clocks say of a pause counts more.
    late.retain(|one| !pairs.iter().any(|pair| pair.places.0 < one.places.1 && one.places.0 < pair.places.1));
    steps.extend(agreed(&late, &gaps, times));
    steps.sort_by_key(|step| step.place);
    steps.dedup_by_key(|step| step.place);
    steps
}

/// The steps that explain the excess of pairs, each at one gap, if no other pair contradicts.
fn agreed(pairs: &[Pair], gaps: &[usize], times: &[i64]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for pair in pairs.iter().filter(|pair| pair.excess_ns > 0) {
        let within = gaps.partition_point(|&at| at <= pair.places.0)..gaps.partition_point(|&at| at <= pair.places.1);
        let length = |at: usize| times[at] - times[at - 1];
        let Some(&place) = gaps[within].iter().max_by_key(|&&at| length(at)) else { continue };
        // One step must explain all of it.
        if length(place) >= pair.excess_ns - pair.excess_ns / 10 && steps.len() < MOST {
            let back_ns = -pair.excess_ns.min(length(place) - 1);
            match steps.iter_mut().find(|step| step.place == place) {
                Some(step) => step.back_ns = step.back_ns.max(back_ns),
                None => steps.push(Step { place, back_ns }),
            }
        }
    }
    steps.retain(|step| {
        !pairs.iter().any(|pair| pair.excess_ns == 0 && pair.places.0 < step.place && step.place <= pair.places.1)
    });
    steps
}

/// Adds the pairs of an end's segments around a pause, by its timestamps; the excess is 0 where they advanced as the times did.
fn stamped_pairs(raw: &[Raw], from_first: bool, times: &[i64], least_ns: i64, pairs: &mut Vec<Pair>) {
    let stamp = |one: &Raw| one.segment.ts.map(|(value, _)| (one.place, value));
    let stamps: Vec<(usize, u32)> = raw.iter().filter(|one| one.from_first == from_first).filter_map(stamp).collect();
    let ticks = |one: (usize, u32), other: (usize, u32)| i128::from(other.1.wrapping_sub(one.1).cast_signed());
    let spent = |one: (usize, u32), other: (usize, u32)| i128::from(times[other.0] - times[one.0]);
    if stamps.len() < FEWEST {
        return;
    }
    let edges: Vec<(usize, u32)> = (0..=PARTS).map(|k| stamps[k * (stamps.len() - 1) / PARTS]).collect();
    let slope = |pair: &[(usize, u32)]| {
        let spent = spent(pair[0], pair[1]);
        (spent > 0).then(|| ticks(pair[0], pair[1]) * RATE_NS / spent)
    };
    let mut slopes: Vec<i128> = edges.windows(2).filter_map(slope).collect();
    slopes.sort_unstable();
    let rate = slopes.get(slopes.len() / 2).copied().unwrap_or(0);
    if rate <= 0 {
        return;
    }
    for pair in stamps.windows(2) {
        let (spent, advance) = (spent(pair[0], pair[1]), ticks(pair[0], pair[1]) * RATE_NS / rate);
        if spent < i128::from(least_ns) || advance < 0 {
            continue;
        }
        let least = (advance / PART).max(TICKS * RATE_NS / rate).max(least_ns.into());
        let excess = spent - advance;
        let excess_ns = if excess > least { i64::try_from(excess).unwrap_or(i64::MAX) } else { 0 };
        pairs.push(Pair { places: (pair[0].0, pair[1].0), excess_ns });
    }
}

/// Adds the pauses of a connection after which data from before is acknowledged that no timer repeated.
fn late_answers(raw: &[Raw], times: &[i64], pairs: &mut Vec<Pair>) {
    let mut ends = [Sent::default(), Sent::default()];
    let mut found: Vec<Pair> = Vec::new();
    let mut before: Option<usize> = None;
    for one in raw {
        let now = times[one.place];
        let pause = before.map_or(0, |place| now - times[place]);
        if let (Some(place), true) = (before, pause > LONGEST_TIMER_NS) {
            for end in &mut ends {
                end.pause = end.waits_at_all().then_some(((place, one.place), pause, end.highest));
            }
        }
        before = Some(one.place);
        if one.has(Flags::ACK) && !one.has(Flags::SYN) && !one.has(Flags::RST) {
            found.extend(ends[usize::from(one.from_first)].take(one.ack, now));
        }
        if one.segment.len > 0 {
            ends[usize::from(!one.from_first)].send(one.seq.wrapping_add(one.segment.len), now);
        }
    }
    let (longest, samples) = ends.iter().fold((0, 0), |sum, end| (sum.0.max(end.longest_ns), sum.1 + end.samples));
    if samples >= FEWEST {
        pairs.extend(found.into_iter().filter(|pair| pair.excess_ns > LONGEST_TRIPS * longest));
    }
}

/// What one end has sent, and how long answers took.
#[derive(Default)]
struct Sent {
    /// The highest numbers that were sent, and acknowledged.
    highest: Option<u32>,
    acknowledged: Option<u32>,
    /// The highest number sent when something was last sent again, until that is acknowledged.
    repeated: Option<u32>,
    /// The latest pause with data on its way: its places, its length, and the highest number sent before it.
    pause: Option<((usize, usize), i64, Option<u32>)>,
    /// The segment whose answer is measured: the number behind it, and when it was sent.
    pending: Option<(u32, i64)>,
    longest_ns: i64,
    samples: usize,
}

impl Sent {
    fn send(&mut self, end: u32, now: i64) {
        if self.highest.is_none_or(|highest| is_after(end, highest)) {
            self.highest = Some(end);
            self.pending.get_or_insert((end, now));
        } else {
            (self.repeated, self.pending, self.pause) = (self.highest, None, None);
        }
    }

    /// Whether data is on its way that was sent once.
    fn waits_at_all(&self) -> bool {
        let on_its_way = self.highest.zip(self.acknowledged).is_some_and(|(sent, known)| is_after(sent, known));
        on_its_way && self.repeated.is_none()
    }

    /// Takes an acknowledgment; the pause that it shows to be none.
    fn take(&mut self, ack: u32, now: i64) -> Option<Pair> {
        if self.acknowledged.is_some_and(|known| !is_after(ack, known)) {
            return None;
        }
        self.acknowledged = Some(ack);
        let paused = self.pause.take();
        self.repeated = self.repeated.filter(|&highest| is_after(highest, ack));
        let from_before = |highest: Option<u32>| highest.is_some_and(|highest| !is_after(ack, highest));
        if let Some((places, length, _)) = paused.filter(|one| from_before(one.2)) {
            self.pending = None; // its answer is as late
            return Some(Pair { places, excess_ns: length - 1 });
        }
        if let Some((_, sent)) = self.pending.filter(|(end, _)| !is_after(*end, ack)) {
            self.longest_ns = self.longest_ns.max(now - sent);
            self.samples += 1;
            self.pending = None;
        }
        None
    }
}

fn is_after(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}
