//! Runs a benchmark workload on the simulator, and prints one JSON object.
//!
//! `bench WORKLOAD [DURATION_S]` prints the CPU time of the run loop (without set-up), packet-hops, goodput and drops.
//! `benches/README.md` describes the workloads, which other simulators run, too. `bench WORKLOAD+PROBE` also records
//! what a probe sees: `connections`, `segments`, `queue` (the queue's length at every arrival), `samples` (its length
//! every 10 ms) or `cwnd`. `bench SCENARIO.json [DURATION_S]` runs any scenario; the CPU time includes recording.

use std::error::Error;
use std::fs;
use std::path::Path;

use cwndlab_engine::{Budget, ConnectionRecord, LinkSpec, Probe, ProbeSpec, Scenario, Simulation, TrafficSpec};
use cwndlab_net::queue::{DropTailConfig, QueueConfig, Unit};
use cwndlab_net::{DropCause, LinkCounters};
use cwndlab_records::column::Batch;
use cwndlab_records::{Recorder, Records};
use cwndlab_tcp::{InitialWindow, MaxWindow, Profile, RecoveryKind, RtoConfig, TcpConfig};
use cwndlab_traffic::{AppSpec, BulkSpec, Distributions, Side};
use cwndlab_units::{Rate, Time};

/// A dumbbell. Each pair of hosts has its own access links, with ten times the bottleneck's rate.
struct Workload {
    name: &'static str,
    flows: u32,
    bottleneck_bps: u64,
    rtt: Time,
    queue_packets: u64,
    duration: Time,
    stagger: Time,
    /// Segments that each flow sends; unlimited if `None`.
    segments: Option<u64>,
    pairs: u32,
}

const WORKLOADS: [Workload; 10] = [
    workload("10x1.5M", 10, 1_500_000, 100, 25, 2400, 100_000, 10),
    workload("50x100M", 50, 100_000_000, 20, 250, 60, 20_000, 50),
    workload("200x1G", 200, 1_000_000_000, 20, 2500, 10, 5_000, 200),
    workload("1000x10G", 1000, 10_000_000_000, 20, 25_000, 2, 500, 1000),
    Workload { segments: Some(10), ..workload("short100k", 100_000, 1_000_000_000, 20, 2500, 16, 150, 100) },
    workload("live10k", 10_000, 10_000_000_000, 100, 25_000, 3, 10, 100),
    workload("live100k", 100_000, 10_000_000_000, 200, 25_000, 3, 10, 100),
    Workload { segments: Some(10), ..workload("short1M", 1_000_000, 1_000_000_000, 20, 2500, 160, 150, 100) },
    Workload {
        segments: Some(333),
        rtt: Time::from_micros(100),
        ..workload("incast", 200, 10_000_000_000, 0, 250, 10, 1, 200)
    },
    workload("5000x10G", 5_000, 10_000_000_000, 100, 100_000, 600, 100, 5_000),
];

#[allow(clippy::too_many_arguments)] // a row of the table above
const fn workload(
    name: &'static str,
    flows: u32,
    bottleneck_bps: u64,
    rtt_ms: u64,
    queue_packets: u64,
    duration_s: u64,
    stagger_us: u64,
    pairs: u32,
) -> Workload {
    Workload {
        name,
        flows,
        bottleneck_bps,
        rtt: Time::from_millis(rtt_ms),
        queue_packets,
        duration: Time::from_secs(duration_s),
        stagger: Time::from_micros(stagger_us),
        segments: None,
        pairs,
    }
}

/// The one-way TCP that the other simulators use: SACK, 1500-byte packets, an ACK for each packet, and a timer tick of
/// 10 ms.
fn tcp() -> TcpConfig {
    TcpConfig {
        mss: 1500,
        sack: true,
        recovery: Profile::Ns2_1998.recovery(RecoveryKind::Sack),
        initial_window: InitialWindow::Segments(2),
        max_window: MaxWindow::Segments(10_000),
        initial_ssthresh_segments: 10_000,
        rto: RtoConfig {
            tick_ns: Time::from_millis(10),
            initial_ns: Time::from_secs(3),
            min_ns: Time::from_millis(200),
            max_ns: Time::from_secs(60),
            ..Profile::Ns2_1998.config().rto
        },
        ..Profile::Ns2_1998.config()
    }
}

fn scenario(workload: &Workload, duration: Time) -> Scenario {
    let (left, right) = (0, 1);
    let mut links = Vec::new();
    let mut link = |from: u32, to: u32, bps: u64, delay: Time, limit: u64| {
        let queue = QueueConfig::DropTail(DropTailConfig { limit, unit: Unit::Packets, counts_in_service: true });
        links.push(LinkSpec {
            name: format!("{from}>{to}"),
            from,
            to,
            rate_bps: Rate::from_bps(bps),
            capacity: None,
            delay_ns: delay,
            header_bytes: 0,
            queue,
            impairments: Vec::new(),
        });
    };
    let (rate, ample) = (workload.bottleneck_bps, 1_000_000);
    link(left, right, rate, workload.rtt.mul_f64(0.455), workload.queue_packets);
    link(right, left, rate, workload.rtt.mul_f64(0.455), ample);
    for i in 0..workload.pairs {
        let (source, sink) = (2 + 2 * i, 3 + 2 * i);
        let delay = workload.rtt.mul_f64(0.01 * f64::from(i % 10));
        for (a, b, delay) in [(source, left, delay), (right, sink, Time::ZERO)] {
            link(a, b, 10 * rate, delay, ample);
            link(b, a, 10 * rate, delay, ample);
        }
    }
    let traffic = |i: u32| TrafficSpec {
        name: format!("flow {i}"),
        client: 2 + 2 * (i % workload.pairs),
        server: 3 + 2 * (i % workload.pairs),
        tcp_client: 0,
        tcp_server: 0,
        start_ns: workload.stagger * u64::from(i),
        app: AppSpec::Bulk(BulkSpec {
            bytes: None,
            segments: workload.segments,
            from: Side::Client,
            read_rate_bps: None,
            first_s: None,
        }),
        stack: None,
    };
    Scenario {
        duration_ns: duration,
        windows: std::collections::BTreeMap::new(),
        nodes: (0..2 + 2 * workload.pairs).map(|i| i.to_string()).collect(),
        links,
        routes: Vec::new(),
        network: cwndlab_engine::Network::Ipv4,
        ecmp: false,
        tcp: vec![tcp()],
        distributions: Distributions::default(),
        traffic: (0..workload.flows).map(traffic).collect(),
        probes: ProbeSpec { connections: true, ..ProbeSpec::default() },
    }
}

/// Bytes delivered and drops at the bottleneck, counted only at the end of the run.
#[derive(Default)]
struct Totals {
    delivered_bytes: u64,
    drops: u64,
}

impl Probe for Totals {
    const ENABLED: bool = true;
    fn connection(&mut self, record: &ConnectionRecord) {
        self.delivered_bytes += record.bytes_up;
    }
    fn link(&mut self, link: u32, counters: &LinkCounters, _: Option<cwndlab_net::queue::Regions>) {
        if link == 0 {
            self.drops = counters.drops[DropCause::Full as usize];
        }
    }
}

/// CPU seconds of this process, from the scheduler's run time in nanoseconds.
fn cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The peak resident size of this process, in MB.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().map_or(0.0, |kb| kb * 1024.0 / 1e6)
}

fn probes(names: Option<&str>) -> Result<ProbeSpec, Box<dyn Error>> {
    let mut probes = ProbeSpec { connections: true, ..ProbeSpec::default() };
    match names {
        None | Some("connections") => {}
        Some("segments") => probes.segments_at = Some(2),
        Some("queue") => probes.queues = vec![0],
        Some("samples") => (probes.queues, probes.queue_interval_ns) = (vec![0], Some(Time::from_millis(10))),
        Some("cwnd") => probes.cwnd = true,
        Some(other) => return Err(format!("there is no probe {other}").into()),
    }
    Ok(probes)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let asked = arguments.next().unwrap_or_default();
    let given = arguments.next().map(|seconds| seconds.parse().map(Time::from_secs_f64)).transpose()?;
    if Path::new(&asked).extension().is_some_and(|extension| extension == "json") {
        let mut scenario = Scenario::from_json(&fs::read_to_string(&asked)?)?;
        if let Some(duration) = given {
            scenario.duration_ns = duration;
            scenario.windows.clear();
        }
        return recorded(&asked, &scenario);
    }
    let (name, probe) = asked.split_once('+').map_or((&asked[..], None), |(name, probe)| (name, Some(probe)));
    let Some(workload) = WORKLOADS.iter().find(|workload| workload.name == name) else {
        let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
        let names = names.join(", ");
        return Err(format!("usage: bench WORKLOAD|FILE.json [DURATION_S]; the workloads are {names}").into());
    };
    let scenario = Scenario { probes: probes(probe)?, ..scenario(workload, given.unwrap_or(workload.duration)) };
    if probe.is_some() {
        recorded(&asked, &scenario)
    } else {
        counted(workload, scenario)
    }
}

/// One run that records only totals.
fn counted(workload: &Workload, scenario: Scenario) -> Result<(), Box<dyn Error>> {
    let duration = scenario.duration_ns;
    let mut simulation = Simulation::new(&scenario, 1, 0, Totals::default())?.with_budget(Budget::UNLIMITED);
    drop(scenario); // a run needs it no more
    let start = cpu_s();
    simulation.run_until(duration)?;
    let (cpu_s, bytes) = (cpu_s() - start, simulation.connection_bytes());
    let (summary, totals) = simulation.run()?;
    println!(
        "{{\"tool\": \"cwndlab\", \"workload\": \"{}\", \"duration_s\": {}, \"flows\": {}, \"goodput_bps\": {:.0}, \
         \"cpu_s\": {cpu_s:.4}, \"hops\": {}, \"drops\": {}, \"bytes_per_flow\": {}, \"peak_mb\": {:.1}}}",
        workload.name,
        duration.as_secs_f64(),
        workload.flows,
        totals.delivered_bytes as f64 * 8.0 / duration.as_secs_f64(),
        summary.hops,
        totals.drops,
        bytes / workload.flows as usize,
        peak_mb(),
    );
    Ok(())
}

/// One run with its records.
fn recorded(name: &str, scenario: &Scenario) -> Result<(), Box<dyn Error>> {
    let simulation = Simulation::new(scenario, 1, 0, Recorder::new(scenario))?.with_budget(Budget::UNLIMITED);
    let start = cpu_s();
    let (summary, recorder) = simulation.run()?;
    let records = recorder.finish();
    let cpu_s = cpu_s() - start;
    let rows: usize = Records::names().filter_map(|table| records.table(table)).map(Batch::rows).sum();
    println!(
        "{{\"tool\": \"cwndlab\", \"workload\": \"{name}\", \"duration_s\": {}, \"cpu_s\": {cpu_s:.4}, \"hops\": {}, \
         \"rows\": {rows}, \"peak_mb\": {:.1}}}",
        scenario.duration_ns.as_secs_f64(),
        summary.hops,
        peak_mb(),
    );
    Ok(())
}
