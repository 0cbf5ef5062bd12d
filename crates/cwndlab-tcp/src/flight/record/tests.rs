use super::*;
use proptest::prelude::*;

fn counted(record: &Record) -> (u64, u32, u32, u32, u32) {
    let count = |holds: &dyn Fn(&Sent) -> bool| record.list.iter().filter(|sent| holds(sent)).count() as u32;
    let pipe = record.list.iter().map(Sent::in_flight).sum();
    (pipe, count(&|s| s.is(SACKED)), count(&|s| s.is(LOST)), count(&Sent::waits), count(&|s| s.is(AGAIN)))
}

fn recording() -> Record {
    Record { keeps: Keeps { order: true, ..Keeps::default() }, ..Record::default() }
}

#[test]
fn a_timeout_does_not_count_again_as_lost_what_waits_to_be_sent_again() {
    let mut record = recording();
    for start in [1, 11, 21] {
        record.send(start, start + 10, Time::from_secs(1), false);
    }
    record.time_out(Time::ZERO, Time::from_secs(2));
    assert_eq!(record.tally.lost_bytes, 30);
    record.send(1, 11, Time::from_secs(2), false);
    record.time_out(Time::ZERO, Time::from_secs(4)); // the copy is lost, and nothing else
    assert_eq!((record.tally.lost_bytes, record.tally.waiting), (40, 3));
}

#[test]
fn rack_finds_what_a_timeout_had_marked_before_it_proved_spurious() {
    let (mut record, cfg) = (recording(), crate::Profile::Linux6.config());
    for second in 1..4 {
        record.send(10 * second + 1, 10 * second + 11, Time::from_secs(second), false);
    }
    record.time_out(Time::ZERO, Time::from_secs(4));
    let newest = (Time::from_secs(3), 41);
    assert_eq!(record.detect(&cfg, newest, Time::ZERO, Time::from_secs(5)), (false, Time::MAX));
    record.forgive();
    assert_eq!(record.detect(&cfg, newest, Time::ZERO, Time::from_secs(5)), (true, Time::MAX));
    assert_eq!((record.tally.lost, record.tally.waiting), (2, 2), "all but the newest");
}

#[test]
fn nothing_outstanding_takes_no_memory_once_the_record_has_shrunk() {
    let mut record = recording();
    record.send(1, 11, Time::from_secs(1), true);
    record.acknowledge(11);
    record.arrived.clear();
    record.shrink();
    assert_eq!((record.list.capacity(), record.order.capacity(), record.arrived.capacity()), (0, 0, 0));
}

/// Segments of these lengths from position 1 on, sent a second apart from second 1 on.
fn of_lengths(lengths: &[u64]) -> Record {
    let (mut record, mut end) = (recording(), 1);
    for (second, length) in (1..).zip(lengths) {
        record.send(end, end + length, Time::from_secs(second), false);
        end += length;
    }
    record
}

fn flags(record: &Record) -> Vec<u8> {
    record.list.iter().map(|sent| sent.flags).collect()
}

#[test]
fn a_position_is_found_in_the_first_segment_that_ends_beyond_it() {
    for lengths in [&[10, 10, 10, 10][..], &[10, 5, 10, 1], &[5, 10, 10], &[1, 1, 30], &[30, 1, 1, 1, 9]] {
        let mut record = of_lengths(lengths);
        let total = 1 + lengths.iter().sum::<u64>();
        for una in 1..=total {
            record.acknowledge(una);
            for position in 0..total + 3 {
                let before = record.list.iter().filter(|sent| sent.end <= position).count() as u64;
                let expected = record.list.head() + before;
                assert_eq!(record.index(position), expected, "{lengths:?} from {una}, {position}");
            }
        }
    }
}

#[test]
fn an_ack_inside_a_segment_leaves_its_rest_outstanding() {
    let mut record = of_lengths(&[10, 10, 10]);
    record.acknowledge(15);
    let left: Vec<_> = record.list.iter().map(|sent| (sent.start, sent.end, sent.at)).collect();
    assert_eq!(left, [(15, 21, Time::from_secs(2)), (21, 31, Time::from_secs(3))]);
    assert_eq!((record.tally.pipe, record.arrived.len()), (16, 1), "one segment as a whole");
    record.acknowledge(21);
    assert_eq!(
        (record.tally.pipe, record.arrived.len(), record.order.front()),
        (10, 2, Some(&(Time::from_secs(3), 31)))
    );
}

#[test]
fn the_short_way_takes_only_whole_segments_that_were_sent_once_and_not_reported() {
    let found = |record: &mut Record, una: u64| {
        record
            .acknowledge_plain(una)
            .map(|a| (a.first_at.as_nanos() / 1_000_000_000, a.at.as_nanos() / 1_000_000_000, a.end, a.only))
    };
    let mut record = of_lengths(&[10, 10, 5, 10]);
    for (una, expected) in [(5, None), (15, None), (36, Some((1, 4, 36, None))), (37, None), (1, None)] {
        assert_eq!(found(&mut record.clone(), una), expected, "{una}");
    }
    assert_eq!(found(&mut record, 11), Some((1, 1, 11, Some(10))));
    assert_eq!((record.tally.pipe, record.list.len()), (25, 3));
    assert_eq!(found(&mut record, 26), Some((2, 3, 26, None)));
    assert_eq!(record.order.front(), Some(&(Time::from_secs(4), 36)));
    for what in [Keeps { acknowledged: true, ..Keeps::default() }, Keeps { round_trips: true, ..Keeps::default() }] {
        let mut record = of_lengths(&[10, 10]);
        record.keep(what);
        assert_eq!(found(&mut record, 11), None, "these are kept on the long way");
    }
    // (what was sent again or reported, and how far the short way goes)
    for (again, reported, short) in
        [((1, 11), (1, 1), 1), ((11, 21), (1, 1), 11), ((1, 1), (11, 21), 11), ((1, 1), (21, 31), 21)]
    {
        let mut record = of_lengths(&[10, 10, 10]);
        if again.0 < again.1 {
            record.send(again.0, again.1, Time::from_secs(9), false);
        }
        record.sack(reported, reported.0, reported.1);
        for una in [11, 21, 31] {
            assert_eq!(found(&mut record.clone(), una).is_some(), una <= short, "{again:?} {reported:?} {una}");
        }
    }
}

#[test]
fn a_block_reports_the_segments_that_it_covers_completely() {
    for (block, expected) in [
        ((11, 31), [0, SACKED, SACKED, 0]),
        ((12, 31), [0, 0, SACKED, 0]),
        ((11, 30), [0, SACKED, 0, 0]),
        ((10, 21), [0, SACKED, 0, 0]),
        ((1, 41), [SACKED; 4]),
        ((12, 20), [0; 4]),
    ] {
        let mut record = of_lengths(&[10, 10, 10, 10]);
        record.sack(block, block.0, block.1);
        assert_eq!(flags(&record), expected, "{block:?}");
        assert_eq!(record.arrived.iter().filter(|arrived| arrived.sacked).count() as u32, record.tally.sacked);
        record.sack(block, block.0, block.1);
        assert_eq!(record.arrived.len() as u32, record.tally.sacked, "the same block again is no news");
    }
    // Only the part that was not reported before is looked at.
    let mut record = of_lengths(&[10, 10, 10]);
    record.sack((1, 31), 1, 11);
    assert_eq!(flags(&record), [SACKED, 0, 0]);
    // A copy that was in the network is not any more, and what was lost is not.
    let mut record = of_lengths(&[10, 10]);
    assert!(record.lose_first() && !record.lose_first());
    record.send(1, 11, Time::from_secs(5), false);
    assert_eq!((flags(&record), record.tally.again), (vec![LOST | AGAIN | REPEATED, 0], 1));
    record.sack((1, 11), 1, 11);
    assert_eq!((flags(&record), record.tally.again, record.tally.lost), (vec![SACKED | REPEATED, 0], 0, 0));
}

/// RFC 8985, section 6.2, step 5: lost is what was sent before the newest arrival, a reordering window ago or longer.
#[test]
fn a_segment_is_lost_once_the_window_since_its_transmission_has_passed() {
    let cfg = crate::Profile::Rfc5681.config();
    let at = Time::from_secs;
    let newest = (at(3), 31);
    // (time, lost segments, and when the last of the others is due)
    for (now, lost, due) in [(5, 0, 7), (6, 1, 7), (7, 2, u64::MAX)] {
        let mut record = of_lengths(&[10, 10, 10, 10]);
        let (found, until) = record.detect(&cfg, newest, at(5), at(now));
        let expected = if due == u64::MAX { Time::MAX } else { at(due) };
        assert_eq!((found, record.tally.lost, until), (lost > 0, lost, expected), "{now}");
        assert_eq!((record.tally.lost_bytes, record.tally.pipe), (10 * u64::from(lost), 40 - 10 * u64::from(lost)));
    }
    // Of two that were sent at the same time the one with the lower end counts as sent before (`RACK_sent_after`).
    let mut record = recording();
    record.send(1, 11, at(1), true);
    record.send(11, 21, at(1), false);
    assert_eq!(record.detect(&cfg, (at(1), 21), Time::ZERO, at(1)), (true, Time::MAX));
    assert_eq!(flags(&record), [LOST, 0]);
    // A transmission whose segment has been sent again since is passed over, and so is a reported one.
    let mut record = of_lengths(&[10, 10, 10]);
    record.send(1, 11, at(4), false);
    record.sack((11, 21), 11, 21);
    assert_eq!(record.detect(&cfg, (at(3), 31), Time::ZERO, at(9)), (false, Time::MAX));
    assert_eq!(flags(&record), [AGAIN | REPEATED, SACKED, 0]);
}

/// RFC 8985, section 6.3: on a timeout the first segment is lost, and those sent a reordering window ago or longer.
#[test]
fn a_timeout_loses_the_first_segment_and_old_ones() {
    const LATE: u8 = LOST | BY_TIMEOUT;
    for (wait, now, expected) in [(9, 9, [LATE, 0, 0]), (7, 9, [LATE, LATE, 0]), (6, 9, [LATE; 3])] {
        let mut record = of_lengths(&[10, 10, 10]);
        assert!(!record.time_out(Time::from_secs(wait), Time::from_secs(now)));
        assert_eq!(flags(&record), expected, "{wait}");
    }
    // Reported segments are kept, unless the first is one: then no report counts (RFC 2018, section 8).
    for (block, void, expected) in [((11, 21), false, [LATE, SACKED, LATE]), ((1, 21), true, [LATE; 3])] {
        let mut record = of_lengths(&[10, 10, 10]);
        record.sack(block, block.0, block.1);
        assert_eq!(record.time_out(Time::ZERO, Time::from_secs(9)), void);
        assert_eq!(flags(&record), expected, "{block:?}");
    }
}

#[test]
fn what_waits_is_sent_again_from_the_lowest_on_in_runs() {
    let mut record = of_lengths(&[10, 10, 5, 10, 10]);
    record.sack((26, 36), 26, 36);
    assert_eq!(record.next_to_resend().map(|sent| sent.start), None);
    record.time_out(Time::ZERO, Time::from_secs(9));
    let starts: Vec<_> = record.list.iter().filter(|sent| sent.waits()).map(|sent| sent.start).collect();
    assert_eq!(starts, [1, 11, 21, 36]);
    for (start, limit, most, end) in [
        (1, 99, 9, 26), // up to what is reported
        (1, 99, 2, 21),
        (1, 20, 9, 11),
        (1, 21, 9, 21),
        (1, 10, 9, 1),
        (36, 46, 9, 46),
        (26, 99, 9, 26),
        (1, 99, 0, 1),
    ] {
        assert_eq!(record.resendable(start, limit, most), end, "{start} {limit} {most}");
    }
    let mut order = Vec::new();
    while let Some(sent) = record.next_to_resend() {
        assert_eq!(record.first_to_resend().map(|first| first.start), Some(sent.start));
        record.send(sent.start, sent.end, Time::from_secs(10), false);
        order.push(sent.start);
    }
    assert_eq!(order, [1, 11, 21, 36]);
    // A loss below the place of the search moves it back.
    record.time_out(Time::ZERO, Time::from_secs(20));
    assert_eq!(record.next_to_resend().map(|sent| sent.start), Some(1));
}

#[test]
fn what_was_sent_again_is_new_beyond_what_was_known() {
    let mut record = of_lengths(&[10, 10]);
    record.send(11, 31, Time::from_secs(7), false); // a copy with new data after it
    let found: Vec<_> =
        record.list.iter().map(|sent| (sent.start, sent.end, sent.at.as_nanos() / 1_000_000_000)).collect();
    assert_eq!(found, [(1, 11, 1), (11, 21, 7), (21, 31, 7)]);
    assert_eq!((flags(&record), record.repeated_to), (vec![0, AGAIN | REPEATED, 0], 31));
    record.send(1, 5, Time::from_secs(8), false); // a part stands for its segment
    assert_eq!((flags(&record)[0], record.repeated_to, record.tally.again), (AGAIN | REPEATED, 31, 2));
}

proptest! {
    #[test]
    fn the_sums_are_those_of_the_segments_and_what_waits_is_found(
        steps in proptest::collection::vec((0_u8..7, 0_u64..40, 1_u64..12), 1..120)
    ) {
        let cfg = crate::Profile::Linux6.config();
        let (mut record, mut una, mut end) = (recording(), 1, 1);
        for (second, (what, at, len)) in steps.into_iter().enumerate() {
            let now = Time::from_secs(second as u64 + 1);
            match what {
                0 | 1 => {
                    record.send(end, end + len, now, false);
                    end += len;
                }
                2 => {
                    una = (una + at).min(end);
                    record.acknowledge(una);
                }
                3 => {
                    let (left, right) = ((una + at).min(end), (una + at + 3 * len).min(end));
                    record.sack((left, right), left, right);
                }
                4 => {
                    let (_, next) = record.detect(&cfg, (now, u64::MAX), Time::from_secs(at), now);
                    prop_assert!(next > now);
                }
                6 => {
                    record.forgive();
                    prop_assert_eq!((record.tally.lost, record.tally.waiting), (0, 0));
                }
                _ => {
                    record.time_out(Time::from_secs(at), now);
                    prop_assert!(record.list.is_empty() || record.tally.waiting > 0);
                }
            }
            if let Some(waiting) = record.next_to_resend() {
                prop_assert!(waiting.waits());
                if len > 6 {
                    record.send(waiting.start, waiting.end, now, false);
                }
            } else {
                prop_assert!(!record.list.iter().any(Sent::waits));
            }
            let Tally { pipe, sacked, lost, waiting, again, .. } = record.tally;
            let sums = (pipe, sacked, lost, waiting, again);
            prop_assert_eq!(sums, counted(&record));
            prop_assert!(record.list.iter().zip(record.list.iter().skip(1)).all(|(a, b)| a.end == b.start));
        }
    }
}
