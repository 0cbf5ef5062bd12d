//! Connections whose ends are stacks from outside the engine: opening, sending, delivering, notifying applications.

use cwndlab_net::network::Network as _;
use cwndlab_tcp::{Expired, Header, Traced};
use cwndlab_traffic::{Command, Losses, UDP_HEADER_BYTES};
use cwndlab_units::Time;
use rand::RngCore as _;
use serde_json::Value;

use super::conn::{peer, STACK};
use super::connection::Notice;
use super::Simulation;
use crate::budget::RunError;
use crate::packet::Packet;
use crate::probe::{ConnectionRecord, Probe, Way, WindowSample};
use crate::stacks::{Content, Endpoint, Message, Opening, Progress, StackError, Stacks};
use crate::streams::Streams;
use cwndlab_scenario::Scenario;

/// Memory of a connection at both ends, and of a datagram in flight: estimates for the budget.
const CONN_BYTES: u64 = 64 << 10;
const PAYLOAD_BYTES: u64 = 1500;

/// One connection.
struct Pair {
    ends: [Box<dyn Endpoint>; 2],
    /// Datagrams sent, both ends.
    sent: u64,
    /// Payload bytes of the datagrams sent by each end.
    offset: [u64; 2],
    /// When the timer of each end is due, as its stack said after the end's last event.
    due: [Time; 2],
    /// What records of probe timeouts need to know of each end, if contents are recorded.
    probing: [Probing; 2],
}

/// The state of an end that a probe timeout refers to.
#[derive(Clone, Copy, Default)]
struct Probing {
    /// When the end last sent a datagram that asks for an acknowledgment, which sets the timer (RFC 9002, section 6.2.1).
    set_at: Time,
    /// One more than the largest packet number of this end that was acknowledged.
    acked: u64,
}

/// The part of the simulation that belongs to stacks.
#[derive(Default)]
pub(super) struct Outside {
    /// For each traffic entry, the stack that it requests; empty if none does.
    requested: Vec<Option<Value>>,
    /// Names of the traffic entries; empty if none requests a stack.
    names: Vec<String>,
    /// Whether each traffic entry sends messages over its stack; empty if none requests a stack.
    with_messages: Vec<bool>,
    stacks: Option<Box<dyn Stacks>>,
    /// Connections by the slot that they use in the simulation.
    pairs: Vec<Option<Pair>>,
    open: u64,
    pub(super) payloads: Payloads,
    buffer: Vec<u8>,
}

/// Payloads of the datagrams in flight. A packet is a plain value, so it has only the index of its payload.
#[derive(Default)]
pub(super) struct Payloads {
    slots: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// What is recorded of each payload; empty if nothing is.
    contents: Vec<Content>,
}

impl Payloads {
    /// Stores the content of `buffer`, which is empty afterwards. Returns its slot.
    pub(super) fn store(&mut self, buffer: &mut Vec<u8>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Vec::new());
            self.slots.len() as u32 - 1
        });
        std::mem::swap(&mut self.slots[slot as usize], buffer);
        slot
    }

    /// Stores a copy of a payload. Returns its slot.
    pub(super) fn copy(&mut self, slot: u32) -> u32 {
        let mut copy = self.slots[slot as usize].clone();
        let made = self.store(&mut copy);
        if let Some(content) = self.contents.get(slot as usize) {
            self.set_content(made, content.clone());
        }
        made
    }

    pub(super) fn set_content(&mut self, slot: u32, content: Content) {
        if self.contents.len() < self.slots.len() {
            self.contents.resize(self.slots.len(), Content::default());
        }
        self.contents[slot as usize] = content;
    }

    /// What is recorded of a payload; `None` if contents are not recorded.
    pub(super) fn content(&self, slot: u32) -> Option<&Content> {
        self.contents.get(slot as usize)
    }

    /// Frees the slot of a packet that was delivered or dropped.
    pub(super) fn release(&mut self, slot: u32) {
        self.slots[slot as usize].clear();
        self.free.push(slot);
    }
}

impl Outside {
    pub(super) fn new(scenario: &Scenario) -> Outside {
        if scenario.traffic.iter().all(|traffic| traffic.stack.is_none()) {
            return Outside::default();
        }
        let traffic = &scenario.traffic;
        Outside {
            requested: traffic.iter().map(|entry| entry.stack.clone()).collect(),
            names: traffic.iter().map(|entry| entry.name.clone()).collect(),
            with_messages: traffic.iter().map(|t| t.stack.is_some() && t.app.is_unresponsive()).collect(),
            ..Outside::default()
        }
    }

    /// Whether the connections of this traffic entry use a stack from outside the engine.
    pub(super) fn has(&self, app: u32) -> bool {
        self.requested.get(app as usize).is_some_and(Option::is_some)
    }

    /// Whether this traffic entry sends messages over a stack.
    pub(super) fn has_messages(&self, app: u32) -> bool {
        self.with_messages.get(app as usize).is_some_and(|has| *has)
    }

    /// An estimate of the memory that connections and their datagrams take.
    pub(super) fn memory_bytes(&self) -> u64 {
        let payloads = self.payloads.slots.len() - self.payloads.free.len();
        self.open * CONN_BYTES + payloads as u64 * PAYLOAD_BYTES
    }

    fn make(&mut self, app: u32, number: u32, streams: Streams, now: Time) -> Result<Pair, StackError> {
        let name = &self.names[app as usize];
        let (Some(stacks), Some(stack)) = (&mut self.stacks, &self.requested[app as usize]) else {
            return Err(StackError("this engine was built without stacks".into()));
        };
        let seeds = ["client", "server"].map(|end| streams.connection(name, number, end).next_u64());
        let ends = stacks.open(stack, &Opening { now, seeds })?;
        Ok(Pair { ends, sent: 0, offset: [0; 2], due: [Time::MAX; 2], probing: [Probing::default(); 2] })
    }

    fn pair(&mut self, end: u32) -> Option<&mut Pair> {
        self.pairs.get_mut((end >> 1) as usize)?.as_mut()
    }

    fn end(&mut self, end: u32) -> Option<&mut dyn Endpoint> {
        Some(&mut *self.pair(end)?.ends[(end & 1) as usize])
    }

    pub(super) fn ends(&self, slot: u32) -> Option<&[Box<dyn Endpoint>; 2]> {
        Some(&self.pairs.get(slot as usize)?.as_ref()?.ends)
    }
}

impl<P: Probe> Simulation<P> {
    /// Adds stacks from outside the engine.
    #[must_use]
    pub fn with_stacks(mut self, stacks: Box<dyn Stacks>) -> Simulation<P> {
        self.outside.stacks = Some(stacks);
        self
    }

    /// Opens a connection of a stack, and queues its client for polling. Returns `None` if that fails, which ends the run.
    pub(super) fn connect_stack(&mut self, app: u32, number: u32, configs: [u16; 2]) -> Option<u32> {
        match self.outside.make(app, number, self.streams, self.now) {
            Ok(pair) => {
                let slot = self.open(app, number, configs, Some(STACK))?;
                let pairs = &mut self.outside.pairs;
                if pairs.len() <= slot as usize {
                    pairs.resize_with(slot as usize + 1, || None);
                }
                pairs[slot as usize] = Some(pair);
                self.outside.open += 1;
                self.dirty.push_back(slot << 1);
                Some(slot)
            }
            Err(error) => {
                self.fail_stack(app, &error);
                None
            }
        }
    }

    /// Ends the run with an error of a stack.
    fn fail_stack(&mut self, app: u32, error: &StackError) {
        let flow = self.outside.names[app as usize].clone();
        self.break_off(RunError::Stack { flow, at: self.now, why: error.to_string() });
    }

    /// Executes a command to one end, and queues the end for polling, unless it is polled afterwards anyway.
    pub(super) fn change_stack(&mut self, end: u32, command: Command) {
        let now = self.now;
        let Some(endpoint) = self.outside.end(end) else { return };
        match command {
            Command::Write { bytes, .. } => endpoint.write(bytes),
            Command::Close { .. } => endpoint.close(),
            Command::Send { payload, .. } => {
                if let Err(error) = endpoint.send_message(now, payload) {
                    return self.fail_stack(self.conns[(end >> 1) as usize].app, &error);
                }
            }
            Command::NotifyAt { total, .. } => {
                self.conns[(end >> 1) as usize].notify_at[(end & 1) as usize] = total;
            }
            _ => return, // the scenario's check rejects applications that read at a rate
        }
        if end != self.notified {
            self.dirty.push_back(end);
        }
    }

    /// Sends a request on a stream of its own, and queues the client for polling, unless it is polled afterwards anyway.
    pub(super) fn ask_stack(&mut self, end: u32, request: u64, response: u64) {
        let Some(endpoint) = self.outside.end(end) else { return };
        if let Err(error) = endpoint.ask(request, response) {
            return self.fail_stack(self.conns[(end >> 1) as usize].app, &error);
        }
        if end != self.notified {
            self.dirty.push_back(end);
        }
    }

    /// Notifies the application, sends what a stack has to send, and schedules its timer.
    #[inline(never)]
    pub(super) fn pump_stack(&mut self, end: u32) {
        self.notify_all(end, Self::stack_notice);
        let mut payload = std::mem::take(&mut self.outside.buffer);
        while let Some(ecn) = self.outside.end(end).and_then(|endpoint| endpoint.poll_datagram(self.now, &mut payload))
        {
            self.send_payload(end, ecn, &mut payload);
            if self.summary.injected >= self.watch.look_at_packet && !self.look_inside() {
                break;
            }
        }
        self.outside.buffer = payload;
        if P::ENABLED && self.probes.cwnd {
            self.sample_stack(end);
        }
        if let Some(pair) = self.outside.pair(end) {
            let side = (end & 1) as usize;
            pair.due[side] = pair.ends[side].poll_timeout();
        }
        self.arm_stack(end);
    }

    fn send_payload(&mut self, end: u32, ecn: u8, payload: &mut Vec<u8>) {
        let side = (end & 1) as usize;
        let len = payload.len() as u32;
        let is_recorded = self.records_contents();
        let Some(pair) = self.outside.pair(end) else { return };
        // Sequence numbers are as in TCP: the first byte has number 1.
        let seq = (pair.offset[side] as u32).wrapping_add(1);
        pair.offset[side] += u64::from(len);
        pair.sent += 1;
        let conn = &mut self.conns[(end >> 1) as usize];
        conn.in_network += 1;
        let route = conn.routes[side];
        let header = Header { seq, len, wire_bytes: len + UDP_HEADER_BYTES, ecn, ..Header::default() };
        let mut packet = Packet::to_end(peer(end), route);
        *packet.header_mut() = header;
        let content = is_recorded.then(|| pair.ends[side].describe(payload));
        let payload_slot = self.outside.payloads.store(payload);
        packet.set_payload_slot(payload_slot);
        payload.clear();
        if let Some(content) = content {
            self.keep_content(end, payload_slot, content);
        }
        self.summary.injected += 1;
        if self.labels_packets {
            self.label(end, &mut packet, &mut false);
        }
        self.forward(&packet);
    }

    /// Whether the probes record what datagrams contain.
    fn records_contents(&self) -> bool {
        P::ENABLED && (self.observed != u32::MAX || self.probes.states || self.probes.delays)
    }

    #[inline(never)]
    fn keep_content(&mut self, end: u32, payload_slot: u32, content: Content) {
        let now = self.now;
        if let Some(pair) = self.outside.pair(end).filter(|_| content.elicits_ack) {
            pair.probing[(end & 1) as usize].set_at = now;
        }
        self.outside.payloads.set_content(payload_slot, content);
    }

    /// Notes which of an end's packets a datagram acknowledges.
    #[inline(never)]
    fn note_acked(&mut self, packet: &Packet) {
        let Some(content) = self.outside.payloads.content(packet.payload_slot()) else { return };
        let Some(&(_, acked)) = content.acked.first() else { return };
        if let Some(pair) = self.outside.pair(packet.to) {
            let probing = &mut pair.probing[(packet.to & 1) as usize];
            probing.acked = probing.acked.max(acked);
        }
    }

    /// Reports the probe timeouts of an end.
    #[inline(never)]
    fn report_probes(&mut self, end: u32) {
        let now = self.now;
        let way = Way { connection: self.conns[(end >> 1) as usize].serial, from_client: end & 1 == 0 };
        let Some(pair) = self.outside.pair(end) else { return };
        let Probing { set_at, acked } = pair.probing[(end & 1) as usize];
        while let Some(backoffs) = pair.ends[(end & 1) as usize].poll_probe() {
            let expired = Traced::Expired { at: now, timer: Expired::Probe, set_at, backoffs, acked };
            self.probe.traced(way, &expired);
        }
    }

    /// Delivers a datagram to its end.
    pub(super) fn deliver_payload(&mut self, packet: &Packet) {
        let (end, now) = (packet.to, self.now);
        self.summary.delivered += 1;
        self.conns[(end >> 1) as usize].in_network -= 1;
        if self.records_contents() {
            self.note_acked(packet);
        }
        let outside = &mut self.outside;
        let payload = std::mem::take(&mut outside.payloads.slots[packet.payload_slot() as usize]);
        if let Some(endpoint) = outside.end(end) {
            endpoint.handle_datagram(now, packet.ecn_bits(), &payload);
        }
        outside.payloads.slots[packet.payload_slot() as usize] = payload;
        outside.payloads.release(packet.payload_slot());
        if self.conns[(end >> 1) as usize].live {
            self.pump_stack(end);
            self.poll_dirty();
        }
        self.retire(end >> 1);
    }

    /// Handles the timer event of one end. If its deadline is later by now, sets the timer again instead.
    #[inline(never)]
    pub(super) fn on_stack_timer(&mut self, end: u32) {
        let (now, side) = (self.now, (end & 1) as usize);
        let Some(pair) = self.outside.pair(end) else { return };
        if pair.due[side] > now {
            return self.arm_stack(end);
        }
        pair.ends[side].handle_timeout(now);
        if P::ENABLED && self.probes.states {
            self.report_probes(end);
        }
        self.pump_stack(end);
        self.poll_dirty();
        self.retire(end >> 1);
    }

    /// Schedules an end's timer, unless an entry at least as early is pending.
    fn arm_stack(&mut self, end: u32) {
        let Some(pair) = self.outside.pair(end) else { return };
        let deadline = pair.due[(end & 1) as usize].max(self.now);
        if deadline < self.conns[(end >> 1) as usize].armed[(end & 1) as usize] {
            self.arm(end, deadline);
        }
    }

    fn stack_notice(&mut self, end: u32) -> Option<Notice> {
        let (slot, side) = (end >> 1, (end & 1) as usize);
        let ends = self.outside.ends(slot)?;
        let progress = [ends[0].progress(), ends[1].progress()];
        let mine = progress[side];
        let conn = &mut self.conns[slot as usize];
        if !conn.live {
            return None;
        }
        let notified = &mut conn.notified[side];
        if mine.established && !notified.established {
            notified.established = true;
            if side == 0 {
                conn.established = self.now;
            }
            return Some(Notice::Established);
        }
        if mine.received >= conn.notify_at[side] {
            conn.notify_at[side] = u64::MAX;
            return Some(Notice::Delivered(mine.received));
        }
        if let Some(answer) = self.outside.end(end).and_then(Endpoint::poll_answer) {
            return Some(Notice::Answered(answer));
        }
        if let Some(message) = self.outside.end(end).and_then(Endpoint::poll_message) {
            self.report_message(end, &message);
            return Some(Notice::Arrived(message.number));
        }
        let conn = &mut self.conns[slot as usize];
        let notified = &mut conn.notified[side];
        if mine.peer_closed && !notified.peer_closed {
            notified.peer_closed = true;
            return Some(Notice::PeerClosed);
        }
        if is_over(&progress) {
            conn.live = false;
            self.record_connection(slot, self.now);
            self.outside.pairs[slot as usize] = None;
            self.outside.open -= 1;
            return Some(Notice::Finished { failed: progress.iter().any(|one| one.failure.is_some()) });
        }
        None
    }

    fn report_message(&mut self, end: u32, message: &Message) {
        if P::ENABLED && self.probes.delays {
            let way = Way { connection: self.conns[(end >> 1) as usize].serial, from_client: end & 1 == 1 };
            self.probe.delay(self.now, way, self.now - message.sent, message.bytes);
        }
    }

    #[inline(never)]
    fn sample_stack(&mut self, end: u32) {
        let Some(window) = self.outside.end(end).and_then(|endpoint| endpoint.window()) else { return };
        let serial = self.conns[(end >> 1) as usize].serial;
        if !self.is_new_window(end, (serial, window.cwnd_bytes, window.ssthresh_bytes, window.state)) {
            return;
        }
        let sample = WindowSample {
            cwnd_bytes: window.cwnd_bytes,
            ssthresh_bytes: window.ssthresh_bytes,
            srtt: window.srtt,
            in_flight_bytes: window.in_flight_bytes,
            state: window.state,
        };
        self.probe.window(self.now, Way { connection: serial, from_client: end & 1 == 0 }, &sample);
    }

    /// Losses of a stack's connection so far.
    pub(super) fn stack_losses(&self, slot: u32) -> Losses {
        let Some(ends) = self.outside.ends(slot) else { return Losses::default() };
        let [client, server] = [ends[0].counters(), ends[1].counters()];
        Losses { retransmits: client.lost + server.lost, timeouts: client.timeouts + server.timeouts }
    }

    /// Replaces the counters of a record by those of the stack.
    pub(super) fn fill_stack_record(&self, slot: u32, record: &mut ConnectionRecord) {
        let Some(Some(pair)) = self.outside.pairs.get(slot as usize) else { return };
        let [client, server] = [&pair.ends[0], &pair.ends[1]].map(|end| (end.progress(), end.counters()));
        record.bytes_up = server.0.received;
        record.bytes_down = client.0.received;
        record.segments_sent = pair.sent;
        record.retransmits = client.1.lost + server.1.lost;
        record.timeouts = client.1.timeouts + server.1.timeouts;
        record.ecn_reductions = client.1.ecn_reductions + server.1.ecn_reductions;
    }
}

/// Whether a connection is over: both ends have closed it, or one has forgotten it, as after three probe timeouts without
/// an answer to its close.
fn is_over(ends: &[Progress; 2]) -> bool {
    ends.iter().all(|end| end.closed) || ends.iter().any(|end| end.drained)
}
