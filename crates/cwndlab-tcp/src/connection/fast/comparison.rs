//! Compares each short path with the full path: both must send the same segments and leave the connection in the same
//! state. `connection::properties` runs these comparisons on random connections over random paths.

use cwndlab_units::Time;

use crate::config::TcpConfig;
use crate::connection::fast::Rest;
use crate::connection::{Connection, Polled, Quick};
use crate::segment::{Header, Segment};

/// The whole state of an end as text, except what is used only while an ACK is processed.
pub fn state(end: &Connection) -> String {
    let mut end = end.clone();
    end.sender.outstanding.begin_ack();
    end.rest = Rest::Busy;
    format!("{end:?}")
}

/// Delivers a segment. If `compare` is set and the segment is expected, a copy of the connection processes the segment
/// by the full path, which must have the same result.
pub fn deliver(cfg: &TcpConfig, end: &mut Connection, now: Time, segment: &Segment, compare: bool) {
    let bare = segment.sack.len == 0 && segment.accecn.is_none();
    let expected = if bare { end.is_expected(segment) } else { end.is_expected_accurate(segment) };
    let full = (compare && expected).then(|| {
        let mut full = end.clone();
        full.stats.segments_received += 1;
        full.take_any(cfg, now, segment);
        state(&full)
    });
    end.handle_segment(cfg, now, segment);
    let same = full.is_none_or(|full| full == state(end));
    assert!(same, "an expected segment is taken otherwise than in full: {segment:?}");
}

/// Polls a connection. If `compares` is set, the result is compared with that of the full path on a copy, and so is that of
/// the next call.
pub fn poll(end: &mut Connection, cfg: &TcpConfig, now: Time, compares: bool) -> Option<Segment> {
    let full = compares.then(|| {
        let mut full = end.clone();
        (full.poll_any(cfg, now), full)
    });
    let mut last = Polled::default();
    let (polled, is_held) = poll_short(end, cfg, now, &mut last);
    if let Some((segment, mut full)) = full {
        if is_held {
            full.poll_any(cfg, now); // the short path has done so
        }
        // `stopped_by_cwnd` matters only if `grow_only_if_cwnd_limited` is set.
        full.sender.stopped_by_cwnd = end.sender.stopped_by_cwnd;
        assert_eq!(segment, polled, "a short path gives another segment");
        assert_eq!(format!("{full:?}"), format!("{end:?}"), "a short path leaves another state");
        let next = poll_short(&mut end.clone(), cfg, now, &mut last).0;
        assert_eq!(end.clone().poll_any(cfg, now), next, "a short path gives another next segment");
    }
    polled
}

/// Polls a connection by the short paths. Returns the segment, and whether the pacer holds back what follows it.
fn poll_short(end: &mut Connection, cfg: &TcpConfig, now: Time, kept: &mut Polled) -> (Option<Segment>, bool) {
    let mut header = Header::default();
    let (segment, ends) = match end.poll_quick(cfg, now, kept, &mut header) {
        Quick::Nothing => return (None, false),
        Quick::Ask => return (end.poll_asked(cfg, now, kept), false),
        Quick::Segment { last } => (header.into(), last),
        Quick::Accurate => {
            let (option, last) = end.poll_accurate(cfg, now, kept, &mut header);
            (Segment { accecn: Some(option), ..Segment::from(header) }, last)
        }
    };
    assert!(!ends || end.clone().poll_any(cfg, now).is_none(), "something follows the last segment");
    (Some(segment), ends && header.len > 0)
}
