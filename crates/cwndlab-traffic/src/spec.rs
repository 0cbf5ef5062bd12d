//! Applications as the scenario states them.

use serde::{Deserialize, Serialize};

use crate::Side;

/// One application of the scenario.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum AppSpec {
    /// One transfer on one connection.
    Bulk(BulkSpec),
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
}

fn client() -> Side {
    Side::Client
}
