//! More accurate ECN feedback (AccECN, RFC 9768) as in Linux (`include/net/tcp_ecn.h`, `net/ipv4/tcp_input.c` and
//! `tcp_output.c` of 6.18 and later, which name the RFC's sections and tables).
//!
//! - Handshake (the RFC's table 2): [`Mode::of_syn`], [`Mode::of_syn_ack`]. Each end reports the ECN codepoint of the
//!   SYN or SYN-ACK that it received ([`reflected`]). The report reveals a network that rewrites the field
//!   ([`NOT_ECT`]).
//!
//! - The ACE field counts the packets that arrived with CE, modulo 8: [`AccEcn::on_arrival`], [`AccEcn::flags`]. From
//!   the field, the other end infers how many packets were marked: [`AccEcn::newly_marked`].
//!
//! - The option counts bytes by codepoint, modulo 2^24, in one of two orders: [`AccEcn::option`],
//!   [`AccEcn::read_option`].

use crate::ecn::{CE, ECT_0, ECT_1};
use crate::segment::{AccEcnOption, Flags, Header, Segment};

/// Initial value of the ACE field. It is not 0, so that a field cleared by the network is recognized
/// (`TCP_ACCECN_CEP_INIT_OFFSET`).
const ACE_OFFSET: u32 = 5;
const ACE_MASK: u32 = 7;
/// Number of unreported CE marks that triggers an ACK (`TCP_ACCECN_ACE_MAX_DELTA`).
const MOST_PENDING: u8 = 6;
/// Number of bits of each counter in the option.
const FIELD_BITS: u32 = 24;

/// The kind of ECN agreed on in the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Mode {
    /// No ECN, or not agreed on yet.
    #[default]
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

impl Mode {
    /// How a server interprets a SYN (table 2): any combination but 000 and 011 requests AccECN.
    pub fn of_syn(flags: Flags) -> Mode {
        match flags.ace() {
            0b000 => Mode::Off,
            0b011 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }

    /// How a client that requested AccECN interprets the SYN-ACK (table 2).
    pub fn of_syn_ack(flags: Flags) -> Mode {
        match flags.ace() {
            0b000 | 0b111 => Mode::Off, // no ECN, or flags that were reflected
            0b001 | 0b101 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }
}

/// The codepoint with which this end sends SYN and SYN-ACK. No network that follows the rules changes it
/// (`tcp_ect_transition_valid`).
const NOT_ECT: u8 = 0;

/// ACE fields of the handshake, each with the codepoint that it reports.
const REFLECTED: [(u8, u8); 4] = [(0b010, NOT_ECT), (0b011, ECT_1), (0b100, ECT_0), (0b110, CE)];

/// Returns the flags that report that a SYN or SYN-ACK arrived with `codepoint`.
pub(crate) fn reflected(codepoint: u8) -> Flags {
    Flags::of_ace(REFLECTED.iter().find(|known| known.1 == codepoint).map_or(0b010, |known| known.0))
}

/// Returns the codepoint that an ACE field of the handshake reports; `None` if it reports none.
fn reported(ace: u8) -> Option<u8> {
    REFLECTED.iter().find(|known| known.0 == ace).map(|known| known.1)
}

/// AccECN's state at one end, as sender and as receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccEcn {
    pub mode: Mode,
    /// The codepoint of the SYN or SYN-ACK that was received.
    syn_codepoint: u8,
    /// Whether the next pure ACK is the handshake's last segment, which reports `syn_codepoint`.
    pub reflects: bool,
    /// Whether the feedback is unreliable. If so, nothing is sent with ECT, and reported marks are ignored
    /// (`TCP_ACCECN_ACE_FAIL_RECV`).
    pub distrusted: bool,
    /// Packets that arrived with CE.
    received_ce: u32,
    /// Packets that arrived with CE and have not been reported yet.
    pending: u8,
    /// Payload bytes that arrived, in the order of the fields of the option: ECT(1), CE, ECT(0).
    received_bytes: [u32; 3],
    /// The codepoint of the last arrival.
    last_codepoint: u8,
    /// Minimum number of fields in the next option, so that it reports everything that has arrived since the last
    /// option.
    least_fields: usize,
    /// Packets of this end that arrived at the peer with CE, as the peer reports them.
    pub delivered_ce: u32,
    /// Payload bytes of this end that arrived at the peer, by codepoint, as the peer reports them.
    pub delivered_bytes: [u32; 3],
    /// The option that was read last, if `delivered_bytes` still has its counters.
    last_option: Option<AccEcnOption>,
    /// The codepoint whose counter was last seen to grow (`est_ecnfield`). If an ACK has no option, the bytes that it
    /// delivers are counted for this codepoint. 0 if no counter has grown yet, or if the last option was ambiguous.
    estimated: u8,
    /// Whether the peer has sent an option with counters.
    saw_option: bool,
    /// Whether the first option with counters had a counter of 0 that only a network can have written.
    option_distrusted: bool,
    /// The latest timestamp received.
    newest_stamp: Option<u32>,
    /// Whether the first data has been acknowledged.
    data_acknowledged: bool,
}

/// What an ACK acknowledges and reports, for [`AccEcn::newly_marked`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub delivered_packets: u32,
    pub delivered_bytes: u32,
    /// Largest payload of a segment.
    pub mss: u32,
    /// Whether the ACK acknowledges or reports anything new.
    pub forward: bool,
    /// Whether the number of segments delivered is exact (with SACK, or outside recovery).
    pub exact: bool,
    /// Payload bytes acknowledged before this ACK.
    pub acked_before: u64,
}

/// Initial values of the option's counters, in either order (`tcp_accecn_field_init_offset`).
const FIRST_VALUES: [u32; 3] = [1, 0, 1];

/// Returns the field that counts the bytes of a codepoint in the options that this end sends, which have order 1.
fn sent_field(codepoint: u8) -> usize {
    match codepoint {
        ECT_1 => 0,
        CE => 1,
        _ => 2,
    }
}

/// Returns the codepoint whose bytes a field of the option counts (table 5).
fn field_codepoint(order: u8, field: usize) -> u8 {
    [[ECT_0, CE, ECT_1], [ECT_1, CE, ECT_0]][usize::from(order & 1)][field]
}

/// The signed difference of two counters, which have 24 bits.
#[inline]
fn difference(counter: u32, other: u32) -> i32 {
    let shift = u32::BITS - FIELD_BITS;
    (counter.wrapping_sub(other) << shift) as i32 >> shift
}

impl AccEcn {
    /// Processes a SYN or SYN-ACK.
    pub fn on_syn(&mut self, seg: &Segment) {
        let answer = seg.flags.has(Flags::ACK);
        self.mode = if answer { Mode::of_syn_ack(seg.flags) } else { Mode::of_syn(seg.flags) };
        if self.mode != Mode::Accurate {
            return;
        }
        (self.syn_codepoint, self.last_codepoint) = (seg.ecn, seg.ecn);
        if answer {
            self.reflects = true;
            self.distrusted = reported(seg.flags.ace()) != Some(NOT_ECT);
            if seg.ecn == CE {
                self.received_ce += 1;
                self.pending += 1;
            }
            self.read_option(seg, 0);
        }
    }

    /// Turns AccECN on without a handshake.
    pub fn assume(&mut self, option: bool) {
        (self.mode, self.saw_option) = (Mode::Accurate, option);
    }

    /// Processes the last segment of the handshake, at the server (`tcp_accecn_third_ack`).
    pub fn on_third(&mut self, seg: &Segment) {
        match (seg.flags.ace(), seg.len) {
            (0b000, _) => self.distrusted = true, // cleared by the network
            (ace, 0) => self.distrusted |= reported(ace).is_some_and(|codepoint| codepoint != NOT_ECT),
            _ => {} // with data, the field is a counter
        }
        self.read_option(seg, 0);
    }

    /// Whether the bytes that the peer counts by codepoint are usable: it sends the option, and the network leaves it
    /// intact.
    pub fn counts_bytes(&self) -> bool {
        self.saw_option && !self.option_distrusted
    }

    /// Returns the flags of a SYN-ACK, which report the codepoint of the SYN that was received.
    pub fn syn_ack_flags(&self) -> Flags {
        reflected(self.syn_codepoint)
    }

    /// Processes a segment that arrived on the established connection. Returns whether to acknowledge it at once,
    /// because its codepoint differs from the previous one's (change-triggered ACKs), or because many marks have not
    /// been reported yet (increment-triggered).
    pub fn on_arrival(&mut self, seg: &Segment) -> bool {
        if seg.ecn != 0 {
            let marked = u8::from(seg.ecn == CE);
            self.received_ce = self.received_ce.wrapping_add(u32::from(marked));
            self.pending = (self.pending + marked).min(15);
            if seg.len > 0 {
                let field = sent_field(seg.ecn);
                self.received_bytes[field] = self.received_bytes[field].wrapping_add(seg.len);
                self.least_fields = self.least_fields.max(field + 1);
            }
        }
        let changed = std::mem::replace(&mut self.last_codepoint, seg.ecn) != seg.ecn;
        (changed && seg.len > 0) || self.pending >= MOST_PENDING
    }

    /// Returns the flags that form the ACE field of a segment. In the last segment of the handshake, they report the
    /// SYN-ACK's codepoint instead of the count.
    pub fn flags(&mut self, pure_ack: bool) -> Flags {
        if std::mem::take(&mut self.reflects) && pure_ack {
            return reflected(self.syn_codepoint);
        }
        self.pending = 0;
        Flags::of_ace((self.received_ce.wrapping_add(ACE_OFFSET) & ACE_MASK) as u8)
    }

    /// Returns the option for a segment with `other_bytes` of other options and up to `blocks` SACK blocks, and how
    /// many of these blocks remain. The option has order 1 and as many fields as fit. SACK blocks beyond the second are
    /// dropped if the option needs their room (`tcp_options_fit_accecn`).
    pub fn option(&mut self, other_bytes: u32, blocks: usize) -> (Option<AccEcnOption>, usize) {
        if !self.counts_bytes() {
            return (None, blocks);
        }
        let room = |blocks: usize| 40 - other_bytes - if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
        for kept in (blocks.min(2)..=blocks).rev() {
            let fields = (room(kept).saturating_sub(2) / 3).min(3) as usize;
            if room(kept) >= 2 && fields >= self.least_fields {
                self.least_fields = 0;
                return (Some(self.counters(fields)), kept);
            }
        }
        (None, blocks)
    }

    /// Returns the option of a segment without SACK blocks, if this end sends the option. All counters fit next to
    /// timestamps.
    #[inline]
    pub fn option_alone(&mut self) -> AccEcnOption {
        debug_assert!(self.counts_bytes());
        self.least_fields = 0;
        self.counters(3)
    }

    /// Returns the option of a SYN-ACK.
    pub fn first_option() -> AccEcnOption {
        AccEcn::default().counters(3)
    }

    #[inline]
    fn counters(&self, fields: usize) -> AccEcnOption {
        let counter = |field: usize| {
            let value = self.received_bytes[field].wrapping_add(FIRST_VALUES[field]) & ((1 << FIELD_BITS) - 1);
            if field < fields {
                value
            } else {
                0
            }
        };
        AccEcnOption { order: 1, fields: fields as u8, counters: [counter(0), counter(1), counter(2)] }
    }

    /// Reads the counters in a segment. If the segment has no option, adds the `delivered` bytes to the counter of the
    /// estimated codepoint (`tcp_accecn_process_option`). Returns whether the counters account for the delivered bytes.
    #[inline]
    fn read_option(&mut self, seg: &Segment, delivered: u32) -> bool {
        self.read_next_option(seg).unwrap_or_else(|| self.read_any_option(seg, delivered))
    }

    /// Reads an option in which at most the counter of ECT(1) has grown since the last one. For
    /// others returns `None`, with no effect.
    #[inline]
    fn read_next_option(&mut self, seg: &Segment) -> Option<bool> {
        let (option, last) = (seg.accecn.as_ref()?, self.last_option.as_mut()?);
        let ([ect_1, rest @ ..], [last_ect_1, last_rest @ ..]) = (option.counters, last.counters);
        let is_next =
            (option.order, option.fields) == (1, 3) && (last.order, last.fields) == (1, 3) && rest == last_rest;
        let grown = difference(ect_1, last_ect_1);
        if !is_next || grown < 0 || self.option_distrusted {
            return None;
        }
        let known = self.estimated != 0;
        if grown > 0 {
            last.counters[0] = ect_1;
            let bytes = &mut self.delivered_bytes[usize::from(ECT_1) - 1];
            *bytes = bytes.wrapping_add_signed(grown);
            self.estimated = ECT_1;
        }
        Some(known)
    }

    /// Reads the option of any segment, if it has one.
    #[inline(never)]
    fn read_any_option(&mut self, seg: &Segment, delivered: u32) -> bool {
        if self.option_distrusted {
            return false;
        }
        let estimated = self.estimated;
        let Some(option) = seg.accecn else {
            if !self.saw_option || estimated == 0 {
                return false;
            }
            self.last_option = None;
            let bytes = &mut self.delivered_bytes[usize::from(estimated) - 1];
            *bytes = bytes.wrapping_add(delivered);
            return true;
        };
        if self.last_option == Some(option) {
            return estimated != 0; // no counter has changed
        }
        self.last_option = Some(option);
        let fields = usize::from(option.fields).min(3);
        if !self.saw_option && fields > 0 {
            // Neither ECT counter starts at 0, so one that begins with 0 was cleared by the network.
            self.option_distrusted = option.counters[0] == 0 || (fields == 3 && option.counters[2] == 0);
            self.saw_option = true;
            if self.option_distrusted {
                return false;
            }
        }
        let (mut known, mut changed) = (estimated != 0, 0_u8);
        let mut ambiguous = false;
        for (field, &counter) in option.counters.iter().enumerate().take(fields) {
            let codepoint = field_codepoint(option.order, field);
            let bytes = &mut self.delivered_bytes[usize::from(codepoint) - 1];
            let delta = difference(counter.wrapping_sub(FIRST_VALUES[field]), *bytes);
            *bytes = bytes.wrapping_add_signed(delta);
            if delta < 0 || (delta != 0 && codepoint != estimated && changed != 0) {
                (known, ambiguous) = (false, true);
            } else if delta != 0 && codepoint != estimated {
                (self.estimated, changed) = (codepoint, codepoint);
            }
        }
        if ambiguous {
            self.estimated = 0;
        }
        known
    }

    /// Returns the smallest number of further packets that arrived at the peer with CE, according to the ACE field.
    fn least_marked(&self, seg: &Header) -> u32 {
        let field = u32::from(seg.flags.ace()).wrapping_sub(ACE_OFFSET);
        field.wrapping_sub(self.delivered_ce) & ACE_MASK
    }

    /// Whether [`AccEcn::newly_marked`] returns 0 for an ACK that delivers this many packets.
    pub fn reports_no_marks(&self, seg: &Header, delivered_packets: u64) -> bool {
        delivered_packets <= u64::from(ACE_MASK) && self.least_marked(seg) == 0
    }

    /// Records the timestamp of a segment. Returns whether it is newer than all before.
    fn note_stamp(&mut self, seg: &Header) -> bool {
        let stamp = seg.has_timestamps.then_some(seg.ts_val);
        let newer = stamp.zip(self.newest_stamp).is_some_and(|(new, old)| new.wrapping_sub(old) as i32 > 0);
        if newer || self.newest_stamp.is_none() {
            self.newest_stamp = stamp;
        }
        newer
    }

    /// Does what [`AccEcn::newly_marked`] does for an ACK that reports no marks ([`AccEcn::reports_no_marks`]) and
    /// delivers `bytes`. Returns false, with no effect, if the ACK may be the one of the first data.
    pub fn take_unmarked(&mut self, seg: &Segment, bytes: u32) -> bool {
        if bytes > 0 && !self.data_acknowledged {
            return false;
        }
        if self.note_stamp(seg) || bytes > 0 {
            self.read_option(seg, bytes);
        }
        true
    }

    /// Returns how many further packets arrived at the peer with CE, according to an ACK with this `progress`
    /// (`__tcp_accecn_process`): the increase of the ACE field. If more than seven packets may have been marked, the
    /// result is the largest number consistent with this increase, unless the option indicates a smaller one.
    pub fn newly_marked(&mut self, seg: &Segment, progress: Progress) -> u32 {
        if !self.note_stamp(seg) && !progress.forward {
            return 0; // a later ACK has overtaken this one, or may have
        }
        let before = self.delivered_bytes[usize::from(CE) - 1];
        let by_codepoint = self.read_option(seg, progress.delivered_bytes);
        if !self.data_acknowledged && progress.delivered_bytes > 0 {
            // Section 3.2.2.4, in Linux's form: if the ACK of the first data has an ACE field of 0, the network clears
            // the field.
            self.data_acknowledged = true;
            if seg.flags.ace() == 0 && progress.acked_before <= u64::from(progress.mss) {
                self.distrusted = true;
            }
        }
        if self.distrusted {
            return 0;
        }
        let least = self.least_marked(seg);
        let packets = progress.delivered_packets;
        let marked = if packets <= ACE_MASK {
            least
        } else {
            let most = packets - (packets.wrapping_sub(least) & ACE_MASK);
            let bytes = self.delivered_bytes[usize::from(CE) - 1].wrapping_sub(before);
            resolve(least, most, by_codepoint.then_some(bytes), progress)
        };
        self.delivered_ce = self.delivered_ce.wrapping_add(marked);
        marked
    }
}

/// Chooses the number of marks: `least`, `most`, or a number in between that is also consistent with the ACE field. The
/// choice depends on the marked bytes that the option reports, if any.
fn resolve(least: u32, most: u32, ce_bytes: Option<u32>, progress: Progress) -> u32 {
    let Some(bytes) = ce_bytes else { return most };
    if bytes == 0 {
        return least;
    }
    if progress.delivered_packets >= 2 * (ACE_MASK + 1) && progress.exact {
        if progress.delivered_bytes <= bytes {
            return most;
        }
        let estimate = u64::from(bytes) * u64::from(progress.delivered_packets);
        let estimate = estimate.div_ceil(u64::from(progress.delivered_bytes)) as u32;
        return most.min(least + (estimate & !ACE_MASK));
    }
    if bytes > least * progress.mss {
        return most;
    }
    if u64::from(bytes) < (u64::from(most) * u64::from(progress.mss)) >> 1 {
        return least;
    }
    most
}

#[cfg(test)]
mod tests;
