//! Errors in a queue's parameters.

use cwndlab_units::Time;
use thiserror::Error;

/// Why a queue's parameters are invalid. The message names the parameter and says what would be right.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum QueueError {
    /// A parameter that is below `least`, above `most`, or NaN.
    #[error("{name} is {value}; it must lie in {least}..={most}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The smallest valid value.
        least: f64,
        /// The largest valid value.
        most: f64,
    },
    /// A parameter that must be at least 1 is 0.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// The interval of a controller's updates is below 0.1 ms. Every update is simulated, so the run would take too
    /// long.
    #[error("{name} is {}; it must be at least 100000 (0.1 ms)", .value.as_nanos())]
    UpdatesTooOften {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: Time,
    },
    /// A limit of 2^32 - 1 packets or more, which exceeds the range of the packet counter.
    #[error("limit is {0} packets; it must be below 2^32 - 1, or use kind infinite")]
    TooManyPackets(u64),
    /// RED's `max_th` is not above `min_th`, or not finite.
    #[error("max_th is {max_th}; it must be above min_th, {min_th}")]
    Thresholds {
        /// The upper threshold.
        max_th: f64,
        /// The lower threshold.
        min_th: f64,
    },
    /// RED's weight is given twice, by `w_q` and by `burst`.
    #[error("both w_q and burst are given; either determines the weight")]
    WeightTwice,
    /// RED's `burst` is shorter than its lower threshold.
    #[error("burst is {burst}; it must be at least min_th, {min_packets} packets")]
    BurstTooShort {
        /// The value of `burst`, in packets.
        burst: u32,
        /// The lower threshold in packets.
        min_packets: f64,
    },
    /// `CoDel`'s interval is not above its target.
    #[error("interval_ns is {0}; it must be longer than target_ns")]
    IntervalTooShort(Time),
    /// FQ-CoDel's number of queues (`flows`) is above 65,536.
    #[error("flows is {0}; at most 65536")]
    TooManyFlows(u32),
    /// A parameter is set that only the other form of `DualPi2` uses.
    #[error("{name} has an effect only with form = \"{form}\"")]
    OtherForm {
        /// The parameter.
        name: &'static str,
        /// The form that uses it.
        form: &'static str,
    },
    /// TBF's peak rate is not above its rate.
    #[error("peak_rate_bps is {peak_bps}; it must be above rate_bps, {rate_bps}")]
    PeakRate {
        /// The peak rate.
        peak_bps: u64,
        /// The rate.
        rate_bps: u64,
    },
    /// TBF has neither a limit nor a queue, or both.
    #[error("give either limit, of a FIFO, or queue, which has a limit of its own")]
    ShapedLimit,
    /// The queue inside a TBF decides at arrival, or shapes packets itself.
    #[error("its queue must be drop-on-full, codel, fq-codel, pie, fq-pie or dualpi2")]
    ShapedKind,
    /// A kernel's queue without the words of its discipline.
    #[error("qdisc is empty; write the words of `tc qdisc add`, such as \"fq_codel limit 1000\"")]
    NoDiscipline,
    /// A class of CBQ is invalid.
    #[error("class {index}: {error}")]
    Class {
        /// The class's index.
        index: usize,
        /// The error.
        error: Box<ClassError>,
    },
    /// CBQ's `default` is not the index of a leaf class.
    #[error("default is {0}; it must be the place of a class without children")]
    DefaultClass(usize),
    /// Two classes of CBQ claim the same flow.
    #[error("flow {0} belongs to two classes")]
    FlowTwice(u64),
    /// Two classes of CBQ claim the traffic of the same name.
    #[error("traffic {0:?} belongs to two classes")]
    TrafficTwice(String),
}

/// Why a class of CBQ is invalid.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ClassError {
    /// A parameter of the class or its queue is invalid.
    #[error(transparent)]
    Parameter(#[from] QueueError),
    /// `max_burst` is not in 1..=1000 packets.
    #[error("max_burst is {0}; it must be in 1..=1000 packets")]
    Burst(u32),
    /// The class does not come after its parent.
    #[error("parent is {0}; a class stands after its parent")]
    Parent(usize),
    /// The children of the class together have a higher rate than the class.
    #[error("rate_bps is {rate_bps}; its children have {children_bps} together")]
    ChildrenTooFast {
        /// The rate of the class.
        rate_bps: u64,
        /// The sum of the children's rates.
        children_bps: u64,
    },
    /// A leaf without a queue.
    #[error("it has no children and needs a queue")]
    NoQueue,
    /// A class with children has a queue.
    #[error("it has children, so it has no queue")]
    QueueOfParent,
    /// A class with children has traffic of its own.
    #[error("it has children, so it has no flows or traffic of its own")]
    TrafficOfParent,
    /// The queue of a leaf decides at departure.
    #[error("its queue must be infinite, drop-tail, red or linux-red")]
    QueueKind,
}
