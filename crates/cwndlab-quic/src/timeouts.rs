//! Counts the probe timeouts of a stack. Neither stack has a counter of them, but both report each one through `tracing`,
//! with the same message. [`counted`] listens to the events of one call, so the count belongs to one end.

use std::cell::Cell;
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
    static FIRED: Cell<u32> = const { Cell::new(0) };
}

/// Calls `handle_timeout`. Returns how many probe timeouts the stack reported meanwhile.
pub(crate) fn counted(handle_timeout: impl FnOnce()) -> u32 {
    FIRED.set(0);
    with_default(&LISTENER, handle_timeout);
    FIRED.get()
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
        event.record(&mut Message);
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1) // spans stay off
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Counts an event with the message of a probe timeout.
struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" && format!("{value:?}") == MESSAGE {
            FIRED.set(FIRED.get() + 1);
        }
    }
}
