//! First thin slice, so that the engine can run: a stream without handshake or close. The full endpoint replaces this file
//! (owner tcp: take yours wholesale on conflict).
#![allow(missing_docs, dead_code, unused, clippy::pedantic)]
use crate::reassembly::Reassembly;
use crate::*;
use cwndlab_units::Time;

pub struct Connection {
    state: State,
    snd_una: u64,
    snd_nxt: u64,
    end: u64,
    recover: u64,
    dups: u32,
    in_rec: bool,
    recovery_high: u64,
    rcv_nxt: u64,
    ack_now: u32,
    law: WindowLaw,
    rtt: RttEstimator,
    rto_at: Time,
    timed: Option<(u64, Time)>,
    ooo: Reassembly,
    resend: bool,
    closed: bool,
    stats: Stats,
    max_sent: u64,
}
impl Connection {
    fn new(cfg: &TcpConfig) -> Self {
        Connection {
            state: State::Established,
            snd_una: 1,
            snd_nxt: 1,
            end: 1,
            recover: 0,
            dups: 0,
            in_rec: false,
            recovery_high: 0,
            rcv_nxt: 1,
            ack_now: 0,
            law: WindowLaw::new(cfg, cfg.mss),
            rtt: RttEstimator::new(&cfg.rto),
            rto_at: Time::MAX,
            timed: None,
            ooo: Reassembly::default(),
            resend: false,
            closed: false,
            stats: Stats::default(),
            max_sent: 1,
        }
    }
    pub fn client(cfg: &TcpConfig, iss: u32, now: Time) -> Self {
        Self::new(cfg)
    }
    pub fn server(cfg: &TcpConfig, iss: u32, now: Time) -> Self {
        Self::new(cfg)
    }
    pub fn handle_segment(&mut self, cfg: &TcpConfig, now: Time, seg: &Segment) {
        if seg.len > 0 {
            let s = u64::from(seg.seq);
            let e = s + u64::from(seg.len);
            if s == self.rcv_nxt {
                self.rcv_nxt = if self.ooo.is_empty() { e } else { self.ooo.advance(e) };
            } else if s > self.rcv_nxt {
                self.ooo.insert(s, e);
            }
            self.ack_now += 1;
        }
        if seg.flags.has(Flags::ACK) {
            let ack = u64::from(seg.ack);
            if ack > self.snd_una {
                let acked = ack - self.snd_una;
                let prior = self.snd_nxt - self.snd_una;
                self.snd_una = ack;
                self.snd_nxt = self.snd_nxt.max(ack);
                self.dups = 0;
                if let Some((p, t)) = self.timed {
                    if ack >= p {
                        self.rtt.on_sample(&cfg.rto, now, now - t);
                        self.rtt.clear_backoff();
                        self.timed = None;
                    }
                }
                if self.in_rec {
                    if ack >= self.recovery_high {
                        self.in_rec = false;
                        self.law.set_cwnd(self.law.ssthresh(), cfg.mss);
                    } else {
                        self.resend = true;
                    }
                } else {
                    self.law.on_ack(
                        cfg,
                        &AckSample {
                            now,
                            acked_bytes: acked,
                            delivered_bytes: acked,
                            prior_in_flight_bytes: prior,
                            snd_nxt: self.snd_nxt,
                            snd_una: ack,
                            mss: cfg.mss,
                            cwnd_limited: true,
                            ..AckSample::default()
                        },
                    );
                }
                self.rto_at = if self.snd_una < self.max_sent { now + self.rtt.rto(&cfg.rto) } else { Time::MAX };
            } else if ack == self.snd_una && seg.len == 0 && self.snd_una < self.snd_nxt {
                self.dups += 1;
                if self.dups == 3 && !self.in_rec {
                    self.in_rec = true;
                    self.recovery_high = self.max_sent;
                    self.law.on_congestion(cfg, CongestionEvent::Loss, self.snd_nxt - self.snd_una, cfg.mss);
                    self.resend = true;
                    self.stats.fast_retransmits += 1;
                    self.timed = None;
                }
            }
        }
    }
    pub fn handle_timeout(&mut self, cfg: &TcpConfig, now: Time) {
        self.stats.timeouts += 1;
        self.rtt.backoff(&cfg.rto);
        self.law.on_congestion(cfg, CongestionEvent::Rto, self.snd_nxt - self.snd_una, cfg.mss);
        self.snd_nxt = self.snd_una;
        self.in_rec = false;
        self.dups = 0;
        self.timed = None;
        self.rto_at = now + self.rtt.rto(&cfg.rto);
    }
    pub fn poll_transmit(&mut self, cfg: &TcpConfig, now: Time) -> Option<Segment> {
        if self.ack_now > 0 {
            self.ack_now -= 1;
            self.stats.segments_sent += 1;
            return Some(Segment {
                seq: self.snd_nxt as u32,
                ack: self.rcv_nxt as u32,
                window: 1 << 30,
                wire_bytes: cfg.ack_bytes,
                flags: Flags::ACK,
                ..Segment::default()
            });
        }
        let (at, len) = if self.resend {
            self.resend = false;
            (self.snd_una, u64::from(cfg.mss).min(self.end - self.snd_una))
        } else {
            let w = self.law.cwnd() + if self.in_rec { u64::from(self.dups * cfg.mss) } else { 0 };
            let len = u64::from(cfg.mss).min(self.end.saturating_sub(self.snd_nxt));
            if len == 0 || self.snd_nxt + len > self.snd_una + w {
                return None;
            }
            let at = self.snd_nxt;
            self.snd_nxt += len;
            (at, len)
        };
        if len == 0 {
            return None;
        }
        let re = at < self.max_sent;
        if re {
            self.stats.retransmits += 1
        } else {
            self.max_sent = at + len;
            if self.timed.is_none() {
                self.timed = Some((at + len, now));
            }
        }
        if self.rto_at.is_never() {
            self.rto_at = now + self.rtt.rto(&cfg.rto);
        }
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += len;
        Some(Segment {
            seq: at as u32,
            ack: self.rcv_nxt as u32,
            len: len as u32,
            window: 1 << 30,
            wire_bytes: cfg.header_bytes + len as u32,
            flags: Flags::ACK,
            retransmission: re,
            ..Segment::default()
        })
    }
    pub fn poll_timeout(&self) -> Time {
        self.rto_at
    }
    pub fn write(&mut self, bytes: u64) {
        self.end += bytes
    }
    pub fn close(&mut self) {
        self.closed = true
    }
    pub fn received(&self) -> u64 {
        self.rcv_nxt - 1
    }
    pub fn state(&self) -> State {
        self.state
    }
    pub fn is_finished(&self) -> bool {
        self.closed && self.snd_una == self.end
    }
    pub fn error(&self) -> Option<CloseReason> {
        None
    }
    pub fn peer_closed(&self) -> bool {
        false
    }
    pub fn was_established(&self) -> bool {
        true
    }
    pub fn cwnd_bytes(&self) -> u64 {
        self.law.cwnd()
    }
    pub fn ssthresh_bytes(&self) -> u64 {
        self.law.ssthresh()
    }
    pub fn in_flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }
    pub fn srtt(&self) -> Time {
        Time::ZERO
    }
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
}
