//! Keys that protect nothing, and a session of the null handshake.

use std::any::Any;

use super::keys::{invalid, IdArg, Started};
use super::proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys, PacketKey, UnsupportedVersion,
};
use super::proto::transport_parameters::TransportParameters;
use super::proto::{ConnectError, Side, TransportError};
use crate::handshake::{Handshake, TAG};
use crate::random::checksum;

/// A key of every kind.
pub(super) struct NullKey;

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
    fn initial_keys(&self, _: IdArg<'_>, _: Side) -> Keys {
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
    fn is_valid_retry(&self, _: IdArg<'_>, _: &[u8], _: &[u8]) -> bool {
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
        self: Started<'_, Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        Ok(Session::start(Side::Client, params))
    }
}

impl crypto::ServerConfig for NullCrypto {
    fn initial_keys(&self, _: u32, _: IdArg<'_>) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }
    fn retry_tag(&self, _: u32, _: IdArg<'_>, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(self: Started<'_, Self>, _: u32, params: &TransportParameters) -> Box<dyn crypto::Session> {
        Session::start(Side::Server, params)
    }
}
