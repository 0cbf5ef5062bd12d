//! What the modules of quinn and noq have in common. noq began as a fork of quinn, so their interfaces have the same names,
//! but not the same types. Each macro is expanded in a stack's module, which states what differs and imports the names.

/// Defines a stack's `open` and its end of a connection, [`Stack`](crate::stack::Stack). The module has these functions:
/// `new_endpoint`, `observing`, `identify`, `handle`, `transmit_one`, `append`, `rtt` and `lost`.
macro_rules! ends {
    ($stack:literal, $options:ty, { $($law:path => $config:ty),+ $(,)? }) => {
        /// Opens a connection.
        pub(crate) fn open(
            options: &$options,
            origin: Instant,
            opening: &Opening,
        ) -> Result<[Box<dyn cwndlab_engine::Endpoint>; 2], StackError> {
            let [client_seed, server_seed] = opening.seeds.map(Seed);
            let senders = [Shared::new(), Shared::new()];
            let client_transport = Arc::new(transport(options, senders[0].clone(), client_seed));
            let server_transport = Arc::new(transport(options, senders[1].clone(), server_seed));

            let mut client = ClientConfig::new(Arc::new(NullCrypto));
            client.transport_config(client_transport);
            client.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&client_seed.first_id())));
            let mut endpoint = new_endpoint(configuration(options, client_seed), None);
            let made = endpoint.connect(instant(origin, opening.now), client, SERVER, "server");
            let connection = made.map_err(|error| StackError(format!(concat!($stack, ": {}"), error)))?;
            let near = End { connection: Some(connection), ..End::new(endpoint, SERVER) };

            let mut server = ServerConfig::new(Arc::new(NullCrypto), Arc::new(NullKey));
            server.transport_config(server_transport).time_source(Arc::new(Epoch));
            let far = End::new(new_endpoint(configuration(options, server_seed), Some(server)), CLIENT);

            let ([near_sender, far_sender], sizes) = (senders, Sizes::default());
            let mut near = Host::new(near, true, origin, near_sender, sizes.clone());
            near.start(opening.now);
            Ok([Box::new(near), Box::new(Host::new(far, false, origin, far_sender, sizes))])
        }

        fn transport(options: &$options, sender: Shared, seed: Seed) -> TransportConfig {
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

        fn law(options: &$options) -> Arc<dyn ControllerFactory + Send + Sync> {
            match options.cc {
                $($law => {
                    let mut config = <$config>::default();
                    if let Some(bytes) = options.initial_window_bytes {
                        config.initial_window(bytes);
                    }
                    Arc::new(config)
                })+
            }
        }

        fn configuration(options: &$options, seed: Seed) -> Arc<EndpointConfig> {
            let mut config = EndpointConfig::new(Arc::new(NullKey));
            identify(config.rng_seed(Some(seed.of_the_stack())), seed);
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

        struct End {
            endpoint: Endpoint,
            connection: Option<(ConnectionHandle, Connection)>,
            peer: SocketAddr,
            zeros: Bytes,
            /// Answers that need no connection; they are not sent.
            answers: Vec<u8>,
        }

        impl End {
            fn new(endpoint: Endpoint, peer: SocketAddr) -> End {
                End {
                    endpoint,
                    connection: None,
                    peer,
                    zeros: Bytes::from_static(&ZEROS),
                    answers: Vec::new(),
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

        fn dir(direction: Direction) -> Dir {
            match direction {
                Direction::One => Dir::Uni,
                Direction::Both => Dir::Bi,
            }
        }

        impl Stack for End {
            type Id = StreamId;

            fn number(id: StreamId) -> usize {
                id.index() as usize
            }
            fn receive(&mut self, now: Instant, ecn: u8, payload: &[u8]) {
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
            }
            fn expire(&mut self, now: Instant) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_timeout(now);
                }
                self.exchange();
            }
            fn transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<u8> {
                let transmit = transmit_one(&mut self.connection.as_mut()?.1, now, payload);
                if transmit.is_none() {
                    self.exchange();
                }
                transmit.map(|transmit| transmit.ecn.map_or(0, |ecn| ecn as u8))
            }
            fn timeout(&mut self) -> Option<Instant> {
                self.connection.as_mut()?.1.poll_timeout()
            }
            fn poll(&mut self) -> Option<Event<StreamId>> {
                let (_, connection) = self.connection.as_mut()?;
                Some(match connection.poll()? {
                    Reported::Connected => Event::Established,
                    Reported::ConnectionLost { reason: ConnectionError::ApplicationClosed(_) } => Event::Closed(None),
                    Reported::ConnectionLost { reason } => Event::Closed(Some(Reason::new(&reason.to_string()))),
                    Reported::Stream(StreamEvent::Opened { dir: Dir::Uni }) => Event::Opened(Direction::One),
                    Reported::Stream(StreamEvent::Opened { dir: Dir::Bi }) => Event::Opened(Direction::Both),
                    Reported::Stream(StreamEvent::Readable { id }) => Event::Readable(id),
                    Reported::Stream(StreamEvent::Writable { .. } | StreamEvent::Available { .. }) => Event::Writable,
                    Reported::Stream(StreamEvent::Finished { id }) => Event::AllAcked(id),
                    Reported::DatagramReceived => Event::Messages,
                    _ => Event::Other,
                })
            }
            fn open(&mut self, direction: Direction) -> Option<StreamId> {
                self.connection.as_mut()?.1.streams().open(dir(direction))
            }
            fn accept(&mut self, direction: Direction) -> Option<StreamId> {
                self.connection.as_mut()?.1.streams().accept(dir(direction))
            }
            fn send(&mut self, stream: StreamId, bytes: u64) -> u64 {
                let Some((_, connection)) = &mut self.connection else { return 0 };
                let chunk = self.zeros.slice(..bytes.min(CHUNK as u64) as usize);
                append(&mut connection.send_stream(stream), chunk)
            }
            fn finish(&mut self, stream: StreamId) {
                if let Some((_, connection)) = &mut self.connection {
                    let _ = connection.send_stream(stream).finish(); // fails only if the peer has stopped the stream
                }
            }
            fn read(&mut self, stream: StreamId) -> (u64, bool) {
                let Some((_, connection)) = &mut self.connection else { return (0, false) };
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
            fn send_message(&mut self, content: Bytes) {
                if let Some((_, connection)) = &mut self.connection {
                    // A path MTU that has fallen since may be too small; then the message is lost here.
                    let _ = connection.datagrams().send(content, true);
                }
            }
            fn receive_message(&mut self) -> Option<Bytes> {
                self.connection.as_mut()?.1.datagrams().recv()
            }
            fn close(&mut self, now: Instant) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.close(now, VarInt::from_u32(0), Bytes::new());
                }
            }
            fn is_drained(&self) -> bool {
                self.connection.as_ref().is_some_and(|(_, connection)| connection.is_drained())
            }
            fn rtt(&self) -> Duration {
                self.connection.as_ref().map_or(Duration::ZERO, |(_, connection)| rtt(connection))
            }
            fn lost(&self, sender: &Shared) -> u32 {
                self.connection.as_ref().map_or(0, |(_, connection)| lost(connection, sender))
            }
        }
    };
}
pub(crate) use ends;

/// Defines `NullKey`, a key of every kind that protects nothing, and `NullCrypto`, which starts sessions of the null
/// handshake. `$id`: how a connection ID is passed; `$this`: how a configuration is; `$path`: the identifier of a path,
/// if packets have one. The module implements `HandshakeTokenKey`, and has a function `invalid` for wrong parameters.
macro_rules! null_crypto {
    ($id:ty, $this:ty $(, $path:ty)?) => {
        /// A key of every kind.
        pub(super) struct NullKey;

        impl PacketKey for NullKey {
            fn encrypt(&self, $(_: $path,)? _: u64, _: &mut [u8], _: usize) {}
            fn decrypt(&self, $(_: $path,)? _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
                payload.truncate(payload.len().checked_sub(TAG).ok_or(CryptoError)?);
                Ok(())
            }
            fn tag_len(&self) -> usize {
                TAG
            }
            fn confidentiality_limit(&self) -> u64 {
                u64::MAX
            }
            fn integrity_limit(&self) -> u64 {
                u64::MAX
            }
        }

        impl HeaderKey for NullKey {
            fn decrypt(&self, _: usize, _: &mut [u8]) {}
            fn encrypt(&self, _: usize, _: &mut [u8]) {}
            fn sample_size(&self) -> usize {
                TAG
            }
        }

        impl HmacKey for NullKey {
            fn sign(&self, data: &[u8], out: &mut [u8]) {
                checksum(data, out);
            }
            fn signature_len(&self) -> usize {
                32
            }
            fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
                let mut own = [0; 32];
                self.sign(data, &mut own);
                if own == signature {
                    Ok(())
                } else {
                    Err(CryptoError)
                }
            }
        }

        fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
            KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) }
        }

        fn keys() -> Keys {
            Keys { header: KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) }, packet: packet_keys() }
        }

        struct Session {
            side: Side,
            handshake: Handshake,
            peer: Option<TransportParameters>,
        }

        impl Session {
            fn start(side: Side, params: &TransportParameters) -> Box<dyn crypto::Session> {
                let mut own = Vec::new();
                params.write(&mut own);
                Box::new(Session { side, handshake: Handshake::new(side.is_client(), own), peer: None })
            }
        }

        impl crypto::Session for Session {
            fn initial_keys(&self, _: $id, _: Side) -> Keys {
                keys()
            }
            fn handshake_data(&self) -> Option<Box<dyn Any>> {
                None
            }
            fn peer_identity(&self) -> Option<Box<dyn Any>> {
                None
            }
            fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
                None
            }
            fn early_data_accepted(&self) -> Option<bool> {
                Some(false)
            }
            fn is_handshaking(&self) -> bool {
                !self.handshake.is_done()
            }
            fn read_handshake(&mut self, part: &[u8]) -> Result<bool, TransportError> {
                let Some(params) = self.handshake.read(part) else { return Ok(false) };
                let read = TransportParameters::read(self.side, &mut &params[..]);
                self.peer = Some(read.map_err(|error| invalid(error.to_string()))?);
                Ok(true)
            }
            fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
                Ok(self.peer)
            }
            fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
                self.handshake.write(out).then(keys)
            }
            fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
                Some(packet_keys())
            }
            fn is_valid_retry(&self, _: $id, _: &[u8], _: &[u8]) -> bool {
                true
            }
            fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
                Err(ExportKeyingMaterialError)
            }
        }

        /// Starts sessions.
        pub(super) struct NullCrypto;

        impl crypto::ClientConfig for NullCrypto {
            fn start_session(
                self: $this,
                _: u32,
                _: &str,
                params: &TransportParameters,
            ) -> Result<Box<dyn crypto::Session>, ConnectError> {
                Ok(Session::start(Side::Client, params))
            }
        }

        impl crypto::ServerConfig for NullCrypto {
            fn initial_keys(&self, _: u32, _: $id) -> Result<Keys, UnsupportedVersion> {
                Ok(keys())
            }
            fn retry_tag(&self, _: u32, _: $id, _: &[u8]) -> [u8; 16] {
                [0; 16]
            }
            fn start_session(self: $this, _: u32, params: &TransportParameters) -> Box<dyn crypto::Session> {
                Session::start(Side::Server, params)
            }
        }
    };
}
pub(crate) use null_crypto;

/// Defines `Observed`, a congestion control that notes what another one does. It derives `$derived`; `$own` are the methods
/// that the stacks' controllers do not have in common.
macro_rules! observed {
    (derive($($derived:ident)?) $($own:tt)*) => {
        #[derive($($derived)?)]
        struct Observed {
            inner: Box<dyn Controller>,
            sender: Shared,
        }

        impl Observed {
            /// The observer of a new congestion control.
            fn of_new(inner: Box<dyn Controller>, sender: Shared) -> Box<dyn Controller> {
                let observed = Observed { inner, sender };
                observed.note();
                Box::new(observed)
            }

            fn note(&self) {
                let metrics = self.inner.metrics();
                self.sender.lock().set_window(metrics.congestion_window, metrics.ssthresh);
            }
        }

        impl Controller for Observed {
            $($own)*

            fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
                self.inner.on_sent(now, bytes, last_packet_number);
                self.sender.lock().on_sent(bytes);
            }
            fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
                self.inner.on_end_acks(now, in_flight, app_limited, largest);
                self.sender.lock().on_end_acks(in_flight);
                self.note();
            }
            fn on_mtu_update(&mut self, new_mtu: u16) {
                self.inner.on_mtu_update(new_mtu);
                self.note();
            }
            fn window(&self) -> u64 {
                self.inner.window()
            }
            fn metrics(&self) -> ControllerMetrics {
                self.inner.metrics()
            }
            fn clone_box(&self) -> Box<dyn Controller> {
                Box::new(Observed { inner: self.inner.clone_box(), sender: self.sender.clone() })
            }
            fn initial_window(&self) -> u64 {
                self.inner.initial_window()
            }
            fn into_any(self: Box<Self>) -> Box<dyn Any> {
                self
            }
        }
    };
}
pub(crate) use observed;
