//! noq-proto as a stack: what differs from quinn.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use noq_proto as proto;
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId,
    SendStream, ServerConfig, Transmit,
};

use crate::options::{NoqLaw as Law, Options};
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

const NAME: &str = "noq";

fn law(options: &Options<Law>) -> Arc<dyn ControllerFactory + Send + Sync> {
    match options.cc {
        Law::Cubic => open::configured(options, CubicConfig::initial_window),
        Law::Reno => open::configured(options, NewRenoConfig::initial_window),
        Law::Bbr3 => open::configured(options, Bbr3Config::initial_window),
    }
}

fn observing(inner: Arc<dyn ControllerFactory + Send + Sync>, sender: Shared, seed: Seed) -> Observing {
    Observing { inner, sender, seed: seed.of_the_law() }
}

fn new_endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, true)
}

/// Takes connection IDs from a generator.
fn identify(
    config: &mut EndpointConfig,
    generator: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(generator));
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
