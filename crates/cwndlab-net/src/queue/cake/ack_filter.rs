//! The ACK filter of `cake_ack_filter`: which waiting ACK the packet at the tail makes redundant.

use crate::queue::fifo::Fifo;
use crate::{Ack, Packet};

/// The position of an ACK to drop. Of two ACKs with SACK blocks none is dropped, because their blocks are not known here.
pub(super) fn redundant<P: Packet>(fifo: &Fifo<P>, aggressive: bool) -> Option<u32> {
    let last = fifo.len().checked_sub(1).filter(|&last| last > 0)?;
    let tail = fifo.get(last)?;
    let newest = tail.ack().filter(|ack| ack.acknowledges)?;
    let mut eligible: Option<(u32, u8)> = None;
    let mut found = 0;
    for place in 0..last {
        let Some(packet) = fifo.get(place).filter(|packet| packet.flow_key() == tail.flow_key()) else { continue };
        let Some(ack) = packet.ack() else { continue };
        if eligible.is_some_and(|(_, flags)| flags != ack.ecn_flags) {
            // The signal of the earlier one would be lost.
            (eligible, found) = (None, found - 1);
        }
        if !is_covered(&ack, &newest) {
            continue;
        }
        eligible = eligible.or(Some((place, ack.ecn_flags)));
        found += 1;
        if found > 1 {
            return eligible.map(|(place, _)| place);
        }
    }
    let (place, flags) = eligible?;
    (aggressive && place + 1 == last && flags == newest.ecn_flags).then_some(place)
}

/// Whether an ACK says nothing that the newest one does not (`cake_tcph_may_drop`, `cake_tcph_sack_compare`).
fn is_covered(ack: &Ack, newest: &Ack) -> bool {
    let after = |a: u32, b: u32| (b.wrapping_sub(a) as i32) < 0;
    let (value, echo) = newest.timestamps.unwrap_or((0, 0));
    let stamped_later = ack.timestamps.is_some_and(|own| after(own.0, value) || after(own.1, echo));
    let sack_more = newest.sack && !ack.sack;
    ack.pure
        && !stamped_later
        && !after(ack.number, newest.number)
        && !ack.sack
        && (ack.number != newest.number || sack_more)
}
