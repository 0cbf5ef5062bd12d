//! The router's summary: its lateness, packets lost outside the scenario, and whether the run is valid.

use cwndlab_engine::Scenario;
use cwndlab_records::kernel::LinkSummary;
use cwndlab_units::Time;
use serde::Serialize;

use crate::config::Limits;
use crate::network::LiveNetwork;

/// Distribution of lateness, the time from a packet's scheduled departure until the router writes the packet. The bins
/// are one microsecond wide, up to 65 ms. The last bin holds all longer times.
#[derive(Clone, Debug)]
pub struct Lateness {
    bins: Vec<u64>,
    count: u64,
    max: Time,
}

const BINS: usize = 1 << 16;

impl Default for Lateness {
    fn default() -> Self {
        Lateness { bins: vec![0; BINS], count: 0, max: Time::ZERO }
    }
}

impl Lateness {
    /// Counts one packet.
    pub fn add(&mut self, late: Time) {
        let bin = (late.as_nanos() / 1000).min(BINS as u64 - 1);
        self.bins[bin as usize] += 1;
        self.count += 1;
        self.max = self.max.max(late);
    }

    /// The lateness that the given share of the packets does not exceed, rounded up to a microsecond; zero without
    /// packets.
    pub fn percentile(&self, share: f64) -> Time {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                let upper = Time::from_micros(bin as u64 + 1);
                return if bin == BINS - 1 { self.max } else { upper.min(self.max) };
            }
        }
        Time::ZERO
    }
}

/// The router's summary, which is printed as one line of JSON at the end.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Always "summary".
    pub event: &'static str,
    /// Whether the run stayed within its limits. If it did not, none of its numbers is valid.
    pub valid: bool,
    /// The limits that the run exceeded.
    pub invalid_because: Vec<String>,
    /// The kernel's release.
    pub kernel: String,
    /// Length of the run.
    pub wall_ns: u64,
    /// CPU time of the router divided by wall time.
    pub cpu_share: f64,
    /// Whether real-time scheduling was granted.
    pub real_time: bool,
    /// Packets written.
    pub packets: u64,
    /// Median lateness.
    pub lateness_p50_ns: u64,
    /// 99th percentile of lateness.
    pub lateness_p99_ns: u64,
    /// 99.9th percentile of lateness.
    pub lateness_p999_ns: u64,
    /// Largest lateness.
    pub lateness_max_ns: u64,
    /// Packets still in the network at the end.
    pub packets_inside: usize,
    /// The ports in the configuration's order.
    pub ports: Vec<PortSummary>,
    /// The links in the scenario's order.
    pub links: Vec<LinkSummary>,
    /// The links' counters at each of `snapshots_ns`.
    pub link_snapshots: Vec<Vec<LinkSummary>>,
}

impl Summary {
    /// The summary as a line of JSON.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a summary is plain data")
    }
}

/// Counters of a port.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortSummary {
    /// The device.
    pub device: String,
    /// Packets read.
    pub read: u64,
    /// Packets written.
    pub written: u64,
    /// Packets that could not be written.
    pub write_errors: u64,
    /// Packets read that are not IP (such as a kernel's own router solicitations).
    pub ignored: u64,
    /// Packets read whose destination is not the address of a connected port.
    pub unroutable: u64,
    /// Packets read that exceed the device's MTU, which happens if segmentation offload is on.
    pub oversized: u64,
    /// Packets that the kernel dropped at the device.
    pub kernel_drops: u64,
}

/// The summaries of all links.
pub fn links(scenario: &Scenario, network: &mut LiveNetwork, now: Time) -> Vec<LinkSummary> {
    let of = |(index, spec): (usize, &cwndlab_engine::LinkSpec)| {
        let regions = network.regions(index, now);
        LinkSummary::new(spec.name.clone(), &network.counters(index, now), regions)
    };
    scenario.links.iter().enumerate().map(of).collect()
}

/// The limits that a run exceeded, in words.
pub fn violations(limits: &Limits, lateness: &Lateness, cpu_share: f64, ports: &[PortSummary]) -> Vec<String> {
    let mut broken = Vec::new();
    for (share, name, limit) in [
        (0.99, "p99", limits.lateness_p99_ns),
        (0.999, "p999", limits.lateness_p999_ns),
        (1.0, "max", limits.lateness_max_ns),
    ] {
        let late = lateness.percentile(share);
        if late > limit {
            let ms = |time: Time| time.as_secs_f64() * 1e3;
            broken.push(format!(
                "{name}-lateness: packets were {:.3} ms late; the limit is {} ms",
                ms(late),
                ms(limit)
            ));
        }
    }
    if cpu_share > limits.cpu_share {
        broken.push(format!("cpu-share: the router used {cpu_share:.2} of a CPU; the limit is {}", limits.cpu_share));
    }
    for port in ports {
        let hidden = port.kernel_drops + port.write_errors;
        if hidden > limits.hidden_drops {
            let (device, limit) = (&port.device, limits.hidden_drops);
            broken.push(format!(
                "hidden-drops: {hidden} packets were lost at {device} outside the scenario's queues; the limit is {limit}"
            ));
        }
        if port.oversized > 0 {
            broken
                .push(format!("{} packets from {} exceed its MTU: turn its offloads off", port.oversized, port.device));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds_to_the_microsecond() {
        let mut lateness = Lateness::default();
        for us in 1..=1000 {
            lateness.add(Time::from_nanos(us * 1000 - 500));
        }
        assert_eq!(lateness.percentile(0.5), Time::from_micros(500));
        assert_eq!(lateness.percentile(0.99), Time::from_micros(990));
        assert_eq!(lateness.percentile(1.0), Time::from_nanos(999_500));
        lateness.add(Time::from_secs(2));
        assert_eq!(lateness.percentile(1.0), Time::from_secs(2));
        assert_eq!(Lateness::default().percentile(0.99), Time::ZERO);
    }

    #[test]
    fn each_broken_limit_is_named() {
        let mut lateness = Lateness::default();
        assert_eq!(violations(&Limits::default(), &lateness, 0.1, &[]), Vec::<String>::new());
        lateness.add(Time::from_secs(1));
        let port = PortSummary { device: "t0".into(), kernel_drops: 2, oversized: 1, ..PortSummary::default() };
        let broken = violations(&Limits::default(), &lateness, 0.9, &[port]);
        let names = broken.iter().map(|text| text.split(':').next().unwrap_or_default()).collect::<Vec<_>>();
        assert_eq!(names[..5], ["p99-lateness", "p999-lateness", "max-lateness", "cpu-share", "hidden-drops"]);
        assert!(broken[4].contains("2 packets were lost at t0"), "{}", broken[4]);
        assert!(broken[5].contains("offloads") && broken.len() == 6, "{broken:?}");
    }

    #[test]
    fn a_stall_that_hits_one_packet_in_thousands_is_within_the_limits_and_a_longer_one_is_not() {
        let mut lateness = Lateness::default();
        for _ in 0..5000 {
            lateness.add(Time::from_micros(30));
        }
        lateness.add(Time::from_millis(18));
        assert_eq!(violations(&Limits::default(), &lateness, 0.1, &[]), Vec::<String>::new());
        lateness.add(Time::from_millis(60));
        assert!(violations(&Limits::default(), &lateness, 0.1, &[])[0].starts_with("max-lateness: "));
    }

    #[test]
    fn a_limit_may_be_reached_but_not_exceeded() {
        let limits = Limits {
            lateness_p99_ns: Time::from_millis(3),
            lateness_p999_ns: Time::from_millis(3),
            lateness_max_ns: Time::from_millis(3),
            hidden_drops: 5,
            cpu_share: 0.5,
        };
        let port = |kernel_drops, write_errors| PortSummary { write_errors, kernel_drops, ..PortSummary::default() };
        let broken = |late: u64, cpu_share: f64, port: PortSummary| {
            let mut lateness = Lateness::default();
            lateness.add(Time::from_nanos(late));
            violations(&limits, &lateness, cpu_share, &[port])
        };
        assert_eq!(broken(3_000_000, 0.5, port(3, 2)), Vec::<String>::new());
        assert_eq!(broken(0, 0.0, port(2, 4)).len(), 1);
        let late = broken(3_000_001, 0.51, port(0, 0));
        assert_eq!(late[0], "p99-lateness: packets were 3.000 ms late; the limit is 3 ms");
        assert_eq!(late[3], "cpu-share: the router used 0.51 of a CPU; the limit is 0.5");
        assert_eq!(late.len(), 4);
    }
}
