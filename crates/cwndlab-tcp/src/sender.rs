//! The sending half of a connection: its positions and cwnd, the segment that is timed for an RTT sample, and which
//! data to send next at SND.NXT.

use cwndlab_units::Time;

use crate::accecn::AccEcn;
use crate::config::{SendTuning, TcpConfig, TrainKind};
use crate::congestion::{Changes, CongestionEvent, Controller, Start, WindowChange};
use crate::flight::Flight;
use crate::in_order::{InOrder, Wait};
use crate::pacing::{Pace, Pacer};
use crate::recovery::{Recovery, View, ViewRef};
use crate::send_buffer::SendBuffer;
use crate::send_state::{Piece, SendState};
use crate::socket_options::SocketOptions;
use crate::trains::Trains;
use crate::Rng;

/// The sending half of a connection.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Sender {
    pub snd: SendState,
    pub cc: Controller,
    /// End of the segment that is timed for an RTT sample (0 if none is timed), and when this segment was sent.
    pub timed_end: u64,
    pub timed_at: Time,
    /// When data was last sent, for the restart after an idle time (RFC 5681, section 4.1).
    pub last_sent: Time,
    /// Number of binary digits of the largest window that the peer has advertised (RFC 9293, section 3.8.6.2.1:
    /// Max(SND.WND)).
    pub window_bits: u8,
    /// Whether cwnd has stopped the sender since the last call of [`Self::note_usage`].
    pub stopped_by_cwnd: bool,
    /// Whether cwnd stopped the sender, or was full, in the current round (a window of data that ends at `usage_end`).
    cwnd_limited: bool,
    /// Maximum number of segments in flight in the current round; not updated if cwnd was full in this round.
    most_out: u16,
    /// The current round ends when this position is acknowledged (low 32 bits).
    usage_end: u32,
    /// End of the last segment of new data that was shorter than the MSS (low 32 bits of the position).
    pub small_end: u32,
    /// Whether the application has closed and a FIN follows the data, at position `snd.end`.
    pub fin: bool,
    /// Records about the outstanding data, in addition to the positions in `snd`.
    pub outstanding: Flight,
    /// Whether the send buffer is limited, so that segments may carry PSH before the last one.
    pub is_buffered: bool,
    /// State that few connections need.
    pub extra: Option<Box<Extra>>,
}

/// State that few connections need, stored on the heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub pacer: Option<Pacer>,
    /// Socket options, once the application has set one.
    pub socket: Option<Box<SocketOptions>>,
    /// The random number generator, if the controller draws random numbers.
    pub random: Option<Rng>,
    /// AccECN state, if configured.
    pub accecn: Option<AccEcn>,
    /// Whether the congestion control uses one-way delays.
    pub delays: bool,
    /// The send buffer, if it is limited.
    pub buffer: Option<Box<SendBuffer>>,
    /// The trains (bursts) in which data is sent, if this is configured to be as in Linux.
    pub trains: Option<Box<Trains>>,
    /// Whether a congestion control from outside this crate is attached, which may set a timer.
    pub has_law_timer: bool,
}

impl Sender {
    pub fn new(cfg: &TcpConfig, mss: u32) -> Self {
        let needs = cfg.window_law.needs();
        let pacer = cfg.paces().then(Pacer::default);
        let accecn = cfg.ecn.is_accurate().then(AccEcn::default);
        let buffer = match cfg.send_tuning {
            SendTuning::None => None,
            SendTuning::Linux { most_bytes } => Some(Box::new(SendBuffer::new(most_bytes, cfg.mss))),
        };
        let is_buffered = buffer.is_some();
        let trains = (cfg.trains == TrainKind::Linux).then(Box::default);
        let measures = needs.min_rtt_window.is_some() || needs.delays;
        let has_extra = pacer.is_some() || measures || accecn.is_some() || is_buffered || trains.is_some();
        Sender {
            snd: SendState::new(cfg, mss),
            cc: Controller::new(cfg, mss),
            timed_end: 0,
            timed_at: Time::ZERO,
            last_sent: Time::ZERO,
            window_bits: 0,
            stopped_by_cwnd: false,
            cwnd_limited: false,
            most_out: 0,
            usage_end: 0,
            small_end: 0,
            fin: false,
            outstanding: Flight::new(cfg),
            is_buffered,
            extra: has_extra
                .then(|| Box::new(Extra { pacer, accecn, delays: needs.delays, buffer, trains, ..Extra::default() })),
        }
    }

    /// Starts the congestion controller, when the connection is established. Passes the round trip of the handshake to
    /// the delivery rate sampler, if there is one. `mtu` is the size of the IP packet of a full segment.
    pub fn start(&mut self, cfg: &TcpConfig, now: Time, mtu: u32) {
        let least = self.snd.rtt.min_rtt();
        if let Some(rate) = self.outstanding.rate().filter(|_| !least.is_never()) {
            rate.note_handshake(now, least);
        }
        if !self.snd.ecn.is_accurate() {
            self.cc.do_without_accecn(cfg);
        }
        let start = Start { now, mss: self.snd.mss, mtu, srtt: self.snd.rtt.srtt(&cfg.rto), min_rtt: least };
        let random = self.extra.as_ref().and_then(|extra| extra.random.clone());
        self.cc.on_start(&start, random);
    }

    /// Whether the sender has none of the [`Extra`] state that the short paths for arriving segments do not handle:
    /// socket options, and one-way delays for the congestion control. (AccECN has short paths of its own.)
    #[inline]
    pub fn has_no_extra(&self) -> bool {
        self.extra.as_ref().is_none_or(|extra| extra.socket.is_none() && !extra.delays)
    }

    /// The pacer, if the connection paces.
    #[inline]
    pub fn pacer(&self) -> Option<&Pacer> {
        self.extra.as_ref()?.pacer.as_ref()
    }

    #[inline]
    pub fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        self.extra.as_mut()?.pacer.as_mut()
    }

    /// The socket options, if the application has set any.
    #[inline]
    pub fn socket(&self) -> Option<&SocketOptions> {
        self.extra.as_ref()?.socket.as_deref()
    }

    pub fn socket_mut(&mut self) -> Option<&mut SocketOptions> {
        self.extra.as_mut()?.socket.as_deref_mut()
    }

    /// Whether the connection has neither socket options nor an external congestion control: each may have a timer.
    #[inline]
    pub fn has_no_rare_timer(&self) -> bool {
        self.extra.as_ref().is_none_or(|extra| extra.socket.is_none() && !extra.has_law_timer)
    }

    /// Whether the application requests that less than a full segment wait for more data (`TCP_CORK`, `MSG_MORE`).
    pub fn holds(&self) -> bool {
        self.socket().is_some_and(SocketOptions::holds)
    }

    /// Marks the delivery rate as application-limited if less than a segment is left to send, cwnd has room, no
    /// go-back-N is in progress, and all lost segments have been retransmitted. Called before each write of the
    /// application, with `in_flight` bytes in the network (Linux: `tcp_rate_check_app_limited`).
    pub fn note_write(&mut self, in_flight: u64) {
        let queued = self.snd.end.saturating_sub(self.snd.nxt);
        let repaired = self.snd.nxt == self.snd.max && self.outstanding.tally().lost <= self.outstanding.tally().again;
        let idle = queued < u64::from(self.snd.mss) && repaired && in_flight < self.cc.cwnd();
        let packets = in_flight.div_ceil(u64::from(self.snd.mss));
        if let Some(rate) = self.outstanding.rate().filter(|_| idle) {
            rate.on_app_limited(packets);
        }
    }

    /// Without SACK, after an ACK of new data: tells the delivery rate sampler which segments duplicate ACKs have
    /// already reported, at most all acknowledged ones but one, so that they count once (`tcp_remove_reno_sacks`).
    pub fn count_reported_once(&mut self, acked_bytes: u64) {
        let acked = self.outstanding.arrived().len() as u32;
        let reported = self.snd.dup_acks.min(acked.saturating_sub(1));
        if let Some(rate) = self.outstanding.rate() {
            rate.count_once(acked_bytes.min(u64::from(reported * self.snd.mss)), u64::from(reported));
        }
    }

    /// The trains (bursts) in which data is sent, if this is configured to be as in Linux.
    pub fn trains(&self) -> Option<&Trains> {
        self.extra.as_ref()?.trains.as_deref()
    }

    pub fn trains_mut(&mut self) -> Option<&mut Trains> {
        self.extra.as_mut()?.trains.as_deref_mut()
    }

    /// The send buffer, if it is limited.
    pub fn buffer(&self) -> Option<&SendBuffer> {
        self.extra.as_ref()?.buffer.as_deref()
    }

    pub fn buffer_mut(&mut self) -> Option<&mut SendBuffer> {
        self.extra.as_mut()?.buffer.as_deref_mut()
    }

    /// Whether the application has written data for which the send buffer has no room.
    pub fn is_blocked(&self) -> bool {
        self.is_buffered && self.buffer().is_some_and(SendBuffer::is_full)
    }

    /// Whether the send buffer lacks room, so that an ACK may enlarge it.
    pub fn lacks_room(&self) -> bool {
        self.buffer().is_some_and(SendBuffer::lacks_room)
    }

    /// Passes the window that the peer advertises to the send buffer.
    pub fn note_offer(&mut self, window: u32) {
        if let Some(buffer) = self.buffer_mut() {
            buffer.note_window(u64::from(window));
        }
    }

    /// Passes an ACK's valid SACK blocks, lowest first, to the trains or the send buffer. Call it before they are
    /// recorded.
    pub fn note_blocks(&mut self, blocks: impl Iterator<Item = (u64, u64)>) {
        let (mss, reported) = (self.snd.mss, &self.outstanding.reported);
        match self.extra.as_deref_mut() {
            Some(Extra { trains: Some(trains), .. }) => trains.take_blocks(blocks, self.snd.una, u64::from(mss)),
            Some(Extra { buffer: Some(buffer), .. }) => buffer.take_blocks(blocks, reported, mss),
            _ => {}
        }
    }

    /// The memory that the data in the send buffer takes, as Linux counts it.
    fn buffered_memory(&mut self) -> u64 {
        let Some(Extra { buffer: Some(buffer), trains, .. }) = self.extra.as_deref_mut() else { return 0 };
        match trains {
            Some(trains) => SendBuffer::memory_of(&self.snd, trains.count(self.snd.una, self.snd.nxt)),
            None => buffer.memory(&self.snd, &self.outstanding.reported),
        }
    }

    /// Lets the application write into the send buffer until it is full or, without pacing, until it has written what
    /// may be sent at once. `in_flight`: bytes in the network.
    pub fn fill(&mut self, in_flight: u64) {
        let (windows, cwnd_segments) = (self.cc.needs().buffered_windows, self.cc.cwnd() / u64::from(self.snd.mss));
        let memory = self.buffered_memory();
        let room = self.cc.cwnd().saturating_sub(in_flight);
        let sendable = if self.pacer().is_none() { self.snd.edge.min(self.snd.nxt + room) } else { 0 };
        let Some(Extra { buffer: Some(buffer), trains, .. }) = self.extra.as_deref_mut() else { return };
        buffer.begin(windows, cwnd_segments);
        match trains {
            Some(trains) => buffer.fill_trains(&mut self.snd, trains, memory),
            None => buffer.fill(&mut self.snd, memory, sendable),
        }
    }

    /// Whether the application calls `send` again once the data of its last call has been sent.
    pub fn calls_again(&self) -> bool {
        self.is_buffered && self.buffer().is_some_and(SendBuffer::calls_again)
    }

    /// Enlarges the send buffer, unless cwnd is full, and wakes an application that waits for room if there is enough
    /// (`tcp_check_space`). `in_flight`: bytes in the network.
    pub fn refill(&mut self, in_flight: u64) {
        let mss = u64::from(self.snd.mss);
        let s = &self.snd;
        // Linux sends a segment (`tcp_event_new_data_sent`) before this check, unless pacing or trains hold data back.
        let has_sent = self.pacer().is_some() || self.trains().is_some();
        let sent_first = if has_sent { 0 } else { s.end.min(s.edge).saturating_sub(s.nxt).min(mss) };
        self.expand_buffer(in_flight + sent_first);
        let memory = self.buffered_memory();
        let Some(buffer) = self.buffer_mut() else { return };
        if buffer.is_writeable(memory) && buffer.give_room() {
            self.note_write(in_flight);
            self.fill(in_flight);
        }
    }

    /// Enlarges the send buffer, unless `in_flight` fills cwnd.
    pub fn expand_buffer(&mut self, in_flight: u64) {
        let (mss, cwnd) = (u64::from(self.snd.mss), self.cc.cwnd());
        let windows = self.cc.needs().buffered_windows;
        let is_full = in_flight.div_ceil(mss) >= cwnd / mss;
        if let Some(buffer) = self.buffer_mut().filter(|_| !is_full) {
            buffer.expand(windows, cwnd / mss);
        }
    }

    /// One past the last position to send: that of the last byte written or, if a FIN follows, of the FIN.
    pub fn limit(&self) -> u64 {
        self.snd.end + u64::from(self.fin)
    }

    /// Updates `window_bits` for an advertised window of `window` bytes.
    pub fn note_largest_window(&mut self, window: u32) {
        if u64::from(window) >> self.window_bits != 0 {
            self.window_bits = (u32::BITS - window.leading_zeros()) as u8;
        }
    }

    /// Returns the pace of a new train. If nothing is in the network because the application had no data to send, first
    /// informs the congestion controller that sending resumes.
    #[inline(never)]
    pub fn new_pace(&mut self, cfg: &TcpConfig, now: Time, recovery: &Recovery) -> Option<Pace> {
        let is_limited = self.outstanding.rate().is_some_and(|rate| rate.is_app_limited());
        if is_limited && recovery.in_flight(&self.snd, &self.outstanding) == 0 {
            self.cc.on_app_restart(now, self.snd.mss);
        }
        Pace::of_grant(cfg, &self.snd, &self.cc, self.cc.grant())
    }

    /// Whether new data must wait until the data that was outstanding at the last timeout is acknowledged.
    pub fn drains(&self, cfg: &TcpConfig) -> bool {
        cfg.drains_after_timeout && self.outstanding.drains(self.snd.una)
    }

    /// The configured maximum window, in bytes.
    pub fn most(&self, cfg: &TcpConfig) -> u64 {
        cfg.max_window.bytes(self.snd.mss)
    }

    /// The parts of this sender that loss recovery reads and changes.
    pub fn view<'a>(&'a mut self, cfg: &'a TcpConfig) -> View<'a> {
        View { cfg, cc: &mut self.cc, s: &mut self.snd, flight: &mut self.outstanding }
    }

    /// The parts of this sender that loss recovery reads.
    pub fn read<'a>(&'a self, cfg: &'a TcpConfig) -> ViewRef<'a> {
        ViewRef { cfg, cc: &self.cc, s: &self.snd, flight: &self.outstanding }
    }

    /// Changes cwnd as loss recovery requests.
    #[inline(never)]
    pub fn apply(&mut self, cfg: &TcpConfig, now: Time, changes: &Changes) {
        for change in changes.iter() {
            self.change(cfg, now, change);
        }
    }

    fn change(&mut self, cfg: &TcpConfig, now: Time, mut change: WindowChange) {
        match &mut change {
            WindowChange::Cut { event, flight_bytes, recover_fs } => {
                if *recover_fs > 0 {
                    self.cc.begin_prr(cfg, *recover_fs, self.snd.mss);
                }
                if *event == CongestionEvent::Loss && self.snd.ecn.covers_loss(self.snd.una) {
                    return; // RFC 3168, section 6.1.2: an echo has reduced cwnd for the same window of data
                }
                // Outstanding data counts only up to cwnd. Data that Limited Transmit sent beyond cwnd must not count
                // (RFC 5681, section 3.2, step 2). If data sent before a timeout counted, a loss could enlarge cwnd.
                let least = if *event == CongestionEvent::Ecn { 0 } else { u64::from(self.snd.mss) };
                let most = self.cc.cwnd().max(least);
                *flight_bytes = u64::from(*flight_bytes).min(most) as u32;
                self.snd.ecn.reduced(self.snd.max, *event == CongestionEvent::Ecn);
            }
            WindowChange::Undo => self.snd.ecn.withdraw(),
            _ => {}
        }
        self.cc.change(cfg, now, change, self.snd.mss);
    }

    /// The rules for sending data in order.
    pub fn in_order<'a>(&'a self, cfg: &'a TcpConfig) -> InOrder<'a> {
        let Sender { fin, window_bits, small_end, .. } = *self;
        InOrder { cfg, fin, window_bits, small_end, socket: self.socket() }
    }

    /// Returns the next piece that loss recovery chooses to send, or why none can be sent.
    pub fn next_piece(&mut self, cfg: &TcpConfig, recovery: &mut Recovery) -> Result<Piece, Wait> {
        let Sender { snd: s, cc, fin, window_bits, small_end, outstanding: flight, extra, .. } = self;
        let socket = extra.as_ref().and_then(|extra| extra.socket.as_deref());
        let new = InOrder { cfg, fin: *fin, window_bits: *window_bits, small_end: *small_end, socket };
        let next = recovery.next(&mut View { cfg, cc, s, flight }, &new);
        self.stopped_by_cwnd |= next == Err(Wait::Cwnd);
        next.map(|piece| new.trim(s, piece))
    }

    /// Records how much of cwnd is in use, for [`Self::uses_cwnd`]. Called when nothing more can be sent now. Once cwnd
    /// has been full, it counts as full for a round trip. In Linux this is part of `tcp_cwnd_validate`, which is called
    /// only after sending, so the last ACKs of a transfer still open a cwnd that was full when the data was sent.
    pub fn note_usage(&mut self, now: Time) {
        let flight = self.snd.flight();
        let has_sent = self.last_sent == now;
        let full = self.stopped_by_cwnd || has_sent && flight + u64::from(self.snd.mss) > self.cc.cwnd();
        let round_over = has_sent && (self.snd.una as u32).wrapping_sub(self.usage_end) as i32 >= 0;
        self.stopped_by_cwnd = false;
        if full {
            self.cwnd_limited = true;
            self.usage_end = self.snd.max as u32;
        } else if round_over || (!self.cwnd_limited && flight > u64::from(self.most_out) * u64::from(self.snd.mss)) {
            self.cwnd_limited = false;
            self.most_out = flight.div_ceil(u64::from(self.snd.mss)).min(u64::from(u16::MAX)) as u16;
            self.usage_end = self.snd.max as u32;
        }
    }

    /// Whether cwnd was full in the current round or, in slow start, more than half full, because slow start doubles
    /// cwnd (RFC 7661, section 4.1). With `grow_only_if_cwnd_limited`, an ACK may open cwnd only if this returns true.
    pub fn uses_cwnd(&self) -> bool {
        self.cwnd_limited
            || (self.cc.in_slow_start() && self.cc.cwnd() < 2 * u64::from(self.most_out) * u64::from(self.snd.mss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    const MSS: u64 = 1000;

    /// A sender in slow start with a cwnd of 10 segments of 1000 bytes.
    fn sender() -> Sender {
        let initial_window = crate::config::InitialWindow::Segments(10);
        Sender::new(&TcpConfig { mss: MSS as u32, initial_window, ..Profile::Rfc5681.config() }, MSS as u32)
    }

    /// Calls `note_usage` at `now`, after `una` bytes were acknowledged and `max` sent. Returns `uses_cwnd`.
    fn note(s: &mut Sender, now: Time, (una, max): (u64, u64)) -> bool {
        (s.snd.una, s.snd.nxt, s.snd.max) = (1 + una, 1 + max, 1 + max);
        s.last_sent = now;
        s.note_usage(now);
        s.uses_cwnd()
    }

    #[test]
    fn in_slow_start_a_window_is_used_if_more_than_half_of_it_was_in_flight() {
        assert_eq!(sender().cc.cwnd(), 10 * MSS);
        for (flight, used) in [(3 * MSS, false), (5 * MSS, false), (5 * MSS + 1, true), (8 * MSS, true)] {
            let mut s = sender();
            assert_eq!(note(&mut s, Time::from_millis(1), (0, flight)), used, "{flight}");
            assert!(!s.cwnd_limited);
        }
    }

    #[test]
    fn the_most_in_flight_of_a_round_counts_until_the_round_is_over() {
        let mut s = sender();
        assert!(!note(&mut s, Time::from_millis(1), (0, 3 * MSS)));
        assert!(note(&mut s, Time::from_millis(2), (0, 6 * MSS)), "more in the same round");
        assert_eq!(s.most_out, 6);
        assert!(note(&mut s, Time::from_millis(3), (4 * MSS, 6 * MSS)), "less, but the round is not over");
        assert_eq!(s.most_out, 6);
        assert!(!note(&mut s, Time::from_millis(4), (6 * MSS, 8 * MSS)), "what was sent is acknowledged");
        assert_eq!(s.most_out, 2);
    }

    #[test]
    fn a_window_without_room_for_a_segment_is_full_for_a_round() {
        let mut s = sender();
        assert!(!note(&mut s, Time::from_millis(1), (0, 4 * MSS)));
        assert!(note(&mut s, Time::from_millis(2), (0, 9 * MSS + 1)) && s.cwnd_limited);
        assert!(note(&mut s, Time::from_millis(3), (9 * MSS, 9 * MSS + 1)) && s.cwnd_limited);
        assert!(!note(&mut s, Time::from_millis(4), (9 * MSS + 1, 9 * MSS + 2)) && !s.cwnd_limited);
        s.stopped_by_cwnd = true; // cwnd has room, but for less than a segment, and nothing is sent
        s.last_sent = Time::ZERO;
        s.note_usage(Time::from_millis(5));
        assert!(s.cwnd_limited && !s.stopped_by_cwnd);
        let mut exactly = sender();
        note(&mut exactly, Time::from_millis(1), (0, 9 * MSS));
        assert!(!exactly.cwnd_limited, "there is room for one more");
    }

    #[test]
    fn only_socket_options_and_external_laws_have_rare_timers() {
        assert!(sender().has_no_rare_timer());
        let mut paced = Sender::new(&Profile::Linux6.config(), MSS as u32);
        let extra = paced.extra.get_or_insert_default();
        assert!(extra.socket.is_none() && !extra.has_law_timer);
        assert!(paced.has_no_rare_timer());
        paced.extra.get_or_insert_default().has_law_timer = true;
        assert!(!paced.has_no_rare_timer());
        let extra = paced.extra.get_or_insert_default();
        (extra.has_law_timer, extra.socket) = (false, Some(Box::default()));
        assert!(!paced.has_no_rare_timer());
    }

    /// `tcp_rate_check_app_limited`: a sender that has a loss to repair is not limited by its application.
    #[test]
    fn a_write_finds_the_application_too_slow_only_if_all_that_is_lost_was_sent_again() {
        let limited = |lost: bool, again: bool| {
            let window_law = crate::config::WindowLawKind::Bbr1;
            let mut s = Sender::new(&TcpConfig { window_law, ..Profile::Linux6.config() }, MSS as u32);
            (s.snd.end, s.snd.nxt, s.snd.max) = (1 + MSS, 1 + MSS, 1 + MSS);
            s.outstanding.on_sent(1, 1 + MSS, Time::ZERO, true);
            assert!(!lost || s.outstanding.lose_first());
            if again {
                s.outstanding.on_sent(1, 1 + MSS, Time::from_millis(1), false);
            }
            s.note_write(0);
            s.outstanding.rate().is_some_and(|rate| rate.is_app_limited())
        };
        assert_eq!((limited(false, false), limited(true, false), limited(true, true)), (true, false, true));
    }
}
