//! Network namespaces and a running router, for tests.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use cwndlab_live::sys::InNamespace;
use serde_json::{json, Value};

/// Runs a command. If it fails, returns its error text.
pub fn sh(line: &str) -> Result<(), String> {
    let output = Command::new("sh").args(["-c", line]).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Reports that this test is skipped: directly on stderr, so that the test harness does not capture the message, and in
/// a file whose lines `make test` counts.
pub fn skip(reason: &str) {
    let name = thread::current().name().unwrap_or("?").to_owned();
    let line = format!("skipped: {name}: {}\n", reason.trim());
    let _ = io::stderr().write_all(line.as_bytes());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    let file = OpenOptions::new().create(true).append(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// Namespaces of one test, deleted at its end.
pub struct Namespaces {
    pub names: Vec<String>,
}

impl Namespaces {
    /// Creates the namespaces. If this machine does not permit it, reports the reason and returns `None`.
    pub fn new(test: &str, count: usize) -> Option<Namespaces> {
        let mut made = Namespaces { names: Vec::new() };
        for index in 0..count {
            let name = format!("cwndlab-{}-{test}-{index}", std::process::id());
            if let Err(reason) = sh(&format!("ip netns add {name} && ip -n {name} link set lo up")) {
                skip(&reason);
                return None;
            }
            made.names.push(name);
        }
        Some(made)
    }
    pub fn path(&self, index: usize) -> PathBuf {
        Path::new("/run/netns").join(&self.names[index])
    }
    pub fn ip(&self, index: usize, command: &str) {
        sh(&format!("ip -n {} {command}", self.names[index])).unwrap();
    }
    pub fn sysctl(&self, index: usize, key: &str, value: &str) {
        let file = format!("/proc/sys/net/ipv4/{key}");
        sh(&format!("ip netns exec {} sh -c 'echo {value} > {file}'", self.names[index])).unwrap();
    }
    /// Runs `what` on a thread in that namespace.
    pub fn run<T: Send + 'static>(
        &self,
        index: usize,
        what: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        let path = self.path(index);
        thread::spawn(move || {
            let _there = InNamespace::enter(&path).unwrap();
            what()
        })
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = sh(&format!("ip netns del {name}"));
        }
    }
}

pub struct Router {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Router {
    pub fn start(config: &Value) -> Router {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cwndlab-router"))
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(config.to_string().as_bytes()).unwrap();
        let mut router = Router { lines: BufReader::new(child.stdout.take().unwrap()), child };
        assert_eq!(router.line()["event"], "ready");
        router
    }
    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
    /// Ends the router as Ctrl-C does, and returns its summary.
    pub fn stop(mut self) -> Value {
        thread::sleep(Duration::from_millis(300)); // the last acknowledgments arrive
        sh(&format!("kill -INT {}", self.child.id())).unwrap();
        let summary = self.line();
        assert!(self.child.wait().unwrap().success());
        summary
    }
}

/// Namespaces with TUN devices `cw0` that exist before the router attaches to them.
pub fn with_tun(test: &str) -> Option<Namespaces> {
    let namespaces = Namespaces::new(test, 2)?;
    for index in 0..2 {
        let name = &namespaces.names[index];
        if let Err(reason) = sh(&format!("ip -n {name} tuntap add cw0 mode tun")) {
            skip(&reason);
            return None;
        }
        namespaces.ip(index, "link set cw0 up");
        namespaces.ip(index, &format!("address add 10.93.0.{}/24 dev cw0", index + 1));
        namespaces.sysctl(index, "tcp_congestion_control", "reno");
    }
    Some(namespaces)
}

pub fn tun() -> Value {
    json!({"kind": "tun", "name": "cw0"})
}

pub fn server() -> SocketAddr {
    "10.93.0.2:5001".parse().unwrap()
}
