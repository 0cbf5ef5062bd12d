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
