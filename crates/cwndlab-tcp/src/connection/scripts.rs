//! Tests of the endpoint by scripts. A line states a segment that arrives or is sent at a time, a call of the
//! application at a time, or what must hold now.
//!
//! One event per line; positions are payload offsets from 0:
//!
//! ```text
//! 0.0 write 5000            the application writes; also: close, abort, read N, more N, end-record, cork, uncork, push,
//!                           close-read, user-timeout S (seconds, or none)
//! 0.0 > data 0-1000         a segment out: syn, data A-B, fin, rst, ack N, sack A-B …, in this order; nothing else
//!                           (such as the ACK of a data segment) is compared
//! 1.0 < ack 1000 win 8000   a segment in, in the same form; its window is this end's buffer until a line states one
//! = cwnd 2000               must hold now: cwnd, ssthresh, flight, received, state NAME, error NAME
//! ```
//!
//! Timers fire on the way to a line's time. A script fails if a segment is sent that no line expects, or if an expected
//! segment is not sent.

mod acked;
mod close;
mod ecn;
mod edges;
mod flow;
mod law_timer;
mod linux;
mod linux_2;
mod linux_sender;
mod loss;
mod one_way;
mod open;
mod paced;
mod rack;
mod receive;
mod seams;
mod slow_reader;
mod slow_start;
mod small_window;
mod socket;

use std::collections::VecDeque;

use super::Connection;
use crate::*;
use cwndlab_units::Time;

/// An initial sequence number so close to the wrap that every script crosses it.
const ISS: u32 = u32::MAX - 900;

/// Connections end by FIN, as in the standards.
const FIN: FinConfig = FinConfig { alone: false, time_wait_ns: Time::from_secs(240) };

/// RFC profile with round numbers: segments of 1000 bytes, an initial window of `iw` of them, no handshake, no delays.
fn config(iw: u32) -> TcpConfig {
    TcpConfig {
        mss: 1000,
        handshake: None,
        nagle: false,
        nagle_rule: NagleRule::Rfc1122,
        initial_window: InitialWindow::Segments(iw),
        ack_policy: AckPolicy::Every,
        limited_transmit: false,
        restart_after_idle: false,
        ..Profile::Rfc5681.config()
    }
}

struct Script<'a> {
    cfg: &'a TcpConfig,
    end: Connection,
    now: Time,
    out: VecDeque<(Time, Segment)>,
    /// Initial sequence numbers of this end and of the peer.
    iss: [u32; 2],
    window: u32,
    /// The trace of the sender, and its reports.
    follows: Option<(Trace, Vec<Traced>)>,
}

fn client(cfg: &TcpConfig, script: &str) -> Connection {
    run(cfg, Connection::client(cfg, ISS, Time::ZERO), script)
}

fn server(cfg: &TcpConfig, script: &str) -> Connection {
    run(cfg, Connection::server(cfg, ISS, Time::ZERO), script)
}

fn run(cfg: &TcpConfig, end: Connection, script: &str) -> Connection {
    let mut it = Script::new(cfg, end);
    it.run(script);
    it.end
}

/// Lines for full segments of 1000 bytes that are sent at one time.
fn sends(at: &str, positions: std::ops::Range<u64>) -> String {
    let one = |start| format!("{at} > data {start}-{}\n", start + 1000);
    positions.step_by(1000).map(one).collect::<Vec<_>>().concat()
}

fn range(word: &str) -> (u64, u64) {
    let (a, b) = word.split_once('-').expect("A-B");
    (a.parse().expect("a number"), b.parse().expect("a number"))
}

impl<'a> Script<'a> {
    fn new(cfg: &'a TcpConfig, end: Connection) -> Self {
        let iss = if cfg.handshake.is_some() { [ISS, 77] } else { [0, 0] };
        let window = cfg.receive_buffer_bytes as u32;
        Script { cfg, end, now: Time::ZERO, out: VecDeque::new(), iss, window, follows: None }
    }

    fn run(&mut self, script: &str) {
        for (number, line) in script.lines().enumerate() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            if let Some(problem) = self.line(&words).err() {
                panic!("line {}: {}\n  {problem}\n  {:?}", number + 1, line.trim(), self.end);
            }
        }
        if let Err(problem) = self.nothing_left() {
            panic!("after the last line: {problem}");
        }
    }

    fn line(&mut self, words: &[&str]) -> Result<(), String> {
        let Some((&first, rest)) = words.split_first() else { return Ok(()) };
        if first == "=" {
            return self.holds(rest);
        }
        let until = Time::from_secs_f64(first.parse().expect("a time in seconds"));
        self.advance(until)?;
        match rest {
            ["write", n] => self.end.write(n.parse().expect("bytes")),
            ["read", n] => {
                self.end.read(self.cfg, self.now, n.parse().expect("bytes"));
            }
            ["close"] => self.end.close(),
            ["more", n] => self.end.write_more(n.parse().expect("bytes")),
            ["end-record"] => self.end.end_record(),
            ["cork"] => self.end.set_corked(true),
            ["uncork"] => self.end.set_corked(false),
            ["push"] => self.end.push(),
            ["close-read"] => self.end.close_read(),
            ["user-timeout", s] => {
                let timeout = s.parse().ok().map(Time::from_secs_f64);
                self.end.set_user_timeout(timeout);
            }
            ["abort"] => self.end.abort(),
            ["manual"] => self.end.set_auto_read(false),
            ["<", fields @ ..] => {
                let seg = self.incoming(fields);
                self.end.handle_segment(self.cfg, self.now, &seg);
            }
            [">", fields @ ..] => return self.expect(fields),
            other => panic!("not understood: {other:?}"),
        }
        self.poll();
        Ok(())
    }

    fn poll(&mut self) {
        while let Some(segment) = self.end.poll_transmit(self.cfg, self.now) {
            self.out.push_back((self.now, segment));
        }
        if let Some((trace, traced)) = &mut self.follows {
            trace.look(self.cfg, self.now, &self.end, |what| traced.push(what));
        }
    }

    /// Delivers a segment and discards the response.
    fn take(&mut self, at: Time, fields: &str) {
        self.poll();
        self.now = at;
        let seg = self.incoming(&fields.split(' ').collect::<Vec<_>>());
        self.end.handle_segment(self.cfg, self.now, &seg);
        self.poll();
        self.out.clear();
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.out.front() {
            None => Ok(()),
            Some((at, s)) => Err(format!("unexpected at {at}: {}", self.show(s))),
        }
    }

    fn advance(&mut self, until: Time) -> Result<(), String> {
        self.poll();
        if until > self.now {
            // Every segment sent so far must have been expected by a line with the time at which it was sent.
            self.nothing_left()?;
        }
        // The timers of a tick go off within a microsecond, in an order (`TcpConfig::expiry`).
        while self.end.poll_timeout() <= until + Time::from_nanos(999) {
            self.now = self.now.max(self.end.poll_timeout());
            self.end.handle_timeout(self.cfg, self.now);
            self.poll();
            if self.now < until {
                self.nothing_left()?;
            }
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn incoming(&mut self, fields: &[&str]) -> Segment {
        let [ours, theirs] = self.iss;
        let theirs_at = |offset: u64| theirs.wrapping_add(1 + offset as u32);
        let ours_at = |offset: u64| ours.wrapping_add(1 + offset as u32);
        let mut seg =
            Segment::from(Header { seq: theirs_at(self.end.received()), flags: Flags::default(), ..Header::default() });
        let mut words = fields.iter().peekable();
        while let Some(&word) = words.next() {
            let mut number = || words.next().expect("a number").parse::<u64>().expect("a number");
            match word {
                "syn" => {
                    seg.flags |= Flags::SYN;
                    seg.seq = theirs;
                    seg.mss = 1000;
                }
                "fin" => seg.flags |= Flags::FIN,
                "push" => seg.flags |= Flags::PSH,
                "rst" => seg.flags |= Flags::RST,
                "ece" => seg.flags |= Flags::ECE,
                "cwr" => seg.flags |= Flags::CWR,
                "ts" => (seg.has_timestamps, seg.ts_val, seg.ts_ecr) = (true, number() as u32, number() as u32),
                "sackok" => seg.sack_permitted = true,
                "win" => self.window = number() as u32,
                "at" => seg.seq = theirs_at(number()),
                "before" => seg.seq = theirs_at(number()).wrapping_sub(1),
                "ack" => {
                    seg.flags |= Flags::ACK;
                    seg.ack = ours_at(number());
                }
                "data" => {
                    let (a, b) = range(words.next().expect("A-B"));
                    seg.seq = theirs_at(a);
                    seg.len = (b - a) as u32;
                }
                "sack" => {
                    while let Some(word) = words.next_if(|w| w.contains('-')) {
                        let (a, b) = range(word);
                        seg.sack.blocks[usize::from(seg.sack.len)] = (ours_at(a), ours_at(b));
                        seg.sack.len += 1;
                    }
                }
                other => panic!("not understood: {other}"),
            }
        }
        if !seg.flags.has(Flags::SYN) && !seg.flags.has(Flags::RST) && !seg.flags.has(Flags::ACK) {
            seg.flags |= Flags::ACK;
            seg.ack = ours_at(self.end.acked());
        }
        seg.window = self.window;
        seg
    }

    fn show(&self, s: &Segment) -> String {
        let [ours, theirs] = self.iss;
        let mut shown = Vec::new();
        let offset = |base: u32, number: u32| i64::from(number.wrapping_sub(base.wrapping_add(1)) as i32);
        if s.flags.has(Flags::SYN) {
            shown.push("syn".to_owned());
        }
        if s.len > 0 {
            let start = offset(ours, s.seq);
            shown.push(format!("data {start}-{}", start + i64::from(s.len)));
        }
        if s.flags.has(Flags::FIN) {
            shown.push("fin".to_owned());
        }
        if s.flags.has(Flags::RST) {
            shown.push("rst".to_owned());
        }
        if s.flags.has(Flags::ACK) && s.len == 0 {
            shown.push(format!("ack {}", offset(theirs, s.ack)));
        }
        if s.sack.len > 0 {
            shown.push("sack".to_owned());
            shown.extend(s.sack.as_slice().iter().map(|b| format!("{}-{}", offset(theirs, b.0), offset(theirs, b.1))));
        }
        shown.join(" ")
    }

    fn expect(&mut self, fields: &[&str]) -> Result<(), String> {
        let Some((at, segment)) = self.out.pop_front() else { return Err("nothing was sent".into()) };
        let shown = self.show(&segment);
        if shown != fields.join(" ") || at != self.now {
            return Err(format!("sent at {at}: {shown}"));
        }
        Ok(())
    }

    fn holds(&self, claims: &[&str]) -> Result<(), String> {
        for claim in claims.chunks(2) {
            let [name, wanted] = claim else { panic!("a name and a value") };
            let is = match *name {
                "cwnd" => self.end.cwnd_bytes().to_string(),
                "ssthresh" => self.end.ssthresh_bytes().to_string(),
                "flight" => self.end.in_flight().to_string(),
                "received" => self.end.received().to_string(),
                "state" => format!("{:?}", self.end.state()),
                "error" => self.end.error().map_or("none".into(), |e| format!("{e:?}")),
                "timeouts" => self.end.stats().timeouts.to_string(),
                other => panic!("not understood: {other}"),
            };
            if is != *wanted {
                return Err(format!("{name} is {is}"));
            }
        }
        Ok(())
    }
}
