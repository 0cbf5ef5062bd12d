//! A congestion control that notes what another one does.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

use crate::adapter::observed;
use crate::sender::Shared;
use cwndlab_tcp::CongestionState;

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

observed! {
    derive()

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
}
