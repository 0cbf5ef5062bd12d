//! The main loop over a machine whose clock moves only while the router waits.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{json, Value};

use super::*;

const MS: u64 = 1_000_000;
/// The monotonic clock at time 0 of the router.
const START_NS: u64 = 7_000;

/// A packet that left: when, by which port, and its bytes.
type Left = (u64, u32, Vec<u8>);

/// Two or three ports. Packets come at given times after the router's start, and the router wakes up `late_ns` after the
/// time that it asked for.
#[derive(Default)]
struct Machine {
    now_ns: u64,
    late_ns: u64,
    end_ns: u64,
    /// Packets to come: time, port and bytes, in the order of time.
    coming: Vec<(u64, u32, Vec<u8>)>,
    reads: usize,
    waits: usize,
    left: Vec<Left>,
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Machine>>);

impl System for Shared {
    fn now_ns(&self) -> u64 {
        START_NS + self.0.borrow().now_ns
    }

    /// A quarter of the clock, after what was used before.
    fn cpu_ns(&self) -> u64 {
        MS + self.0.borrow().now_ns / 4
    }

    fn wait(&mut self, until_ns: Option<u64>, ready: &mut Vec<u32>) -> io::Result<bool> {
        let mut machine = self.0.borrow_mut();
        machine.waits += 1;
        let next = machine.coming.first().map_or(u64::MAX, |packet| packet.0);
        if next > machine.now_ns {
            let until = until_ns.map_or(u64::MAX, |until| until - START_NS + machine.late_ns);
            machine.now_ns = machine.now_ns.max(until.min(next).min(machine.end_ns));
        }
        ready.clear();
        ready.extend(machine.coming.first().filter(|packet| packet.0 <= machine.now_ns).map(|packet| packet.1));
        Ok(machine.now_ns >= machine.end_ns)
    }

    fn read(&mut self, port: u32, buffer: &mut [u8]) -> Option<usize> {
        let mut machine = self.0.borrow_mut();
        machine.reads += 1;
        let is_due = |packet: &(u64, u32, Vec<u8>)| packet.0 <= machine.now_ns && packet.1 == port;
        if !machine.coming.first().is_some_and(is_due) {
            return None;
        }
        let (_, _, bytes) = machine.coming.remove(0);
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Some(bytes.len())
    }

    fn write(&mut self, port: u32, packet: &[u8]) -> bool {
        let mut machine = self.0.borrow_mut();
        let at = machine.now_ns;
        machine.left.push((at, port, packet.to_vec()));
        true
    }

    fn drops(&mut self, port: u32) -> io::Result<u64> {
        Ok(u64::from(port) + 3)
    }
}

/// UDP over IPv4 from 10.0.0.`from`, port 7, to 10.0.0.`to`, port 9.
fn packet(from: u8, to: u8, ecn: u8, bytes: u16) -> Vec<u8> {
    let [high, low] = bytes.to_be_bytes();
    let mut made = vec![0; bytes.into()];
    made[..20].copy_from_slice(&[0x45, ecn, high, low, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    let sum = !checksum(&made[..20]);
    made[10..12].copy_from_slice(&sum.to_be_bytes());
    let [high, low] = (bytes - 20).to_be_bytes();
    made[20..26].copy_from_slice(&[0, 7, 0, 9, high, low]);
    made
}

/// The sum of RFC 1071 over a header.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Two nodes, 8 Mb/s (1000 bytes in 1 ms) and 5 ms in each direction.
fn config() -> Value {
    let link = |name: &str, from: u32, to: u32| {
        json!({"name": name, "from": from, "to": to, "rate_bps": 8_000_000, "delay_ns": 5 * MS,
               "queue": {"kind": "infinite"}})
    };
    let port = |node: u32| {
        json!({"node": node, "addresses": [format!("10.0.0.{}", node + 1)],
               "device": {"kind": "tun", "name": format!("t{node}")}})
    };
    json!({
        "seed": 1, "ports": [port(0), port(1)],
        "scenario": {"duration_ns": 1_000_000_000, "nodes": ["a", "b"], "tcp": [], "traffic": [],
                     "links": [link("a>b", 0, 1), link("b>a", 1, 0)]},
    })
}

fn run(config: &Value, machine: Machine) -> (Result<Summary, RouterError>, Machine) {
    let config = RouterConfig::from_json(&config.to_string()).unwrap();
    let shared = Shared(Rc::new(RefCell::new(machine)));
    let host = Host { kernel: "6.0".into(), real_time: false, mtus: vec![1000; config.ports.len()] };
    let router = Router::new(&config, shared.clone(), host);
    let summary = router.and_then(|router| router.run(START_NS));
    (summary, shared.0.take())
}

/// A file that this process alone uses.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("cwndlab-router-{}-{name}", std::process::id()))
}

fn read_and_remove(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    text
}

#[test]
fn the_trace_has_each_packet_as_it_enters_and_leaves_and_the_queue_at_its_times() {
    let trace = scratch("trace.csv");
    let mut config = config();
    config["trace"] = json!(trace);
    config["scenario"]["probes"] = json!({"queues": [0], "queue_interval_ns": 2 * MS});
    let coming = vec![(MS / 2, 0, packet(1, 2, 2, 1000)), (MS / 2, 0, packet(1, 2, 0, 1000))];
    let (summary, _) = run(&config, Machine { coming, end_ns: 9 * MS, ..Machine::default() });
    assert_eq!(summary.unwrap().packets, 2);
    let lines = read_and_remove(&trace);
    let expected = [
        "500000,in,0,0,10.0.0.1,10.0.0.2,7,9,0,0,0,0,972,1000,2,",
        "500000,in,0,1,10.0.0.1,10.0.0.2,7,9,0,0,0,0,972,1000,0,",
        "6500000,out,1,0,10.0.0.1,10.0.0.2,7,9,0,0,0,0,972,1000,2,",
        "7500000,out,1,1,10.0.0.1,10.0.0.2,7,9,0,0,0,0,972,1000,0,",
    ];
    assert_eq!(lines.lines().skip(1).collect::<Vec<_>>(), expected);
    let mut name = trace.into_os_string();
    name.push(".queues.csv");
    let samples = read_and_remove(Path::new(&name));
    // At 2 ms the second packet is being sent, until 2.5 ms.
    let expected = ["0,0,0,0,", "2000000,0,1,1000,", "4000000,0,0,0,", "6000000,0,0,0,", "8000000,0,0,0,"];
    assert_eq!(samples.lines().skip(1).collect::<Vec<_>>(), expected);
}

#[test]
fn counters_are_read_at_each_snapshot_and_at_the_end() {
    let mut config = config();
    config["snapshots_ns"] = json!([2 * MS, 4 * MS]);
    config["scenario"]["links"][0]["queue"] = json!({"kind": "red", "limit": 50, "min_th": 5.0, "max_th": 15.0});
    let coming = vec![(MS / 2, 0, packet(1, 2, 0, 1000)), (3 * MS, 0, packet(1, 2, 0, 500))];
    let (summary, machine) = run(&config, Machine { coming, end_ns: 6 * MS, ..Machine::default() });
    let summary = summary.unwrap();
    let seen = |links: &[LinkSummary]| {
        assert_eq!((links[0].name.as_str(), links[1].name.as_str(), links.len()), ("a>b", "b>a", 2));
        assert_eq!((links[1].arrivals, links[1].red_ns), (0, None));
        (links[0].arrivals, links[0].bytes, links[0].busy_ns, links[0].red_ns)
    };
    let counted: Vec<_> = summary.link_snapshots.iter().map(|links| seen(links)).collect();
    // RED's average of one packet stays below its lower threshold.
    let expected = [(1, 1000, MS, Some([2 * MS, 0, 0])), (2, 1500, MS + MS / 2, Some([4 * MS, 0, 0]))];
    assert_eq!(counted, expected);
    assert_eq!(seen(&summary.links), (2, 1500, MS + MS / 2, Some([6 * MS, 0, 0])));
    assert_eq!((summary.packets_inside, machine.left.len()), (2, 0), "both are on their way for 5 ms");
}

#[test]
fn the_router_ends_after_its_duration_or_when_the_system_says_so() {
    let mut config = config();
    let (summary, machine) = run(&config, Machine { end_ns: 8 * MS, ..Machine::default() });
    let summary = summary.unwrap();
    assert_eq!((summary.wall_ns, summary.cpu_share, machine.waits), (8 * MS, 0.25, 1));
    config["duration_ns"] = json!(3 * MS);
    let coming = vec![(3 * MS, 0, packet(1, 2, 0, 100))];
    let (summary, machine) = run(&config, Machine { coming, end_ns: 8 * MS, ..Machine::default() });
    let summary = summary.unwrap();
    assert_eq!((summary.event, summary.wall_ns, summary.ports[0].read), ("summary", 3 * MS, 1));
    assert_eq!((machine.waits, summary.valid, summary.ports[1].kernel_drops), (1, true, 0));
}

#[test]
fn lateness_is_the_time_from_a_packets_departure_to_its_writing() {
    let coming = vec![(MS, 0, packet(1, 2, 0, 1000)), (20 * MS, 0, packet(1, 2, 0, 1000))];
    let machine = Machine { coming, end_ns: 40 * MS, late_ns: 70_000, ..Machine::default() };
    let (summary, machine) = run(&config(), machine);
    let summary = summary.unwrap();
    assert_eq!(machine.left.iter().map(|left| left.0).collect::<Vec<_>>(), [7_070_000, 26_070_000]);
    let found = [summary.lateness_p50_ns, summary.lateness_p99_ns, summary.lateness_p999_ns, summary.lateness_max_ns];
    assert_eq!(found, [70_000; 4]);
    assert_eq!((summary.ports[0].read, summary.ports[1].written, summary.ports[0].written), (2, 2, 0));
}

#[test]
fn another_packet_is_read_at_once_only_if_the_last_two_were_close() {
    // (time of the second packet after the first in ns, reads in all)
    for (gap, reads) in [(0, 3), (20_000, 3), (20_001, 2)] {
        let coming = vec![(MS, 0, packet(1, 2, 0, 100)), (MS + gap, 0, packet(1, 2, 0, 100))];
        let (summary, machine) = run(&config(), Machine { coming, end_ns: 40 * MS, ..Machine::default() });
        assert_eq!((summary.unwrap().ports[0].read, machine.reads), (2, reads), "{gap}");
    }
    // Of 40 packets at once the first is read alone, and then at most 32 before the router looks around.
    let coming = vec![(MS, 0, packet(1, 2, 0, 100)); 40];
    let (summary, machine) = run(&config(), Machine { coming, end_ns: MS, ..Machine::default() });
    assert_eq!((summary.unwrap().ports[0].read, machine.reads), (1, 1));
    let coming = vec![(MS, 0, packet(1, 2, 0, 100)); 40];
    let (summary, machine) = run(&config(), Machine { coming, end_ns: 40 * MS, ..Machine::default() });
    assert_eq!((summary.unwrap().ports[0].read, machine.reads), (40, 1 + 32 + 8));
}

#[test]
fn what_is_not_for_a_port_is_counted_by_its_kind() {
    let mut to_all_routers = vec![0x60, 0, 0, 0, 0, 8, 58, 255];
    to_all_routers.resize(48, 0);
    (to_all_routers[24], to_all_routers[25], to_all_routers[39]) = (0xff, 2, 2); // ff02::2
    let mut elsewhere = to_all_routers.clone();
    (elsewhere[24], elsewhere[25]) = (0xfd, 0x93);
    let mut multicast = packet(1, 1, 0, 100);
    multicast[16] = 224;
    let no_ip = vec![0; 60];
    // (packet, ignored, unroutable, oversized)
    let cases = [
        (to_all_routers, 1, 0, 0),
        (no_ip, 1, 0, 0),
        (elsewhere, 0, 1, 0),
        (multicast, 0, 1, 0),
        (packet(1, 9, 0, 100), 0, 1, 0),
        (packet(1, 2, 0, 1000), 0, 0, 0),
        (packet(1, 2, 0, 1001), 0, 0, 1),
    ];
    for (bytes, ignored, unroutable, oversized) in cases {
        let coming = vec![(MS, 0, bytes.clone())];
        let (summary, _) = run(&config(), Machine { coming, end_ns: 20 * MS, ..Machine::default() });
        let summary = summary.unwrap();
        let port = &summary.ports[0];
        let found = (port.read, port.ignored, port.unroutable, port.oversized);
        assert_eq!(found, (1, ignored, unroutable, oversized), "{bytes:?}");
        assert_eq!(summary.packets, u64::from(ignored + unroutable == 0), "{bytes:?}");
    }
}

#[test]
fn ect0_of_the_named_sources_becomes_ect1_with_a_true_checksum() {
    let mut config = config();
    config["ports"][0]["ect1"] = json!(["10.0.0.1"]);
    // (source, ECN field as it enters and as it leaves)
    for (from, ecn, leaves) in [(1, 2, 1), (1, 0, 0), (1, 3, 3), (1, 1, 1), (3, 2, 2)] {
        let coming = vec![(0, 0, packet(from, 2, ecn, 100))];
        let (_, machine) = run(&config, Machine { coming, end_ns: 20 * MS, ..Machine::default() });
        let (_, port, bytes) = &machine.left[0];
        assert_eq!((*port, bytes[1], checksum(&bytes[..20])), (1, leaves, 0xffff), "{from} {ecn}");
    }
}

#[test]
fn the_routers_own_datagrams_enter_at_their_times_and_end_in_it() {
    let trace = scratch("datagrams.csv");
    let mut config = config();
    config["trace"] = json!(trace);
    config["scenario"]["tcp"] = json!([cwndlab_tcp::Profile::Rfc5681.config()]);
    config["scenario"]["traffic"] = json!([{
        "name": "x", "client": 0, "server": 1, "start_ns": MS, "tcp_client": 0, "tcp_server": 0,
        "app": {"kind": "cbr", "rate_bps": 1_000_000, "packet_bytes": {"kind": "fixed", "value": 500}}}]);
    config["datagrams"] = json!([{"traffic": 0, "client": "10.0.0.1:4", "server": "10.0.0.2:5"}]);
    // A packet of TCP to the same address, and one of UDP to another, are a kernel's.
    let mut tcp = packet(1, 2, 0, 100);
    tcp[9] = 6;
    config["ports"][1]["addresses"] = json!(["10.0.0.2", "10.0.0.3"]);
    let coming = vec![(0, 0, tcp), (0, 0, packet(1, 3, 0, 100))];
    let (summary, machine) = run(&config, Machine { coming, end_ns: 8 * MS, ..Machine::default() });
    let summary = summary.unwrap();
    assert_eq!(machine.left.iter().map(|left| left.2[19]).collect::<Vec<_>>(), [2, 3]);
    assert_eq!((summary.packets, summary.ports[0].read), (2, 2));
    let lines = read_and_remove(&trace);
    let own: Vec<_> = lines.lines().filter(|line| line.contains(",4,5,")).collect();
    // 500 bytes every 4 ms; the first arrives after 0.5 ms of sending and 5 ms.
    let expected = [
        "1000000,in,0,2,10.0.0.1,10.0.0.2,4,5,0,0,0,0,472,500,0,",
        "5000000,in,0,3,10.0.0.1,10.0.0.2,4,5,0,0,0,0,472,500,0,",
        "6500000,out,1,2,10.0.0.1,10.0.0.2,4,5,0,0,0,0,472,500,0,",
    ];
    assert_eq!(own, expected);
}

#[test]
fn packets_pass_through_the_device_of_a_kernels_queue() {
    let mut config = config();
    config["scenario"]["links"][0]["queue"] = json!({"kind": "kernel", "qdisc": "fq_codel"});
    let device = json!({"node": 0, "link": 0, "addresses": [], "device": {"kind": "tun", "name": "q0"}});
    config["ports"].as_array_mut().unwrap().push(device);
    let sent = packet(1, 2, 2, 1000);
    let mut marked = packet(1, 2, 3, 1000);
    marked[8] = 63;
    let unknown = packet(3, 2, 0, 1000);
    let coming = vec![(MS, 0, sent.clone()), (2 * MS, 2, marked.clone()), (3 * MS, 2, unknown)];
    let (summary, machine) = run(&config, Machine { coming, end_ns: 20 * MS, ..Machine::default() });
    let summary = summary.unwrap();
    let left: Vec<_> = machine.left.iter().map(|(at, port, bytes)| (*at, *port, bytes[1])).collect();
    assert_eq!(left, [(MS, 2, 2), (8 * MS, 1, 3)], "to the queue, and marked from it");
    assert_eq!((summary.ports[2].read, summary.ports[2].unroutable), (2, 1));
    assert_eq!((summary.links[0].marks, summary.links[0].arrivals), (1, 1));
}

#[test]
fn a_mark_is_set_as_a_packet_leaves_and_the_capture_tells_of_it() {
    let capture = scratch("capture.pcapng");
    let mut config = config();
    config["capture"] = json!({"path": capture, "port": 0});
    config["scenario"]["links"][0]["queue"] =
        json!({"kind": "codel", "ecn": true, "target_ns": MS, "interval_ns": 2 * MS});
    let coming = vec![(0, 0, packet(1, 2, 1, 1000)); 9];
    let (_, machine) = run(&config, Machine { coming, end_ns: 20 * MS, ..Machine::default() });
    let file = fs::read(&capture).unwrap();
    fs::remove_file(&capture).unwrap();
    let has = |wanted: &[u8]| file.windows(wanted.len()).filter(|found| *found == wanted).count();
    let marks = machine.left.iter().filter(|left| left.2[1] == 3).count();
    assert!(machine.left.iter().all(|left| checksum(&left.2[..20]) == 0xffff));
    assert!(marks > 0 && marks < 9, "{marks}");
    assert_eq!((has(b"marked CE at a>b"), has(&[0x45, 1, 3, 232])), (marks, 9));
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let mut config = config();
    let said = |config: &Value| {
        let coming = vec![(MS, 0, packet(1, 2, 0, 100))];
        run(config, Machine { coming, end_ns: 9 * MS, ..Machine::default() }).0.unwrap_err().to_string()
    };
    config["trace"] = json!("/absent/trace.csv");
    assert!(said(&config).starts_with("creating /absent/trace.csv: "));
    config["trace"] = json!("/dev/full");
    assert!(said(&config).starts_with("writing the trace: "));
    config["trace"] = json!(null);
    config["capture"] = json!({"path": "/absent/x.pcapng", "port": 0});
    assert!(said(&config).starts_with("creating /absent/x.pcapng: "));
}
