//! Compares drawn transfers with what this crate did when the files in `transfers` were written, so that a change of any segment, window,
//! counter or interval of a trace is noticed. The files do not say what is right; the other tests do.
//!
//! After a change that is meant to move a transfer, write the files again with `CWNDLAB_REGENERATE=1`, and state in the commit which
//! lines moved.

use std::path::{Path, PathBuf};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::*;

/// Folds texts into 64 bits (FNV-1a).
pub(in crate::connection) struct Digest(u64);

impl Digest {
    pub fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub fn add(&mut self, what: &impl std::fmt::Debug) {
        for byte in format!("{what:?}").bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds a segment, and what is known of its sender then.
    pub fn add_sent(&mut self, now: Time, segment: &Segment, (cfg, end): (&TcpConfig, &Connection)) {
        self.add(&(now, segment, end.cwnd_bytes(), end.ssthresh_bytes(), end.info(cfg)));
        self.add(&(end.in_recovery(), end.dup_acks(), end.retransmission_deadline(), end.rto(cfg), end.srtt(cfg)));
    }

    /// Adds what an application can ask an end.
    pub fn add_end(&mut self, cfg: &TcpConfig, end: &Connection) {
        let open = (end.limit(cfg), end.info(cfg), end.retransmission_deadline());
        self.add(&(end.state(), end.error(), end.acked(), end.received(), end.stats(), open));
        self.add(&(end.srtt(cfg), end.rto(cfg), end.mss(), end.congestion_state(), end.delivered_ce()));
    }

    /// A line of the file: what a reader needs to know a transfer, and the digest of everything.
    pub fn line(&self, what: &str, end: &Connection, at: Time) -> String {
        let Stats { segments_sent, retransmits, timeouts, .. } = *end.stats();
        format!("{what}: {segments_sent} sent, {retransmits} again, {timeouts} timeouts, {at}, {:016x}", self.0)
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transfers").join(format!("{name}.txt"))
}

/// Compares lines with a file.
pub(in crate::connection) fn compare(name: &str, lines: &[String]) {
    let path = file(name);
    if std::env::var_os("CWNDLAB_REGENERATE").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        std::fs::write(&path, lines.join("\n") + "\n").expect("the file");
    }
    let text = std::fs::read_to_string(&path).expect("transfers");
    for (line, wanted) in lines.iter().zip(text.lines()) {
        assert_eq!(line, wanted, "{name}");
    }
    assert_eq!(lines.len(), text.lines().count(), "{name}");
}

/// One transfer as a line.
fn transfer(number: usize, configs: &[TcpConfig; 2], pipe: &Pipe, plan: &Plan) -> String {
    let mut digest = Digest::new();
    let outcome = run_seen(configs, pipe, plan, Time::ZERO, |now, segment, end| digest.add_sent(now, segment, end));
    digest.add(&outcome.traced);
    for (cfg, end) in configs.iter().zip(&outcome.ends) {
        digest.add_end(cfg, end);
    }
    let TcpConfig { recovery, window_law, ecn, .. } = configs[0];
    let what = format!("{number} {:?} {window_law:?} {ecn:?}", recovery.kind());
    digest.line(&what, &outcome.ends[0], outcome.end)
}

/// Draws the same values in every run.
fn draw<T>(strategy: &impl Strategy<Value = T>, count: usize, mut each: impl FnMut(usize, T) -> String) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let mut next = |number| each(number, strategy.new_tree(&mut runner).expect("a value").current());
    (0..count).map(&mut next).collect()
}

#[test]
fn transfers_of_any_two_ends_are_unchanged() {
    let lines = draw(&case(), 300, |number, (configs, pipe, plan)| transfer(number, &configs, &pipe, &plan));
    compare("any", &lines);
}

/// Longer transfers, for laws whose state grows with time.
#[test]
fn long_transfers_of_profiles_are_unchanged() {
    let strategy = (profiled(), pipe(), plan([1460; 2]));
    let lines = draw(&strategy, 80, |number, (cfg, pipe, plan)| {
        let cfg = TcpConfig { receive_buffer_bytes: 1 << 20, ..cfg };
        let pipe = Pipe { loss: pipe.loss / 10.0, ..pipe };
        let plan =
            Plan { bytes: [plan.bytes[0] * 20, plan.bytes[1]], pieces: plan.pieces.map(|piece| piece * 20), ..plan };
        transfer(number, &[cfg; 2], &pipe, &plan)
    });
    compare("profiles", &lines);
}
