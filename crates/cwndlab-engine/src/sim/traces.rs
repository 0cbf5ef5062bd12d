//! What senders go through, followed for the probe.

use cwndlab_tcp::{Trace, Traced};
use cwndlab_units::Time;

use super::Simulation;
use crate::probe::{Probe, Way};
use crate::scenario::ProbeSpec;

impl ProbeSpec {
    /// Whether senders are followed at all.
    pub(super) fn traces_senders(&self) -> bool {
        self.limits || self.states
    }

    /// Whether the probe wants these traces.
    fn asks_for(&self, traced: &Traced) -> bool {
        match traced {
            Traced::Limited { .. } => self.limits,
            Traced::Was { .. } | Traced::Expired { .. } => self.states,
        }
    }
}

/// One trace for each end of a live connection; empty if none is wanted.
#[derive(Default)]
pub(super) struct Traces(Vec<Option<(u32, Trace)>>);

impl Traces {
    /// A connection is opened in this slot.
    pub(super) fn begin(&mut self, slot: u32, serial: u32, now: Time) {
        let first = (slot << 1) as usize;
        if self.0.len() < first + 2 {
            self.0.resize(first + 2, None);
        }
        self.0[first..first + 2].fill(Some((serial, Trace::new(now))));
    }
}

impl<P: Probe> Simulation<P> {
    /// After an end has sent all that it sends.
    #[inline(never)]
    pub(super) fn look_at_sender(&mut self, end: u32) {
        let Some((serial, trace)) = &mut self.traces.0[end as usize] else { return };
        let (conn, side) = (&self.conns[(end >> 1) as usize], (end & 1) as usize);
        let cfg = &self.configs[usize::from(conn.configs[side])];
        let way = Way { connection: *serial, from_client: side == 0 };
        let (probes, probe) = (&self.probes, &mut self.probe);
        trace.look(cfg, self.now, &conn.ends[side], |traced| {
            if probes.asks_for(&traced) {
                probe.traced(way, &traced);
            }
        });
    }

    /// A connection is over, or the run is.
    pub(super) fn end_traces(&mut self, slot: u32) {
        for end in [slot << 1, slot << 1 | 1] {
            let Some((serial, trace)) = self.traces.0.get_mut(end as usize).and_then(Option::take) else { continue };
            let way = Way { connection: serial, from_client: end & 1 == 0 };
            let (probes, probe) = (&self.probes, &mut self.probe);
            trace.finish(self.now, |traced| {
                if probes.asks_for(&traced) {
                    probe.traced(way, &traced);
                }
            });
        }
    }
}
