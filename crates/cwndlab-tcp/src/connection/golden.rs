//! Whole transfers, compared with those that Linux sent over the same path: the times of every twentieth data
//! segment, and their number; and with `AccECN` the acknowledgments. `linux/tests/test_bbr.py` and `test_accecn.py` record
//! the files on kernels.

mod unchanged;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::fast::comparison::poll;
use super::Connection;
use crate::*;
use cwndlab_units::Time;
use rand::SeedableRng;

/// Payload of a full segment with timestamps.
const MSS: u64 = 1448;
/// By how much a time may differ, as in `linux/tests/test_bbr.py`.
const TOLERANCE_MS: f64 = 0.05;
/// Mb/s of the links of the recorded transfers.
const RATES: [u64; 2] = [100, 10];
const ISS: [u32; 2] = [u32::MAX - 1_000_000, 77];

/// When `CoDel` marks (RFC 8289, sections 5.5 to 5.7), in a queue that is longer than a packet while packets wait.
struct CoDel {
    target: Time,
    interval: Time,
    first_above: Option<Time>,
    dropping: bool,
    next: Time,
    count: u32,
    last_count: u32,
}

impl CoDel {
    fn new(target_ms: u64, interval_ms: u64) -> Self {
        let [target, interval] = [target_ms, interval_ms].map(Time::from_millis);
        let next = Time::ZERO;
        CoDel { target, interval, first_above: None, dropping: false, next, count: 0, last_count: 0 }
    }

    /// The control law.
    fn after(&self, at: Time) -> Time {
        at + self.interval.mul_f64(1.0 / f64::from(self.count).sqrt())
    }

    /// Whether a packet is marked that has waited since `arrived`.
    fn marks(&mut self, now: Time, arrived: Time) -> bool {
        if now - arrived < self.target {
            self.first_above = None;
            self.dropping = false;
            return false;
        }
        if now < *self.first_above.get_or_insert(now + self.interval) {
            self.dropping = false;
            return false;
        }
        if self.dropping {
            let is_due = now >= self.next;
            if is_due {
                self.count += 1;
                self.next = self.after(self.next);
            }
            return is_due;
        }
        self.dropping = true;
        let delta = self.count - self.last_count;
        let recently = now.saturating_sub(self.next) < self.interval * 16;
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.last_count = self.count;
        self.next = self.after(now);
        true
    }
}

/// A link with a queue that drops what does not fit; its limit counts the packet that is being sent.
struct Hop {
    mbps: u64,
    delay: Time,
    limit: usize,
    /// When each packet leaves.
    leaves: VecDeque<Time>,
    codel: Option<CoDel>,
}

impl Hop {
    fn new(mbps: u64, delay_us: u64, limit: usize) -> Self {
        Hop { mbps, delay: Time::from_micros(delay_us), limit, leaves: VecDeque::new(), codel: None }
    }

    /// When a packet arrives at the other side; `None` if it is dropped. The queue may mark it.
    fn carry(&mut self, now: Time, segment: &mut Segment) -> Option<Time> {
        while self.leaves.front().is_some_and(|&at| at <= now) {
            self.leaves.pop_front();
        }
        if self.leaves.len() >= self.limit {
            return None;
        }
        let start = self.leaves.back().copied().unwrap_or(now);
        if segment.ecn != 0 && self.codel.as_mut().is_some_and(|codel| codel.marks(start, now)) {
            segment.ecn = 3;
        }
        let leaves = start + Time::from_nanos(u64::from(segment.wire_bytes) * 8 * 1000 / self.mbps);
        self.leaves.push_back(leaves);
        Some(leaves + self.delay)
    }
}

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../linux/tests/golden/{name}.txt"));
    std::fs::read_to_string(path).expect("a golden file")
}

/// What is under way: an arrival at a router (`false`) or an end (`true`), of a segment to this side.
type Wire = BTreeMap<(Time, u64), (bool, usize, Segment)>;

/// A transfer from a server over a fast link and a slower one, with a round trip of 40 ms.
struct Transfer {
    cfg: TcpConfig,
    bytes: u64,
    /// Mb/s of the two links.
    rates: [u64; 2],
    /// Packets in the queue before the slower link.
    limit: usize,
    /// Target and interval of that queue's `CoDel`, ms.
    codel: Option<(u64, u64)>,
    /// The offset of a segment that is lost once.
    lost: Option<u64>,
}

/// What the server does with a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Sent,
    Received,
}

/// Linux with a receiver that acknowledges every segment, and the ticks of the kernel's run.
fn linux(window_law: WindowLawKind) -> TcpConfig {
    let bytes = 6 << 20;
    TcpConfig {
        window_law,
        ack_policy: AckPolicy::Every,
        receive_tuning: ReceiveTuning::Linux { initial_bytes: bytes, most_bytes: bytes },
        max_train_segments: 1,
        rto: RtoConfig { timer_hz: 1000, tick_phase_ns: Time::from_millis(48), ..Profile::Linux6.config().rto },
        ..Profile::Linux6.config()
    }
}

impl Transfer {
    /// What the applications do: the server sends all, and closes; the client closes once it has.
    fn act(&self, end: &mut Connection, is_server: bool) {
        if is_server && end.state() == State::Established && end.sender.snd.end == 1 {
            end.write(self.bytes);
            end.close();
        } else if !is_server && end.state() == State::CloseWait {
            end.close();
        }
    }

    /// Reports every segment that the server sends or receives; returns the server as it ends.
    fn run(&self, seed: u64, mut see: impl FnMut(Time, Seen, &Segment)) -> Connection {
        let cfg = self.cfg;
        let mut ends = [Connection::client(&cfg, ISS[1], Time::ZERO), Connection::server(&cfg, ISS[0], Time::ZERO)];
        ends[1].set_random(Rng::seed_from_u64(seed));
        // by the side to which they lead: the first hop and the second
        let (lan, wan) = (|| Hop::new(self.rates[0], 500, 1000), || Hop::new(self.rates[1], 19_500, self.limit));
        let mut hops = [[lan(), wan()], [wan(), lan()]];
        hops[0][1].codel = self.codel.map(|(target_ms, interval_ms)| CoDel::new(target_ms, interval_ms));
        let mut wire = Wire::new();
        let (mut number, mut now, mut lost) = (0, Time::ZERO, self.lost);
        loop {
            number += 1;
            for side in [0, 1, 0, 1] {
                while let Some(mut segment) = poll(&mut ends[side], &cfg, now, false) {
                    number += 1;
                    assert!(number < 200_000, "sends without end");
                    if side == 1 {
                        see(now, Seen::Sent, &segment);
                    }
                    let to = 1 - side;
                    if let Some(at) = hops[to][0].carry(now, &mut segment) {
                        wire.insert((at, number), (false, to, segment));
                    }
                }
                assert!(number < 200_000, "does not end");
                self.act(&mut ends[side], side == 1);
            }
            let timeout = ends[0].poll_timeout().min(ends[1].poll_timeout());
            let arrival = wire.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
            if timeout.min(arrival) > Time::from_secs(60) || ends.iter().all(Connection::is_finished) {
                return ends.into_iter().nth(1).expect("the server");
            }
            if timeout < arrival {
                now = timeout;
                for end in &mut ends {
                    if end.poll_timeout() <= now {
                        end.handle_timeout(&cfg, now);
                    }
                }
                continue;
            }
            let ((at, _), (at_end, to, mut segment)) = wire.pop_first().expect("an arrival");
            now = at;
            if at_end {
                if to == 1 {
                    see(now, Seen::Received, &segment);
                }
                ends[to].handle_segment(&cfg, now, &segment);
                continue;
            }
            let offset = u64::from(segment.seq.wrapping_sub(ISS[0].wrapping_add(1)));
            if to == 0 && segment.len > 0 && lost == Some(offset) {
                lost = None;
            } else if let Some(at) = hops[to][1].carry(now, &mut segment) {
                wire.insert((at, number), (true, to, segment));
                number += 1;
            }
        }
    }

    /// Compares a transfer with a file.
    fn compare(&self, name: &str, seed: u64) -> Result<(), String> {
        let text = golden(name);
        let mut lines = text.lines().skip(1);
        let count = lines.next().and_then(|line| line.split(' ').nth(1)).expect("segments N");
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        let (mut k, mut start, mut wrong) = (0, None, None);
        self.run(seed, |now, seen, segment| {
            if seen == Seen::Received || segment.len == 0 || wrong.is_some() {
                return;
            }
            let start = *start.get_or_insert(now);
            let ms = (now - start).as_secs_f64() * 1e3;
            let offset = u64::from(segment.seq.wrapping_sub(ISS[0].wrapping_add(1)));
            let again = if segment.retransmission { "r" } else { "" };
            let shown = format!("{}{again}", offset / MSS + 1);
            if k % 20 == 0 {
                let wanted = words.get(k / 10).zip(words.get(k / 10 + 1));
                let is_same = wanted.is_some_and(|(at, number)| {
                    **number == shown && (ms - at.parse::<f64>().expect("a time")).abs() <= TOLERANCE_MS
                });
                if !is_same {
                    wrong = Some(format!("number {k}: {ms:.2} {shown}, not {wanted:?}"));
                }
            }
            k += 1;
        });
        match wrong {
            Some(wrong) => Err(wrong),
            None if k.to_string() == count => Ok(()),
            None => Err(format!("{k} segments, not {count}")),
        }
    }
}

/// Version 3 as in google/bbr.
const V3: WindowLawKind = WindowLawKind::Bbr3(Bbr3Config { rules: Bbr3Rules::GoogleV3, ecn: false });

/// For each file the queue's limit, the transfer's size, the lost segment, and a seed that draws the phases and waits
/// that the kernel drew.
#[test]
fn bbr_sends_what_linux_sent() {
    let short = 5_000_000;
    let cases = [
        (WindowLawKind::Bbr1, "bbr-half-bdp", 17, short, None, 1),
        (WindowLawKind::Bbr1, "bbr-one-bdp", 33, short, None, 10),
        (WindowLawKind::Bbr1, "bbr-two-bdp", 67, short, None, 11),
        (WindowLawKind::Bbr1, "bbr-eight-bdp", 267, short, None, 3),
        (WindowLawKind::Bbr1, "bbr-one-loss", 267, short, Some(1_448_000), 11),
        (WindowLawKind::Bbr1, "bbr-probe-rtt", 67, 15_000_000, None, 2),
        (V3, "bbr3-half-bdp", 17, short, None, 3),
        (V3, "bbr3-one-bdp", 33, short, None, 13),
        (V3, "bbr3-two-bdp", 67, short, None, 0),
        (V3, "bbr3-eight-bdp", 267, short, None, 1),
        (V3, "bbr3-one-loss", 267, short, Some(1_448_000), 0),
        (V3, "bbr3-probe-rtt", 67, 15_000_000, None, 5),
    ];
    for (law, name, limit, bytes, lost, seed) in cases {
        let transfer = Transfer { cfg: linux(law), bytes, rates: RATES, limit, codel: None, lost };
        assert_eq!(transfer.compare(name, seed), Ok(()), "{name}");
    }
}

/// The server's acknowledgments: the times and numbers of every twentieth, how many there are, how many segments the
/// server sends, and how many bytes arrive with a mark according to `AccECN`'s option.
#[test]
fn marks_are_reported_as_linux_reported_them() {
    let reno = TcpConfig { slow_start: SlowStartKind::Standard, ..linux(WindowLawKind::Reno) };
    let cubic = linux(Profile::Linux6.config().window_law);
    for (name, cfg) in [("accecn-reno", reno), ("accecn-cubic", cubic)] {
        let cfg = TcpConfig { ecn: EcnKind::Accecn, max_train_segments: 0, ..cfg };
        let transfer = Transfer { cfg, bytes: 3_000_000, rates: RATES, limit: 1000, codel: Some((5, 100)), lost: None };
        let (mut segments, mut acks) = (0, Vec::new());
        let server = transfer.run(0, |now, seen, segment| match seen {
            Seen::Sent => segments += u32::from(segment.len > 0),
            Seen::Received if segment.flags.has(Flags::SYN) => {}
            Seen::Received => acks.push((now, segment.ack.wrapping_sub(ISS[0].wrapping_add(1)))),
        });
        let marked = server.delivered_ce().expect("AccECN").ce_bytes;
        let text = golden(name);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let counts = [lines[1][1], lines[2][1], lines[2][4]].map(|word| word.parse::<u32>().expect("a number"));
        let words: Vec<&str> = lines[3..].concat();
        for ((at, ack), wanted) in acks.iter().step_by(20).zip(words.chunks(2)) {
            let ms = (*at - acks[0].0).as_secs_f64() * 1e3;
            let wanted_ms: f64 = wanted[0].parse().expect("a time");
            let is_same = (ms - wanted_ms).abs() <= TOLERANCE_MS && ack.to_string() == wanted[1];
            assert!(is_same, "{name}: {ms} {ack}, not {wanted:?}");
        }
        assert_eq!([segments, acks.len() as u32, marked], counts, "{name}");
    }
}
