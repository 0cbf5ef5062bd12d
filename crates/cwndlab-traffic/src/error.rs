//! Errors in the specifications of distributions and applications.

use thiserror::Error;

/// The maximum number of in-line objects of a page: each may have a connection of its own, and all of these are opened
/// at the same time.
pub(crate) const MAX_INLINE_OBJECTS: u32 = 10_000;

/// An invalid distribution; the message says what would be right.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum DistError {
    /// A parameter that is negative or not finite.
    #[error("{name} is {value}; it must be a finite number not below 0")]
    Negative {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A parameter that is not positive or not finite.
    #[error("{name} is {value}; it must be a finite number above 0")]
    NotPositive {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The ends of a uniform distribution are in the wrong order.
    #[error("low {low} is above high {high}")]
    Order {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// A Pareto distribution of this shape has no mean.
    #[error("shape is {0}; with a mean it must be above 1, or give `min`")]
    NoMean(f64),
    /// A Pareto distribution without `min` and `mean`, or with both.
    #[error("pareto needs either `min` or `mean`")]
    MinOrMean,
    /// An empirical distribution with lists of different lengths.
    #[error("{values} values but {counts} counts")]
    Lengths {
        /// How many values.
        values: usize,
        /// How many counts.
        counts: usize,
    },
    /// An empirical distribution with too many observations.
    #[error("the counts' sum exceeds 64 bits")]
    TooManyCounts,
    /// An empirical distribution without observations.
    #[error("empirical distribution without a single count; at least one must be above 0")]
    NoCounts,
    /// No shared distribution has this name.
    #[error("no distribution is named {name:?}; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names of all shared distributions.
        known: Vec<String>,
    },
    /// One of the scenario's shared distributions is wrong.
    #[error("{name}: {error}")]
    Shared {
        /// Its name.
        name: String,
        /// What is wrong with it.
        error: Box<DistError>,
    },
}

/// An application that cannot run; the message says what would be right.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum AppError {
    /// A field's distribution.
    #[error("{field}: {error}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        error: DistError,
    },
    /// A transfer with two sizes.
    #[error("bulk: both `bytes` and `segments` are given; give one")]
    SizeTwice,
    /// A transfer of nothing.
    #[error("bulk: a transfer of 0 bytes; leave `bytes` and `segments` out for one without end")]
    NoBytes,
    /// A transfer whose bytes do not fit.
    #[error(
        "bulk: the transfer is too large: at most 2^50 bytes or 2^34 segments; leave both out for a transfer without end"
    )]
    TooLarge,
    /// A reader of rate 0.
    #[error("bulk: a reader that never reads (`read_rate_bps` 0); leave it out to read at once")]
    NeverReads,
    /// A page of too many objects.
    #[error("web: inline_objects is {0}; a page has at most {MAX_INLINE_OBJECTS}")]
    TooManyObjects(u32),
    /// A Poisson process without a rate, or with too high a one.
    #[error("short-flows: arrival_rate is {0}; it must be above 0 and at most 1000000 per second")]
    ArrivalRate(f64),
    /// A rate at which no datagrams can be sent.
    #[error("{app}: {field} is {rate_bps} bit/s; it must be at least 8 bit/s and at most 400 Gbit/s")]
    Rate {
        /// The kind of application.
        app: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        rate_bps: u64,
    },
    /// A size that no packet has.
    #[error("{app}: packet is {bytes} bytes; an IP packet with {protocols} has {least} to 65535 bytes")]
    Packet {
        /// The kind of application.
        app: &'static str,
        /// The size.
        bytes: f64,
        /// The headers after the IP header.
        protocols: &'static str,
        /// The least size with these headers.
        least: u32,
    },
    /// A packet interval that is too short for any speech.
    #[error("voip: interval is {0} s; it must be at least 10 us")]
    SpeechInterval(f64),
    /// Silence suppression with only one of its two fields.
    #[error("voip: silence suppression needs both `talk` and `silence`; give both or none")]
    HalfSilence,
    /// A frame rate outside its range.
    #[error("video: frame_rate is {0}; it must be within 0.01 and 10000")]
    FrameRate(f64),
    /// A scale of the video's scatter outside its range.
    #[error("video: {field} is {scale}; it must be within 0 and 0.5")]
    Scatter {
        /// The field.
        field: &'static str,
        /// Its value.
        scale: f64,
    },
}
