//! Computes time budgets. A budget divides the duration of an object or a connection, along its critical path, into
//! parts ([`Part`]) that add up to the duration.
//!
//! The path is followed backwards from the arrival that ended the object: from each packet to the arrival that allowed
//! its sender to send it (Barford and Crovella, "Critical path analysis of TCP transactions", SIGCOMM 2000). A packet's
//! journey consists of transmissions ([`Part::Serialization`]), waiting ([`Part::Queueing`]) and propagation.
//! Propagation counts for the part that names what limited the sender during the packet's round trip, such as
//! [`Part::SlowStart`] for cwnd in slow start. The time between an arrival at an end and the end's next transmission
//! counts for the part that names what limited the end during this time (table `limits`).
//!
//! - [`run`]: the content of the tables, for each end in order of time ([`timeline`]);
//!
//! - [`paths`]: the minimum time that a packet takes between two hosts;
//!
//! - [`walk`]: the walk back along the path, which assigns the path's time to parts in a [`book`].

mod book;
mod paths;
mod run;
#[cfg(test)]
mod tests;
mod timeline;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;

use cwndlab_engine::{Scenario, ScenarioError};
use cwndlab_units::Time;
use thiserror::Error;

use crate::cell::{Cell, Label, OneOf};
use crate::column::{Batch, Column};
use crate::table::{labels, SchemaError};
use crate::tables::ObjectKind;
use book::Book;
use run::Run;

/// Record tables by name, each in one or more batches.
pub type Tables = BTreeMap<String, Vec<Batch>>;

labels! {
    /// A part of a budget; docs/guide/explain.md describes them.
    pub enum Part {
        /// Waiting for the application at the client.
        Client = "client",
        /// Propagation of SYN and SYN-ACK.
        Handshake = "handshake",
        /// Waiting for the timeout of a SYN or a SYN-ACK.
        RtoHandshake = "rto-handshake",
        /// Propagation of data that the server waited for.
        Request = "request",
        /// Waiting for the application at the server.
        Server = "server",
        /// Propagation of round trips in which cwnd limited the sender while it was below ssthresh.
        SlowStart = "slow-start",
        /// Propagation of round trips in which cwnd limited the sender at other times.
        Cwnd = "cwnd",
        /// Propagation of round trips in which the configured maximum window limited the sender.
        MaxWindow = "max-window",
        /// Waiting for the peer's receive window, including propagation.
        ReceiveWindow = "receive-window",
        /// Waiting for the pacer, and propagation of the round trips that ended in such a wait.
        Pacing = "pacing",
        /// Waiting of a small segment for an ACK (Nagle), including propagation.
        SmallSegment = "small-segment",
        /// Propagation of round trips in which the full send buffer limited the sender.
        SendBuffer = "send-buffer",
        /// Waiting for an ACK that its sender delayed.
        DelayedAck = "delayed-ack",
        /// Propagation of the round trips that repaired a loss.
        Recovery = "recovery",
        /// Waiting for a tail loss probe.
        Probe = "probe",
        /// Waiting for RACK's reordering timer.
        Reordering = "reordering",
        /// Waiting for a retransmission timeout.
        Rto = "rto",
        /// Waiting for a retransmission timeout that follows another without progress between them.
        RtoRepeated = "rto-repeated",
        /// Transmission of the path's packets on each link.
        Serialization = "serialization",
        /// Other delay of the path's packets: queueing (also behind the flow's own packets) and jitter.
        Queueing = "queueing",
        /// Propagation of data that the client waited for.
        Delivery = "delivery",
        /// From the arrival of the last data to the end of the connection.
        Closing = "closing",
    }

    /// The subject of a budget.
    pub enum Kind {
        /// A web page.
        Page = "page",
        /// A file of a transfer.
        File = "file",
        /// A connect-request-response transaction.
        Transaction = "transaction",
        /// One object of a web page.
        Object = "object",
        /// A connection, from its opening to its end, or to the end of the run if the connection is still open then.
        Connection = "connection",
    }
}

impl From<ObjectKind> for Kind {
    fn from(kind: ObjectKind) -> Kind {
        match kind {
            ObjectKind::Page => Kind::Page,
            ObjectKind::File => Kind::File,
            ObjectKind::Transaction => Kind::Transaction,
            ObjectKind::Object => Kind::Object,
        }
    }
}

/// Nanoseconds spent in each [`Part`], in the order of its `WORDS`.
type Parts = [u64; Part::WORDS.len()];

/// The time budget of one object or connection.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TimeBudget {
    kind: Kind,
    /// The object's number within its application, or the connection's serial number.
    index: u32,
    traffic: u32,
    start: u64,
    end: u64,
    /// The time spent in each part; the times add up to `end - start`.
    parts: Parts,
}

impl TimeBudget {
    fn new(kind: Kind, index: u32, traffic: u32, book: &Book) -> TimeBudget {
        let (start, end) = (book.start() as u64, book.end() as u64); // times of tables are not negative
        TimeBudget { kind, index, traffic, start, end, parts: *book.parts() }
    }
}

/// Why budgets cannot be computed from the tables.
#[derive(Debug, Error)]
pub enum TimeBudgetError {
    /// A required table is missing.
    #[error("time budgets need the table {0:?}")]
    Missing(&'static str),
    /// A table lacks a column, or a column has the wrong type or an unknown word.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The `traffic`, `client` or `server` of a connection is not the index of a traffic entry or node of the scenario.
    #[error("table connections: connection {connection} has {column} {index}, but the scenario has {count}")]
    Foreign {
        /// The connection's serial number.
        connection: u32,
        /// The column that has the index.
        column: &'static str,
        /// The index.
        index: u32,
        /// The number of traffic entries or nodes in the scenario.
        count: usize,
    },
    /// An explicit route is broken.
    #[error(transparent)]
    Route(#[from] ScenarioError),
}

/// Computes the budgets of a run's finished objects and of its connections, in the order of the tables. If `kind` is
/// given, computes only the budgets of this kind.
///
/// Events at `until` or later are ignored, unless `until` is the end of the run. The budget of a connection that is
/// still open at `until` ends there. Datagram flows have no budgets. A row has `traffic`, `kind`, `index`, `start_ns`,
/// `end_ns` and a column of nanoseconds for each [`Part`], such as `slow-start_ns`; the parts add up to `end_ns -
/// start_ns`.
///
/// # Errors
///
/// If a table is missing or does not match the scenario.
pub fn time_budgets(
    scenario: &Scenario,
    tables: &Tables,
    kind: Option<Kind>,
    until: Time,
) -> Result<Batch, TimeBudgetError> {
    let run = Run::read(scenario, tables, until)?;
    let mut found = Vec::new();
    if kind != Some(Kind::Connection) {
        found.extend(run.objects().filter(|of| kind.is_none_or(|kind| kind == of.kind)).map(|of| run.of_object(of)));
    }
    if kind.is_none_or(|kind| kind == Kind::Connection) {
        found.extend((0..run.connections().len()).filter_map(|connection| run.of_connection(connection)));
    }
    Ok(batch(&found))
}

fn batch(budgets: &[TimeBudget]) -> Batch {
    fn column<C: Cell>(
        name: impl Into<Cow<'static, str>>,
        budgets: &[TimeBudget],
        cell: impl Fn(&TimeBudget) -> C,
    ) -> Column {
        let mut column = C::Column::default();
        for budget in budgets {
            C::push(&mut column, cell(budget));
        }
        Column { name: name.into(), is_nullable: C::NULLABLE, array: C::finish(column).into() }
    }
    let mut columns = vec![
        column("traffic", budgets, |budget| budget.traffic),
        column("kind", budgets, |budget| OneOf(budget.kind)),
        column("index", budgets, |budget| budget.index),
        column("start_ns", budgets, |budget| budget.start),
        column("end_ns", budgets, |budget| budget.end),
    ];
    let parts = Part::WORDS.iter().enumerate();
    columns.extend(parts.map(|(code, word)| column(format!("{word}_ns"), budgets, |budget| budget.parts[code])));
    Batch::new(columns)
}
