//! Impairments of a link: losses and duplicates at its entrance, before the queue; extra delays at its exit.

use cwndlab_units::Time;
use rand::Rng as _;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::schedule::{self, Schedule};
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
    /// Entrance: drops each packet with a probability that changes at stated times.
    LossSteps {
        /// When each probability begins; the first is 0, and they rise.
        at_ns: Vec<Time>,
        /// The probabilities.
        p: Vec<f64>,
        /// The steps begin again after this time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
    },
    /// Entrance: a token bucket that starts full and drops the packets for which it has too few tokens.
    Policer {
        /// Bits per second at which tokens come; those of the link's own header are not counted.
        rate_bps: u64,
        /// Bytes that the bucket holds.
        burst_bytes: u64,
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
    /// Exit: an extra delay for each packet from a normal distribution that is cut at both sides (drawn again outside).
    NormalJitter {
        /// Standard deviation before the cut, in nanoseconds.
        sigma_ns: Time,
        /// The cut, in standard deviations from the mean.
        #[serde(default = "three")]
        cut: f64,
        /// Mean; `cut` times `sigma_ns`, the least that lets none be negative, if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_ns: Option<Time>,
        /// Whether a packet waits for those before it; otherwise they may overtake each other, as with netem.
        #[serde(default = "yes")]
        keep_order: bool,
    },
    /// Exit: an extra delay that changes at stated times, looked up as a packet leaves the transmitter.
    DelaySteps {
        /// When each delay begins; the first is 0, and they rise.
        at_ns: Vec<Time>,
        /// The extra delays, in nanoseconds.
        extra_ns: Vec<Time>,
        /// The steps begin again after this time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<Time>,
        /// Whether a packet waits for those before it where the delay falls; otherwise it overtakes them.
        #[serde(default)]
        keep_order: bool,
    },
    /// Exit: packets leave in bursts, as over Wi-Fi. The first of a burst waits for `hold_ns`, and those that come
    /// meanwhile leave with it.
    Aggregate {
        /// How long the first waits, in nanoseconds.
        hold_ns: Time,
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
fn three() -> f64 {
    3.0
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
            ImpairmentConfig::LossSteps { at_ns, p, repeat_ns } => {
                schedule::check(at_ns, p.len(), *repeat_ns)?;
                p.iter().try_for_each(|&p| probability("p", p))
            }
            ImpairmentConfig::DelaySteps { at_ns, extra_ns, repeat_ns, .. } => {
                schedule::check(at_ns, extra_ns.len(), *repeat_ns)
            }
            ImpairmentConfig::Policer { rate_bps, burst_bytes } => {
                if *rate_bps == 0 || *burst_bytes == 0 {
                    return Err("rate and burst must be above 0".to_owned());
                }
                Ok(())
            }
            ImpairmentConfig::NormalJitter { sigma_ns, cut, mean_ns, .. } => {
                // most draws lie within, so that one is found soon
                if !(1.0..=10.0).contains(cut) {
                    return Err(format!("cut is {cut}; it must lie in 1..=10"));
                }
                let least = least_mean(*sigma_ns, *cut);
                if mean_ns.is_some_and(|mean| mean < least) {
                    return Err(format!("with this mean a delay may be negative; it must be at least {least}"));
                }
                Ok(())
            }
            ImpairmentConfig::Jitter { .. } | ImpairmentConfig::Aggregate { .. } => Ok(()),
        }
    }
}

/// The least mean of a normal jitter with which no delay is negative.
fn least_mean(sigma: Time, cut: f64) -> Time {
    Time::from_secs_f64(sigma.as_secs_f64() * cut)
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
    Steps(Schedule<f64>),
    Policer {
        rate_bps: u64,
        /// In bits per second times nanoseconds, as are the tokens.
        full: u128,
        tokens: u128,
        last: Time,
    },
}

#[derive(Clone, Debug)]
enum Exit {
    Nth { nth: Nth, extra: Time },
    Jitter { max: Time, order: Order },
    Reorder { p: f64, extra: Time },
    Normal { mean: f64, sigma: f64, cut: f64, order: Order },
    Steps { extra: Schedule<Time>, order: Order },
    Aggregate { hold: Time, release: Time },
}

/// Whether packets keep their order, and when the last one left.
#[derive(Clone, Debug)]
struct Order {
    kept: bool,
    last: Time,
}

impl Order {
    fn new(kept: bool) -> Order {
        Order { kept, last: Time::ZERO }
    }

    /// When a packet leaves that would do so at a time.
    fn leave(&mut self, at: Time) -> Time {
        if !self.kept {
            return at;
        }
        self.last = self.last.max(at);
        self.last
    }
}

/// Tokens of a byte.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

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
                exit.push(Exit::Jitter { max: *max_ns, order: Order::new(*keep_order) });
            }
            ImpairmentConfig::LossSteps { at_ns, p, repeat_ns } => {
                entry.push(Entry::Steps(Schedule::new(at_ns, p, *repeat_ns)));
            }
            ImpairmentConfig::Policer { rate_bps, burst_bytes } => {
                let full = u128::from(*burst_bytes) * TOKENS_PER_BYTE;
                entry.push(Entry::Policer { rate_bps: *rate_bps, full, tokens: full, last: Time::ZERO });
            }
            ImpairmentConfig::NormalJitter { sigma_ns, cut, mean_ns, keep_order } => exit.push(Exit::Normal {
                mean: mean_ns.unwrap_or(least_mean(*sigma_ns, *cut)).as_secs_f64(),
                sigma: sigma_ns.as_secs_f64(),
                cut: *cut,
                order: Order::new(*keep_order),
            }),
            ImpairmentConfig::DelaySteps { at_ns, extra_ns, repeat_ns, keep_order } => exit.push(Exit::Steps {
                extra: Schedule::new(at_ns, extra_ns, *repeat_ns),
                order: Order::new(*keep_order),
            }),
            ImpairmentConfig::Aggregate { hold_ns } => {
                exit.push(Exit::Aggregate { hold: *hold_ns, release: Time::ZERO });
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
        let last_ordered = self.exit.iter().rposition(Exit::keeps_order);
        let after = last_ordered.map_or(0, |at| at + 1);
        self.exit[after..].iter().any(|exit| !matches!(exit, Exit::Aggregate { .. }))
    }

    /// Decides on a packet at the entrance. The first impairment that drops it ends its way: those after it in the
    /// list neither see nor count it.
    pub fn on_entry<P: Packet>(&mut self, now: Time, packet: &P, rng: &mut Rng) -> Fate {
        let mut fate = Fate::Pass;
        for entry in &mut self.entry {
            match entry.on_packet(now, packet, rng) {
                Fate::Pass => {}
                Fate::Drop => return Fate::Drop,
                Fate::Duplicate => fate = Fate::Duplicate,
            }
        }
        fate
    }

    /// The delay to add for a packet that left the transmitter at `departure` and would reach the link's far end at
    /// `arrival`.
    pub fn extra_delay<P: Packet>(&mut self, departure: Time, arrival: Time, packet: &P, rng: &mut Rng) -> Time {
        let _ = packet;
        let mut extra = Time::ZERO;
        for exit in &mut self.exit {
            extra += exit.on_packet(departure, arrival + extra, rng);
        }
        extra
    }
}

impl Entry {
    fn on_packet<P: Packet>(&mut self, now: Time, packet: &P, rng: &mut Rng) -> Fate {
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
            Entry::Steps(p) => draw(p.at(now).0, rng),
            Entry::Policer { rate_bps, full, tokens, last } => {
                let new = u128::from(*rate_bps) * u128::from((now - *last).as_nanos());
                (*tokens, *last) = ((*tokens + new).min(*full), now);
                let need = u128::from(packet.wire_bytes()) * TOKENS_PER_BYTE;
                let lost = *tokens < need;
                if !lost {
                    *tokens -= need;
                }
                lost
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
    fn keeps_order(&self) -> bool {
        match self {
            Exit::Jitter { order, .. } | Exit::Normal { order, .. } | Exit::Steps { order, .. } => order.kept,
            Exit::Nth { .. } | Exit::Reorder { .. } | Exit::Aggregate { .. } => false,
        }
    }

    fn on_packet(&mut self, departure: Time, arrival: Time, rng: &mut Rng) -> Time {
        match self {
            Exit::Nth { nth, extra } => {
                if nth.hit() {
                    *extra
                } else {
                    Time::ZERO
                }
            }
            Exit::Jitter { max, order } => {
                order.leave(arrival + Time::from_nanos(rng.random_range(0..=max.as_nanos()))) - arrival
            }
            Exit::Normal { mean, sigma, cut, order } => {
                let normal = loop {
                    let z: f64 = StandardNormal.sample(rng);
                    if z.abs() <= *cut {
                        break z;
                    }
                };
                order.leave(arrival + Time::from_secs_f64((*mean + *sigma * normal).max(0.0))) - arrival
            }
            Exit::Steps { extra, order } => order.leave(arrival + extra.at(departure).0) - arrival,
            Exit::Aggregate { hold, release } => {
                if arrival > *release {
                    *release = arrival + *hold;
                }
                *release - arrival
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
