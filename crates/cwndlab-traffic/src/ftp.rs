//! Files, one after another, each on a connection of its own (RFC 2415, section 2: 1 MB files, continuously).

use cwndlab_units::Time;

use crate::app::Setup;
use crate::error::AppError;
use crate::event::{Command, Event, ObjectKind};
use crate::series::{Plan, Series};
use crate::spec::{FtpSpec, TransactionEnd};

/// A client that fetches file after file; a file ends with its last byte in order.
#[derive(Clone)]
pub struct Ftp(Series);

impl Ftp {
    pub(crate) fn new(spec: &FtpSpec, setup: &mut Setup<'_>) -> Result<Ftp, AppError> {
        let plan = Plan {
            kind: ObjectKind::File,
            clock: spec.clock,
            ends: TransactionEnd::Delivered,
            closes: spec.server_closes,
            limit: spec.files,
        };
        let dists = (&spec.request_bytes, &spec.file_bytes, &spec.pause_s, &spec.first_s);
        Ok(Ftp(Series::new(plan, dists, setup)?))
    }
    pub(crate) fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        self.0.handle(now, event, out);
    }
}

#[cfg(test)]
mod tests;
