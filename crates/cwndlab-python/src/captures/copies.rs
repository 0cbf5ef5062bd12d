//! Finds the copies of packets that a capture has several times: of two interfaces, or before and after a router.

use std::collections::BTreeMap;

use super::raw::Raw;

/// Copies of a packet are not further apart: the same identification comes later in another packet.
const FURTHEST_NS: i64 = 2_000_000_000;
/// Without an identification, segments that look alike are copies if at least this share of them does, in percent: an
/// acknowledgment may be repeated, but not everything is.
const MOST_ALIKE: usize = 80;

/// What was taken out.
#[derive(Default)]
pub struct Copies {
    pub count: usize,
    /// The time to live of copies of one packet, if it differs.
    pub ttls: Option<(u8, u8)>,
    /// Whether the copies are of several interfaces.
    pub interfaces: bool,
}

/// Keeps each packet once, as one observer near the end that sent more data has seen it.
pub fn take_out(raw: &mut Vec<Raw>) -> Copies {
    let groups = groups(raw);
    let mut copies = Copies::default();
    if groups.is_empty() {
        return copies;
    }
    let bytes = |from_first| {
        raw.iter().filter(|one| one.from_first == from_first).map(|one| u64::from(one.segment.len)).sum::<u64>()
    };
    let data_from_first = bytes(true) >= bytes(false);
    copies.ttls = groups.iter().find_map(|group| {
        let ttl = |&at: &usize| raw[at].ttl;
        let (least, most) = (group.iter().map(ttl).min()?, group.iter().map(ttl).max()?);
        (least < most).then_some((most, least))
    });
    copies.interfaces = groups.iter().any(|group| group.iter().any(|&at| raw[at].interface != raw[group[0]].interface));
    let nearest = Nearest::new(raw, &groups, data_from_first);
    let observer = nearest.observer(raw, &groups);
    let other_ttl = nearest.other_ttls(raw, &groups);
    let mut keeps = vec![true; raw.len()];
    for group in &groups {
        let chosen = observer.and_then(|interface| group.iter().copied().find(|&at| raw[at].interface == interface));
        let chosen = chosen.unwrap_or_else(|| nearest.choose(raw, group));
        for &at in group {
            keeps[at] = at == chosen;
        }
    }
    let grouped: Vec<bool> = {
        let mut grouped = vec![false; raw.len()];
        for &at in groups.iter().flatten() {
            grouped[at] = true;
        }
        grouped
    };
    // What only another observer saw never passed this one.
    for (at, one) in raw.iter().enumerate().filter(|(at, _)| !grouped[*at]) {
        let elsewhere = match observer {
            Some(interface) => one.interface != interface,
            None => other_ttl[usize::from(!one.from_first)] == Some(one.ttl),
        };
        keeps[at] = !elsewhere;
    }
    copies.count = keeps.iter().filter(|keep| !**keep).count();
    let mut keep = keeps.into_iter();
    raw.retain(|_| keep.next().unwrap_or(true));
    copies
}

/// Which copies an observer near the sender of the data saw.
struct Nearest {
    data_from_first: bool,
    /// Whether it saw the last copies of what the sender received. If each packet was copied at one place, it saw the first.
    receives_last: bool,
}

impl Nearest {
    fn new(raw: &[Raw], groups: &[Vec<usize>], data_from_first: bool) -> Self {
        let is_data = |at: usize| raw[at].from_first == data_from_first;
        let first = |group: &Vec<usize>| group.iter().map(|&at| raw[at].time_ns).min().unwrap_or(0);
        let last = |group: &Vec<usize>| group.iter().map(|&at| raw[at].time_ns).max().unwrap_or(0);
        let mut sent: Vec<i64> = groups.iter().filter(|group| is_data(group[0])).map(first).collect();
        sent.sort_unstable();
        // The sender's answers come soon after what it received, so the copy with the earlier answers is its own.
        let answer = |time: i64| sent.get(sent.partition_point(|&one| one < time)).map(|one| one - time);
        let median = |time_of: &dyn Fn(&Vec<usize>) -> i64| {
            let received = groups.iter().filter(|group| !is_data(group[0]));
            let mut answers: Vec<i64> = received.filter_map(|group| answer(time_of(group))).collect();
            answers.sort_unstable();
            answers.get(answers.len() / 2).copied()
        };
        let receives_last = median(&last).zip(median(&first)).is_some_and(|(last, first)| last < first);
        Nearest { data_from_first, receives_last }
    }

    fn choose(&self, raw: &[Raw], group: &[usize]) -> usize {
        let is_data = raw[group[0]].from_first == self.data_from_first;
        let first = group.iter().copied().min_by_key(|&at| raw[at].time_ns);
        let last = group.iter().copied().max_by_key(|&at| raw[at].time_ns);
        (if is_data || !self.receives_last { first } else { last }).unwrap_or(group[0])
    }

    /// The interface that saw most packets of both directions, and the data first; None if none saw most of either.
    fn observer(&self, raw: &[Raw], groups: &[Vec<usize>]) -> Option<u32> {
        let is_data = |group: &&Vec<usize>| raw[group[0]].from_first == self.data_from_first;
        let mut seen: BTreeMap<u32, [usize; 3]> = BTreeMap::new();
        for group in groups {
            let interfaces: Vec<u32> = group.iter().map(|&at| raw[at].interface).collect();
            if interfaces.iter().all(|one| *one == interfaces[0]) {
                return None; // an interface has copies itself
            }
            for one in &interfaces {
                seen.entry(*one).or_default()[usize::from(!is_data(&group))] += 1;
            }
            let chosen = raw[self.choose(raw, group)].interface;
            seen.entry(chosen).or_default()[2] += usize::from(is_data(&group));
        }
        let data = groups.iter().filter(is_data).count();
        let enough = |counts: &[usize; 3]| 2 * counts[0] >= data && 2 * counts[1] >= groups.len() - data;
        seen.into_iter().filter(|(_, counts)| enough(counts)).max_by_key(|(_, counts)| counts[2]).map(|(one, _)| one)
    }

    /// For each direction, the time to live at the other observer; None if the copies have the same.
    fn other_ttls(&self, raw: &[Raw], groups: &[Vec<usize>]) -> [Option<u8>; 2] {
        let mut found = [None, None];
        for group in groups {
            let chosen = self.choose(raw, group);
            if let Some(&other) = group.iter().find(|&&at| raw[at].ttl != raw[chosen].ttl) {
                found[usize::from(!raw[chosen].from_first)] = Some(raw[other].ttl);
            }
        }
        found
    }
}

/// The packets that were captured more than once, as positions of their copies in the order of the file.
fn groups(raw: &[Raw]) -> Vec<Vec<usize>> {
    let identified = [true, false].map(|from_first| {
        let mut ids = raw.iter().filter(|one| one.from_first == from_first && one.ip_id != 0).map(|one| one.ip_id);
        let first = ids.next();
        ids.any(|id| Some(id) != first) || raw.len() < 8
    });
    let is_identified = |one: &Raw| one.ip_id != 0 && identified[usize::from(!one.from_first)];
    let mut order: Vec<usize> = (0..raw.len()).collect();
    let key = |at: usize| (raw[at].from_first, raw[at].digest, raw[at].segment.len, raw[at].ip_id);
    order.sort_by_key(|&at| (key(at), raw[at].time_ns, at));
    let mut found: Vec<Vec<usize>> = Vec::new();
    for at in order {
        let fits =
            |group: &Vec<usize>| key(group[0]) == key(at) && raw[at].time_ns - raw[group[0]].time_ns <= FURTHEST_NS;
        match found.last_mut() {
            Some(group) if fits(group) => group.push(at),
            _ => found.push(vec![at]),
        }
    }
    let share = |is_of: &dyn Fn(&Raw) -> bool| {
        let (mut alike, mut all) = (0, 0);
        for group in found.iter().filter(|group| is_of(&raw[group[0]])) {
            all += group.len();
            alike += if group.len() > 1 { group.len() } else { 0 };
        }
        (all > 0).then(|| 100 * alike / all)
    };
    let strong = share(&is_identified);
    let all_alike = strong.or_else(|| share(&|one| !is_identified(one))).is_some_and(|share| share >= MOST_ALIKE);
    found.retain(|group| group.len() > 1 && (is_identified(&raw[group[0]]) || all_alike));
    for group in &mut found {
        group.sort_unstable();
    }
    found
}
