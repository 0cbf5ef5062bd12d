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
    /// A Pareto distribution with a `mean`, but a shape of at most 1, for which the mean is infinite.
    #[error("shape is {0}; with a mean it must be above 1, or give `min`")]
    NoMean(f64),
    /// A Pareto distribution without `min` and `mean`, or with both.
    #[error("pareto needs either `min` or `mean`")]
    MinOrMean,
    /// An empirical distribution with lists of different lengths.
    #[error("{values} values but {counts} counts")]
    Lengths {
        /// Number of values.
        values: usize,
        /// Number of counts.
        counts: usize,
    },
    /// The sum of an empirical distribution's counts exceeds 64 bits.
    #[error("the counts' sum exceeds 64 bits")]
    TooManyCounts,
    /// A distribution by points, of which there are fewer than two, or which do not rise to 1.
    #[error(
        "points must be at least two, each with a value and a share that are not below 0 or those before it, and the last share 1"
    )]
    Points,
    /// An empirical distribution that has no counts, or only counts of 0.
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
    /// One of the scenario's shared distributions is invalid.
    #[error("{name}: {error}")]
    Shared {
        /// Its name.
        name: String,
        /// What is wrong with it.
        error: Box<DistError>,
    },
}

/// An invalid specification of an application; the message says what would be right.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum AppError {
    /// A number of connections that is 0 or too large.
    #[error("fan_out is {0}; it must be in 1..={MAX_INLINE_OBJECTS}")]
    FanOut(u32),
    /// A number of requests under way that is 0 or too large.
    #[error("depth is {0}; it must be in 1..={MAX_INLINE_OBJECTS}")]
    Depth(u32),
    /// The distribution of a field is invalid.
    #[error("{field}: {error}")]
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        error: DistError,
    },
    /// A bulk transfer with both `bytes` and `segments`.
    #[error("bulk: both `bytes` and `segments` are given; give one")]
    SizeTwice,
    /// A bulk transfer of 0 bytes or 0 segments.
    #[error("bulk: a transfer of 0 bytes; leave `bytes` and `segments` out for one without end")]
    NoBytes,
    /// A bulk transfer of more than 2^50 bytes or 2^34 segments.
    #[error(
        "bulk: the transfer is too large: at most 2^50 bytes or 2^34 segments; leave both out for a transfer without end"
    )]
    TooLarge,
    /// The `read_rate_bps` of a bulk transfer is 0.
    #[error("bulk: a reader that never reads (`read_rate_bps` 0); leave it out to read at once")]
    NeverReads,
    /// A web page with more than 10,000 in-line objects.
    #[error("web: inline_objects is {0}; a page has at most {MAX_INLINE_OBJECTS}")]
    TooManyObjects(u32),
    /// The arrival rate of short flows is not above 0, or is above 1,000,000 per second.
    #[error("short-flows: arrival_rate is {0}; it must be above 0 and at most 1000000 per second")]
    ArrivalRate(f64),
    /// A rate of datagrams or of video below 8 bit/s or above 400 Gbit/s.
    #[error("{app}: {field} is {rate_bps} bit/s; it must be at least 8 bit/s and at most 400 Gbit/s")]
    Rate {
        /// The kind of application.
        app: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        rate_bps: u64,
    },
    /// A packet size that is below `least` or above 65,535 bytes.
    #[error("{app}: packet is {bytes} bytes; an IP packet with {protocols} has {least} to 65535 bytes")]
    Packet {
        /// The kind of application.
        app: &'static str,
        /// The size.
        bytes: f64,
        /// The headers after the IP header.
        protocols: &'static str,
        /// The minimum size with these headers.
        least: u32,
    },
    /// A packet interval of a voice call below 10 µs.
    #[error("voip: interval is {0} s; it must be at least 10 us")]
    SpeechInterval(f64),
    /// Silence suppression with only one of its two fields.
    #[error("voip: silence suppression needs both `talk` and `silence`; give both or none")]
    HalfSilence,
    /// A program without a command line, or with an empty one.
    #[error("program: no command line; give `client`, `server` or both, such as client = \"iperf3 -c {{server}}\"")]
    NoProgram,
    /// A program in a simulation.
    #[error("the simulator runs no programs; run the study with --backend linux-virtual")]
    NotSimulated,
    /// A frame rate of a video that is not between 0.01 and 10,000 per second.
    #[error("video: frame_rate is {0}; it must be within 0.01 and 10000")]
    FrameRate(f64),
    /// A scale of a video's frame sizes or intervals that is not between 0 and 0.5.
    #[error("video: {field} is {scale}; it must be within 0 and 0.5")]
    Scatter {
        /// The field.
        field: &'static str,
        /// Its value.
        scale: f64,
    },
}
