//! The router's configuration.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use cwndlab_engine::{Scenario, ScenarioError};
use cwndlab_net::queue::QueueConfig;
use cwndlab_units::Time;
use serde::Deserialize;
use thiserror::Error;

use crate::sys::MAX_DEVICE_NAME;

/// The router's configuration, as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterConfig {
    /// The scenario, as for the simulator. The router uses the scenario's nodes, links, routes and queue probes, and
    /// the traffic entries that `datagrams` lists. Real TCP stacks replace the rest of the traffic, and the endpoints.
    pub scenario: Scenario,
    /// Seed of the study, for queues and loss models that draw random numbers.
    pub seed: u64,
    /// Number of the replicate.
    #[serde(default)]
    pub replicate: u64,
    /// The devices through which packets enter and leave.
    pub ports: Vec<PortConfig>,
    /// The CSV file for the events of every packet. If left out, none is written.
    #[serde(default)]
    pub trace: Option<PathBuf>,
    /// The pcapng file for the packets at one port. If left out, none is written.
    #[serde(default)]
    pub capture: Option<CaptureConfig>,
    /// The traffic entries whose datagrams the router itself sends.
    #[serde(default)]
    pub datagrams: Vec<DatagramsConfig>,
    /// Times on the router's clock, in increasing order, at which to read the links' counters. The counters are also
    /// read at the end.
    #[serde(default)]
    pub snapshots_ns: Vec<Time>,
    /// Time from the moment the router is ready to time 0 of the scenario's clock. Changes of links' rates follow this
    /// clock.
    #[serde(default)]
    pub lead_ns: Time,
    /// Duration after which the router ends, unless SIGTERM or SIGINT ends it earlier. If left out, only these signals
    /// end it.
    #[serde(default)]
    pub duration_ns: Option<Time>,
    /// `SCHED_FIFO` priority to request, 1 to 99; 0 requests none.
    #[serde(default = "default_priority")]
    pub real_time_priority: u8,
    /// Limits beyond which a run is invalid.
    #[serde(default)]
    pub limits: Limits,
}

fn default_priority() -> u8 {
    20
}

/// A capture that keeps the packets' headers unchanged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureConfig {
    /// The pcapng file.
    pub path: PathBuf,
    /// Index of the port.
    pub port: u32,
}

/// A datagram flow that the router sends, and whose packets it removes at their destination.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatagramsConfig {
    /// Index of the traffic entry.
    pub traffic: u32,
    /// Address and UDP port of the flow's client. One of [`RouterConfig::ports`] must have this address.
    pub client: SocketAddr,
    /// Address and UDP port of the flow's server. One of [`RouterConfig::ports`] must have this address.
    pub server: SocketAddr,
}

/// A device of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    /// The node of the scenario.
    pub node: u32,
    /// For the device of a link's queue that is a kernel's ([`cwndlab_net::queue::KernelQueueConfig`]), the index of the
    /// link, which begins at `node`. Packets are written to the device to enter the queue, and read as they leave it.
    #[serde(default)]
    pub link: Option<u32>,
    /// The node's addresses at this port. Packets to these addresses leave by this port.
    pub addresses: Vec<IpAddr>,
    /// Source addresses whose packets get ECT(1) in place of ECT(0) as they enter, because no kernel sends ECT(1) for
    /// DCTCP (RFC 9331, section 4.1).
    #[serde(default)]
    pub ect1: Vec<IpAddr>,
    /// The device's network namespace, given as a file; the router's own namespace if left out.
    #[serde(default)]
    pub netns: Option<PathBuf>,
    /// The device.
    pub device: DeviceConfig,
}

/// How packets enter and leave.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum DeviceConfig {
    /// A TUN device, which is created if it does not exist.
    Tun {
        /// The device's name.
        name: String,
    },
    /// A packet socket on the far end of a veth pair, whose near end belongs to the host. This is for users who may not
    /// open `/dev/net/tun`. The near end must have its offloads off and must not use address resolution (`arp off`).
    Packet {
        /// The device's name.
        name: String,
        /// Link address of the near end, such as `02:00:00:00:00:01`.
        peer_mac: String,
        /// The near end, if the router has to turn off the near end's offloads.
        #[serde(default)]
        near: Option<NearEnd>,
    },
}

/// The host's end of a veth pair.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearEnd {
    /// The network namespace of this end, given as a file.
    pub netns: PathBuf,
    /// The device's name.
    pub name: String,
}

/// Limits beyond which a run is invalid (docs/decisions/kernel-validity.md explains the defaults). Lateness is the time
/// from a packet's scheduled departure until the router writes the packet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Lateness that at most one packet in a hundred may exceed.
    pub lateness_p99_ns: Time,
    /// Lateness that at most one packet in a thousand may exceed.
    pub lateness_p999_ns: Time,
    /// Lateness that no packet may exceed.
    pub lateness_max_ns: Time,
    /// Packets that each of the router's devices may lose outside the scenario's queues, because the kernel drops them
    /// there or because they cannot be written.
    pub hidden_drops: u64,
    /// Share of one CPU that the router may use.
    pub cpu_share: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            lateness_p99_ns: Time::from_micros(300),
            lateness_p999_ns: Time::from_millis(5),
            lateness_max_ns: Time::from_millis(50),
            hidden_drops: 0,
            cpu_share: 0.8,
        }
    }
}

/// Why a configuration is invalid.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The text is not the JSON of a configuration.
    #[error("router configuration: {0}")]
    Json(#[from] serde_json::Error),
    /// The configuration's scenario is invalid.
    #[error("scenario: {0}")]
    Scenario(#[from] ScenarioError),
    /// A value is invalid. The message says where, and what would be right.
    #[error("{0}")]
    Invalid(String),
}

impl RouterConfig {
    /// The index of the port that has this address.
    pub(crate) fn port_of(&self, address: IpAddr) -> Option<u32> {
        self.ports.iter().position(|port| port.addresses.contains(&address)).map(|index| index as u32)
    }

    /// Parses and checks a configuration.
    ///
    /// # Errors
    /// If the text is not a configuration, or a value is out of its range.
    pub fn from_json(text: &str) -> Result<RouterConfig, ConfigError> {
        let config: RouterConfig = serde_json::from_str(text)?;
        config.scenario.check()?;
        if config.real_time_priority > 99 {
            let priority = config.real_time_priority;
            return Err(ConfigError::Invalid(format!("real_time_priority is {priority}; it must be at most 99")));
        }
        let mut addresses: Vec<IpAddr> = Vec::new();
        for (index, port) in config.ports.iter().enumerate() {
            port.check(&config.scenario).map_err(|why| ConfigError::Invalid(format!("ports[{index}]: {why}")))?;
            for address in &port.addresses {
                if addresses.contains(address) {
                    return Err(ConfigError::Invalid(format!("ports[{index}]: {address} belongs to another port too")));
                }
                addresses.push(*address);
            }
        }
        for (index, link) in config.scenario.links.iter().enumerate() {
            let devices = config.ports.iter().filter(|port| port.link == Some(index as u32)).count();
            if devices != usize::from(matches!(link.queue, QueueConfig::Kernel(_))) {
                let name = &link.name;
                return Err(ConfigError::Invalid(format!(
                    "the queue of {name} is a kernel's and needs a port, only one"
                )));
            }
        }
        if !config.ports.iter().is_sorted_by_key(|port| port.link) {
            return Err(ConfigError::Invalid(
                "ports: those of links' queues come last, in the links' order".to_owned(),
            ));
        }
        for (index, flow) in config.datagrams.iter().enumerate() {
            flow.check(&config).map_err(|why| ConfigError::Invalid(format!("datagrams[{index}]: {why}")))?;
        }
        if let Some(port) = config.capture.as_ref().map(|capture| capture.port as usize) {
            if port >= config.ports.len() {
                let count = config.ports.len();
                return Err(ConfigError::Invalid(format!("capture.port {port} does not exist; there are {count}")));
            }
        }
        Ok(config)
    }
}

/// Why a configured datagram flow is invalid.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
enum DatagramsError {
    #[error("traffic {0} does not exist or sends no datagrams")]
    Traffic(u32),
    #[error("{0} is the address of no port")]
    Address(IpAddr),
}

/// Why a configured port is invalid.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
enum PortError {
    #[error("node {node} does not exist; there are {count}")]
    Node { node: u32, count: usize },
    #[error("link {link} does not begin at node {node} with a kernel's queue")]
    Link { link: u32, node: u32 },
    #[error("device name {0:?} must have 1 to {MAX_DEVICE_NAME} bytes")]
    Device(String),
    #[error("peer_mac is {0:?}; it must be like 02:00:00:00:00:01")]
    PeerMac(String),
}

impl DatagramsConfig {
    fn check(&self, config: &RouterConfig) -> Result<(), DatagramsError> {
        let traffic = config.scenario.traffic.get(self.traffic as usize);
        if !traffic.is_some_and(|entry| entry.app.is_unresponsive()) {
            return Err(DatagramsError::Traffic(self.traffic));
        }
        for end in [self.client, self.server] {
            config.port_of(end.ip()).ok_or(DatagramsError::Address(end.ip()))?;
        }
        Ok(())
    }
}

impl PortConfig {
    fn check(&self, scenario: &Scenario) -> Result<(), PortError> {
        if self.node as usize >= scenario.nodes.len() {
            return Err(PortError::Node { node: self.node, count: scenario.nodes.len() });
        }
        if let Some(link) = self.link {
            let spec = scenario.links.get(link as usize);
            if !spec.is_some_and(|spec| spec.from == self.node && matches!(spec.queue, QueueConfig::Kernel(_))) {
                return Err(PortError::Link { link, node: self.node });
            }
        }
        let name = self.device.name();
        if name.is_empty() || name.len() > MAX_DEVICE_NAME {
            return Err(PortError::Device(name.to_owned()));
        }
        match &self.device {
            DeviceConfig::Tun { .. } => Ok(()),
            DeviceConfig::Packet { peer_mac, .. } => {
                parse_mac(peer_mac).map(|_| ()).ok_or_else(|| PortError::PeerMac(peer_mac.clone()))
            }
        }
    }
}

impl DeviceConfig {
    /// The device's name.
    pub fn name(&self) -> &str {
        match self {
            DeviceConfig::Tun { name } | DeviceConfig::Packet { name, .. } => name,
        }
    }
}

/// Parses a link address: six bytes in hexadecimal, separated by colons.
pub(crate) fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(port: &str) -> Result<RouterConfig, ConfigError> {
        let scenario = r#"{"duration_ns":1,"nodes":["a","b"],"links":[],"tcp":[],"traffic":[]}"#;
        RouterConfig::from_json(&format!(r#"{{"scenario":{scenario},"seed":1,"ports":[{port}]}}"#))
    }

    #[test]
    fn errors_name_the_port_and_what_would_be_right() {
        let error = |port: &str| config(port).unwrap_err().to_string();
        let tun = r#"{"node":2,"addresses":[],"device":{"kind":"tun","name":"t"}}"#;
        assert_eq!(error(tun), "ports[0]: node 2 does not exist; there are 2");
        let packet = r#"{"node":1,"addresses":[],"device":{"kind":"packet","name":"v","peer_mac":"2:0"}}"#;
        assert!(error(packet).contains(r#"peer_mac is "2:0""#));
        let long = r#"{"node":1,"addresses":[],"device":{"kind":"tun","name":"a-name-of-16-byte"}}"#;
        assert!(error(long).contains("must have 1 to 15 bytes"));
        let one = r#"{"node":1,"addresses":["10.0.0.1"],"device":{"kind":"tun","name":"t"}}"#;
        assert!(error(&format!("{one},{one}")).contains("10.0.0.1 belongs to another port"));
        assert!(error(r#"{"node":1,"adresses":[],"device":{"kind":"tun","name":"t"}}"#).contains("adresses"));
    }

    #[test]
    fn a_capture_is_of_a_port_and_a_priority_is_at_most_99() {
        let with = |key: &str, value: serde_json::Value| {
            let scenario = r#"{"duration_ns":1,"nodes":["a","b"],"links":[],"tcp":[],"traffic":[]}"#;
            let port = r#"{"node":1,"addresses":[],"device":{"kind":"tun","name":"a-name-of-15-by"}}"#;
            let text = format!(r#"{{"scenario":{scenario},"seed":1,"ports":[{port},{port}],"{key}":{value}}}"#);
            RouterConfig::from_json(&text).map(|config| config.real_time_priority).map_err(|error| error.to_string())
        };
        let capture = |port: u32| with("capture", serde_json::json!({"path": "x", "port": port}));
        assert_eq!(capture(1), Ok(20), "the priority if none is given");
        assert_eq!(capture(2), Err("capture.port 2 does not exist; there are 2".to_owned()));
        assert_eq!(with("real_time_priority", 99.into()), Ok(99));
        assert_eq!(
            with("real_time_priority", 100.into()),
            Err("real_time_priority is 100; it must be at most 99".to_owned())
        );
    }

    #[test]
    fn link_addresses_are_read() {
        assert_eq!(parse_mac("02:00:00:0a:ff:01"), Some([2, 0, 0, 10, 255, 1]));
        for wrong in ["", "02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:+1", "02:00:00:00:00:1"] {
            assert_eq!(parse_mac(wrong), None, "{wrong}");
        }
    }
}
