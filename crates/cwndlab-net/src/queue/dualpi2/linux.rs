//! `DualPI2` in the form of Linux's `net/sched/sch_dualpi2.c` (6.17 and later).

use cwndlab_units::Time;
use rand::Rng as _;

use super::{DualPi2, DualPi2Config};
use crate::queue::{Dequeued, Dropped};
use crate::{DropCause, Ecn, Packet};

/// `psched_mtu` of a link without a link-layer header.
const MTU_BYTES: f64 = 1500.0;

/// The decision on a packet that a queue has chosen to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The scheduler's credit while both queues are empty (`dualpi2_calculate_c_protection`). With it, the low-latency
/// queue is served first.
pub(super) fn first_credit(config: &DualPi2Config) -> f64 {
    MTU_BYTES * (config.classic_share - (1.0 - config.classic_share))
}

impl<P> DualPi2<P> {
    /// Resets the credit if both queues are empty. The kernel does so when `dequeue_packet` finds both queues empty. It
    /// calls `dequeue_packet` again after each packet, so the credit is reset before the next arrival.
    pub(super) fn note_arrival_linux(&mut self) {
        if self.packets() == 0 {
            self.owed = first_credit(&self.config);
        }
    }

    /// `dualpi2_roll`: true with the given probability.
    fn roll(&mut self, probability: f64) -> bool {
        self.rng.random::<f64>() < probability
    }

    /// `must_drop`: decides whether a packet that has been taken from its queue passes, is marked or is dropped. The
    /// packet no longer counts in the backlog.
    fn pi_verdict(&mut self, low: bool, ecn: Ecn) -> Verdict {
        if (self.bytes() as f64) < 2.0 * MTU_BYTES {
            return Verdict::Pass; // "Never mark/drop if we have a standing queue of less than 2 MTUs."
        }
        let base = self.base;
        let coupled = self.config.coupling * base;
        let overload = coupled > 1.0;
        if low && !overload {
            return if self.roll(coupled) { Verdict::Mark } else { Verdict::Pass };
        }
        let hit = self.roll(base) && self.roll(base);
        match (hit, low) {
            (true, true) => Verdict::Drop,
            (true, false) if overload || !self.config.ecn || ecn == Ecn::NotEct => Verdict::Drop,
            (true, false) | (false, true) => Verdict::Mark,
            (false, false) => Verdict::Pass,
        }
    }
}

impl<P: Packet> DualPi2<P> {
    /// `__dualpi2_qdisc_dequeue`: the next packet to send.
    pub(super) fn dequeue_linux(&mut self, now: Time, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        loop {
            let low = self.low_is_next();
            let (arrived, mut packet) = if low { self.low.fifo.pop() } else { self.classic.fifo.pop() }?;
            let mut verdict = self.pi_verdict(low, packet.ecn());
            if verdict == Verdict::Drop {
                dropped.push((DropCause::Aqm, packet));
                continue; // a dropped packet is not charged to its queue
            }
            // `do_step_aqm`
            if low && now.saturating_sub(arrived) > self.config.step_ns {
                verdict = Verdict::Mark;
            }
            let (bytes, share) = (f64::from(packet.wire_bytes()), self.config.classic_share);
            if low && self.classic.fifo.len() > 0 {
                self.owed += share * bytes;
            } else if !low && self.low.fifo.len() > 0 {
                self.owed -= (1.0 - share) * bytes;
            }
            let marked = verdict == Verdict::Mark && packet.ecn() != Ecn::Ce;
            if marked {
                packet.mark_ce();
            }
            return Some(Dequeued { packet, marked });
        }
    }
}
