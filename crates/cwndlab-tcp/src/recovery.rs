//! Loss recovery: which data to retransmit, and when an episode of fast recovery begins and ends. Each algorithm is a
//! type of its own.
//!
//! Contract for every recovery:
//!
//! - Methods get a [`View`] of the sender: positions, outstanding data, and the window. No algorithm calls the
//!   congestion controller, except to count what proportional rate reduction lets go. Instead, algorithms return
//!   [`Changes`] of the window, which `Sender::apply` makes.
//!
//! - `Recovery::on_ack` is called once per ACK, after `una` has moved and the record of outstanding data has been updated. It
//!   returns an [`Outcome`].
//!
//! - `on_timeout` is called once per retransmission timeout, after the window was reduced and `nxt` was set back to
//!   `una`.
//!
//! - `next` returns the next [`Piece`] (a range of data) to send, or why there is none. `on_sent` is called for each piece
//!   sent.

mod historical;
mod new_reno;
mod outcome;
pub(crate) mod rack;
mod reno;
mod selective;
mod tahoe;

use cwndlab_units::Time;

use crate::config::{FackConfig, RecoveryConfig, RecoveryRules, RenoConfig, SackConfig, TcpConfig};
use crate::congestion::{AckKind, AckReport, Changes, CongestionEvent, Controller, WindowChange};
use crate::flight::Flight;
use crate::in_order::{InOrder, Wait};
use crate::send_state::{Piece, Room, SendState};
use historical::{Fack1998, Sack1998};
use new_reno::NewReno;
pub(crate) use outcome::{Growth, Outcome};
use rack::Rack;
use reno::Reno;
use selective::{LossRule, Selective};
use tahoe::Tahoe;

/// The part of the sender that a recovery algorithm reads and may change.
pub(crate) struct View<'a> {
    pub cfg: &'a TcpConfig,
    pub cc: &'a mut Controller,
    pub s: &'a mut SendState,
    pub flight: &'a mut Flight,
}

/// The same as [`View`], but read-only.
#[derive(Clone, Copy)]
pub(crate) struct ViewRef<'a> {
    pub cfg: &'a TcpConfig,
    pub cc: &'a Controller,
    pub s: &'a SendState,
    pub flight: &'a Flight,
}

impl ViewRef<'_> {
    /// Returns cwnd including the recovery's inflation, at most the configured maximum.
    fn window(&self) -> u64 {
        (self.cc.cwnd() + u64::from(self.s.inflation)).min(self.cfg.max_window.bytes(self.s.mss))
    }

    /// Returns the end of the highest range that SACK reported, at least SND.UNA (`snd.fack` of Mathis and Mahdavi
    /// 1996).
    fn forward_most(&self) -> u64 {
        self.flight.reported.highest().unwrap_or(self.s.una).max(self.s.una)
    }

    /// Returns the size of the next retransmission, a full segment; `None` if there is none. The first hole at or above
    /// `high_rxt` is retransmitted if it begins below `lost_below`, so it is deemed lost, and below a range that SACK
    /// reported.
    fn next_repair(&self, high_rxt: u64, lost_below: u64) -> Option<u64> {
        let hole = self.flight.reported.hole(high_rxt.max(self.s.una)).0;
        (hole < self.forward_most().min(lost_below)).then_some(u64::from(self.s.mss))
    }
}

impl View<'_> {
    /// Returns a read-only copy of this view.
    pub fn read(&self) -> ViewRef<'_> {
        ViewRef { cfg: self.cfg, cc: self.cc, s: self.s, flight: self.flight }
    }
}

/// A piece that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub now: Time,
    pub piece: Piece,
    /// One past the last position sent, including a FIN.
    pub end: u64,
    /// Whether the first byte of the piece had been sent before.
    pub again: bool,
    /// Whether nothing was outstanding before the piece was sent.
    pub was_quiet: bool,
}

/// The meaning of an expiry of the retransmission timer, which a recovery may also use for timers of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// A retransmission timeout.
    Timeout,
    /// A timer of the recovery has expired, not the retransmission timeout, and the timer is set again. `began`: whether
    /// an episode has begun; `changes`: of the window.
    Other { began: bool, changes: Changes },
}

/// Events that RACK counts.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RecoveryCounts {
    /// Window reductions that were found to be spurious and were undone.
    pub undos: u32,
    /// Tail loss probes (RFC 8985, section 7).
    pub loss_probes: u32,
    /// Expiries of the reordering timer (RFC 8985, section 6.3).
    pub reordering_timeouts: u32,
}

/// The state of a recovery that `Info` and traces display.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Shown {
    /// Whether data outstanding at a timeout is still being repaired.
    pub in_loss: bool,
    /// Whether the window is being reduced for an ECN echo.
    pub is_reduced: bool,
    /// Largest reordering observed, in segments; 0 if there was none, or if it is not measured.
    pub reordering: u32,
    /// Number of times that ACKs have revealed reordering; `None` if this is not counted.
    pub reorderings: Option<u32>,
    pub counts: RecoveryCounts,
}

/// A recovery that goes by duplicate ACKs, with or without SACK. RACK goes by time and has a room of its own
/// ([`rack`]).
pub(crate) trait Algorithm {
    /// Whether losses are found by the scoreboard of RFC 6675: the SACK blocks of an ACK of new data may begin an episode,
    /// and the algorithm itself counts the bytes newly deemed lost.
    const HAS_SCOREBOARD: bool = false;

    /// Processes a duplicate ACK. With SACK, its blocks newly report `delivered` bytes.
    fn on_dup_ack(&mut self, v: &mut View<'_>, ack: &AckReport, delivered: u64) -> Outcome;

    /// Processes an ACK of new data.
    fn on_new_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome;

    /// Processes a retransmission timeout.
    fn on_timeout(&mut self, v: &mut View<'_>);

    /// Returns the next piece to send: a repair, whose size is within what the recovery permits, or what `new` permits.
    fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait>;

    /// Updates the recovery after a piece was sent.
    fn on_sent(&mut self, _v: &mut View<'_>, _sent: &Transmission) {}

    /// Returns the window that limits [`Algorithm::next`]; `None` if the recovery permits nothing to be sent now.
    fn room(&self, v: &ViewRef<'_>) -> Option<Room>;

    /// Whether an episode of fast recovery is in progress.
    fn in_recovery(&self) -> bool;

    /// Whether an ACK of new data does nothing but open the window, and only the window limits what may be sent. The
    /// caller has checked that SACK has reported nothing and that there were no duplicate ACKs.
    fn is_calm(&self) -> bool {
        !self.in_recovery()
    }

    /// Returns the size of the first retransmission that waits for room in the window; `None` if there is none.
    fn waiting_bytes(&self, _v: &ViewRef<'_>) -> Option<u64> {
        None
    }
}

/// How every [`Algorithm`] processes an ACK of any kind.
pub(crate) trait TakeAck: Algorithm {
    fn take_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        let mut outcome = match ack.kind {
            AckKind::New => self.on_new_ack(v, ack),
            AckKind::Duplicate => {
                v.s.dup_acks += 1;
                self.on_dup_ack(v, ack, ack.sacked_bytes)
            }
            AckKind::Old | AckKind::Other => return Outcome::NOTHING,
        };
        if ack.kind == AckKind::New && ack.sacked_bytes == 0 && outcome.growth == Growth::Acked {
            return outcome;
        }
        if !Self::HAS_SCOREBOARD {
            // The first unacknowledged segment is deemed lost when it is to be retransmitted.
            let lost = outcome.began || v.s.resend_first;
            outcome.lost_bytes = if lost { u64::from(v.s.first(v.flight).len) } else { 0 };
        } else if ack.kind == AckKind::New && ack.sacked_bytes > 0 && !self.in_recovery() {
            // RFC 6675, section 4: the blocks may indicate that the new first segment is lost.
            let found = self.on_dup_ack(v, ack, 0);
            if found.began {
                let changes = outcome.changes.then(&found.changes);
                return Outcome { growth: Growth::None, began: true, lost_bytes: found.lost_bytes, changes, ..outcome };
            }
        }
        outcome
    }
}

impl<A: Algorithm> TakeAck for A {}

/// Defines the enum [`Recovery`] and the macro `each!`, which evaluates an expression with whichever algorithm the enum
/// contains, and another one with RACK.
macro_rules! recoveries {
    ($dollar:tt $($name:ident($type:ty)),* $(,)?) => {
        /// The recovery of one connection.
        #[derive(Clone, Debug)]
        pub(crate) enum Recovery {
            $($name($type),)*
            Rack(Box<Rack>),
        }

        macro_rules! each {
            ($dollar this:ident, $dollar r:ident => $dollar call:expr, $dollar rack:ident => $dollar other:expr) => {
                match $dollar this {
                    $(Recovery::$name($dollar r) => $dollar call,)*
                    Recovery::Rack($dollar rack) => $dollar other,
                }
            };
        }
    };
}

recoveries! { $
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Selective(Box<Selective>),
    Sack1998(Sack1998),
    Fack1998(Box<Fack1998>),
}

// Every endpoint has a `Recovery`, even if it only receives, so it is kept small.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Recovery>() <= 24);

impl Recovery {
    /// Returns the configured recovery. Without SACK, NewReno replaces the algorithms that need it (RFC 6675, section
    /// 1).
    pub fn new(cfg: &TcpConfig, sack: bool) -> Self {
        let selective = |rule, shaped| Recovery::Selective(Box::new(Selective::new(rule, shaped)));
        match cfg.recovery {
            RecoveryConfig::Tahoe => Recovery::Tahoe(Tahoe::default()),
            RecoveryConfig::Reno(RenoConfig { rules, .. }) => Recovery::Reno(Reno::new(rules)),
            RecoveryConfig::Sack(SackConfig { rules: RecoveryRules::Ns2_1998, .. }) if sack => {
                Recovery::Sack1998(Sack1998::default())
            }
            RecoveryConfig::Fack(FackConfig { rules: RecoveryRules::Ns2_1998, .. }) if sack => {
                Recovery::Fack1998(Box::default())
            }
            RecoveryConfig::Sack(_) if sack => selective(LossRule::Rfc6675, false),
            RecoveryConfig::Fack(_) if sack => selective(LossRule::Forward, false),
            RecoveryConfig::Prr(_) if sack => selective(LossRule::Rfc6675, true),
            RecoveryConfig::Rack(_) if sack => Recovery::Rack(Box::new(Rack::new())),
            RecoveryConfig::Rack(_) if cfg.repairs_by_duplicates() => {
                Recovery::Rack(Box::new(Rack::by_duplicates(cfg)))
            }
            _ => Recovery::NewReno(NewReno::new(cfg.recovery.new_reno().rules)),
        }
    }

    /// Whether losses are detected by the transmission times of individual segments (RACK). If so, the recovery has to
    /// process every ACK, and the order of transmissions is recorded.
    pub fn detects_by_time(&self) -> bool {
        matches!(self, Recovery::Rack(_))
    }

    /// Processes an ACK of any kind.
    pub fn on_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        each!(self, r => r.take_ack(v, ack), rack => rack.on_ack(v, ack))
    }

    /// Processes a retransmission timeout. Returns a change of the window, if any.
    pub fn on_timeout(&mut self, v: &mut View<'_>, now: Time) -> Option<WindowChange> {
        each!(self, r => r.on_timeout(v), rack => return Some(rack.on_timeout(v, now)));
        None
    }

    /// Updates the recovery after a piece was sent.
    #[inline]
    pub fn on_sent(&mut self, v: &mut View<'_>, sent: &Transmission) {
        each!(self, r => r.on_sent(v, sent), rack => rack.note_sent(v, sent));
    }

    /// Returns the next piece to send ([`Algorithm::next`]).
    #[inline]
    pub fn next(&mut self, v: &mut View<'_>, new: &InOrder<'_>) -> Result<Piece, Wait> {
        each!(self, r => r.next(v, new), rack => rack.next_piece(v, new))
    }

    /// Returns the window that limits what is sent ([`Algorithm::room`]).
    pub fn room(&self, v: &ViewRef<'_>) -> Option<Room> {
        each!(self, r => r.room(v), rack => Some(rack.room(v)))
    }

    /// Returns the size of the first retransmission that waits for room in the window; `None` if there is none.
    pub fn waiting_bytes(&self, v: &ViewRef<'_>) -> Option<u64> {
        each!(self, r => r.waiting_bytes(v), rack => rack.waiting_bytes(v))
    }

    /// Whether an episode of fast recovery is in progress.
    #[inline]
    pub fn in_recovery(&self) -> bool {
        each!(self, r => r.in_recovery(), rack => rack.in_recovery())
    }

    /// Returns the estimated bytes in the network: neither acknowledged, nor reported to have arrived, nor deemed lost.
    #[inline]
    pub fn in_flight(&self, s: &SendState, flight: &Flight) -> u64 {
        match self {
            Recovery::Rack(rack) => rack.in_flight(s, flight),
            Recovery::Selective(selective) => selective.in_flight(s, flight),
            _ => in_flight_outside(s, flight),
        }
    }

    /// Whether every ACK that carries no data and does not change the window counts as a duplicate (RFC 5681, section
    /// 2), even if it has SACK blocks that report nothing new, as for ns-2's agents of 1998.
    pub fn counts_bare_acks(&self) -> bool {
        match self {
            Recovery::Reno(reno) => reno.is_ns2(),
            Recovery::NewReno(new_reno) => new_reno.is_ns2(),
            Recovery::Sack1998(_) | Recovery::Fack1998(_) => true,
            Recovery::Tahoe(_) | Recovery::Selective(_) | Recovery::Rack(_) => false,
        }
    }

    /// Whether an ACK restarts the retransmission timer and gives an RTT sample from the timestamp that it echoes, even
    /// if it acknowledges nothing new (FACK of 1998).
    pub fn times_echo(&self, kind: AckKind, has_blocks: bool) -> bool {
        matches!(self, Recovery::Fack1998(fack) if fack.times_echo(kind, has_blocks))
    }

    /// Whether only the window limits what may be sent. The caller has checked that SACK has reported nothing.
    #[inline]
    pub fn is_calm(&self, flight: &Flight) -> bool {
        match self {
            Recovery::Rack(rack) => rack.is_calm(flight),
            _ => self.only_grows(),
        }
    }

    /// Whether an ACK of new data does nothing but open the window ([`Algorithm::is_calm`]); false with RACK, which
    /// processes every ACK.
    #[inline]
    pub fn only_grows(&self) -> bool {
        each!(self, r => r.is_calm(), _rack => false)
    }

    /// Returns the state that `Info` and traces display.
    pub fn shown(&self) -> Shown {
        match self {
            Recovery::Rack(rack) => rack.shown(),
            _ => Shown::default(),
        }
    }

    /// Processes an ECN echo to which the sender responds. Returns the reduction of the window.
    pub fn on_echo(&mut self, v: &mut View<'_>, ack: &AckReport) -> Changes {
        match self {
            Recovery::Rack(rack) => rack.on_echo(v, ack),
            _ => Changes::one(echo_cut(ack, 0)),
        }
    }

    /// Processes an expiry of the retransmission timer. Returns whether this is a retransmission timeout, or a timer of
    /// the recovery that shares the retransmission timer.
    pub fn on_expiry(&mut self, v: &mut View<'_>, now: Time) -> Expiry {
        match self {
            Recovery::Rack(rack) => rack.expire(v, now),
            _ => Expiry::Timeout,
        }
    }

    /// Called before a timeout, the `retries`-th in a row, reduces the window. Returns whether the window was already
    /// reduced for the data in flight.
    pub fn has_reduced(&mut self, v: &mut View<'_>, retries: u8) -> bool {
        self.rack().is_some_and(|rack| rack.has_reduced(v, retries))
    }

    /// Returns the state of RACK, for the fast paths of `connection`; `None` for other recoveries.
    pub fn rack(&mut self) -> Option<&mut Rack> {
        let Recovery::Rack(rack) = self else { return None };
        Some(rack)
    }
}

/// Returns the bytes in the network if no segment is deemed lost. If SACK has reported nothing, each duplicate ACK
/// counts as a segment that has arrived.
fn in_flight_outside(s: &SendState, flight: &Flight) -> u64 {
    let by_duplicates = u64::from(s.dup_acks) * u64::from(s.mss);
    let arrived = if flight.reported.is_empty() { by_duplicates } else { flight.reported.total() };
    s.flight().saturating_sub(arrived)
}

/// Whether a duplicate ACK begins an episode: it is number `dup_thresh` in a row, and more than `recover` has been
/// acknowledged, so that the loss does not belong to the last episode (RFC 6582, section 3.2, step 2: "covers more than
/// recover").
pub(crate) fn begins(v: &View<'_>, recover: u64) -> bool {
    v.s.dup_acks == v.cfg.dup_thresh && (v.s.una > recover + 1 || recover == 0)
}

/// Begins an episode: requests a reduction of the window (RFC 5681, equation 4) and the retransmission of the first
/// unacknowledged segment.
pub(crate) fn cut(v: &mut View<'_>) -> Outcome {
    v.s.resend_first = true;
    Outcome { changes: Changes::cut(v.s.flight_size()), ..Outcome::BEGAN }
}

/// The reduction of the window for an ECN echo on this ACK.
fn echo_cut(ack: &AckReport, recover_fs: u32) -> WindowChange {
    WindowChange::Cut { event: CongestionEvent::Ecn, flight_bytes: ack.prior_flight_bytes as u32, recover_fs }
}

/// Processes a duplicate ACK for Reno and NewReno (RFC 5681, section 3.2). In an episode (`active`) it inflates the
/// window; otherwise it may begin an episode. `extra` segments are added to the inflation of step 3.
fn inflate(v: &mut View<'_>, active: bool, recover: u64, extra: u16) -> Outcome {
    if active {
        v.s.inflation += v.s.mss; // step 4
        return Outcome::NOTHING;
    }
    if !begins(v, recover) {
        return Outcome::NOTHING;
    }
    v.s.inflation = (v.cfg.dup_thresh + u32::from(extra)) * v.s.mss; // step 3
    cut(v) // step 2
}

/// Returns the room of algorithms without SACK, for which all data from SND.UNA to SND.NXT counts against the window.
/// With ns-2's `rules` and without Limited Transmit, returns `None` for the duplicate ACKs before an episode: ns-2's
/// agents do not try to send then.
pub(crate) fn cumulative_room(v: &ViewRef<'_>, rules: RecoveryRules) -> Option<Room> {
    let (cfg, s) = (v.cfg, v.s);
    let mut window = v.window();
    if s.dup_acks > 0 && s.inflation == 0 && s.dup_acks < cfg.dup_thresh {
        if cfg.limited_transmit {
            // RFC 3042, section 2: a new segment for each of the first two duplicate ACKs, beyond cwnd.
            window += u64::from(s.dup_acks.min(2) * s.mss);
        } else if rules == RecoveryRules::Ns2_1998 {
            return None;
        }
    }
    Some(Room { window, in_flight: s.flight() })
}

/// Returns the next piece to send for algorithms without SACK: the first unacknowledged segment if it is to be
/// retransmitted, otherwise data at SND.NXT, if there is room.
pub(crate) fn next_cumulative(v: &View<'_>, new: &InOrder<'_>, rules: RecoveryRules) -> Result<Piece, Wait> {
    if v.s.resend_first {
        return Ok(v.s.first(v.flight));
    }
    let room = cumulative_room(&v.read(), rules).ok_or(Wait::Recovery)?;
    new.next(v.s, v.flight, room)
}

#[cfg(test)]
mod tests;
