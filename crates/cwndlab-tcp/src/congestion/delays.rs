//! Delays of the last minutes and of the last ACKs, from which LEDBAT and LEDBAT++ estimate the queueing delay (RFC
//! 6817, section 2.4.2).

use cwndlab_units::Time;

/// Minutes over which the base delay is taken, including the current one (RFC 6817, section 2.5: `BASE_HISTORY` SHOULD
/// be 10).
const BASE_MINUTES: usize = 10;
/// Number of measurements whose minimum is the current delay (RFC 6817, section 2.5: at least 4; `CURRENT_FILTER`).
pub(super) const CURRENT_SAMPLES: usize = 4;

/// Minimum delays of the last minutes, and the last measurements.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// The minimum delay of each of the last minutes, infinite for a minute without a measurement. Minute `m` is at
    /// index `m % BASE_MINUTES`.
    base: [Time; BASE_MINUTES],
    /// The minute of the last measurement.
    minute: u64,
    /// The last measurements, with their times.
    current: [(Time, Time); CURRENT_SAMPLES],
    next_sample: usize,
}

impl Delays {
    pub fn new() -> Delays {
        Delays {
            base: [Time::MAX; BASE_MINUTES],
            minute: 0,
            current: [(Time::ZERO, Time::MAX); CURRENT_SAMPLES],
            next_sample: 0,
        }
    }

    /// Takes a measured delay (`update_current_delay`, `update_base_delay`).
    pub fn note(&mut self, now: Time, delay: Time) {
        self.current[self.next_sample] = (now, delay);
        self.next_sample = (self.next_sample + 1) % CURRENT_SAMPLES;
        let minute = now.as_nanos() / Time::from_secs(60).as_nanos();
        for passed in (self.minute + 1..=minute).take(BASE_MINUTES) {
            self.base[(passed % BASE_MINUTES as u64) as usize] = Time::MAX;
        }
        self.minute = minute;
        let least = &mut self.base[(minute % BASE_MINUTES as u64) as usize];
        *least = (*least).min(delay);
    }

    /// The base delay; [`Time::MAX`] before the first measurement.
    pub fn base(&self) -> Time {
        self.base.iter().copied().fold(Time::MAX, Time::min)
    }

    /// The current delay less the base delay; zero before the first measurement.
    pub fn queueing(&self) -> Time {
        self.queueing_since(Time::ZERO)
    }

    /// Returns the queueing delay if the current delay is the minimum of the last measurement and those since
    /// `earliest`.
    pub fn queueing_since(&self, earliest: Time) -> Time {
        let last = (self.next_sample + CURRENT_SAMPLES - 1) % CURRENT_SAMPLES;
        let recent = self.current.iter().filter(|(at, _)| *at >= earliest).map(|(_, delay)| *delay);
        recent.fold(self.current[last].1, Time::min).saturating_sub(self.base())
    }
}
