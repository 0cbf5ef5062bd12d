//! Runs a window law from outside the engine, and the engine's Reno for comparison: `cargo run --release -p
//! cwndlab-engine --example aimd`.

use cwndlab_engine::{ConnectionRecord, Flow, Laws, Probe, Scenario, Simulation};
use cwndlab_tcp::{
    AckReport, AfterAck, CongestionControl, LawError, LawId, LossEvent, Profile, TcpConfig, Window, WindowLawKind,
};
use serde_json::json;

// [law] AIMD(a, b): adds `a` segments per round trip, and after a loss sets the window to 1 - b of the bytes in flight.
#[derive(Debug)]
struct Aimd {
    a: f64,
    b: f64,
}

impl CongestionControl for Aimd {
    fn on_ack(
        &mut self,
        ack: &AckReport,
        _: &AfterAck,
        growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError> {
        let cwnd = window.cwnd_bytes();
        window.set_cwnd_bytes(cwnd + self.a * f64::from(ack.mss) * growth_bytes as f64 / cwnd);
        Ok(())
    }

    fn on_loss(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        let kept = event.flight_bytes as f64 * (1.0 - self.b);
        window.set_cwnd_bytes(kept.max(2.0 * f64::from(event.mss)));
        Ok(())
    }
}
// [law]

// [laws]
const AIMD: LawId = LawId(0xa1);

struct Own;

impl Laws for Own {
    fn make(&mut self, id: LawId, flow: &Flow) -> Result<Box<dyn CongestionControl>, LawError> {
        match id {
            AIMD => Ok(Box::new(Aimd { a: 1.0, b: 0.5 })),
            _ => Err(LawError(format!("{flow}: no law has the id {id}"))),
        }
    }
}
// [laws]

/// Bytes that each flow delivered.
#[derive(Default)]
struct Delivered(Vec<u64>);

impl Probe for Delivered {
    const ENABLED: bool = true;
    fn connection(&mut self, record: &ConnectionRecord) {
        self.0.push(record.bytes_up);
    }
}

fn delivered(window_law: WindowLawKind) -> u64 {
    let tcp = TcpConfig { window_law, ..Profile::Rfc5681.config() };
    let link = |from: u32, to: u32| {
        json!({
            "name": format!("{from}>{to}"), "from": from, "to": to, "rate_bps": 10_000_000, "delay_ns": 20_000_000,
            "queue": { "kind": "drop-tail", "limit": 33, "unit": "packets", "counts_in_service": true },
        })
    };
    let scenario = json!({
        "duration_ns": 60_000_000_000_u64,
        "nodes": ["sender", "receiver"],
        "links": [link(0, 1), link(1, 0)],
        "tcp": [tcp],
        "traffic": [{
            "name": "bulk", "client": 0, "server": 1, "tcp_client": 0, "tcp_server": 0, "start_ns": 0,
            "app": { "kind": "bulk", "from": "client" },
        }],
        "probes": { "connections": true },
    });
    let scenario = Scenario::from_json(&scenario.to_string()).expect("the scenario is right");
    let simulation = Simulation::new(&scenario, 1, 0, Delivered::default()).expect("its nodes are connected");
    let (_, Delivered(bytes)) = simulation.with_laws(&scenario, Box::new(Own)).run().expect("it stays in its budget");
    bytes.iter().sum()
}

fn main() {
    let (reno, aimd) =
        (delivered(WindowLawKind::Reno), delivered(WindowLawKind::External { code: AIMD, random: false }));
    println!("Reno        {:.2} Mbit/s", reno as f64 * 8.0 / 60e6);
    println!("AIMD(1, .5) {:.2} Mbit/s", aimd as f64 * 8.0 / 60e6);
}

#[test]
fn aimd_fills_a_link_as_reno_does() {
    let (reno, aimd) =
        (delivered(WindowLawKind::Reno), delivered(WindowLawKind::External { code: AIMD, random: false }));
    assert!(reno.abs_diff(aimd) < reno / 100, "{reno} {aimd}");
}
