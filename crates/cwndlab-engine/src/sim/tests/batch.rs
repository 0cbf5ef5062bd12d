//! Packets that arrive at one instant, as over Wi-Fi.

use super::*;

/// The server's last link delivers what came in 40 ms at one instant, about five packets.
fn wifi(tcp: &str, from: &str) -> Scenario {
    let mut scenario = chain(tcp, 300_000, r#"{"kind": "infinite"}"#, "", 600);
    let hold = serde_json::from_str(r#"{"kind": "aggregate", "hold_ns": 40000000}"#).unwrap();
    let link = if from == "client" { 2 } else { 3 };
    scenario.links[link].impairments = vec![hold];
    scenario.traffic[0].app =
        serde_json::from_str(&format!(r#"{{"kind": "bulk", "bytes": 300000, "from": "{from}"}}"#)).unwrap();
    scenario
}

/// Windows that the receiver of the data advertised after the handshake, by the time at which they were sent.
#[derive(Default)]
struct Advertised {
    client_receives: bool,
    windows: Vec<(Time, u32)>,
    arrivals: std::collections::BTreeMap<Time, u32>,
    bytes: [u64; 2],
}

impl Probe for Advertised {
    const ENABLED: bool = true;
    fn segment(&mut self, now: Time, event: SegmentEvent, way: Way, _: u16, segment: &Segment) {
        if segment.flags.has(cwndlab_tcp::Flags::SYN) {
            return;
        }
        match event {
            SegmentEvent::Sent { .. } if way.from_client == self.client_receives => {
                self.windows.push((now, segment.window));
            }
            SegmentEvent::Received if segment.len > 0 => *self.arrivals.entry(now).or_default() += 1,
            _ => {}
        }
    }
    fn connection(&mut self, record: &ConnectionRecord) {
        self.bytes = [record.bytes_up, record.bytes_down];
    }
}

fn seen(mut scenario: Scenario, client_receives: bool) -> (Summary, Advertised) {
    scenario.probes.segments_at = Some(if client_receives { 0 } else { 3 });
    let probe = Advertised { client_receives, ..Advertised::default() };
    Simulation::new(&scenario, 1, 0, probe).unwrap().run().unwrap()
}

/// With a fixed buffer, the window shrinks by what waits while packets of an instant are processed; the application reads
/// it after the last one.
#[test]
fn an_application_of_linux_reads_after_the_last_packet_of_an_instant() {
    for (from, client_receives) in [("client", false), ("server", true)] {
        for (profile, holds) in [(cwndlab_tcp::Profile::Linux6, true), (cwndlab_tcp::Profile::Rfc5681, false)] {
            let tcp = serde_json::to_string(&profile.config()).unwrap();
            let (summary, seen) = seen(wifi(&tcp, from), client_receives);
            let all = if client_receives { [0, 300_000] } else { [300_000, 0] };
            assert_eq!((seen.bytes, summary.in_flight), (all, 0));
            assert_eq!(summary.injected, summary.delivered + summary.dropped);
            let batches = seen.arrivals.values().filter(|&&packets| packets > 2).count();
            assert!(batches > 20, "{:?}", seen.arrivals);
            // ACKs of the same instant: in how many pairs the later one has a smaller window.
            let smaller =
                seen.windows.windows(2).filter(|pair| pair[0].0 == pair[1].0 && pair[1].1 < pair[0].1).count();
            assert_eq!(smaller > 10, holds, "{profile:?} {from}: {smaller} of {}", seen.windows.len());
            let last = seen.windows.last().unwrap();
            assert!(last.1 >= seen.windows[0].1, "all is read in the end: {last:?}");
        }
    }
}

/// What arrives alone is read at once.
#[test]
fn packets_that_arrive_one_by_one_are_read_one_by_one() {
    let tcp = serde_json::to_string(&cwndlab_tcp::Profile::Linux6.config()).unwrap();
    let mut scenario = wifi(&tcp, "client");
    scenario.links[2].impairments.clear();
    let (_, seen) = seen(scenario, false);
    assert!(seen.windows.windows(2).all(|pair| pair[1].1 >= pair[0].1), "no window shrinks");
}
