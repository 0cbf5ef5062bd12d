//! Keeps a run within its budget: checks the budget after every [`EVENTS`] events, and inside an event that sends many
//! packets or opens many connections.

use cwndlab_units::Time;

use super::{Conn, Simulation};
use crate::budget::{Budget, RunError};
use crate::events::EventQueue;
use crate::packet::Packet;
use crate::probe::Probe;

/// Events between two checks: about 10 ms of real time, so that a run stops soon after a request to stop.
const EVENTS: u64 = 1 << 16;
/// Events between two checks if there are window laws from outside the engine, which take longer and may fail.
const EVENTS_WITH_LAWS: u64 = 1 << 10;
/// Packets sent between two checks: one acknowledgment may open a window of millions of segments.
const PACKETS: u64 = 1 << 20;
/// Connections opened between two checks: one page may open thousands.
const CONNECTIONS: usize = 1 << 14;
/// Simulated time counts as stuck after this many events at one instant, plus some for each event source, since all
/// sources may start at the same time.
const STANDSTILL: u64 = 1_000_000;
const STANDSTILL_PER_SOURCE: u64 = 8;
/// Memory of a packet in flight: its slot in a link's ring, and the sender's record of its segment.
const PACKET_BYTES: u64 = (size_of::<Time>() + size_of::<Packet>()) as u64 + 48;

/// The budget, and the state at the last check.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) budget: Budget,
    /// Memory of the applications.
    pub(super) fixed_bytes: u64,
    /// Simulated time at the last check.
    pub(super) last: Time,
    /// Number of events handled since simulated time last advanced.
    pub(super) standing: u64,
    /// The number of packets sent at which the budget is next checked inside an event.
    pub(super) look_at_packet: u64,
    /// Below this number of packets sent, a packet needs neither a label nor a check: 0 if packets are labelled, otherwise
    /// `look_at_packet`.
    pub(super) plain_below: u64,
    /// The first error found inside an event.
    broken: Option<RunError>,
}

impl<P: Probe> Simulation<P> {
    /// Handles all events up to and including `until`, within the budget and while `go_on`, which gets the simulated time,
    /// returns true.
    pub(super) fn run_watched(&mut self, until: Time, go_on: &mut dyn FnMut(Time) -> bool) -> Result<(), RunError> {
        let most = if self.laws.is_some() { EVENTS_WITH_LAWS } else { EVENTS };
        loop {
            if !go_on(self.now) {
                return Err(RunError::Stopped { at: self.now, duration: self.duration });
            }
            let left = self.watch.budget.events.saturating_sub(self.summary.events);
            let handled = self.handle_events(until, most.min(left));
            self.summary.events += handled;
            self.look_at_laws();
            if let Some(error) = self.watch.broken.take() {
                return Err(error);
            }
            if handled < most && (handled < left || self.handle_events(until, 1) == 0) {
                self.now = until;
                return Ok(());
            }
            if handled == left {
                let budget = self.watch.budget.events;
                return Err(RunError::Events { budget, at: self.now, duration: self.duration });
            }
            self.look(handled)?;
        }
    }

    fn look_at_laws(&mut self) {
        let Some(failed) = self.laws.as_ref().and_then(|book| book.failures.first()) else { return };
        let (flow, at, why) = (failed.flow.clone(), failed.at, failed.error.to_string());
        self.watch.broken.get_or_insert(RunError::Law { flow, at, why });
    }

    pub(super) fn look(&mut self, handled: u64) -> Result<(), RunError> {
        let sources = u64::from(self.end_source(2 * self.conns.len() as u32));
        let watch = &mut self.watch;
        watch.standing = if watch.last == self.now { watch.standing + handled } else { 0 };
        watch.last = self.now;
        if watch.standing >= STANDSTILL + STANDSTILL_PER_SOURCE * sources {
            return Err(RunError::Standstill { at: self.now, events: watch.standing });
        }
        self.check_memory()
    }

    /// Checks the budget while an event is being handled. Returns false if the run is to end after this event.
    #[cold]
    #[inline(never)]
    pub(super) fn look_inside(&mut self) -> bool {
        if let Err(error) = self.check_memory() {
            self.break_off(error);
        }
        if self.watch.broken.is_none() {
            self.watch.look_at_packet = self.summary.injected + PACKETS;
            self.watch.plain_below = if self.labels_packets { 0 } else { self.watch.look_at_packet };
        }
        self.watch.broken.is_none()
    }

    /// Whether there is room for one more connection. If not, the run ends after this event.
    #[cold]
    pub(super) fn has_room(&mut self) -> bool {
        let open = self.conns.len();
        if self.end_source((open as u32) << 1 | 1) >= crate::MAX_SOURCES {
            self.break_off(RunError::Connections { at: self.now, connections: open as u64 + 1 });
        } else if open % CONNECTIONS == CONNECTIONS - 1 {
            self.look_inside();
        }
        self.watch.broken.is_none()
    }

    /// Discards all scheduled events, so that the run ends after this one. Until then, each endpoint that still has to
    /// be polled sends at most one packet.
    pub(super) fn break_off(&mut self, error: RunError) {
        self.watch.broken.get_or_insert(error);
        (self.watch.look_at_packet, self.watch.plain_below) = (0, 0);
        let left = self.events.left();
        self.events = EventQueue::new(self.wires.len() as u32);
        self.events.allow(left);
    }

    pub(super) fn check_memory(&self) -> Result<(), RunError> {
        let packets = self.summary.injected - self.summary.delivered - self.summary.dropped;
        let connections = self.conns.len() as u64;
        let bytes = packets * PACKET_BYTES
            + connections * size_of::<Conn>() as u64
            + self.watch.fixed_bytes
            + self.outside.memory_bytes()
            + self.probe.held_bytes();
        if bytes <= self.watch.budget.memory_bytes {
            return Ok(());
        }
        let budget_bytes = self.watch.budget.memory_bytes;
        Err(RunError::Memory { budget_bytes, at: self.now, duration: self.duration, connections, packets })
    }
}
