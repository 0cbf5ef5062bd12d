//! What SACK does to the `sk_buff`s that have been sent: a block splits those that it reports in part, and joins what it
//! reports with what was reported before it (`tcp_match_skb_to_sack`, `tcp_shift_skb_data`).

use super::{Skb, Trains};

impl Trains {
    /// Takes the SACK blocks of an ACK, lowest first.
    pub fn take_blocks(&mut self, blocks: impl Iterator<Item = (u64, u64)>, una: u64, mss: u64) {
        self.forget(una);
        for block in blocks {
            let mut place = self.sent.partition_point(|skb| skb.end <= block.0);
            while place < self.sent.len() && self.start(place, una) < block.1 {
                place = self.take_part(place, block, una, mss);
            }
        }
    }

    fn start(&self, place: usize, una: u64) -> u64 {
        place.checked_sub(1).map_or(una, |before| self.sent[before].end)
    }

    /// Takes what a block reports of one `sk_buff`. Returns the place of the next one.
    fn take_part(&mut self, place: usize, (left, right): (u64, u64), una: u64, mss: u64) -> usize {
        let (start, Skb { end, reported }) = (self.start(place, una), self.sent[place]);
        if reported {
            return place + 1;
        }
        let follows = place > 0 && self.sent[place - 1].reported && (end - start) % mss == 0;
        let is_whole = left <= start && right >= end;
        if is_whole && follows {
            self.sent[place - 1].end = end;
            self.sent.remove(place);
            if self.sent.get(place).is_some_and(|next| next.reported && (next.end - end) % mss == 0) {
                self.sent.remove(place - 1);
            }
        } else if is_whole {
            self.sent[place].reported = true;
            return place + 1;
        } else if left > start {
            let unreported = (left - start).div_ceil(mss) * mss;
            if start + unreported >= end {
                return place + 1;
            }
            self.sent.insert(place, Skb { end: start + unreported, reported: false });
            return place + 1;
        } else {
            let part = (right - start) / mss * mss;
            if part == 0 {
                return place + 1;
            }
            if follows {
                self.sent[place - 1].end = start + part;
            } else {
                self.sent.insert(place, Skb { end: start + part, reported: true });
            }
            return place + 1;
        }
        place
    }
}
