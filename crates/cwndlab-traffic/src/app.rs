//! The list of all applications: their specifications in a scenario, and their state machines.

use std::collections::BTreeMap;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::bulk::{Bulk, BulkSpec};
use crate::crr::{Crr, CrrSpec};
use crate::datagrams::{CbrSpec, Datagrams, OnOffSpec, PoissonSpec, VideoSpec, VoipSpec};
use crate::dist::{Dist, Sampler};
use crate::ecn::EcnField;
use crate::error::AppError;
use crate::event::{Command, Event};
use crate::ftp::{Ftp, FtpSpec};
use crate::pipeline::{Pipeline, PipelineSpec};
use crate::program::{Program, ProgramSpec};
use crate::rr::{Rr, RrSpec};
use crate::short_flows::{ShortFlows, ShortFlowsSpec};
use crate::spec::{Application as _, Setup, Spec as _};
use crate::web::{Web, WebSpec};

/// Defines the enums [`App`] and [`AppSpec`]. Each row of `specs` names the row of `apps` whose application it builds;
/// the `kind` of an application in a scenario is the name of its row in `specs`, in kebab case.
macro_rules! applications {
    (
        apps {$($(#[$app_doc:meta])+ $app:ident($app_type:ty),)+}
        specs {$($(#[$doc:meta])+ $spec:ident($spec_type:ty) => $made:ident,)+}
    ) => {
        /// The state machine of one application. Only `Bulk` is stored in place, because there may be 100,000 bulk
        /// transfers; the other kinds are boxed. Call [`App::handle`] with each event, in order, and execute the
        /// commands in order.
        #[derive(Clone)]
        pub enum App {
            $($(#[$app_doc])+ $app($app_type),)+
        }

        impl App {
            /// An application that is ready for [`Event::Start`].
            ///
            /// # Errors
            ///
            /// If part of the specification is invalid; the message says which, and what would be right.
            pub fn new(spec: &AppSpec, setup: &mut Setup<'_>) -> Result<App, AppError> {
                match spec {
                    $(AppSpec::$spec(s) => Ok(App::$made(s.build(setup)?.into())),)+
                }
            }

            /// Approximate maximum memory use at any time, excluding its connections.
            pub fn memory_bytes(&self) -> u64 {
                match self {
                    $(App::$app(app) => app.memory_bytes(),)+
                }
            }

            /// Passes an event to the application. Its commands are appended to `out`.
            pub fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
                match self {
                    $(App::$app(app) => app.handle(now, event, out),)+
                }
            }
        }

        /// The specification of one application in a scenario.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
        pub enum AppSpec {
            $($(#[$doc])+ $spec($spec_type),)+
        }

        impl AppSpec {
            /// Whether the application sends datagrams instead of using TCP connections.
            pub fn is_unresponsive(&self) -> bool {
                match self {
                    $(AppSpec::$spec(s) => s.is_unresponsive(),)+
                }
            }

            /// Checks every value. `shared` contains the scenario's distributions, prepared for drawing.
            ///
            /// # Errors
            ///
            /// If a value is invalid; the error names the field and says what would be right.
            pub fn check(&self, shared: &BTreeMap<String, Sampler>) -> Result<(), AppError> {
                let (checked, dists) = match self {
                    $(AppSpec::$spec(s) => (s.check(), s.dists()),)+
                };
                checked?;
                for (field, dist) in dists {
                    dist.of_field(field, shared)?;
                }
                Ok(())
            }
        }
    };
}

applications! {
    apps {
        /// One transfer on one connection.
        Bulk(Bulk),
        /// Files, one after another.
        Ftp(Box<Ftp>),
        /// Web pages.
        Web(Box<Web>),
        /// Connect-request-response transactions.
        Crr(Box<Crr>),
        /// Requests and responses over one connection.
        Rr(Box<Rr>),
        /// Requests on one connection, several under way at once.
        Pipeline(Box<Pipeline>),
        /// Short flows.
        ShortFlows(Box<ShortFlows>),
        /// Unresponsive traffic.
        Datagrams(Box<Datagrams>),
        /// Unmodified programs, which are never simulated.
        Program(Program),
    }
    specs {
        /// One transfer on one connection.
        Bulk(BulkSpec) => Bulk,
        /// Files, one after another, each on a connection of its own.
        Ftp(Box<FtpSpec>) => Ftp,
        /// Web pages, one after another.
        Web(Box<WebSpec>) => Web,
        /// Connect-request-response transactions without a pause (netperf's `TCP_CRR`).
        Crr(Box<CrrSpec>) => Crr,
        /// Requests and responses over one persistent connection (netperf's `TCP_RR`).
        Rr(Box<RrSpec>) => Rr,
        /// Requests over one persistent connection, several of them under way at once (netperf's `TCP_RR` with a burst).
        Pipeline(Box<PipelineSpec>) => Pipeline,
        /// Transfers that arrive as a Poisson process.
        ShortFlows(Box<ShortFlowsSpec>) => ShortFlows,
        /// Datagrams at a constant bit rate.
        Cbr(Box<CbrSpec>) => Datagrams,
        /// Bursts of datagrams.
        OnOff(Box<OnOffSpec>) => Datagrams,
        /// Datagrams at the times of a Poisson process.
        Poisson(Box<PoissonSpec>) => Datagrams,
        /// One direction of a voice call.
        Voip(Box<VoipSpec>) => Datagrams,
        /// One direction of live video.
        Video(Box<VideoSpec>) => Datagrams,
        /// Unmodified programs, which run only with `--backend linux-virtual`.
        Program(Box<ProgramSpec>) => Program,
    }
}

impl AppSpec {
    /// The packet sizes and the ECN codepoint of an application that sends datagrams.
    #[must_use]
    pub fn datagrams(&self) -> Option<(&Dist, EcnField)> {
        match self {
            AppSpec::Cbr(s) => Some((&s.packet_bytes, s.ecn)),
            AppSpec::OnOff(s) => Some((&s.packet_bytes, s.ecn)),
            AppSpec::Poisson(s) => Some((&s.packet_bytes, s.ecn)),
            AppSpec::Voip(s) => Some((&s.packet_bytes, s.ecn)),
            AppSpec::Video(s) => Some((&s.packet_bytes, s.ecn)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
