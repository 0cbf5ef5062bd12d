//! The list of all tables.

use super::{
    AccEcnCounters, ConnectionSnapshots, Connections, Delays, Failures, Limits, LinkSnapshots, Links, ObjectSnapshots,
    Objects, Queues, Segments, States, Timeouts, Windows,
};
use crate::table::{Table as _, TableDoc};

/// Every table, in the order of the documentation.
pub const TABLES: [TableDoc; 15] = [
    Segments::DOC,
    Connections::DOC,
    Objects::DOC,
    Links::DOC,
    Queues::DOC,
    Windows::DOC,
    ConnectionSnapshots::DOC,
    ObjectSnapshots::DOC,
    LinkSnapshots::DOC,
    Limits::DOC,
    States::DOC,
    Timeouts::DOC,
    Delays::DOC,
    AccEcnCounters::DOC,
    Failures::DOC,
];
