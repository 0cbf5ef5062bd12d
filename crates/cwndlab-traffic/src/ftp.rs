//! Files, one after another, each on a connection of its own (RFC 2415, section 2: files of 1 MB, continuously).

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::Dist;
use crate::error::AppError;
use crate::event::{Command, Event, ObjectKind};
use crate::series::{Plan, Series};
use crate::spec::{zero, Application, Clock, ServerCloses, Setup, Spec, TransactionEnd};

/// Files, one after another, each on a connection of its own: the client sends a request, the server the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FtpSpec {
    /// Bytes of a file.
    pub file_bytes: Dist,
    /// Bytes of a request.
    #[serde(default = "eighty_bytes")]
    pub request_bytes: Dist,
    /// The event at which a file's delay starts.
    #[serde(default = "syn")]
    pub clock: Clock,
    /// Time between a file's last byte and the next connection.
    #[serde(default = "zero")]
    pub pause_s: Dist,
    /// Time from the application's start to the first connection.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// When the server closes a connection.
    #[serde(default)]
    pub server_closes: ServerCloses,
    /// Stop after this number of files.
    #[serde(default)]
    pub files: Option<u32>,
}

fn syn() -> Clock {
    Clock::Syn
}

/// The request size of ftp over ns-2's `baytcp` agents of 1998.
fn eighty_bytes() -> Dist {
    Dist::Fixed { value: 80.0 }
}

/// A client that fetches one file after another. The time of a file ends when its last byte has arrived in order.
#[derive(Clone)]
pub struct Ftp(Series);

impl Spec for FtpSpec {
    type App = Ftp;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        vec![
            ("file_bytes", &self.file_bytes),
            ("request_bytes", &self.request_bytes),
            ("pause_s", &self.pause_s),
            ("first_s", &self.first_s),
        ]
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Ftp, AppError> {
        let plan = Plan {
            kind: ObjectKind::File,
            clock: self.clock,
            ends: TransactionEnd::Delivered,
            closes: self.server_closes,
            limit: self.files,
        };
        let dists = (&self.request_bytes, &self.file_bytes, &self.pause_s, &self.first_s);
        Ok(Ftp(Series::new(plan, dists, setup)?))
    }
}

impl Application for Ftp {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        self.0.handle(now, event, out);
    }
}

#[cfg(test)]
mod tests;
