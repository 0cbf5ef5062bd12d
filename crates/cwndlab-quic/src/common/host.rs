//! One end of a connection: a stack, and the application that writes and reads its streams.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use cwndlab_engine::{Answer, Content, Endpoint, Message, Progress, StackCounters, StackError, StackWindow};
use cwndlab_units::Time;

use super::exchanges::Sizes;
use super::proto::{self, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint};
use super::streams::Streams;
use super::{handle, lost, rtt, transmit_one};
use crate::messages::stamped;
use crate::packets::Reader;
use crate::sender::Shared;
use crate::timeouts;

/// The addresses of the two ends. Each end has its own network, so one pair serves all connections.
pub(super) const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
pub(super) const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// A stack with its application.
pub(super) struct Host {
    endpoint: proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    /// Answers that need no connection; they are not sent.
    answers: Vec<u8>,
    origin: Instant,
    now: Instant,
    streams: Streams,
    sender: Shared,
    timeouts: u32,
    /// Probe timeouts that have not been returned by [`Endpoint::poll_probe`].
    probes: VecDeque<u32>,
    /// Number of messages given to the stack.
    messages: u32,
    reader: Reader,
}

impl Host {
    /// A server.
    pub(super) fn new(
        endpoint: proto::Endpoint,
        peer: SocketAddr,
        origin: Instant,
        sender: Shared,
        sizes: Sizes,
    ) -> Host {
        Host {
            endpoint,
            connection: None,
            peer,
            answers: Vec::new(),
            origin,
            now: origin,
            streams: Streams::new(peer == SERVER, sizes),
            sender,
            timeouts: 0,
            probes: VecDeque::new(),
            messages: 0,
            reader: Reader::default(),
        }
    }

    /// A client, which begins its connection at `now`.
    pub(super) fn client(
        endpoint: proto::Endpoint,
        connection: (ConnectionHandle, Connection),
        origin: Instant,
        sender: Shared,
        sizes: Sizes,
        now: Time,
    ) -> Host {
        let mut host = Host { connection: Some(connection), ..Host::new(endpoint, SERVER, origin, sender, sizes) };
        host.at(now);
        host.work();
        host
    }

    fn at(&mut self, now: Time) -> Instant {
        self.now = instant(self.origin, now);
        self.now
    }

    /// Handles what the stack reports, and gives it what there is to send.
    fn work(&mut self) {
        if let Some((_, connection)) = &mut self.connection {
            self.streams.work(self.now, connection);
        }
    }

    /// Exchanges events between the connection and its endpoint.
    fn exchange(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
    }
}

/// A point in simulated time on the stack's clock.
pub(super) fn instant(origin: Instant, now: Time) -> Instant {
    origin + Duration::from_nanos(now.as_nanos())
}

impl Endpoint for Host {
    fn handle_datagram(&mut self, now: Time, ecn: u8, payload: &[u8]) {
        let now = self.at(now);
        self.answers.clear();
        let (ecn, data) = (EcnCodepoint::from_bits(ecn), BytesMut::from(payload));
        match handle(&mut self.endpoint, now, self.peer, ecn, data, &mut self.answers) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut self.answers, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.exchange();
        self.work();
    }
    fn handle_timeout(&mut self, now: Time) {
        let now = self.at(now);
        if let Some((_, connection)) = &mut self.connection {
            let heard = timeouts::heard(|| connection.handle_timeout(now));
            self.timeouts += heard.len() as u32;
            self.probes.extend(heard);
        }
        self.exchange();
        self.work();
    }
    fn poll_datagram(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<u8> {
        let now = self.at(now);
        let transmit = transmit_one(&mut self.connection.as_mut()?.1, now, payload);
        if transmit.is_none() {
            self.exchange();
        }
        transmit.map(|transmit| transmit.ecn.map_or(0, |ecn| ecn as u8))
    }
    fn poll_timeout(&mut self) -> Time {
        let due = |at: Instant| Time::from_nanos(at.saturating_duration_since(self.origin).as_nanos() as u64);
        self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout()).map_or(Time::MAX, due)
    }
    fn write(&mut self, bytes: u64) {
        self.streams.write(bytes);
        self.work();
    }
    fn close(&mut self) {
        self.streams.close();
        self.work();
    }
    fn ask(&mut self, request: u64, response: u64) -> Result<(), StackError> {
        self.streams.ask(request, response);
        self.work();
        Ok(())
    }
    fn poll_answer(&mut self) -> Option<Answer> {
        self.streams.exchanges.poll_answer()
    }
    fn send_message(&mut self, now: Time, bytes: u32) -> Result<(), StackError> {
        self.streams.has_data = true;
        if let Some((_, connection)) = &mut self.connection {
            // The oldest messages make room. A path MTU that has fallen since may be too small; then this one is lost here.
            let _ = connection.datagrams().send(stamped(self.messages, now, bytes), true);
        }
        self.messages += 1;
        Ok(())
    }
    fn poll_message(&mut self) -> Option<Message> {
        self.streams.arrived.pop_front()
    }
    fn describe(&mut self, payload: &[u8]) -> Content {
        self.reader.read(payload)
    }
    fn poll_probe(&mut self) -> Option<u32> {
        self.probes.pop_front()
    }
    fn progress(&self) -> Progress {
        self.streams.progress
    }
    fn counters(&self) -> StackCounters {
        StackCounters {
            lost: self.connection.as_ref().map_or(0, |(_, connection)| lost(connection, &self.sender)),
            ecn_reductions: self.sender.lock().ecn_reductions,
            timeouts: self.timeouts,
        }
    }
    fn window(&self) -> Option<StackWindow> {
        let srtt = self.connection.as_ref().map_or(Duration::ZERO, |(_, connection)| rtt(connection));
        self.streams.has_data.then(|| self.sender.lock().sample(srtt))
    }
}
