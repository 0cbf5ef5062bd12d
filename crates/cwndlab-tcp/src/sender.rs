//! The sending half: positions, windows, the timed segment, and what every loss recovery shares.

use cwndlab_units::Time;

use crate::accecn::AccEcn;
use crate::config::{MaxWindow, NagleRule, TcpConfig};
use crate::congestion::{Controller, Start};
use crate::ecn::Echo;
use crate::flight::{AckReport, Flight};
use crate::pacing::Pacer;
use crate::rto::RttEstimator;
use crate::socket_options::SocketOptions;
use crate::Rng;

/// A piece of the stream to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub start: u64,
    /// Payload bytes.
    pub len: u32,
}

/// The window that a piece must fit into, and how much of it counts as in flight; bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub window: u64,
    pub in_flight: u64,
}

impl Room {
    /// With `bytes` more in flight.
    #[inline]
    pub fn less(self, bytes: u64) -> Room {
        Room { in_flight: self.in_flight + bytes, ..self }
    }
}

/// Why nothing is sent in order, in the sequence of the sender's tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// What a timeout found outstanding is to be acknowledged first.
    Draining,
    /// Everything written has been sent.
    NoData,
    /// cwnd is full for a FIN that goes alone; it does not count as limited by cwnd.
    FinAlone,
    /// cwnd is full.
    Window,
    /// The peer's window is.
    ReceiveWindow,
    /// Less than a segment waits for more (Nagle, or as the application asked).
    SmallSegment,
}

/// Positions of RFC 9293, section 3.3.1, as 64-bit stream positions.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Sender {
    /// SND.UNA
    pub una: u64,
    /// SND.NXT: goes back on a timeout.
    pub nxt: u64,
    /// One past the highest position ever sent.
    pub max: u64,
    /// One past the last byte written.
    pub end: u64,
    /// First position that the peer's window excludes.
    pub edge: u64,
    pub cc: Controller,
    pub rtt: RttEstimator,
    /// One past the timed segment (0 = none is timed), and when it was sent.
    pub timed_end: u64,
    pub timed_at: Time,
    /// When data was last sent (RFC 5681, section 4.1).
    pub last_sent: Time,
    /// RFC 5681, section 2: duplicate ACKs since the last ACK of new data.
    pub dup_acks: u32,
    /// Bytes by which fast recovery inflates the window (RFC 5681, section 3.2, steps 3 to 5).
    pub inflation: u32,
    /// Effective payload bytes of a full segment.
    pub mss: u32,
    /// The first unacknowledged segment is to be sent now, regardless of the window.
    pub resend_first: bool,
    /// Binary digits of the largest window the peer ever offered (RFC 9293, 3.8.6.2.1: Max(SND.WND)).
    pub window_bits: u8,
    /// Whether cwnd was what stopped the sender just now.
    pub stopped_by_cwnd: bool,
    /// Whether it did, or was full, at some time in this round ([`Self::note_usage`]).
    cwnd_limited: bool,
    /// Most segments in flight in this round, if cwnd was not full.
    most_out: u16,
    /// The round ends when this is acknowledged; low 32 bits of the position.
    usage_end: u32,
    /// One past the last small segment of new data; low 32 bits of the position.
    pub small_end: u32,
    /// Whether the application has closed; the FIN has position `end`.
    pub fin: bool,
    pub ecn: Echo,
    /// What is outstanding, beyond the positions.
    pub outstanding: Flight,
    /// What few connections need.
    pub extra: Option<Box<Extra>>,
}

/// What few connections need; on their heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub pacer: Option<Pacer>,
    pub socket: SocketOptions,
    /// Where the controller draws random numbers.
    pub random: Option<Rng>,
    /// AccECN state, if configured.
    pub accecn: Option<AccEcn>,
}

impl Sender {
    pub fn new(cfg: &TcpConfig, mss: u32) -> Self {
        Sender {
            una: 1,
            nxt: 1,
            max: 1,
            end: 1,
            edge: 1 + cfg.receive_buffer_bytes,
            cc: Controller::new(cfg, mss),
            rtt: RttEstimator::new(&cfg.rto),
            timed_end: 0,
            timed_at: Time::ZERO,
            last_sent: Time::ZERO,
            dup_acks: 0,
            inflation: 0,
            mss,
            resend_first: false,
            window_bits: 0,
            stopped_by_cwnd: false,
            cwnd_limited: false,
            most_out: 0,
            usage_end: 0,
            small_end: 0,
            fin: false,
            ecn: Echo::default(),
            outstanding: Flight::new(cfg),
            extra: (cfg.paces()
                || cfg.window_law.needs().min_rtt_window.is_some()
                || cfg.window_law.needs().delays
                || cfg.ecn.is_accurate())
            .then(|| {
                let pacer = cfg.paces().then(Pacer::default);
                let accecn = cfg.ecn.is_accurate().then(AccEcn::default);
                Box::new(Extra { pacer, accecn, ..Extra::default() })
            }),
        }
    }

    /// The connection is established.
    pub fn start(&mut self, cfg: &TcpConfig, now: Time) {
        let least = self.rtt.min_rtt();
        if let Some(rate) = self.outstanding.rate().filter(|_| !least.is_never()) {
            rate.note_handshake(now, least);
        }
        if !self.ecn.is_accurate() {
            self.cc.do_without_accecn();
        }
        self.cc.on_start(Start { now, mss: self.mss, srtt: self.rtt.srtt(&cfg.rto), min_rtt: least });
    }

    /// Whether less than a full segment waits for the application to write more.
    #[inline]
    pub fn holds(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.socket.holds())
    }

    /// The application writes, with `in_flight` bytes in the network. If it had left less than a segment to send while the
    /// window and the peer had room, it has been what limits the sender (Linux: `tcp_rate_check_app_limited`, on entry to `tcp_sendmsg`).
    #[cold]
    pub fn note_write(&mut self, in_flight: u64) {
        let queued = self.end.saturating_sub(self.nxt);
        let idle = queued < u64::from(self.mss) && self.nxt == self.max && in_flight < self.cc.cwnd();
        let packets = in_flight.div_ceil(u64::from(self.mss));
        if let Some(rate) = self.outstanding.rate().filter(|_| idle) {
            rate.on_app_limited(packets);
        }
    }

    /// What counts against the window: less than `FlightSize` during go-back-N after a timeout.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// `FlightSize` (RFC 5681, section 2): sent and not cumulatively acknowledged.
    #[inline]
    pub fn flight_size(&self) -> u64 {
        self.max - self.una
    }

    /// One past everything that may be sent, FIN included.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.end + u64::from(self.fin)
    }

    /// The peer offers a window of these bytes.
    #[inline]
    pub fn note_largest_window(&mut self, window: u32) {
        if u64::from(window) >> self.window_bits != 0 {
            self.window_bits = (u32::BITS - window.leading_zeros()) as u8;
        }
    }

    /// Whether what a timeout found outstanding keeps new data back.
    #[inline]
    pub fn drains(&self, cfg: &TcpConfig) -> bool {
        cfg.drains_after_timeout && self.outstanding.drains(self.una)
    }

    /// The configured largest window, bytes.
    #[inline]
    pub fn most(&self, cfg: &TcpConfig) -> u64 {
        match cfg.max_window {
            MaxWindow::Segments(k) => u64::from(k) * u64::from(self.mss),
            MaxWindow::Bytes(bytes) => bytes,
        }
    }

    /// cwnd with the recovery's inflation, not beyond the configured maximum.
    #[inline]
    pub fn window(&self, cfg: &TcpConfig) -> u64 {
        (self.cc.cwnd() + u64::from(self.inflation)).min(self.most(cfg))
    }

    /// The first segment not below `from` that is missing below a report.
    pub fn hole_piece(&self, from: u64) -> Option<Piece> {
        let (start, end) = self.outstanding.hole(from);
        let len = || self.within_record(start, (end - start).min(u64::from(self.mss)));
        (end != u64::MAX).then(|| Piece { start, len: len() as u32 })
    }

    /// The next piece at `nxt`, see [`Sender::in_order`].
    #[inline]
    pub fn next_in_order(&mut self, cfg: &TcpConfig, room: Room) -> Option<Piece> {
        match self.in_order(cfg, room) {
            Ok(piece) => Some(piece),
            Err(stop) => {
                if stop == Stop::Window {
                    self.stopped_by_cwnd = true;
                }
                None
            }
        }
    }

    /// The next piece at `nxt` (new data, or again after a timeout) that there is room for, by the rules against silly
    /// windows (RFC 1122, 4.2.3.4) and Nagle's.
    #[inline]
    pub fn in_order(&self, cfg: &TcpConfig, room: Room) -> Result<Piece, Stop> {
        if self.nxt >= self.max && self.drains(cfg) {
            return Err(Stop::Draining);
        }
        let queued = self.end.saturating_sub(self.nxt);
        if queued == 0 {
            return self.only_fin(cfg, room);
        }
        let full = u64::from(self.mss);
        let len = self.within_record(self.nxt, queued.min(full));
        if room.in_flight + len > room.window {
            return Err(Stop::Window);
        }
        let offered = self.edge.saturating_sub(self.nxt);
        if offered < len {
            return self.small_window(offered);
        }
        // Nagle (RFC 9293, 3.7.4): a small segment waits while anything is unacknowledged; a closing one need not
        let waits = || self.holds() || (cfg.nagle && self.waits_for_ack(cfg.nagle_rule));
        if len < full && len == queued && !self.fin && self.nxt >= self.max && waits() {
            return Err(Stop::SmallSegment);
        }
        Ok(Piece { start: self.nxt, len: len as u32 })
    }

    /// Whether a small segment must wait by Nagle's algorithm.
    fn waits_for_ack(&self, rule: NagleRule) -> bool {
        let beyond = |position: u64| self.small_end.wrapping_sub(position as u32) as i32 > 0;
        match rule {
            NagleRule::Rfc1122 => self.una != self.max,
            NagleRule::Minshall => self.una != self.max && beyond(self.una) && !beyond(self.max),
        }
    }

    /// `len` bytes from `start`, or as many as its record has.
    #[inline]
    pub fn within_record(&self, start: u64, len: u64) -> u64 {
        self.extra.as_ref().map_or(len, |extra| len.min(extra.socket.record_left(start)))
    }

    fn only_fin(&self, cfg: &TcpConfig, Room { window, in_flight }: Room) -> Result<Piece, Stop> {
        if !self.fin || self.nxt != self.end {
            return Err(Stop::NoData);
        }
        let full = u64::from(self.mss);
        if cfg.sends_fin_alone() && in_flight > 0 && in_flight.div_ceil(full) >= window / full {
            return Err(Stop::FinAlone);
        }
        Ok(Piece { start: self.end, len: 0 })
    }

    /// The peer's window holds less than a segment. What was admitted before goes again; of new data what fits goes if it
    /// is about half of the largest window ever offered (RFC 9293, 3.8.6.2.1 (3)), else the persist timer will send it.
    fn small_window(&self, offered: u64) -> Result<Piece, Stop> {
        let len = if self.nxt < self.max {
            (self.max.min(self.end) - self.nxt).min(u64::from(self.mss))
        } else if offered >= (1 << self.window_bits) / 2 {
            offered
        } else {
            0
        };
        if len == 0 {
            return Err(Stop::ReceiveWindow);
        }
        Ok(Piece { start: self.nxt, len: self.within_record(self.nxt, len) as u32 })
    }

    /// The first unacknowledged segment, again; no more than was sent of it, or it would pass the peer's window.
    pub fn first(&self) -> Piece {
        let hole = self.outstanding.first_block_start(self.una).unwrap_or(u64::MAX);
        let len = (self.end.min(self.max).saturating_sub(self.una)).min(u64::from(self.mss)).min(hole - self.una);
        Piece { start: self.una, len: self.within_record(self.una, len) as u32 }
    }

    /// Nothing more can be sent now: how much of cwnd is used. Once full it counts as full for a round trip; in slow start
    /// half of it is enough, as it doubles (RFC 7661, section 4.1; Linux: `tcp_cwnd_validate`, which `tcp_write_xmit` asks
    /// after it has sent something: ACKs of a transfer's end still open the window that was full when it was sent).
    #[inline]
    pub fn note_usage(&mut self, now: Time) {
        let flight = self.flight();
        let full = self.stopped_by_cwnd || flight + u64::from(self.mss) > self.cc.cwnd();
        let round_over = self.last_sent == now && (self.una as u32).wrapping_sub(self.usage_end) as i32 >= 0;
        self.stopped_by_cwnd = false;
        if full {
            self.cwnd_limited = true;
            self.usage_end = self.max as u32;
        } else if round_over || (!self.cwnd_limited && flight > u64::from(self.most_out) * u64::from(self.mss)) {
            self.cwnd_limited = false;
            self.most_out = flight.div_ceil(u64::from(self.mss)).min(u64::from(u16::MAX)) as u16;
            self.usage_end = self.max as u32;
        }
    }

    /// Whether an ACK may open cwnd where unused windows do not grow.
    #[inline]
    pub fn uses_cwnd(&self) -> bool {
        self.cwnd_limited
            || (self.cc.in_slow_start() && self.cc.cwnd() < 2 * u64::from(self.most_out) * u64::from(self.mss))
    }

    /// A report with what is known of the sender after this ACK; the caller fills in what the ACK reports.
    #[inline]
    pub fn report(&self, cfg: &TcpConfig, now: Time) -> AckReport {
        AckReport {
            now,
            mss: self.mss,
            srtt: self.rtt.srtt(&cfg.rto),
            snd_nxt: self.nxt,
            snd_una: self.una,
            ..AckReport::default()
        }
    }
}
