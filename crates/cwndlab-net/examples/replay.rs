//! Replays packets through a queue on a link that takes no time, as through a queue of Linux on a TUN device: reads
//! `{"queue": …, "packets": […]}` for each line of its input, and prints `[[packet, time in ns, CE], …]` in the order in
//! which packets leave. Packets that are missing were dropped. `linux/tests/queues/` compares both.

use std::io::{stdin, BufRead as _};

use cwndlab_net::queue::{Queue, QueueConfig, RouteHosts};
use cwndlab_net::{Ack, Ecn, Packet, Rng};
use cwndlab_units::{Rate, Time};
use rand::SeedableRng as _;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
/// A queue and the packets that arrive.
pub struct Replay {
    queue: QueueConfig,
    packets: Vec<Arrival>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrival {
    at: u64,
    bytes: u32,
    flow: u64,
    source: u32,
    destination: u32,
    ecn: u8,
    dscp: u8,
    ack: Option<Acknowledgment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acknowledgment {
    number: u32,
    pure: bool,
    flags: u8,
    timestamps: Option<(u32, u32)>,
    sack: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Replayed {
    id: usize,
    bytes: u32,
    flow: u64,
    place: u32,
    ecn: Ecn,
    dscp: u8,
    ack: Option<Ack>,
}

impl Packet for Replayed {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow_key(&self) -> u64 {
        self.flow
    }
    fn payload(&self) -> (u32, u32) {
        (0, self.bytes)
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn route_position(&self) -> u32 {
        self.place
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
}

/// The routes of all pairs of hosts, one hop each.
const HOSTS: u32 = 64;

fn route(source: u32, destination: u32) -> RouteHosts {
    RouteHosts { start: 2 * (source * HOSTS + destination), source, destination }
}

fn packet(id: usize, arrival: &Arrival) -> Replayed {
    let ack = arrival.ack.as_ref().map(|ack| Ack {
        number: ack.number,
        acknowledges: true,
        pure: ack.pure,
        ecn_flags: ack.flags,
        timestamps: ack.timestamps,
        sack: ack.sack,
    });
    Replayed {
        id,
        bytes: arrival.bytes,
        flow: arrival.flow,
        place: route(arrival.source, arrival.destination).start + 1,
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(arrival.ecn)],
        dscp: arrival.dscp,
        ack,
    }
}

/// What leaves the queue, in order: packet, time in ns, CE.
///
/// # Panics
/// If the queue is invalid, or decides when packets arrive.
pub fn replay(mut replay: Replay) -> Vec<(usize, u64, bool)> {
    replay.queue.check().expect("a valid queue");
    let routes: Vec<_> = (0..HOSTS).flat_map(|from| (0..HOSTS).map(move |to| route(from, to))).collect();
    replay.queue.number_hosts(&routes);
    let Queue::Departure(mut queue) = replay.queue.build(Rate::from_bps(400_000_000_000), 0) else {
        panic!("not a queue that decides at departure")
    };
    let (mut rng, mut dropped, mut left) = (Rng::seed_from_u64(0), Vec::new(), Vec::new());
    let mut arrivals = replay.packets.iter().enumerate().peekable();
    let mut now = Time::ZERO;
    loop {
        let arrival = arrivals.peek().map(|(_, arrival)| Time::from_nanos(arrival.at));
        let ready = queue.next_ready(now);
        let Some(next) = arrival.into_iter().chain(ready).min() else { return left };
        now = now.max(next);
        if arrival == Some(next) {
            let (id, arrival) = arrivals.next().expect("peeked");
            queue.enqueue(now, &packet(id, arrival), &mut rng, &mut dropped);
        }
        let mut place = Replayed::default();
        while queue.dequeue(now, &mut dropped, &mut place).is_some() {
            left.push((place.id, now.as_nanos(), place.ecn == Ecn::Ce));
        }
        dropped.clear();
    }
}

fn main() {
    for line in stdin().lock().lines() {
        let read = serde_json::from_str(&line.expect("a line")).expect("a queue and packets");
        println!("{}", serde_json::to_string(&replay(read)).expect("numbers"));
    }
}
