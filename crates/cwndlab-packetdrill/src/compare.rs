//! Compares the segments that the endpoint sent with those that the script expects.

use crate::error::{wrong, Result};
use crate::machine::Machine;
use crate::options::ToolOptions;
use crate::script::{EcnBits, Options, Packet};
use crate::segment::show;
use cwndlab_tcp::Flags;
use cwndlab_units::Time;

/// Compares a segment that was sent with the expected one. The tolerance for TCP timestamps depends on the machine's
/// current time.
pub(crate) fn compare(line: usize, machine: &Machine, expected: &Packet, found: &Packet) -> Result<()> {
    let Some(what) = difference(&machine.options, machine.now, expected, found) else { return Ok(()) };
    let shown = Packet { window: expected.window.and(found.window), ecn: expected.ecn.and(found.ecn), ..found.clone() };
    wrong(line, format!("{what}: expected {}, but the endpoint sent {}", show(expected), show(&shown)))
}

/// The first field that differs. PSH is not compared.
fn difference(options: &ToolOptions, now: Time, expected: &Packet, found: &Packet) -> Option<&'static str> {
    if (expected.flags ^ found.flags) & !Flags::PSH.0 != 0 {
        return Some("flags");
    }
    if expected.len != found.len || expected.seq.is_some_and(|seq| Some(seq) != found.seq) {
        return Some("sequence numbers");
    }
    // An expected ACK without a number means ACK 0, as in packetdrill.
    if found.ack.is_some_and(|ack| ack != expected.ack.unwrap_or(0)) {
        return Some("acknowledgment");
    }
    if !options.ignore_windows && expected.window.is_some() && expected.window != found.window {
        return Some("window");
    }
    let ecn_fits = match (expected.ecn, found.ecn) {
        (Some(EcnBits::Ect01), Some(found)) => matches!(found, EcnBits::Ect0 | EcnBits::Ect1),
        (Some(expected), Some(found)) => expected == found,
        _ => true,
    };
    if !ecn_fits {
        return Some("ECN bits");
    }
    let (Some(expected), Some(found)) = (&expected.options, &found.options) else { return None };
    (!options_fit(options, now, expected, found)).then_some("options")
}

fn options_fit(options: &ToolOptions, now: Time, expected: &Options, found: &Options) -> bool {
    let timestamps = match (expected.timestamps, found.timestamps) {
        (Some((val, ecr)), Some((sent_val, sent_ecr))) => {
            ecr == sent_ecr && timestamp_fits(options, now, val.abs_diff(sent_val))
        }
        (expected, found) => expected.is_none() && found.is_none(),
    };
    timestamps
        && expected.mss == found.mss
        && expected.window_scale.is_some() == found.window_scale.is_some()
        && (options.ignore_windows || expected.window_scale == found.window_scale)
        && expected.sack_permitted == found.sack_permitted
        && expected.sack == found.sack
        && expected.accecn == found.accecn
}

/// Whether a TS val that differs by `off_ticks` is within the tolerance. As in packetdrill, this tolerance is relative
/// to the time since the script's beginning.
fn timestamp_fits(options: &ToolOptions, now: Time, off_ticks: u32) -> bool {
    let off_us = u64::from(off_ticks) * u64::from(options.timestamp_tick_us);
    off_us * 1_000 <= options.tolerance.over(now).as_nanos()
}
