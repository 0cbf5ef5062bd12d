//! Loss recovery: what to retransmit, and when an episode begins and ends. Each algorithm is a type of its own.
//!
//! Contract for every [`Algorithm`]:
//!
//! - Each method gets a [`View`]: positions, outstanding data, and the window. No algorithm calls the controller:
//!   changes of the window are returned as [`Steps`], which `connection` applies in one place.
//!
//! - `on_ack`: once per ACK, after `una` has moved and the account of outstanding data has been updated. Returns an
//!   [`Outcome`].
//!
//! - `on_timeout`: once per expiry, after the window was reduced and `nxt` has gone back.
//!
//! - `next`: the next piece to send, or none; `on_sent` for each piece sent.

mod fack_1998;
mod new_reno;
mod outcome;
mod proportional;
pub(crate) mod rack;
mod reno;
mod sack_1998;
mod selective;
mod tahoe;

use cwndlab_units::Time;

use crate::config::{FackConfig, RecoveryConfig, RecoveryRules, RenoConfig, SackConfig, TcpConfig};
use crate::congestion::{AckKind, AckReport, Episode};
use crate::flight::Flight;
use crate::send_state::{Piece, Room, SendState, SendWindow};
use crate::timers::Timers;
use fack_1998::Fack1998;
use new_reno::NewReno;
pub(crate) use outcome::{Growth, Next, Outcome, Step, Steps};
pub(crate) use proportional::{Allow, Proportional};
use rack::Rack;
use reno::Reno;
use sack_1998::Sack1998;
use selective::{LossRule, Selective};
use tahoe::Tahoe;

/// The part of its sender that a recovery sees and may change.
pub(crate) struct View<'a> {
    pub cfg: &'a TcpConfig,
    pub window: SendWindow,
    pub s: &'a mut SendState,
    pub flight: &'a mut Flight,
}

/// A [`View`] through which nothing can be changed.
#[derive(Clone, Copy)]
pub(crate) struct ViewRef<'a> {
    pub cfg: &'a TcpConfig,
    pub window: SendWindow,
    pub s: &'a SendState,
    pub flight: &'a Flight,
}

impl ViewRef<'_> {
    /// Highest position reported, or SND.UNA (`snd.fack` of Mathis and Mahdavi 1996).
    fn forward_most(&self) -> u64 {
        self.flight.reported.highest().unwrap_or(self.s.una).max(self.s.una)
    }

    /// Bytes of the next repair, a full segment, if the first hole from `high_rxt` on is lost (below `lost_below`) and
    /// a report lies above it.
    fn next_repair(&self, high_rxt: u64, lost_below: u64) -> Option<u64> {
        let hole = self.flight.reported.hole(high_rxt.max(self.s.una)).0;
        (hole < self.forward_most().min(lost_below)).then_some(u64::from(self.s.mss))
    }
}

impl View<'_> {
    /// The same view, without the right to change anything.
    pub fn read(&self) -> ViewRef<'_> {
        ViewRef { cfg: self.cfg, window: self.window, s: self.s, flight: self.flight }
    }
}

/// A piece that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub now: Time,
    pub piece: Piece,
    /// One past its end, including a FIN.
    pub end: u64,
    /// Whether it had been sent before.
    pub again: bool,
    /// Whether nothing was outstanding.
    pub was_quiet: bool,
}

/// The meaning of an expiry of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expiry {
    /// The retransmission timeout.
    Timeout,
    /// The expiry of another timer of the recovery: whether an episode has begun, the steps of the window, and when the
    /// retransmission timer is to expire next.
    Other { began: bool, steps: Steps, next: Time },
}

/// The response of a recovery to an ECN echo that begins an episode of proportional rate reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EchoEpisode {
    /// `RecoverFS` (RFC 9937, section 6.1).
    pub recover_fs: u32,
    /// The ACK with the echo, as the first one of the episode. Loss recovery has already processed this ACK.
    pub allow: Allow,
}

/// Events that RACK counts.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RecoveryCounts {
    /// Reductions that were found spurious and taken back.
    pub undos: u32,
    /// Tail loss probes (RFC 8985, section 7).
    pub loss_probes: u32,
    /// Expiries of the reordering timer (RFC 8985, section 6.3).
    pub reordering_timeouts: u32,
}

/// State of a recovery for displays.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Shown {
    /// Whether data outstanding at a timeout is still being repaired.
    pub in_loss: bool,
    /// Whether the window is being reduced for an ECN echo.
    pub is_reduced: bool,
    /// Largest reordering observed, in segments; 0 if it is not measured.
    pub reordering: u32,
    /// ACKs that revealed reordering, if they are counted.
    pub reorderings: Option<u32>,
    pub counts: RecoveryCounts,
}

/// One recovery algorithm.
pub(crate) trait Algorithm {
    /// A duplicate ACK, or with SACK one that newly reports `delivered` bytes.
    fn on_dup_ack(&mut self, v: &mut View<'_>, ack: &AckReport, delivered: u64) -> Outcome;

    /// An ACK of new data.
    fn on_new_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome;

    /// Any ACK, once.
    fn on_ack(&mut self, v: &mut View<'_>, ack: &AckReport) -> Outcome {
        match ack.kind {
            AckKind::New => {
                let outcome = self.on_new_ack(v, ack);
                if ack.sacked_bytes > 0 && self.reads_blocks_of_new_acks() && !self.in_recovery() {
                    // RFC 6675, section 4: the blocks may indicate that the new first segment is lost.
                    let found = self.on_dup_ack(v, ack, 0);
                    if found.began {
                        let steps = outcome.steps.then(&found.steps);
                        return self.with_losses(v, Outcome { growth: Growth::None, began: true, steps, ..outcome });
                    }
                }
                if ack.sacked_bytes == 0 && outcome.growth == Growth::Acked {
                    return outcome;
                }
                self.with_losses(v, outcome)
            }
            AckKind::Duplicate => {
                v.s.dup_acks += 1;
                let outcome = self.on_dup_ack(v, ack, ack.sacked_bytes);
                self.with_losses(v, outcome)
            }
            AckKind::Old | AckKind::Other => Outcome::NOTHING,
        }
    }

    /// Adds the bytes newly deemed lost. Without SACK, and with the SACK and FACK of 1998, these are the bytes of the
    /// first segment, at the time when it is to be retransmitted.
    #[inline(never)]
    fn with_losses(&mut self, v: &mut View<'_>, outcome: Outcome) -> Outcome {
        let lost = outcome.began || v.s.resend_first;
        Outcome { lost_bytes: if lost { u64::from(v.s.first(v.flight).len) } else { 0 }, ..outcome }
    }

    /// The retransmission timer has expired. Returns the following step of an episode, if any.
    fn on_timeout(&mut self, v: &mut View<'_>, now: Time) -> Option<Episode>;

    /// The next piece to send. If the first answer had `or_else` and nothing in order could be sent, it is called again
    /// with `nothing_new`.
    fn next(&mut self, v: &mut View<'_>, nothing_new: bool) -> Next;

    /// The window that limits [`Algorithm::next`]; `None` if it sends nothing now even if the window allows it.
    fn room(&self, v: &ViewRef<'_>) -> Option<Room>;

    /// Whether an episode of fast recovery is in progress.
    fn in_recovery(&self) -> bool;

    /// Whether the blocks of an ACK of new data may begin an episode.
    fn reads_blocks_of_new_acks(&self) -> bool {
        false
    }

    /// A piece was sent.
    fn on_sent(&mut self, _v: &mut View<'_>, _sent: &Transmission) {}

    /// Bytes of the first range marked lost, to be retransmitted as soon as there is room.
    fn waiting_bytes(&self, _v: &ViewRef<'_>) -> Option<u64> {
        None
    }

    /// Estimated bytes in the network: neither acknowledged, nor reported to have arrived, nor deemed lost.
    fn in_flight(&self, s: &SendState, flight: &Flight) -> u64 {
        in_flight_outside(s, flight)
    }

    /// Whether every ACK without data or a change of the window is a duplicate, as in RFC 5681, even if SACK was agreed
    /// on.
    fn counts_bare_acks(&self, _cfg: &TcpConfig) -> bool {
        false
    }

    /// Whether an ACK restarts the timer and gives an RTT sample by the timestamp that it echoes, whatever it
    /// acknowledges (FACK of 1998). `new`: it acknowledges new data; `blocks`: it has SACK blocks.
    fn times_echo(&self, _new: bool, _blocks: bool) -> bool {
        false
    }

    /// Whether only the window limits what is sent, provided that SACK has reported nothing.
    fn is_calm(&self, _flight: &Flight) -> bool {
        !self.in_recovery()
    }

    /// Whether an ACK of new data only opens the window, provided that SACK has reported nothing and there were no
    /// duplicate ACKs.
    fn only_grows(&self) -> bool {
        !self.in_recovery()
    }

    /// Proportional rate reduction, if it controls the window of an episode.
    fn proportional(&mut self) -> Option<&mut Proportional> {
        None
    }

    /// The state that `Info` and traces display.
    fn shown(&self) -> Shown {
        Shown::default()
    }

    /// An ECN echo is about to reduce the window. Returns an episode if the reduction is to be proportional.
    fn on_echo(&mut self, _v: &mut View<'_>, _ack: &AckReport) -> Option<EchoEpisode> {
        None
    }

    /// The retransmission timer has expired; it may stand for another timer of the recovery.
    fn on_expiry(&mut self, _v: &mut View<'_>, _now: Time) -> Expiry {
        Expiry::Timeout
    }

    /// A timeout, the `retries`-th in a row, is about to reduce the window. Returns whether the window was already
    /// reduced for this flight.
    fn has_reduced(&mut self, _v: &mut View<'_>, _retries: u8) -> bool {
        false
    }

    /// The window restarts after an idle time.
    fn on_idle_restart(&mut self, _now: Time) {}

    /// Nothing more can be sent now. If the window is to shrink because it was not used, returns the number of segments
    /// that were in use.
    fn unused_window(&mut self, _v: &mut View<'_>, _now: Time, _limited: bool, _sent_now: bool) -> Option<u32> {
        None
    }

    /// Sets the retransmission timer, if the recovery has timers of its own that share it.
    fn share_timer(&mut self, _cfg: &TcpConfig, _s: &SendState, _timers: &mut Timers) {}
}

/// Makes the enum of all recoveries, and `each!`, which calls the same method on any of them.
macro_rules! recoveries {
    ($dollar:tt $($name:ident($type:ty)),* $(,)?) => {
        /// The recovery of one connection.
        #[derive(Clone, Debug)]
        pub(crate) enum Recovery {
            $($name($type),)*
        }

        macro_rules! each {
            ($dollar this:ident, $dollar r:ident => $dollar call:expr) => {
                match $dollar this { $(Recovery::$name($dollar r) => $dollar call,)* }
            };
        }
    };
}

recoveries! { $
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Selective(Box<Selective>),
    Rack(Box<Rack>),
    Sack1998(Sack1998),
    Fack1998(Box<Fack1998>),
}

// Every end of a connection has a `Recovery`, even those that only receive.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Recovery>() <= 24);

/// The methods of [`Algorithm`] that are called from outside, each with a `self` that is `mut` or `ref`.
macro_rules! forward {
    ($($kind:tt $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {
        $(forward! { @$kind $name($($arg: $type),*) $(-> $ret)? })*
    };
    (@mut $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?) => {
        #[inline]
        pub fn $name(&mut self, $($arg: $type),*) $(-> $ret)? {
            each!(self, r => r.$name($($arg),*))
        }
    };
    (@ref $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?) => {
        #[inline]
        pub fn $name(&self, $($arg: $type),*) $(-> $ret)? {
            each!(self, r => r.$name($($arg),*))
        }
    };
}

impl Recovery {
    /// The configured recovery. On a connection without SACK the selective ones are replaced by NewReno (RFC 6675,
    /// section 1).
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
            RecoveryConfig::Sack(_) if sack => selective(LossRule::Rfc6675, None),
            RecoveryConfig::Fack(_) if sack => selective(LossRule::Forward, None),
            RecoveryConfig::Prr(_) if sack => selective(LossRule::Rfc6675, Some(Proportional::default())),
            RecoveryConfig::Rack(_) if sack => Recovery::Rack(Box::new(Rack::new())),
            _ => Recovery::NewReno(NewReno::new(cfg.recovery.new_reno().rules)),
        }
    }

    /// Whether losses are detected by the transmission times of single segments. Recovery then needs every ACK, and the
    /// record keeps the order of transmissions.
    pub fn detects_by_time(&self) -> bool {
        matches!(self, Recovery::Rack(_))
    }

    forward! {
        mut on_ack(v: &mut View<'_>, ack: &AckReport) -> Outcome;
        mut on_timeout(v: &mut View<'_>, now: Time) -> Option<Episode>;
        mut on_expiry(v: &mut View<'_>, now: Time) -> Expiry;
        mut on_echo(v: &mut View<'_>, ack: &AckReport) -> Option<EchoEpisode>;
        mut on_sent(v: &mut View<'_>, sent: &Transmission);
        mut on_idle_restart(now: Time);
        mut proportional() -> Option<&mut Proportional>;
        mut has_reduced(v: &mut View<'_>, retries: u8) -> bool;
        mut next(v: &mut View<'_>, nothing_new: bool) -> Next;
        mut unused_window(v: &mut View<'_>, now: Time, limited: bool, sent_now: bool) -> Option<u32>;
        mut share_timer(cfg: &TcpConfig, s: &SendState, timers: &mut Timers);
        ref room(v: &ViewRef<'_>) -> Option<Room>;
        ref waiting_bytes(v: &ViewRef<'_>) -> Option<u64>;
        ref in_flight(s: &SendState, flight: &Flight) -> u64;
        ref in_recovery() -> bool;
        ref counts_bare_acks(cfg: &TcpConfig) -> bool;
        ref times_echo(new: bool, blocks: bool) -> bool;
        ref is_calm(flight: &Flight) -> bool;
        ref only_grows() -> bool;
        ref shown() -> Shown;
    }

    /// The state of RACK, for the short paths of `connection`; `None` for other recoveries.
    pub fn rack(&mut self) -> Option<&mut Rack> {
        let Recovery::Rack(rack) = self else { return None };
        Some(rack)
    }
}

/// Bytes in the network if no segment is deemed lost: without SACK each duplicate ACK stands for a segment that has
/// arrived.
fn in_flight_outside(s: &SendState, flight: &Flight) -> u64 {
    let by_duplicates = u64::from(s.dup_acks) * u64::from(s.mss);
    let arrived = if flight.reported.is_empty() { by_duplicates } else { flight.reported.total() };
    s.flight().saturating_sub(arrived)
}

/// Whether a duplicate ACK begins an episode: it is the one that indicates a loss, and more than `recover` has been
/// acknowledged, so that the loss does not belong to the last episode (RFC 6582, section 3.2, step 2: "covers more than
/// recover").
pub(crate) fn begins(v: &View<'_>, recover: u64) -> bool {
    v.s.dup_acks == v.cfg.dup_thresh && (v.s.una > recover + 1 || recover == 0)
}

/// Begins an episode: the window is reduced (RFC 5681, equation 4), and the first unacknowledged segment is
/// retransmitted.
pub(crate) fn cut(v: &mut View<'_>) -> Outcome {
    v.s.resend_first = true;
    Outcome { steps: Steps::cut(v.s.flight_size()), ..Outcome::BEGAN }
}

/// A duplicate ACK of Reno and NewReno (RFC 5681, section 3.2): in an episode it inflates the window. `extra` segments
/// are added to the inflation of step 3.
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

/// The room of algorithms without SACK, where everything sent counts against the window. With ns-2's `rules` and
/// without Limited Transmit, the duplicate ACKs before an episode leave no room: ns-2's agents do not try to send then.
pub(crate) fn cumulative_room(v: &ViewRef<'_>, rules: RecoveryRules) -> Option<Room> {
    let (cfg, s) = (v.cfg, v.s);
    let mut window = v.window.inflated(s);
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

/// The next piece of algorithms without SACK: the first segment if it is to be retransmitted, otherwise what the room
/// permits.
pub(crate) fn next_cumulative(v: &View<'_>, rules: RecoveryRules) -> Next {
    if v.s.resend_first {
        return Next::Piece(v.s.first(v.flight));
    }
    cumulative_room(&v.read(), rules).map_or(Next::Nothing, Next::in_order)
}

#[cfg(test)]
mod tests;
