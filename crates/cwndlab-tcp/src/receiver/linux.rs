//! The part of the receiver for [`AckState::Linux`]. A receiver has this state if its acknowledgment policy is Linux's,
//! if its buffer grows, or both.

use super::Receiver;
use crate::ack_policy::{AckState, Arrival, Arriving, Due, Effect, READ_BYTES};
use crate::config::TcpConfig;
use crate::ecn::{Echo, CE};
use crate::segment::{Flags, Header};
use crate::sender::Sender;
use crate::tuned_buffer::{Held, TunedBuffer};
use std::num::NonZeroU64;

use cwndlab_units::Time;

impl Receiver {
    /// Whether this end has Linux's acknowledgment policy, or a buffer that grows.
    #[inline]
    pub fn is_linux(&self) -> bool {
        matches!(self.policy, AckState::Linux(_))
    }

    /// Initializes the acknowledgment policy, once the handshake is done or was skipped.
    pub fn on_established(&mut self, cfg: &TcpConfig, now: Time, mss: u32) {
        let window = self.offered();
        self.policy.on_established(cfg, now, mss, window);
    }

    /// With Linux's acknowledgment policy, processes a data segment that may change the ECN echo. `echo` is the state
    /// before this segment. The first CE mark starts quick ACKs, and a segment with CWR is acknowledged at once
    /// (`__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
    pub fn note_mark(&mut self, cfg: &TcpConfig, seg: &Header, echo: Echo, in_order: bool) {
        let offered = self.offered();
        let Some(linux) = self.policy.linux() else { return };
        // With DCTCP (`dctcp_ece_ack_update`), the echo has begun already when Linux asks for it. CWR ends an echo first.
        let restarts = seg.flags.has(Flags::CWR) && !echo.is_per_packet();
        let begins = seg.ecn == CE && (echo.flags() == Flags(0) || restarts);
        if begins && !echo.state_ends(seg) {
            linux.on_mark(cfg, offered, in_order);
        }
        self.ack_now |= seg.flags.has(Flags::CWR);
    }

    /// Returns the window in a SYN or SYN-ACK, which is not scaled, if the peer's segments have at most `mss` bytes.
    pub fn first_window(&self, cfg: &TcpConfig, mss: u32) -> u32 {
        let most = cfg.receive_buffer_bytes.min(0xffff) as u32;
        self.policy.buffer().map_or(most, |buffer| buffer.first_window(mss).min(most))
    }

    /// Opens the first window. With scaling, Linux's is as large as the buffer allows, though the SYN cannot say so
    /// (`tcp_select_initial_window`).
    pub fn open_window(&mut self, cfg: &TcpConfig, mss: u32) {
        let window = match self.policy.buffer() {
            Some(buffer) if self.shift_plus_1 > 0 => buffer.first_window(mss),
            _ => self.first_window(cfg, mss),
        };
        self.edge = 1 + u64::from(window);
    }

    /// Returns the window advertised last, counted from the position acknowledged with it.
    pub fn offered(&self) -> u32 {
        (self.edge as u32).wrapping_sub(self.last_ack)
    }

    /// Shift count of the advertised window.
    pub fn shift(&self) -> u8 {
        self.shift_plus_1.saturating_sub(1)
    }

    /// Notes that an application reads so much by parts ([`READ_BYTES`]): if an ACK is due after the first, its window is that of
    /// what is then left (`__tcp_cleanup_rbuf`).
    pub(super) fn begin_read(&mut self, bytes: u32) {
        let nxt = self.nxt;
        if let AckState::Linux(state) = &mut self.policy {
            let first = state.counted.is_none() && state.linux.read_is_due(nxt, false);
            let left = if first { bytes.saturating_sub(READ_BYTES) } else { bytes };
            state.unread = if bytes > READ_BYTES { left } else { 0 };
        }
    }

    /// Whether the window that could be advertised now is as large as the last one.
    pub fn window_holds(&mut self, cfg: &TcpConfig) -> bool {
        let (shift, offered, free) = (self.shift(), self.offered(), self.free(cfg));
        let held = Held { unread: self.unread, beyond: self.beyond.as_deref() };
        let Some(buffer) = self.policy.buffer_mut() else { return free >= u64::from(offered) };
        let allocated = buffer.allocated(held, 0);
        buffer.window(shift, offered, allocated).0 >= offered
    }

    /// Returns the free part of a buffer of fixed size.
    pub(super) fn free(&self, cfg: &TcpConfig) -> u64 {
        cfg.receive_buffer_bytes.saturating_sub(u64::from(self.unread))
    }

    /// Accepts a segment that lies at least partly in the window. If the application reads immediately, also processes
    /// this read. Returns the time at which the ACK is due.
    #[inline(never)]
    pub(super) fn take_linux(&mut self, cfg: &TcpConfig, now: Time, sender: &Sender, new: &Arriving) -> Due {
        let (mss, window, shift) = (new.mss, self.offered(), self.shift());
        let arrival = self.arrival(new.start, new.end);
        let AckState::Linux(state) = &mut self.policy else { return Due::Now };
        state.offered_at = 0;
        let (mut noted, before) = (None, self.nxt);
        let mut effect = Effect { window, asks: self.ack_now, ..Effect::default() };
        if let Some(buffer) = &mut state.buffer {
            let held = Held { unread: self.unread, beyond: self.beyond.as_deref() };
            let echo = new.timestamps.then_some(new.seg.ts_ecr);
            let (grew, allocated) = match arrival {
                Arrival::Beyond if new.sack => buffer.on_beyond(now, new.seg, mss, held, echo),
                Arrival::Beyond => (false, buffer.allocated(held, TunedBuffer::memory_of(new.seg))),
                Arrival::Old => (false, buffer.allocated(held, 0)),
                Arrival::InOrder(_) | Arrival::Partial(_) | Arrival::Filling(_) => {
                    buffer.on_in_order(now, new.seg, mss, new.end, held, (window, echo))
                }
            };
            let (next, tight) = buffer.window(shift, window, allocated);
            (effect.window_grew, effect.window_holds, effect.window_tight) = (grew, next >= window, tight);
            noted = Some((next, tight));
            effect.round_trip = buffer.rtt();
        } else {
            effect.round_trip = Time::MAX;
            effect.window_holds = self.auto_read || self.free(cfg) >= u64::from(window);
        }
        self.store(cfg, arrival, new);
        if !self.auto_read && self.nxt > before {
            let nxt = self.nxt;
            if let Some(buffer) = self.policy.buffer_mut() {
                buffer.keep(new.seg, new.end, nxt);
            }
        }
        let fin_at = if new.seg.flags.has(Flags::FIN) { NonZeroU64::new(new.end) } else { self.fin_at };
        let ended = fin_at == NonZeroU64::new(self.nxt);
        effect.ends = ended;
        let due = self.note_data(cfg, now, sender, new, arrival, effect);
        if let Some(window) = noted.filter(|_| due == Due::Now) {
            if let Some(buffer) = self.policy.buffer_mut() {
                buffer.note_ack(window);
            }
        }
        let reads = self.auto_read && !matches!(arrival, Arrival::Old | Arrival::Beyond);
        let filled = self.nxt - before;
        if let AckState::Linux(state) = &mut self.policy {
            state.unread = if reads && filled > u64::from(READ_BYTES) { filled as u32 } else { 0 };
        }
        if reads && self.after_read(cfg, now, mss, new.end, ended) {
            return Due::Now;
        }
        due
    }

    /// Processes a read of the application, which has now read everything up to `read`. `ended`: the peer's FIN has been
    /// received in order. Returns whether an ACK is due.
    #[inline]
    pub fn after_read(&mut self, cfg: &TcpConfig, now: Time, mss: u32, read: u64, ended: bool) -> bool {
        let (shift, offered) = (self.shift(), self.offered());
        let AckState::Linux(state) = &mut self.policy else { return false };
        state.offered_at = 0;
        if let Some(buffer) = &mut state.buffer {
            buffer.on_read(now, mss, read, self.nxt);
        }
        let empty = self.unread == 0 && self.beyond.as_ref().is_none_or(|beyond| beyond.is_empty());
        if state.counted.is_none() && state.linux.read_is_due(self.nxt, empty) {
            return true;
        }
        if ended {
            state.unread = 0;
            return false; // no window is of use any more
        }
        // Whether the window that could be advertised is at least twice the part of the last advertised window that the
        // peer has not used (`__tcp_cleanup_rbuf`).
        let left = self.edge.saturating_sub(self.nxt);
        let held = Held { unread: self.unread, beyond: self.beyond.as_deref() };
        if state.buffer.is_some() {
            return state.reads_until_it_doubles(left, (shift, offered), held);
        }
        let next = self.free(cfg).min(u64::from(u32::MAX));
        2 * left <= cfg.receive_buffer_bytes && next > 0 && next >= 2 * left
    }

    /// Returns the window to advertise; it never shrinks (`tcp_select_window`).
    #[inline(never)]
    pub(super) fn offer_tuned(&mut self) -> u32 {
        let left = self.edge.saturating_sub(self.nxt) as u32;
        let (offered, shift, ended) = (self.offered(), self.shift(), self.fin_received());
        let AckState::Linux(state) = &mut self.policy else { return left };
        let held = Held { unread: self.unread, beyond: self.beyond.as_deref() };
        let unread = held.unread + state.unread_segments();
        let Some(buffer) = &mut state.buffer else { return left };
        let noted = buffer.take_noted();
        let (window, tight) = noted.unwrap_or_else(|| {
            let allocated = buffer.allocated(Held { unread, ..held }, 0);
            buffer.window(shift, offered, allocated)
        });
        if tight && state.counted.is_none() {
            state.linux.on_tight_window();
        }
        let unit = 1 << shift;
        let window = if window < left { left.next_multiple_of(unit) } else { window };
        self.edge = self.edge.max(self.nxt + u64::from(window));
        let offered = (self.edge - self.nxt) as u32;
        // The window is remembered as it is, though the header may not be able to express it (`rcv_wnd`).
        let expressed = offered.min(0xffff << shift);
        // The reads that follow may open the window.
        let reads = noted.is_some() || state.unread > 0;
        state.offered_at = if reads || expressed < offered { 0 } else { self.nxt };
        if reads && !ended {
            state.widens = state.reads_until_it_doubles(u64::from(offered), (shift, offered), held);
        }
        expressed
    }
}
