//! Whole transfers with BBR, compared with those that Linux sent over the same path: the times of every twentieth data
//! segment, and their number. `linux/tests/test_bbr.py` records the files on a kernel, and those of version 3 on one with its patch.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use super::Connection;
use crate::*;
use cwndlab_units::Time;
use rand::SeedableRng;

/// Payload of a full segment with timestamps.
const MSS: u64 = 1448;
/// By how much a time may differ, as in `linux/tests/test_bbr.py`.
const TOLERANCE_MS: f64 = 0.05;
const ISS: [u32; 2] = [u32::MAX - 1_000_000, 77];

/// A link with a queue that drops what does not fit; its limit counts the packet that is being sent.
struct Hop {
    mbps: u64,
    delay: Time,
    limit: usize,
    /// When each packet leaves.
    leaves: VecDeque<Time>,
}

impl Hop {
    fn new(mbps: u64, delay_us: u64, limit: usize) -> Self {
        Hop { mbps, delay: Time::from_micros(delay_us), limit, leaves: VecDeque::new() }
    }

    /// When a packet arrives at the other side; `None` if it is dropped.
    fn carry(&mut self, now: Time, bytes: u32) -> Option<Time> {
        while self.leaves.front().is_some_and(|&at| at <= now) {
            self.leaves.pop_front();
        }
        if self.leaves.len() >= self.limit {
            return None;
        }
        let start = self.leaves.back().copied().unwrap_or(now);
        let leaves = start + Time::from_nanos(u64::from(bytes) * 8 * 1000 / self.mbps);
        self.leaves.push_back(leaves);
        Some(leaves + self.delay)
    }
}

/// What is under way: an arrival at a router (`false`) or an end (`true`), of a segment to this side.
type Wire = BTreeMap<(Time, u64), (bool, usize, Segment)>;

/// A transfer from a server over 100 Mb/s and 10 Mb/s, with a round trip of 40 ms.
struct Transfer {
    law: WindowLawKind,
    bytes: u64,
    /// Packets in the queue before the slower link.
    limit: usize,
    /// The offset of a segment that is lost once.
    lost: Option<u64>,
}

impl Transfer {
    fn config(&self) -> TcpConfig {
        let bytes = 6 << 20;
        TcpConfig {
            window_law: self.law,
            ack_policy: AckPolicy::Every,
            receive_tuning: ReceiveTuning::Linux { initial_bytes: bytes, most_bytes: bytes },
            max_train_segments: 1,
            rto: RtoConfig { timer_hz: 1000, tick_phase_ns: Time::from_millis(48), ..Profile::Linux6.config().rto },
            ..Profile::Linux6.config()
        }
    }

    /// Reports every data segment that the server sends, until `sent` returns false.
    fn run(&self, seed: u64, mut sent: impl FnMut(Time, &Segment) -> bool) {
        let cfg = self.config();
        let mut ends = [Connection::client(&cfg, ISS[1], Time::ZERO), Connection::server(&cfg, ISS[0], Time::ZERO)];
        ends[1].set_random(Rng::seed_from_u64(seed));
        // by the side to which they lead: the first hop and the second
        let (lan, wan) = (|| Hop::new(100, 500, 1000), || Hop::new(10, 19_500, self.limit));
        let mut hops = [[lan(), wan()], [wan(), lan()]];
        let mut wire = Wire::new();
        let (mut number, mut now, mut lost, mut wrote) = (0, Time::ZERO, self.lost, false);
        loop {
            for side in 0..2 {
                if side == 1 && !wrote && ends[1].state() == State::Established {
                    ends[1].write(self.bytes);
                    ends[1].close();
                    wrote = true;
                }
                if side == 0 && ends[0].peer_closed() && ends[0].state() == State::CloseWait {
                    ends[0].close();
                }
                while let Some(segment) = ends[side].poll_transmit(&cfg, now) {
                    if segment.len > 0 && !sent(now, &segment) {
                        return;
                    }
                    let to = 1 - side;
                    if let Some(at) = hops[to][0].carry(now, segment.wire_bytes) {
                        wire.insert((at, number), (false, to, segment));
                        number += 1;
                    }
                }
            }
            let timeout = ends[0].poll_timeout().min(ends[1].poll_timeout());
            let arrival = wire.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
            if timeout.min(arrival).is_never() || ends.iter().all(|end| end.state() == State::Closed) {
                return;
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
            let ((at, _), (at_end, to, segment)) = wire.pop_first().expect("an arrival");
            now = at;
            if at_end {
                ends[to].handle_segment(&cfg, now, &segment);
                continue;
            }
            let offset = u64::from(segment.seq.wrapping_sub(ISS[0].wrapping_add(1)));
            if to == 0 && segment.len > 0 && lost == Some(offset) {
                lost = None;
            } else if let Some(at) = hops[to][1].carry(now, segment.wire_bytes) {
                wire.insert((at, number), (true, to, segment));
                number += 1;
            }
        }
    }

    /// Compares a transfer with a file.
    fn compare(&self, name: &str, seed: u64) -> Result<(), String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../linux/tests/golden/{name}.txt"));
        let text = std::fs::read_to_string(path).expect("a golden file");
        let mut lines = text.lines().skip(1);
        let count = lines.next().and_then(|line| line.split(' ').nth(1)).expect("segments N");
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        let (mut k, mut start, mut wrong) = (0, None, None);
        self.run(seed, |now, segment| {
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
            wrong.is_none()
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
        let transfer = Transfer { law, bytes, limit, lost };
        assert_eq!(transfer.compare(name, seed), Ok(()), "{name}");
    }
}
