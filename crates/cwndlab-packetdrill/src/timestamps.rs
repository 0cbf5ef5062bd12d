//! Converts between the endpoint's timestamps (microseconds) and those in a script.

use std::collections::BTreeMap;

/// The tick if the script states none: the kernel's, which is 1 ms.
const DEFAULT_TICK_US: u32 = 1_000;

/// The mapping between the two clocks. Both count from the first timestamp that the script names.
#[derive(Clone, Debug)]
pub(crate) struct Timestamps {
    tick_us: u32,
    /// The first timestamp in the script: the script's value and the endpoint's.
    first: Option<(u32, u32)>,
    /// For each number in the script, the endpoint's timestamp to which the script last gave this number.
    named: BTreeMap<u32, u32>,
}

impl Timestamps {
    /// Timestamps with ticks of `tick_us`; 0 for the kernel's tick.
    pub fn with_tick(tick_us: u32) -> Self {
        Timestamps {
            tick_us: if tick_us == 0 { DEFAULT_TICK_US } else { tick_us },
            first: None,
            named: BTreeMap::new(),
        }
    }

    /// Stores the number that the script gives to the endpoint's timestamp `live`.
    pub fn learn(&mut self, script: u32, live: u32) {
        self.first.get_or_insert((script, live));
        self.named.insert(script, live);
    }

    /// The script's number for the endpoint's timestamp `live`, computed from the time since the first timestamp.
    pub fn script(&self, live: u32) -> u32 {
        let Some((script, first)) = self.first else { return live };
        let passed_us = live.wrapping_sub(first) as i32;
        script.wrapping_add_signed((f64::from(passed_us) / f64::from(self.tick_us)).round() as i32)
    }

    /// The endpoint's timestamp with this number in the script; `None` if it was not sent. Returns 0 for 0, which means
    /// that there is no timestamp.
    pub fn live(&self, script: u32) -> Option<u32> {
        if script == 0 {
            return Some(0);
        }
        self.named.get(&script).copied()
    }

    /// Like [`Self::live`], but interpolates a timestamp that was not sent.
    pub fn interpolated(&self, script: u32) -> u32 {
        self.live(script).unwrap_or_else(|| {
            let Some((first, live)) = self.first else { return script };
            live.wrapping_add_signed((script.wrapping_sub(first) as i32).wrapping_mul(self.tick_us as i32))
        })
    }
}

#[cfg(test)]
mod tests;
