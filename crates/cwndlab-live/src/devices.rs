//! The ports of a router in a process: TUN devices and packet sockets, and waiting for their packets.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};

use crate::config::{parse_mac, DeviceConfig, PortConfig, RouterConfig};
use crate::inside::Handover;
use crate::router::{failed, Host, Router, RouterError, System};
use crate::sys::{self, Epoll, InNamespace, KernelRouter, PacketSocket};

/// The token by which epoll reports a signal that ends the router.
const TERMINATION: u64 = u64::MAX;

/// Runs until the configured time has passed or a signal arrives. `text` is the JSON of `config`. `ready` is called
/// once, with the start time on the monotonic clock. Returns the summary as a line of JSON.
///
/// A kernel that can run the router itself does so (`docs/models/router.md`); this process then only opens the devices.
///
/// # Errors
///
/// If a device cannot be opened, a file cannot be written, or waiting fails.
pub fn run(config: &RouterConfig, text: &str, ready: impl FnOnce(u64)) -> Result<String, RouterError> {
    sys::end_with_parent();
    let ports: Vec<Port> = config.ports.iter().map(Port::open).collect::<Result<_, _>>()?;
    let signals = sys::termination().map_err(failed("signalfd"))?;
    sys::least_timer_slack();
    let real_time = config.real_time_priority > 0 && sys::real_time(config.real_time_priority).is_ok();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    let host = Host { kernel, real_time, mtus: ports.iter().map(|port| port.mtu).collect() };
    let start = || sys::monotonic_ns() + config.lead_ns.as_nanos();
    let devices: Option<Vec<_>> = ports.iter().map(Port::as_tun).collect();
    if let (Some(inside), Some(devices)) = (KernelRouter::open(), devices) {
        let start_ns = start();
        ready(start_ns);
        let handover = Handover { host, start_ns }.with(text);
        let report = inside.run(&handover, &devices).map_err(failed("running inside the kernel"))?;
        return if report.starts_with('{') { Ok(report) } else { Err(RouterError::Inside(report)) };
    }
    let router = Router::new(config, Devices::new(ports, &signals)?, host)?;
    let start_ns = start();
    ready(start_ns);
    Ok(router.run(start_ns)?.to_line())
}

/// The devices of all ports.
struct Devices {
    ports: Vec<Port>,
    epoll: Epoll,
    tokens: Vec<u64>,
}

impl Devices {
    fn new(ports: Vec<Port>, signals: &OwnedFd) -> Result<Devices, RouterError> {
        let epoll = Epoll::new().map_err(failed("epoll"))?;
        for (token, port) in ports.iter().enumerate() {
            let added = epoll.add(port.file().as_raw_fd(), token as u64);
            added.map_err(failed(format!("waiting for {}", port.name)))?;
        }
        epoll.add(signals.as_raw_fd(), TERMINATION).map_err(failed("waiting for signals"))?;
        Ok(Devices { ports, epoll, tokens: Vec::new() })
    }
}

impl System for Devices {
    fn now_ns(&self) -> u64 {
        sys::monotonic_ns()
    }

    fn cpu_ns(&self) -> u64 {
        sys::cpu_ns()
    }

    fn wait(&mut self, until_ns: Option<u64>, ready: &mut Vec<u32>) -> io::Result<bool> {
        let timeout = until_ns.map(|until| until.saturating_sub(sys::monotonic_ns()));
        self.epoll.wait(timeout, &mut self.tokens)?;
        ready.clear();
        ready.extend(self.tokens.iter().filter(|&&token| token != TERMINATION).map(|&token| token as u32));
        Ok(ready.len() < self.tokens.len())
    }

    fn read(&mut self, port: u32, buffer: &mut [u8]) -> Option<usize> {
        self.ports[port as usize].file().read(buffer).ok()
    }

    fn write(&mut self, port: u32, packet: &[u8]) -> bool {
        match &self.ports[port as usize].device {
            Device::Tun(file) => (&*file).write(packet).is_ok(),
            Device::Packet { socket, peer } => socket.send(*peer, packet).is_ok(),
        }
    }

    fn drops(&mut self, port: u32) -> io::Result<u64> {
        self.ports[port as usize].kernel_drops()
    }
}

/// A device through which packets enter and leave.
#[derive(Debug)]
struct Port {
    device: Device,
    name: String,
    /// The device's number in its namespace.
    index: u32,
    mtu: u32,
    /// `/proc/net/dev` of the device's namespace, which counts the packets that the kernel drops at the device.
    statistics: File,
    /// Packets that the kernel dropped at the socket.
    dropped_at_socket: u64,
}

#[derive(Debug)]
enum Device {
    Tun(File),
    Packet { socket: PacketSocket, peer: [u8; 6] },
}

impl Port {
    fn open(config: &PortConfig) -> Result<Port, RouterError> {
        let name = config.device.name();
        if let DeviceConfig::Packet { near: Some(near), .. } = &config.device {
            let entered = InNamespace::enter(&near.netns);
            let _near = entered.map_err(failed(format!("entering network namespace {}", near.netns.display())))?;
            sys::turn_offloads_off(&near.name).map_err(failed(format!("turning off the offloads of {}", near.name)))?;
            sys::wait_until_running(&near.name).map_err(failed(format!("waiting for {}", near.name)))?;
        }
        let _there = match &config.netns {
            Some(path) => {
                let entered = InNamespace::enter(path);
                Some(entered.map_err(failed(format!("entering network namespace {}", path.display())))?)
            }
            None => None,
        };
        let device = match &config.device {
            DeviceConfig::Tun { name } => {
                Device::Tun(sys::open_tun(name).map_err(failed(format!("opening TUN device {name}")))?)
            }
            DeviceConfig::Packet { name, peer_mac, .. } => Device::Packet {
                socket: PacketSocket::open(name).map_err(failed(format!("opening packet socket on {name}")))?,
                peer: parse_mac(peer_mac).expect("RouterConfig checks it"),
            },
        };
        sys::wait_until_running(name).map_err(failed(format!("waiting for {name}")))?;
        let mtu = sys::mtu(name).map_err(failed(format!("asking for the MTU of {name}")))?;
        // The file belongs to the namespace that this thread is in when it is opened.
        let statistics =
            File::open("/proc/thread-self/net/dev").map_err(failed("opening /proc/thread-self/net/dev"))?;
        let index = sys::index(name).map_err(failed(format!("looking up {name}")))?;
        Ok(Port { device, name: name.to_owned(), index, mtu, statistics, dropped_at_socket: 0 })
    }

    fn file(&self) -> &File {
        match &self.device {
            Device::Tun(file) => file,
            Device::Packet { socket, .. } => &socket.file,
        }
    }

    /// The file and the number of a TUN device.
    fn as_tun(&self) -> Option<(&File, u32)> {
        match &self.device {
            Device::Tun(file) => Some((file, self.index)),
            Device::Packet { .. } => None,
        }
    }

    /// Packets dropped at the device in either direction since its creation, and at the socket.
    fn kernel_drops(&mut self) -> io::Result<u64> {
        self.statistics.rewind()?;
        let mut text = String::new();
        self.statistics.read_to_string(&mut text)?;
        let prefix = format!("{}:", self.name);
        let line = text.lines().map(str::trim_start).find_map(|line| line.strip_prefix(&prefix)).unwrap_or("");
        // Receive and transmit have eight columns each; the fourth of each is "drop".
        let drops = |column: usize| line.split_whitespace().nth(column).and_then(|word| word.parse::<u64>().ok());
        if let Device::Packet { socket, .. } = &self.device {
            self.dropped_at_socket += u64::from(socket.dropped()?);
        }
        Ok(drops(3).unwrap_or(0) + drops(11).unwrap_or(0) + self.dropped_at_socket)
    }
}

#[cfg(test)]
mod tests;
