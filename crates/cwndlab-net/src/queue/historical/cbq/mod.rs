//! CBQ, class-based queueing (Floyd and Jacobson, "Link-sharing and Resource Management Models for Packet Networks",
//! IEEE/ACM Transactions on Networking 3(4), 1995): a tree of classes with rates, leaf queues served by priority and
//! weighted round robin, and an estimator for each class that delays the class while it is over its limit.

mod alone;
mod config;
mod estimator;

pub use alone::BoundedClass;
pub use config::{CbqClassConfig, CbqConfig, Sharing};

use cwndlab_units::{Rate, Time};

use crate::queue::fifo::Fifo;
use crate::queue::{Admit, ArrivalQueue, Backlog, Dequeued, Dropped, Queue, Regions};
use crate::{Packet, Rng};
use estimator::Estimator;

/// A link shared by classes.
#[derive(Clone, Debug)]
pub struct Cbq<P> {
    classes: Vec<Class>,
    leaves: Vec<Leaf<P>>,
    /// For each class, its index in `leaves` if it is a leaf.
    leaf_of: Vec<Option<usize>>,
    /// Flow keys, each with the index in `leaves` of its leaf, sorted.
    flows: Vec<(u64, usize)>,
    /// For each traffic ID ([`Packet::traffic`]), the index in `leaves` of the leaf that names the traffic. ID 0 is for
    /// traffic that no class of any queue names.
    traffic: Vec<Option<usize>>,
    default: usize,
    sharing: Sharing,
    /// One round for each priority, in order of priority: the indices in `leaves` of the leaves with this priority, and
    /// the position of the one whose turn it is.
    rounds: Vec<Round>,
    packets: u32,
    bytes: u64,
    /// Leaves with packets waiting.
    waiting: u32,
    /// Whether several leaves share a priority.
    takes_turns: bool,
}

#[derive(Clone, Debug)]
struct Class {
    parent: Option<usize>,
    bounded: bool,
    /// 1 for a leaf, else one more than the level of its highest child (section 2.2).
    level: u32,
    estimator: Estimator,
}

#[derive(Clone, Debug)]
struct Leaf<P> {
    class: usize,
    /// Whether the leaf may use an otherwise idle link: neither its class nor an ancestor is bounded.
    free: bool,
    queue: ArrivalQueue,
    fifo: Fifo<P>,
    /// Bytes that the leaf may send in its turn, of which `allotment` are left.
    weight: i64,
    allotment: i64,
    /// The time at which a link with the class's rate would finish the last packet that was sent.
    in_service_until: Time,
    in_service_bytes: u32,
}

#[derive(Clone, Debug)]
struct Round {
    leaves: Vec<usize>,
    turn: usize,
}

fn estimator_of(class: &CbqClassConfig, link: Rate) -> Estimator {
    let min_idle_s = class.min_idle_ns.map_or(f64::NEG_INFINITY, |idle| -idle.as_secs_f64());
    let bps = |rate: Rate| rate.as_bps() as f64;
    Estimator::new(bps(class.rate_bps), bps(link), class.max_burst, class.max_packet_bytes, min_idle_s)
}

impl<P> Cbq<P> {
    /// A CBQ for a link of `rate`, from a checked configuration.
    ///
    /// # Panics
    /// If the configuration was not checked.
    pub fn new(config: &CbqConfig, rate: Rate) -> Cbq<P> {
        let bps = |rate: Rate| rate.as_bps() as f64;
        let mut classes: Vec<Class> = Vec::new();
        for class in &config.classes {
            let estimator = estimator_of(class, rate);
            classes.push(Class { parent: class.parent, bounded: class.bounded, level: 1, estimator });
        }
        for index in (0..classes.len()).rev() {
            if let Some(parent) = classes[index].parent {
                classes[parent].level = classes[parent].level.max(classes[index].level + 1);
            }
        }
        let is_leaf = |&index: &usize| config.is_leaf(index);
        let slowest =
            (0..classes.len()).filter(is_leaf).map(|i| bps(config.classes[i].rate_bps)).fold(f64::MAX, f64::min);
        let mut cbq = Cbq {
            leaf_of: vec![None; classes.len()],
            leaves: Vec::new(),
            flows: Vec::new(),
            traffic: vec![None; 1 + usize::from(u8::MAX)],
            default: 0,
            sharing: config.sharing,
            rounds: Vec::new(),
            packets: 0,
            bytes: 0,
            waiting: 0,
            takes_turns: false,
            classes,
        };
        for index in (0..cbq.classes.len()).filter(is_leaf) {
            let class = &config.classes[index];
            // The slowest class may send one full packet in its turn, the others in proportion to their rates.
            let weight = f64::from(class.max_packet_bytes.max(1500)) * bps(class.rate_bps) / slowest;
            cbq.add_leaf(index, class, weight as i64);
        }
        cbq.flows.sort_unstable();
        cbq.default = cbq.leaf_of[config.default].expect("QueueConfig::check was called");
        let priority_of = |leaf: &Leaf<P>| config.classes[leaf.class].priority;
        let mut priorities: Vec<u8> = cbq.leaves.iter().map(priority_of).collect();
        priorities.sort_unstable();
        priorities.dedup();
        for priority in priorities {
            let in_round = |&place: &usize| priority_of(&cbq.leaves[place]) == priority;
            let leaves: Vec<usize> = (0..cbq.leaves.len()).filter(in_round).collect();
            cbq.takes_turns |= leaves.len() > 1;
            cbq.rounds.push(Round { leaves, turn: 0 });
        }
        cbq
    }

    fn add_leaf(&mut self, index: usize, class: &CbqClassConfig, weight: i64) {
        let queue = class.queue.as_ref().map(|queue| queue.build::<P>(class.rate_bps, 0));
        let Some(Queue::Arrival(queue)) = queue else { unreachable!("QueueConfig::check was called") };
        let place = self.leaves.len();
        self.leaf_of[index] = Some(place);
        for &number in &class.numbers {
            self.traffic[usize::from(number)] = Some(place);
        }
        self.flows.extend(class.flows.iter().map(|&flow| (flow, place)));
        let mut up = Some(index);
        let mut free = true;
        while let Some(at) = up {
            free &= !self.classes[at].bounded;
            up = self.classes[at].parent;
        }
        self.leaves.push(Leaf {
            class: index,
            free,
            queue,
            fifo: Fifo::default(),
            weight: weight.max(1),
            allotment: 0,
            in_service_until: Time::ZERO,
            in_service_bytes: 0,
        });
    }

    /// Packets waiting in all classes.
    pub fn packets(&self) -> u32 {
        self.packets
    }
    /// Bytes waiting in all classes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Packets waiting in a leaf class, by the class's index in the configuration; 0 for a class with children.
    pub fn class_packets(&self, class: usize) -> u32 {
        self.leaf_of[class].map_or(0, |leaf| self.leaves[leaf].fifo.len())
    }
    /// The average queue length of the first leaf whose queue computes one.
    pub fn average(&self) -> Option<f64> {
        self.leaves.iter().find_map(|leaf| leaf.queue.average())
    }
    /// The time that the average ([`Cbq::average`]) spent below, between and above RED's thresholds, up to `now`.
    pub fn regions(&self, now: Time) -> Option<Regions> {
        self.leaves.iter().find_map(|leaf| leaf.queue.regions(now, leaf.backlog(now).idle_since()))
    }

    /// The time at which a packet may be sent: `now`, or later if no class with waiting packets may send at `now`;
    /// `None` if no packets wait.
    pub fn next_ready(&self, now: Time) -> Option<Time> {
        let mut earliest = None;
        for leaf in self.leaves.iter().filter(|leaf| leaf.fifo.len() > 0) {
            if leaf.free || self.permitted(leaf.class, now) {
                return Some(now);
            }
            if self.classes[leaf.class].bounded {
                let own = self.classes[leaf.class].estimator.undertime;
                earliest = Some(earliest.map_or(own, |other: Time| other.min(own)));
                continue;
            }
            // While nothing is sent, a class has to wait until it, or a class from which it may borrow, comes within
            // its limit.
            let within = self.lenders(leaf.class).map(|at| self.classes[at].estimator.undertime);
            let next = within.filter(|&at| at > now).min();
            earliest = [earliest, next].into_iter().flatten().min();
        }
        earliest
    }

    /// The time at which to call [`Cbq::dequeue`] again after a packet whose service ends at `free_at`.
    ///
    /// If several leaves share a priority, the call must not be delayed until a packet may be sent, because a call that
    /// finds no leaf to serve ends the turns of all leaves.
    #[inline]
    pub fn next_turn(&self, free_at: Time) -> Time {
        if self.takes_turns {
            return free_at;
        }
        self.next_ready(free_at).unwrap_or(free_at)
    }

    /// Leaves with packets waiting.
    pub fn waiting_classes(&self) -> u32 {
        self.waiting
    }

    /// The class itself and the ancestors from which it may borrow.
    fn lenders(&self, class: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(class), |&at| self.classes[at].parent.filter(|_| !self.classes[at].bounded))
    }

    /// Whether a class may send at `now`: it is within its limit, or may borrow from an ancestor that is.
    #[inline]
    fn permitted(&self, class: usize, now: Time) -> bool {
        let own = &self.classes[class];
        own.estimator.undertime <= now || !own.bounded && self.may_borrow(class, now)
    }

    #[inline(never)]
    fn may_borrow(&self, class: usize, now: Time) -> bool {
        let mut at = class;
        loop {
            let candidate = &self.classes[at];
            let within = candidate.estimator.undertime <= now;
            if within && (at == class || self.may_lend(candidate.level, now)) {
                return true;
            }
            match candidate.parent {
                Some(parent) if !candidate.bounded => at = parent,
                _ => return false,
            }
        }
    }

    fn may_lend(&self, level: u32, now: Time) -> bool {
        match self.sharing {
            Sharing::AncestorsOnly => true,
            Sharing::Formal => {
                !(0..self.classes.len()).any(|at| self.classes[at].level < level && self.is_unsatisfied(at, now))
            }
        }
    }

    /// Whether the class is within its limit, and it or a descendant that may borrow from it has packets waiting.
    fn is_unsatisfied(&self, class: usize, now: Time) -> bool {
        self.classes[class].estimator.undertime < now && self.leaves.iter().any(|leaf| self.demands(leaf, class))
    }

    fn demands(&self, leaf: &Leaf<P>, class: usize) -> bool {
        let mut at = leaf.class;
        while leaf.fifo.len() > 0 {
            if at == class {
                return true;
            }
            match self.classes[at].parent {
                Some(parent) if !self.classes[at].bounded => at = parent,
                _ => return false,
            }
        }
        false
    }

    /// The leaf to serve at `now`, chosen by priority and then by turn.
    #[inline]
    fn choose(&mut self, now: Time) -> Option<usize> {
        if let [leaf] = &self.leaves[..] {
            // A single leaf has no turns to wait for.
            let ready = leaf.fifo.len() > 0 && (leaf.free || self.permitted(leaf.class, now));
            return ready.then_some(0);
        }
        self.choose_among(now)
    }

    fn choose_among(&mut self, now: Time) -> Option<usize> {
        for round in 0..self.rounds.len() {
            if let Some(leaf) = self.choose_in(round, now) {
                return Some(leaf);
            }
        }
        // No class is entitled to send: serve a class that may use idle capacity.
        let usable = |leaf: &&usize| self.leaves[**leaf].free && self.leaves[**leaf].fifo.len() > 0;
        let (round, place) = self.rounds.iter().enumerate().find_map(|(at, round)| {
            let (before, after) = round.leaves.split_at(round.turn);
            after.iter().chain(before).find(usable).map(|&leaf| (at, leaf))
        })?;
        let round = &mut self.rounds[round];
        round.turn = (round.turn + 1) % round.leaves.len();
        Some(place)
    }

    fn choose_in(&mut self, round: usize, now: Time) -> Option<usize> {
        let n = self.rounds[round].leaves.len();
        let mut any = false;
        let mut tried = 0;
        loop {
            let turn = self.rounds[round].turn;
            let place = self.rounds[round].leaves[turn];
            let leaf = &self.leaves[place];
            if leaf.fifo.len() > 0 && self.permitted(leaf.class, now) {
                any = true;
                let leaf = &mut self.leaves[place];
                if leaf.allotment > 0 {
                    return Some(place);
                }
                leaf.allotment += leaf.weight; // for its next turn
            } else {
                self.leaves[place].allotment = 0;
            }
            self.rounds[round].turn = (turn + 1) % n;
            tried += 1;
            if tried >= n && !any {
                return None;
            }
        }
    }
}

impl<P: Packet> Cbq<P> {
    /// Accepts, marks or drops a packet that arrives at `now`, as the queue of its class decides. Returns whether it
    /// was marked.
    #[inline]
    pub fn enqueue(&mut self, now: Time, mut packet: P, rng: &mut Rng, dropped: &mut Vec<Dropped<P>>) -> bool {
        let place = self.classify(&packet);
        let leaf = &mut self.leaves[place];
        let bytes = packet.wire_bytes();
        let marked = match leaf.queue.on_arrival(now, leaf.backlog(now), bytes, packet.ecn(), rng) {
            Admit::Enqueue => false,
            Admit::Mark => {
                packet.mark_ce();
                true
            }
            Admit::Drop(cause) => {
                dropped.push((cause, packet));
                return false;
            }
        };
        self.waiting += u32::from(leaf.fifo.len() == 0);
        leaf.fifo.push(now, &packet);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        marked
    }

    /// The next packet to send at `now`.
    #[inline]
    pub fn dequeue(&mut self, now: Time) -> Option<Dequeued<P>> {
        let place = self.choose(now)?;
        let leaf = &mut self.leaves[place];
        let (_, packet) = leaf.fifo.pop()?;
        self.waiting -= u32::from(leaf.fifo.len() == 0);
        let bytes = packet.wire_bytes();
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        leaf.allotment -= i64::from(bytes);
        leaf.in_service_bytes = bytes;
        leaf.in_service_until = now + self.classes[leaf.class].estimator.class_time(bytes);
        let mut up = Some(leaf.class);
        while let Some(at) = up {
            self.classes[at].estimator.on_send(now, bytes);
            up = self.classes[at].parent;
        }
        Some(Dequeued { packet, marked: false })
    }

    /// The leaf of a packet: the one that names its traffic, else the one with its flow, else the default.
    fn classify(&self, packet: &P) -> usize {
        let named = self.traffic[usize::from(packet.traffic())];
        named.unwrap_or_else(|| {
            let found = self.flows.binary_search_by_key(&packet.flow_key(), |&(flow, _)| flow);
            found.map_or(self.default, |at| self.flows[at].1)
        })
    }
}

impl<P> Leaf<P> {
    fn backlog(&self, now: Time) -> Backlog {
        let in_service = if now < self.in_service_until { self.in_service_bytes } else { 0 };
        // Packets that wait after `in_service_until` are delayed by other classes; the class is not idle.
        Backlog {
            packets: self.fifo.len() + u32::from(in_service > 0),
            bytes: self.fifo.bytes + u64::from(in_service),
            in_service_bytes: in_service,
            free_at: self.in_service_until,
        }
    }
}

#[cfg(test)]
mod tests;
