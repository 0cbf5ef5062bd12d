//! Loss recovery: what to send again, and when an episode begins and ends. Each algorithm is a type of its own.
//!
//! Contract, for every type:
//! - [`Recovery::on_ack`]: once per ACK, after `una` has moved and the account of what is outstanding has taken it; returns a
//!   [`Decision`]. It never writes a window: it reports steps of the episode to the controller ([`crate::Episode`]).
//! - `on_timeout`: once per expiry, after the window law has cut and `nxt` has gone back.
//! - `next`: the next piece to send, or none; `on_sent` for each piece that went.

mod fack;
mod fack_1998;
mod new_reno;
mod new_reno_1998;
mod prr;
pub(crate) mod rack;
mod reno;
mod reno_1998;
mod sack;
mod sack_1998;
mod selective;
mod tahoe;

use cwndlab_units::Time;

use crate::config::{RecoveryConfig, RecoveryRules, SelectiveConfig, TcpConfig};
use crate::congestion::{AckKind, AckReport, CongestionEvent, Episode};
use crate::sender::{Piece, Room, Sender};
use fack::Fack;
use fack_1998::Fack1998;
use new_reno::NewReno;
use new_reno_1998::NewReno1998;
use prr::Prr;
pub(crate) use rack::Expiry;
use rack::Rack;
use reno::Reno;
use reno_1998::Reno1998;
use sack::Sack;
use sack_1998::Sack1998;
use selective::SackEpisode;
use tahoe::Tahoe;

/// What loss detection and the episode make of one ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// By what the window may grow.
    pub growth: Growth,
    /// The retransmission timer restarts (RFC 6298, 5.3).
    pub restart_timer: bool,
    /// An episode of fast recovery has begun.
    pub began: bool,
    /// Bytes newly deemed lost.
    pub lost_bytes: u64,
}

/// By what the window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    None,
    /// By what the ACK acknowledges.
    Acked,
    /// By these bytes, which it only reports.
    Reported(u64),
}

pub(crate) const GROW: Decision = Decision { growth: Growth::Acked, restart_timer: true, began: false, lost_bytes: 0 };
pub(crate) const HOLD: Decision = Decision { growth: Growth::None, ..GROW };
/// Neither the window nor the timer changes.
const NOTHING: Decision = Decision { restart_timer: false, ..HOLD };

/// One recovery algorithm.
#[derive(Clone, Debug)]
pub(crate) enum Recovery {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Sack(Box<Sack>),
    Fack(Box<Fack>),
    Prr(Box<Prr>),
    Rack(Box<Rack>),
    Reno1998(Reno1998),
    NewReno1998(NewReno1998),
    Sack1998(Sack1998),
    Fack1998(Box<Fack1998>),
}

// every end has one, and most ends only receive
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Recovery>() <= 24);

macro_rules! each {
    ($self:ident, $r:ident => $call:expr) => {
        match $self {
            Recovery::Tahoe($r) => $call,
            Recovery::Reno($r) => $call,
            Recovery::NewReno($r) => $call,
            Recovery::Sack($r) => $call,
            Recovery::Fack($r) => $call,
            Recovery::Prr($r) => $call,
            Recovery::Rack($r) => $call,
            Recovery::Reno1998($r) => $call,
            Recovery::NewReno1998($r) => $call,
            Recovery::Sack1998($r) => $call,
            Recovery::Fack1998($r) => $call,
        }
    };
}

impl Recovery {
    /// The configured one; without SACK on the connection the selective ones fall back to NewReno (RFC 6675, section 1).
    pub fn new(cfg: &TcpConfig, sack: bool) -> Self {
        use RecoveryRules::{Ns2_1998, Standard};
        match cfg.recovery {
            RecoveryConfig::Tahoe => Recovery::Tahoe(Tahoe::default()),
            RecoveryConfig::Reno(reno) => match reno.rules {
                Standard => Recovery::Reno(Reno::default()),
                Ns2_1998 => Recovery::Reno1998(Reno1998::default()),
            },
            RecoveryConfig::Sack(SelectiveConfig { rules, .. }) if sack => match rules {
                Standard => Recovery::Sack(Box::default()),
                Ns2_1998 => Recovery::Sack1998(Sack1998::default()),
            },
            RecoveryConfig::Fack(SelectiveConfig { rules, .. }) if sack => match rules {
                Standard => Recovery::Fack(Box::default()),
                Ns2_1998 => Recovery::Fack1998(Box::default()),
            },
            RecoveryConfig::Prr(_) if sack => Recovery::Prr(Box::default()),
            RecoveryConfig::Rack(_) if sack => Recovery::Rack(Box::default()),
            _ => match cfg.recovery.new_reno().rules {
                Standard => Recovery::NewReno(NewReno::default()),
                Ns2_1998 => Recovery::NewReno1998(NewReno1998::default()),
            },
        }
    }

    /// Loss detection and the episode take an ACK, once.
    #[allow(clippy::inline_always)] // see connection/ack.rs
    #[inline(always)]
    pub fn on_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        if let Recovery::Rack(rack) = self {
            return rack.on_ack(cfg, s, ack);
        }
        match ack.kind {
            AckKind::New => {
                let decision = self.on_new_ack(cfg, s, ack);
                if ack.sacked_bytes > 0 {
                    return self.with_news(cfg, s, ack.now, decision);
                }
                if decision.growth == Growth::Acked {
                    return decision;
                }
                self.with_losses(s, decision)
            }
            AckKind::Duplicate => {
                s.dup_acks += 1;
                let began = self.on_dup_ack(cfg, s, ack.now, ack.sacked_bytes);
                self.with_losses(s, Decision { began, restart_timer: began, ..NOTHING })
            }
            AckKind::Old | AckKind::Other => NOTHING,
        }
    }

    /// The same, out of line, of an ACK that is not one of new data.
    #[inline(never)]
    pub fn on_rare_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        self.on_ack(cfg, s, ack)
    }

    /// RFC 6675, section 4: the blocks of an ACK of new data may show that the new first segment is lost.
    #[cold]
    fn with_news(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time, decision: Decision) -> Decision {
        let looks = matches!(self, Recovery::Sack(_) | Recovery::Fack(_) | Recovery::Prr(_));
        if looks && !self.in_recovery() && self.on_dup_ack(cfg, s, now, 0) {
            return self.with_losses(s, Decision { growth: Growth::None, began: true, ..decision });
        }
        self.with_losses(s, decision)
    }

    /// What an ACK shows to be lost. With SACK the holes of which it is newly known (RFC 6675, section 4, `IsLost`); without,
    /// and with SACK of 1998, the first segment when it is to go again.
    #[inline(never)]
    fn with_losses(&mut self, s: &Sender, decision: Decision) -> Decision {
        let lost_bytes = match self {
            Recovery::Sack(r) => r.episode.take_newly_lost(),
            Recovery::Fack(r) => r.episode.take_newly_lost(),
            Recovery::Prr(r) => r.episode.take_newly_lost(),
            _ if decision.began || s.resend_first => u64::from(s.first().len),
            _ => 0,
        };
        Decision { lost_bytes, ..decision }
    }

    /// A duplicate ACK that newly reported `delivered` bytes; true if it began an episode.
    fn on_dup_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time, delivered: u64) -> bool {
        match self {
            Recovery::Tahoe(r) => r.on_dup_ack(cfg, s),
            Recovery::Reno(r) => r.on_dup_ack(cfg, s),
            Recovery::NewReno(r) => r.on_dup_ack(cfg, s),
            Recovery::Sack(r) => r.on_dup_ack(cfg, s),
            Recovery::Fack(r) => r.on_dup_ack(cfg, s),
            Recovery::Prr(r) => r.on_dup_ack(cfg, s, delivered),
            Recovery::Reno1998(r) => r.on_dup_ack(cfg, s),
            Recovery::NewReno1998(r) => r.on_dup_ack(cfg, s),
            Recovery::Sack1998(r) => r.on_dup_ack(cfg, s, delivered),
            Recovery::Fack1998(r) => r.on_dup_ack(cfg, s, now),
            Recovery::Rack(_) => false, // duplicates mean nothing by themselves
        }
    }

    #[allow(clippy::inline_always)] // see connection/ack.rs
    #[inline(always)]
    fn on_new_ack(&mut self, cfg: &TcpConfig, s: &mut Sender, ack: &AckReport) -> Decision {
        match self {
            Recovery::Tahoe(r) => r.on_new_ack(s),
            Recovery::Reno(r) => r.on_new_ack(s),
            Recovery::NewReno(r) => r.on_new_ack(cfg, s, ack),
            Recovery::Sack(r) => r.on_new_ack(cfg, s),
            Recovery::Fack(r) => r.on_new_ack(s),
            Recovery::Prr(r) => r.on_new_ack(cfg, s, ack),
            Recovery::Reno1998(r) => r.on_new_ack(s),
            Recovery::NewReno1998(r) => r.on_new_ack(cfg, s, ack),
            Recovery::Sack1998(r) => r.on_new_ack(s),
            Recovery::Fack1998(r) => r.on_new_ack(cfg, s, ack),
            Recovery::Rack(r) => r.on_ack(cfg, s, ack),
        }
    }

    pub fn on_timeout(&mut self, cfg: &TcpConfig, s: &mut Sender, now: Time) {
        match self {
            Recovery::Reno(r) => r.on_timeout(cfg, s),
            Recovery::Tahoe(r) => r.on_timeout(s),
            Recovery::NewReno(r) => r.on_timeout(s),
            Recovery::Sack(r) => r.on_timeout(s),
            Recovery::Fack(r) => r.on_timeout(s),
            Recovery::Prr(r) => r.on_timeout(s),
            Recovery::Rack(r) => r.on_timeout(s, now),
            Recovery::Reno1998(r) => r.on_timeout(s),
            Recovery::NewReno1998(r) => r.on_timeout(s),
            Recovery::Sack1998(r) => r.on_timeout(s),
            Recovery::Fack1998(r) => r.on_timeout(s),
        }
    }

    #[inline]
    pub fn next(&mut self, cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
        each!(self, r => r.next(cfg, s))
    }

    /// What decides whether more goes, once [`Recovery::next`] has given all that it gives; none if the algorithm sends
    /// nothing now, even if the window would admit it.
    pub fn room(&self, cfg: &TcpConfig, s: &Sender) -> Option<Room> {
        match self {
            Recovery::Tahoe(_) | Recovery::Reno(_) | Recovery::NewReno(_) => Some(cumulative_room(cfg, s)),
            Recovery::Sack(r) => r.episode.room(cfg, s),
            Recovery::Fack(r) => r.episode.room(cfg, s),
            Recovery::Prr(r) => r.room(cfg, s),
            Recovery::Rack(r) => Some(r.room(cfg, s)),
            Recovery::Reno1998(_) => reno_1998::room(cfg, s),
            Recovery::NewReno1998(r) => r.room(cfg, s),
            Recovery::Sack1998(r) => r.room(cfg, s),
            Recovery::Fack1998(r) => r.room(cfg, s),
        }
    }

    /// Bytes of the first range marked lost, to be retransmitted as soon as there is room.
    pub fn waiting_bytes(&self, s: &Sender) -> Option<u64> {
        let highest = s.outstanding.highest_reported().unwrap_or(s.una);
        let hole = |high_rxt: u64, below: u64| {
            (s.outstanding.hole(high_rxt.max(s.una)).0 < below.min(highest)).then_some(u64::from(s.mss))
        };
        let lost_hole = |episode: &SackEpisode| hole(episode.high_rxt, episode.lost_below).filter(|_| episode.active);
        match self {
            Recovery::Tahoe(_)
            | Recovery::Reno(_)
            | Recovery::NewReno(_)
            | Recovery::Reno1998(_)
            | Recovery::NewReno1998(_) => None,
            Recovery::Sack(r) => lost_hole(&r.episode),
            Recovery::Fack(r) => lost_hole(&r.episode),
            Recovery::Prr(r) => lost_hole(&r.episode),
            Recovery::Rack(r) => r.waiting_bytes(s),
            Recovery::Sack1998(r) => hole(r.high_rxt, highest).filter(|_| r.active),
            Recovery::Fack1998(r) => hole(r.high_rxt, highest).filter(|_| r.active),
        }
    }

    #[inline]
    pub fn on_sent(&mut self, piece: Piece, again: bool) {
        match self {
            Recovery::Tahoe(_)
            | Recovery::Reno(_)
            | Recovery::NewReno(_)
            | Recovery::Reno1998(_)
            | Recovery::NewReno1998(_)
            | Recovery::Sack1998(_)
            | Recovery::Fack1998(_)
            | Recovery::Rack(_) => {} // RACK needs the time too: `Connection::note_sent`
            Recovery::Sack(r) => r.episode.on_sent(piece, again),
            Recovery::Fack(r) => r.episode.on_sent(piece, again),
            Recovery::Prr(r) => r.on_sent(piece, again),
        }
    }

    /// Whether every ACK without data or a change of the window is a duplicate, as in RFC 5681, also where SACK is agreed on.
    pub fn counts_bare_acks(&self) -> bool {
        use Recovery::{Fack1998, NewReno1998, Reno1998, Sack1998};
        matches!(self, Reno1998(_) | NewReno1998(_) | Sack1998(_) | Fack1998(_))
    }

    /// FACK of 1998 restarts the timer with every duplicate or reporting ACK and times it by the stamp that it echoes.
    #[inline]
    pub fn times_echo(&self, new: bool, blocks: bool) -> bool {
        matches!(self, Recovery::Fack1998(fack) if fack.times_echo(new, blocks))
    }

    /// Bytes thought to be in the network: neither acknowledged, nor reported to have arrived, nor deemed lost; without SACK
    /// each duplicate ACK stands for a segment that has arrived.
    pub fn in_flight(&self, s: &Sender) -> u64 {
        match self {
            Recovery::Rack(_) => s.outstanding.tally().pipe,
            Recovery::Sack(r) if r.episode.active => r.episode.pipe,
            Recovery::Fack(r) if r.episode.active => r.episode.pipe,
            Recovery::Prr(r) if r.episode.active => r.episode.pipe,
            _ if s.outstanding.nothing_reported() => {
                s.flight().saturating_sub(u64::from(s.dup_acks) * u64::from(s.mss))
            }
            _ => s.flight().saturating_sub(s.outstanding.reported_bytes()),
        }
    }

    /// Whether what a timeout found outstanding is still being repaired; known to RACK only.
    pub fn in_loss(&self) -> bool {
        matches!(self, Recovery::Rack(r) if r.in_loss())
    }

    /// Whether the window alone decides what goes, where nothing was reported.
    #[inline]
    pub fn is_calm(&self, s: &Sender) -> bool {
        match self {
            Recovery::Rack(rack) => rack.is_calm(s),
            Recovery::Fack1998(_) => false, // it may wait outside recovery, too
            _ => !self.in_recovery(),
        }
    }

    /// Whether nothing follows from an ACK of new data but that the window grows, where nothing was reported and no ACK was
    /// a duplicate.
    #[inline]
    pub fn only_grows(&self) -> bool {
        match self {
            Recovery::Tahoe(_) => true,
            Recovery::Reno(r) => !r.active && !r.resumes,
            Recovery::NewReno(r) => !r.active,
            Recovery::Sack(r) => !r.episode.active,
            Recovery::Fack(r) => !r.episode.active,
            Recovery::Prr(r) => !r.episode.active,
            Recovery::Reno1998(r) => !r.active,
            Recovery::NewReno1998(r) => !r.active,
            Recovery::Sack1998(r) => !r.active && !r.hold && !r.timed_out,
            Recovery::Rack(_) | Recovery::Fack1998(_) => false,
        }
    }

    #[inline]
    pub fn in_recovery(&self) -> bool {
        match self {
            Recovery::Tahoe(_) => false,
            Recovery::Reno(r) => r.active,
            Recovery::NewReno(r) => r.active,
            Recovery::Sack(r) => r.episode.active,
            Recovery::Fack(r) => r.episode.active,
            Recovery::Prr(r) => r.episode.active,
            Recovery::Rack(r) => r.in_recovery(),
            Recovery::Reno1998(r) => r.active,
            Recovery::NewReno1998(r) => r.active,
            Recovery::Sack1998(r) => r.active,
            Recovery::Fack1998(r) => r.active,
        }
    }
}

/// Every reduction of the window passes here, at most one a window of data: not for a loss if an echo has reduced that
/// window already (RFC 3168, section 6.1.2). `flight` bytes were out. Whether it was reduced.
pub(crate) fn reduce(cfg: &TcpConfig, s: &mut Sender, event: CongestionEvent, flight: u64) -> bool {
    if event == CongestionEvent::Loss && s.ecn.covers_loss(s.una) {
        return false;
    }
    s.cc.on_congestion(cfg, event, flight, s.mss);
    s.ecn.reduced(s.max, event == CongestionEvent::Ecn);
    true
}

/// `FlightSize` when a loss is found: what Limited Transmit sent beyond cwnd does not count (RFC 5681, section 3.2, step 2),
/// nor what was sent before a timeout, or the window would grow by the loss.
fn flight_lost(s: &Sender) -> u64 {
    s.flight_size().min(s.cc.cwnd().max(u64::from(s.mss)))
}

/// Cuts the window for an episode (RFC 5681, equation 4) and sends the first unacknowledged segment again.
fn cut(cfg: &TcpConfig, s: &mut Sender) {
    reduce(cfg, s, CongestionEvent::Loss, flight_lost(s));
    s.resend_first = true;
    s.timed_end = 0; // Karn: the segment sent again may be the timed one
}

/// Whether a duplicate ACK begins an episode: it is the one that shows a loss, and more than `recover` has been acknowledged, so
/// that the loss is not of the last episode (RFC 6582, section 3.2, step 2: "covers more than recover").
fn begins(cfg: &TcpConfig, s: &Sender, recover: u64) -> bool {
    s.dup_acks == cfg.dup_thresh && (s.una > recover + 1 || recover == 0)
}

/// A duplicate ACK of Reno and NewReno (RFC 5681, section 3.2): in an episode it inflates the window. Whether it begins one;
/// `extra` segments are added to the inflation of step 3.
fn inflate(cfg: &TcpConfig, s: &mut Sender, active: bool, recover: u64, extra: u16) -> bool {
    if active {
        s.inflation += s.mss; // step 4
        return false;
    }
    if !begins(cfg, s, recover) {
        return false;
    }
    cut(cfg, s); // step 2
    s.inflation = (cfg.dup_thresh + u32::from(extra)) * s.mss; // step 3
    true
}

/// A partial ACK of `acked` bytes deflates the window by these, less one segment: the inflation first, then cwnd by the `rest`
/// (RFC 6582, section 3.2, step 3).
fn deflate(s: &mut Sender, acked: u64, rest: impl FnOnce(u32) -> Episode) {
    let (acked, mss) = (acked.min(u64::from(u32::MAX)) as u32, s.mss);
    if s.inflation < acked {
        s.cc.on_episode(rest(acked - s.inflation), mss);
    }
    s.inflation = s.inflation.saturating_sub(acked) + if acked >= mss { mss } else { 0 };
}

/// See [`Recovery::room`].
fn cumulative_room(cfg: &TcpConfig, s: &Sender) -> Room {
    Room { window: cumulative_window(cfg, s), in_flight: s.flight() }
}

/// The next piece of the algorithms without SACK: the first segment if it is to be sent again, else what the inflated
/// window lets go.
#[inline]
fn next_cumulative(cfg: &TcpConfig, s: &mut Sender) -> Option<Piece> {
    if s.resend_first {
        return Some(s.first());
    }
    let room = cumulative_room(cfg, s);
    s.next_in_order(cfg, room)
}

/// The window of the algorithms without SACK, against which everything sent counts.
#[inline]
fn cumulative_window(cfg: &TcpConfig, s: &Sender) -> u64 {
    let mut window = s.window(cfg);
    if cfg.limited_transmit && before_recovery(cfg, s) {
        // RFC 3042, section 2: a new segment for each of the first two duplicate ACKs, beyond cwnd
        window += u64::from(s.dup_acks.min(2) * s.mss);
    }
    window
}

/// Whether duplicate ACKs have come, but not enough for an episode.
#[inline]
fn before_recovery(cfg: &TcpConfig, s: &Sender) -> bool {
    s.dup_acks > 0 && s.inflation == 0 && s.dup_acks < cfg.dup_thresh
}

#[cfg(test)]
mod tests;
