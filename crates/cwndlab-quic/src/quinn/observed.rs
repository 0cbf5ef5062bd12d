//! A congestion control that notes what another one does.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use cwndlab_tcp::CongestionState;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

use crate::sender::Shared;

/// Makes observed congestion controls.
pub(super) struct Observing {
    pub(super) inner: Arc<dyn ControllerFactory + Send + Sync>,
    pub(super) sender: Shared,
}

impl ControllerFactory for Observing {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Observed::of_new(self.inner.clone().build(now, current_mtu), self.sender.clone())
    }
}

struct Observed {
    inner: Box<dyn Controller>,
    sender: Shared,
}

impl Observed {
    /// The observer of a new congestion control.
    fn of_new(inner: Box<dyn Controller>, sender: Shared) -> Box<dyn Controller> {
        let observed = Observed { inner, sender };
        observed.note();
        Box::new(observed)
    }

    fn note(&self) {
        let metrics = self.inner.metrics();
        self.sender.lock().set_window(metrics.congestion_window, metrics.ssthresh);
    }
}

impl Controller for Observed {
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
        self.sender.lock().on_ack(sent);
    }
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
        // quinn reports ECN as a congestion event without lost bytes.
        let state = if lost_bytes == 0 { CongestionState::Cwr } else { CongestionState::Recovery };
        self.sender.lock().on_congestion(now, sent, state, is_persistent);
        self.note();
    }
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
        self.sender.lock().on_sent(bytes);
    }
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.sender.lock().on_end_acks(in_flight);
        self.note();
    }
    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
        self.note();
    }
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Observed { inner: self.inner.clone_box(), sender: self.sender.clone() })
    }
    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
