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
                let known = held.insert(start, end, Blocks::Whole);
                let run = |from: u64| (from..end).take_while(|p| model.contains(p)).last().map(|last| (from, last + 1));
                prop_assert_eq!(known, (start..end).find_map(run));
                model.extend(start..end);
            }
            prop_assert_eq!(held.is_empty(), model.is_empty());
            prop_assert_eq!(held.bytes(), model.len() as u64);
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
        held.insert(start, start + 10, Blocks::Whole);
    }
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(60, 70), (40, 50), (20, 30)]);
    held.insert(30, 40, Blocks::Whole);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(20, 50), (60, 70)]);
    assert_eq!(held.advance(20), 50);
    held.insert(80, 90, Blocks::Whole);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(80, 90), (60, 70)]);
}

#[test]
fn linux_forgets_all_blocks_but_four_and_what_it_forgot_is_not_reported_with_a_neighbour() {
    let mut held = Reassembly::default();
    for start in [20, 40, 60, 80, 100] {
        held.insert(start, start + 10, Blocks::Remembered);
    }
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(100, 110), (80, 90), (60, 70), (40, 50)]);
    held.insert(30, 40, Blocks::Remembered); // between 20..30, which is forgotten, and 40..50
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(30, 50), (100, 110), (80, 90), (60, 70)]);
    assert_eq!(held.advance(20), 50);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(100, 110), (80, 90), (60, 70)]);
}

#[test]
fn while_acks_are_withheld_the_next_one_reports_what_was_known_before_a_block_beyond_the_first_two() {
    let mut held = Reassembly::default();
    for start in [20, 40] {
        held.insert(start, start + 10, Blocks::Remembered);
    }
    held.insert(60, 70, Blocks::Withheld);
    assert!(held.reports_before());
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(40, 50), (20, 30)]);
    assert!(!held.reports_before());
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(60, 70), (40, 50), (20, 30)]);
    held.insert(70, 80, Blocks::Withheld); // the first block
    assert!(!held.reports_before());
    held.insert(30, 35, Blocks::Withheld); // the third, which grows in its place
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(60, 80), (40, 50), (20, 35)]);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(20, 35), (60, 80), (40, 50)]);
}

#[test]
fn an_ack_of_the_state_before_a_segment_does_not_report_it() {
    let mut held = Reassembly::default();
    held.insert(20, 30, Blocks::Later);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), []);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(20, 30)]);
    held.insert(30, 40, Blocks::Later);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(20, 30)]);
    assert_eq!(held.sack_blocks(0, 4).as_slice(), [(20, 40)]);
}
