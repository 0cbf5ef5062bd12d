//! Replays what one end of a connection on Linux 6.12 received, and compares what this end sends with what the kernel
//! sent: time, sequence and acknowledgment numbers, flags, window, timestamps, ECN and SACK blocks.
//!
//! The files in `recorded` are made on a kernel by `linux/tests/test_recorded_ends.py`, whose page states their format.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::fast::comparison::poll;
use super::Connection;
use crate::*;
use cwndlab_units::Time;

/// Initial sequence numbers of this end and of the peer. The first wraps in every recording.
const ISS: [u32; 2] = [u32::MAX - 5000, 77];

/// By how much a time may differ: the kernel's clock counts microseconds, and an event takes it a nanosecond.
const TOLERANCE: Time = Time::from_micros(2);

/// The recording of a receiver whose window differs at times from the kernel's, by the bytes of a segment.
const WINDOWS_DIFFER: &str = "dctcp-loss-rack-client";

/// A segment as the kernel recorded it; its timestamps are the kernel's.
#[derive(Clone, Copy, Debug)]
struct Row {
    at: Time,
    sent: bool,
    segment: Segment,
}

struct Recording {
    app: Value,
    cfg: TcpConfig,
    rows: Vec<Row>,
}

/// The settings of the profile with the recording's in their place; of `rto` those that it has.
fn settings(own: &Value) -> Value {
    let mut tcp = serde_json::to_value(Profile::Linux6.config()).expect("JSON");
    for (key, value) in own.as_object().expect("settings") {
        match value.as_object() {
            Some(fields) if key == "rto" => fields.iter().for_each(|(name, value)| tcp[key][name] = value.clone()),
            _ => tcp[key] = value.clone(),
        }
    }
    tcp
}

impl Recording {
    fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded").join(format!("{name}.txt"));
        let text = std::fs::read_to_string(path).expect("a recording");
        let mut lines = text.lines();
        let mut head = |key: &str| {
            let rest = lines.next().and_then(|line| line.strip_prefix(key)).expect("a line of the head");
            rest.trim_start().to_owned()
        };
        head("kernel");
        let app = serde_json::from_str(&head("app")).expect("JSON");
        let tcp = settings(&serde_json::from_str(&head("tcp")).expect("JSON"));
        let cfg = serde_json::from_value(tcp).expect("a configuration");
        let (mut now, mut known) = (Time::ZERO, [BTreeMap::new(), BTreeMap::new()]);
        let rows = lines.map(|line| {
            let mut words = line.split(' ');
            now += Time::from_nanos(words.next().expect("a time").parse().expect("nanoseconds"));
            let sent = words.next() == Some(">");
            let fields = &mut known[usize::from(sent)];
            fields.extend(words.map(|word| word.split_at(1)));
            Row { at: now, sent, segment: segment(fields, sent) }
        });
        let rows = rows.collect();
        Recording { app, cfg, rows }
    }
}

/// A segment with these fields, in wire sequence numbers.
fn segment(fields: &BTreeMap<&str, &str>, sent: bool) -> Segment {
    let [own, other] = if sent { ISS } else { [ISS[1], ISS[0]] };
    let number = |field| fields.get(field).map_or(0, |value| value.parse::<u32>().expect("a number"));
    let flags = Flags(number("f") as u8);
    let is_syn = flags.has(Flags::SYN);
    let mut segment = Segment::from(Header {
        seq: own.wrapping_add(u32::from(!is_syn)).wrapping_add(number("s")),
        ack: if flags.has(Flags::ACK) { other.wrapping_add(1).wrapping_add(number("a")) } else { 0 },
        window: number("w"),
        len: number("l"),
        ts_val: number("v"),
        ts_ecr: number("r"),
        has_timestamps: fields.contains_key("v"),
        flags,
        ecn: number("e") as u8,
        mss: number("m") as u16,
        window_scale_plus_1: number("c") as u8,
        sack_permitted: number("p") == 1,
        ..Header::default()
    });
    let blocks: Vec<u32> =
        fields.get("k").map_or("", |value| value).split(',').filter_map(|word| word.parse().ok()).collect();
    for (block, pair) in segment.sack.blocks.iter_mut().zip(blocks.chunks(2)) {
        *block = (other.wrapping_add(1 + pair[0]), other.wrapping_add(1 + pair[1]));
        segment.sack.len += 1;
    }
    segment.wire_bytes = 40 + segment.len + if segment.has_timestamps { TIMESTAMPS_BYTES } else { 0 };
    segment
}

/// What the application does at one end.
#[derive(Debug)]
enum App {
    /// Sends so many bytes, and closes.
    Sends(u64),
    /// Closes once the peer has.
    Receives,
    /// Sends a request, and the next one when the response has arrived, so many times; then closes. One that thinks in
    /// between does so for as long as the kernel's application did.
    Asks { request: u64, response: u64, times: u64, thinks: bool },
    /// Sends a response to each request; closes once the peer has.
    Answers { request: u64, response: u64 },
}

impl App {
    fn of(app: &Value, is_client: bool) -> Self {
        let fixed = |key: &str| app[key]["value"].as_f64().expect("a fixed size") as u64;
        match (app["kind"].as_str(), is_client) {
            (Some("bulk"), true) => App::Receives,
            (Some("bulk"), false) => App::Sends(app["bytes"].as_u64().expect("bytes")),
            (Some("rr"), true) => App::Asks {
                request: fixed("request_bytes"),
                response: fixed("response_bytes"),
                times: app["transactions"].as_u64().expect("a number"),
                thinks: !app["think_s"].is_null(),
            },
            (Some("rr"), false) => App::Answers { request: fixed("request_bytes"), response: fixed("response_bytes") },
            other => panic!("not understood: {other:?}"),
        }
    }
}

/// One end during a replay.
struct Replay<'a> {
    cfg: &'a TcpConfig,
    app: App,
    end: Connection,
    /// How often the application has written.
    writes: u64,
    closed: bool,
    /// Whether the application's pause has ended.
    thought: bool,
    out: Vec<(Time, Segment)>,
}

impl Replay<'_> {
    /// The application acts, and what may go is sent.
    fn follow(&mut self, now: Time) {
        self.poll(now);
        let (state, received) = (self.end.state(), self.end.received());
        let open = self.end.was_established();
        let (write, close) = match self.app {
            App::Sends(bytes) => (if open && self.writes == 0 { bytes } else { 0 }, self.writes == 1),
            App::Receives => (0, self.end.peer_closed()),
            App::Asks { request, response, times, thinks } => {
                let answered = received >= self.writes * response;
                let next = open && answered && self.writes < times && !(thinks && self.writes > 0 && !self.thought);
                (if next { request } else { 0 }, answered && self.writes == times)
            }
            App::Answers { request, response } => {
                let asked = received >= (self.writes + 1) * request;
                (if asked { response } else { 0 }, self.end.peer_closed())
            }
        };
        if write > 0 {
            self.end.write(write);
            self.writes += 1;
            self.thought = false;
            self.follow(now);
        } else if close && !self.closed && state != State::Closed {
            self.closed = true;
            self.end.close();
            self.poll(now);
        }
    }

    /// Whether the application may have a next request to send.
    fn is_thinking(&self) -> bool {
        matches!(self.app, App::Asks { thinks: true, response, times, .. }
            if (1..times).contains(&self.writes) && self.end.received() >= self.writes * response)
    }

    fn poll(&mut self, now: Time) {
        while let Some(segment) = poll(&mut self.end, self.cfg, now, false) {
            self.out.push((now, segment));
            assert!(self.out.len() < 2000, "sends without end");
        }
    }

    /// Lets the timers expire that are due by this time.
    fn advance(&mut self, until: Time) {
        for count in 0.. {
            let now = self.end.poll_timeout();
            if now > until {
                return;
            }
            assert!(count < 2000, "a timer expires without end");
            self.end.handle_timeout(self.cfg, now);
            self.poll(now);
        }
    }
}

/// What this end sends if it receives what a kernel's end received.
fn replay(recording: &Recording) -> Vec<(Time, Segment)> {
    let Recording { app, cfg, rows } = recording;
    let is_client = rows[0].sent;
    let start = rows[0].at;
    let end = if is_client { Connection::client(cfg, ISS[0], start) } else { Connection::server(cfg, ISS[0], start) };
    let app = App::of(app, is_client);
    let mut replay = Replay { cfg, app, end, writes: 0, closed: false, thought: false, out: Vec::new() };
    replay.poll(start);
    // The kernel's timestamps count milliseconds, ours microseconds: an echo is of the first that was sent with it.
    let mut kernel_sent: Vec<u32> = Vec::new();
    for row in rows {
        if row.sent {
            kernel_sent.push(row.segment.ts_val);
            if replay.is_thinking() && row.segment.len > 0 {
                replay.advance(row.at);
                replay.thought = true;
                replay.follow(row.at);
            }
            continue;
        }
        replay.advance(row.at);
        let mut segment = row.segment;
        let echoed = kernel_sent.iter().position(|&value| value == segment.ts_ecr);
        if let Some((_, ours)) = echoed.and_then(|k| replay.out.get(k)) {
            segment.ts_ecr = ours.ts_val;
        }
        replay.end.handle_segment(cfg, row.at, &segment);
        replay.follow(row.at);
    }
    replay.advance(rows[rows.len() - 1].at);
    replay.out
}

/// The fields of a segment that are compared.
fn shown(segment: &Segment) -> String {
    let from = |number: u32, base: u32| number.wrapping_sub(base) as i32;
    let ack = if segment.flags.has(Flags::ACK) { from(segment.ack, ISS[1]) } else { 0 };
    let sack = segment.sack.as_slice().iter().map(|b| format!(" {}-{}", from(b.0, ISS[1]), from(b.1, ISS[1])));
    format!(
        "{:#04x} seq {} len {} ack {ack} window {} echo {} ecn {} mss {} scale {} {}{}",
        segment.flags.0,
        from(segment.seq, ISS[0]),
        segment.len,
        segment.window,
        segment.ts_ecr,
        segment.ecn,
        segment.mss,
        segment.window_scale_plus_1,
        segment.sack_permitted,
        sack.collect::<String>(),
    )
}

/// Compares all that is sent with what the kernel sent.
fn assert_same(name: &str) {
    let recording = Recording::read(name);
    let ours = replay(&recording);
    let theirs: Vec<_> = recording.rows.iter().filter(|row| row.sent).collect();
    let millisecond = |at: Time| recording.cfg.timestamp(at) / 1000;
    for (k, kernel) in theirs.iter().enumerate() {
        let Some((at, segment)) = ours.get(k) else { panic!("{name}: not sent: {kernel:?}") };
        let mut segment = *segment;
        if name == WINDOWS_DIFFER {
            segment.window = kernel.segment.window;
        }
        assert_eq!(shown(&segment), shown(&kernel.segment), "{name}: number {k}, {at}, {}", kernel.at);
        let apart = (*at).max(kernel.at) - (*at).min(kernel.at);
        assert!(apart <= TOLERANCE, "{name}: number {k} at {at}, not {}: {}", kernel.at, shown(&segment));
        let ticks = kernel.segment.ts_val.wrapping_sub(theirs[0].segment.ts_val);
        let ours = (segment.ts_val / 1000).saturating_sub(millisecond(theirs[0].at));
        assert!(ours == ticks || !segment.has_timestamps, "{name}: number {k} at {at}: {ours}, not {ticks}");
    }
    // A recording ends with a segment; what was sent with it may be missing.
    let end = recording.rows[recording.rows.len() - 1].at;
    let more = &ours[theirs.len()..];
    assert!(more.iter().all(|(at, _)| *at + TOLERANCE >= end), "{name}: {} more", more.len());
}

#[test]
fn each_end_sends_what_linux_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
    let files = std::fs::read_dir(folder).expect("recordings");
    let mut names: Vec<_> = files
        .map(|file| file.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 20, "recordings are missing");
    for name in &names {
        assert_same(name);
    }
}
