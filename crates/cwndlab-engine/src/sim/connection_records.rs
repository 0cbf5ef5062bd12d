//! The record of a connection, and why it failed.

use cwndlab_tcp::{CloseReason, Connection};
use cwndlab_units::Time;

use super::Simulation;
use crate::probe::{ConnectionRecord, Probe};
use crate::reason::Reason;

impl<P: Probe> Simulation<P> {
    pub(super) fn record_connection(&mut self, slot: u32, end: Time) {
        if !P::ENABLED || (!self.probes.connections && self.failure(slot).is_none()) {
            return;
        }
        let record = self.connection_record(slot, end);
        if self.probes.connections {
            self.probe.connection(&record);
        }
        if let Some(reason) = record.failure {
            self.probe.failure(&record, reason);
        }
    }

    /// Why a connection failed, if it did.
    fn failure(&self, slot: u32) -> Option<Reason> {
        match self.outside.ends(slot) {
            Some(ends) => ends.iter().find_map(|end| end.progress().failure),
            None => failure(&self.conns[slot as usize].ends),
        }
    }

    pub(super) fn connection_record(&self, slot: u32, end: Time) -> ConnectionRecord {
        let conn = &self.conns[slot as usize];
        let [client, server] = &conn.ends;
        let sum = |count: fn(&Connection) -> u32| count(client) + count(server);
        let signals = self.signals[slot as usize];
        let flow = self.datagrams.get(conn.datagrams as usize);
        let [bytes_down, bytes_up] = flow.map_or([client.received(), server.received()], |flow| flow.received);
        let segments_sent = flow.map_or(client.stats().segments_sent + server.stats().segments_sent, |flow| flow.sent);
        let mut record = ConnectionRecord {
            connection: conn.serial,
            traffic: conn.app,
            start: conn.start,
            established: conn.established,
            end,
            bytes_up,
            bytes_down,
            segments_sent,
            retransmits: sum(|tcp| tcp.stats().retransmits),
            timeouts: sum(|tcp| tcp.stats().timeouts),
            fast_retransmits: sum(|tcp| tcp.stats().fast_retransmits),
            ecn_reductions: sum(|tcp| tcp.stats().ecn_reductions),
            drops: signals.drops,
            marks: signals.marks,
            failure: self.failure(slot),
        };
        if conn.is_stack() {
            self.fill_stack_record(slot, &mut record);
        }
        record
    }
}

/// Why a connection of TCP failed, if it did. If an end reset it, the reason of that end says more than that of its peer.
pub(super) fn failure(ends: &[Connection; 2]) -> Option<Reason> {
    let mut reasons = ends.iter().filter_map(Connection::error);
    let first = reasons.next()?;
    let reason = if first == CloseReason::Reset { reasons.next().unwrap_or(first) } else { first };
    Some(Reason::new(&reason.to_string()))
}
