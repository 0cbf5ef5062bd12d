//! Stand-in until the full endpoint lands (owner tcp: take yours wholesale on conflict): Reno as the agents of RFC 2415's
//! authors have it, with handshake, close, ACK policies and one-way RTO. No SACK, no NewReno, no RST.
#![allow(missing_docs, dead_code, unused, clippy::pedantic)]
use crate::reassembly::Reassembly;
use crate::*;
use acks::{AckState, Arrival, Due};
use cwndlab_units::Time;

pub struct Connection {
    client: bool,
    state: State,
    una: u64,
    nxt: u64,
    max: u64,
    end: u64,
    fin: bool,
    closing: bool,
    use_fin: bool,
    rcv_nxt: u64,
    peer_fin: Option<u64>,
    peer_closed: bool,
    was_est: bool,
    law: WindowLaw,
    rtt: RttEstimator,
    rto_at: Time,
    timed: Option<(u64, Time)>,
    dups: u32,
    in_rec: bool,
    recover: u64,
    recover_rto: bool,
    resend: bool,
    ack_now: bool,
    ack_due: Time,
    acks: AckState,
    ooo: Reassembly,
    first_data: bool,
    finished: bool,
    stats: Stats,
}
impl Connection {
    fn new(cfg: &TcpConfig, client: bool) -> Self {
        let hs = cfg.handshake;
        Connection {
            client,
            state: if hs {
                if client {
                    State::SynSent
                } else {
                    State::Listen
                }
            } else {
                State::Established
            },
            una: u64::from(!hs),
            nxt: u64::from(!hs),
            max: u64::from(!hs),
            end: 1,
            fin: false,
            closing: false,
            use_fin: cfg.fin,
            rcv_nxt: u64::from(!hs),
            peer_fin: None,
            peer_closed: false,
            was_est: !hs,
            law: WindowLaw::new(cfg, cfg.mss),
            rtt: RttEstimator::new(&cfg.rto),
            rto_at: Time::MAX,
            timed: None,
            dups: 0,
            in_rec: false,
            recover: 0,
            recover_rto: false,
            resend: false,
            ack_now: false,
            ack_due: Time::MAX,
            acks: AckState::new(cfg.ack_policy),
            ooo: Reassembly::default(),
            first_data: false,
            finished: false,
            stats: Stats::default(),
        }
    }
    pub fn client(cfg: &TcpConfig, iss: u32, now: Time) -> Self {
        Self::new(cfg, true)
    }
    pub fn server(cfg: &TcpConfig, iss: u32, now: Time) -> Self {
        Self::new(cfg, false)
    }
    fn top(&self) -> u64 {
        self.end + u64::from(self.fin)
    }
    fn sample(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment, ack: u64) {
        let timed = self.timed.filter(|(p, _)| ack >= *p);
        if cfg.rto.one_way {
            let us = (now.as_nanos() / 1000) as u32;
            let d = us.wrapping_sub(seg.ts_val);
            self.rtt.on_sample(&cfg.rto, now, Time::from_micros(u64::from(d)));
        } else if let Some((_, t)) = timed {
            self.rtt.on_sample(&cfg.rto, now, now - t);
        }
        if timed.is_some() {
            self.rtt.clear_backoff();
            self.timed = None;
        }
    }
    pub fn handle_segment(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        let seq = u64::from(seg.seq);
        let ack = u64::from(seg.ack);
        if seg.flags.has(Flags::SYN) {
            if self.client {
                if self.state == State::SynSent {
                    self.rcv_nxt = 1;
                    self.una = 1;
                    self.nxt = 1;
                    self.rto_at = Time::MAX;
                    self.sample(cfg, now, seg, 1);
                    self.state = State::Established;
                    self.was_est = true;
                }
                self.ack_now = true;
            } else if self.state == State::Listen {
                self.rcv_nxt = 1;
                self.state = State::SynReceived;
            }
            return;
        }
        if self.finished || self.state == State::Listen || self.state == State::SynSent {
            return;
        }
        if self.state == State::SynReceived && ack >= 1 {
            self.state = State::Established;
            self.was_est = true;
            self.una = 1;
            self.nxt = self.nxt.max(1);
            self.sample(cfg, now, seg, 1);
            self.rto_at = Time::MAX;
        }
        if ack > self.una && ack <= self.max {
            let acked = ack - self.una;
            let prior = self.nxt - self.una;
            if self.in_rec {
                self.in_rec = false;
                let out = (self.max - ack).div_ceil(u64::from(cfg.mss)) + 2;
                let w = out * u64::from(cfg.mss);
                // as the agents: only if inflated
                let inflated = self.law.cwnd() + u64::from(self.dups * cfg.mss);
                if inflated > self.law.ssthresh() {
                    self.law.set_cwnd(w, cfg.mss);
                }
            }
            self.dups = 0;
            self.sample(cfg, now, seg, ack);
            self.una = ack;
            self.nxt = self.nxt.max(ack);
            self.rto_at = if ack >= self.max { Time::MAX } else { now + self.rtt.rto(&cfg.rto) };
            {
                self.law.on_ack(
                    cfg,
                    &AckSample {
                        now,
                        acked_bytes: acked,
                        delivered_bytes: acked,
                        prior_in_flight_bytes: prior,
                        snd_nxt: self.nxt,
                        snd_una: ack,
                        mss: cfg.mss,
                        cwnd_limited: true,
                        ..AckSample::default()
                    },
                );
            }
            if !cfg.fin && self.closing && ack == self.end {
                self.finished = true;
                self.state = State::Closed;
            }
            if self.fin && ack == self.top() && self.peer_closed {
                self.finished = true;
                self.state = State::Closed;
            }
        } else if ack == self.una && seg.len == 0 && !seg.flags.has(Flags::FIN) {
            if self.rto_at.is_never() || (self.una == self.recover && self.recover_rto) {
                self.dups = 0;
            } else {
                self.dups += 1;
                if self.dups == 3 {
                    self.law.on_congestion(cfg, CongestionEvent::Loss, self.nxt - self.una, cfg.mss);
                    self.timed = None;
                    self.rtt.backoff(&cfg.rto);
                    self.in_rec = true;
                    self.recover = self.max;
                    self.recover_rto = false;
                    self.resend = true;
                    self.rto_at = Time::MAX;
                    self.stats.fast_retransmits += 1;
                }
            }
        }
        let fin = seg.flags.has(Flags::FIN);
        let stop = seq + u64::from(seg.len);
        if seg.len > 0 || fin {
            self.first_data = true;
            if fin {
                self.peer_fin = Some(stop);
            }
            let before = self.rcv_nxt;
            let regular = seq == self.rcv_nxt && self.ooo.is_empty();
            if stop > self.rcv_nxt && seg.len > 0 {
                if seq <= self.rcv_nxt {
                    self.rcv_nxt = self.ooo.advance(stop);
                } else {
                    self.ooo.insert(seq, stop);
                }
            }
            let due = if regular && seg.len > 0 {
                self.acks.on_data(cfg, now, cfg.mss, Arrival::InOrder { bytes: seg.len })
            } else {
                self.acks.on_data(cfg, now, cfg.mss, Arrival::Irregular)
            };
            match due {
                Due::Now => self.ack_now = true,
                Due::By(t) => self.ack_due = self.ack_due.min(t),
            }
            if self.peer_fin == Some(self.rcv_nxt) && !self.peer_closed {
                self.rcv_nxt += 1;
                self.peer_closed = true;
                self.ack_now = true;
                if self.fin && self.una == self.top() {
                    self.finished = true;
                    self.state = State::Closed;
                }
            }
        }
    }
    pub fn handle_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        if self.ack_due <= now {
            self.ack_due = Time::MAX;
            self.ack_now = true;
        }
        if self.rto_at <= now {
            self.stats.timeouts += 1;
            self.rtt.backoff(&cfg.rto);
            self.law.on_congestion(cfg, CongestionEvent::Rto, self.nxt - self.una, cfg.mss);
            self.recover = self.max;
            self.recover_rto = true;
            self.nxt = self.una;
            self.in_rec = false;
            self.dups = 0;
            self.timed = None;
            self.rto_at = now + self.rtt.rto(&cfg.rto);
        }
    }
    fn stamp(&self, cfg: &TcpConfig, now: Time, mut s: Segment) -> Segment {
        if cfg.rto.one_way {
            s.ts_val = (now.as_nanos() / 1000) as u32;
        }
        s
    }
    pub fn poll_transmit(&mut self, cfg: &TcpConfig, now: Time) -> Option<Segment> {
        if self.state == State::Listen {
            return None;
        }
        let syn = self.state == State::SynSent || self.state == State::SynReceived;
        if syn {
            if self.nxt > 0 {
                return None;
            }
            if self.max > 0 {
                self.stats.retransmits += 1;
            }
            self.nxt = 1;
            self.max = 1;
            if self.timed.is_none() {
                self.timed = Some((1, now));
            }
            self.rto_at = self.rto_at.min(now + self.rtt.rto(&cfg.rto));
            self.stats.segments_sent += 1;
            let flags = if self.client { Flags::SYN } else { Flags::SYN | Flags::ACK };
            return Some(self.stamp(
                cfg,
                now,
                Segment {
                    seq: 0,
                    ack: self.rcv_nxt as u32,
                    window: 1 << 30,
                    wire_bytes: cfg.ack_bytes,
                    flags,
                    ..Segment::default()
                },
            ));
        }
        let mut limit = self.law.cwnd() + if self.in_rec { u64::from(self.dups * cfg.mss) } else { 0 };
        if let MaxWindow::Segments(n) = cfg.max_window {
            limit = limit.min(u64::from(n * cfg.mss));
        }
        let from = if self.resend { self.una } else { self.nxt };
        let mut len = u64::from(cfg.mss).min(self.end.saturating_sub(from));
        if !self.resend {
            len = len.min((self.una + limit).saturating_sub(from));
            if len < u64::from(cfg.mss) && from + len < self.end {
                len = 0; // whole segments
            }
        }
        let last = from + len == self.end;
        let fin = self.fin && last && (self.resend || from <= self.end) && (len > 0 || from == self.end);
        let resend = std::mem::take(&mut self.resend);
        if !self.finished && (len > 0 || fin) {
            let stop = from + len + u64::from(fin);
            let re = from < self.max;
            if !resend {
                self.nxt = stop;
            }
            if re {
                self.stats.retransmits += 1;
            }
            if stop > self.max {
                self.max = stop;
                if self.timed.is_none() {
                    self.timed = Some((from + 1, now));
                }
            }
            if self.rto_at.is_never() {
                self.rto_at = now + self.rtt.rto(&cfg.rto);
            }
            self.stats.segments_sent += 1;
            self.stats.bytes_sent += len;
            self.ack_now = false;
            self.ack_due = Time::MAX;
            self.acks.on_sent();
            return Some(self.stamp(
                cfg,
                now,
                Segment {
                    seq: from as u32,
                    ack: self.rcv_nxt as u32,
                    len: len as u32,
                    window: 1 << 30,
                    wire_bytes: cfg.header_bytes + len as u32,
                    flags: if fin { Flags::ACK | Flags::FIN } else { Flags::ACK },
                    retransmission: re,
                    ..Segment::default()
                },
            ));
        }
        if self.ack_now {
            self.ack_now = false;
            self.ack_due = Time::MAX;
            self.acks.on_sent();
            self.stats.segments_sent += 1;
            return Some(self.stamp(
                cfg,
                now,
                Segment {
                    seq: self.nxt as u32,
                    ack: self.rcv_nxt as u32,
                    window: 1 << 30,
                    wire_bytes: cfg.ack_bytes,
                    flags: Flags::ACK,
                    ..Segment::default()
                },
            ));
        }
        None
    }
    pub fn poll_timeout(&self) -> Time {
        if self.finished {
            return Time::MAX;
        }
        self.rto_at.min(self.ack_due)
    }
    pub fn write(&mut self, bytes: u64) {
        self.end += bytes
    }
    pub fn close(&mut self) {
        self.closing = true;
        self.fin = self.use_fin;
    }
    pub fn received(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1 + u64::from(self.peer_closed))
    }
    pub fn state(&self) -> State {
        self.state
    }
    pub fn is_finished(&self) -> bool {
        self.finished
    }
    pub fn error(&self) -> Option<CloseReason> {
        None
    }
    pub fn peer_closed(&self) -> bool {
        self.peer_closed
    }
    pub fn was_established(&self) -> bool {
        self.was_est
    }
    pub fn cwnd_bytes(&self) -> u64 {
        self.law.cwnd()
    }
    pub fn ssthresh_bytes(&self) -> u64 {
        self.law.ssthresh()
    }
    pub fn in_flight(&self) -> u64 {
        self.nxt - self.una
    }
    pub fn srtt(&self) -> Time {
        Time::ZERO
    }
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}

mod acks {

    use crate::config::{AckPolicy, TcpConfig};
    use cwndlab_units::Time;

    /// What a segment with data was.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Arrival {
        /// In order, nothing beyond it known.
        InOrder {
            /// its payload bytes
            bytes: u32,
        },
        /// Out of order, a duplicate, or filling a hole: acknowledged at once (RFC 5681, 4.2).
        Irregular,
    }

    /// When the acknowledgment is due.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Due {
        /// Now.
        Now,
        /// By this time at the latest, unless a timer already runs.
        By(Time),
    }

    /// What the policies remember.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct AckState {
        /// In-order bytes not yet acknowledged.
        pending_bytes: u32,
        /// In-order segments not yet acknowledged.
        pending_segments: u32,
        /// What is left of the quick phase, in the policy's unit (bytes or segments).
        quick_left: u64,
    }

    impl AckState {
        pub fn new(policy: AckPolicy) -> Self {
            let quick_left = match policy {
                AckPolicy::QuickThenHeartbeat { quick_bytes, .. } => quick_bytes,
                AckPolicy::QuickThenDelayed { quick_segments, .. } => u64::from(quick_segments),
                AckPolicy::Every | AckPolicy::Delayed { .. } | AckPolicy::Heartbeat { .. } => 0,
            };
            AckState { pending_bytes: 0, pending_segments: 0, quick_left }
        }

        /// A segment with data came; `mss` as it is in force.
        #[inline]
        pub fn on_data(&mut self, cfg: &TcpConfig, now: Time, mss: u32, arrival: Arrival) -> Due {
            if cfg.ack_policy == AckPolicy::Every {
                return Due::Now;
            }
            self.by_policy(cfg.ack_policy, now, mss, arrival)
        }

        fn by_policy(&mut self, policy: AckPolicy, now: Time, mss: u32, arrival: Arrival) -> Due {
            let Arrival::InOrder { bytes } = arrival else {
                if let AckPolicy::QuickThenHeartbeat { quick_bytes, .. } = policy {
                    self.quick_left = quick_bytes; // quick again after a loss or reordering
                }
                return Due::Now;
            };
            self.pending_bytes = self.pending_bytes.saturating_add(bytes);
            self.pending_segments += 1;
            // RFC 5681, 4.2: at least for every second full-sized segment
            let second_full = self.pending_bytes >= 2 * mss;
            match policy {
                AckPolicy::Every => Due::Now,
                AckPolicy::Delayed { .. } | AckPolicy::Heartbeat { .. } if second_full => Due::Now,
                AckPolicy::Delayed { timeout_ns } => Due::By(now + timeout_ns),
                AckPolicy::Heartbeat { grid_ns } => Due::By(next_beat(now, grid_ns)),
                AckPolicy::QuickThenHeartbeat { every, grid_ns, .. } => {
                    if self.quick_left > 0 {
                        self.quick_left = self.quick_left.saturating_sub(u64::from(bytes));
                        Due::Now
                    } else if self.pending_segments >= every {
                        Due::Now
                    } else {
                        Due::By(next_beat(now, grid_ns))
                    }
                }
                AckPolicy::QuickThenDelayed { timeout_ns, .. } => {
                    if self.quick_left > 0 {
                        self.quick_left -= 1;
                        Due::Now
                    } else if second_full {
                        Due::Now
                    } else {
                        Due::By(now + timeout_ns)
                    }
                }
            }
        }

        /// An acknowledgment went out.
        #[inline]
        pub fn on_sent(&mut self) {
            self.pending_bytes = 0;
            self.pending_segments = 0;
        }
    }

    /// The first beat of the grid after `now`.
    fn next_beat(now: Time, grid: Time) -> Time {
        let ns = grid.as_nanos().max(1);
        Time::from_nanos((now.as_nanos() / ns + 1) * ns)
    }
}
