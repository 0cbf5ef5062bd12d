//! Notes the probe timeouts of a stack. Neither stack has a counter of them, but both report each one through `tracing`,
//! with the same message. [`heard`] listens to the events of one call, so they belong to one end.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::LazyLock;

use tracing_core::dispatcher::with_default;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Interest, LevelFilter, Metadata, Subscriber};

/// The message of a probe timeout in quinn-proto 0.11.19 and noq-proto 1.4.0 (`on_loss_detection_timeout`).
const MESSAGE: &str = "PTO fired";

static LISTENER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Listener));

thread_local! {
    static FIRED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Calls `handle_timeout`. Returns, for each probe timeout that the stack reported meanwhile, the number of them since the
/// last progress, including this one.
pub(crate) fn heard(handle_timeout: impl FnOnce()) -> Vec<u32> {
    with_default(&LISTENER, handle_timeout);
    FIRED.take()
}

/// Receives the events that may be probe timeouts. All others stay off.
struct Listener;

impl Listener {
    fn hears(metadata: &Metadata<'_>) -> bool {
        let fields = metadata.fields();
        metadata.is_event() && fields.field("count").is_some() && fields.field("in_flight").is_some()
    }
}

impl Subscriber for Listener {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Listener::hears(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        Listener::hears(metadata)
    }
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }
    fn event(&self, event: &Event<'_>) {
        let mut message = Message::default();
        event.record(&mut message);
        if message.is_probe {
            FIRED.with_borrow_mut(|fired| fired.push(message.before + 1));
        }
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1) // spans stay off
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The fields of an event.
#[derive(Default)]
struct Message {
    /// Whether its message is that of a probe timeout.
    is_probe: bool,
    /// Probe timeouts since the last progress, not including this one.
    before: u32,
}

impl Visit for Message {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "count" {
            self.before = value as u32;
        }
    }
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.is_probe |= field.name() == "message" && format!("{value:?}") == MESSAGE;
    }
}
