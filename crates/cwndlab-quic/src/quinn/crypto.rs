//! Keys that protect nothing, and a session of the null handshake.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

use crate::adapter::null_crypto;
use crate::handshake::{Handshake, TAG};
use crate::random::checksum;

null_crypto!(&ConnectionId, Arc<Self>);

fn invalid(reason: String) -> TransportError {
    TransportError { code: TransportErrorCode::TRANSPORT_PARAMETER_ERROR, frame: None, reason }
}

impl HandshakeTokenKey for NullKey {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NullKey)
    }
}

impl AeadKey for NullKey {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG]);
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let len = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..len])
    }
}
