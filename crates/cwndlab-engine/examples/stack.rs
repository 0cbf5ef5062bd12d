//! A transport stack of your own next to TCP: `cargo run --release -p cwndlab-engine --example stack`.

use std::collections::BTreeMap;

use cwndlab_engine::{
    ConnectionRecord, Endpoint, Opening, Probe, Progress, Scenario, Simulation, StackCounters, StackError, StackWindow,
    Stacks,
};
use cwndlab_tcp::{CongestionState, Profile};
use cwndlab_units::Time;
use serde_json::{json, Value};

// [stack]
/// Bytes of a full datagram after its position, and the time after which everything is sent again.
const FULL: u64 = 1200;
const PATIENCE: Time = Time::from_millis(300);

/// One end of a connection on which the client sends: a window that grows by a datagram per round trip and is halved once for
/// the losses of a window. Positions count a first byte that opens the stream, its data, and a last byte that ends it.
#[derive(Default)]
struct End {
    is_client: bool,
    window: u64,
    written: u64,
    ends: bool,
    /// Positions that the client has sent, and that are acknowledged, or that the server has received in order.
    sent: u64,
    acked: u64,
    duplicates: u32,
    /// Until this is acknowledged, losses reduce the window no more.
    recover: u64,
    /// Whether the client sends the first datagram again that is not acknowledged, or the server owes an acknowledgment.
    owes: bool,
    due: Option<Time>,
    /// The server's datagrams behind a gap: their position, their end, and whether they end the stream.
    held: BTreeMap<u64, (u64, bool)>,
    progress: Progress,
    counters: StackCounters,
}

impl End {
    fn repeat(&mut self, window: u64) {
        self.counters.lost += 1;
        self.owes = true;
        if self.acked >= self.recover {
            (self.window, self.recover) = (window.max(2 * FULL), self.sent);
        }
    }
    fn on_ack(&mut self, now: Time, acked: u64) {
        if acked > self.acked {
            (self.acked, self.sent, self.duplicates) = (acked, self.sent.max(acked), 0);
            self.due = (acked < self.sent).then_some(now + PATIENCE);
            self.progress.established = true;
            self.progress.closed = self.ends && acked == self.written + 2;
            if acked < self.recover {
                self.repeat(0);
            } else {
                self.window += FULL * FULL / self.window;
            }
        } else if acked == self.acked {
            self.duplicates += 1;
            if self.duplicates == 3 && acked >= self.recover {
                self.repeat(self.window / 2);
            }
        }
    }
    /// The server's part.
    fn on_data(&mut self, position: u64, ends: bool, len: u64) {
        self.held.insert(position, (position + len, ends));
        while let Some(first) = self.held.first_entry().filter(|first| *first.key() <= self.acked) {
            let (end, ends) = first.remove();
            self.acked = self.acked.max(end);
            self.progress.peer_closed |= ends;
        }
        self.progress.established = self.acked > 0;
        self.progress.received = self.acked.saturating_sub(1 + u64::from(self.progress.peer_closed));
        self.owes = true;
    }
}

impl Endpoint for End {
    fn handle_datagram(&mut self, now: Time, _ecn: u8, payload: &[u8]) {
        let (head, rest) = payload.split_first_chunk().expect("each datagram begins with a position");
        match (u64::from_be_bytes(*head), rest) {
            (acked, []) => self.on_ack(now, acked),
            (position, [ends, ..]) => self.on_data(position, *ends == 1, rest.len() as u64),
        }
    }
    fn handle_timeout(&mut self, _now: Time) {
        self.counters.timeouts += 1;
        self.repeat(0);
        (self.due, self.sent, self.owes) = (None, self.acked, false);
    }
    fn poll_datagram(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<u8> {
        let owes = std::mem::take(&mut self.owes);
        if !self.is_client {
            payload.extend(owes.then(|| self.acked.to_be_bytes()).into_iter().flatten());
            return owes.then_some(0);
        }
        let position = if owes { self.acked } else { self.sent };
        let end = 1 + self.written + u64::from(self.ends);
        let len = if self.acked == 0 { 1 - position } else { FULL.min(end - position) };
        if len == 0 || !owes && position + len > self.acked + self.window {
            return None;
        }
        payload.extend(position.to_be_bytes());
        payload.resize(8 + len as usize, u8::from(self.ends && position + len == end));
        self.sent = self.sent.max(position + len);
        self.due = self.due.or(Some(now + PATIENCE));
        Some(0)
    }
    fn poll_timeout(&mut self) -> Time {
        self.due.unwrap_or(Time::MAX)
    }
    fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes).min(1 << 62);
    }
    fn close(&mut self) {
        self.ends = true;
        self.progress.closed |= self.progress.peer_closed;
    }
    fn progress(&self) -> Progress {
        self.progress
    }
    fn counters(&self) -> StackCounters {
        self.counters
    }
    fn window(&self) -> Option<StackWindow> {
        self.is_client.then_some(StackWindow {
            cwnd_bytes: self.window,
            ssthresh_bytes: u64::MAX,
            srtt: Time::ZERO,
            in_flight_bytes: self.sent - self.acked,
            state: if self.acked < self.recover { CongestionState::Recovery } else { CongestionState::Open },
        })
    }
}

struct Own;

impl Stacks for Own {
    fn open(&mut self, stack: &Value, _: &Opening) -> Result<[Box<dyn Endpoint>; 2], StackError> {
        let window = stack["window"].as_u64().ok_or_else(|| StackError("`window` must be in bytes".into()))?;
        let client = End { is_client: true, window: window.max(FULL), ..End::default() };
        Ok([Box::new(client), Box::new(End::default())])
    }
}
// [stack]

/// What each connection did: bytes delivered, losses and timeouts.
#[derive(Default)]
struct Records(Vec<[u64; 3]>);

impl Probe for Records {
    const ENABLED: bool = true;
    fn connection(&mut self, record: &ConnectionRecord) {
        self.0.push([record.bytes_up, record.retransmits.into(), record.timeouts.into()]);
    }
}

/// Runs a transfer of each stack, `None` for TCP, over one link of 10 Mb/s and 40 ms for a minute.
fn run(stacks: &[Option<Value>], bytes: Option<u64>, loss: f64) -> Result<Vec<[u64; 3]>, String> {
    let link = |from: u32, loss: f64| {
        json!({
            "name": format!("from {from}"), "from": from, "to": 1 - from, "rate_bps": 10_000_000, "delay_ns": 20_000_000,
            "queue": { "kind": "drop-tail", "limit": 33 }, "impairments": [{ "kind": "bernoulli", "p": loss }],
        })
    };
    let traffic = |(k, stack): (usize, &Option<Value>)| {
        json!({
            "name": format!("flow {k}"), "client": 0, "server": 1, "tcp_client": 0, "tcp_server": 0,
            "start_ns": 10_000_000 * k, "app": { "kind": "bulk", "bytes": bytes }, "stack": stack,
        })
    };
    let scenario = json!({
        "duration_ns": 60_000_000_000_u64,
        "nodes": ["client", "server"],
        "links": [link(0, loss), link(1, 0.0)],
        "tcp": [Profile::Rfc5681.config()],
        "traffic": stacks.iter().enumerate().map(traffic).collect::<Vec<_>>(),
        "probes": { "connections": true },
    });
    let scenario = Scenario::from_json(&scenario.to_string()).map_err(|error| error.to_string())?;
    let simulation = Simulation::new(&scenario, 1, 0, Records::default()).map_err(|error| error.to_string())?;
    let (_, records) = simulation.with_stacks(Box::new(Own)).run().map_err(|error| error.to_string())?;
    Ok(records.0)
}

/// The stack's options: its first window in bytes.
fn own() -> Value {
    json!({ "window": 12_000 })
}

fn main() {
    for (title, stacks) in [("alone", vec![Some(own())]), ("next to Reno", vec![Some(own()), None])] {
        for [bytes, lost, timeouts] in run(&stacks, None, 0.0).expect("the stack has a window") {
            println!("{title}: {:.2} Mbit/s, {lost} losses, {timeouts} timeouts", bytes as f64 * 8.0 / 60e6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_fills_a_link_alone_and_leaves_reno_a_share() {
        let alone = run(&[Some(own())], None, 0.0).unwrap();
        assert!((58_000_000..75_000_000).contains(&alone[0][0]) && alone[0][2] == 0, "{alone:?}");
        let both = run(&[Some(own()), None], None, 0.0).unwrap();
        assert!(both.iter().all(|[bytes, ..]| *bytes > 15_000_000), "{both:?}");
    }

    #[test]
    fn a_transfer_arrives_whole_in_spite_of_losses_and_the_connection_ends() {
        let [[bytes, lost, timeouts]] = run(&[Some(own())], Some(3_000_000), 0.02).unwrap()[..] else { panic!() };
        assert_eq!(bytes, 3_000_000);
        assert!(lost > 20 && timeouts > 0 && timeouts < lost, "{lost} {timeouts}");
    }

    #[test]
    fn two_runs_are_equal_and_a_wrong_option_ends_the_run() {
        let once = || run(&[Some(own()), None], None, 0.01).unwrap();
        assert_eq!(once(), once());
        let error = run(&[Some(json!({}))], None, 0.0).unwrap_err();
        assert_eq!(error, "`window` must be in bytes (flow flow 0, 0.000000000 s simulated)");
    }
}
