//! Which data a connection that sends in trains sends next ([`crate::trains`]).

use cwndlab_units::Time;

use super::{Connection, Control, Limit};
use crate::config::TcpConfig;
use crate::in_order::Wait;
use crate::pacing::{Pace, Pacer};
use crate::send_state::{Piece, Room};
use crate::trains::{Deferred, Next, Trains, Waiting};

impl Connection {
    /// Returns the next piece to send: the rest of a train, or what the sender chooses, which may begin a train.
    pub(super) fn next_piece(&mut self, cfg: &TcpConfig, now: Time) -> Result<Piece, Wait> {
        if self.control != Control::AskTrain {
            return self.sender.next_piece(cfg, &mut self.recovery);
        }
        self.keep_train_rate(cfg);
        let s = &self.sender.snd;
        let (start, mss) = (s.max, u64::from(s.mss));
        if let Some(end) = self.sender.trains().and_then(|trains| trains.rest(now, start)) {
            self.sender.snd.nxt = start;
            return Ok(Piece { start, len: (end - start).min(mss) as u32 });
        }
        let piece = match self.sender.next_piece(cfg, &mut self.recovery) {
            Err(Wait::PeerWindow) => {
                let (next, _) = self.what_decides(cfg, now, start);
                self.change_trains(|trains, written| trains.grow(&next, written));
                return Err(Wait::PeerWindow);
            }
            piece => piece?,
        };
        if piece.len == 0 || self.sender.socket().is_some() {
            return Ok(piece);
        }
        if piece.start < start {
            self.resend_train_of(cfg, now, piece);
            return Ok(piece);
        }
        self.begin_train_of(cfg, now, piece)
    }

    /// Sends a piece again, in a train of what is lost of its `sk_buff` (`tcp_xmit_retransmit_queue`).
    fn resend_train_of(&mut self, cfg: &TcpConfig, now: Time, piece: Piece) {
        let (next, _) = self.what_decides(cfg, now, piece.start);
        let most = next.cwnd.saturating_sub(next.in_flight).min(next.most);
        let (flight, written) = (&self.sender.outstanding, self.sender.snd.end);
        let end = piece.start + u64::from(piece.len);
        let Some(trains) = self.sender.extra.as_mut().and_then(|extra| extra.trains.as_deref_mut()) else { return };
        trains.forget(self.sender.snd.una);
        trains.resend(now, (piece.start, end), |limit| {
            let fin = u64::from(limit == written);
            flight.resendable(piece.start, limit + fin, most).min(limit)
        });
    }

    /// Ends the pacer's train where a train is complete, however short it is.
    pub(super) fn end_complete_train(&mut self, now: Time) {
        let next = self.sender.snd.max;
        let Some(trains) = self.sender.trains_mut() else { return };
        trains.reconsider();
        if !trains.is_complete(now, next) {
            return;
        }
        if let Some(pacer) = self.sender.pacer_mut() {
            pacer.end_train();
        }
        if self.sender.trains_mut().is_some_and(Trains::ends_push_one) {
            self.write_on();
        }
    }

    /// Makes room in the send buffer if it lacks some. Linux sends what waits first (`tcp_data_snd_check`), which decides what is sent as a train.
    #[inline(never)]
    pub(super) fn make_room_now(&mut self) {
        if !self.sender.lacks_room() {
            return;
        }
        let waits = self.sender.snd.nxt < self.sender.snd.end;
        match self.sender.trains_mut() {
            Some(trains) if waits => trains.check_space(),
            _ => self.refill(),
        }
    }

    /// Lets the application write on where nothing more can be sent; whether it has.
    pub(super) fn writes_on(&mut self) -> bool {
        let before = self.sender.snd.end;
        if self.sender.calls_again() {
            self.write_on();
        } else if self.sender.trains_mut().is_some_and(Trains::take_check) {
            self.refill();
        }
        self.sender.snd.end > before
    }

    /// Keeps the rate that sizes trains, which changes with the next arrival only (`tcp_update_pacing_rate`): neither what is sent
    /// now nor a window that restarts after a pause changes it.
    pub(super) fn keep_train_rate(&mut self, cfg: &TcpConfig) {
        let (s, arrivals) = (&self.sender, self.stats.segments_received);
        if s.trains().is_none_or(|trains| trains.kept_rate(arrivals).is_some()) {
            return;
        }
        let rate = Pace::rate_of_window(cfg, &s.snd, &s.cc);
        if let (Some(trains), Some(rate)) = (self.sender.trains_mut(), rate) {
            trains.keep_rate(arrivals, rate);
        }
    }

    /// Begins a train with this piece, unless it waits.
    fn begin_train_of(&mut self, cfg: &TcpConfig, now: Time, piece: Piece) -> Result<Piece, Wait> {
        let (next, waiting) = self.what_decides(cfg, now, piece.start);
        let Some(begun) = self.change_trains(|trains, written| trains.begin(&next, &waiting, written)) else {
            return Ok(piece);
        };
        match begun {
            Ok(end) => {
                if self.sender.trains().is_some_and(Trains::checks_space) {
                    let in_flight = self.recovery.in_flight(&self.sender.snd, &self.sender.outstanding);
                    self.sender.expand_buffer(in_flight + end - piece.start);
                }
                let len = (end - piece.start).min(next.mss) as u32;
                Ok(Piece { len: len.max(piece.len), ..piece })
            }
            Err(Deferred::Cwnd) => {
                self.sender.stopped_by_cwnd = true;
                Err(Wait::Cwnd)
            }
            Err(Deferred::PeerWindow) => Err(Wait::PeerWindow),
            Err(Deferred::Application) => Err(Wait::Application),
        }
    }

    /// Changes the trains; what was written ends at the position that `change` is given. PSH stays with an `sk_buff` that has
    /// grown.
    fn change_trains<T>(&mut self, change: impl FnOnce(&mut Trains, u64) -> T) -> Option<T> {
        let (una, written) = (self.sender.snd.una, self.sender.snd.end);
        let trains = self.sender.trains_mut()?;
        trains.forget(una);
        let changed = change(trains, written);
        if let (Some((from, to)), Some(buffer)) = (trains.take_grown(), self.sender.buffer_mut()) {
            buffer.move_push(from, to);
        }
        Some(changed)
    }

    /// What a train waits for, if one does.
    pub(super) fn deferred_limit(&self, cfg: &TcpConfig) -> Option<Limit> {
        Some(match self.sender.trains()?.deferred()? {
            Deferred::Cwnd => self.window_limit(cfg),
            Deferred::PeerWindow => Limit::ReceiveWindow,
            Deferred::Application if self.sender.is_blocked() => Limit::SendBuffer,
            Deferred::Application => Limit::Application,
        })
    }

    fn what_decides(&self, cfg: &TcpConfig, now: Time, start: u64) -> (Next, Waiting) {
        let s = &self.sender;
        let mss = u64::from(s.snd.mss);
        let room = self.recovery.room(&s.read(cfg));
        let Room { window, in_flight } = room.unwrap_or(Room { window: s.cc.cwnd(), in_flight: s.snd.flight() });
        let next = Next {
            now,
            start,
            mss,
            cwnd: window / mss,
            in_flight: in_flight.div_ceil(mss),
            most: self.most_segments(cfg),
            offered: s.snd.edge.saturating_sub(start),
            window: s.snd.edge.saturating_sub(s.snd.una),
            holds_small: s.in_order(cfg).waits_for_ack(&s.snd),
        };
        let waiting = Waiting {
            repairs: self.recovery.in_recovery() || self.recovery.shown().in_loss,
            last_sent: s.pacer().map_or(s.last_sent, |pacer| pacer.last_departure(now)),
            first_sent: s.outstanding.first().map(|first| first.at),
            srtt: s.snd.rtt.srtt(&cfg.rto),
            fin: s.fin,
        };
        (next, waiting)
    }

    /// Maximum segments of a train (`tcp_tso_segs`).
    fn most_segments(&self, cfg: &TcpConfig) -> u64 {
        let s = &self.sender;
        let bytes = s.pacer().map_or_else(
            || {
                let rate = s.trains().and_then(|trains| trains.kept_rate(self.stats.segments_received));
                Pace::unpaced_train_bytes(&s.snd, rate)
            },
            Pacer::most_bytes,
        );
        let device = if cfg.max_train_segments > 0 { u64::from(cfg.max_train_segments) } else { u64::MAX };
        (bytes / u64::from(s.snd.mss)).clamp(1, device)
    }
}
