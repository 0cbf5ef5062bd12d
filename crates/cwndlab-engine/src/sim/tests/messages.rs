//! A stack that carries messages and requests: what arrives is reported, and its payloads are freed.

use std::collections::VecDeque;

use serde_json::{json, Value};

use super::*;
use crate::stacks::{Answer, Content, Endpoint, Message, Opening, Progress, StackCounters, StackError, Stacks};

/// A payload begins with its kind: a message with number, time and size, a request with number and response, or a response.
#[derive(Default)]
struct Post {
    out: VecDeque<Vec<u8>>,
    messages: VecDeque<Message>,
    answers: VecDeque<Answer>,
    sent: u32,
    received: u64,
}

fn words(kind: u8, words: &[u64], size: usize) -> Vec<u8> {
    let mut payload = vec![kind];
    payload.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    payload.resize(size.max(payload.len()), 0);
    payload
}

fn word(payload: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(payload[1 + 8 * at..9 + 8 * at].try_into().unwrap())
}

impl Endpoint for Post {
    fn handle_datagram(&mut self, _: Time, _: u8, payload: &[u8]) {
        match payload[0] {
            b'm' => {
                let sent = Time::from_nanos(word(payload, 1));
                self.messages.push_back(Message {
                    number: word(payload, 0) as u32,
                    sent,
                    bytes: word(payload, 2) as u32,
                });
            }
            b'r' => self.out.push_back(words(b'a', &[word(payload, 0)], word(payload, 1) as usize)),
            _ => {
                self.received += payload.len() as u64;
                self.answers.push_back(Answer { number: word(payload, 0) as u32, complete: true });
            }
        }
    }
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_datagram(&mut self, _: Time, payload: &mut Vec<u8>) -> Option<u8> {
        *payload = self.out.pop_front()?;
        Some(0)
    }
    fn poll_timeout(&mut self) -> Time {
        Time::MAX
    }
    fn write(&mut self, _: u64) {}
    fn close(&mut self) {}
    fn progress(&self) -> Progress {
        Progress { established: true, received: self.received, ..Progress::default() }
    }
    fn ask(&mut self, request: u64, response: u64) -> Result<(), StackError> {
        self.out.push_back(words(b'r', &[u64::from(self.sent), response], request as usize));
        self.sent += 1;
        Ok(())
    }
    fn poll_answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }
    fn send_message(&mut self, now: Time, bytes: u32) -> Result<(), StackError> {
        let message = words(b'm', &[u64::from(self.sent), now.as_nanos(), u64::from(bytes)], bytes as usize);
        self.out.push_back(message);
        self.sent += 1;
        Ok(())
    }
    fn poll_message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }
    fn counters(&self) -> StackCounters {
        StackCounters { lost: 2, timeouts: 1, ecn_reductions: 4 }
    }
}

struct Office;

impl Stacks for Office {
    fn open(&mut self, _: &Value, _: &Opening) -> Result<[Box<dyn Endpoint>; 2], StackError> {
        Ok([Box::new(Post::default()), Box::new(Post::default())])
    }
}

#[derive(Default)]
struct Arrived {
    delays: Vec<(Time, Way, Time, u32)>,
    objects: Vec<ObjectRecord>,
    record: Option<ConnectionRecord>,
}

impl Probe for Arrived {
    const ENABLED: bool = true;
    fn delay(&mut self, now: Time, way: Way, delay: Time, payload: u32) {
        self.delays.push((now, way, delay, payload));
    }
    fn object(&mut self, _: u32, record: &ObjectRecord) {
        self.objects.push(*record);
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.record = Some(*record);
    }
}

/// The chain with this application over the stack.
fn office(app: Value, seconds: u64) -> Scenario {
    let tcp = tcp(cwndlab_tcp::Profile::Rfc5681, RecoveryKind::Reno);
    let mut scenario = chain(&tcp, 1, DROP_TAIL, "", seconds);
    scenario.traffic[0].app = serde_json::from_value(app).unwrap();
    scenario.traffic[0].stack = Some(json!({}));
    scenario.probes.segments_at = None;
    scenario
}

fn simulate(scenario: &Scenario) -> Simulation<Arrived> {
    Simulation::new(scenario, 1, 0, Arrived::default()).unwrap().with_stacks(Box::new(Office))
}

/// Nanoseconds that a datagram with `payload` bytes takes from end to end: three links, and 22 ms of propagation.
fn way_ns(payload: u64) -> u64 {
    let bytes = payload + 28;
    22_000_000 + bytes * 80 + (bytes * 16_000 + 1) / 3 + bytes * 80
}

#[test]
fn a_message_has_the_delay_from_its_sending_to_its_arrival() {
    for (delays, from) in [(true, "client"), (false, "client")] {
        let packet = json!({"kind": "fixed", "value": 500});
        let mut scenario = office(json!({"kind": "cbr", "rate_bps": 80_000, "packet_bytes": packet, "from": from}), 1);
        scenario.probes.delays = delays;
        let seen = simulate(&scenario).run().unwrap().1;
        // One every 50 ms; those sent from 0 to 950 ms have arrived.
        assert_eq!(seen.delays.len(), if delays { 20 } else { 0 });
        let record = seen.record.unwrap();
        assert_eq!((record.segments_sent, record.drops, record.bytes_up), (21, 0, 0));
        for (k, &(now, way, delay, payload)) in (0..).zip(&seen.delays) {
            assert_eq!((way, payload), (Way { connection: 0, from_client: from == "client" }, 472), "{k}");
            assert!(delay.as_nanos().abs_diff(way_ns(472)) <= 2, "{k}: {delay}");
            assert_eq!(now, Time::from_millis(50 * k) + delay);
        }
    }
}

#[test]
fn requests_are_answered_on_their_streams_and_recorded_as_objects() {
    let fixed = |value: u32| json!({"kind": "fixed", "value": value});
    let page = json!({"kind": "web", "protocol": "http/3", "clock": "syn", "inline_trigger": "whole-primary",
        "object_bytes": fixed(1000), "request_bytes": fixed(500), "think_s": fixed(1)});
    let seen = simulate(&office(page, 10)).run().unwrap().1;
    assert!(seen.objects.len() >= 5, "{:?}", seen.objects);
    // The first object is asked for alone, and the other three once it is there, by a datagram each.
    let page = seen.objects[0];
    assert_eq!((page.bytes, page.connections), (4000, 1));
    let (least, took) = (2 * (way_ns(500) + way_ns(1000)), (page.end - page.start).as_nanos());
    assert!((least..least + 20_000_000).contains(&took), "{took} {page:?}");
    // The counters of both ends, which do not change.
    let record = seen.record.unwrap();
    assert_eq!((record.retransmits, record.timeouts, record.ecn_reductions), (4, 2, 8));
    assert_eq!(record.bytes_down % 1000, 0);
}

/// A slot of a payload is free again when its packet is delivered or dropped, and a connection takes 64 KiB and 1500 bytes
/// for each datagram in flight.
#[test]
fn payloads_take_memory_only_while_they_are_in_flight() {
    let app = json!({"kind": "cbr", "rate_bps": 2_000_000, "packet_bytes": {"kind": "fixed", "value": 500}});
    let mut simulation = simulate(&office(app, 60));
    for second in 1..4 {
        simulation.run_until(Time::from_secs(second)).unwrap();
        let summary = simulation.summary();
        let in_flight = summary.injected - summary.delivered - summary.dropped;
        assert!(summary.dropped > 100 && in_flight < 50, "{summary:?}");
        assert_eq!(simulation.outside.memory_bytes(), (64 << 10) + 1500 * in_flight);
        assert_eq!(u64::from(simulation.conns[0].in_network), in_flight);
    }
    assert!(simulation.outside.has_messages(0) && !simulation.outside.has_messages(1));
    assert!(simulation.outside.has(0) && !simulation.outside.has(1));
}

/// What is recorded of a payload has the payload's slot, and a copy has its own.
#[test]
fn a_content_belongs_to_the_slot_of_its_payload() {
    let mut payloads = crate::sim::stacks::Payloads::default();
    let content = |number| Content { number: Some(number), ..Content::default() };
    let [first, second] = [b"one", b"two"].map(|text| payloads.store(&mut text.to_vec()));
    assert_eq!(payloads.content(second), None, "nothing is recorded yet");
    payloads.set_content(second, content(2));
    payloads.set_content(first, content(1));
    let third = payloads.copy(second);
    assert_eq!([first, second, third], [0, 1, 2]);
    assert_eq!([first, second, third].map(|slot| payloads.content(slot).cloned()), [1, 2, 2].map(|k| Some(content(k))));
    payloads.release(second);
    assert_eq!(payloads.store(&mut b"three".to_vec()), second);
}
