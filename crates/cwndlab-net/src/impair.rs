//! Impairments of a link: losses and duplicates at its entrance, before the queue; extra delays at its exit.

mod config;

pub use config::{ImpairmentConfig, ImpairmentError};

use config::least_mean;
use cwndlab_units::Time;
use rand::Rng as _;
use rand_distr::{Distribution as _, Poisson, StandardNormal};

use crate::schedule::Schedule;
use crate::{Packet, Rng};

/// The decision on a packet at a link's entrance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet continues to the queue.
    Pass,
    /// The packet is lost ([`crate::DropCause::Loss`]).
    Drop,
    /// The packet and a copy of it continue to the queue.
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
        /// For each flow key, the stream offset of the flow's last packet; sorted by key. A packet carries only the low
        /// 32 bits of its offset.
        last: Vec<(u64, u64)>,
    },
    Duplicate {
        p: f64,
    },
    Steps(Schedule<f64>),
    Policer {
        rate_bps: u64,
        /// Number of tokens in a full bucket; see [`TOKENS_PER_BYTE`].
        full: u128,
        tokens: u128,
        last: Time,
    },
}

#[derive(Clone, Debug)]
enum Exit {
    Nth {
        nth: Nth,
        extra: Time,
    },
    Jitter {
        max: Time,
        order: Order,
    },
    Reorder {
        p: f64,
        extra: Time,
    },
    Normal {
        mean: f64,
        sigma: f64,
        cut: f64,
        order: Order,
    },
    Wifi(Box<Wifi>),
    Steps {
        extra: Schedule<Time>,
        order: Order,
    },
    /// `left`: how many more packets the burst that leaves at `release` may have.
    Aggregate {
        hold: Time,
        most: u32,
        release: Time,
        left: u32,
    },
}

/// The delays of packets over Wi-Fi: short ones, and with a probability also long ones.
#[derive(Clone, Debug)]
struct Wifi {
    p: Schedule<f64>,
    short: Periods,
    long: Periods,
    order: Order,
}

/// A random number of equal periods, of which more than `whole` end at a random point of the last one.
#[derive(Clone, Debug)]
struct Periods {
    count: Poisson<f64>,
    whole: f64,
    length: Time,
}

impl Periods {
    fn new(mean: f64, whole: f64, length: Time) -> Periods {
        Periods { count: Poisson::new(mean).expect("a mean above 0"), whole, length }
    }

    fn draw(&self, rng: &mut Rng) -> Time {
        let count = self.count.sample(rng);
        let early = if count > self.whole { rng.random::<f64>() } else { 0.0 };
        self.length.mul_f64(count - early)
    }
}

/// Whether packets must keep their order, and the time at which the last one left the link.
#[derive(Clone, Debug)]
struct Order {
    kept: bool,
    last: Time,
}

impl Order {
    fn new(kept: bool) -> Order {
        Order { kept, last: Time::ZERO }
    }

    /// The time at which a packet whose own delay ends at `at` leaves the link. If packets keep their order, it may
    /// have to wait for the packet ahead of it.
    #[inline]
    fn leave(&mut self, at: Time) -> Time {
        if !self.kept {
            return at;
        }
        self.last = self.last.max(at);
        self.last
    }
}

/// Tokens that one byte uses. At 1 bit/s, one token arrives per nanosecond.
const TOKENS_PER_BYTE: u128 = 8_000_000_000;

impl Impairments {
    /// Creates impairments from configurations that have passed [`ImpairmentConfig::check`].
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
            // picoquic/sim_link.c, `picoquictest_sim_link_wifi_jitter`
            ImpairmentConfig::WifiJitter { p, at_ns, repeat_ns, short_ns, long_ns } => {
                exit.push(Exit::Wifi(Box::new(Wifi {
                    p: Schedule::new(at_ns, p, *repeat_ns),
                    short: Periods::new(1.0, 0.0, *short_ns),
                    long: Periods::new(12.0, 1.0, *long_ns),
                    order: Order::new(true),
                })));
            }
            ImpairmentConfig::DelaySteps { at_ns, extra_ns, repeat_ns, keep_order } => exit.push(Exit::Steps {
                extra: Schedule::new(at_ns, extra_ns, *repeat_ns),
                order: Order::new(*keep_order),
            }),
            ImpairmentConfig::Aggregate { hold_ns, burst_packets } => {
                let most = burst_packets.unwrap_or(u32::MAX);
                exit.push(Exit::Aggregate { hold: *hold_ns, most, release: Time::ZERO, left: most });
            }
            ImpairmentConfig::Reorder { p, extra_ns } => exit.push(Exit::Reorder { p: *p, extra: *extra_ns }),
        }
    }

    /// Whether no impairment acts at the entrance, so that [`Impairments::on_entry`] need not be called.
    #[inline]
    pub fn entry_is_clear(&self) -> bool {
        self.entry.is_empty()
    }

    /// Whether packets may leave the link in a different order from the one in which they entered it.
    pub fn may_reorder(&self) -> bool {
        // An impairment that keeps the order also undoes the reordering by the impairments before it in the list.
        let last_ordered = self.exit.iter().rposition(Exit::keeps_order);
        let after = last_ordered.map_or(0, |at| at + 1);
        self.exit[after..].iter().any(|exit| !matches!(exit, Exit::Aggregate { .. }))
    }

    /// Decides on a packet at the entrance. If an impairment drops the packet, the impairments after it in the list do
    /// not count the packet.
    #[inline]
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

    /// When a packet reaches the link's far end that left the transmitter at `departure` and would reach it at `arrival`
    /// without extra delays.
    #[inline]
    pub fn late_arrival(&mut self, departure: Time, arrival: Time, rng: &mut Rng) -> Time {
        if let [Exit::Jitter { max, order }] = &mut self.exit[..] {
            return arrival_with_jitter(*max, order, arrival, rng);
        }
        arrival + self.extra_delay(departure, arrival, rng)
    }

    /// The extra delay of a packet that left the transmitter at `departure` and would otherwise reach the link's far
    /// end at `arrival`.
    #[inline(never)]
    pub fn extra_delay(&mut self, departure: Time, arrival: Time, rng: &mut Rng) -> Time {
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
                // A packet that carries several of the listed bytes counts as a transmission of each.
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
            Exit::Wifi(wifi) => wifi.order.kept,
            Exit::Nth { .. } | Exit::Reorder { .. } | Exit::Aggregate { .. } => false,
        }
    }

    #[inline]
    fn on_packet(&mut self, departure: Time, arrival: Time, rng: &mut Rng) -> Time {
        match self {
            Exit::Nth { nth, extra } => {
                if nth.hit() {
                    *extra
                } else {
                    Time::ZERO
                }
            }
            Exit::Jitter { max, order } => arrival_with_jitter(*max, order, arrival, rng) - arrival,
            Exit::Normal { mean, sigma, cut, order } => {
                let normal = loop {
                    let z: f64 = StandardNormal.sample(rng);
                    if z.abs() <= *cut {
                        break z;
                    }
                };
                order.leave(arrival + Time::from_secs_f64((*mean + *sigma * normal).max(0.0))) - arrival
            }
            Exit::Wifi(wifi) => {
                let mut extra = wifi.short.draw(rng);
                if draw(wifi.p.at(departure).0, rng) {
                    extra += wifi.long.draw(rng);
                }
                wifi.order.leave(arrival + extra) - arrival
            }
            Exit::Steps { extra, order } => order.leave(arrival + extra.at(departure).0) - arrival,
            Exit::Aggregate { hold, most, release, left } => {
                if arrival > *release {
                    (*release, *left) = (arrival + *hold, *most);
                } else if *left == 0 {
                    (*release, *left) = (*release + *hold, *most);
                }
                *left -= 1;
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

/// The end of an extra delay from `arrival` that is uniformly distributed up to `max`, and longer if the packet has to
/// keep its place.
#[inline]
fn arrival_with_jitter(max: Time, order: &mut Order, arrival: Time, rng: &mut Rng) -> Time {
    order.leave(arrival + Time::from_nanos(rng.random_range(0..=max.as_nanos())))
}

/// Among the stream offsets whose low 32 bits are `low`, returns the one nearest to the flow's last offset. Stores it
/// in `last` as the flow's last offset.
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

/// True with probability `p`. Always draws once, so that a change of `p` does not shift later draws from the stream.
#[inline]
fn draw(p: f64, rng: &mut Rng) -> bool {
    rng.random::<f64>() < p
}

/// Counts packets and checks whether each packet's number is in a list.
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
