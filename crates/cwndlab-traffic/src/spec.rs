//! Applications as the scenario states them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::datagrams::{CbrSpec, OnOffSpec, PoissonSpec, VideoSpec, VoipSpec};
use crate::dist::{Dist, Sampler};
use crate::error::AppError;
use crate::event::Side;

/// The largest object, transfer or request, so that the bytes of a page's objects can be added up in 64 bits.
pub(crate) const MAX_BYTES: u64 = 1 << 50;
/// That many segments of 64 KiB are [`MAX_BYTES`].
const MAX_SEGMENTS: u64 = 1 << 34;
/// Each in-line object may have a connection of its own, all opened at the same moment.
pub(crate) const MAX_INLINE_OBJECTS: u32 = 10_000;

/// One application of the scenario.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum AppSpec {
    /// One transfer on one connection.
    Bulk(BulkSpec),
    /// Files, one after another, each on a connection of its own.
    Ftp(Box<FtpSpec>),
    /// Web pages, one after another.
    Web(Box<WebSpec>),
    /// Connect-request-response transactions without a pause (netperf's `TCP_CRR`).
    Crr(Box<CrrSpec>),
    /// Requests and responses over one persistent connection (netperf's `TCP_RR`).
    Rr(Box<RrSpec>),
    /// Transfers that arrive as a Poisson process.
    ShortFlows(Box<ShortFlowsSpec>),
    /// Datagrams of a constant bit rate.
    Cbr(Box<CbrSpec>),
    /// Bursts of datagrams.
    OnOff(Box<OnOffSpec>),
    /// Datagrams of a Poisson process.
    Poisson(Box<PoissonSpec>),
    /// A voice call, one way.
    Voip(Box<VoipSpec>),
    /// Live video, one way.
    Video(Box<VideoSpec>),
}

impl AppSpec {
    /// Whether it sends datagrams, which have no connection.
    pub fn is_unresponsive(&self) -> bool {
        matches!(self, AppSpec::Cbr(_) | AppSpec::OnOff(_) | AppSpec::Poisson(_) | AppSpec::Voip(_) | AppSpec::Video(_))
    }

    /// The fields that hold distributions, with their names.
    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        match self {
            AppSpec::Bulk(s) => s.first_s.iter().map(|d| ("first_s", &**d)).collect(),
            AppSpec::Ftp(s) => vec![
                ("file_bytes", &s.file_bytes),
                ("request_bytes", &s.request_bytes),
                ("pause_s", &s.pause_s),
                ("first_s", &s.first_s),
            ],
            AppSpec::Web(s) => {
                let mut all = vec![
                    ("object_bytes", &s.object_bytes),
                    ("request_bytes", &s.request_bytes),
                    ("think_s", &s.think_s),
                    ("first_s", &s.first_s),
                ];
                all.extend(s.inline_bytes.as_ref().map(|d| ("inline_bytes", d)));
                all
            }
            AppSpec::Crr(s) => vec![
                ("request_bytes", &s.request_bytes),
                ("response_bytes", &s.response_bytes),
                ("first_s", &s.first_s),
            ],
            AppSpec::Rr(s) => vec![
                ("request_bytes", &s.request_bytes),
                ("response_bytes", &s.response_bytes),
                ("think_s", &s.think_s),
                ("first_s", &s.first_s),
            ],
            AppSpec::ShortFlows(s) => vec![("flow_bytes", &s.flow_bytes), ("first_s", &s.first_s)],
            AppSpec::Cbr(s) => s.dists(),
            AppSpec::OnOff(s) => s.dists(),
            AppSpec::Poisson(s) => s.dists(),
            AppSpec::Voip(s) => s.dists(),
            AppSpec::Video(s) => s.dists(),
        }
    }

    /// Checks every value; `shared` are the scenario's distributions, made ready.
    ///
    /// # Errors
    /// Says which field is wrong and what would be right.
    pub fn check(&self, shared: &BTreeMap<String, Sampler>) -> Result<(), AppError> {
        match self {
            AppSpec::Bulk(s) => s.check()?,
            AppSpec::Web(s) => s.check()?,
            AppSpec::Cbr(s) => s.check()?,
            AppSpec::OnOff(s) => s.check()?,
            AppSpec::Poisson(s) => s.check()?,
            AppSpec::Voip(s) => s.check()?,
            AppSpec::Video(s) => s.check()?,
            AppSpec::ShortFlows(s) => s.check()?,
            AppSpec::Ftp(_) | AppSpec::Crr(_) | AppSpec::Rr(_) => {}
        }
        for (field, dist) in self.dists() {
            dist.of_field(field, shared)?;
        }
        Ok(())
    }
}

/// One transfer on one connection, without a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkSpec {
    /// Payload bytes; without `bytes` and `segments` the transfer has no end.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The same in full segments of the connection's MSS.
    #[serde(default)]
    pub segments: Option<u64>,
    /// The sending end.
    #[serde(default = "client")]
    pub from: Side,
    /// Bits per second at which the receiving application reads, a full segment at a time; without it, it reads at
    /// once. A reader slower than the network fills the receive buffer and closes the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate_bps: Option<u64>,
    /// Seconds from the application's start to the opening of the connection; 0 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_s: Option<Box<Dist>>,
}

impl BulkSpec {
    /// Whether the size makes sense.
    pub(crate) fn check(&self) -> Result<(), AppError> {
        if self.bytes.is_some() && self.segments.is_some() {
            return Err(AppError::SizeTwice);
        }
        if self.bytes == Some(0) || self.segments == Some(0) {
            return Err(AppError::NoBytes);
        }
        if self.bytes.is_some_and(|bytes| bytes > MAX_BYTES) || self.segments.is_some_and(|n| n > MAX_SEGMENTS) {
            return Err(AppError::TooLarge);
        }
        if self.read_rate_bps == Some(0) {
            return Err(AppError::NeverReads);
        }
        Ok(())
    }
}

/// When the clock of a page, object or file starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// When the client opens the (first) connection.
    Syn,
    /// When the client writes the (first) request: the handshake is not counted.
    Request,
}

/// When the server closes a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerCloses {
    /// Together with the response: the FIN rides on its last segment.
    #[default]
    WithResponse,
    /// When the client has the response: the FIN is a packet of its own.
    AfterResponse,
}

/// Files, one after another, each on a connection of its own: request upstream, file downstream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtpSpec {
    /// Bytes of a file.
    pub file_bytes: Dist,
    /// Bytes of a request.
    #[serde(default = "eighty_bytes")]
    pub request_bytes: Dist,
    /// Start of a file's delay.
    #[serde(default = "syn")]
    pub clock: Clock,
    /// Seconds between a file's last byte and the next connection.
    #[serde(default = "zero")]
    pub pause_s: Dist,
    /// Seconds from the application's start to the first connection.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// When the server closes a connection.
    #[serde(default)]
    pub server_closes: ServerCloses,
    /// Stop after so many files.
    #[serde(default)]
    pub files: Option<u32>,
}

/// How a page's objects share connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Protocol {
    /// A connection for each object; the in-line ones are opened at the same moment.
    #[serde(rename = "http/1.0")]
    Http10,
    /// One connection per page; its second request asks for all in-line objects.
    #[serde(rename = "http/1.1")]
    Http11,
}

/// What makes the client ask for the in-line objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InlineTrigger {
    /// The first data of the primary object.
    FirstPacket,
    /// The last byte of the primary object.
    WholePrimary,
}

/// Web pages, one after another, with time to read between.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebSpec {
    /// How objects share connections.
    pub protocol: Protocol,
    /// Bytes of an object (primary, and in-line unless `inline_bytes` is given).
    pub object_bytes: Dist,
    /// Bytes of an in-line object.
    #[serde(default)]
    pub inline_bytes: Option<Dist>,
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// In-line objects of a page.
    #[serde(default = "three")]
    pub inline_objects: u32,
    /// Seconds between a page's last byte and the next page.
    pub think_s: Dist,
    /// Seconds from the application's start to the first page.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Start of the delays of pages and objects.
    pub clock: Clock,
    /// What makes the client ask for the in-line objects.
    pub inline_trigger: InlineTrigger,
    /// Whether every object gets a record besides its page's.
    #[serde(default)]
    pub record_objects: bool,
    /// When the server closes a connection.
    #[serde(default)]
    pub server_closes: ServerCloses,
    /// Stop after so many pages.
    #[serde(default)]
    pub pages: Option<u32>,
}

impl WebSpec {
    /// Whether a page's objects can be simulated.
    pub(crate) fn check(&self) -> Result<(), AppError> {
        if self.inline_objects > MAX_INLINE_OBJECTS {
            return Err(AppError::TooManyObjects(self.inline_objects));
        }
        Ok(())
    }
}

/// When a transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionEnd {
    /// When the server's FIN has arrived, as netperf's `TCP_CRR` waits for it before it closes.
    Closed,
    /// When the response's last byte has arrived.
    Delivered,
}

/// Connect-request-response transactions without a pause: the clock of each runs from its SYN.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrrSpec {
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Bytes of a response.
    pub response_bytes: Dist,
    /// When a transaction ends, and the next begins.
    #[serde(default = "closed")]
    pub ends: TransactionEnd,
    /// Seconds from the application's start to the first transaction.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// When the server closes a connection.
    #[serde(default)]
    pub server_closes: ServerCloses,
    /// Stop after so many transactions.
    #[serde(default)]
    pub transactions: Option<u32>,
}

/// Requests and responses in turn over one connection.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RrSpec {
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Bytes of a response.
    pub response_bytes: Dist,
    /// Seconds between a response's last byte and the next request.
    #[serde(default = "zero")]
    pub think_s: Dist,
    /// Seconds from the application's start to the opening of the connection.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Stop after so many transactions.
    #[serde(default)]
    pub transactions: Option<u32>,
}

/// Transfers that begin at the times of a Poisson process, each on a connection of its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortFlowsSpec {
    /// Flows per second in the mean.
    pub arrival_rate: f64,
    /// Bytes of a flow.
    pub flow_bytes: Dist,
    /// The sending end.
    #[serde(default = "client")]
    pub from: Side,
    /// Seconds from the application's start to the beginning of the process.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Stop after so many flows.
    #[serde(default)]
    pub flows: Option<u32>,
}

impl ShortFlowsSpec {
    /// Whether the rate makes sense.
    pub(crate) fn check(&self) -> Result<(), AppError> {
        let rate = self.arrival_rate;
        if rate > 0.0 && rate <= 1e6 {
            return Ok(());
        }
        Err(AppError::ArrivalRate(rate))
    }
}

pub(crate) fn client() -> Side {
    Side::Client
}
fn syn() -> Clock {
    Clock::Syn
}
fn closed() -> TransactionEnd {
    TransactionEnd::Closed
}
pub(crate) fn zero() -> Dist {
    Dist::Fixed { value: 0.0 }
}
fn three() -> u32 {
    3
}
/// The ftp request of the 1998 agents (`baytcp`).
fn eighty_bytes() -> Dist {
    Dist::Fixed { value: 80.0 }
}
