//! One end of a TCP connection (RFC 9293).

mod accecn;
mod ack;
mod close;
mod control;
mod delivery_rate;
mod ecn_handshake;
mod fast;
mod gate;
mod handshake;
mod info;
mod input;
mod limit;
mod output;
mod pacing;
mod queries;
mod shared_timer;
mod socket;
mod trains;

pub use crate::recovery::RecoveryCounts;
pub use fast::{Polled, Quick};
pub use info::{CongestionState, DeliveredCe, Info};
pub use limit::Limit;

use cwndlab_units::Time;

use control::Control;

use crate::ack_policy::Due;
use crate::config::{RecoveryKind, SlowStartKind, TcpConfig, TimerStart};
use crate::congestion::{CongestionControl, CongestionEvent, LawFailures, WindowChange};
use crate::flight::Keeps;
use crate::receiver::Receiver;
use crate::recovery::Recovery;
use crate::segment::TIMESTAMPS_BYTES;
use crate::sender::Sender;
use crate::state::{CloseReason, State};
use crate::stats::Stats;
use crate::timers::retransmit::Reason;
use crate::timers::{Timer, Timers};
use crate::Rng;
use fast::Rest;

/// Maximum number of retransmissions of the same data (R2 of RFC 9293, section 3.8.3; Linux's default).
const MAX_RETRIES: u8 = 15;
/// Maximum number of retransmissions of a SYN (Linux's default) or a SYN-ACK.
const MAX_SYN_RETRIES: u8 = 6;

/// One end of a connection, sans-IO.
///
/// Call order: after each [`Connection::handle_segment`], [`Connection::handle_timeout`], [`Connection::write`],
/// [`Connection::read`] or [`Connection::close`], call [`Connection::poll_transmit`] until it returns nothing, then
/// [`Connection::poll_timeout`]. Many connections may share a configuration; every call of a connection must pass the
/// same one.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Connection {
    state: State,
    sender: Sender,
    receiver: Receiver,
    timers: Timers,
    recovery: Recovery,
    /// The options on which both ends agreed.
    agreed: Agreed,
    rest: Rest,
    /// When TS.Recent was set, in the units of [`stamp_unit`].
    stamped_at: u32,
    iss: u32,
    irs: u32,
    /// Number of times that the retransmission or persist timer has expired since the peer last acknowledged new data
    /// or opened its window.
    retries: u8,
    /// The next segment to send that is not part of the data stream.
    control: Control,
    was_established: bool,
    /// Whether [`Connection::close`] ends the stream with a FIN. If not, the connection ends once the peer has
    /// acknowledged everything written before the call.
    ends_by_fin: bool,
    closing: bool,
    error: Option<CloseReason>,
    stats: Stats,
}

const _: () = assert!(size_of::<Connection>() <= 416);

/// Options agreed on in the handshake.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    sack: bool,
    timestamps: bool,
}

impl Connection {
    /// Opens actively: sends a SYN. If the configuration has no handshake, the connection is established at once.
    pub fn client(cfg: &TcpConfig, iss: u32, now: Time) -> Self {
        let mut connection = Connection::new(cfg, iss, State::SynSent);
        if cfg.handshake.is_some() {
            connection.control = Control::Syn;
            connection.time_syn(cfg, now);
        } else {
            connection.skip_handshake(cfg, now);
        }
        connection
    }

    /// Waits for a SYN. If the configuration has no handshake, the connection is established at once.
    pub fn server(cfg: &TcpConfig, iss: u32, now: Time) -> Self {
        let mut connection = Connection::new(cfg, iss, State::Listen);
        if cfg.handshake.is_none() {
            connection.skip_handshake(cfg, now);
        }
        connection
    }

    /// Sets the random number generator of this end, for a law that draws random numbers ([`crate::Needs::draws`]).
    /// Call it before anything else.
    pub fn set_random(&mut self, random: Rng) {
        self.sender.extra.get_or_insert_default().random = Some(random);
    }

    /// Attaches the window law, if the configuration requests [`crate::WindowLawKind::External`]. Call it before
    /// anything else; without an attached law the window is constant. If the law fails, `failures` receives the error
    /// with the name `flow`.
    pub fn attach_law(
        &mut self,
        cfg: &TcpConfig,
        now: Time,
        law: Box<dyn CongestionControl>,
        flow: String,
        failures: LawFailures,
    ) {
        self.sender.cc.attach(law, flow, failures);
        self.sender.extra.get_or_insert_default().has_law_timer = true;
        if self.state == State::Established {
            self.sender.start(cfg, now, self.mtu(cfg)); // again: without a handshake, the sender started without this law
        }
    }

    fn new(cfg: &TcpConfig, iss: u32, state: State) -> Self {
        Connection {
            state,
            sender: Sender::new(cfg, cfg.mss),
            receiver: Receiver { listens: state == State::Listen, ..Receiver::new(cfg) },
            timers: Timers::new(),
            recovery: Recovery::new(cfg, cfg.sack),
            agreed: Agreed::default(),
            rest: Rest::Busy,
            stamped_at: 0,
            iss,
            irs: 0,
            retries: 0,
            control: Control::rest(cfg),
            was_established: false,
            ends_by_fin: cfg.fin.is_some(),
            closing: false,
            error: None,
            stats: Stats::default(),
        }
    }

    /// Establishes the connection without a handshake. Both ends have the same configuration, so every offered option
    /// is accepted. Both use the initial sequence number 0, because neither receives the other's.
    fn skip_handshake(&mut self, cfg: &TcpConfig, now: Time) {
        self.iss = 0;
        self.agreed = Agreed { sack: cfg.sack, timestamps: cfg.timestamps };
        self.receiver.shift_plus_1 = handshake::wanted_shift(cfg) + 1;
        self.receiver.edge = 1 + cfg.receive_buffer_bytes;
        if cfg.ecn.is_accurate() {
            self.assume_accurate(cfg);
        } else {
            self.sender.snd.ecn.set_codepoint(cfg.ecn, cfg.ecn.codepoint());
        }
        self.set_mss(cfg, cfg.mss);
        self.receiver.on_established(cfg, now, self.offered_mss(cfg));
        self.state = State::Established;
        self.was_established = true;
        self.sender.start(cfg, now, self.mtu(cfg));
    }

    /// Sets the effective segment size, which is `mss` less the options of each segment. Restarts the controller and
    /// loss recovery with this size, so it must be called before data is sent.
    fn set_mss(&mut self, cfg: &TcpConfig, mss: u32) {
        let mss = self.less_options(cfg, mss);
        if mss != self.sender.snd.mss {
            self.sender.snd.mss = mss;
            self.sender.cc.restart(cfg, mss);
        }
        self.recovery = Recovery::new(cfg, self.agreed.sack);
        let order = self.recovery.detects_by_time();
        self.sender.snd.recovery_sets_timer = order && cfg.recovery.has_linux_timers();
        let round_trips = cfg.slow_start != SlowStartKind::Standard && !order && !self.agreed.timestamps;
        if order || round_trips {
            self.sender.outstanding.keep(Keeps { order, round_trips, ..Keeps::default() });
        }
    }

    /// Returns `mss` less the bytes that timestamps and AccECN's option take in each segment.
    fn less_options(&self, cfg: &TcpConfig, mss: u32) -> u32 {
        mss - self.reserved_bytes(cfg).min(mss - 1)
    }

    /// The bytes that timestamps and AccECN's option take in each segment.
    fn reserved_bytes(&self, cfg: &TcpConfig) -> u32 {
        self.accurate_option_bytes(cfg) + if self.agreed.timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// The size of the IP packet of a full segment (Linux: `tcp_mss_to_mtu`).
    fn mtu(&self, cfg: &TcpConfig) -> u32 {
        self.sender.snd.mss + self.reserved_bytes(cfg) + cfg.header_bytes
    }

    /// Maximum payload of the peer's segments.
    fn offered_mss(&self, cfg: &TcpConfig) -> u32 {
        self.less_options(cfg, cfg.mss)
    }

    /// The earliest expiry of a timer.
    #[inline]
    fn next_timer(&self) -> Time {
        self.timers.next().min(self.sender.snd.timer.at())
    }

    /// When the timer of an external law expires; [`Time::MAX`] if it is not running, or the connection is not open.
    fn law_timer(&self) -> Time {
        if self.state.may_send() {
            self.sender.cc.timer()
        } else {
            Time::MAX
        }
    }

    /// The earliest time at which [`Connection::handle_timeout`] must be called; [`Time::MAX`] if none.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        self.next_timer().min(self.gives_up_at()).min(self.law_timer())
    }

    /// The time of the next timeout; `None` if it is not before `at`.
    #[inline]
    pub fn timeout_before(&self, at: Time) -> Option<Time> {
        if self.next_timer() >= at && self.sender.has_no_rare_timer() {
            return None;
        }
        Some(self.poll_timeout()).filter(|&timeout| timeout < at)
    }

    /// Handles the timers that have expired.
    #[inline(never)]
    pub fn handle_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        self.rest = Rest::Busy;
        if self.timers.take_expired(Timer::DelayedAck, now) {
            self.receiver.ack_now = true;
            if let Some(linux) = self.receiver.policy.linux() {
                linux.on_timer(cfg, now, &self.sender.snd.rtt);
            }
        }
        if self.timers.take_expired(Timer::Pacer, now) {
            // The caller polls next.
            if let Some(rack) = self.recovery.rack().filter(|_| cfg.resends_after_pacing()) {
                rack.on_pacer();
            }
        }
        if self.sender.snd.timer.at() <= now && !self.recovery_expiry(cfg, now) {
            self.sender.snd.timer.stop();
            match self.state {
                State::SynSent | State::SynReceived => self.on_syn_timeout(cfg, now),
                State::TimeWait => self.state = State::Closed,
                State::Closed | State::Listen | State::FinWait2 => {}
                _ if self.sender.snd.una == self.sender.snd.max => self.on_persist(cfg, now),
                _ => self.on_retransmission_timeout(cfg, now),
            }
            self.start_user_timeout(now);
        }
        if self.law_timer() <= now {
            self.sender.cc.on_timer(now, self.sender.snd.mss);
        }
        if self.gives_up_at() <= now {
            self.fail(CloseReason::RetransmitTimeout);
        }
    }

    /// Handles a retransmission timeout (RFC 6298, section 5, 5.4 to 5.7).
    fn on_retransmission_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        self.stats.timeouts += 1;
        self.retries += 1;
        if self.retries > MAX_RETRIES {
            return self.fail(CloseReason::RetransmitTimeout);
        }
        let s = &mut self.sender;
        let reduced = self.recovery.has_reduced(&mut s.view(cfg), self.retries) || self.retries > 1;
        if cfg.recovery.reno().outlives_timeout && self.recovery.in_recovery() {
            s.cc.change(cfg, now, WindowChange::Inflate(s.snd.inflation), s.snd.mss);
        }
        let event = if reduced { CongestionEvent::RtoRepeat } else { CongestionEvent::Rto };
        s.cc.on_congestion(cfg, now, event, s.snd.flight_size().max(1), s.snd.mss);
        s.snd.ecn.reduced(s.snd.max, false);
        s.snd.rtt.backoff(&cfg.rto);
        s.snd.nxt = s.snd.una;
        s.snd.dup_acks = 0;
        s.timed_end = 0;
        s.snd.resend_first = false;
        s.outstanding.on_timeout(s.snd.max);
        if let Some(change) = self.recovery.on_timeout(&mut s.view(cfg), now) {
            s.cc.change(cfg, now, change, s.snd.mss);
        }
        s.snd.restart_timeout(cfg, now);
        self.share_timer(cfg);
        self.report_lost(now);
    }

    /// Makes the retransmission timer count from the last transmission of the first outstanding segment, if the
    /// configuration requests this, as in Linux 2.0.32 (`tcp_reset_xmit_timer`, `tcp_timer.c` 43 to 74). If the timer
    /// would then be overdue, it fires after two ticks.
    fn time_first(&mut self, cfg: &TcpConfig, now: Time) {
        if let Some(at) = self.first_expiry(cfg, now) {
            self.sender.snd.timer.expire_at(Reason::Rto, at);
        }
    }

    fn first_expiry(&self, cfg: &TcpConfig, now: Time) -> Option<Time> {
        if cfg.rto.start == TimerStart::LastAck || cfg.recovery.kind() == RecoveryKind::Rack {
            return None;
        }
        let s = &self.sender;
        let first = s.outstanding.first().filter(|_| s.cc.cwnd() > 0)?;
        let due = cfg.expiry(first.at, s.snd.rtt.rto(&cfg.rto));
        Some(if due < now { cfg.expiry(now, cfg.rto.tick_ns * 2) } else { due })
    }

    /// Probes a closed window, so that sending resumes even if the window update is lost (RFC 9293, section 3.8.6.1).
    /// As in Linux, the probe carries no data. Its sequence number is one that the peer must acknowledge again.
    fn on_persist(&mut self, cfg: &TcpConfig, now: Time) {
        let s = &mut self.sender;
        if s.cc.cwnd() == 0 {
            return s.cc.change(cfg, now, WindowChange::Restart, s.snd.mss); // an ECN echo closed cwnd: RFC 3168, section 6.1.2
        }
        if self.is_held() {
            return self.push(); // data corked for a whole timeout is sent, as by Linux's probe
        }
        let s = &mut self.sender;
        if s.snd.end > s.snd.nxt {
            self.control = Control::Probe;
            self.stats.window_probes += 1;
        }
        self.retries = (self.retries + 1).min(MAX_RETRIES);
        s.snd.start_persist(cfg, now, self.retries);
    }

    fn fail(&mut self, why: CloseReason) {
        self.error = Some(why);
        self.end_quietly();
        if self.control == Control::Syn || self.control == Control::SynAck {
            self.control = Control::None;
        }
    }

    /// Appends bytes to the send stream. Ignored after [`Connection::close`].
    pub fn write(&mut self, bytes: u64) {
        self.rest = Rest::Busy;
        if !self.closing {
            if self.sender.outstanding.measures_rate() {
                self.sender.note_write(self.in_flight_measured());
            }
            match self.sender.buffer_mut() {
                None => self.sender.snd.end = self.sender.snd.end.saturating_add(bytes),
                Some(buffer) => {
                    if buffer.write(bytes) {
                        let in_flight = self.recovery.in_flight(&self.sender.snd, &self.sender.outstanding);
                        self.sender.fill(in_flight);
                    }
                }
            }
            if let Some(socket) = self.sender.socket_mut() {
                (socket.more, socket.pushed) = (false, false);
            }
        }
    }

    /// Ends the stream: a FIN, if the configuration has one, follows the last byte.
    pub fn close(&mut self) {
        (self.closing, self.rest) = (true, Rest::Busy);
        self.note_written();
        match self.state {
            State::Listen | State::SynSent => self.fail_quietly(),
            _ => self.finish_without_fin(),
        }
    }

    /// Aborts the connection with a RST to the peer.
    pub fn abort(&mut self) {
        self.rest = Rest::Busy;
        let synchronized = !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait);
        self.fail(CloseReason::Aborted);
        if synchronized {
            self.control = Control::Abort;
        }
    }

    /// Sets whether received bytes count as read immediately (the default) or stay in the buffer until
    /// [`Connection::read`].
    pub fn set_auto_read(&mut self, auto: bool) {
        (self.receiver.auto_read, self.rest) = (auto, Rest::Busy);
    }

    /// Lets received bytes wait, as several packets arrive at this instant and the application runs after them. Returns
    /// false, with no effect, if the application does not read by itself, or the end does not distinguish.
    pub fn hold_reads(&mut self, cfg: &TcpConfig) -> bool {
        let holds = cfg.reads_after_batch() && self.receiver.auto_read && self.receiver.is_linux();
        if holds {
            self.set_auto_read(false);
        }
        holds
    }

    /// Lets the application read what has waited since [`Connection::hold_reads`].
    pub fn release_reads(&mut self, cfg: &TcpConfig, now: Time) {
        self.set_auto_read(true);
        self.read(cfg, now, u64::MAX);
    }

    /// Reads up to `bytes` of the data received in order. Returns how many were read.
    pub fn read(&mut self, cfg: &TcpConfig, now: Time, bytes: u64) -> u64 {
        let read = bytes.min(u64::from(self.receiver.unread));
        if read > 0 && self.receiver.read(cfg, now, self.offered_mss(cfg), read as u32) {
            self.receiver.ack_now = true;
        }
        read
    }

    fn wire(&self, position: u64) -> u32 {
        crate::sequence::to_wire(self.iss, position)
    }
}

/// Converts a time to units of 2^30 ns, in which the age of TS.Recent is measured.
fn stamp_unit(now: Time) -> u32 {
    (now.as_nanos() >> 30) as u32
}

/// The age, in units of [`stamp_unit`], at which TS.Recent is too old for comparisons: half of the range of
/// [`TcpConfig::timestamp`] (RFC 7323, section 5.5: 24 days for a clock of 1 ms).
const OUTDATED: u32 = 2000;

/// Schedules an ACK for the time that the acknowledgment policy has chosen.
fn schedule_ack(timers: &mut Timers, receiver: &mut Receiver, due: Due) {
    match due {
        Due::Now => receiver.ack_now = true,
        Due::Running => {}
        Due::By(at) => {
            timers.set(Timer::DelayedAck, timers.at(Timer::DelayedAck).min(at));
        }
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod scripts;
