//! The minimum of the round trip over the last five minutes, as Linux keeps it (`tcp_update_rtt_min`).

use cwndlab_units::Time;

use crate::config::TcpConfig;
use crate::send_state::SendState;
use crate::windowed_max::WindowedMax;

/// `tcp_min_rtt_wlen`, in milliseconds.
const WINDOW_MS: u32 = 300_000;

/// Lets the minimum that the estimator keeps ([`crate::RttEstimator::min_rtt`]) forget what is older than the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeastRtt {
    /// The complements of the smallest round trips, in microseconds.
    complements: WindowedMax,
    /// Until then a longer round trip changes nothing: the minimum was measured less than a quarter of the window ago.
    fresh_until: Time,
}

impl LeastRtt {
    /// Takes a round trip. `only`: the bytes of the segment, if a single one was acknowledged. The ACK of a short one may
    /// have been delayed, so that a longer round trip than the minimum does not count (`FLAG_ACK_MAYBE_DELAYED`).
    #[inline]
    pub fn note(&mut self, cfg: &TcpConfig, s: &mut SendState, now: Time, rtt: Time, only: Option<u64>) {
        if cfg.forgets_min_rtt() && (rtt <= s.rtt.min_rtt() || now >= self.fresh_until) {
            self.note_other(cfg, s, now, rtt, only);
        }
    }

    /// Takes a round trip that may change the minimum.
    #[inline(never)]
    fn note_other(&mut self, cfg: &TcpConfig, s: &mut SendState, now: Time, rtt: Time, only: Option<u64>) {
        let is_short = only.is_some_and(|bytes| bytes < u64::from(s.mss));
        if rtt <= s.rtt.min_rtt() || !is_short {
            self.update(cfg, s, now, rtt);
        }
    }

    fn update(&mut self, cfg: &TcpConfig, s: &mut SendState, now: Time, rtt: Time) {
        let micros = |rtt: Time| (rtt.as_nanos() / 1000).min(u64::from(u32::MAX)) as u32;
        let (at, known) = ((cfg.clock().micros(now) / 1000) as u32, s.rtt.min_rtt());
        let is_first = self.complements.get() == 0;
        if is_first && rtt > known {
            self.complements.update(WINDOW_MS, at, !micros(known)); // the handshake's
        }
        if is_first || rtt <= known {
            self.fresh_until = now + Time::from_millis(u64::from(WINDOW_MS / 4));
        }
        self.complements.update(WINDOW_MS, at, !micros(rtt));
        s.rtt.set_min_rtt(Time::from_micros(u64::from(!self.complements.get())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    /// 50 ms at the beginning, then 60: after five minutes the minimum is what was measured since, other than from short
    /// segments.
    #[test]
    fn a_minimum_is_forgotten_after_five_minutes() {
        let cfg = Profile::Linux6.config();
        let mut s = SendState::new(&cfg, 1448);
        let mut least = LeastRtt::default();
        let mut after = |seconds: u64, ms: u64, bytes: u64| {
            least.note(&cfg, &mut s, Time::from_secs(seconds), Time::from_millis(ms), Some(bytes));
            s.rtt.min_rtt().as_nanos() / 1_000_000
        };
        assert_eq!(after(1, 50, 1448), 50);
        let seen: Vec<u64> =
            (2..=301).map(|second| after(second, 60, if second % 2 == 0 { 100 } else { 1448 })).collect();
        assert!(seen.iter().all(|&ms| ms == 50), "{seen:?}");
        assert_eq!(after(302, 70, 100), 50, "of a short segment");
        assert_eq!(after(303, 70, 1448), 60, "what the window still knows");
        assert_eq!(after(304, 55, 1448), 55);
    }

    /// `tcp_update_rtt_min` also gets the round trip of the handshake.
    #[test]
    fn the_handshakes_round_trip_is_the_first_in_the_window() {
        let cfg = Profile::Linux6.config();
        let mut s = SendState::new(&cfg, 1448);
        s.rtt.set_min_rtt(Time::from_millis(50));
        let mut least = LeastRtt::default();
        for (second, expected_ms) in [(1, 50), (300, 50), (310, 60)] {
            least.note(&cfg, &mut s, Time::from_secs(second), Time::from_millis(60), None);
            assert_eq!(s.rtt.min_rtt(), Time::from_millis(expected_ms), "at {second} s");
        }
    }

    #[test]
    fn without_linux_details_it_is_never_forgotten() {
        let cfg = TcpConfig { linux_details: false, ..Profile::Linux6.config() };
        let mut s = SendState::new(&cfg, 1448);
        s.rtt.set_min_rtt(Time::from_millis(50));
        let mut least = LeastRtt::default();
        for second in [1, 1000, 2000] {
            least.note(&cfg, &mut s, Time::from_secs(second), Time::from_millis(60), None);
            assert_eq!(s.rtt.min_rtt(), Time::from_millis(50), "at {second} s");
        }
        // With them, the same round trips replace the minimum.
        let with = TcpConfig { linux_details: true, ..cfg };
        for second in [1, 1000, 2000] {
            least.note(&with, &mut s, Time::from_secs(second), Time::from_millis(60), None);
        }
        assert_eq!(s.rtt.min_rtt(), Time::from_millis(60));
    }
}
