//! The interface of an application: its specification in a scenario, the inputs from which it is built, and its state
//! machine. `app.rs` lists all applications.

use std::collections::BTreeMap;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler};
use crate::error::AppError;
use crate::event::{Command, Event, Side};

/// The specification of one kind of application in a scenario.
pub(crate) trait Spec {
    /// The application that this specification describes.
    type App: Application;

    /// The fields that hold distributions, with their names. [`crate::AppSpec::check`] checks them.
    fn dists(&self) -> Vec<(&'static str, &Dist)>;

    /// Checks everything except the validity of the distributions that [`Spec::dists`] returns.
    fn check(&self) -> Result<(), AppError> {
        Ok(())
    }

    /// The application, ready for [`Event::Start`].
    fn build(&self, setup: &mut Setup<'_>) -> Result<Self::App, AppError>;

    /// Whether the application sends datagrams instead of using TCP connections.
    fn is_unresponsive(&self) -> bool {
        Self::App::IS_UNRESPONSIVE
    }
}

/// The state machine of an application.
pub(crate) trait Application {
    /// Whether the application sends datagrams instead of using TCP connections.
    const IS_UNRESPONSIVE: bool = false;

    /// Handles an event, and appends the application's commands to `out`.
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>);

    /// Approximate maximum memory use at any time, excluding its connections.
    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// The inputs from which an application is built.
pub struct Setup<'a> {
    /// Index of the client's TCP group.
    pub tcp_client: u16,
    /// Index of the server's TCP group.
    pub tcp_server: u16,
    /// Payload bytes of a full segment (the smaller of both groups' values).
    pub mss: u32,
    /// Whether the connections are those of a QUIC stack. An application of datagrams then opens one.
    pub over_quic: bool,
    /// Bytes of the IP header, which the sizes of datagrams include.
    pub ip_header_bytes: u32,
    /// The scenario's shared distributions (`Distributions::samplers`).
    pub shared: &'a BTreeMap<String, Sampler>,
    /// Returns the random stream for a purpose. Seed, replicate, name of the traffic entry and purpose determine the
    /// stream.
    pub stream: &'a mut dyn FnMut(&str) -> Rng,
}

/// The event at which the measured time of a page, object or file starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// When the client opens the (first) connection.
    Syn,
    /// When the client writes the (first) request, so that the handshake is not counted.
    Request,
}

/// When the server closes a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ServerCloses {
    /// Together with the response, whose last segment carries the FIN.
    #[default]
    WithResponse,
    /// When the client has received the response, so that the FIN is a packet of its own.
    AfterResponse,
}

/// How a page's objects share connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Protocol {
    /// A connection for each object; the connections of in-line objects are opened at the same time.
    #[serde(rename = "http/1.0")]
    Http10,
    /// One connection per page; the second request on it asks for all in-line objects.
    #[serde(rename = "http/1.1")]
    Http11,
    /// One connection per page, of a QUIC stack, and a stream for each object.
    #[serde(rename = "http/3")]
    Http3,
}

/// The event that makes the client request the in-line objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InlineTrigger {
    /// The first data of the primary object.
    FirstPacket,
    /// The last byte of the primary object.
    WholePrimary,
}

/// When a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TransactionEnd {
    /// When the server's FIN has arrived. The client of netperf's `TCP_CRR` waits for this FIN before it closes.
    Closed,
    /// When the response's last byte has arrived.
    Delivered,
}

pub(crate) fn client() -> Side {
    Side::Client
}
pub(crate) fn zero() -> Dist {
    Dist::Fixed { value: 0.0 }
}
