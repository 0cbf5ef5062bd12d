//! The minimum time that packets take between two hosts of a scenario: propagation, and transmission on each link.

use std::collections::BTreeMap;

use cwndlab_engine::{Routes, Scenario, ScenarioError};
use cwndlab_tcp::TIMESTAMPS_BYTES;

/// The properties of a sender's path that determine the minimum time of its packets. For a link whose rate varies,
/// `rate_bps` is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    propagation: i64,
    /// Time to transmit the links' own headers, summed over the links.
    fixed_ns: f64,
    ns_per_byte: f64,
    /// Header bytes of a packet with payload. `ack_bytes` are those of a packet without payload.
    header_bytes: u32,
    ack_bytes: u32,
}

impl Way {
    /// The propagation time and the transmission time of a packet, in nanoseconds.
    pub(super) fn least(&self, payload: u32) -> (i64, i64) {
        let header = if payload == 0 { self.ack_bytes } else { self.header_bytes };
        let size = f64::from(payload) + f64::from(header);
        (self.propagation, (self.fixed_ns + size * self.ns_per_byte) as i64)
    }
}

/// The paths of a scenario, each computed once.
pub(super) struct Paths<'a> {
    scenario: &'a Scenario,
    routes: Routes,
    /// Paths by their first and last node, without the header sizes, which depend on the endpoint.
    found: BTreeMap<(u32, u32), Way>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Paths<'a> {
        Paths { scenario, routes: Routes::new(scenario), found: BTreeMap::new() }
    }

    /// The path between two nodes for the packets of an endpoint with this configuration. If no path exists, all its
    /// times are 0.
    pub(super) fn way(&mut self, from: u32, to: u32, tcp: u16) -> Result<Way, ScenarioError> {
        let way = match self.found.get(&(from, to)) {
            Some(&way) => way,
            None => self.find(from, to)?,
        };
        let config = &self.scenario.tcp[usize::from(tcp)];
        let options = if config.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let (header_bytes, ack_bytes) = (config.header_bytes + options, config.ack_bytes + options);
        Ok(Way { header_bytes, ack_bytes, ..way })
    }

    fn find(&mut self, from: u32, to: u32) -> Result<Way, ScenarioError> {
        let paths = self.routes.between(self.scenario, from, to)?;
        let ways = paths.iter().map(|path| {
            let mut way = Way::default();
            for &hop in path {
                let link = &self.scenario.links[hop as usize];
                let ns_per_byte = 8e9 / link.rate_bps.as_bps() as f64;
                way.propagation += nanoseconds(link.delay_ns.as_nanos());
                way.fixed_ns += f64::from(link.header_bytes) * ns_per_byte;
                way.ns_per_byte += ns_per_byte;
            }
            way
        });
        // Which of several paths a connection takes is not recorded: nothing is faster than the shortest.
        let way = ways.min_by_key(|way| (way.propagation, way.least(1448).1)).unwrap_or_default();
        self.found.insert((from, to), way);
        Ok(way)
    }
}

/// Converts nanoseconds, and limits them so that sums do not overflow: a table that this crate did not write may hold
/// any value.
pub(super) fn nanoseconds(value: u64) -> i64 {
    const LARGEST: u64 = 1 << 60;
    value.min(LARGEST) as i64
}
