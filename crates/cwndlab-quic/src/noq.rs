//! noq-proto as a stack.

mod crypto;
mod observed;

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use cwndlab_engine::{Opening, StackError};
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event as Reported, FourTuple,
    ServerConfig, StreamEvent, StreamId, TimeSource, TransportConfig, VarInt,
};

use crate::host::{instant, Event, Host, Stack, CHUNK, ZEROS};
use crate::options::{NoqLaw, Options};
use crate::random::{Ids, Seed};
use crate::sender::Shared;
use crypto::{NullCrypto, NullKey};
use observed::Observing;

/// The addresses of the two ends. Each end has its own network, so one pair serves all connections.
const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// Opens a connection.
pub(crate) fn open(
    options: &Options<NoqLaw>,
    origin: Instant,
    opening: &Opening,
) -> Result<[Box<dyn cwndlab_engine::Endpoint>; 2], StackError> {
    let failed = |error: &dyn std::fmt::Display| StackError(format!("noq: {error}"));
    let [client_seed, server_seed] = opening.seeds.map(Seed);
    let senders = [Shared::new(), Shared::new()];
    let client_transport = Arc::new(transport(options, senders[0].clone(), client_seed));
    let server_transport = Arc::new(transport(options, senders[1].clone(), server_seed));

    let mut client = ClientConfig::new(Arc::new(NullCrypto));
    client.transport_config(client_transport);
    client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&client_seed.first_id())));
    let mut endpoint = Endpoint::new(Arc::new(configuration(options, client_seed)), None, true);
    let made = endpoint.connect(instant(origin, opening.now), client, SERVER, "server");
    let connection = made.map_err(|error| failed(&error))?;
    let near = Noq { connection: Some(connection), ..Noq::new(endpoint, SERVER, senders[0].clone()) };

    let mut server = ServerConfig::new(Arc::new(NullCrypto), Arc::new(NullKey));
    server.transport_config(server_transport).time_source(Arc::new(Epoch));
    let endpoint = Endpoint::new(Arc::new(configuration(options, server_seed)), Some(Arc::new(server)), true);
    let far = Noq::new(endpoint, CLIENT, senders[1].clone());

    let [near_sender, far_sender] = senders;
    let mut near = Host::new(near, true, origin, near_sender);
    near.start(opening.now);
    Ok([Box::new(near), Box::new(Host::new(far, false, origin, far_sender))])
}

fn transport(options: &Options<NoqLaw>, sender: Shared, seed: Seed) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let inner = law(options);
    transport.congestion_controller_factory(Arc::new(Observing { inner, sender, seed: seed.of_the_law() }));
    transport.enable_segmentation_offload(false).max_idle_timeout(None);
    if let Some(payload) = options.payload() {
        transport.initial_mtu(payload).mtu_discovery_config(None);
    }
    if let Some(threshold) = options.ack_eliciting_threshold {
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(VarInt::from_u32(threshold));
        transport.ack_frequency_config(Some(frequency));
    }
    if let Some(bytes) = options.stream_window_bytes {
        // The send buffer keeps its default ratio to the window.
        transport.stream_receive_window(VarInt::from_u32(bytes)).send_window(8 * u64::from(bytes));
    }
    transport
}

fn law(options: &Options<NoqLaw>) -> Arc<dyn ControllerFactory + Send + Sync> {
    macro_rules! made {
        ($config:ty) => {{
            let mut config = <$config>::default();
            if let Some(bytes) = options.initial_window_bytes {
                config.initial_window(bytes);
            }
            Arc::new(config)
        }};
    }
    match options.cc {
        NoqLaw::Cubic => made!(CubicConfig),
        NoqLaw::Reno => made!(NewRenoConfig),
        NoqLaw::Bbr3 => made!(Bbr3Config),
    }
}

fn configuration(options: &Options<NoqLaw>, seed: Seed) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(NullKey));
    config.rng_seed(Some(seed.of_the_stack())).cid_generator(Arc::new(move || Box::new(Cids(Ids::new(seed)))));
    if let Some(payload) = options.payload() {
        config.max_udp_payload_size(payload).expect("the options' check limits it");
    }
    config
}

/// A calendar that stands still; it dates address validation tokens.
struct Epoch;

impl TimeSource for Epoch {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

struct Cids(Ids);

impl ConnectionIdGenerator for Cids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next())
    }
    fn cid_len(&self) -> usize {
        Ids::LEN
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

struct Noq {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    sending: Option<StreamId>,
    receiving: Option<StreamId>,
    zeros: Bytes,
    /// Answers that need no connection; they are not sent.
    answers: Vec<u8>,
    sender: Shared,
}

impl Noq {
    fn new(endpoint: Endpoint, peer: SocketAddr, sender: Shared) -> Noq {
        Noq {
            endpoint,
            connection: None,
            peer,
            sending: None,
            receiving: None,
            zeros: Bytes::from_static(&ZEROS),
            answers: Vec::new(),
            sender,
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

impl Stack for Noq {
    fn receive(&mut self, now: Instant, ecn: u8, payload: &[u8]) {
        self.answers.clear();
        let ecn = EcnCodepoint::from_bits(ecn);
        let data = BytesMut::from(payload);
        match self.endpoint.handle(now, FourTuple::from_remote(self.peer), ecn, data, &mut self.answers) {
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
    }
    fn expire(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.exchange();
    }
    fn transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<u8> {
        let transmit = self.connection.as_mut()?.1.poll_transmit(now, NonZeroUsize::MIN, payload);
        if transmit.is_none() {
            self.exchange();
        }
        transmit.map(|transmit| transmit.ecn.map_or(0, |ecn| ecn as u8))
    }
    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut()?.1.poll_timeout()
    }
    fn poll(&mut self) -> Option<Event> {
        let (_, connection) = self.connection.as_mut()?;
        Some(match connection.poll()? {
            Reported::Connected => Event::Established,
            Reported::ConnectionLost { reason } => {
                Event::Closed { failed: !matches!(reason, ConnectionError::ApplicationClosed(_)) }
            }
            Reported::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                self.receiving = self.receiving.or_else(|| connection.streams().accept(Dir::Uni));
                Event::Readable
            }
            Reported::Stream(StreamEvent::Readable { .. }) => Event::Readable,
            Reported::Stream(StreamEvent::Writable { .. } | StreamEvent::Available { .. }) => Event::Writable,
            Reported::Stream(StreamEvent::Finished { .. }) => Event::AllAcked,
            _ => Event::Other,
        })
    }
    fn open_stream(&mut self) -> bool {
        self.sending = self.connection.as_mut().and_then(|(_, connection)| connection.streams().open(Dir::Uni));
        self.sending.is_some()
    }
    fn send(&mut self, bytes: u64) -> u64 {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.sending) else { return 0 };
        let mut chunks = [self.zeros.slice(..bytes.min(CHUNK as u64) as usize)];
        connection.send_stream(stream).write_chunks(&mut &mut chunks[..]).map_or(0, |written| written as u64)
    }
    fn finish(&mut self) {
        if let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.sending) {
            let _ = connection.send_stream(stream).finish(); // fails only if the peer has stopped the stream
        }
    }
    fn read(&mut self) -> (u64, bool) {
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.receiving) else { return (0, false) };
        let mut receiving = connection.recv_stream(stream);
        let Ok(mut chunks) = receiving.read(true) else { return (0, false) };
        let mut bytes = 0;
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize(); // the simulator polls for transmissions in any case
        (bytes, ended)
    }
    fn close(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }
    fn is_drained(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.is_drained())
    }
    fn lost(&self) -> u32 {
        self.sender.lock().lost
    }
}
