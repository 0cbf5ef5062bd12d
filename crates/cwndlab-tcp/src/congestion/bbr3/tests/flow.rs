//! A flow whose ACKs are made by hand.

use super::*;
use crate::congestion::AckKind;
use crate::flight::RateSample;

/// One packet per millisecond, in bytes per second.
pub(super) const RATE: u64 = 1_500_000;
/// 40 packets.
pub(super) const BDP: u64 = 40 * MSS;

/// A connection with a window of ten packets, whose handshake took 40 ms.
pub(super) struct Flow {
    pub law: Bbr3,
    pub cwnd: u64,
    pub now_ms: u64,
    pub delivered: u64,
    pub lost: u64,
}

/// An ACK; volumes are in packets. Tests change fields of [`ACK`], which delivers one packet 1 ms after the previous
/// ACK.
#[derive(Clone, Copy)]
pub(super) struct Ack {
    pub packets: u64,
    pub after_ms: u64,
    /// Packets delivered before the acknowledged one was sent; `None` stands for 40 fewer than after this ACK.
    pub prior: Option<u64>,
    /// Packets delivered in the 40 ms of the rate sample.
    pub rate: u64,
    pub rtt_ms: u64,
    pub in_flight: u64,
    pub tx_in_flight: u64,
    pub lost: u64,
    pub app_limited: bool,
    pub in_recovery: bool,
    pub after_timeout: bool,
    pub ce: u64,
}

pub(super) const ACK: Ack = Ack {
    packets: 1,
    after_ms: 1,
    prior: None,
    rate: 40,
    rtt_ms: 40,
    in_flight: 40,
    tx_in_flight: 40,
    lost: 0,
    app_limited: false,
    in_recovery: false,
    after_timeout: false,
    ce: 0,
};

impl Flow {
    pub fn with(cfg: Bbr3Config) -> Flow {
        let mut tcp = Profile::Linux6.config();
        tcp.ecn = crate::EcnKind::Dctcp;
        let mut law = Bbr3::new(&tcp, cfg);
        let ms = Time::from_millis;
        law.on_start(
            &Start { now: ms(1000), mss: MSS as u32, mtu: MSS as u32, srtt: ms(40), min_rtt: ms(40) },
            Some(Rng::seed_from_u64(1)),
            &mut window(10 * MSS),
        );
        Flow { law, cwnd: 10 * MSS, now_ms: 1000, delivered: 0, lost: 0 }
    }

    pub fn new() -> Flow {
        Flow::with(Bbr3Config::STANDARD)
    }

    pub fn google() -> Flow {
        Flow::with(Bbr3Config { rules: Bbr3Rules::GoogleV3, ecn: false })
    }

    pub fn ack(&mut self, ack: Ack) {
        self.now_ms += ack.after_ms;
        self.delivered += ack.packets;
        let now = Time::from_millis(self.now_ms);
        let prior_lost = self.lost;
        for k in 0..ack.lost {
            self.lost += MSS;
            // the segments are not adjacent, so that each lost segment is a separate lost range
            let segment = LostSegment {
                start: self.delivered * 100 * MSS + 2 * k * MSS,
                bytes: MSS,
                tx_in_flight: ack.tx_in_flight * MSS,
                prior_lost,
                app_limited: ack.app_limited,
            };
            self.law.on_lost(&segment, self.delivered, now, window(self.cwnd));
        }
        let interval = Time::from_millis(40);
        let rate = RateSample {
            delivered_bytes: ack.rate * MSS,
            delivered_packets: ack.rate,
            interval,
            send_elapsed: interval,
            ack_elapsed: interval,
            prior_delivered_bytes: 0,
            prior_delivered_packets: ack.prior.unwrap_or(self.delivered.saturating_sub(40)),
            tx_in_flight_bytes: ack.tx_in_flight * MSS,
            prior_lost_bytes: prior_lost,
            prior_ce_bytes: self.law.ce,
            app_limited: ack.app_limited,
            retransmission: false,
            min_rtt: interval,
        };
        let report = AckReport {
            now,
            kind: AckKind::New,
            mss: MSS as u32,
            acked_bytes: ack.packets * MSS,
            delivered_bytes: ack.packets * MSS,
            ce_bytes: ack.ce * MSS,
            ece: ack.ce > 0,
            prior_flight_bytes: BDP,
            prior_in_flight_bytes: (ack.in_flight + ack.packets) * MSS,
            rtt: Some(Time::from_millis(ack.rtt_ms)),
            srtt: interval,
            rate: Some(rate),
            ..AckReport::default()
        };
        let after = AfterAck {
            lost_bytes: ack.lost * MSS,
            in_recovery: ack.in_recovery,
            after_timeout: ack.after_timeout,
            in_flight_bytes: ack.in_flight * MSS,
            total_delivered_packets: self.delivered,
            delivered_at: now,
            ..AfterAck::default()
        };
        self.cwnd = self.law.take_ack(&report, &after, self.cwnd);
    }

    /// Takes an ACK that begins a round.
    pub fn round(&mut self, ack: Ack) {
        let ends_at = self.law.rounds.ends_at.max(self.law.latest.round_ends_at);
        self.ack(Ack { prior: Some(ends_at), ..ack });
    }

    /// A flow in Drain that has measured the path's rate.
    pub fn draining(mut self) -> Flow {
        for _ in 0..4 {
            self.round(Ack { in_flight: 100, ..ACK });
        }
        assert_eq!(self.law.state, State::Drain);
        self
    }

    pub fn down(self) -> Flow {
        let mut flow = self.draining();
        let product = flow.law.product(RATE) / MSS;
        flow.ack(Ack { in_flight: product, prior: Some(0), ..ACK }); // one packet more before
        assert_eq!(flow.law.state, State::Down);
        flow
    }

    pub fn cruising(self) -> Flow {
        let mut flow = self.down();
        flow.ack(Ack { in_flight: 20, prior: Some(0), ..ACK });
        assert_eq!(flow.law.state, State::Cruise);
        flow
    }

    pub fn up(self) -> Flow {
        let mut flow = self.cruising();
        flow.ack(Ack { after_ms: 3001, prior: Some(0), ..ACK });
        assert_eq!(flow.law.state, State::Refill);
        flow.round(ACK);
        assert_eq!(flow.law.state, State::Up);
        flow
    }
}
