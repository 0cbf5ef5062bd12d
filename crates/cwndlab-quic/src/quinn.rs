//! quinn-proto as a stack: what differs from noq.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn_proto as proto;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, SendStream, ServerConfig,
    Transmit,
};

use crate::options::{Options, QuinnLaw as Law};
use crate::random::Seed;
use crate::sender::Shared;
use observed::Observing;

#[path = "common/crypto.rs"]
mod crypto;
#[path = "common/exchanges.rs"]
mod exchanges;
#[path = "common/host.rs"]
mod host;
mod keys;
mod observed;
#[path = "common/open.rs"]
mod open;
#[path = "common/streams.rs"]
mod streams;

pub(crate) use open::open;

const NAME: &str = "quinn";

fn law(options: &Options<Law>) -> Arc<dyn ControllerFactory + Send + Sync> {
    match options.cc {
        Law::Cubic => open::configured(options, CubicConfig::initial_window),
        Law::Reno => open::configured(options, NewRenoConfig::initial_window),
        Law::Bbr => open::configured(options, BbrConfig::initial_window),
    }
}

fn observing(inner: Arc<dyn ControllerFactory + Send + Sync>, sender: Shared, _: Seed) -> Observing {
    Observing { inner, sender }
}

fn new_endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, true, None)
}

/// Takes connection IDs from a generator.
fn identify(
    config: &mut EndpointConfig,
    generator: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(generator);
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
