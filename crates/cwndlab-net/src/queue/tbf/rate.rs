//! Rates as Linux's queues compute with them.

use cwndlab_units::Rate;

use crate::queue::config::within;
use crate::queue::QueueError;

const NS_PER_S: u64 = 1_000_000_000;

/// A rate as a multiplication and a shift (`psched_ratecfg_precompute` of `net/sched/sch_generic.c`).
#[derive(Clone, Copy, Debug)]
pub(super) struct LinuxRate {
    mult: u64,
    shift: u32,
}

impl LinuxRate {
    /// Linux counts whole bytes per second.
    pub(super) fn check(name: &'static str, rate: Rate) -> Result<(), QueueError> {
        within(name, rate.as_bps() as f64, 8.0..=400e9)
    }

    pub(super) fn new(rate: Rate) -> LinuxRate {
        let bytes_per_s = (rate.as_bps() / 8).max(1);
        let (mut factor, mut shift) = (NS_PER_S, 0);
        loop {
            let mult = factor / bytes_per_s;
            if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
                return LinuxRate { mult, shift };
            }
            (factor, shift) = (factor << 1, shift + 1);
        }
    }

    /// Nanoseconds that `bytes` take (`psched_l2t_ns`).
    pub(super) fn time_ns(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * self.mult) >> self.shift) as i64
    }
}
