//! The input of BBR version 3 from one ACK, in bytes.

use cwndlab_units::Time;

use crate::congestion::bbr::Repair;
use crate::congestion::{product_over, AckReport, AfterAck};
use crate::flight::LostSegment;

/// `BW_SCALE` in Google's BBR v3 branch
const RATE_BITS: u32 = 24;

/// The information about the path in an ACK or a lost segment. The names in draft-ietf-ccwg-bbr-06,
/// section 2.3, are given next to ours.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub now: Time,
    /// `RS.delivery_rate` in bytes per second; 0 if none was measured.
    pub rate: u64,
    /// `RS.delivered`
    pub delivered: u64,
    /// `RS.prior_delivered`, in packets.
    pub prior_delivered: Option<u64>,
    /// `RS.is_app_limited`
    pub app_limited: bool,
    /// `RS.tx_in_flight`
    pub tx_in_flight: u64,
    /// `RS.lost`
    pub lost: u64,
    /// Bytes marked CE over the interval of the sample (Google's BBR v3 branch: `rs->delivered_ce`).
    pub ce: u64,
    /// `RS.newly_acked` and `RS.newly_lost`
    pub acked: u64,
    pub newly_lost: u64,
    /// `C.inflight` after this ACK and before it.
    pub in_flight: u64,
    pub prior_in_flight: u64,
    /// How long the pacer delays the next packet.
    pub held: Time,
    /// `RS.rtt`
    pub rtt: Option<Time>,
    /// Whether the ACK reports marks.
    pub marked: bool,
    pub repair: Repair,
}

impl Sample {
    /// The sample of an ACK. `lost` and `ce` are the total bytes deemed lost and marked.
    pub fn new(ack: &AckReport, after: &AfterAck, lost: u64, ce: u64) -> Self {
        let mut sample = Sample {
            now: ack.now,
            acked: ack.delivered_bytes,
            newly_lost: after.lost_bytes,
            in_flight: after.in_flight_bytes,
            prior_in_flight: ack.prior_in_flight_bytes,
            held: after.next_departure.saturating_sub(ack.now),
            rtt: ack.rtt,
            marked: ack.ce_bytes > 0,
            repair: Repair::of(after),
            ..Sample::default()
        };
        if let Some(rate) = ack.rate.as_ref().filter(|rate| rate.interval > Time::ZERO) {
            sample.rate = product_over(rate.delivered_bytes, 1_000_000_000, rate.interval.as_nanos());
            sample.delivered = rate.delivered_bytes;
            sample.prior_delivered = Some(rate.prior_delivered_packets);
            sample.app_limited = rate.app_limited;
            sample.tx_in_flight = rate.tx_in_flight_bytes;
            sample.lost = lost.saturating_sub(rate.prior_lost_bytes);
            sample.ce = ce.saturating_sub(rate.prior_ce_bytes);
        }
        sample
    }

    /// Rounds the rate up to a multiple of 2^-24 packets of `mss` bytes per microsecond (`bbr_calculate_bw_sample` in
    /// Google's BBR v3 branch).
    #[inline(never)]
    pub fn count_packets(&mut self, mss: u64, ack: &AckReport) {
        if let Some(rate) = ack.rate.as_ref().filter(|_| self.rate > 0) {
            let packets = rate.delivered_bytes.div_ceil(mss);
            let units = (packets << RATE_BITS).saturating_mul(1000).div_ceil(rate.interval.as_nanos());
            self.rate = product_over(units, mss * 1_000_000, 1 << RATE_BITS) + 1;
        }
    }

    /// The sample of a lost segment, with the volume in flight when it was sent (`HandleLostPacket`). `lost` is the
    /// total number of bytes deemed lost.
    pub fn of_lost(segment: &LostSegment, lost: u64) -> Self {
        Sample {
            tx_in_flight: segment.tx_in_flight,
            lost: lost.saturating_sub(segment.prior_lost),
            app_limited: segment.app_limited,
            ..Sample::default()
        }
    }
}
