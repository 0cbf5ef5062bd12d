//! What noq passes to sessions and keys, and the kinds of keys whose methods are its own.

use bytes::BytesMut;
use noq_proto::crypto::{CryptoError, HandshakeTokenKey, PacketKey};
use noq_proto::{ConnectionId, PathId, TransportError, TransportErrorCode};

use super::crypto::NullKey;
use crate::handshake::TAG;

pub(super) type IdArg<'a> = ConnectionId;
/// The configuration that starts a session.
pub(super) type Started<'a, T> = &'a T;

pub(super) fn invalid(reason: String) -> TransportError {
    TransportError::new(TransportErrorCode::TRANSPORT_PARAMETER_ERROR, reason)
}

impl PacketKey for NullKey {
    fn encrypt(&self, _: PathId, _: u64, _: &mut [u8], _: usize) {}
    fn decrypt(&self, _: PathId, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
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
    fn seal(&self, _: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG]);
        Ok(())
    }
    fn open<'a>(&self, _: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let len = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&data[..len])
    }
}
