//! One ACK in the kernel's units (`struct rate_sample` and fields of the socket).

use cwndlab_units::Time;

use super::micros;
use crate::clock::Clock;
use crate::congestion::{AckKind, AckReport, AfterAck};

/// Linux's `icsk_ca_state`, reduced to the states that BBR distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(in crate::congestion) enum Repair {
    #[default]
    None,
    Recovery,
    Loss,
}

impl Repair {
    pub fn of(after: &AfterAck) -> Self {
        match (after.after_timeout, after.in_recovery) {
            (true, _) => Repair::Loss,
            (false, true) => Repair::Recovery,
            (false, false) => Repair::None,
        }
    }
}

/// The values of one ACK; counts are in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Packets delivered between the transmission of a packet and its ACK, the length of this interval in microseconds,
    /// and the packets delivered before the transmission. `None` if no valid rate was measured.
    pub rate: Option<(u64, u64, u64)>,
    pub app_limited: bool,
    /// Newly delivered and newly lost.
    pub acked: u64,
    pub losses: u64,
    pub rtt_us: Option<u64>,
    /// Whether the receiver may have delayed this ACK (`is_ack_delayed`).
    pub delayed: bool,
    pub in_flight: u64,
    pub prior_in_flight: u64,
    /// How long the pacer delays the next packet.
    pub held_us: u64,
    pub repair: Repair,
}

impl Sample {
    /// The sample of an ACK, for segments of `mss` bytes. `before` is the number of packets delivered before this ACK.
    pub fn new(ack: &AckReport, after: &AfterAck, mss: u64, (before, clock): (u64, Clock)) -> Self {
        let packets = |bytes: u64| bytes.div_ceil(mss);
        let acked = after.total_delivered_packets - before;
        let rate = ack.rate.filter(|rate| rate.interval > Time::ZERO);
        let runt = ack.kind == AckKind::New && ack.acked_bytes < mss && acked == 1;
        Sample {
            rate: rate.map(|r| (r.delivered_packets, micros(r.interval), r.prior_delivered_packets)),
            app_limited: rate.is_some_and(|rate| rate.app_limited),
            acked,
            losses: packets(after.lost_bytes),
            rtt_us: ack.rtt.map(|rtt| clock.micros(ack.now) - clock.micros(ack.now.saturating_sub(rtt))),
            delayed: runt && rate.is_some_and(|rate| rate.prior_delivered_packets + 1 == after.total_delivered_packets),
            in_flight: packets(after.in_flight_bytes),
            prior_in_flight: packets(ack.prior_in_flight_bytes),
            held_us: micros(after.next_departure.saturating_sub(ack.now)),
            repair: Repair::of(after),
        }
    }
}
