//! What acknowledgment policies and receive buffers use about an arriving segment, and what a policy decides.

use cwndlab_units::Time;

use crate::reassembly::Reassembly;
use crate::rto::RttEstimator;
use crate::segment::Header;

/// The position of an arriving segment with data. By RFC 5681, section 4.2, all but [`Arrival::InOrder`] are
/// acknowledged at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// The next segment, with this many payload bytes; no data beyond it has arrived.
    InOrder(u32),
    /// A segment of this many bytes that reaches beyond the next position, but whose beginning had arrived before.
    Partial(u32),
    /// A segment of this many bytes at the next position, while data beyond a hole has arrived.
    Filling(u32),
    /// A segment beyond a hole.
    Beyond,
    /// A segment without new data.
    Old,
}

/// When the acknowledgment is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// Now.
    Now,
    /// By this time at the latest. If a timer that expires earlier is running, it is kept.
    By(Time),
    /// When the running timer expires.
    Running,
}

/// An arriving segment with payload `[start, end)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving<'a> {
    pub start: u64,
    pub end: u64,
    pub seg: &'a Header,
    /// Whether SACK was agreed on.
    pub sack: bool,
    /// Whether timestamps were agreed on.
    pub timestamps: bool,
    /// The largest payload of the peer's segments.
    pub mss: u32,
}

/// The information that an ACK policy uses about an arriving segment with data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    pub now: Time,
    /// Payload bytes of a full segment that this end sends.
    pub mss: u32,
    pub arrival: Arrival,
    pub new: &'a Arriving<'a>,
    /// The next expected position, after this segment.
    pub nxt: u64,
    pub beyond: Option<&'a Reassembly>,
    pub effect: Effect,
    /// The RTT estimator of the data that this end sends.
    pub rtt: &'a RttEstimator,
}

/// What Linux's policy and buffer use about the next full segment at an end at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextSegment<'a> {
    pub now: Time,
    pub seg: &'a Header,
    /// The next expected position, after this segment.
    pub nxt: u64,
    /// The window advertised last.
    pub window: u32,
    /// The window that would be advertised now, and whether less than half of the largest possible window is free.
    pub opened: (u32, bool),
    /// Whether the segment's ECN field or CWR flag asks for an acknowledgment at once.
    pub asks: bool,
}

/// The effect of a segment on the receive window, for policies that depend on the window.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Effect {
    /// The window advertised last.
    pub window: u32,
    /// Whether the window that would be advertised now is at least as large as `window`.
    pub window_holds: bool,
    /// Whether less than half of the largest possible window is free.
    pub window_tight: bool,
    /// Whether the segment increased the window that may be advertised.
    pub window_grew: bool,
    /// Whether the segment's ECN field or CWR flag asks for an acknowledgment at once (`ICSK_ACK_NOW`).
    pub asks: bool,
    /// Whether the peer's FIN follows the segment in order: its ACK waits for this end's, unless it must not wait.
    pub ends: bool,
    /// Round trip as measured by the receiver: zero before the first measurement. A receiver whose buffer has a fixed
    /// size does not measure it, and gives [`Time::MAX`].
    pub round_trip: Time,
}
