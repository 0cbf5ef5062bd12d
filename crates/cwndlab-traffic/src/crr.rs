//! Connect-request-response transactions without a pause, like those of netperf's `TCP_CRR` (RFC 2884, section 4.2).

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::Dist;
use crate::error::AppError;
use crate::event::{Command, Event, ObjectKind};
use crate::series::{Plan, Series};
use crate::spec::{zero, Application, Clock, ServerCloses, Setup, Spec, TransactionEnd};

/// Connect-request-response transactions without a pause. The time of a transaction starts with its SYN.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CrrSpec {
    /// Bytes of a request.
    pub request_bytes: Dist,
    /// Bytes of a response.
    pub response_bytes: Dist,
    /// When a transaction ends. The next one then begins.
    #[serde(default = "closed")]
    pub ends: TransactionEnd,
    /// Time from the application's start to the first transaction.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// When the server closes a connection.
    #[serde(default)]
    pub server_closes: ServerCloses,
    /// Stop after this number of transactions.
    #[serde(default)]
    pub transactions: Option<u32>,
}

fn closed() -> TransactionEnd {
    TransactionEnd::Closed
}

/// A client that makes one transaction after another, without a pause, each on a new connection.
#[derive(Clone)]
pub struct Crr(Series);

impl Spec for CrrSpec {
    type App = Crr;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        vec![
            ("request_bytes", &self.request_bytes),
            ("response_bytes", &self.response_bytes),
            ("first_s", &self.first_s),
        ]
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Crr, AppError> {
        let plan = Plan {
            kind: ObjectKind::Transaction,
            clock: Clock::Syn,
            ends: self.ends,
            closes: self.server_closes,
            limit: self.transactions,
        };
        let pause = Dist::Fixed { value: 0.0 };
        let dists = (&self.request_bytes, &self.response_bytes, &pause, &self.first_s);
        Ok(Crr(Series::new(plan, dists, setup)?))
    }
}

impl Application for Crr {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        self.0.handle(now, event, out);
    }
}

#[cfg(test)]
mod tests;
