use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn reassembly_is_a_set_of_bytes_and_reports_true_blocks(
        pieces in proptest::collection::vec((2_u64..60, 1_u64..9, any::<bool>()), 1..40)
    ) {
        let (mut held, mut model, mut next) = (Reassembly::default(), BTreeSet::new(), 1_u64);
        for (offset, len, fills) in pieces {
            let start = if fills { next } else { next + offset };
            let end = start + len;
            if fills {
                next = held.advance(end);
                model.extend(start..end);
                let reached = (start..10_000).find(|p| !model.contains(p)).unwrap();
                prop_assert_eq!(next, reached);
                model = model.split_off(&next);
            } else {
                let known = held.insert(start, end);
                let run = |from: u64| (from..end).take_while(|p| model.contains(p)).last().map(|last| (from, last + 1));
                prop_assert_eq!(known, (start..end).find_map(run));
                model.extend(start..end);
            }
            prop_assert_eq!(held.is_empty(), model.is_empty());
            let blocks = held.sack_blocks(0, 4);
            for &(left, right) in blocks.as_slice() {
                for p in left..right {
                    prop_assert!(model.contains(&u64::from(p)), "{p} is reported but not held");
                }
            }
            if !fills {
                // RFC 2018, section 4: the first block holds the segment that caused the ACK
                let (left, right) = blocks.as_slice()[0];
                prop_assert!(u64::from(left) <= start && end <= u64::from(right));
            }
        }
    }
}

#[test]
fn blocks_come_in_the_order_in_which_they_were_last_first_and_a_merged_one_counts_once() {
    // RFC 2018, section 4
    let mut held = Reassembly::default();
    for start in [20, 40, 60] {
        held.insert(start, start + 10);
    }
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(60, 70), (40, 50), (20, 30)]);
    held.insert(30, 40);
    assert_eq!(held.depth(), 1);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(20, 50), (60, 70)]);
    assert_eq!(held.advance(20), 50);
    held.insert(80, 90);
    assert_eq!(held.depth(), 1);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(80, 90), (60, 70)]);
}
