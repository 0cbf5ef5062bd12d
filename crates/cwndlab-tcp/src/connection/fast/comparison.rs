//! Compares each short path with the long way: the same segments, and the same state afterwards.
//! `connection::properties` runs these comparisons on random connections over random paths.

use cwndlab_units::Time;

use crate::config::TcpConfig;
use crate::connection::{Connection, Polled, Quick};
use crate::segment::Segment;

/// The whole state of an end, except what is used only while an ACK is processed.
pub fn state(end: &Connection) -> String {
    let mut end = end.clone();
    end.sender.outstanding.begin_ack();
    format!("{end:?}")
}

/// Delivers a segment. If `compare`, an expected segment is also taken the long way, which must have the same result.
pub fn deliver(cfg: &TcpConfig, end: &mut Connection, now: Time, segment: &Segment, compare: bool) {
    let full = (compare && segment.sack.len == 0 && segment.accecn.is_none() && end.is_expected(segment)).then(|| {
        let mut full = end.clone();
        full.stats.segments_received += 1;
        full.take_any(cfg, now, segment);
        state(&full)
    });
    end.handle_segment(cfg, now, segment);
    let same = full.is_none_or(|full| full == state(end));
    assert!(same, "an expected segment is taken otherwise than in full: {segment:?}");
}

/// Polls. If `compares`, the result is compared with that of the long way.
pub fn poll(end: &mut Connection, cfg: &TcpConfig, now: Time, compares: bool) -> Option<Segment> {
    let full = compares.then(|| {
        let mut full = end.clone();
        (full.poll_any(cfg, now), full)
    });
    let mut last = Polled::default();
    let polled = match end.poll_quick(cfg, now, &mut last) {
        Quick::Nothing => None,
        Quick::Segment { header, last } => {
            assert!(!last || end.clone().poll_any(cfg, now).is_none(), "something follows the last segment");
            Some(header.into())
        }
        Quick::Ask => end.poll_asked(cfg, now, &last),
    };
    if let Some((segment, mut full)) = full {
        // This field matters only if only windows in use may grow.
        full.sender.stopped_by_cwnd = end.sender.stopped_by_cwnd;
        assert_eq!(segment, polled, "a short path gives another segment");
        assert_eq!(format!("{full:?}"), format!("{end:?}"), "a short path leaves another state");
    }
    polled
}
