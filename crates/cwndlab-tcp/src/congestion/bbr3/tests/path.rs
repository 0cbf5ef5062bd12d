//! A simulated path for the law alone: a bottleneck, and a sender that gives retransmitted packets new numbers, so that
//! each ACK belongs to one transmission. Rate samples are taken as in section 4.1.2 of draft-ietf-ccwg-bbr-06.

use std::collections::VecDeque;

use super::*;
use crate::congestion::AckKind;
use crate::flight::RateSample;

/// A packet is deemed lost when this many packets that were sent later have arrived.
const REORDERING: u64 = 3;

#[derive(Clone, Copy)]
struct Packet {
    id: u64,
    sent_at: Time,
    first_sent_at: Time,
    delivered: u64,
    delivered_at: Time,
    in_flight: u64,
    lost: u64,
    app_limited: bool,
}

pub(super) struct Path {
    pub law: Bbr3,
    pub cwnd: u64,
    pub now: Time,
    /// The bottleneck's rate in bytes per second, the size of its queue in bytes, and the round-trip time.
    pub rate: u64,
    pub buffer: u64,
    pub rtt: Time,
    /// ACKs arrive in bursts at multiples of this time.
    pub slot: Time,
    /// The share of packets that are lost, at random.
    pub loss: Option<f64>,
    /// A policer's rate in bytes per second and the size of its bucket in bytes. `tokens` are the tokens in the bucket,
    /// and the time at which they were counted.
    pub policer: Option<(u64, u64)>,
    tokens: (u64, Time),
    /// The time between the packets that the application writes; `None` if it always has data.
    pub gap: Option<Time>,
    next_write: Time,
    pub delivered: u64,
    pub sent: u64,
    pub dropped: u64,
    dice: Rng,
    next_send: Time,
    link_free: Time,
    out: VecDeque<Packet>,
    acks: VecDeque<(Time, u64)>,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    app_limited_until: u64,
    recover: u64,
}

fn per(bytes: u64, rate: u64) -> Time {
    Time::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1))) as u64)
}

impl Path {
    /// A long transfer over a path with `mbps` Mb/s, a round trip of `rtt_ms` and a buffer of `bdp` bandwidth-delay
    /// products.
    pub fn new(rules: Bbr3Rules, mbps: f64, rtt_ms: u64, bdp: f64) -> Path {
        let cfg = Bbr3Config { rules, ..Bbr3Config::STANDARD };
        let mut law = Bbr3::new(&Profile::Linux6.config(), cfg);
        let (now, rtt) = (Time::from_secs(1), Time::from_millis(rtt_ms));
        let start = Start { now, mss: MSS as u32, mtu: MSS as u32, srtt: rtt, min_rtt: rtt };
        law.on_start(&start, Some(Rng::seed_from_u64(1)), &mut window(10 * MSS));
        let rate = (mbps * 125_000.0) as u64;
        Path {
            law,
            cwnd: 10 * MSS,
            now,
            rate,
            buffer: (bytes_in(rate, rtt) as f64 * bdp) as u64,
            rtt,
            slot: Time::ZERO,
            loss: None,
            policer: None,
            tokens: (0, now),
            gap: None,
            next_write: Time::ZERO,
            delivered: 0,
            sent: 0,
            dropped: 0,
            dice: Rng::seed_from_u64(2),
            next_send: now,
            link_free: now,
            out: VecDeque::new(),
            acks: VecDeque::new(),
            delivered_at: now,
            first_sent_at: now,
            lost: 0,
            app_limited_until: 0,
            recover: 0,
        }
    }

    pub fn in_flight(&self) -> u64 {
        self.out.len() as u64 * MSS
    }

    /// Runs until `done` returns true, but at most for `seconds`. Returns whether `done` returned true.
    pub fn run_until(&mut self, seconds: f64, mut done: impl FnMut(&Path) -> bool) -> bool {
        let end = self.now + Time::from_secs_f64(seconds);
        while self.now < end {
            if done(self) {
                return true;
            }
            self.step(end);
        }
        done(self)
    }

    pub fn run(&mut self, seconds: f64) {
        self.run_until(seconds, |_| false);
    }

    /// Runs for `seconds`. Returns the bytes delivered as a fraction of what the link could carry.
    pub fn utilization(&mut self, seconds: f64) -> f64 {
        let before = self.delivered;
        self.run(seconds);
        ((self.delivered - before) * MSS) as f64 / (self.rate as f64 * seconds)
    }

    fn step(&mut self, end: Time) {
        let ack = self.acks.front().map_or(Time::MAX, |ack| ack.0);
        let room = self.in_flight() + MSS <= self.cwnd;
        let write = if self.gap.is_some() { self.next_write } else { Time::ZERO };
        let send = if room { self.next_send.max(self.now).max(write) } else { Time::MAX };
        if room && write > self.next_send.max(self.now) {
            self.app_limited_until = self.delivered + self.out.len() as u64 + 1;
        }
        let next = ack.min(send);
        if next > end {
            self.now = end;
        } else if ack <= send {
            self.now = next;
            self.acknowledge();
        } else {
            self.now = next;
            self.send();
        }
    }

    fn send(&mut self) {
        if self.out.is_empty() {
            (self.first_sent_at, self.delivered_at) = (self.now, self.now);
            if self.app_limited_until > 0 {
                let mut windows = window(self.cwnd);
                self.law.on_app_restart(self.now, MSS as u32, &mut windows);
                self.cwnd = u64::from(windows.cwnd);
            }
        }
        self.next_send = self.now + per(MSS, self.law.pacing_rate);
        if let Some(gap) = self.gap {
            self.next_write = self.next_write.max(self.now) + gap;
        }
        let id = self.sent;
        self.sent += 1;
        self.out.push_back(Packet {
            id,
            sent_at: self.now,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            in_flight: self.in_flight() + MSS,
            lost: self.lost,
            app_limited: self.app_limited_until > 0,
        });
        if self.is_dropped() {
            self.dropped += 1;
            return;
        }
        self.link_free = self.link_free.max(self.now) + per(MSS, self.rate);
        let mut arrives = self.link_free + self.rtt;
        if self.slot > Time::ZERO {
            arrives = Time::from_nanos(arrives.as_nanos().next_multiple_of(self.slot.as_nanos()));
        }
        self.acks.push_back((arrives, id));
    }

    fn is_dropped(&mut self) -> bool {
        if self.loss.is_some_and(|p| self.dice.random_bool(p)) {
            return true;
        }
        if let Some((rate, bucket)) = self.policer {
            let tokens = (self.tokens.0 + bytes_in(rate, self.now - self.tokens.1)).min(bucket);
            self.tokens = (tokens.saturating_sub(MSS), self.now);
            if tokens < MSS {
                self.tokens.0 = tokens;
                return true;
            }
        }
        bytes_in(self.rate, self.link_free.saturating_sub(self.now)) + MSS > self.buffer.max(MSS)
    }

    fn acknowledge(&mut self) {
        let Some((_, id)) = self.acks.pop_front() else { return };
        let prior_in_flight = self.in_flight();
        let Some(index) = self.out.iter().position(|packet| packet.id == id) else { return };
        let Some(packet) = self.out.remove(index) else { return };
        self.delivered += 1;
        (self.delivered_at, self.first_sent_at) = (self.now, packet.sent_at);
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let lost = self.out.iter().take_while(|other| other.id + REORDERING <= id).copied().collect::<Vec<_>>();
        if !lost.is_empty() && self.recover <= lost[0].id {
            self.law.on_congestion(CongestionEvent::Loss, Time::ZERO, MSS as u32, &mut window(self.cwnd));
            self.recover = self.sent;
        }
        for lost in &lost {
            self.out.pop_front();
            self.lost += MSS;
            let segment = LostSegment {
                start: lost.id * MSS,
                bytes: MSS,
                tx_in_flight: lost.in_flight,
                prior_lost: lost.lost,
                app_limited: lost.app_limited,
            };
            self.law.on_lost(&segment, self.delivered, self.now, window(self.cwnd));
        }
        let (send, ack) = (packet.sent_at - packet.first_sent_at, self.now - packet.delivered_at);
        let rate = RateSample {
            delivered_bytes: (self.delivered - packet.delivered) * MSS,
            delivered_packets: self.delivered - packet.delivered,
            interval: send.max(ack),
            send_elapsed: send,
            ack_elapsed: ack,
            prior_delivered_bytes: packet.delivered * MSS,
            prior_delivered_packets: packet.delivered,
            tx_in_flight_bytes: packet.in_flight,
            prior_lost_bytes: packet.lost,
            prior_ce_bytes: 0,
            app_limited: packet.app_limited,
            retransmission: false,
            min_rtt: self.rtt,
        };
        let report = AckReport {
            now: self.now,
            kind: AckKind::New,
            mss: MSS as u32,
            acked_bytes: MSS,
            delivered_bytes: MSS,
            prior_flight_bytes: prior_in_flight,
            prior_in_flight_bytes: prior_in_flight,
            rtt: Some(self.now - packet.sent_at),
            srtt: self.rtt,
            rate: (rate.interval >= self.rtt).then_some(rate),
            ..AckReport::default()
        };
        let after = AfterAck {
            lost_bytes: lost.len() as u64 * MSS,
            in_recovery: self.recover > id,
            in_flight_bytes: self.in_flight(),
            total_delivered_packets: self.delivered,
            delivered_at: self.now,
            next_departure: self.next_send,
            ..AfterAck::default()
        };
        self.cwnd = self.law.take_ack(&report, &after, self.cwnd);
        if self.law.limits_itself() {
            self.app_limited_until = self.delivered + self.out.len() as u64;
        }
    }
}
