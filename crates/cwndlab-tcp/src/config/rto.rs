//! The retransmission timeout.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use super::knobs::knobs;
use super::Profile;

/// The clock's tick in Linux 2.0 and 2.2: HZ = 100 on a PC (include/asm-i386/param.h).
const JIFFY: Time = Time::from_millis(10);

/// The rule that computes the retransmission timeout from round trips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// RFC 6298, section 2; with a coarse tick, in the integer arithmetic of Jacobson (1988).
    Rfc6298,
    /// Linux 2.0: RTO = R + R/4 + (R >> (cwnd - 1)) with R = srtt + 4 mean deviations, in ticks.
    #[serde(rename = "linux-2.0")]
    Linux2_0,
    /// Linux 2.2: as Linux 2.0, but the first deviation is twice as large.
    #[serde(rename = "linux-2.2")]
    Linux2_2,
    /// Linux 6: uses the largest mean deviation within a round trip; in microseconds.
    Linux,
}

impl Estimator {
    /// Whether this is the estimator of Linux 2.0 or 2.2. Both measure in ticks of [`RtoConfig::tick_ns`].
    pub(crate) fn is_linux_2(self) -> bool {
        matches!(self, Estimator::Linux2_0 | Estimator::Linux2_2)
    }
}

/// The measurements that the estimator takes as samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttSamples {
    /// With timestamps, the round trip of each ACK of new data; otherwise that of one segment per window, unless the
    /// segment was retransmitted (RFC 6298, 3).
    RoundTrip,
    /// The round trip of each segment that an ACK acknowledges, from when it was last sent. After a timeout there are
    /// no samples until all data that was then outstanding is acknowledged (Linux 2.0).
    EachSegment,
    /// The one-way delay of each ACK from which a round trip can be measured: its arrival time less the time at which
    /// its sender stamped it, as in the agents of RFC 2415's authors. Both ends need the same clock.
    OneWayDelay,
}

/// The event from which the retransmission timeout counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerStart {
    /// The last ACK of new data, or the first segment sent with nothing in flight (RFC 6298, 5.1 and 5.3).
    LastAck,
    /// The last transmission of the first unacknowledged segment (Linux 2.0 and 2.2).
    FirstSegment,
}

knobs! {
/// Retransmission timeout.
pub struct RtoConfig("rto.") {
    /// The rule that computes the timeout from round trips: that of RFC 6298 (with a coarse tick, in the integer
    /// arithmetic of 1988), or that of a Linux version.
    estimator: Estimator ["rfc6298 | linux-2.0 | linux-2.2 | linux"; any] {
        ns2_1998: Estimator::Rfc6298 => "as in BSD (Jacobson 1988)",
        rfc5681: Estimator::Rfc6298 => "RFC 6298, 2",
        linux_2_0: Estimator::Linux2_0 => "2.0.32: tcp_rtt_estimator, tcp_input.c 111 to 155",
        linux_2_2: Estimator::Linux2_2 => "2.2.5: tcp_rtt_estimator and tcp_set_rto, tcp_input.c 154 to 191",
        linux_6: Estimator::Linux => "kernel: tcp_rtt_estimator",
    }
    /// Resolution of the clock that measures round trips; 0: a nanosecond.
    tick_ns: Time ["time"; crossed, "at most rto.max"] {
        ns2_1998: Time::from_millis(100) => "ns-2 (1998): tcpTick_ 0.1 (default changed in 2002)",
        rfc5681: Time::ZERO => "RFC 6298, 4: finer is better",
        linux_2_0: JIFFY => "2.0.32: HZ = 100",
        linux_2_2: JIFFY => "2.2.5: HZ = 100",
        linux_6: Time::ZERO => "kernel: microseconds",
    }
    /// Offset of the clocks of `rto.tick_ns` and `rto.timer_hz` from the run's clock.
    tick_phase_ns: Time ["time"; time] {
        ns2_1998: Time::ZERO => "ns-2 draws it at random within a tick; 0 here",
        rfc5681: Time::ZERO => "unused",
        linux_2_0: Time::ZERO => "0; it depends on when the machine was started",
        linux_2_2: Time::ZERO => "0; it depends on when the machine was started",
        linux_6: Time::ZERO => "unused",
    }
    /// Timeout before the first measurement.
    initial_ns: Time ["time"; timer] {
        ns2_1998: Time::from_secs(6) => "ns-2 (1998): rtxcur_init_ 6.0 (default changed in 2006)",
        rfc5681: Time::from_secs(1) => "RFC 6298, 2.1",
        linux_2_0: Time::from_secs(3) => "2.0.32: TCP_TIMEOUT_INIT 3 s, tcp.h 164",
        linux_2_2: Time::from_secs(3) => "2.2.5: TCP_TIMEOUT_INIT 3 s, tcp.h 286",
        linux_6: Time::from_secs(1) => "kernel: TCP_TIMEOUT_INIT 1 s",
    }
    /// Smallest timeout.
    min_ns: Time ["time"; crossed, "at most rto.max"] {
        ns2_1998: Time::ZERO => "ns-2 (1998): minrto_ 0; two ticks remain the least",
        rfc5681: Time::from_secs(1) => "RFC 6298, 2.4",
        linux_2_0: Time::from_millis(200) => "2.0.32: HZ/5, tcp_input.c 151",
        linux_2_2: Time::from_millis(200) => "2.2.5: HZ/5, tcp_input.c 208",
        linux_6: Time::from_millis(200) => "kernel: TCP_RTO_MIN 200 ms",
    }
    /// Largest timeout.
    max_ns: Time ["time"; timer] {
        ns2_1998: Time::from_secs(64) => "ns-2 (1998): maxrto_ 64 (default changed in 2007)",
        rfc5681: Time::from_secs(60) => "RFC 6298, 2.5: at least 60 s",
        linux_2_0: Time::from_secs(120) => "2.0.32: 120 s, tcp_input.c 149",
        linux_2_2: Time::from_secs(120) => "2.2.5: 120 s, tcp_input.c 206",
        linux_6: Time::from_secs(120) => "kernel: TCP_RTO_MAX 120 s",
    }
    /// Minimum of the variance term: RTO = SRTT + max(this, 4*RTTVAR) (RFC 6298, 2.3: G).
    variance_floor_ns: Time ["time"; time] {
        ns2_1998: Time::ZERO => "unused with a coarse tick",
        rfc5681: Time::ZERO => "RFC 6298, 2.3: the clock's granularity, here none",
        linux_6: Time::from_millis(200) => "kernel: rttvar is at least tcp_rto_min, so RTO is at least SRTT + 200 ms",
    }
    /// The round trips that the estimator takes as samples. `round-trip`: that of one segment per window or, with
    /// timestamps, of each ACK. `each-segment`: that of each acknowledged segment, from its last transmission; after a
    /// timeout there are no samples until everything that was outstanding at the timeout is acknowledged.
    /// `one-way-delay`: the time since the ACK's sender stamped it.
    samples: RttSamples ["round-trip | each-segment | one-way-delay"; any] {
        ns2_1998: RttSamples::RoundTrip => "ns-2: one segment a window; the agents of RFC 2415's authors (baytcp) took one-way delays",
        rfc5681: RttSamples::RoundTrip => "RFC 6298, 3: one a round trip is enough",
        linux_2_0: RttSamples::EachSegment => "2.0.32: tcp_ack, tcp_input.c 1421 to 1489",
        linux_2_2: RttSamples::RoundTrip => "2.2.5: one an ACK, by its timestamp, tcp_input.c 712",
        linux_6: RttSamples::RoundTrip => "kernel: its record gives two an ACK",
    }
    /// When the timeout starts: at the last ACK of new data, or at the last transmission of the first unacknowledged
    /// segment. With RACK, the knob `recovery.rack.timers` decides this.
    start: TimerStart ["last-ack | first-segment"; any] {
        ns2_1998: TimerStart::LastAck => "ns-2: newtimer",
        rfc5681: TimerStart::LastAck => "RFC 6298, 5.3",
        linux_2_0: TimerStart::FirstSegment => "2.0.32: send_head->when + rto, tcp_timer.c 43 to 61",
        linux_2_2: TimerStart::FirstSegment => "2.2.5: tcp_ack_packets_out, tcp_input.c 749",
        linux_6: TimerStart::LastAck => "unused: recovery.rack.timers",
    }
    /// Frequency of the clock that drives the timers (the kernel's HZ). Expiries are rounded up as in Linux's timer
    /// wheel: by at most a tick for timeouts of up to 63 ticks, and by at most an eighth of the timeout for longer
    /// ones. 0: not rounded.
    timer_hz: u32 ["ticks a second"; crossed, "0, or at most 10000 and a divisor of 1000000"] {
        ns2_1998: 0 => "unused: its tick is rto.tick_ns",
        rfc5681: 0 => "own choice: none",
        linux_6: 0 => "kernel: CONFIG_HZ, 250 or 1000 mostly; 0 here, as it differs from kernel to kernel",
    }
}
}

impl RtoConfig {
    /// Length of a tick of [`RtoConfig::timer_hz`], in ns: 1 if nothing is rounded to ticks.
    #[inline]
    pub(crate) fn timer_tick(&self) -> u64 {
        1_000_000_000_u64.checked_div(u64::from(self.timer_hz)).unwrap_or(1)
    }
}
