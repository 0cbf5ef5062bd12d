//! Traces of senders for the probe.

use cwndlab_tcp::{Connection, DeliveredCe, Trace, Traced};
use cwndlab_units::Time;

use super::Simulation;
use crate::probe::{Probe, Way};
use cwndlab_scenario::ProbeSpec;

/// Whether anything about this end is recorded. Windows are, once data has been sent.
#[inline]
pub(super) fn samples_end(probes: &ProbeSpec, end: &Connection) -> bool {
    end.stats().bytes_sent > 0 || probes.accecn || probes.traces_senders()
}

/// Whether the scenario's probes request this kind of trace.
fn asks_for(probes: &ProbeSpec, traced: &Traced) -> bool {
    match traced {
        Traced::Limited { .. } => probes.limits,
        Traced::Was { .. } | Traced::Expired { .. } => probes.states,
    }
}

/// One trace for each end of a live connection, with the connection's serial number; empty if no trace is requested.
#[derive(Default)]
pub(super) struct Traces(Vec<Option<(u32, Trace)>>);

impl Traces {
    /// Begins the traces of a connection that is opened in this slot.
    pub(super) fn begin(&mut self, slot: u32, serial: u32, now: Time) {
        let first = (slot << 1) as usize;
        if self.0.len() < first + 2 {
            self.0.resize(first + 2, None);
        }
        self.0[first..first + 2].fill(Some((serial, Trace::new(now))));
    }
}

impl<P: Probe> Simulation<P> {
    /// Reports to the probe what the scenario's probes request about the sender of an end. Call it when the end has
    /// sent all that it may send now.
    #[inline(never)]
    pub(super) fn sample_sender(&mut self, end: u32) {
        if self.probes.cwnd {
            self.sample_window(end);
        }
        if self.probes.accecn {
            self.sample_accecn(end);
        }
        if self.probes.traces_senders() {
            self.look_at_sender(end);
        }
    }

    fn sample_accecn(&mut self, end: u32) {
        let (conn, side) = (&self.conns[(end >> 1) as usize], (end & 1) as usize);
        let Some(counters) = conn.ends[side].delivered_ce() else { return };
        if self.last_accecn.len() <= end as usize {
            self.last_accecn.resize(end as usize + 1, (u32::MAX, DeliveredCe::default()));
        }
        let (serial, last) = self.last_accecn[end as usize];
        let before = if serial == conn.serial { last } else { DeliveredCe::default() };
        if (DeliveredCe { by_option: before.by_option, ..counters }) == before {
            return;
        }
        self.last_accecn[end as usize] = (conn.serial, counters);
        self.probe.accecn(self.now, Way { connection: conn.serial, from_client: side == 0 }, &counters);
    }

    fn look_at_sender(&mut self, end: u32) {
        let Some((serial, trace)) = &mut self.traces.0[end as usize] else { return };
        let (conn, side) = (&self.conns[(end >> 1) as usize], (end & 1) as usize);
        let cfg = &self.configs[usize::from(conn.configs[side])];
        let way = Way { connection: *serial, from_client: side == 0 };
        let (probes, probe) = (&self.probes, &mut self.probe);
        trace.look(cfg, self.now, &conn.ends[side], |traced| {
            if asks_for(probes, &traced) {
                probe.traced(way, &traced);
            }
        });
    }

    /// Ends the traces of a connection that is over or, at the end of the run, still open.
    pub(super) fn end_traces(&mut self, slot: u32) {
        for end in [slot << 1, slot << 1 | 1] {
            let Some((serial, trace)) = self.traces.0.get_mut(end as usize).and_then(Option::take) else { continue };
            let way = Way { connection: serial, from_client: end & 1 == 0 };
            let (probes, probe) = (&self.probes, &mut self.probe);
            trace.finish(self.now, |traced| {
                if asks_for(probes, &traced) {
                    probe.traced(way, &traced);
                }
            });
        }
    }
}
