//! COBALT: `CoDel` and BLUE in parallel, in the integers of `net/sched/sch_cake.c`. Times are nanoseconds.

use rand::RngCore as _;

use crate::Rng;

/// `cobalt_params`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub interval: u64,
    pub target: u64,
    /// Time of a packet of the largest size.
    pub mtu_time: u64,
}

/// Steps of BLUE's probability, in 2^-32.
const INCREASE: u32 = 1 << 24;
const DECREASE: u32 = 1 << 20;

/// `inv_sqrt_cache`: 1/√n as a fraction of 2^32, by eight Newton steps.
const INVERSE_ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// `cobalt_vars`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    pub count: u32,
    inverse_root: u32,
    pub drop_next: i64,
    blue_timer: i64,
    pub p_drop: u32,
    dropping: bool,
}

/// What becomes of a packet: `cobalt_should_drop`, and whether it asked for a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Signal {
    pub drop: bool,
    pub mark: bool,
}

impl Cobalt {
    /// `cobalt_invsqrt`, with `cobalt_newton_step`.
    fn update_root(&mut self) {
        if let Some(&root) = INVERSE_ROOTS.get(self.count as usize) {
            self.inverse_root = root;
            return;
        }
        let root = u64::from(self.inverse_root);
        let square = (root * root) >> 32;
        let value = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        self.inverse_root = (value.wrapping_mul(root) >> (32 - 2 + 1)) as u32;
    }

    /// `cobalt_control`, whose `reciprocal_scale` takes the interval as 32 bits.
    fn after(&self, from: i64, interval: u64) -> i64 {
        from + ((u64::from(interval as u32) * u64::from(self.inverse_root)) >> 32) as i64
    }

    /// `cobalt_queue_full`: a packet of this flow was dropped because memory was full.
    pub(super) fn on_full(&mut self, p: &Params, now: i64) {
        if now - self.blue_timer > p.target as i64 {
            self.p_drop = self.p_drop.saturating_add(INCREASE);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// `cobalt_queue_empty`: the flow was asked for a packet and has none.
    pub(super) fn on_empty(&mut self, p: &Params, now: i64) {
        if self.p_drop > 0 && now - self.blue_timer > p.target as i64 {
            self.p_drop = self.p_drop.saturating_sub(DECREASE);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now - self.drop_next >= 0 {
            self.count -= 1;
            self.update_root();
            self.drop_next = self.after(self.drop_next, p.interval);
        }
    }

    /// `cobalt_should_drop`, for a packet that waited for `sojourn`. `markable` is whether it is ECN-capable.
    pub(super) fn decide(
        &mut self,
        p: &Params,
        now: i64,
        sojourn: u64,
        markable: bool,
        bulk_flows: u32,
        rng: &mut Rng,
    ) -> Signal {
        let mut late = now - self.drop_next;
        let over = sojourn > p.target && sojourn > p.mtu_time * u64::from(bulk_flows) * 2 && sojourn > p.mtu_time * 4;
        let mut due = self.count > 0 && late >= 0;
        let mut signal = Signal { drop: false, mark: false };
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, p.interval);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            signal = Signal { drop: !markable, mark: markable };
            self.count = self.count.saturating_add(1);
            self.update_root();
            self.drop_next = self.after(self.drop_next, p.interval);
            late = now - self.drop_next;
        } else {
            while due {
                self.count -= 1;
                self.update_root();
                self.drop_next = self.after(self.drop_next, p.interval);
                late = now - self.drop_next;
                due = self.count > 0 && late >= 0;
            }
        }
        if self.p_drop > 0 {
            signal.drop |= rng.next_u32() < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + p.interval as i64;
        } else if late > 0 && !signal.drop {
            self.drop_next = now;
        }
        signal
    }
}

#[cfg(test)]
mod tests;
