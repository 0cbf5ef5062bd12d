//! TCP options in wire format.

use crate::cell::AccEcnCounts;

/// The options of a segment (RFC 9293, section 3.1; RFC 7323; RFC 2018; RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    /// The timestamp value and the echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks as sequence numbers on the wire; 40 bytes of options have room for four.
    blocks: [(u32, u32); 4],
    block_count: usize,
    /// Counters of the AccECN option.
    pub accecn: AccEcnCounts,
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|&four| u32::from_be_bytes(four))
}

impl Options {
    /// Parses the options up to the first that is incomplete.
    pub fn parse(mut data: &[u8]) -> Options {
        let mut found = Options::default();
        loop {
            let (&kind, rest) = match data.split_first() {
                None | Some((0, _)) => return found,
                Some(first) => first,
            };
            if kind == 1 {
                data = rest;
                continue;
            }
            let length = rest.first().map_or(0, |&length| usize::from(length));
            let Some(body) = data.get(2..length) else { return found };
            data = &data[length..];
            match (kind, body) {
                (2, &[high, low]) => found.mss = Some(u16::from_be_bytes([high, low])),
                (3, &[shift]) => found.scale = Some(shift),
                (4, _) => found.sack_permitted = true,
                (5, body) if body.len() % 8 == 0 => {
                    found.block_count = 0;
                    for (block, pair) in found.blocks.iter_mut().zip(body.chunks_exact(8)) {
                        *block = number(pair).zip(number(&pair[4..])).unwrap_or_default();
                        found.block_count += 1;
                    }
                }
                (174, body) if body.len() % 3 == 0 && body.len() <= 9 => {
                    found.accecn = AccEcnCounts::default();
                    for (counter, field) in found.accecn.counters.iter_mut().zip(body.chunks_exact(3)) {
                        *counter = u32::from_be_bytes([0, field[0], field[1], field[2]]);
                        found.accecn.len += 1;
                    }
                }
                (8, body) if body.len() == 8 => found.timestamps = number(body).zip(number(&body[4..])),
                _ => {}
            }
        }
    }

    /// The SACK blocks.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.block_count]
    }
}

#[cfg(test)]
mod tests {
    use super::{AccEcnCounts, Options};

    #[test]
    fn options_are_read_and_broken_ones_end_them() {
        let none = Options::default();
        let mss = Options { mss: Some(1460), ..none };
        let block = Options { blocks: [(10, 20), (0, 0), (0, 0), (0, 0)], block_count: 1, ..none };
        for (bytes, expected) in [
            (&[2, 4, 5, 0xb4][..], mss),
            (
                &[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7],
                Options { scale: Some(7), sack_permitted: true, timestamps: Some((1, 2)), ..mss },
            ),
            (&[1, 1, 5, 10, 0, 0, 0, 10, 0, 0, 0, 20], block),
            (&[1, 1, 5, 10, 0, 0, 0], none), // cut short
            (
                &[174, 8, 0, 0, 1, 1, 0, 2, 1, 1],
                Options { accecn: AccEcnCounts { len: 2, counters: [1, 0x01_0002, 0] }, ..none },
            ),
            (&[5, 0], none),             // a length of 0
            (&[2, 4, 5, 0xb4, 5], mss),  // no length
            (&[0, 2, 4, 5, 0xb4], none), // after the end-of-options byte
            (&[], none),
        ] {
            assert_eq!(Options::parse(bytes), expected, "{bytes:?}");
        }
    }
}
