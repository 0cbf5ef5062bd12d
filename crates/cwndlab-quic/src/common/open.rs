//! Opens connections: the configuration of both ends.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cwndlab_engine::{Opening, StackError};

use super::crypto::{NullCrypto, NullKey};
use super::exchanges::Sizes;
use super::host::{instant, Host, CLIENT, SERVER};
use super::proto::congestion::ControllerFactory;
use super::proto::{
    AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig, TimeSource,
    TransportConfig, VarInt,
};
use super::{identify, law, new_endpoint, observing, Law};
use crate::options::Options;
use crate::random::{Ids, Seed};
use crate::sender::Shared;

/// Opens a connection.
pub(crate) fn open(
    options: &Options<Law>,
    origin: Instant,
    opening: &Opening,
) -> Result<[Box<dyn cwndlab_engine::Endpoint>; 2], StackError> {
    let [client_seed, server_seed] = opening.seeds.map(Seed);
    let [near_sender, far_sender] = [Shared::new(), Shared::new()];
    let sizes = Sizes::default();

    let mut client = ClientConfig::new(Arc::new(NullCrypto));
    client.transport_config(Arc::new(transport(options, near_sender.clone(), client_seed)));
    client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&client_seed.first_id())));
    let mut endpoint = new_endpoint(configuration(options, client_seed), None);
    let connection = endpoint
        .connect(instant(origin, opening.now), client, SERVER, "server")
        .map_err(|error| StackError(format!("{}: {error}", super::NAME)))?;
    let near = Host::client(endpoint, connection, origin, near_sender, sizes.clone(), opening.now);

    let mut server = ServerConfig::new(Arc::new(NullCrypto), Arc::new(NullKey));
    server.transport_config(Arc::new(transport(options, far_sender.clone(), server_seed)));
    server.time_source(Arc::new(Epoch));
    let endpoint = new_endpoint(configuration(options, server_seed), Some(Arc::new(server)));
    Ok([Box::new(near), Box::new(Host::new(endpoint, CLIENT, origin, far_sender, sizes))])
}

fn transport(options: &Options<Law>, sender: Shared, seed: Seed) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(observing(law(options), sender, seed)));
    transport.enable_segmentation_offload(false).max_idle_timeout(None);
    if let Some(payload) = options.payload() {
        transport.initial_mtu(payload).mtu_discovery_config(None);
    }
    if let Some(threshold) = options.ack_eliciting_threshold {
        let mut frequency = AckFrequencyConfig::default();
        frequency.ack_eliciting_threshold(VarInt::from_u32(threshold));
        transport.ack_frequency_config(Some(frequency));
    }
    if let Some(bytes) = options.datagram_buffer_bytes {
        transport.datagram_send_buffer_size(bytes as usize);
    }
    if let Some(bytes) = options.stream_window_bytes {
        // The send buffer keeps its default ratio to the window.
        transport.stream_receive_window(VarInt::from_u32(bytes)).send_window(8 * u64::from(bytes));
    }
    transport
}

/// A congestion control with the initial window of the options, which `set` sets.
pub(super) fn configured<C: ControllerFactory + Default + Send + Sync + 'static>(
    options: &Options<Law>,
    set: fn(&mut C, u64) -> &mut C,
) -> Arc<dyn ControllerFactory + Send + Sync> {
    let mut config = C::default();
    if let Some(bytes) = options.initial_window_bytes {
        set(&mut config, bytes);
    }
    Arc::new(config)
}

fn configuration(options: &Options<Law>, seed: Seed) -> Arc<EndpointConfig> {
    let mut config = EndpointConfig::new(Arc::new(NullKey));
    identify(config.rng_seed(Some(seed.of_the_stack())), move || Box::new(Cids(Ids::new(seed))));
    if let Some(payload) = options.payload() {
        config.max_udp_payload_size(payload).expect("the options' check limits it");
    }
    Arc::new(config)
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
