//! The compiled scenario: what the study's compiler produces, as plain data in base units.
//!
//! Names have been replaced by indices, and quantities by integers. [`Scenario::from_json`] rejects invalid values and
//! says where they are.

use std::collections::{BTreeMap, BTreeSet};

use cwndlab_net::impair::{ImpairmentConfig, Impairments};
use cwndlab_net::queue::QueueConfig;
use cwndlab_net::{CapacityConfig, Link, Packet, Rng};
use cwndlab_tcp::TcpConfig;
use cwndlab_traffic::{AppSpec, Dist, Distributions, EcnField, Protocol, UDP_HEADER_BYTES};
use cwndlab_units::{Rate, Serializer, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::{invalid, unreadable, unreadable_part, KnobError, Place, ScenarioError};

/// One cell of a study, ready to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Simulated duration.
    pub duration_ns: Time,
    /// The start and end of each time window that metrics use, by name. Counters and unfinished objects are also
    /// recorded at these times.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub windows: BTreeMap<String, (Time, Time)>,
    /// Names of the nodes; everything else refers to them by index.
    pub nodes: Vec<String>,
    /// One-way links.
    pub links: Vec<LinkSpec>,
    /// Explicit routes. All other routes are shortest paths in hops; ties go to the lower link index.
    #[serde(default)]
    pub routes: Vec<RouteSpec>,
    /// Whether connections are spread over all shortest paths of equal cost, each direction by a hash of its
    /// own, as routers do. The paths of a connection do not change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecmp: bool,
    /// The Internet protocol.
    #[serde(default, skip_serializing_if = "Network::is_default")]
    pub network: Network,
    /// Endpoint configurations, referred to by index.
    pub tcp: Vec<TcpConfig>,
    /// Distributions that several traffic entries share, by name.
    #[serde(default)]
    pub distributions: Distributions,
    /// The traffic between the nodes.
    pub traffic: Vec<TrafficSpec>,
    /// What to record.
    #[serde(default)]
    pub probes: ProbeSpec,
}

/// The Internet protocol of all packets. Sizes are stated elsewhere: a TCP's `header_bytes` and an application's
/// `packet_bytes` include its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// RFC 791.
    #[default]
    Ipv4,
    /// RFC 8200.
    Ipv6,
}

impl Network {
    /// Bytes of the header.
    pub const fn header_bytes(self) -> u32 {
        match self {
            Network::Ipv4 => 20,
            Network::Ipv6 => 40,
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
    fn is_default(&self) -> bool {
        *self == Network::default()
    }
}

/// A one-way link.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The link's name, which also selects its random stream.
    pub name: String,
    /// Index of the node at which the link begins.
    pub from: u32,
    /// Index of the node at which the link ends.
    pub to: u32,
    /// Bit rate in bit/s; if there is a `capacity`, the rate that the link's queue assumes.
    pub rate_bps: Rate,
    /// How the link's rate varies; if left out, it is constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityConfig>,
    /// Propagation delay.
    pub delay_ns: Time,
    /// Bytes that the link adds to each packet.
    #[serde(default)]
    pub header_bytes: u32,
    /// The link's queue.
    pub queue: QueueConfig,
    /// Losses, delays, reordering and duplication, applied in the order of the list.
    #[serde(default)]
    pub impairments: Vec<ImpairmentConfig>,
}

impl LinkSpec {
    /// Builds the link. `queue` is a copy of `self.queue` to which [`QueueConfig::number_traffic`] has been applied.
    pub fn build<P: Packet + Copy>(&self, queue: &QueueConfig, rng: Rng) -> Link<P> {
        let mut link = Link::new(self.rate_bps, self.delay_ns, self.header_bytes, queue, rng);
        if !self.impairments.is_empty() {
            link = link.impaired(Impairments::new(&self.impairments));
        }
        match &self.capacity {
            Some(capacity) => link.varying(capacity),
            None => link,
        }
    }

    /// A lower bound on the time that a packet of `bytes` bytes takes to cross the link.
    pub fn least_time(&self, bytes: u32) -> Time {
        let bytes = bytes + self.header_bytes;
        let service = match &self.capacity {
            Some(capacity) => capacity.least_time(bytes),
            None => Serializer::new(self.rate_bps).time(bytes),
        };
        service + self.delay_ns
    }
}

/// An explicit route.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// First node.
    pub from: u32,
    /// Last node.
    pub to: u32,
    /// Links in order.
    pub via: Vec<u32>,
}

/// One traffic source: an application between two nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficSpec {
    /// The entry's name, which also selects its random streams.
    pub name: String,
    /// Node of the side that opens connections.
    pub client: u32,
    /// Node of the other side.
    pub server: u32,
    /// Index of the client side's endpoint configuration.
    pub tcp_client: u16,
    /// Index of the server side's endpoint configuration.
    pub tcp_server: u16,
    /// When the application starts.
    pub start_ns: Time,
    /// The application.
    pub app: AppSpec,
    /// The stack of both ends, if it is not TCP: a table that the engine's stacks understand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Value>,
}

impl TrafficSpec {
    /// Whether the traffic has this name, or is one of the instances `name.0`, `name.1`, … of an entry with this name.
    pub fn is_of(&self, name: &str) -> bool {
        let instance = self.name.strip_prefix(name);
        instance.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(|k| k.parse::<u32>().is_ok()))
    }
}

/// What to record; a probe that is off takes no time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    /// Node at which segments are observed. Drops and marks are then recorded wherever they happen.
    #[serde(default)]
    pub segments_at: Option<u32>,
    /// Links whose queue length is sampled.
    #[serde(default)]
    pub queues: Vec<u32>,
    /// Interval between samples of the queues. If left out, a sample is taken at every arrival at the link.
    #[serde(default)]
    pub queue_interval_ns: Option<Time>,
    /// Whether to record every connection: when it ends, or at the end of the run.
    #[serde(default)]
    pub connections: bool,
    /// Whether to record the one-way delay of every packet that reaches its destination.
    #[serde(default)]
    pub delays: bool,
    /// Whether to record each sender's window whenever its cwnd, ssthresh or congestion state changes.
    #[serde(default)]
    pub cwnd: bool,
    /// Whether to record what limited each sender.
    #[serde(default)]
    pub limits: bool,
    /// Whether to record the states of each sender and its expired timers.
    #[serde(default)]
    pub states: bool,
    /// Whether to record each sender's AccECN counters whenever one changes.
    #[serde(default)]
    pub accecn: bool,
}

/// The longest propagation delay: a day. For comparison, light from Saturn takes about 80 minutes.
const LONGEST_DELAY: Time = Time::from_secs(86_400);
const YEAR: Time = Time::from_secs(366 * 86_400);
/// The maximum number of windows. At the start and end of each, the state of every application is copied.
const MAX_WINDOWS: usize = 500;
/// The maximum number of queue samples in a run; their records take 3 GB.
const MAX_QUEUE_SAMPLES: u64 = 100_000_000;

/// Why an application does not run on its transport. A stack from outside the engine carries one that reads what arrives
/// at once; pages use its streams.
fn mismatch(app: &AppSpec, on_stack: bool) -> Option<&'static str> {
    let over_streams = matches!(app, AppSpec::Web(web) if web.protocol == Protocol::Http3);
    if !on_stack {
        return over_streams.then_some("`http/3` needs a QUIC stack");
    }
    match app {
        AppSpec::Bulk(bulk) if bulk.read_rate_bps.is_some() => Some("QUIC carries no `bulk` with `read_rate`"),
        AppSpec::Web(_) if !over_streams => Some("pages over QUIC need `protocol = \"http/3\"`"),
        AppSpec::Program(_) => Some("programs choose their transport themselves"),
        app => match app.datagrams()?.1 {
            EcnField::NotEct => None,
            EcnField::Ect0 | EcnField::Ect1 => Some("a QUIC stack sets ECN codepoints itself; leave out `ecn`"),
        },
    }
}

/// Why a stack cannot send the datagrams of an application.
fn unfit(app: &AppSpec, sizes: &MessageSizes) -> Option<String> {
    let Dist::Fixed { value } = app.datagrams()?.0 else { return None };
    let (least, most) = (sizes.bytes.0 + UDP_HEADER_BYTES, sizes.bytes.1 + UDP_HEADER_BYTES);
    if *value > f64::from(most) {
        let (stack, mtu) = (&sizes.stack, sizes.mtu);
        let why = format!("packet is {value} bytes; {stack} with an mtu of {mtu} bytes carries at most {most} of them");
        return Some(format!("{why}; write packet = \"{most}B\", or a larger mtu"));
    }
    let small = "each datagram over QUIC carries its number and time";
    (*value < f64::from(least)).then(|| format!("packet is {value} bytes; it must be at least {least}, as {small}"))
}

/// The sizes of messages that a stack can send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageSizes {
    /// The stack's name.
    pub stack: String,
    /// The smallest and the largest payload, in bytes.
    pub bytes: (u32, u32),
    /// Bytes of the IP packet that carries the largest payload.
    pub mtu: u32,
}

/// Rejects what a link with a kernel's queue cannot have: the queue is a device before the link, which sends at a
/// constant rate.
fn check_kernel_queue(link: &LinkSpec) -> Result<(), (&'static str, &'static str)> {
    if link.capacity.is_some() {
        return Err(("capacity", "a link with a kernel's queue needs a constant rate"));
    }
    if !link.impairments.is_empty() {
        return Err(("impairments", "a link with a kernel's queue has none; write them at another link of the path"));
    }
    Ok(())
}

impl ProbeSpec {
    /// Whether senders are traced.
    #[inline]
    pub fn traces_senders(&self) -> bool {
        self.limits || self.states
    }

    /// Whether anything about senders is recorded.
    pub fn samples_senders(&self) -> bool {
        self.cwnd || self.accecn || self.traces_senders()
    }
}

impl Scenario {
    /// Checks the tables of all stacks by `check`, and that the stacks can send the datagrams of their applications.
    ///
    /// # Errors
    ///
    /// If `check` rejects one, or a datagram is too small or too large. The error is about the first such traffic entry.
    pub fn check_stacks(
        &self,
        check: impl Fn(&Value) -> Result<MessageSizes, serde_json::Error>,
    ) -> Result<(), ScenarioError> {
        for (i, traffic) in self.traffic.iter().enumerate() {
            if let Some(stack) = &traffic.stack {
                if self.network == Network::Ipv6 {
                    let place = Place::in_list("traffic", i, &traffic.name, "stack");
                    return Err(invalid(place, "QUIC stacks run over IPv4 only"));
                }
                let sizes = check(stack)
                    .map_err(|error| unreadable_part(&["traffic", &i.to_string(), "stack"], stack, error))?;
                if let Some(why) = unfit(&traffic.app, &sizes) {
                    return Err(invalid(Place::in_list("traffic", i, &traffic.name, "app"), why));
                }
            }
        }
        Ok(())
    }

    /// The traffic names that classes of queues list, without duplicates, in order of the links.
    pub fn classified(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for name in self.links.iter().flat_map(|link| link.queue.traffic()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Checks that each traffic name in a class of a queue is that of a traffic entry or of its instances.
    fn check_classes(&self) -> Result<(), ScenarioError> {
        for (i, link) in self.links.iter().enumerate() {
            for name in link.queue.traffic() {
                if !self.traffic.iter().any(|traffic| traffic.is_of(name)) {
                    let place = Place::in_list("links", i, &link.name, "queue");
                    return Err(invalid(place, format!("there is no traffic {name:?} for a class")));
                }
            }
        }
        if self.classified().len() > usize::from(u8::MAX) {
            return Err(invalid("links", "class-based queues can tell at most 255 names of traffic apart"));
        }
        Ok(())
    }

    /// Parses and checks a scenario.
    ///
    /// # Errors
    ///
    /// If the text is not a scenario, or an index or a value is out of range.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        // Always with the path, so that the compiler reads each table's keys for one kind of reader only.
        let mut reader = serde_json::Deserializer::from_str(text);
        let scenario: Scenario =
            serde_path_to_error::deserialize(&mut reader).map_err(|error| unreadable(text, error))?;
        reader.end().map_err(|error| ScenarioError::Json { path: Vec::new(), error })?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Starts and ends of the windows within the run, in order. Counters and unfinished objects are recorded at these
    /// times.
    pub fn snapshot_times(&self) -> Vec<Time> {
        let edges = self.windows.values().flat_map(|&(start, end)| [start, end]);
        let inside = edges.filter(|&at| at != Time::ZERO && at < self.duration_ns);
        inside.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The scenario as JSON, including all defaults.
    ///
    /// # Errors
    ///
    /// Never, if the scenario was parsed from JSON.
    pub fn to_json(&self) -> Result<String, ScenarioError> {
        serde_json::to_string(self).map_err(|error| ScenarioError::Json { path: Vec::new(), error })
    }

    /// Checks every index and value.
    ///
    /// # Errors
    ///
    /// If a value is out of range. The error is about the first such value, except that it lists all invalid
    /// knobs.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.duration_ns == Time::ZERO || self.duration_ns.is_never() {
            return Err(invalid("duration_ns", "must be positive and finite"));
        }
        if self.duration_ns > YEAR {
            return Err(invalid("duration_ns", "must be at most a year"));
        }
        if self.windows.len() > MAX_WINDOWS {
            return Err(invalid("windows", format!("must be at most {MAX_WINDOWS}")));
        }
        for (name, (start, end)) in &self.windows {
            if start >= end {
                return Err(invalid(format!("windows.{name}"), "must begin before it ends"));
            }
        }
        self.check_links()?;
        self.check_classes()?;
        let of_group = |(group, tcp): (usize, &TcpConfig)| {
            tcp.check().err().into_iter().flatten().map(move |error| KnobError { group, error })
        };
        let knobs: Vec<_> = self.tcp.iter().enumerate().flat_map(of_group).collect();
        if !knobs.is_empty() {
            return Err(ScenarioError::Knobs(knobs));
        }
        self.check_traffic()?;
        self.check_probes()
    }

    fn check_node(&self, place: Place, index: u32) -> Result<(), ScenarioError> {
        let nodes = self.nodes.len();
        if (index as usize) < nodes {
            return Ok(());
        }
        Err(invalid(place, format!("node {index} does not exist; there are {nodes}")))
    }

    fn check_links(&self) -> Result<(), ScenarioError> {
        for (i, link) in self.links.iter().enumerate() {
            let place = |field: &str| Place::in_list("links", i, &link.name, field);
            self.check_node(place("from"), link.from)?;
            self.check_node(place("to"), link.to)?;
            if link.from == link.to {
                return Err(invalid(place("to"), "a link must join two different nodes"));
            }
            // At a higher rate, the transmission time of a small packet would round to zero; at a lower rate, that of a
            // large packet would overflow.
            if !(8..=400_000_000_000).contains(&link.rate_bps.as_bps()) {
                let (name, rate) = (&link.name, link.rate_bps.as_bps());
                let why = format!("{name} runs at {rate} bit/s; a link needs at least 8 bit/s and at most 400 Gbit/s");
                return Err(invalid(place("rate_bps"), why));
            }
            if let Some(capacity) = &link.capacity {
                capacity.check().map_err(|why| invalid(place("capacity"), why))?;
            }
            if link.delay_ns > LONGEST_DELAY {
                return Err(invalid(place("delay_ns"), "must be at most a day"));
            }
            link.queue.check().map_err(|why| invalid(place("queue"), why))?;
            if let QueueConfig::Kernel(_) = &link.queue {
                check_kernel_queue(link).map_err(|(key, why)| invalid(place(key), why))?;
            }
            for (k, impairment) in link.impairments.iter().enumerate() {
                impairment.check().map_err(|why| invalid(place(&format!("impairments[{k}]")), why))?;
            }
        }
        Ok(())
    }

    fn check_traffic(&self) -> Result<(), ScenarioError> {
        let distributions = self.distributions.samplers().map_err(|why| invalid("distributions", why))?;
        for (i, traffic) in self.traffic.iter().enumerate() {
            let place = |field: &str| Place::in_list("traffic", i, &traffic.name, field);
            self.check_node(place("client"), traffic.client)?;
            self.check_node(place("server"), traffic.server)?;
            if traffic.client == traffic.server {
                return Err(invalid(place("server"), "must be another node than the client"));
            }
            for (field, index) in [("tcp_client", traffic.tcp_client), ("tcp_server", traffic.tcp_server)] {
                if usize::from(index) >= self.tcp.len() {
                    return Err(invalid(place(field), format!("configuration {index} does not exist")));
                }
            }
            traffic.app.check(&distributions).map_err(|why| invalid(place("app"), why))?;
            if let Some(why) = mismatch(&traffic.app, traffic.stack.is_some()) {
                return Err(invalid(place("app"), why));
            }
        }
        Ok(())
    }

    fn check_probes(&self) -> Result<(), ScenarioError> {
        if let Some(at) = self.probes.segments_at {
            self.check_node("probes.segments_at".into(), at)?;
        }
        if let Some(link) = self.probes.queues.iter().find(|&&link| link as usize >= self.links.len()) {
            return Err(invalid("probes.queues", format!("link {link} does not exist")));
        }
        if let Some(interval) = self.probes.queue_interval_ns {
            let samples = self.duration_ns.as_nanos() / interval.as_nanos().max(1) * self.probes.queues.len() as u64;
            if interval == Time::ZERO || samples > MAX_QUEUE_SAMPLES {
                let why = format!("must be positive, and long enough for at most {MAX_QUEUE_SAMPLES} samples in a run");
                return Err(invalid("probes.queue_interval_ns", why));
            }
        }
        Ok(())
    }
}
