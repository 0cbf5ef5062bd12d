//! quinn-proto as a stack.

mod crypto;
mod observed;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use cwndlab_engine::{Opening, Reason, StackError};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event as Reported, SendStream,
    ServerConfig, StreamEvent, StreamId, TimeSource, Transmit, TransportConfig, VarInt,
};

use crate::adapter::ends;
use crate::exchanges::Sizes;
use crate::host::{instant, Host, CHUNK, CLIENT, SERVER, ZEROS};
use crate::options::{Options, QuinnLaw};
use crate::random::{Ids, Seed};
use crate::sender::Shared;
use crate::stack::{Direction, Event, Stack};
use crypto::{NullCrypto, NullKey};
use observed::Observing;

ends!("quinn", Options<QuinnLaw>, {
    QuinnLaw::Cubic => CubicConfig,
    QuinnLaw::Reno => NewRenoConfig,
    QuinnLaw::Bbr => BbrConfig,
});

fn new_endpoint(config: Arc<EndpointConfig>, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(config, server.map(Arc::new), true, None)
}

fn observing(inner: Arc<dyn ControllerFactory + Send + Sync>, sender: Shared, _: Seed) -> Observing {
    Observing { inner, sender }
}

/// Takes connection IDs from a seed.
fn identify(config: &mut EndpointConfig, seed: Seed) {
    config.cid_generator(move || Box::new(Cids(Ids::new(seed))));
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answers: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, peer, None, ecn, data, answers)
}

fn transmit_one(connection: &mut Connection, now: Instant, payload: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 1, payload)
}

fn append(stream: &mut SendStream<'_>, chunk: Bytes) -> u64 {
    stream.write_chunks(&mut [chunk]).map_or(0, |written| written.bytes as u64)
}

fn rtt(connection: &Connection) -> Duration {
    connection.rtt()
}

fn lost(connection: &Connection, _: &Shared) -> u32 {
    connection.stats().path.lost_packets as u32
}
