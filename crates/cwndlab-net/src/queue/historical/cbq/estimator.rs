//! CBQ's estimator of a class's use of the link (Floyd and Jacobson 1995, section 3.1 and appendix A).

use cwndlab_units::Time;

/// Weight of one packet in the average.
const GAIN: f64 = 1.0 / 16.0;
/// An average up to this many seconds counts as zero. Times are rounded to nanoseconds, so a class that has waited
/// until its average is zero may have a slightly positive average. Without the tolerance, it could send two packets in
/// a row.
const ZERO_S: f64 = 100e-9;

/// Measures whether a class keeps to its rate. It averages `idle`: the time from the end of one packet to the end of
/// the next, less the second packet's transmission time at the class's rate. If the average is negative, the class is
/// over its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimator {
    /// Seconds per byte at the class's rate.
    class_s: f64,
    /// Seconds per byte at the link's rate.
    link_s: f64,
    avgidle_s: f64,
    max_idle_s: f64,
    min_idle_s: f64,
    /// The time at which the transmission of the last packet ends.
    last: Time,
    /// From this time on the class is within its limit: a packet of the last packet's size, sent at this time, brings
    /// the average back to zero.
    pub(super) undertime: Time,
    /// Transmission times of a packet of the last packet's size, stored because sizes repeat.
    sized: Sized,
    /// The last interval between the ends of two packets, with its value in seconds. `wait` is the last waiting time in
    /// seconds, with its rounded value. Both are stored because the same values repeat while packets wait.
    between: (Time, f64),
    wait: (f64, Time),
}

/// Transmission times of a packet of one size.
#[derive(Clone, Copy, Debug)]
struct Sized {
    bytes: u32,
    /// Seconds at the class's rate and at the link's.
    class_s: f64,
    link_s: f64,
    /// The same times, rounded to nanoseconds.
    class_time: Time,
    link_time: Time,
}

impl Sized {
    fn new(bytes: u32, class_s_per_byte: f64, link_s_per_byte: f64) -> Sized {
        let (class_s, link_s) = (f64::from(bytes) * class_s_per_byte, f64::from(bytes) * link_s_per_byte);
        let (class_time, link_time) = (Time::from_secs_f64(class_s), Time::from_secs_f64(link_s));
        Sized { bytes, class_s, link_s, class_time, link_time }
    }
}

impl Estimator {
    /// Creates an estimator. Its largest average (`maxidle`) is the one that `max_burst` packets of `max_packet_bytes`,
    /// sent back to back at the link's rate, reduce to zero, but at least `GAIN` times the transmission time of such a
    /// packet.
    pub(super) fn new(class_bps: f64, link_bps: f64, max_burst: u32, max_packet_bytes: u32, min_idle_s: f64) -> Self {
        let (class_s, link_s) = (8.0 / class_bps, 8.0 / link_bps);
        let keep = cwndlab_units::power(1.0 - GAIN, max_burst);
        let packet = f64::from(max_packet_bytes);
        let burst_s = packet * (class_s - link_s).max(0.0) * (1.0 - keep) / keep;
        let max_idle_s = burst_s.max(packet * link_s * GAIN);
        Estimator {
            class_s,
            link_s,
            avgidle_s: max_idle_s, // a class starts with the average that it has after a pause
            max_idle_s,
            min_idle_s,
            last: Time::ZERO,
            undertime: Time::ZERO,
            sized: Sized::new(max_packet_bytes, class_s, link_s),
            between: (Time::ZERO, 0.0),
            wait: (0.0, Time::ZERO),
        }
    }

    #[inline]
    fn sized(&mut self, bytes: u32) -> Sized {
        if self.sized.bytes != bytes {
            self.sized = Sized::new(bytes, self.class_s, self.link_s);
        }
        self.sized
    }

    /// Updates the average when a packet of `bytes` of this class, or of a descendant, begins to be sent at `now`.
    #[inline]
    pub(super) fn on_send(&mut self, now: Time, bytes: u32) {
        let Sized { class_s, link_s, link_time, .. } = self.sized(bytes);
        let end = now + link_time;
        let between = end.saturating_sub(self.last);
        if between != self.between.0 {
            self.between = (between, between.as_secs_f64());
        }
        let idle_s = self.between.1 - class_s;
        let average = self.avgidle_s + GAIN * (idle_s - self.avgidle_s);
        // If packets follow each other at exactly the class's rate, the average decays without ever reaching zero. It
        // must not become subnormal, because subnormal numbers cost hundreds of cycles per operation. Zero has the same
        // effect here.
        let average = if average.abs() < f64::MIN_POSITIVE / GAIN { 0.0 } else { average };
        self.avgidle_s = average.clamp(self.min_idle_s, self.max_idle_s);
        self.last = end;
        self.undertime = if self.avgidle_s > ZERO_S {
            now
        } else {
            // The debt is `-avgidle_s`. The average returns to zero if the next packet has the same size and its `idle`
            // is (1/GAIN - 1) times the debt.
            let wait_s = class_s - link_s - (1.0 / GAIN - 1.0) * self.avgidle_s;
            if wait_s.to_bits() != self.wait.0.to_bits() {
                self.wait = (wait_s, Time::from_secs_f64(wait_s));
            }
            end + self.wait.1
        };
    }

    #[cfg(test)]
    pub(super) fn average_s(&self) -> f64 {
        self.avgidle_s
    }

    /// Transmission time of `bytes` at the class's rate.
    #[inline]
    pub(super) fn class_time(&mut self, bytes: u32) -> Time {
        self.sized(bytes).class_time
    }

    /// Transmission time of `bytes` at the link's rate.
    pub(super) fn link_time(&self, bytes: u32) -> Time {
        Sized::new(bytes, self.class_s, self.link_s).link_time
    }
}
