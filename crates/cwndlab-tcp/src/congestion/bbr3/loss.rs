//! The response to losses and marks. While BBR probes for bandwidth, they lower the long-term model; otherwise, they
//! lower the short-term model (draft-ietf-ccwg-bbr-06, sections 5.5.10 and 5.5.11).

use cwndlab_units::Time;

use super::sample::Sample;
use super::{scaled, Bbr3, Repair, State, NONE, STARTUP_LOSSES};
use crate::flight::LostSegment;

/// Delivery and losses in the last round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// `bw_latest` and `inflight_latest`
    pub rate: u64,
    pub inflight: u64,
    /// `loss_round_delivered`, in packets, and `loss_round_start`
    pub round_ends_at: u64,
    pub round_start: bool,
    /// `is_loss_in_round`
    pub loss: bool,
    /// Google's BBR v3 branch: `loss_in_cycle`
    pub loss_in_cycle: bool,
    /// Separate ranges lost in this round (in Google's BBR v3 branch: ACKs that reported losses), and the end of the
    /// last range.
    pub ranges: u32,
    pub range_end: u64,
}

/// State that is restored if a recovery was spurious (section 2.15).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub state: Option<State>,
    pub bw_shortterm: u64,
    pub inflight_shortterm: u64,
    pub inflight_longterm: u64,
}

impl Bbr3 {
    /// `SaveStateUponLoss`
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `SaveCwnd`
    pub(super) fn save_cwnd(&mut self) {
        let cut = self.prior_repair != Repair::None || self.state == State::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// `RestoreCwnd` at the end of recovery. Google's BBR v3 branch restores the window only after a timeout
    /// (`bbr_set_state`).
    pub(super) fn end_recovery(&mut self, repair: Repair) {
        let before = std::mem::replace(&mut self.prior_repair, repair);
        let restores = before == Repair::Loss || before == Repair::Recovery && self.is.restores_after_fast_recovery;
        if restores && repair == Repair::None {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
    }

    /// `HandleSpuriousLossDetection`. Google's BBR v3 branch does not restore the state.
    pub(super) fn handle_spurious(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.latest.loss = false;
        self.full.reset(0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let state = self.undo.state.take();
        match state.filter(|&state| state != self.state && self.is.undo_restores_state) {
            Some(State::Startup) => {
                self.full.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::ProbeRtt => self.start_refill(0),
            _ => {}
        }
    }

    /// `HandleLostPacket`. The state is saved when recovery begins (section 5.5.11.1), not at the first loss of each
    /// round (`NoteLoss`). Otherwise, the loss after the one that ends `ProbeBW_UP` would save values that have already
    /// been lowered.
    pub(super) fn handle_lost(&mut self, segment: &LostSegment, now: Time) {
        if !self.latest.loss {
            self.latest.round_ends_at = self.delivered_packets;
        }
        (self.latest.loss, self.latest.loss_in_cycle) = (true, true);
        if self.is.counts_lost_ranges {
            self.latest.ranges += u32::from(segment.start != self.latest.range_end);
            self.latest.range_end = segment.start + segment.bytes;
        }
        if !self.probe.samples {
            return;
        }
        let mut sample = Sample { now, ..Sample::of_lost(segment, self.lost) };
        if self.is_inflight_too_high(&sample) {
            sample.tx_in_flight = self.inflight_at_loss(&sample, segment.bytes);
            self.handle_inflight_too_high(&sample);
        }
    }

    /// `InflightAtLoss`: the volume in flight when losses crossed the threshold. Google's BBR v3 branch rounds the losses
    /// allowed up to whole packets, and the result down (`bbr_inflight_hi_from_lost_skb`).
    pub(super) fn inflight_at_loss(&self, sample: &Sample, bytes: u64) -> u64 {
        let inflight_before = sample.tx_in_flight.saturating_sub(bytes);
        let lost_before = sample.lost.saturating_sub(bytes) as f64;
        let (threshold, packet) = (self.is.loss_threshold, self.mss as f64);
        let allowed = threshold * inflight_before as f64;
        if self.is.counts_packets {
            let budget = ((allowed / packet).ceil() * packet - lost_before).max(0.0);
            return inflight_before + self.share(budget as u64, 1.0 / (1.0 - threshold));
        }
        let budget = (allowed - lost_before).max(0.0);
        (inflight_before as f64 + budget / (1.0 - threshold)) as u64
    }

    /// `IsInflightTooHigh`. With the knob `ecn`, also compares marks with the threshold of Google's BBR v3 branch.
    pub(super) fn is_inflight_too_high(&self, sample: &Sample) -> bool {
        let losses = sample.lost > 0 && sample.lost as f64 > sample.tx_in_flight as f64 * self.is.loss_threshold;
        losses || self.ecn.is_some_and(|ecn| ecn.is_too_high(sample.ce, sample.delivered))
    }

    /// `HandleInflightTooHigh`
    pub(super) fn handle_inflight_too_high(&mut self, sample: &Sample) {
        self.probe.too_high = true;
        self.probe.samples = false;
        if !sample.app_limited {
            self.inflight_longterm = sample.tx_in_flight.max(self.share(self.target_inflight(), self.is.beta));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(sample.now);
        }
    }

    /// `CheckStartupHighLoss` (section 5.3.1.3)
    pub(super) fn leave_startup_by_loss(&mut self, sample: &Sample) {
        if !self.is.counts_lost_ranges && sample.newly_lost > 0 {
            self.latest.ranges += 1;
        }
        if self.full.reached {
            return;
        }
        if self.latest.round_start
            && sample.repair == Repair::Recovery
            && self.latest.ranges >= STARTUP_LOSSES
            && self.is_inflight_too_high(sample)
        {
            self.undo.state = Some(State::Startup);
            self.leave_startup_by_congestion();
        }
        if self.latest.round_start {
            (self.latest.ranges, self.latest.range_end) = (0, 0);
        }
    }

    /// Ends Startup because of losses or marks. `inflight_longterm` becomes the volume delivered in the last round
    /// trip, or `Inflight(max_bw, 1)` if that is larger.
    pub(super) fn leave_startup_by_congestion(&mut self) {
        (self.full.now, self.full.reached) = (true, true);
        let product = self.inflight(self.max_bw());
        self.inflight_longterm = product.max(self.latest.inflight);
    }

    /// `UpdateLatestDeliverySignals`
    pub(super) fn update_latest(&mut self, sample: &Sample) {
        self.latest.round_start = false;
        let Some(prior) = sample.prior_delivered else { return };
        self.latest.rate = self.latest.rate.max(sample.rate);
        self.latest.inflight = self.latest.inflight.max(sample.delivered);
        if prior >= self.latest.round_ends_at {
            self.latest.round_ends_at = self.delivered_packets;
            self.latest.round_start = true;
        }
    }

    /// `AdvanceLatestDeliverySignals`
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.latest.round_start {
            (self.latest.rate, self.latest.inflight) = (sample.rate, sample.delivered);
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.in_cycle |= sample.ce > 0;
        }
    }

    /// `ResetCongestionSignals`
    pub(super) fn reset_congestion_signals(&mut self) {
        (self.latest.loss, self.latest.loss_in_cycle) = (false, false);
        (self.latest.rate, self.latest.inflight) = (0, 0);
        if let Some(ecn) = &mut self.ecn {
            (ecn.in_round, ecn.in_cycle) = (false, false);
        }
    }

    /// `UpdateCongestionSignals`
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        if sample.rate > 0 && (sample.rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[0] = self.max_bw[0].max(sample.rate);
        }
        if !self.latest.round_start {
            return;
        }
        if !self.state.accelerates() {
            self.adapt_short_term();
        }
        self.latest.loss = false;
        if let Some(ecn) = &mut self.ecn {
            ecn.in_round = false;
        }
    }

    /// `AdaptLowerBoundsFromCongestion`
    fn adapt_short_term(&mut self) {
        let mut by_marks = NONE;
        if let Some(ecn) = self.ecn.filter(|ecn| ecn.in_round) {
            self.inflight_shortterm = if self.inflight_shortterm == NONE { self.cwnd } else { self.inflight_shortterm };
            by_marks = self.share(self.inflight_shortterm, ecn.cut());
        }
        if self.latest.loss {
            if self.bw_shortterm == NONE {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm == NONE {
                self.inflight_shortterm = self.cwnd;
            }
            self.bw_shortterm = self.latest.rate.max(scaled(self.bw_shortterm, self.is.beta));
            self.inflight_shortterm = self.latest.inflight.max(self.share(self.inflight_shortterm, self.is.beta));
        }
        self.inflight_shortterm = self.inflight_shortterm.min(by_marks);
    }

    /// `ResetShortTermModel`
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (NONE, NONE);
    }
}
