//! Short flows: transfers that arrive as a Poisson process, each on a connection of its own.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler};
use crate::error::AppError;
use crate::event::Losses;
use crate::event::{Command, Event, ObjectKind, ObjectRecord, Side};
use crate::exchange::conn_of;
use crate::slots::Slots;
use crate::spec::{client, zero, Application, Setup, Spec};

/// Transfers that begin at the times of a Poisson process, each on a connection of its own.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShortFlowsSpec {
    /// Mean number of flows per second.
    pub arrival_rate: f64,
    /// Bytes of a flow.
    pub flow_bytes: Dist,
    /// The sending end.
    #[serde(default = "client")]
    pub from: Side,
    /// Time from the application's start to the beginning of the process.
    #[serde(default = "zero")]
    pub first_s: Dist,
    /// Stop after this number of flows.
    #[serde(default)]
    pub flows: Option<u32>,
}

/// A source of transfers that start independently of earlier ones. The time of a transfer runs from its SYN until its
/// last byte has arrived in order.
#[derive(Clone)]
pub struct ShortFlows {
    tcp_client: u16,
    tcp_server: u16,
    from: Side,
    mean_gap_s: f64,
    limit: Option<u32>,
    bytes: (Sampler, Rng),
    gaps: Rng,
    first: (Sampler, Rng),
    slots: Slots<Flow>,
    next: u32,
}

/// A transfer in progress.
#[derive(Clone, Copy)]
struct Flow {
    index: u32,
    start: Time,
    bytes: u64,
    recorded: bool,
}

impl Spec for ShortFlowsSpec {
    type App = ShortFlows;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        vec![("flow_bytes", &self.flow_bytes), ("first_s", &self.first_s)]
    }

    fn check(&self) -> Result<(), AppError> {
        let rate = self.arrival_rate;
        if rate > 0.0 && rate <= 1e6 {
            return Ok(());
        }
        Err(AppError::ArrivalRate(rate))
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<ShortFlows, AppError> {
        self.check()?;
        let bytes = self.flow_bytes.of_field("flow_bytes", setup.shared)?;
        let first = self.first_s.of_field("first_s", setup.shared)?;
        Ok(ShortFlows {
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            from: self.from,
            mean_gap_s: self.arrival_rate.recip(),
            limit: self.flows,
            bytes: (bytes, (setup.stream)("sizes")),
            gaps: (setup.stream)("gaps"),
            first: (first, (setup.stream)("pauses")),
            slots: Slots::new(),
            next: 0,
        })
    }
}

impl Application for ShortFlows {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            // The first flow, too, arrives after an exponentially distributed time.
            Event::Start => {
                let first = self.first.0.draw_time(&mut self.first.1);
                self.wait(now + first, out);
            }
            Event::Timer => self.arrive(now, out),
            Event::End => {
                for flow in self.slots.values() {
                    record(flow, Time::MAX, Losses::default(), out);
                }
            }
            _ => self.connection_event(now, event, out),
        }
    }
}

impl ShortFlows {
    fn wait(&mut self, now: Time, out: &mut Vec<Command>) {
        if self.limit.is_none_or(|limit| self.next < limit) {
            let gap = Time::from_secs_f64(Sampler::exponential(self.mean_gap_s, &mut self.gaps));
            out.push(Command::Timer { at: now + gap });
        }
    }

    fn arrive(&mut self, now: Time, out: &mut Vec<Command>) {
        let bytes = self.bytes.0.draw_bytes(&mut self.bytes.1);
        let conn = self.slots.insert(Flow { index: self.next, start: now, bytes, recorded: false });
        self.next += 1;
        out.push(Command::Connect { conn, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
        self.wait(now, out);
    }

    fn connection_event(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        let from = self.from;
        let Some(conn) = conn_of(event) else { return };
        let Some(flow) = self.slots.get_mut(conn) else { return };
        match event {
            Event::Established { side, .. } if side == from => {
                out.push(Command::Write { conn, side, bytes: flow.bytes });
                out.push(Command::Close { conn, side });
                out.push(Command::NotifyAt { conn, side: side.other(), total: flow.bytes });
            }
            Event::Delivered { losses, .. } => record(flow, now, losses, out),
            Event::PeerClosed { side, .. } if side != from => out.push(Command::Close { conn, side }),
            Event::Finished { losses, .. } => {
                record(flow, Time::MAX, losses, out);
                self.slots.remove(conn);
            }
            _ => {}
        }
    }
}

/// Records a flow, unless it has been recorded.
fn record(flow: &mut Flow, end: Time, losses: Losses, out: &mut Vec<Command>) {
    if std::mem::replace(&mut flow.recorded, true) {
        return;
    }
    let record = ObjectRecord::of_one_connection(ObjectKind::File, flow.index, flow.start, end, flow.bytes, losses);
    out.push(Command::Record(record));
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Time;

    use crate::testing::{app, Network};

    fn run(json: &str, until: u64) -> Network {
        Network::new(app(json, 3).unwrap(), Time::from_millis(40)).run(Time::from_secs(until))
    }

    #[test]
    fn flows_arrive_at_their_rate_whatever_became_of_those_before() {
        let json = r#"{"kind": "short-flows", "arrival_rate": 50, "flow_bytes": {"kind": "pareto", "shape": 1.5, "mean": 30000}}"#;
        let net = run(json, 400);
        let count = net.connects.len() as f64;
        assert!((count / 20_000.0 - 1.0).abs() < 0.03, "{count}"); // four standard errors
        let gaps: Vec<f64> = net.connects.windows(2).map(|p| (p[1].0 - p[0].0).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((variance / (mean * mean) - 1.0).abs() < 0.1, "{variance}");
        // a handshake and half a round trip for the data, on a network without rate limits
        let done: Vec<_> = net.records.iter().filter(|record| !record.end.is_never()).collect();
        assert!(done.iter().all(|record| record.end - record.start == Time::from_millis(60)));
        // each flow is recorded once; those in progress at the end are recorded as unfinished
        assert_eq!(net.records.len(), net.connects.len());
        assert!(net.records.len() - done.len() < 12);
    }

    #[test]
    fn their_number_may_be_limited_and_a_broken_one_is_unfinished() {
        let json = r#"{"kind": "short-flows", "arrival_rate": 10, "flow_bytes": {"kind": "fixed", "value": 9}, "flows": 5, "from": "server"}"#;
        let mut net = Network::new(app(json, 3).unwrap(), Time::from_millis(40));
        net.broken = [2].into();
        let net = net.run(Time::from_secs(60));
        let mut finished: Vec<_> = net.records.iter().map(|r| (r.index, !r.end.is_never(), r.bytes)).collect();
        finished.sort_unstable();
        assert_eq!(finished, [(0, true, 9), (1, false, 9), (2, true, 9), (3, true, 9), (4, true, 9)]);
    }

    #[test]
    fn a_rate_of_no_arrivals_is_rejected() {
        let json = r#"{"kind": "short-flows", "arrival_rate": 0, "flow_bytes": {"kind": "fixed", "value": 9}}"#;
        let error = app(json, 1).err().unwrap();
        assert_eq!(error, "short-flows: arrival_rate is 0; it must be above 0 and at most 1000000 per second");
    }
}
