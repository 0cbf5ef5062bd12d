//! Pacing: data leaves in trains (bursts). After a train begins, the next one waits for the length of this train
//! divided by the pacing rate, as in Linux (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`, `tcp_tso_autosize`).
//! RFC 9002, section 7.7, specifies similar pacing for QUIC.

use cwndlab_units::Time;

use crate::congestion::{product_over, Controller, Grant, Quantum};
use crate::send_state::SendState;
use crate::TcpConfig;

/// Number of segments that a connection sends before pacing starts (Linux: ten).
const FREE_SEGMENTS: u8 = 10;
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent of cwnd per round trip.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
/// `sk_pacing_shift`: a train has as many bytes as the pacing rate sends in 2^-10 s.
const TRAINS_PER_SECOND: u64 = 1 << 10;
/// `tcp_min_tso_segs`
const LEAST_SEGMENTS: u32 = 2;
/// Maximum bytes of a train (`sk_dst_gso_max_size`: 64 KiB less `MAX_TCP_HEADER` and a byte).
pub(crate) const MOST_BYTES: u64 = 65_536 - 1 - 192;
/// `tcp_tso_rtt_log`: on paths with a small RTT, trains are larger by [`MOST_BYTES`], halved once for each 2^9 us of
/// the minimum RTT. After 32 or more halvings, nothing is added.
const NEAR_BITS: u32 = 9;
const NEAR_HALVINGS: u64 = 32;

/// The pacing rate and the size of trains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    /// Bytes per second.
    pub rate: u64,
    /// Maximum bytes of a train; its last segment may exceed this.
    pub train_bytes: u64,
}

impl Pace {
    /// Returns the pace: the rate that the window law states or, if it states none and the configuration requests
    /// pacing, a rate derived from the window. `None` if neither applies, or if the derived rate is needed before the
    /// first round-trip measurement.
    pub fn of_grant(cfg: &TcpConfig, snd: &SendState, cc: &Controller, grant: Grant) -> Option<Pace> {
        let rate = match grant.pacing_rate {
            Some(rate) => rate,
            None if cfg.pacing => Pace::rate_of_window(cfg, snd, cc)?,
            None => return None,
        };
        let mut train_bytes = match grant.quantum {
            Quantum::Bytes(bytes) => bytes.max(1),
            Quantum::OfRate(least_segments) => Pace::train_bytes(snd, rate, least_segments),
        };
        if cfg.max_train_segments > 0 {
            train_bytes = train_bytes.min(u64::from(cfg.max_train_segments) * u64::from(snd.mss));
        }
        Some(Pace { rate, train_bytes })
    }

    /// Bytes of a train at this rate, as Linux sizes it (`tcp_tso_autosize`).
    fn train_bytes(snd: &SendState, rate: u64, least_segments: u32) -> u64 {
        let halvings = (snd.rtt.min_rtt().as_nanos() / 1000) >> NEAR_BITS;
        let near = if halvings < NEAR_HALVINGS { MOST_BYTES >> halvings } else { 0 };
        let bytes = (rate / TRAINS_PER_SECOND + near).min(MOST_BYTES);
        let mss = u64::from(snd.mss);
        (bytes / mss).max(u64::from(least_segments)) * mss
    }

    /// Bytes of a train of a connection that does not pace: the kernel sizes it by the rate at which it would.
    pub fn unpaced_train_bytes(snd: &SendState, rate: Option<u64>) -> u64 {
        rate.map_or(MOST_BYTES, |rate| Pace::train_bytes(snd, rate, LEAST_SEGMENTS))
    }

    /// Derives the rate from the window and the smoothed round-trip time; `None` before the first measurement.
    pub fn rate_of_window(cfg: &TcpConfig, snd: &SendState, cc: &Controller) -> Option<u64> {
        let srtt = snd.rtt.srtt(&cfg.rto).as_nanos();
        if srtt == 0 {
            return None;
        }
        let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
        let unit = if cfg.paces_by_packets() { u64::from(snd.mss) } else { 1 };
        let percent = if cwnd / unit < ssthresh / unit / 2 { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let window = cwnd.max(snd.flight()).max(u64::from(snd.mss));
        Some(product_over(window * percent, 10_000_000, srtt)) // 10^9 ns per second, over 100 %
    }
}

/// The state of a pacer; only connections that pace have one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    /// When the current train began, its bytes so far, and its maximum bytes.
    began: Time,
    bytes: u64,
    most_bytes: u64,
    rate: u64,
    /// How late the current train began. The next train is brought forward by this, but at most by half of the time
    /// that the current train takes at its rate (Linux: "OS jitter").
    late: Time,
    /// When the next train may begin.
    next: Time,
    /// Segments that the connection has sent, counted up to [`FREE_SEGMENTS`].
    sent: u8,
}

impl Pacer {
    /// Whether a segment may be sent at `now`; `None` if it would begin a train: see [`Pacer::begin`].
    #[inline]
    pub fn admits(&self, now: Time) -> Option<bool> {
        if now == self.began && self.bytes < self.most_bytes {
            return Some(true);
        }
        (now < self.next).then_some(false)
    }

    /// Begins a train at this pace. A train of which nothing was sent, because a window did not permit it, does not end
    /// the lateness (Linux: `tcp_wstamp_ns` changes when a packet is sent).
    pub fn begin(&mut self, now: Time, pace: Option<Pace>) {
        let pace = pace.unwrap_or(Pace { rate: 0, train_bytes: MOST_BYTES });
        let before = if self.bytes == 0 { self.late } else { Time::ZERO };
        *self = Pacer {
            began: now,
            bytes: 0,
            most_bytes: pace.train_bytes,
            rate: pace.rate,
            late: now - self.next + before,
            next: now,
            ..*self
        };
    }

    /// Notes that an ACK without data is sent at `now`. The lateness of the next train is then measured from `now` (in
    /// Linux, `tcp_wstamp_ns` is updated by every packet).
    pub fn on_pure_ack(&mut self, now: Time) {
        if now >= self.next && self.bytes == 0 {
            self.late = Time::ZERO;
        }
        self.next = self.next.max(now);
    }

    /// When the pacer next allows a segment.
    pub fn next(&self) -> Time {
        self.next
    }

    /// When the last packet left or may leave, before a train that begins `now` (`tcp_wstamp_ns`).
    pub fn last_departure(&self, now: Time) -> Time {
        if self.began == now && self.bytes == 0 {
            now - self.late
        } else {
            self.next
        }
    }

    /// Maximum bytes of the current train.
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Ends the current train, so that the next segment begins another.
    pub fn end_train(&mut self) {
        self.most_bytes = self.bytes;
    }

    /// Charges the current train for a segment with this payload.
    pub fn charge(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.sent = (self.sent + 1).min(FREE_SEGMENTS);
        if self.sent == FREE_SEGMENTS && self.rate > 0 {
            let takes = Time::from_nanos(product_over(self.bytes, 1_000_000_000, self.rate));
            let forgiven = self.late.min(Time::from_nanos(takes.as_nanos() / 2));
            self.next = self.began + (takes - forgiven);
        }
    }
}

#[cfg(test)]
mod tests;
