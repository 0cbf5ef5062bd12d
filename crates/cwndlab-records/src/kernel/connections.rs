//! Reads a trace in one pass: its connections, how they ended, and the segments at the observed hosts.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::net::{IpAddr, SocketAddr};

use cwndlab_engine::{ConnectionRecord, Scenario, Way};
use cwndlab_tcp::Flags;
use cwndlab_units::Time;

use super::connection::{Again, Connection, Delivery, Half};
use super::trace::{packets, Line, Packet};
use super::{Choices, KernelError, Observed, Testbed};
use crate::cell::OneOf;
use crate::lifetime::{opens, Lifetime};
use crate::sequence::{self, offset, unwrap, Numbers, Passage};
use crate::tables::SegmentRow;
use crate::trace::FIRST_SERVER_PORT;

/// Two ends, and whether the connection between them is a datagram flow: TCP and UDP may use the same ports.
type Ends = (SocketAddr, SocketAddr, bool);

/// A trace being read.
pub(super) struct Reader<'a> {
    scenario: &'a Scenario,
    choices: &'a Choices,
    node_of: BTreeMap<IpAddr, u32>,
    /// The traffic entries of the programs' addresses.
    program_of: BTreeMap<IpAddr, u32>,
    /// When the workload started, on the router's clock.
    start: i64,
    first_data: Option<u64>,
    pub connections: Vec<Connection>,
    /// The latest connection between two ends, found by either order of the ends.
    current: BTreeMap<Ends, usize>,
    /// Segments, with times on the router's clock.
    pub segments: Vec<SegmentRow>,
    /// Packets that arrived, if the study records delays.
    pub delivered: Vec<Delivery>,
    /// For each packet number, the time at which the packet entered the router and, for a datagram, its position in its
    /// flow.
    entered: Vec<(u64, u64)>,
    /// The counters of the connections that were open at each of the past snapshots.
    pub snapshots: Vec<(Time, ConnectionRecord)>,
    taken: usize,
}

impl<'a> Reader<'a> {
    pub fn new(scenario: &'a Scenario, testbed: &Testbed, choices: &'a Choices) -> Reader<'a> {
        let hosts = testbed.ports.iter().flat_map(|(node, all)| all.iter().map(|&address| (address, *node)));
        Reader {
            scenario,
            choices,
            node_of: hosts.collect(),
            program_of: testbed.programs.iter().copied().collect(),
            start: testbed.zero_ns - testbed.router_start_ns,
            first_data: None,
            connections: Vec::new(),
            current: BTreeMap::new(),
            segments: Vec::new(),
            delivered: Vec::new(),
            entered: Vec::new(),
            snapshots: Vec::new(),
            taken: 0,
        }
    }

    pub fn read(&mut self, file: impl BufRead) -> Result<(), KernelError> {
        packets(file, |line, at, packet| {
            self.snapshots_before(Some(at as i64 - self.zero()));
            packet.map_or(Ok(()), |packet| self.packet(line, &packet))
        })?;
        self.snapshots_before(None);
        Ok(())
    }

    /// Time 0 of the tables on the router's clock.
    pub fn zero(&self) -> i64 {
        self.first_data.filter(|_| self.choices.from_first_data).map_or(self.start, |at| at as i64)
    }

    /// The latest connection in which `sender` sends to `receiver`.
    pub fn latest(&self, sender: SocketAddr, receiver: SocketAddr) -> Option<Way> {
        let index = *self.current.get(&(sender, receiver, false))?;
        Some(Way { connection: index as u32, from_client: self.connections[index].client_end == sender })
    }

    /// Takes the snapshots up to `now`, which counts from time 0, or all remaining snapshots if `now` is `None`.
    fn snapshots_before(&mut self, now: Option<i64>) {
        while let Some(&at) = self.choices.snapshots.get(self.taken) {
            if now.is_some_and(|now| now < at.as_nanos() as i64) {
                return;
            }
            let open = self.connections.iter().filter(|connection| connection.end.is_none());
            self.snapshots.extend(open.map(|connection| (at, connection.counts())));
            self.taken += 1;
        }
    }

    /// Finds the packet's connection; `None` if the trace has no SYN of this connection before the packet. A SYN opens
    /// a connection unless one is already open between the two ends.
    fn find(&mut self, line: usize, packet: &Packet) -> Result<Option<usize>, KernelError> {
        let key = (packet.source, packet.destination, false);
        let known = self.current.get(&key).copied();
        let flags = Flags(packet.flags);
        let enters = matches!(packet.line, Line::In(_));
        let is_new = match known.map(|index| &self.connections[index]) {
            Some(known) => known.lifetime.is_over(flags, packet.seq, known.client_end == packet.source),
            None => opens(flags),
        };
        let index = if enters && is_new { Some(self.open(line, packet.at, key)?) } else { known };
        if let (true, Some(index)) = (enters, index) {
            let connection = &mut self.connections[index];
            connection.lifetime.note(flags, packet.seq, connection.client_end == packet.source);
        }
        Ok(index)
    }

    /// The traffic entry that uses this end as its server, or that has this address for its programs.
    fn traffic_of(&self, end: SocketAddr) -> Option<u32> {
        if let Some(&traffic) = self.program_of.get(&end.ip()) {
            return Some(traffic);
        }
        let traffic = u32::from(end.port().checked_sub(FIRST_SERVER_PORT)?);
        ((traffic as usize) < self.scenario.traffic.len()).then_some(traffic)
    }

    /// Returns the addresses of client and server, in this order, if the packet belongs to a datagram flow: it is a
    /// program's, or its source or destination is the server of such a flow.
    fn datagram_client(&self, packet: &Packet) -> Option<(SocketAddr, SocketAddr)> {
        let (source, destination) = (packet.source, packet.destination);
        if let Some(&traffic) = self.program_of.get(&source.ip()) {
            let from_client = self.node_of.get(&source.ip()) == Some(&self.scenario.traffic[traffic as usize].client);
            let ends = if from_client { (source, destination) } else { (destination, source) };
            return (packet.flags == 0).then_some(ends); // every TCP segment has a flag
        }
        let is_server = |end| {
            let traffic = self.traffic_of(end)?;
            self.scenario.traffic[traffic as usize].app.is_unresponsive().then_some(())
        };
        match (is_server(destination), is_server(source)) {
            (Some(()), _) => Some((source, destination)),
            (None, Some(())) => Some((destination, source)),
            _ => None,
        }
    }

    /// Records a packet of a datagram flow between these ends.
    fn datagram(
        &mut self,
        line: usize,
        packet: &Packet,
        client: SocketAddr,
        server: SocketAddr,
    ) -> Result<(), KernelError> {
        let key = (client, server, true);
        let index = match self.current.get(&key) {
            Some(&index) => index,
            None => self.open(line, packet.at, key)?,
        };
        let from_client = packet.source == client;
        let [up, down] = self.connections[index].datagrams.get_or_insert_default();
        let (mine, other) = if from_client { (up, down) } else { (down, up) };
        let Some((_, position)) = self.entered.get_mut(packet.id as usize) else { return Ok(()) };
        match packet.line {
            Line::In(_) => {
                *position = mine.sent + 1; // as in TCP, position 1 is that of the first byte
                mine.sent += u64::from(packet.payload);
            }
            Line::Out(_) => other.received += u64::from(packet.payload),
            Line::Dropped(..) | Line::Marked(_) => {}
        }
        let counts = &mut self.connections[index].counts;
        match packet.line {
            Line::In(_) => counts.segments_sent += 1,
            Line::Dropped(..) => counts.drops += 1,
            Line::Marked(_) => counts.marks += 1,
            Line::Out(_) => {}
        }
        let numbers = Numbers { position: *position, ack: 0, len: packet.payload, window: 0, flags: Flags(0) };
        self.segment(index, packet, from_client, &numbers, Again::No);
        self.delivery(index, packet, from_client);
        Ok(())
    }

    /// Records the delay of a packet that leaves the router, if the study records delays.
    fn delivery(&mut self, index: usize, packet: &Packet, from_client: bool) {
        if !self.scenario.probes.delays {
            return;
        }
        if let (Line::Out(_), Some(&(entered, _))) = (packet.line, self.entered.get(packet.id as usize)) {
            let way = Way { connection: index as u32, from_client };
            let delay = packet.at.saturating_sub(entered);
            self.delivered.push(Delivery { at: packet.at, way, delay, payload: packet.payload });
        }
    }

    fn open(&mut self, line: usize, at: u64, ends: Ends) -> Result<usize, KernelError> {
        let (opener, peer, datagrams) = ends;
        let stranger = || KernelError::Stranger { line, client: opener, server: peer };
        let traffic =
            self.traffic_of(peer).or_else(|| self.program_of.get(&opener.ip()).copied()).ok_or_else(stranger)?;
        let entry = &self.scenario.traffic[traffic as usize];
        let node = *self.node_of.get(&opener.ip()).ok_or_else(stranger)?;
        let index = self.connections.len();
        self.connections.push(Connection {
            client_end: if node == entry.client { opener } else { peer },
            retransmits: Vec::new(),
            timeouts: Vec::new(),
            start: at,
            established: None,
            end: None,
            failure: None,
            lifetime: Lifetime::default(),
            counts: ConnectionRecord {
                connection: index as u32,
                traffic,
                start: Time::ZERO,
                established: Time::MAX,
                end: Time::MAX,
                bytes_up: 0,
                bytes_down: 0,
                segments_sent: 0,
                retransmits: 0,
                timeouts: 0,
                fast_retransmits: 0,
                ecn_reductions: 0,
                drops: 0,
                marks: 0,
                failure: None,
            },
            mss: None,
            timestamps: false,
            halves: [Half::default(); 2],
            datagrams: None,
        });
        self.current.insert(ends, index);
        self.current.insert((peer, opener, datagrams), index);
        Ok(index)
    }

    fn packet(&mut self, line: usize, packet: &Packet) -> Result<(), KernelError> {
        if matches!(packet.line, Line::In(_)) {
            self.entered.resize(packet.id as usize, (0, 0)); // other protocols' packets take numbers, so there are gaps
            self.entered.push((packet.at, 0));
        }
        if let Some((client, server)) = self.datagram_client(packet) {
            return self.datagram(line, packet, client, server);
        }
        let Some(index) = self.find(line, packet)? else { return Ok(()) };
        let connection = &mut self.connections[index];
        let from_client = connection.client_end == packet.source;
        let [client, server] = &mut connection.halves;
        let (mine, other) = if from_client { (client, server) } else { (server, client) };
        let flags = Flags(packet.flags);
        let is_syn = flags.has(Flags::SYN);
        let entered = matches!(packet.line, Line::In(_));
        if is_syn {
            mine.iss.get_or_insert(packet.seq);
            mine.scale = packet.options.scale;
            connection.timestamps =
                packet.options.timestamps.is_some() && (other.iss.is_none() || connection.timestamps);
            if let (true, Some(mss)) = (entered, packet.options.mss) {
                connection.mss = Some(connection.mss.map_or(mss, |smallest| smallest.min(mss)));
            }
        }
        // A RST that refuses a SYN comes from an end that never sends one, and its number is 0 (RFC 9293, 3.10.7.1).
        let Some(iss) = mine.iss.or(flags.has(Flags::RST).then_some(packet.seq)) else { return Ok(()) };
        let shift = mine.scale.filter(|_| !is_syn && other.scale.is_some()).unwrap_or(0);
        let peer_iss = other.iss.filter(|_| flags.has(Flags::ACK));
        let numbers = Numbers {
            position: unwrap(packet.seq.wrapping_sub(iss), mine.seen.high),
            ack: peer_iss.map_or(0, |iss| unwrap(packet.ack.wrapping_sub(iss), other.seen.high)),
            len: packet.payload,
            window: u32::from(packet.window) << shift.min(14), // RFC 7323, section 2.3
            flags,
        };
        let mut again = Again::No;
        match packet.line {
            Line::In(_) => {
                again = connection.enters(from_client, packet.at, &numbers, self.choices.answer);
                if packet.payload > 0 {
                    self.first_data.get_or_insert(packet.at);
                }
            }
            Line::Dropped(..) => connection.counts.drops += 1,
            Line::Marked(_) => connection.counts.marks += 1,
            Line::Out(_) => connection.leaves(from_client, packet.at, &numbers),
        }
        self.segment(index, packet, from_client, &numbers, again);
        self.delivery(index, packet, from_client);
        if entered {
            let high = &mut self.connections[index].halves[usize::from(!from_client)].seen.high;
            *high = (*high).max(numbers.end());
        }
        Ok(())
    }

    /// If a host is observed, records a segment that this host sent or received, or that a link dropped or marked.
    fn segment(&mut self, index: usize, packet: &Packet, from_client: bool, numbers: &Numbers, again: Again) {
        let observed = self.choices.observed;
        if observed == Observed::Nothing {
            return;
        }
        let sees = |port| observed == Observed::Everywhere || observed == Observed::Port(port);
        let passage = match packet.line {
            Line::In(port) if sees(port) => Passage::Sent { again: again != Again::No },
            Line::Out(port) if sees(port) => Passage::Received,
            Line::In(_) | Line::Out(_) => return,
            Line::Dropped(link, cause) => Passage::Dropped(link, cause),
            Line::Marked(link) => Passage::Marked(link),
        };
        let connection = &mut self.connections[index];
        let unit = connection.payload();
        let [client, server] = &mut connection.halves;
        let (mine, other) = if from_client { (client, server) } else { (server, client) };
        let (event, link, cause) = numbers.event(passage, &mine.seen, &other.seen);
        let iss = other.iss.unwrap_or(0);
        let blocks = packet.options.blocks().iter();
        let blocks = blocks.map(|&(start, end)| (start.wrapping_sub(iss), end.wrapping_sub(iss)));
        self.segments.push(SegmentRow {
            time_ns: packet.at,
            event: OneOf(event),
            connection: index as u32,
            from_client,
            sent: matches!(packet.line, Line::In(_)),
            seq: offset(numbers.position),
            len: numbers.len,
            ack: offset(numbers.ack),
            window_bytes: numbers.window,
            flags: packet.flags,
            ecn: packet.ecn,
            timeout: again == Again::Timeout,
            sack: sequence::sack(blocks, other.seen.high),
            accecn: packet.options.accecn,
            ts_val: packet.options.timestamps.map(|(value, _)| value),
            ts_ecr: packet.options.timestamps.map(|(_, echo)| echo),
            mss_bytes: packet.options.mss,
            window_scale: packet.options.scale,
            sack_permitted: packet.options.sack_permitted,
            ip_id: None,
            wire_bytes: packet.wire_bytes,
            segment: numbers.packet(unit),
            link,
            cause,
        });
        if link.is_none() && numbers.flags.has(Flags::ACK) {
            mine.seen.acknowledged(numbers.ack, numbers.window);
        }
    }
}
