//! Linux's receiver (net/ipv4 of Linux 6.12): quick acknowledgments at the start and after losses, an adaptive delay,
//! an acknowledgment after a read, and fewer acknowledgments while segments arrive out of order.
//!
//! The kernel's function is named next to each rule. Delays are in ticks of `rto.timer_hz` (jiffies); without such a
//! clock a tick is a nanosecond.

use super::arrival::{Arrival, Data, Due, Effect, NextSegment};
use crate::clock::Clock;
use crate::config::{RtoConfig, TcpConfig};
use crate::reassembly::Reassembly;
use crate::rto::RttEstimator;
use crate::segment::Flags;
use crate::segment_size::SegmentSize;
use cwndlab_units::Time;

/// `TCP_MAX_QUICKACKS`.
const MAX_QUICK: u8 = 16;
/// Number of quick ACKs after a CE mark, and after a retransmission on a path with ECN (`__tcp_ecn_check_ce`).
const QUICK_FOR_MARK: u8 = 2;
/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`.
const DELAY_MIN: Time = Time::from_millis(40);
/// `TCP_DELACK_MAX`.
const DELAY_MAX: Time = Time::from_millis(200);
/// Number of out-of-order segments whose ACKs are not delayed, because the peer counts three duplicates
/// (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u8 = 3;
/// `tcp_comp_sack_nr` and `tcp_comp_sack_delay_ns`.
const COMPRESSED_MOST: u8 = 44;
const COMPRESSED_DELAY: Time = Time::from_millis(1);

/// The state of Linux's acknowledgments (`struct inet_connection_sock`, `icsk_ack`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Linux {
    /// Quick acknowledgments left (`quick`).
    quick: u8,
    /// This end has sent data soon after it received data (within the ACK delay), so ACKs wait for the next data that
    /// it sends (`pingpong`, with a threshold of 1).
    interactive: bool,
    /// Data is waiting to be acknowledged (`ICSK_ACK_SCHED`).
    scheduled: bool,
    /// Pushed or small segments since the last ACK, counted up to two (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    pushed: u8,
    /// The delay in ticks (`ato`); 0 before the first data.
    delay: u32,
    /// Tick of the last data in order (`lrcvtime`).
    last_data: u64,
    /// Tick at which the delayed ACK is due, if one is pending (`timeout`, `ICSK_ACK_TIMER`).
    due: Option<u64>,
    /// When the timer that was last set for a delayed ACK expires. Sending the ACK does not stop this timer.
    expires: Time,
    size: SegmentSize,
    /// The position that the last ACK acknowledged (`rcv_wup`).
    acknowledged: u64,
    /// ACKs withheld since the last one was sent (`compressed_ack`), and when the segment of the last one arrived.
    compressed: u8,
    withheld_at: Time,
    /// The timer of withheld ACKs has expired: the ACK it sends has a timestamp from before (`tcp_compressed_ack_kick`
    /// does not read the clock).
    is_stale: bool,
    /// An ACK of the state before the last segment is due (`dctcp_ece_ack_update`).
    acks_before: bool,
    /// Number of ACKs of out-of-order segments that were sent at once for the current hole.
    duplicates: u8,
    /// Position of the current hole.
    hole: u64,
    /// Data has arrived with ECT (`TCP_ECN_SEEN`).
    saw_ect: bool,
}

fn ticks(rto: &RtoConfig, wait: Time) -> u64 {
    match rto.timer_hz {
        0 => wait.as_nanos(), // without a division
        _ => wait.as_nanos() / rto.timer_tick(),
    }
}

fn clock(rto: &RtoConfig, now: Time) -> u64 {
    ticks(rto, Clock::of(rto).at(now))
}

impl Linux {
    /// Initializes the state of an established connection (`tcp_finish_connect`, `tcp_create_openreq_child`,
    /// `tcp_initialize_rcv_mss`).
    pub fn on_established(&mut self, cfg: &TcpConfig, now: Time, mss: u32, window: u32) {
        self.size = SegmentSize::new(mss, window);
        self.acknowledged = 1;
        self.last_data = clock(&cfg.rto, now);
    }

    /// Payload bytes of the peer's full segments, as estimated (`rcv_mss`).
    pub fn segment_bytes(&self) -> u32 {
        self.size.full()
    }

    /// Processes a segment with data. Returns the time at which its acknowledgment is due.
    pub fn on_data(&mut self, cfg: &TcpConfig, data: &Data) -> Due {
        self.scheduled = true;
        match data.arrival {
            Arrival::InOrder(_) | Arrival::Partial(_) => return self.on_in_order(cfg, data),
            Arrival::Old => {
                self.quicken(cfg, MAX_QUICK, data.effect.window);
                return Due::Now;
            }
            Arrival::Beyond => {
                self.measure(data);
                self.note_codepoint(cfg, data.new.seg.ecn, data.effect.window);
            }
            Arrival::Filling(_) => self.note_in_order(cfg, data),
        }
        self.interactive |= data.effect.ends;
        if data.effect.window_grew {
            self.quick |= 1; // a growing window is advertised at once (`tcp_grow_window`)
        }
        let complete = match data.arrival {
            Arrival::Filling(_) => data.beyond.is_none_or(Reassembly::is_empty),
            Arrival::Beyond => data.beyond.is_some_and(Reassembly::reports_before),
            _ => false,
        };
        if complete || self.is_due(data.nxt, &data.effect) {
            Due::Now
        } else {
            self.compressed(cfg, data)
        }
    }

    /// Whether data waits to be acknowledged.
    pub fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Notes that the last segment was dropped: its answer is no acknowledgment of data, so it takes no quick one
    /// (`tcp_send_dupack`). `scheduled`: whether data waited before it.
    pub fn answers_dropped(&mut self, scheduled: bool) {
        self.scheduled = scheduled;
    }

    /// Whether ACKs are withheld.
    pub fn withholds(&self) -> bool {
        self.compressed > 0
    }

    /// Decides about the next full segment at an end at rest.
    #[inline]
    pub fn on_next(&mut self, cfg: &TcpConfig, next: &NextSegment<'_>, rtt: &RttEstimator) -> Due {
        let &NextSegment { now, seg, nxt, window, opened: (opened, tight), asks } = next;
        self.scheduled = true;
        self.size.measure_full(seg.len);
        self.note_time(cfg, now, rtt, window);
        self.note_codepoint(cfg, seg.ecn, window);
        let effect = Effect { window_tight: tight, window_holds: opened >= window, asks, ..Effect::default() };
        if self.is_due(nxt, &effect) {
            Due::Now
        } else {
            self.delayed_next(cfg, now, rtt)
        }
    }

    /// Decides about a segment in order while no data beyond a hole is stored.
    fn on_in_order(&mut self, cfg: &TcpConfig, data: &Data) -> Due {
        self.note_in_order(cfg, data);
        self.interactive |= data.effect.ends;
        if data.effect.window_grew {
            self.quick |= 1; // as above
        }
        if self.is_due(data.nxt, &data.effect) {
            Due::Now
        } else {
            self.delayed(cfg, data.now, data.rtt)
        }
    }

    /// Updates the estimated segment size, and counts pushed and small segments (`tcp_measure_rcv_mss`).
    fn measure(&mut self, data: &Data) {
        let full = self.size.measure(data.new.seg, data.new.mss);
        if !full {
            self.pushed = (self.pushed + 1).min(2);
        } else if data.new.seg.flags.has(Flags::PSH) {
            self.pushed = self.pushed.max(1);
        }
    }

    /// Updates the delay and the estimated segment size for data at the next position (`tcp_event_data_recv`).
    fn note_in_order(&mut self, cfg: &TcpConfig, data: &Data) {
        self.measure(data);
        self.note_time(cfg, data.now, data.rtt, data.effect.window);
        self.note_codepoint(cfg, data.new.seg.ecn, data.effect.window);
    }

    /// Updates the delay for data at the next position.
    #[inline]
    fn note_time(&mut self, cfg: &TcpConfig, now: Time, rtt: &RttEstimator, window: u32) {
        let now = clock(&cfg.rto, now);
        let least = ticks(&cfg.rto, DELAY_MIN) as u32;
        let gap = now - self.last_data;
        if self.delay != 0 && gap <= u64::from(least / 2) {
            self.delay = self.delay / 2 + least / 2;
        } else {
            self.note_gap(cfg, rtt, (gap, least), window);
        }
        self.last_data = now;
    }

    /// Adapts the delay to the first data, or to data after a pause of more than half the minimum delay
    /// (`tcp_event_data_recv`).
    #[inline(never)]
    fn note_gap(&mut self, cfg: &TcpConfig, rtt: &RttEstimator, (gap, least): (u64, u32), window: u32) {
        let rto = ticks(&cfg.rto, rtt.rto(&cfg.rto));
        if self.delay == 0 {
            self.add_quick(MAX_QUICK, window);
            self.delay = least;
        } else if gap < u64::from(self.delay) {
            let most = rto.min(ticks(&cfg.rto, DELAY_MAX));
            self.delay = (u64::from(self.delay / 2) + gap).min(most) as u32;
        } else if gap > rto {
            self.add_quick(MAX_QUICK, window);
        }
    }

    /// If data arrives without ECT after data with ECT, starts quick ACKs, because the data is probably a
    /// retransmission (`__tcp_ecn_check_ce`).
    #[inline]
    fn note_codepoint(&mut self, cfg: &TcpConfig, codepoint: u8, window: u32) {
        if codepoint != 0 {
            self.saw_ect = true;
        } else if self.saw_ect {
            self.quicken(cfg, QUICK_FOR_MARK, window);
        }
    }

    /// Starts quick ACKs. Called at the first CE mark since the peer's last CWR. `begins`: the marked segment is the
    /// first one with data, and in order, so `tcp_event_data_recv` has started more quick ACKs before.
    pub fn on_mark(&mut self, cfg: &TcpConfig, window: u32, begins: bool) {
        let most = if begins && self.delay == 0 { MAX_QUICK } else { QUICK_FOR_MARK };
        self.quicken(cfg, most, window);
    }

    /// Notes that before the segment that has arrived, the state is acknowledged without it.
    pub fn note_ack_before(&mut self) {
        self.acks_before = true;
    }

    /// Whether the state before the last segment is still to be acknowledged.
    pub fn acks_before(&self) -> bool {
        self.acks_before
    }

    /// Whether an ACK is due now (the first half of `__tcp_ack_snd_check`). `nxt` is the next expected position.
    #[inline]
    fn is_due(&mut self, nxt: u64, effect: &Effect) -> bool {
        let more = self.more_than_one_segment(nxt);
        if more && effect.window_tight {
            self.on_tight_window();
        }
        more && effect.window_holds || self.quick > 0 && !self.interactive || effect.asks
    }

    fn more_than_one_segment(&self, nxt: u64) -> bool {
        nxt - self.acknowledged > u64::from(self.size.full())
    }

    /// Raises `quick` to the number of full segments in half of `window`, at least two and no more than `most`
    /// (`tcp_incr_quickack`).
    fn add_quick(&mut self, most: u8, window: u32) {
        let quick = match window / (2 * self.size.full()) {
            0 => 2,
            quick => quick,
        };
        self.quick = self.quick.max(quick.min(u32::from(most)) as u8);
    }

    /// Starts quick ACKs and resets the delay (`tcp_enter_quickack_mode`).
    fn quicken(&mut self, cfg: &TcpConfig, most: u8, window: u32) {
        self.add_quick(most, window);
        self.interactive = false;
        self.delay = ticks(&cfg.rto, DELAY_MIN) as u32;
    }

    /// Delays the ACK of the next full segment at an end at rest.
    #[inline]
    fn delayed_next(&mut self, cfg: &TcpConfig, at: Time, rtt: &RttEstimator) -> Due {
        let rto = &cfg.rto;
        let delay = Time::from_nanos(u64::from(self.delay));
        if rto.timer_hz != 0 || self.due.is_some() || delay > DELAY_MIN {
            return self.delayed(cfg, at, rtt);
        }
        let delay = delay.as_nanos().min(rto.min_ns.as_nanos().max(2) - 1);
        self.due = Some(clock(rto, at) + delay);
        self.expires = cfg.expiry(at, Time::from_nanos(delay));
        Due::By(self.expires)
    }

    /// Returns the time at which a delayed ACK is due (`tcp_send_delayed_ack`).
    #[inline(never)]
    fn delayed(&mut self, cfg: &TcpConfig, at: Time, rtt: &RttEstimator) -> Due {
        let rto = &cfg.rto;
        let mut delay = u64::from(self.delay);
        let srtt = rtt.srtt(rto);
        if srtt > Time::ZERO {
            delay = delay.min(srtt.as_nanos().div_ceil(rto.timer_tick()).max(ticks(rto, DELAY_MIN)));
        }
        // tcp_delack_max: the delay stays below the peer's minimum timeout, which is assumed to equal this end's.
        delay = delay.min(ticks(rto, DELAY_MAX)).min(ticks(rto, rto.min_ns).max(2) - 1);
        let now = clock(rto, at);
        let mut due = now + delay;
        if let Some(earlier) = self.due {
            if earlier <= now + delay / 4 {
                return Due::Now;
            }
            due = due.min(earlier);
        }
        self.due = Some(due);
        self.expires = cfg.expiry_again(self.expires, at, Time::from_nanos((due - now) * rto.timer_tick()));
        Due::By(self.expires)
    }

    /// Returns the time at which the ACK of a segment at or beyond a hole is due: for the first three segments at once,
    /// then after 1 ms or a 20th of the round trip, whichever is shorter, plus the timer's slack (second half of
    /// `__tcp_ack_snd_check`). A timer that was set for an earlier delayed ACK still expires, and sends it
    /// (`tcp_delack_timer_handler`).
    fn compressed(&mut self, cfg: &TcpConfig, data: &Data) -> Due {
        if !data.new.sack || self.compressed >= COMPRESSED_MOST {
            return Due::Now;
        }
        if self.hole != data.nxt {
            (self.hole, self.duplicates) = (data.nxt, 0);
        }
        if self.duplicates < DUPLICATES_AT_ONCE {
            self.duplicates += 1;
            return Due::Now;
        }
        self.compressed += 1;
        self.withheld_at = data.now;
        if self.compressed > 1 {
            return Due::Running;
        }
        let (mut rtt, srtt) = (data.effect.round_trip, data.rtt.srtt(&cfg.rto));
        if srtt > Time::ZERO {
            rtt = rtt.min(srtt);
        }
        let due = data.now + COMPRESSED_DELAY.min(Time::from_nanos(rtt.as_nanos() / 20)) + cfg.withheld_ack_slack_ns;
        let still_runs = self.expires > data.now;
        Due::By(if still_runs { due.min(self.expires) } else { due })
    }

    /// Whether a read triggers an ACK (`__tcp_cleanup_rbuf`).
    pub fn read_is_due(&self, nxt: u64, empty: bool) -> bool {
        let pushed = self.pushed > 1 || self.pushed > 0 && !self.interactive;
        self.scheduled && (self.more_than_one_segment(nxt) || pushed && empty)
    }

    /// Ends quick ACKs, because the window is small compared with the buffer (`__tcp_select_window`).
    pub fn on_tight_window(&mut self) {
        self.quick = 0;
    }

    /// Records that a segment that acknowledges everything up to `nxt` was sent (`tcp_event_ack_sent`,
    /// `tcp_event_data_sent`). Returns the time of its timestamp.
    pub fn on_sent(&mut self, cfg: &TcpConfig, now: Time, nxt: u64, with_data: bool) -> Time {
        if with_data && self.delay != 0 && clock(&cfg.rto, now) - self.last_data < u64::from(self.delay) {
            self.interactive = true;
        }
        if self.quick > 0 {
            self.quick -= u8::from(self.scheduled);
            if self.quick == 0 {
                self.delay = ticks(&cfg.rto, DELAY_MIN) as u32;
            }
        }
        (self.scheduled, self.pushed, self.due, self.compressed, self.acks_before) = (false, 0, None, 0, false);
        self.acknowledged = nxt;
        if std::mem::take(&mut self.is_stale) {
            self.withheld_at
        } else {
            now
        }
    }

    /// Adapts the delay after the timer has expired (`tcp_delack_timer_handler`).
    pub fn on_timer(&mut self, cfg: &TcpConfig, now: Time, rtt: &RttEstimator) {
        self.is_stale = self.compressed > 0 && now != self.expires;
        if self.compressed > 0 || self.due.is_none() {
            return;
        }
        if self.interactive {
            self.interactive = false;
            self.delay = ticks(&cfg.rto, DELAY_MIN) as u32;
        } else {
            let most = ticks(&cfg.rto, rtt.rto(&cfg.rto).min(DELAY_MAX));
            self.delay = u64::from(self.delay * 2).min(most) as u32;
        }
    }

    /// Makes ACKs wait for data that this end sends, because the peer has closed (`tcp_fin`).
    pub fn on_fin(&mut self) {
        self.interactive = true;
    }

    /// Returns the time at which the ACK of the peer's FIN is due if this end has not closed: `nxt` is after the FIN, and
    /// `holds`: whether the ACK could advertise a window as large as the last one.
    pub fn fin_due(&mut self, cfg: &TcpConfig, now: Time, rtt: &RttEstimator, (nxt, holds): (u64, bool)) -> Due {
        self.scheduled = true;
        if self.more_than_one_segment(nxt) && holds {
            return Due::Now;
        }
        self.delayed(cfg, now, rtt)
    }
}

#[cfg(test)]
mod tests;
