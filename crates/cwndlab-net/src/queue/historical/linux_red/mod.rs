//! RED of Linux 2.2 and 2.3, from `net/sched/sch_red.c`. Where no function is named, the rule is in `red_enqueue`.
//!
//! This RED counts bytes and stores the average as a fixed-point number. The weight and the slope of the probability
//! are powers of two, and the decay during an idle time comes from a table.

mod config;

pub use config::{LinuxRedConfig, LinuxRedVersion};

use cwndlab_units::Time;
use rand::Rng as _;

use crate::queue::red::{signal, Regions};
use crate::queue::{Admit, Backlog};
use crate::{DropCause, Ecn, Rng};

/// A jiffy on i386, the resolution of the scheduler's clock (`PSCHED_JIFFIES`, the default of 2.2.5's
/// `include/net/pkt_sched.h`).
const JIFFY: Time = Time::from_millis(10);
/// Ticks of that clock in a jiffy (`PSCHED_JSCALE` is 13).
const TICKS_PER_JIFFY: u64 = 1 << 13;
const TICKS_PER_S: u64 = 100 * TICKS_PER_JIFFY;

/// RED of Linux 2.2 and 2.3. The link's ring stores the packets.
#[derive(Clone, Debug)]
pub struct LinuxRed {
    config: LinuxRedConfig,
    /// The weight is 2^-`weight_log`. `average`, `min_th` and `max_th` have `weight_log` fractional bits.
    weight_log: u32,
    average: u64,
    min_th: u64,
    max_th: u64,
    /// Random numbers are drawn from 0 up to this value.
    random_mask: u64,
    /// Packets since the last signal (drop or mark), or since the average entered the region between the thresholds.
    /// `None` while the average is outside this region.
    count: Option<u64>,
    /// A random number, drawn with each signal. The next signal is due once `count` times the average's distance from
    /// `min_th` reaches this number.
    random: u64,
    /// Time of the last drop. A drop on an idle link decays the average for the idle time until then, so the next
    /// decay begins here.
    idle_from: Time,
    idle_table: [u8; 256],
    cell_log: u32,
    last_arrival: Time,
    regions: Regions,
}

impl LinuxRed {
    /// The queue of a checked configuration.
    ///
    /// # Panics
    /// If the configuration was not checked.
    pub fn new(config: LinuxRedConfig) -> LinuxRed {
        let weight_log = config.weight_log().expect("QueueConfig::check was called");
        let (idle_table, cell_log) = config.idle_table(weight_log);
        LinuxRed {
            weight_log,
            average: 0,
            min_th: u64::from(config.min_th) << weight_log,
            max_th: u64::from(config.max_th) << weight_log,
            random_mask: (1 << config.probability_log()) - 1,
            count: None,
            random: 0,
            idle_from: Time::ZERO,
            idle_table,
            cell_log,
            last_arrival: Time::ZERO,
            regions: Regions::default(),
            config,
        }
    }

    /// The average queue length in bytes, as of the last arrival.
    pub fn average(&self) -> f64 {
        self.average as f64 * cwndlab_units::power(0.5, self.weight_log)
    }

    /// The time that the average spent in each region, up to `now`. The average counts as constant between arrivals,
    /// because the kernel computes the decay of an idle time only when the next packet arrives.
    pub fn regions(&self, now: Time) -> Regions {
        let mut regions = self.regions;
        *regions.holding(self.average, self.min_th, self.max_th) += now.saturating_sub(self.last_arrival);
        regions
    }

    /// Decides on a packet that arrives at `now` and finds `backlog`.
    pub fn on_arrival(&mut self, now: Time, backlog: Backlog, ecn: Ecn, rng: &mut Rng) -> Admit {
        self.regions = self.regions(now);
        self.last_arrival = now;
        // `red_dequeue` starts the idle time when it is called with an empty queue, so there is no idle time before the
        // first packet is sent.
        match backlog.idle_since().filter(|&since| since > Time::ZERO) {
            Some(since) => self.decay(now, since.max(self.idle_from)),
            None => self.average = self.average - (self.average >> self.weight_log) + backlog.waiting_bytes(),
        }
        let admit = self.decide(&backlog, ecn, rng);
        if matches!(admit, Admit::Drop(_)) {
            self.idle_from = now;
        }
        admit
    }

    fn decay(&mut self, now: Time, since: Time) {
        let jiffies = |at: Time| at.as_nanos() / JIFFY.as_nanos();
        let longest = 255 << self.cell_log;
        let ticks = ((jiffies(now) - jiffies(since)) * TICKS_PER_JIFFY).min(longest);
        let bits = self.idle_table[(ticks >> self.cell_log) as usize];
        let less = self.average.saturating_mul(ticks) >> self.cell_log;
        if bits > 0 || self.config.version == LinuxRedVersion::V2_2_5 {
            self.average >>= bits;
        } else if less < self.average / 2 {
            self.average -= less;
        } else {
            self.average /= 2;
        }
    }

    fn decide(&mut self, backlog: &Backlog, ecn: Ecn, rng: &mut Rng) -> Admit {
        let can_mark = self.config.ecn && ecn != Ecn::NotEct;
        if self.average < self.min_th {
            self.count = None;
        } else if self.average >= self.max_th {
            self.count = None;
            return self.enqueue(backlog, signal(can_mark && !self.config.hard_drop, ecn));
        } else if self.is_due(rng) {
            return self.enqueue(backlog, signal(can_mark, ecn));
        }
        self.enqueue(backlog, Admit::Enqueue)
    }

    /// Whether this packet gets a signal (drop or mark). At a constant average, signals are 1 to 1/p packets apart.
    fn is_due(&mut self, rng: &mut Rng) -> bool {
        let count = self.count.map_or(0, |count| count + 1);
        let above = (self.average - self.min_th) >> self.weight_log;
        let due = count > 0 && above * count >= self.random;
        if due || count == 0 {
            self.random = rng.random::<u64>() & self.random_mask;
        }
        self.count = Some(if due { 0 } else { count });
        due
    }

    /// Returns `admit`, or a drop if more bytes than the limit are waiting.
    fn enqueue(&self, backlog: &Backlog, admit: Admit) -> Admit {
        match admit {
            Admit::Enqueue | Admit::Mark if backlog.waiting_bytes() > self.config.limit => Admit::Drop(DropCause::Full),
            admit => admit,
        }
    }
}

#[cfg(test)]
mod tests;
