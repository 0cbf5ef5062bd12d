//! Impairments of a link: losses and duplicates at its entrance, before the queue; extra delays at its exit.

use cwndlab_units::Time;
use rand::Rng as _;
use serde::{Deserialize, Serialize};

use crate::{Packet, Rng};

/// One impairment as a scenario states it. A link has a list of them; those of one end act in the list's order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ImpairmentConfig {
    /// Entrance: drops each packet with probability `p`, independently.
    Bernoulli {
        /// Probability of loss.
        p: f64,
    },
    /// Entrance: a two-state Markov chain (Gilbert 1960, Elliott 1963) that starts in the good state. Each packet is
    /// lost with its state's probability, and then the state may change.
    GilbertElliott {
        /// Probability a packet of good to bad.
        p_good_bad: f64,
        /// Probability a packet of bad to good; the mean burst is its reciprocal.
        p_bad_good: f64,
        /// Loss probability in the good state; 0 in Gilbert's model.
        #[serde(default)]
        loss_good: f64,
        /// Loss probability in the bad state.
        #[serde(default = "one")]
        loss_bad: f64,
    },
    /// Entrance: drops the packets with these numbers, counted from 1 as they arrive at the link.
    DropNth {
        /// Numbers, in rising order.
        packets: Vec<u64>,
    },
    /// Entrance: periodic loss, the packets number `first`, `first + every`, …
    DropEvery {
        /// Period in packets.
        every: u64,
        /// The first that is dropped, counted from 1; `every` if left out.
        #[serde(default)]
        first: Option<u64>,
    },
    /// Entrance: drops the packets that carry these payload bytes.
    DropSeq {
        /// Stream offsets of payload bytes, 0 being the first; each names the packet that holds it.
        offsets: Vec<u64>,
        /// How many transmissions of each are dropped; 2 loses the first retransmission as well.
        #[serde(default = "once")]
        occurrences: u32,
    },
    /// Entrance: sends a copy after the packet, with probability `p`.
    Duplicate {
        /// Probability of a copy.
        p: f64,
    },
    /// Exit: delays the packets with these numbers, counted from 1 as they leave the queue.
    DelayNth {
        /// Numbers, in rising order.
        packets: Vec<u64>,
        /// The extra delay, in nanoseconds.
        extra_ns: Time,
    },
    /// Exit: an extra delay for each packet, uniform on 0 to `max_ns`.
    Jitter {
        /// Longest extra delay, in nanoseconds.
        max_ns: Time,
        /// Whether a packet waits for those before it; otherwise they may overtake each other.
        #[serde(default = "yes")]
        keep_order: bool,
    },
    /// Exit: delays a packet with probability `p`, so that later ones overtake it.
    Reorder {
        /// Probability of the delay.
        p: f64,
        /// The extra delay, in nanoseconds.
        extra_ns: Time,
    },
}

fn one() -> f64 {
    1.0
}
fn once() -> u32 {
    1
}
fn yes() -> bool {
    true
}

impl ImpairmentConfig {
    /// Whether the parameters make sense; the error names the parameter and what would be right.
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn check(&self) -> Result<(), String> {
        match self {
            ImpairmentConfig::Bernoulli { p }
            | ImpairmentConfig::Duplicate { p }
            | ImpairmentConfig::Reorder { p, .. } => probability("p", *p),
            ImpairmentConfig::GilbertElliott { p_good_bad, p_bad_good, loss_good, loss_bad } => {
                probability("p_good_bad", *p_good_bad)?;
                probability("p_bad_good", *p_bad_good)?;
                probability("loss_good", *loss_good)?;
                probability("loss_bad", *loss_bad)
            }
            ImpairmentConfig::DropNth { packets } | ImpairmentConfig::DelayNth { packets, .. } => {
                if packets.first() == Some(&0) || packets.windows(2).any(|pair| pair[0] >= pair[1]) {
                    return Err("packets must be numbers from 1 in rising order".to_owned());
                }
                Ok(())
            }
            ImpairmentConfig::DropEvery { every, first } => {
                if *every == 0 || *first == Some(0) {
                    return Err("every and first must be at least 1".to_owned());
                }
                Ok(())
            }
            ImpairmentConfig::DropSeq { occurrences, .. } => {
                if *occurrences == 0 {
                    return Err("occurrences is 0; it must be at least 1".to_owned());
                }
                Ok(())
            }
            ImpairmentConfig::Jitter { .. } => Ok(()),
        }
    }
}

fn probability(name: &str, p: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(format!("{name} is {p}; a probability lies in 0..=1"))
}

/// What becomes of a packet at a link's entrance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It goes on to the queue.
    Pass,
    /// It is lost ([`crate::DropCause::Loss`]).
    Drop,
    /// It and a copy go on to the queue.
    Duplicate,
}

/// The impairments of one link, with their state.
#[derive(Clone, Debug, Default)]
pub struct Impairments {
    entry: Vec<Entry>,
    exit: Vec<Exit>,
}

#[derive(Clone, Debug)]
enum Entry {
    Bernoulli {
        p: f64,
    },
    GilbertElliott {
        leave: [f64; 2],
        loss: [f64; 2],
        bad: bool,
    },
    Nth(Nth),
    Every {
        every: u64,
        left: u64,
    },
    Seq {
        left: Vec<(u64, u32)>,
        /// Where each flow's payload was last, in order of the flows: a packet tells 32 bits of it.
        last: Vec<(u64, u64)>,
    },
    Duplicate {
        p: f64,
    },
}

#[derive(Clone, Debug)]
enum Exit {
    Nth { nth: Nth, extra: Time },
    Jitter { max: Time, keep_order: bool, last: Time },
    Reorder { p: f64, extra: Time },
}

impl Impairments {
    /// From checked configurations.
    pub fn new(configs: &[ImpairmentConfig]) -> Impairments {
        let mut impairments = Impairments::default();
        for config in configs {
            impairments.add(config);
        }
        impairments
    }

    fn add(&mut self, config: &ImpairmentConfig) {
        let (entry, exit) = (&mut self.entry, &mut self.exit);
        match config {
            ImpairmentConfig::Bernoulli { p } => entry.push(Entry::Bernoulli { p: *p }),
            ImpairmentConfig::GilbertElliott { p_good_bad, p_bad_good, loss_good, loss_bad } => {
                entry.push(Entry::GilbertElliott {
                    leave: [*p_good_bad, *p_bad_good],
                    loss: [*loss_good, *loss_bad],
                    bad: false,
                });
            }
            ImpairmentConfig::DropNth { packets } => entry.push(Entry::Nth(Nth::new(packets))),
            ImpairmentConfig::DropEvery { every, first } => {
                entry.push(Entry::Every { every: *every, left: first.unwrap_or(*every) });
            }
            ImpairmentConfig::DropSeq { offsets, occurrences } => {
                let left = offsets.iter().map(|&offset| (offset, *occurrences)).collect();
                entry.push(Entry::Seq { left, last: Vec::new() });
            }
            ImpairmentConfig::Duplicate { p } => entry.push(Entry::Duplicate { p: *p }),
            ImpairmentConfig::DelayNth { packets, extra_ns } => {
                exit.push(Exit::Nth { nth: Nth::new(packets), extra: *extra_ns });
            }
            ImpairmentConfig::Jitter { max_ns, keep_order } => {
                exit.push(Exit::Jitter { max: *max_ns, keep_order: *keep_order, last: Time::ZERO });
            }
            ImpairmentConfig::Reorder { p, extra_ns } => exit.push(Exit::Reorder { p: *p, extra: *extra_ns }),
        }
    }

    /// Whether nothing acts at the entrance, so that [`Impairments::on_entry`] need not be asked.
    #[inline]
    pub fn entry_is_clear(&self) -> bool {
        self.entry.is_empty()
    }

    /// Whether nothing acts at the exit, so that [`Impairments::extra_delay`] need not be asked.
    #[inline]
    pub fn exit_is_clear(&self) -> bool {
        self.exit.is_empty()
    }

    /// Whether packets may leave the link in another order than that in which they entered it.
    pub fn may_reorder(&self) -> bool {
        // A jitter that keeps the order undoes the disorder of those before it in the list.
        let last_ordered = self.exit.iter().rposition(|e| matches!(e, Exit::Jitter { keep_order: true, .. }));
        self.exit.len() > last_ordered.map_or(0, |at| at + 1)
    }

    /// Decides on a packet at the entrance. The first impairment that drops it ends its way: those after it in the
    /// list neither see nor count it.
    pub fn on_entry<P: Packet>(&mut self, packet: &P, rng: &mut Rng) -> Fate {
        let mut fate = Fate::Pass;
        for entry in &mut self.entry {
            match entry.on_packet(packet, rng) {
                Fate::Pass => {}
                Fate::Drop => return Fate::Drop,
                Fate::Duplicate => fate = Fate::Duplicate,
            }
        }
        fate
    }

    /// The delay to add for a packet that would reach the link's far end at `arrival` (service and propagation done).
    pub fn extra_delay<P: Packet>(&mut self, arrival: Time, packet: &P, rng: &mut Rng) -> Time {
        let _ = packet;
        let mut extra = Time::ZERO;
        for exit in &mut self.exit {
            extra += exit.on_packet(arrival + extra, rng);
        }
        extra
    }
}

impl Entry {
    fn on_packet<P: Packet>(&mut self, packet: &P, rng: &mut Rng) -> Fate {
        let lost = match self {
            Entry::Bernoulli { p } => draw(*p, rng),
            Entry::GilbertElliott { leave, loss, bad } => {
                let state = usize::from(*bad);
                let lost = draw(loss[state], rng);
                *bad ^= draw(leave[state], rng);
                lost
            }
            Entry::Nth(nth) => nth.hit(),
            Entry::Every { every, left } => {
                *left -= 1;
                let hit = *left == 0;
                if hit {
                    *left = *every;
                }
                hit
            }
            Entry::Seq { left, last } => {
                let (low, len) = packet.payload();
                if len == 0 {
                    return Fate::Pass;
                }
                let start = unwrapped(last, packet.flow_key(), low);
                let mut hit = false;
                // A packet that carries several of the bytes counts as an occurrence of each.
                for (offset, left) in left.iter_mut() {
                    if *left > 0 && (start..start + u64::from(len)).contains(offset) {
                        *left -= 1;
                        hit = true;
                    }
                }
                hit
            }
            Entry::Duplicate { p } => return if draw(*p, rng) { Fate::Duplicate } else { Fate::Pass },
        };
        if lost {
            Fate::Drop
        } else {
            Fate::Pass
        }
    }
}

impl Exit {
    fn on_packet(&mut self, arrival: Time, rng: &mut Rng) -> Time {
        match self {
            Exit::Nth { nth, extra } => {
                if nth.hit() {
                    *extra
                } else {
                    Time::ZERO
                }
            }
            Exit::Jitter { max, keep_order, last } => {
                let mut at = arrival + Time::from_nanos(rng.random_range(0..=max.as_nanos()));
                if *keep_order {
                    at = at.max(*last);
                    *last = at;
                }
                at - arrival
            }
            Exit::Reorder { p, extra } => {
                if draw(*p, rng) {
                    *extra
                } else {
                    Time::ZERO
                }
            }
        }
    }
}

/// The stream offset nearest to the flow's last one that has these low 32 bits; the flow is there now.
fn unwrapped(last: &mut Vec<(u64, u64)>, flow: u64, low: u32) -> u64 {
    let at = match last.binary_search_by_key(&flow, |&(flow, _)| flow) {
        Ok(at) => at,
        Err(at) => {
            last.insert(at, (flow, 0));
            at
        }
    };
    let offset = &mut last[at].1;
    *offset = offset.saturating_add_signed(i64::from(low.wrapping_sub(*offset as u32) as i32));
    *offset
}

/// True with probability `p`. Always draws once, so that changing `p` shifts no later draw of the stream.
#[inline]
fn draw(p: f64, rng: &mut Rng) -> bool {
    rng.random::<f64>() < p
}

/// Counts packets and says which are in a list.
#[derive(Clone, Debug)]
struct Nth {
    numbers: Vec<u64>,
    next: usize,
    seen: u64,
}

impl Nth {
    fn new(numbers: &[u64]) -> Nth {
        Nth { numbers: numbers.to_vec(), next: 0, seen: 0 }
    }
    fn hit(&mut self) -> bool {
        self.seen += 1;
        let hit = self.numbers.get(self.next) == Some(&self.seen);
        self.next += usize::from(hit);
        hit
    }
}

#[cfg(test)]
mod tests;
