//! HyStart (Ha and Rhee 2011) in the form of the Linux kernel's CUBIC. It leaves slow start at once when round-trip
//! times have grown by an eighth, or when the ACKs of a train span more than half the minimum RTT.

use cwndlab_units::Time;

use crate::pacing::MOST_BYTES;

// Constants of the kernel's tcp_cubic.c.
const LOW_WINDOW_SEGMENTS: u32 = 16;
const MIN_SAMPLES: u8 = 8;
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;
/// ACKs at most this far apart belong to the same train.
const ACK_DELTA_US: u32 = 2_000;
/// Upper bound of the time added to the minimum RTT for the sender's own bursts, and the bytes of four bursts
/// (`hystart_ack_delay`).
const MOST_SEND_DELAY_US: u64 = 1_000;
const FOUR_BURSTS_BYTES: u64 = 4 * MOST_BYTES;
/// No measurement in this round.
const NONE: u32 = u32::MAX;

/// State of the first slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct HystartLinux {
    /// A new round begins with the first ACK of data beyond this position.
    round_end: u64,
    round_start: Time,
    /// Time from `round_start` to the train's last ACK.
    train_us: u32,
    round_rtt_us: u32,
    min_rtt_us: u32,
    /// Smoothed RTT, in eighths of a microsecond; 0 before the first sample.
    srtt: u32,
    rtt_samples: u8,
    /// Whether the sender paces. Pacing alone spreads a window over up to half a round trip, so with pacing the limit
    /// of a train is a whole round trip.
    paced: bool,
}

impl HystartLinux {
    pub fn new(paced: bool) -> Self {
        // The first round ends with the first byte: an ACK that only reports by SACK does not begin the next one.
        HystartLinux { round_end: 1, round_rtt_us: NONE, min_rtt_us: NONE, paced, ..HystartLinux::default() }
    }

    /// Lets a round trip count for the minimum, also outside of slow start (`cubictcp_acked`). Returns it in whole
    /// microseconds, at least one.
    pub fn note_rtt(&mut self, rtt: Time) -> u32 {
        let rtt_us = (rtt.as_nanos() / 1_000).clamp(1, u64::from(NONE - 1)) as u32;
        self.min_rtt_us = self.min_rtt_us.min(rtt_us);
        rtt_us
    }

    /// Takes an ACK of new data in slow start; `cwnd` is the window before the ACK opens it. Returns whether slow start
    /// ends.
    pub fn on_ack(
        &mut self,
        now: Time,
        snd_una: u64,
        snd_nxt: u64,
        rtt: Option<Time>,
        (cwnd, mss): (u32, u32),
    ) -> bool {
        let Some(rtt) = rtt else { return false };
        let cwnd_segments = cwnd / mss;
        let rtt_us = self.note_rtt(rtt);
        self.srtt =
            if self.srtt == 0 { rtt_us.saturating_mul(8) } else { (self.srtt - self.srtt / 8).saturating_add(rtt_us) };
        if snd_una > self.round_end {
            self.round_start = now;
            self.round_end = snd_nxt;
            self.train_us = 0;
            self.round_rtt_us = NONE;
            self.rtt_samples = 0;
        }
        if cwnd_segments < LOW_WINDOW_SEGMENTS {
            return false;
        }
        let in_round_us = (now.saturating_sub(self.round_start).as_nanos() / 1_000).min(u64::from(NONE)) as u32;
        if in_round_us - self.train_us <= ACK_DELTA_US {
            self.train_us = in_round_us;
            let limit = (u64::from(self.min_rtt_us) + self.send_delay_us(cwnd)) >> u8::from(!self.paced);
            if u64::from(in_round_us) > limit {
                return true;
            }
        }
        self.round_rtt_us = self.round_rtt_us.min(rtt_us);
        if self.rtt_samples < MIN_SAMPLES {
            self.rtt_samples += 1;
            return false;
        }
        self.round_rtt_us > self.min_rtt_us + (self.min_rtt_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US)
    }

    /// Returns the time in which four bursts leave, at two windows per smoothed RTT (`tcp_update_pacing_rate`).
    fn send_delay_us(&self, cwnd: u32) -> u64 {
        (FOUR_BURSTS_BYTES * u64::from(self.srtt) / 8 / u64::from(2 * cwnd).max(1)).min(MOST_SEND_DELAY_US)
    }
}

#[cfg(test)]
mod tests;
