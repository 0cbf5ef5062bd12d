//! Parameters of CAKE.

use cwndlab_units::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::queue::config::within;
use crate::queue::QueueError;

/// What CAKE isolates from each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Nothing: all packets of a tin are one flow.
    Flowblind,
    /// Sources.
    Srchost,
    /// Destinations.
    Dsthost,
    /// Pairs of source and destination.
    Hosts,
    /// Flows, whatever their hosts.
    Flows,
    /// Flows, and their sources first.
    DualSrchost,
    /// Flows, and their destinations first.
    DualDsthost,
    /// Flows, and both their sources and destinations first.
    #[default]
    TripleIsolate,
}

impl Isolation {
    const SOURCE: u8 = 1;
    const DESTINATION: u8 = 2;
    const FLOWS: u8 = 4;

    /// The bits of `CAKE_FLOW_*`.
    fn bits(self) -> u8 {
        match self {
            Isolation::Flowblind => 0,
            Isolation::Srchost => 1,
            Isolation::Dsthost => 2,
            Isolation::Hosts => 3,
            Isolation::Flows => 4,
            Isolation::DualSrchost => 5,
            Isolation::DualDsthost => 6,
            Isolation::TripleIsolate => 7,
        }
    }
    pub(super) fn flows(self) -> bool {
        self.bits() & Self::FLOWS != 0
    }
    pub(super) fn by_source(self) -> bool {
        self.bits() & Self::SOURCE != 0
    }
    pub(super) fn by_destination(self) -> bool {
        self.bits() & Self::DESTINATION != 0
    }
    /// `cake_dsrc`: whether flows of one source share.
    pub(super) fn shares_source(self) -> bool {
        self.flows() && self.by_source()
    }
    /// `cake_ddst`.
    pub(super) fn shares_destination(self) -> bool {
        self.flows() && self.by_destination()
    }
}

/// The tins to which packets are assigned by their DSCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tins {
    /// One tin.
    Besteffort,
    /// Eight, by the upper three bits.
    Precedence,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight, from background to network control.
    Diffserv8,
}

/// The framing of the link behind the shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// None.
    #[default]
    None,
    /// ATM: cells of 53 bytes for 48 bytes of payload.
    Atm,
    /// PTM of VDSL2: a byte for each 64 bytes or part thereof.
    Ptm,
}

/// Whether redundant ACKs are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// No.
    #[default]
    Off,
    /// Those that leave at least two behind.
    On,
    /// Those that leave one behind, too.
    Aggressive,
}

/// Traffic with a codepoint of its own.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Codepoint {
    /// The DSCP, from 0 to 63: 46 is EF, 8 is CS1.
    pub dscp: u8,
    /// Names of the traffic whose packets carry it, in both directions. In the simulator only.
    pub traffic: Vec<String>,
    /// For each name in `traffic`, the ID that its packets carry ([`crate::Packet::traffic`]). Set by
    /// [`crate::queue::QueueConfig::number_traffic`].
    #[serde(skip)]
    pub numbers: Vec<u8>,
}

/// The hosts of a route: where packets that are on it come from and go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteHosts {
    /// The route's position; that of the next route is higher ([`crate::Packet::route_position`]).
    pub start: u32,
    /// The source.
    pub source: u32,
    /// The destination.
    pub destination: u32,
}

/// Parameters of [`super::Cake`]; the defaults are those of `tc`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CakeConfig {
    /// Rate of the shaper, in bit/s (`bandwidth`); without it, packets leave as fast as the link takes them.
    pub rate_bps: Option<Rate>,
    /// The round trip for which the AQM is set: COBALT's interval. Its target is a twentieth.
    pub rtt_ns: Time,
    /// What is isolated.
    pub isolation: Isolation,
    /// The tins. Traffic gets into them by `codepoints`.
    pub tins: Tins,
    /// Traffic whose packets carry a codepoint other than 0.
    pub codepoints: Vec<Codepoint>,
    /// Whether redundant ACKs are dropped.
    pub ack_filter: AckFilter,
    /// Bytes that the shaper adds to each packet.
    pub overhead: i16,
    /// The least size that the shaper counts for a packet.
    pub mpu: u16,
    /// The framing that the shaper counts.
    pub framing: Framing,
    /// Whether the shaper counts dropped packets, too, as behind the bottleneck.
    pub ingress: bool,
    /// The largest packet (the MTU with its header), in bytes.
    pub mtu: u32,
    /// Memory for packets in bytes, as Linux counts it; if left out, a quarter of `rtt` at four times the rate, at least
    /// 4 MiB.
    pub memory_bytes: Option<u32>,
    /// Perturbation of the hash; drawn from the link's random stream if left out.
    pub perturbation: Option<u64>,
    /// The hosts of routes, by their start. Set by [`crate::queue::QueueConfig::number_hosts`].
    #[serde(skip)]
    pub hosts: Vec<RouteHosts>,
}

impl Default for CakeConfig {
    fn default() -> Self {
        CakeConfig {
            rate_bps: None,
            rtt_ns: Time::from_millis(100),
            isolation: Isolation::default(),
            tins: Tins::default(),
            codepoints: Vec::new(),
            ack_filter: AckFilter::default(),
            overhead: 0,
            mpu: 0,
            framing: Framing::default(),
            ingress: false,
            mtu: 1514,
            memory_bytes: None,
            perturbation: None,
            hosts: Vec::new(),
        }
    }
}

impl CakeConfig {
    /// Names of the traffic with codepoints.
    pub(in crate::queue) fn traffic(&self) -> impl Iterator<Item = &str> {
        self.codepoints.iter().flat_map(|point| point.traffic.iter().map(String::as_str))
    }

    pub(in crate::queue) fn check(&self) -> Result<(), QueueError> {
        if let Some(rate) = self.rate_bps {
            within("rate_bps", rate.as_bps() as f64, 512.0..=400e9)?;
        }
        within("rtt_ns", self.rtt_ns.as_nanos() as f64, 20e3..=4e9)?;
        within("overhead", f64::from(self.overhead), -64.0..=256.0)?;
        within("mpu", f64::from(self.mpu), 0.0..=256.0)?;
        within("mtu", f64::from(self.mtu), 64.0..=65_535.0)?;
        for point in &self.codepoints {
            within("dscp", f64::from(point.dscp), 0.0..=63.0)?;
        }
        let mut names: Vec<&str> = self.traffic().collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some([name, ..]) => Err(QueueError::TrafficTwice((*name).to_owned())),
            _ => Ok(()),
        }
    }
}
