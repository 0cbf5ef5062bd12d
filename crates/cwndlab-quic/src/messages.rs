//! Messages: the datagrams of RFC 9221. Each begins with its number and the time at which it was sent.

use bytes::Bytes;
use cwndlab_engine::Message;
use cwndlab_units::Time;

/// Bytes of the number and the time, and the size of the smallest message.
pub(crate) const STAMP: usize = 12;

/// A message of `bytes` bytes, but at least [`STAMP`].
pub(crate) fn stamped(number: u32, now: Time, bytes: u32) -> Bytes {
    let mut content = vec![0; (bytes as usize).max(STAMP)];
    content[..4].copy_from_slice(&number.to_le_bytes());
    content[4..STAMP].copy_from_slice(&now.as_nanos().to_le_bytes());
    content.into()
}

/// The number, time and size of a message.
pub(crate) fn stamp_of(content: &[u8]) -> Option<Message> {
    let (number, rest) = content.split_first_chunk()?;
    let sent = Time::from_nanos(u64::from_le_bytes(*rest.first_chunk()?));
    Some(Message { number: u32::from_le_bytes(*number), sent, bytes: content.len() as u32 })
}
