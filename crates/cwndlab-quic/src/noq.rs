//! noq-proto as a stack.

mod crypto;
mod observed;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use cwndlab_engine::{Opening, Reason, StackError};
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event as Reported, FourTuple,
    PathId, SendStream, ServerConfig, StreamEvent, StreamId, TimeSource, Transmit, TransportConfig, VarInt,
};

use crate::adapter::ends;
use crate::exchanges::Sizes;
use crate::host::{instant, Host, CHUNK, CLIENT, SERVER, ZEROS};
use crate::options::{NoqLaw, Options};
use crate::random::{Ids, Seed};
use crate::sender::Shared;
use crate::stack::{Direction, Event, Stack};
use crypto::{NullCrypto, NullKey};
use observed::Observing;

ends!("noq", Options<NoqLaw>, {
    NoqLaw::Cubic => CubicConfig,
    NoqLaw::Reno => NewRenoConfig,
    NoqLaw::Bbr3 => Bbr3Config,
});

fn new_endpoint(config: Arc<EndpointConfig>, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(config, server.map(Arc::new), true)
}

fn observing(inner: Arc<dyn ControllerFactory + Send + Sync>, sender: Shared, seed: Seed) -> Observing {
    Observing { inner, sender, seed: seed.of_the_law() }
}

/// Takes connection IDs from a seed.
fn identify(config: &mut EndpointConfig, seed: Seed) {
    config.cid_generator(Arc::new(move || Box::new(Cids(Ids::new(seed)))));
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answers: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::from_remote(peer), ecn, data, answers)
}

fn transmit_one(connection: &mut Connection, now: Instant, payload: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::MIN, payload)
}

fn append(stream: &mut SendStream<'_>, chunk: Bytes) -> u64 {
    stream.write_chunks(&mut &mut [chunk][..]).map_or(0, |written| written as u64)
}

fn rtt(connection: &Connection) -> Duration {
    connection.rtt(PathId::ZERO).unwrap_or_default()
}

fn lost(_: &Connection, sender: &Shared) -> u32 {
    sender.lock().lost
}
