//! Closing (RFC 9293, sections 3.6 and 3.10.7.4): FIN in every order, simultaneous close, TIME-WAIT.

use cwndlab_units::Time;

use super::{schedule_ack, Connection};
use crate::ack_policy::Due;
use crate::config::TcpConfig;
use crate::segment::{Flags, Segment};
use crate::state::State;
use crate::timers::retransmit::Reason;
use crate::timers::{Timer, Timers};

impl Connection {
    /// Enters the state that follows when our FIN is sent; sending it again changes nothing.
    pub(super) fn on_fin_sent(&mut self) {
        self.state = match self.state {
            State::Established | State::SynReceived => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        };
    }

    /// Enters the state that follows when our FIN is acknowledged.
    pub(super) fn on_fin_acked(&mut self, cfg: &TcpConfig, now: Time) {
        self.sender.outstanding.shrink();
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(cfg, now),
            State::LastAck => self.end_quietly(),
            _ => {}
        }
    }

    /// Receives the peer's FIN, which is in order: requests an ACK and enters the state that follows. `fills`: the FIN arrived
    /// before, and a hole before it is filled (RFC 5681, section 4.2: acknowledge at once).
    pub(super) fn on_peer_fin(&mut self, cfg: &TcpConfig, now: Time, fills: bool) {
        self.receiver.nxt += 1;
        let (nxt, is_open) = (self.receiver.nxt, matches!(self.state, State::SynReceived | State::Established));
        let may_wait = is_open && !fills;
        let holds = may_wait && self.receiver.window_holds(cfg);
        let mut due = Due::Now;
        if let Some(linux) = self.receiver.policy.linux() {
            linux.on_fin();
            if may_wait {
                due = linux.fin_due(cfg, now, &self.sender.snd.rtt, (nxt, holds));
            }
        }
        schedule_ack(&mut self.timers, &mut self.receiver, due);
        match self.state {
            State::SynReceived | State::Established => self.state = State::CloseWait,
            // Had the same segment acknowledged our FIN, the state would be FIN-WAIT-2 by now.
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(cfg, now),
            _ => {}
        }
    }

    pub(super) fn enter_time_wait(&mut self, cfg: &TcpConfig, now: Time) {
        self.state = State::TimeWait;
        self.stop_timers();
        let wait = cfg.fin.map_or(Time::ZERO, |fin| fin.time_wait_ns);
        self.sender.snd.timer.set(cfg, now, Reason::TimeWait, wait);
    }

    /// Whether a SYN may reopen this connection, which is in TIME-WAIT: this end opened passively, and the SYN cannot
    /// be an old duplicate, by its sequence number (RFC 1122, section 4.2.2.13) or its timestamp (RFC 6191, section 2).
    pub(super) fn may_reopen(&self, start: i64, seg: &Segment) -> bool {
        let newer = seg.has_timestamps && (self.receiver.ts_recent.wrapping_sub(seg.ts_val) as i32) < 0;
        self.receiver.listens && !seg.flags.has(Flags::ACK) && (start > self.receiver.nxt as i64 || newer)
    }

    /// Reopens the connection for a SYN, with an initial sequence number larger than any used before (RFC 9293, section
    /// 3.10.7.4; Linux: by 65537).
    pub(super) fn reopen(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        self.listen_again(cfg, self.wire(self.sender.snd.max).wrapping_add(65_537));
        self.on_listen(cfg, now, seg);
    }

    /// Discards the state about the peer, and waits for a SYN.
    pub(super) fn listen_again(&mut self, cfg: &TcpConfig, iss: u32) {
        let auto_read = self.receiver.auto_read;
        *self = Connection { stats: self.stats, ..Connection::new(cfg, iss, State::Listen) };
        self.receiver.auto_read = auto_read;
    }

    /// Enters CLOSED if the connection ends without FIN, the application has closed, and everything is acknowledged.
    pub(super) fn finish_without_fin(&mut self) {
        let all_acked = self.sender.snd.una == self.sender.snd.end && !self.sender.is_blocked();
        if self.closing && !self.ends_by_fin && all_acked && self.was_established {
            self.state = State::Closed;
            self.sender.snd.timer.stop();
            self.timers.stop(Timer::Pacer);
        }
    }

    /// Enters CLOSED and stops all timers, without recording an error.
    pub(super) fn end_quietly(&mut self) {
        self.state = State::Closed;
        self.stop_timers();
        self.note_ack(true);
    }

    fn stop_timers(&mut self) {
        self.timers = Timers::new();
        self.sender.snd.timer.stop();
    }

    /// Enters CLOSED from LISTEN or SYN-SENT, without notifying the peer or recording an error.
    pub(super) fn fail_quietly(&mut self) {
        self.control = super::Control::None;
        self.end_quietly();
    }
}
