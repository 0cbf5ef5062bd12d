//! Reads what records have of the packets in a datagram: the packet number, and the ranges of its ACK frame. Packets are
//! not encrypted here, so they can be read on their way.

use cwndlab_engine::Content;

use crate::handshake::TAG;
use crate::random::Ids;

/// Reads the datagrams that one end sends, in the order of sending.
#[derive(Default)]
pub(crate) struct Reader {
    /// One more than the last packet number that this end has sent after the handshake.
    next: u64,
}

impl Reader {
    /// The content of a datagram. A packet that cannot be read ends it.
    pub(crate) fn read(&mut self, datagram: &[u8]) -> Content {
        let mut content = Content::default();
        let mut rest = Bytes(datagram);
        while let Some(packet) = rest.packet() {
            let Some(frames) = self.number(packet, &mut content) else { break };
            let _ = Bytes(frames).frames(packet.is_short, &mut content);
        }
        content
    }

    /// Notes the packet number, if the packet has a short header. Returns the frames.
    fn number<'a>(&mut self, packet: Packet<'a>, content: &mut Content) -> Option<&'a [u8]> {
        let (number, frames) = packet.body.split_at_checked(packet.number_len)?;
        if packet.is_short {
            let truncated = number.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let number = full_number(truncated, packet.number_len, self.next);
            self.next = number + 1;
            content.number = Some(number);
        }
        frames.get(..frames.len().checked_sub(TAG)?)
    }
}

/// The packet number nearest to `expected` that ends with the `len` bytes `truncated` (RFC 9000, appendix A.3).
fn full_number(truncated: u64, len: usize, expected: u64) -> u64 {
    let window = 1 << (8 * len);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// One packet of a datagram.
#[derive(Clone, Copy)]
struct Packet<'a> {
    /// Whether its header is short, as after the handshake (RFC 9000, section 17.3).
    is_short: bool,
    number_len: usize,
    /// Packet number, frames and authentication tag.
    body: &'a [u8],
}

/// What remains to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// A variable-length integer (RFC 9000, section 16).
    fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let rest = self.take((1 << (first >> 6)) - 1)?;
        Some(rest.iter().fold(u64::from(first & 0x3f), |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// Bytes after their length.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?;
        self.take(usize::try_from(len).ok()?)
    }

    /// The next packet (RFC 9000, sections 17.2 and 17.3).
    fn packet(&mut self) -> Option<Packet<'a>> {
        let first = self.byte()?;
        let number_len = usize::from(first & 3) + 1;
        if first & 0x80 == 0 {
            self.take(Ids::LEN)?;
            return Some(Packet { is_short: true, number_len, body: self.take(self.0.len())? });
        }
        self.take(4)?; // version
        for _ in 0..2 {
            let len = self.byte()?;
            self.take(usize::from(len))?; // connection ID
        }
        if matches!(first >> 4 & 3, 0) {
            self.counted()?; // token of an Initial packet
        }
        Some(Packet { is_short: false, number_len, body: self.counted()? })
    }

    /// Reads frames, up to the first that is not known. The ranges of an ACK frame count if the packet `is_short`.
    fn frames(&mut self, is_short: bool, content: &mut Content) -> Option<()> {
        while !self.0.is_empty() {
            let kind = self.varint()?;
            // All frames but PADDING, ACK and CONNECTION_CLOSE (RFC 9002, section 2).
            content.elicits_ack |= !matches!(kind, 0 | 2 | 3 | 0x1c | 0x1d);
            content.has_data |= matches!(kind, 8..=0xf | 0x30 | 0x31);
            if matches!(kind, 2 | 3) {
                let acked = self.ack(kind == 3)?;
                if is_short {
                    content.acked = acked;
                }
            } else {
                self.skip(kind)?;
            }
        }
        Some(())
    }

    /// The ranges of an ACK frame (RFC 9000, section 19.3), highest first.
    fn ack(&mut self, has_ecn: bool) -> Option<Vec<(u64, u64)>> {
        let largest = self.varint()?;
        self.varint()?; // delay
        let more = self.varint()?;
        let mut start = largest.checked_sub(self.varint()?)?;
        let mut ranges = vec![(start, largest + 1)];
        for _ in 0..more {
            let gap = self.varint()?;
            let last = start.checked_sub(gap + 2)?;
            start = last.checked_sub(self.varint()?)?;
            ranges.push((start, last + 1));
        }
        for _ in 0..if has_ecn { 3 } else { 0 } {
            self.varint()?;
        }
        Some(ranges)
    }

    /// Skips a frame other than ACK (RFC 9000, section 19; RFC 9221, section 4; draft-ietf-quic-ack-frequency).
    fn skip(&mut self, kind: u64) -> Option<()> {
        let integers = match kind {
            0 | 1 | 7 | 0x1a | 0x1b | 0x1e | 0x1f | 0x30 | 0x31 => 0,
            6 | 0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => 1,
            5 | 0x11 | 0x15 | 0x18 => 2,
            4 => 3,
            0xaf => 4,
            8..=0xf => 1 + usize::from(kind & 4 != 0),
            _ => return None,
        };
        for _ in 0..integers {
            self.varint()?;
        }
        match kind {
            6 | 7 | 0x31 => drop(self.counted()?),
            8..=0xf if kind & 2 != 0 => drop(self.counted()?),
            8..=0xf | 0x30 => self.0 = &[],
            0x18 => {
                let len = self.byte()?;
                self.take(usize::from(len) + 16)?;
            }
            0x1a | 0x1b => drop(self.take(8)?),
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram with a packet after the handshake.
    fn short(number: u16, frames: &[u8]) -> Vec<u8> {
        let mut datagram = vec![0x41];
        datagram.extend([0; Ids::LEN]);
        datagram.extend(number.to_be_bytes());
        datagram.extend(frames);
        datagram.extend([0; TAG]);
        datagram
    }

    #[test]
    fn a_number_of_two_bytes_stands_for_the_nearest_to_the_last() {
        // The example of RFC 9000, appendix A.3.
        assert_eq!(full_number(0x9b32, 2, 0xa82f_30eb), 0xa82f_9b32);
        let mut reader = Reader { next: 0xffff };
        assert_eq!(reader.read(&short(0xffff, &[1])).number, Some(0xffff));
        assert_eq!(reader.read(&short(1, &[1])).number, Some(0x1_0001));
    }

    /// Of the numbers that end with the byte, the one up to 128 above the expected one and less than 128 below it, if it is
    /// a number at all.
    #[test]
    fn a_number_of_one_byte_is_within_half_a_window_of_the_expected_one() {
        for expected in 0..1000_u64 {
            for truncated in 0..256_u64 {
                let near =
                    |number: &u64| number % 256 == truncated && number + 128 > expected && *number <= expected + 128;
                let nearest = (0..1300).find(near).unwrap_or(truncated);
                assert_eq!(full_number(truncated, 1, expected), nearest, "{truncated} at {expected}");
            }
        }
    }

    #[test]
    fn ranges_of_an_ack_frame_are_found_behind_other_frames() {
        // A PING, then an ACK of 90 to 100 and, after two missing packets, of 87 alone; then ECN counts.
        let content = Reader::default().read(&short(7, &[1, 3, 0x40, 100, 0, 1, 10, 1, 0, 5, 0, 0]));
        let expected =
            Content { number: Some(7), acked: vec![(90, 101), (87, 88)], elicits_ack: true, has_data: false };
        assert_eq!(content, expected);
        let alone = Reader::default().read(&short(8, &[2, 5, 0, 0, 0, 0, 0]));
        assert_eq!(alone, Content { number: Some(8), acked: vec![(5, 6)], ..Content::default() });
    }

    #[test]
    fn frames_that_ask_for_an_acknowledgment_do_so_behind_padding() {
        let stream = [0x0f, 4, 1, 2, 9, 9];
        for frame in [&stream[..], &[0x31, 2, 9, 9], &[0x30, 9], &[1], &[6, 0, 1, 9], &[0x19, 3]] {
            let content = Reader::default().read(&short(0, &[&[0, 0], frame].concat()));
            assert!(content.elicits_ack, "{frame:?}");
            assert_eq!(content.has_data, matches!(frame[0], 0x0f | 0x30 | 0x31), "{frame:?}");
        }
        assert!(!Reader::default().read(&short(0, &[0x1c, 0, 0, 0])).elicits_ack);
    }

    /// Each frame of RFC 9000, section 19, RFC 9221 and draft-ietf-quic-ack-frequency that may precede an ACK.
    #[test]
    fn an_ack_is_found_behind_any_frame() {
        let mut new_connection_id = vec![0x18, 1, 0, 4];
        new_connection_id.extend([9; 4 + 16]);
        for frame in [
            &[0][..],
            &[1],
            &[4, 1, 2, 3],
            &[5, 1, 2],
            &[6, 0, 2, 9, 9],
            &[7, 2, 9, 9],
            &[0x0a, 1, 2, 9, 9],
            &[0x0e, 1, 5, 2, 9, 9],
            &[0x10, 1],
            &[0x11, 1, 2],
            &[0x12, 1],
            &[0x13, 1],
            &[0x14, 1],
            &[0x15, 1, 2],
            &[0x16, 1],
            &[0x17, 1],
            &new_connection_id,
            &[0x19, 1],
            &[0x1a, 9, 9, 9, 9, 9, 9, 9, 9],
            &[0x1b, 9, 9, 9, 9, 9, 9, 9, 9],
            &[0x1e],
            &[0x1f],
            &[0x31, 2, 9, 9],
            &[0x40, 0xaf, 1, 2, 3, 4],
        ] {
            let content = Reader::default().read(&short(0, &[frame, &[2, 5, 0, 0, 1]].concat()));
            assert_eq!(content.acked, [(4, 6)], "{frame:x?}");
        }
        for takes_the_rest in [&[0x08, 4][..], &[0x0c, 4, 1], &[0x30]] {
            let content = Reader::default().read(&short(0, &[takes_the_rest, &[2, 5, 0, 0, 1]].concat()));
            assert_eq!(content.acked, [], "{takes_the_rest:x?}");
        }
    }

    #[test]
    fn packets_of_the_handshake_have_no_number_and_may_precede_one_that_has() {
        let mut datagram = vec![0xc1, 0, 0, 0, 1, 1, 9, 0, 0];
        let frames = [2, 0, 0, 0, 0, 6, 0, 1, 9];
        datagram.extend([0x40, (2 + frames.len() + TAG) as u8, 0, 3]);
        datagram.extend(frames);
        datagram.extend([0; TAG]);
        let content = Reader::default().read(&datagram);
        assert_eq!(content, Content { elicits_ack: true, ..Content::default() });
        datagram.extend(short(5, &[0]));
        assert_eq!(Reader::default().read(&datagram).number, Some(5));
    }

    #[test]
    fn what_cannot_be_read_does_no_harm() {
        let whole = short(7, &[3, 0x40, 100, 0, 1, 10, 1, 0, 5, 0, 0]);
        for len in 0..whole.len() {
            let _ = Reader::default().read(&whole[..len]);
        }
        let _ = Reader::default().read(&short(7, &[2, 1, 0, 9, 40]));
    }
}
