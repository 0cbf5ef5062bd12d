//! Unresponsive traffic, which the router itself sends. This traffic does not depend on a kernel, so its packets enter
//! exactly at their scheduled times, even if the router processes them later. The router also removes them at their
//! destination.

use std::net::{IpAddr, SocketAddr};

use cwndlab_engine::{build_application, ScenarioError, Streams};
use cwndlab_traffic::{App, Command, EcnField, Event, Side};
use cwndlab_units::Time;

use crate::config::RouterConfig;
use crate::header::UDP;

/// A packet that is due.
#[derive(Debug)]
pub(crate) struct Datagram {
    /// The whole packet, with a payload of zeros.
    pub bytes: Vec<u8>,
    /// The port at which the packet enters, which is that of its source.
    pub port: u32,
}

/// A traffic entry whose packets the router sends.
struct Sender {
    app: App,
    /// The address of the client and of the server, each with the router's port that has this address.
    ends: [(SocketAddr, u32); 2],
    next: Time,
    started: bool,
}

/// The datagram flows of a run.
pub(crate) struct Senders {
    entries: Vec<Sender>,
    /// The time at which the scenario ends. Packets that enter at this time still count, as in the simulator.
    end: Time,
    commands: Vec<Command>,
}

impl Senders {
    pub(crate) fn new(config: &RouterConfig) -> Result<Senders, ScenarioError> {
        let (scenario, mut entries) = (&config.scenario, Vec::new());
        for flow in &config.datagrams {
            // Datagrams have no segments, so the segment size (here 1) does not matter.
            let app =
                build_application(scenario, flow.traffic as usize, 1, Streams::new(config.seed, config.replicate))?;
            let start = scenario.traffic[flow.traffic as usize].start_ns;
            let at = |end: SocketAddr| (end, config.port_of(end.ip()).expect("the configuration is checked"));
            entries.push(Sender { app, ends: [at(flow.client), at(flow.server)], next: start, started: false });
        }
        Ok(Senders { entries, end: scenario.duration_ns, commands: Vec::new() })
    }

    /// The time at which the next packet enters; [`Time::MAX`] if no further packet enters by the scenario's end.
    pub(crate) fn next(&self) -> Time {
        let next = self.entries.iter().map(|sender| sender.next).min().unwrap_or(Time::MAX);
        if next <= self.end {
            next
        } else {
            Time::MAX
        }
    }

    /// Calls `enter` with each packet that enters at `now`, which must be the time of [`Self::next`]. Packets of
    /// several traffic entries come in the order of the entries.
    pub(crate) fn send(&mut self, now: Time, mut enter: impl FnMut(Datagram)) {
        for sender in self.entries.iter_mut().filter(|sender| sender.next == now) {
            sender.next = Time::MAX;
            let event = if std::mem::replace(&mut sender.started, true) { Event::Timer } else { Event::Start };
            sender.app.handle(now, event, &mut self.commands);
            for command in self.commands.drain(..) {
                match command {
                    Command::Send { side, bytes, ecn, .. } => {
                        let [client, server] = sender.ends;
                        let (from, to) = if side == Side::Client { (client, server) } else { (server, client) };
                        enter(Datagram { bytes: packet(from.0, to.0, bytes, ecn), port: from.1 });
                    }
                    Command::Timer { at } => sender.next = at,
                    _ => {}
                }
            }
        }
    }
}

/// Builds an IPv4 packet (RFC 791) with a UDP header without checksum, which RFC 768 permits, or an IPv6 packet (RFC 8200),
/// whose UDP header has one.
fn packet(from: SocketAddr, to: SocketAddr, bytes: u32, ecn: EcnField) -> Vec<u8> {
    let mut made = vec![0; bytes as usize];
    let start = match (from.ip(), to.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let total = (bytes as u16).to_be_bytes();
            made[..10].copy_from_slice(&[0x45, ecn as u8, total[0], total[1], 0, 0, 0x40, 0, 64, UDP]);
            made[12..16].copy_from_slice(&source.octets());
            made[16..20].copy_from_slice(&destination.octets());
            let checksum = checksum(&made[..20], 0);
            made[10..12].copy_from_slice(&checksum.to_be_bytes());
            20
        }
        (source, destination) => {
            let length = ((bytes - 40) as u16).to_be_bytes();
            made[..8].copy_from_slice(&[0x60, (ecn as u8) << 4, 0, 0, length[0], length[1], UDP, 64]);
            for (at, address) in [(8, source), (24, destination)] {
                let IpAddr::V6(address) = address else { unreachable!("both ends are of one protocol") };
                made[at..at + 16].copy_from_slice(&address.octets());
            }
            40
        }
    };
    made[start..start + 2].copy_from_slice(&from.port().to_be_bytes());
    made[start + 2..start + 4].copy_from_slice(&to.port().to_be_bytes());
    made[start + 4..start + 6].copy_from_slice(&((bytes - start as u32) as u16).to_be_bytes());
    if start == 40 {
        // The addresses, the header and, of the pseudo-header, the length and the protocol (RFC 8200, section 8.1).
        let checksum = checksum(&made[8..48], bytes - 40 + u32::from(UDP));
        made[46..48].copy_from_slice(&if checksum == 0 { u16::MAX } else { checksum }.to_be_bytes());
    }
    made
}

/// The Internet checksum of these bytes and of a sum before them (RFC 1071).
fn checksum(bytes: &[u8], sum: u32) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum = words.sum::<u32>() + sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;

    const CONFIG: &str = r#"{"seed": 1, "scenario": {"duration_ns": 1000000000, "nodes": ["a", "b"], "tcp": [TCP],
        "links": [
          {"name": "a>b", "from": 0, "to": 1, "rate_bps": 1000000, "delay_ns": 0, "queue": {"kind": "infinite"}},
          {"name": "b>a", "from": 1, "to": 0, "rate_bps": 1000000, "delay_ns": 0, "queue": {"kind": "infinite"}}],
        "traffic": [{"name": "x", "client": 0, "server": 1, "start_ns": 5000000, "tcp_client": 0, "tcp_server": 0,
          "app": {"kind": "cbr", "rate_bps": 4000000, "ecn": "ect1", "packet_bytes": {"kind": "fixed", "value": 500}}}]},
        "ports": [{"node": 0, "addresses": ["10.0.0.1"], "device": {"kind": "tun", "name": "t0"}},
                  {"node": 1, "addresses": ["10.0.0.2"], "device": {"kind": "tun", "name": "t1"}}],
        "datagrams": [{"traffic": 0, "client": "10.0.0.1:49152", "server": "ADDRESS:5001"}]}"#;

    fn config(server: &str) -> Result<RouterConfig, crate::config::ConfigError> {
        let tcp = serde_json::to_string(&cwndlab_tcp::Profile::Linux6.config()).unwrap();
        RouterConfig::from_json(&CONFIG.replace("ADDRESS", server).replace("TCP", &tcp))
    }

    #[test]
    fn packets_enter_at_their_scheduled_times_with_valid_headers_until_the_scenarios_end() {
        let config = config("10.0.0.2").unwrap();
        let mut senders = Senders::new(&config).unwrap();
        let mut times = Vec::new();
        while !senders.next().is_never() {
            let now = senders.next();
            senders.send(now, |datagram| {
                let header = Header::parse(&datagram.bytes).unwrap();
                let udp = header.udp.unwrap();
                assert_eq!((udp.source_port, udp.destination_port, udp.payload), (49152, 5001, 472));
                assert_eq!((header.ecn, header.total_bytes, datagram.port), (cwndlab_net::Ecn::Ect1, 500, 0));
                let words = datagram.bytes[..20].chunks_exact(2);
                let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
                assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff); // RFC 1071: the sum with the checksum is -0
                times.push(now);
            });
        }
        assert_eq!(times[..2], [Time::from_millis(5), Time::from_millis(6)]);
        assert_eq!(times.len(), 996); // one every millisecond up to 1 s
    }

    #[test]
    fn a_datagram_of_ipv4_is_built_byte_by_byte() {
        let made = packet("10.0.0.1:258".parse().unwrap(), "10.0.1.2:772".parse().unwrap(), 300, EcnField::Ect0);
        // RFC 791: version and length of the header, ECN field, total length, do not fragment, time to live 64, UDP
        assert_eq!(made[..10], [0x45, 2, 1, 44, 0, 0, 0x40, 0, 64, 17]);
        assert_eq!(made[12..20], [10, 0, 0, 1, 10, 0, 1, 2]);
        // RFC 768: ports, length with the header, no checksum
        assert_eq!(made[20..28], [1, 2, 3, 4, 1, 24, 0, 0]);
        assert_eq!((made.len(), made[28..].iter().all(|&byte| byte == 0)), (300, true));
    }

    #[test]
    fn datagrams_of_ipv6_have_a_true_checksum() {
        let made =
            packet("[fd93::1:1]:49152".parse().unwrap(), "[fd93::2:1]:5001".parse().unwrap(), 501, EcnField::Ect0);
        let header = Header::parse(&made).unwrap();
        assert_eq!((header.total_bytes, header.udp.unwrap().payload), (501, 453));
        assert_eq!((header.ecn, header.destination.to_string().as_str()), (cwndlab_net::Ecn::Ect0, "fd93::2:1"));
        let pseudo = [&made[8..40], &[0, 0], &made[4..6], &[0, 0, 0, UDP], &made[40..], &[0]].concat();
        let sum: u32 = pseudo.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn an_address_of_no_port_is_rejected() {
        let error = config("10.0.0.3").unwrap_err().to_string();
        assert_eq!(error, "datagrams[0]: 10.0.0.3 is the address of no port");
    }
}
