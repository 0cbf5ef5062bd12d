//! Which buffers of segments that SACK reports Linux merges (`tcp_shift_skb_data`). A segment is merged with the one
//! before if that was reported, and then also with the one after; without one before, it stays on its own. What the last
//! ACK reported, too, is not looked at again (`recv_sack_cache`). A block that ends within a merged buffer splits it
//! (`tcp_match_skb_to_sack`).

use crate::flight::Scoreboard;

type Blocks = [(u64, u64); 4];

/// The places where reported segments touch without being merged.
#[derive(Clone, Debug, Default)]
pub(super) struct Merging {
    joints: Vec<u64>,
    /// The blocks of the last ACK that had any, and empty ones.
    last: Blocks,
}

impl Merging {
    /// Takes the valid blocks of an ACK, lowest first, before they are `reported`.
    pub fn take_blocks(&mut self, blocks: impl Iterator<Item = (u64, u64)>, reported: &Scoreboard, mss: u32) {
        let from = first_reported(reported);
        self.joints.retain(|joint| *joint > from);
        let last = std::mem::take(&mut self.last).map(|block| if reported.is_empty() { (0, 0) } else { block });
        for ((start, end), place) in blocks.zip(0..) {
            self.last[place] = (start, end);
            self.look_at(start, end, &last, reported);
            // The hole to which the block begins, if nothing is reported immediately before it.
            let (hole, next) = reported.hole(start - 1);
            let alone = hole < start && start < next && next <= end && next - start <= u64::from(mss);
            if alone && last.iter().any(|block| block.0 == next) {
                self.joints.push(next);
            }
        }
    }

    /// Merges what Linux looks at in a block: all but what the last ACK reported.
    fn look_at(&mut self, start: u64, end: u64, last: &Blocks, reported: &Scoreboard) {
        let mut from = start;
        let known = last.iter().filter(|&&(a, b)| a < end && start < b);
        for &(a, b) in known.chain([&(end, end)]) {
            if from < a {
                self.joints.retain(|joint| !(from..a).contains(joint));
                if reported.hole(a - 1).0 >= a && reported.hole(a).0 > a {
                    self.joints.push(a);
                }
            }
            from = from.max(b);
        }
    }

    /// Number of segments of `mss` bytes that are merged with the one before.
    pub fn merged(&self, reported: &Scoreboard, mss: u32) -> u64 {
        let full =
            reported.ranges().map(|(start, end)| ((end - start) / u64::from(mss)).saturating_sub(1)).sum::<u64>();
        let from = first_reported(reported);
        full.saturating_sub(self.joints.iter().filter(|joint| **joint > from).count() as u64)
    }
}

fn first_reported(reported: &Scoreboard) -> u64 {
    reported.ranges().next().map_or(u64::MAX, |range| range.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports blocks of segments of 10 bytes, as ACKs do. Returns how many segments are merged after each.
    fn merged(acks: &[&[(u64, u64)]]) -> Vec<u64> {
        let (mut merging, mut reported) = (Merging::default(), Scoreboard::default());
        let mut report = |blocks: &&[(u64, u64)]| {
            merging.take_blocks(blocks.iter().copied(), &reported, 10);
            blocks.iter().for_each(|&(start, end)| {
                reported.insert(start, end);
            });
            merging.merged(&reported, 10)
        };
        acks.iter().map(&mut report).collect()
    }

    #[test]
    fn a_segment_is_merged_with_the_one_before_and_only_then_with_the_one_after() {
        let acks: [&[(u64, u64)]; 5] = [&[(21, 31)], &[(11, 31)], &[(11, 41)], &[(11, 41), (61, 71)], &[(11, 71)]];
        assert_eq!(merged(&acks), [0, 0, 1, 1, 4]);
        let acks: [&[(u64, u64)]; 2] = [&[(101, 111)], &[(81, 111)]];
        assert_eq!(merged(&acks), [0, 2], "the second of two is merged with the first, and then with the one after");
    }

    #[test]
    fn what_the_last_ack_did_not_report_is_looked_at_again() {
        let acks: [&[(u64, u64)]; 3] = [&[(21, 31)], &[(61, 71)], &[(11, 31), (61, 71)]];
        assert_eq!(merged(&acks), [0, 0, 1], "joined from below");
        let acks: [&[(u64, u64)]; 4] = [&[(21, 31)], &[(11, 31)], &[(61, 71)], &[(11, 31), (61, 71)]];
        assert_eq!(merged(&acks), [0, 0, 0, 1], "the block comes again");
        let acks: [&[(u64, u64)]; 4] = [&[(11, 51)], &[(61, 71)], &[(11, 31)], &[(11, 51)]];
        assert_eq!(merged(&acks), [3, 3, 2, 3], "a part of it splits it; what follows joins it again");
    }
}
