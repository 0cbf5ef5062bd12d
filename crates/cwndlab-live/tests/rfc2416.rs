//! Reproduces the times in RFC 2416 with this kernel's TCP, configured to be as simple as a TCP of 1998, and with "real
//! three-buffer limits". Takes ten seconds of real time. Skipped, with the reason, if something that `namespaces.rs`
//! needs is missing.
#![cfg(target_os = "linux")]

mod common;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use common::{server, skip, tun, with_tun, Namespaces, Router};
use serde_json::{json, Value};

/// The maximum difference between a measured time and the calculated one, in seconds.
const TOLERANCE_S: f64 = 0.002;
const PAYLOAD: u32 = 960;

fn config(namespaces: &Namespaces, trace: &str) -> Value {
    let link = |from: u32, to: u32, rate_bps: u64, delay_ms: u64, limit: u32| {
        let queue = json!({"kind": "drop-tail", "limit": limit});
        let delay_ns = delay_ms * 1_000_000;
        json!({"name": format!("{from}>{to}"), "from": from, "to": to, "rate_bps": rate_bps, "delay_ns": delay_ns, "queue": queue})
    };
    json!({
        "seed": 1, "trace": trace,
        "scenario": {
            "duration_ns": 1_000_000_000, "nodes": ["source", "r1", "r2", "receiver"], "tcp": [], "traffic": [],
            "links": [
                link(0, 1, 100_000_000, 0, 100), link(1, 2, 1_500_000, 25, 100), link(2, 3, 9600, 150, 3),
                link(3, 2, 9600, 150, 100), link(2, 1, 1_500_000, 25, 100), link(1, 0, 100_000_000, 0, 100)]
        },
        "ports": [
            {"node": 0, "addresses": ["10.93.0.1"], "netns": namespaces.path(0), "device": tun()},
            {"node": 3, "addresses": ["10.93.0.2"], "netns": namespaces.path(1), "device": tun()}
        ]
    })
}

/// Runs the transfer for `seconds`. Returns the time of each ACK with the number of the last packet that it covers, and
/// the time of each data packet sent with its number. Times count from the first data packet. Returns `None`, with a
/// message on stderr, if the machine was too busy for a valid run.
fn run(name: &str, initial_window: u32, seconds: f64) -> Option<[Vec<(f64, u32)>; 2]> {
    let namespaces = with_tun(name)?;
    for index in 0..2 {
        namespaces.ip(index, "link set cw0 mtu 1000");
        namespaces.ip(index, "link set cw0 gso_max_segs 1");
        let off = "sack dsack timestamps window_scaling recovery early_retrans frto ecn autocorking moderate_rcvbuf";
        for key in off.split(' ') {
            namespaces.sysctl(index, &format!("tcp_{key}"), "0");
        }
        namespaces.sysctl(index, "tcp_no_metrics_save", "1");
    }
    namespaces.ip(0, &format!("route change 10.93.0.0/24 dev cw0 initcwnd {initial_window}"));
    namespaces.ip(1, "route change 10.93.0.0/24 dev cw0 quickack 1");
    let trace = std::env::temp_dir().join(format!("cwndlab-{}-{name}.csv", std::process::id()));
    let router = Router::start(&config(&namespaces, trace.to_str().unwrap()));
    // The receiver opens the connection. If the sender did, the last packet of its handshake would take one of the
    // three buffers.
    let source = namespaces.run(0, move || {
        let listener = TcpListener::bind(("10.93.0.1", server().port())).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        let _ = stream.write_all(&vec![7; 100_000]);
        thread::sleep(Duration::from_secs_f64(seconds));
    });
    let receiver = namespaces.run(1, || TcpStream::connect(("10.93.0.1", server().port())).unwrap());
    source.join().unwrap();
    let stream = receiver.join().unwrap();
    let summary = router.stop();
    drop(stream);
    let text = std::fs::read_to_string(&trace).unwrap();
    std::fs::remove_file(&trace).unwrap();
    if summary["valid"] != true {
        skip(&format!("the machine was too busy: {}", summary["invalid_because"]));
        return None;
    }
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let number = |row: &[&str], column: usize| row[column].parse::<u64>().unwrap();
    let sent: Vec<_> = rows.iter().filter(|row| row[1] == "in" && row[2] == "0" && number(row, 12) > 0).collect();
    let (start, first_seq) = (number(sent[0], 0), number(sent[0], 9) as u32);
    let at = |row: &[&str]| (number(row, 0) as f64 - start as f64) / 1e9;
    let covered = |sequence: u64| (sequence as u32).wrapping_sub(first_seq) / PAYLOAD;
    let sent = sent.iter().map(|row| (at(row), covered(number(row, 9)) + 1)).collect();
    let acks = rows.iter().filter(|row| row[1] == "out" && row[2] == "0" && number(row, 8) == 0x10);
    let acks = acks.map(|row| (at(row), covered(number(row, 10)))).filter(|&(at, _)| at > 0.0).collect();
    Some([acks, sent])
}

/// The calculated time of the first ACK, with data packets of 1000 bytes and ACKs of 40 bytes. Later ACKs follow at
/// intervals of 0.8333 s, the bottleneck's time per packet.
const FIRST_S: f64 = 1.222_298_7;
const PACKET_S: f64 = 1000.0 * 8.0 / 9600.0;

fn assert_acks(measured: &[(f64, u32)], expected: &[(f64, u32)]) {
    for (m, e) in measured.iter().zip(expected) {
        assert!(m.1 == e.1 && (m.0 - e.0).abs() <= TOLERANCE_S, "measured {measured:?}, expected {expected:?}");
    }
    assert!(measured.len() >= expected.len(), "measured {measured:?}, expected {expected:?}");
    let worst = measured.iter().zip(expected).map(|(m, e)| (m.0 - e.0).abs()).fold(0.0, f64::max);
    eprintln!("{} ACKs, at most {:.3} ms from the calculated times", expected.len(), worst * 1e3);
}

fn assert_sent(sent: &[(f64, u32)], packet: u32, at: f64) {
    let times: Vec<f64> = sent.iter().filter(|s| s.1 == packet).map(|s| s.0).collect();
    assert!(times.iter().any(|t| (t - at).abs() <= TOLERANCE_S), "packet {packet} was sent at {times:?}, not at {at}");
}

#[test]
fn a_start_of_one_packet_has_the_memos_ack_times_and_retransmits_packet_7_at_the_third_duplicate() {
    let Some([acks, sent]) = run("one", 1, 9.0) else { return };
    let second = 2.0 * FIRST_S;
    let expected: Vec<(f64, u32)> = [1, 2, 3, 4, 5, 6, 6, 6, 6]
        .iter()
        .enumerate()
        .map(|(k, &covers)| (if k == 0 { FIRST_S } else { second + PACKET_S * (k as f64 - 1.0) }, covers))
        .collect();
    assert_acks(&acks, &expected); // 1.222, 2.444, 3.278 … 6.611 (printed as 6.111), 7.444, 8.278
    assert_sent(&sent, 7, expected[8].0);
}

#[test]
fn a_start_of_four_packets_has_the_memos_ack_times_and_retransmits_packet_4_at_the_third_duplicate() {
    let Some([acks, sent]) = run("four", 4, 6.0) else { return };
    let expected: Vec<(f64, u32)> =
        [1, 2, 3, 3, 3, 3].iter().enumerate().map(|(k, &covers)| (FIRST_S + PACKET_S * k as f64, covers)).collect();
    assert_acks(&acks, &expected); // 1.222, 2.055, 2.889, 3.722, 4.555, 5.389
    assert_sent(&sent, 4, expected[5].0);
}
