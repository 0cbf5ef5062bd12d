//! Connect-request-response transactions without a pause, as netperf's `TCP_CRR` (RFC 2884, section 4.2).

use cwndlab_units::Time;

use crate::app::Setup;
use crate::dist::Dist;
use crate::error::AppError;
use crate::event::{Command, Event, ObjectKind};
use crate::series::{Plan, Series};
use crate::spec::{Clock, CrrSpec};

/// A client whose next transaction begins when the last one ends; each has a new connection.
#[derive(Clone)]
pub struct Crr(Series);

impl Crr {
    pub(crate) fn new(spec: &CrrSpec, setup: &mut Setup<'_>) -> Result<Crr, AppError> {
        let plan = Plan {
            kind: ObjectKind::Transaction,
            clock: Clock::Syn,
            ends: spec.ends,
            closes: spec.server_closes,
            limit: spec.transactions,
        };
        let pause = Dist::Fixed { value: 0.0 };
        let dists = (&spec.request_bytes, &spec.response_bytes, &pause, &spec.first_s);
        Ok(Crr(Series::new(plan, dists, setup)?))
    }
    pub(crate) fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        self.0.handle(now, event, out);
    }
}

#[cfg(test)]
mod tests;
