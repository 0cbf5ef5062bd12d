//! The rows of links: their counters at the end of a run, and at the times of snapshots.

use super::*;
use crate::tables::Links;

fn counters() -> LinkCounters {
    let mut drops = [0; DropCause::COUNT];
    drops[DropCause::Full as usize] = 2;
    drops[DropCause::Aqm as usize] = 3;
    drops[DropCause::Loss as usize] = 5;
    LinkCounters {
        arrivals: 20,
        accepted: 10,
        bytes: 10_000,
        drops,
        marks: 1,
        busy: Time::from_millis(80),
        sojourn: Time::from_millis(1500),
        max_packets: 4,
    }
}

#[test]
fn a_link_has_a_row_with_its_counters_at_the_end() {
    let mut recorder = recorder();
    let regions = Regions { below: Time::from_millis(1), between: Time::from_millis(2), above: Time::from_millis(3) };
    recorder.link(0, &counters(), Some(regions));
    let records = recorder.finish();
    let rows: Vec<_> = Links::rows(records.table("links").unwrap()).unwrap().collect();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.link, row.arrivals, row.departures, row.bytes), (0, 20, 10, 10_000));
    assert_eq!((row.drops_full, row.drops_aqm, row.drops_loss, row.marks), (2, 3, 5, 1));
    assert_eq!((row.busy_ns, row.max_queue_packets), (80_000_000, 4));
    // 1.5 packet-seconds in the second of the run
    assert!((row.mean_queue_packets - 1.5).abs() < 1e-12, "{}", row.mean_queue_packets);
    let regions = (row.red_below_ns, row.red_between_ns, row.red_above_ns);
    assert_eq!(regions, (Some(1_000_000), Some(2_000_000), Some(3_000_000)));
}

#[test]
fn a_snapshot_of_a_link_has_its_mean_queue_until_then() {
    let mut recorder = recorder();
    recorder.snapshot_link(Time::from_millis(500), 0, &counters(), None);
    let records = recorder.finish();
    assert_eq!(records.table("links").unwrap().rows(), 0);
    let rows: Vec<_> = crate::tables::LinkSnapshots::rows(records.table("link_snapshots").unwrap()).unwrap().collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].time_ns, 500_000_000);
    assert!((rows[0].mean_queue_packets - 3.0).abs() < 1e-12);
    assert_eq!(rows[0].red_below_ns, None);
}
