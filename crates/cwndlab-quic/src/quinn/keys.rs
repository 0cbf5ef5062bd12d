//! What quinn passes to sessions and keys, and the kinds of keys whose methods are its own.

use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, PacketKey};
use quinn_proto::{ConnectionId, TransportError, TransportErrorCode};

use super::crypto::NullKey;
use crate::handshake::TAG;

pub(super) type IdArg<'a> = &'a ConnectionId;
/// The configuration that starts a session.
pub(super) type Started<'a, T> = Arc<T>;

pub(super) fn invalid(reason: String) -> TransportError {
    TransportError { code: TransportErrorCode::TRANSPORT_PARAMETER_ERROR, frame: None, reason }
}

impl PacketKey for NullKey {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}
    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
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
