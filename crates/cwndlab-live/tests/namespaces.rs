//! The router between network namespaces, with this kernel's own TCP. The tests need root, `ip` and, for TUN,
//! `/dev/net/tun`. If one of these is missing, a test reports this and ends. The asserted bounds on times hold on a
//! loaded machine, too. No packet may arrive before its time. How late packets are depends on the machine; the router's
//! summary states it.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{server, sh, skip, tun, with_tun, Namespaces, Router};
use cwndlab_live::sys::monotonic_ns;
use serde_json::{json, Value};

/// The configuration for two nodes with a link in each direction.
fn config(namespaces: &Namespaces, devices: [Value; 2], rate_bps: u64, delay_ms: u64, queue: &Value) -> Value {
    let link = |name: &str, from: u32, to: u32| json!({"name": name, "from": from, "to": to, "rate_bps": rate_bps, "delay_ns": delay_ms * 1_000_000, "queue": queue});
    let [a, b] = devices;
    json!({
        "seed": 1,
        "scenario": {
            "duration_ns": 1_000_000_000, "nodes": ["a", "b"], "tcp": [], "traffic": [],
            "links": [link("a>b", 0, 1), link("b>a", 1, 0)]
        },
        "ports": [
            {"node": 0, "addresses": ["10.93.0.1"], "netns": namespaces.path(0), "device": a},
            {"node": 1, "addresses": ["10.93.0.2"], "netns": namespaces.path(1), "device": b}
        ]
    })
}

/// A server in the second namespace that accepts one connection, reads to the end of the stream and answers with one
/// byte. Returns the number of bytes read.
fn sink(namespaces: &Namespaces) -> thread::JoinHandle<u64> {
    let (ready, is_ready) = std::sync::mpsc::channel();
    let handle = namespaces.run(1, move || {
        let listener = TcpListener::bind(server()).unwrap();
        ready.send(()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let mut total = 0;
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                length => total += length as u64,
            }
        }
        stream.write_all(b"x").unwrap();
        total
    });
    is_ready.recv().unwrap();
    handle
}

/// Sends `bytes` from the first namespace. Returns the time until the connection was established and the total time, in
/// seconds.
fn send(namespaces: &Namespaces, bytes: usize) -> (f64, f64) {
    let client = namespaces.run(0, move || {
        let start = monotonic_ns();
        let mut stream = TcpStream::connect_timeout(&server(), Duration::from_secs(30)).unwrap();
        let connected = monotonic_ns();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&vec![7; bytes]).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        let seconds = |ns: u64| ns as f64 / 1e9;
        (seconds(connected - start), seconds(monotonic_ns() - start))
    });
    client.join().unwrap()
}

#[test]
fn a_kernels_tcp_sees_the_delay_and_the_rate_of_the_links() {
    let Some(namespaces) = with_tun("rate") else { return };
    let queue = json!({"kind": "drop-tail", "limit": 50});
    let router = Router::start(&config(&namespaces, [tun(), tun()], 10_000_000, 20, &queue));
    let received = sink(&namespaces);
    let (connect_s, total_s) = send(&namespaces, 500_000);
    assert_eq!(received.join().unwrap(), 500_000);
    let summary = router.stop();
    // A SYN and its answer take at least the time of 60 bytes and 20 ms in each direction.
    assert!(connect_s >= 0.040_096, "connected after {connect_s} s, before the packets could have arrived");
    assert!(connect_s < 0.5, "connected after {connect_s} s");
    assert!(total_s >= 0.4 + 0.080, "500 kB in {total_s} s at 10 Mb/s is too fast");
    assert!(total_s < 5.0, "500 kB took {total_s} s at 10 Mb/s");
    let (there, back) = (&summary["links"][0], &summary["links"][1]);
    assert!(there["bytes"].as_u64().unwrap() > 500_000);
    assert_eq!(there["arrivals"], summary["ports"][0]["read"].as_u64().unwrap() - ignored(&summary, 0));
    assert_eq!(back["arrivals"], summary["ports"][1]["read"].as_u64().unwrap() - ignored(&summary, 1));
    assert_eq!(summary["packets_inside"], 0);
    eprintln!("connect {connect_s:.6} s, transfer {total_s:.3} s, {summary}");
}

fn ignored(summary: &Value, port: usize) -> u64 {
    let port = &summary["ports"][port];
    port["ignored"].as_u64().unwrap() + port["unroutable"].as_u64().unwrap()
}

#[test]
fn red_marks_a_kernels_ecn_flow_in_place_of_dropping_and_the_receiver_takes_the_packets() {
    let Some(namespaces) = with_tun("ecn") else { return };
    for index in 0..2 {
        namespaces.sysctl(index, "tcp_ecn", "1");
    }
    let queue =
        json!({"kind": "red", "limit": 200, "min_th": 3, "max_th": 100, "max_p": 0.5, "w_q": 0.05, "ecn": true});
    let mut config = config(&namespaces, [tun(), tun()], 5_000_000, 5, &queue);
    let trace = std::env::temp_dir().join(format!("cwndlab-{}-ecn.csv", std::process::id()));
    config["trace"] = json!(trace);
    config["scenario"]["probes"] = json!({"queues": [0], "queue_interval_ns": 10_000_000});
    let router = Router::start(&config);
    let received = sink(&namespaces);
    send(&namespaces, 400_000);
    assert_eq!(received.join().unwrap(), 400_000);
    let summary = router.stop();
    let marks = summary["links"][0]["marks"].as_u64().unwrap();
    assert!(marks > 0, "{summary}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let samples = std::fs::read_to_string(trace.with_extension("csv.queues.csv")).unwrap();
    std::fs::remove_file(&trace).unwrap();
    std::fs::remove_file(trace.with_extension("csv.queues.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let count = |event: &str, ecn: &str| rows.iter().filter(|row| row[1] == event && row[14] == ecn).count() as u64;
    assert_eq!(count("mark", "3"), marks);
    // With a wrong checksum, the receiver would have dropped every marked packet.
    assert_eq!(count("out", "3"), marks);
    assert!(rows
        .iter()
        .any(|row| row[1] == "in" && row[2] == "1" && row[8].parse::<u8>().is_ok_and(|f| f & 0x40 != 0)));
    assert!(samples.lines().count() > 20, "a sample each 10 ms");
    assert!(
        samples.lines().skip(1).any(|line| !line.ends_with(",0") && !line.ends_with(',')),
        "RED's average is sampled"
    );
}

#[test]
fn packet_sockets_serve_where_tun_is_closed() {
    // Namespaces 0 and 1 are the hosts. The far ends of their veth pairs are in namespace 2, where the router opens
    // them.
    let Some(namespaces) = Namespaces::new("veth", 3) else { return };
    let mut devices = Vec::new();
    for index in 0..2 {
        let (host, inner) = (&namespaces.names[index], &namespaces.names[2]);
        let mac = format!("02:00:00:00:00:0{}", index + 1);
        let pair = format!("ip -n {host} link add cw0 address {mac} type veth peer name far{index} netns {inner}");
        if let Err(reason) = sh(&pair) {
            skip(&reason);
            return;
        }
        // No address resolution: nobody at the far end would answer.
        namespaces.ip(index, "link set cw0 arp off up");
        namespaces.ip(index, &format!("address add 10.93.0.{}/24 dev cw0", index + 1));
        namespaces.ip(2, &format!("link set far{index} up"));
        let near = json!({"netns": namespaces.path(index), "name": "cw0"});
        devices.push(json!({"kind": "packet", "name": format!("far{index}"), "peer_mac": mac, "near": near}));
    }
    let devices: [Value; 2] = devices.try_into().unwrap();
    let mut config = config(&namespaces, devices, 10_000_000, 10, &json!({"kind": "codel"}));
    for port in 0..2 {
        config["ports"][port]["netns"] = json!(namespaces.path(2));
    }
    let router = Router::start(&config);
    let received = sink(&namespaces);
    let (connect_s, _) = send(&namespaces, 200_000);
    assert_eq!(received.join().unwrap(), 200_000);
    assert!(connect_s >= 0.020, "connected after {connect_s} s");
    let summary = router.stop();
    assert_eq!(summary["ports"][0]["oversized"], 0);
    assert_eq!(summary["packets_inside"], 0);
}

#[test]
fn a_run_past_its_limits_is_invalid_and_says_why() {
    let Some(namespaces) = with_tun("limits") else { return };
    let mut config = config(&namespaces, [tun(), tun()], 10_000_000, 1, &json!({"kind": "infinite"}));
    config["limits"] = json!({"lateness_p99_ns": 1, "lateness_max_ns": 1});
    config["real_time_priority"] = json!(0);
    let router = Router::start(&config);
    let received = sink(&namespaces);
    send(&namespaces, 50_000);
    received.join().unwrap();
    let summary = router.stop();
    assert_eq!(summary["valid"], false);
    assert!(summary["invalid_because"][0].as_str().unwrap().contains("late"), "{summary}");
}

#[test]
fn a_wrong_configuration_ends_with_code_2_and_a_missing_namespace_with_1() {
    let run = |config: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cwndlab-router"))
            .arg("-")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(config.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = run(r#"{"seed": 1}"#);
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("missing field"), "{message}");
    let config = json!({
        "seed": 1, "duration_ns": 1,
        "scenario": {"duration_ns": 1, "nodes": ["a"], "links": [], "tcp": [], "traffic": []},
        "ports": [{"node": 0, "addresses": [], "netns": "/nonexistent/ns", "device": tun()}]
    });
    let (code, message) = run(&config.to_string());
    assert_eq!(code, Some(1), "{message}");
    assert!(message.contains("entering network namespace /nonexistent/ns"), "{message}");
}
