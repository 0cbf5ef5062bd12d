use std::net::Ipv4Addr;

use super::*;

const RFC2416: &str = r#"{
  "duration_ns": 60000000000, "nodes": ["source", "r1", "r2", "receiver"], "tcp": [], "traffic": [],
  "links": [
    {"name":"s>r1","from":0,"to":1,"rate_bps":100000000,"delay_ns":0,"queue":{"kind":"drop-tail","limit":100}},
    {"name":"r1>r2","from":1,"to":2,"rate_bps":1500000,"delay_ns":25000000,"queue":{"kind":"drop-tail","limit":100}},
    {"name":"r2>r","from":2,"to":3,"rate_bps":9600,"delay_ns":150000000,"queue":QUEUE,"impairments":IMPAIRMENTS},
    {"name":"r>r2","from":3,"to":2,"rate_bps":9600,"delay_ns":150000000,"queue":{"kind":"drop-tail","limit":3}},
    {"name":"r2>r1","from":2,"to":1,"rate_bps":1500000,"delay_ns":25000000,"queue":{"kind":"drop-tail","limit":100}},
    {"name":"r1>s","from":1,"to":0,"rate_bps":100000000,"delay_ns":0,"queue":{"kind":"drop-tail","limit":100}}]}"#;

fn network(queue: &str, impairments: &str) -> LiveNetwork {
    let json = RFC2416.replace("QUEUE", queue).replace("IMPAIRMENTS", impairments);
    let scenario = Scenario::from_json(&json).unwrap();
    let ports = [(0, vec![Ipv4Addr::new(10, 0, 0, 1).into()]), (3, vec![Ipv4Addr::new(10, 0, 0, 2).into()])];
    LiveNetwork::new(&scenario, Streams::new(1, 0), &ports).unwrap()
}

/// A packet of 1000 bytes from the source to the receiver.
fn data(ecn: u8) -> Vec<u8> {
    let mut packet = vec![0; 1000];
    packet[..20].copy_from_slice(&[0x45, ecn, 3, 232, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet
}

/// Injects `count` packets at once. Returns everything that happens, each event with its packet's ID and its time.
fn run(network: &mut LiveNetwork, count: u64, packet: &[u8]) -> Vec<(u64, Time, Event)> {
    let mut log = Vec::new();
    let header = Header::parse(packet).unwrap();
    for _ in 0..count {
        network.inject(Time::ZERO, 0, &header, packet, |_, at, packet, event| log.push((packet.id, at, event)));
    }
    // The driver is slow: scheduled times must not depend on when the driver advances the network.
    for second in 1..120 {
        network.advance(Time::from_secs(second), |_, at, packet, event| log.push((packet.id, at, event)));
    }
    log
}

#[test]
fn a_packet_takes_the_time_of_its_links_whenever_the_driver_looks() {
    let mut network = network(r#"{"kind":"drop-tail","limit":3}"#, "[]");
    // 0.08 ms + 5.333 ms + 25 ms + 833.333 ms + 150 ms, each rounded to the nanosecond.
    let expected = Time::from_nanos(80_000 + 5_333_333 + 25_000_000 + 833_333_333 + 150_000_000);
    assert_eq!(run(&mut network, 1, &data(0)), [(0, expected, Event::Delivered)]);
    assert_eq!(network.packets_inside(), 0);
}

#[test]
fn a_driver_that_waits_for_the_next_exit_is_never_late_and_sleeps_through_the_hops() {
    let queues = [r#"{"kind":"drop-tail","limit":30}"#, r#"{"kind":"codel","ecn":false}"#, r#"{"kind":"infinite"}"#];
    for (queue, size) in queues.into_iter().flat_map(|queue| [(queue, 1000_u16), (queue, 20)]) {
        let mut network = network(queue, "[]");
        let mut packet = data(0);
        packet.truncate(size.into());
        packet[2..4].copy_from_slice(&size.to_be_bytes());
        let header = Header::parse(&packet).unwrap();
        for _ in 0..10 {
            network.inject(Time::ZERO, 0, &header, &packet, |_, _, _, _| ());
        }
        let (mut waits, mut gone) = (0, 0);
        while !network.next_exit().is_never() {
            let until = network.next_exit();
            waits += 1;
            network.advance(until, |_, at, _, event| {
                assert!(event != Event::Delivered || at == until, "{queue}: due at {at}, looked at {until}");
                gone += usize::from(matches!(event, Event::Delivered | Event::Dropped(..)));
            });
        }
        assert_eq!((gone, network.packets_inside()), (10, 0), "{queue}");
        // For each packet, one wait until its start on the last link and one until its delivery. A wait for each hop
        // would make at least 30 waits.
        assert!(waits <= 22, "{queue}: {waits} waits");
    }
}

#[test]
fn four_packets_into_three_buffers_lose_one_and_the_rest_leaves_at_the_bottlenecks_pace() {
    let mut network = network(r#"{"kind":"drop-tail","limit":3}"#, "[]");
    let log = run(&mut network, 4, &data(0));
    let dropped: Vec<_> = log.iter().filter(|(.., event)| *event == Event::Dropped(2, DropCause::Full)).collect();
    assert_eq!((dropped.len(), dropped[0].0), (1, 3));
    let times: Vec<_> = log.iter().filter(|(.., event)| *event == Event::Delivered).map(|&(_, at, _)| at).collect();
    assert_eq!(times[1] - times[0], Time::from_nanos(833_333_333));
    assert_eq!(times.len(), 3);
    assert_eq!(network.packets_inside(), 0);
    assert_eq!(network.counters(2, Time::from_secs(10)).drops, [1, 0, 0]);
}

#[test]
fn a_queue_that_decides_at_departure_marks_and_every_packet_is_accounted_for() {
    let mut network = network(r#"{"kind":"codel","ecn":true,"interval_ns":500000000}"#, "[]");
    let log = run(&mut network, 100, &data(2));
    let count = |wanted: fn(&Event) -> bool| log.iter().filter(|(.., event)| wanted(event)).count();
    assert_eq!(count(|event| *event == Event::Delivered), 100);
    assert!(count(|event| matches!(event, Event::Marked(2))) > 5);
    assert_eq!(network.packets_inside(), 0);
}

#[test]
fn a_duplicate_shares_its_bytes_and_both_are_delivered() {
    let mut network = network(r#"{"kind":"infinite"}"#, r#"[{"kind":"duplicate","p":1.0}]"#);
    let log = run(&mut network, 3, &data(0));
    assert_eq!(log.iter().map(|&(id, ..)| id).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
    assert_eq!(network.packets_inside(), 0);
}

#[test]
fn a_duplicate_whose_original_the_queue_dropped_keeps_the_bytes_until_it_is_gone() {
    let queues =
        [r#"{"kind":"drop-tail","limit":2}"#, r#"{"kind":"codel","ecn":false,"limit":2}"#, r#"{"kind":"infinite"}"#];
    for queue in queues {
        let mut network = network(queue, r#"[{"kind":"duplicate","p":1.0}]"#);
        let (mut ends, mut wrong) = ([0; 200], 0);
        for number in 0..200_u8 {
            let at = Time::from_millis(300 * u64::from(number));
            let mut packet = data(0);
            packet[999] = number;
            let mut report = |network: &LiveNetwork, _, packet: &LivePacket, event| {
                wrong += usize::from(u64::from(network.bytes(packet)[999]) != packet.id);
                ends[packet.id as usize] += usize::from(matches!(event, Event::Delivered | Event::Dropped(..)));
            };
            network.advance(at, &mut report);
            network.inject(at, 0, &Header::parse(&packet).unwrap(), &packet, &mut report);
            if number == 199 {
                network.advance(Time::from_secs(1000), &mut report);
            }
        }
        assert_eq!(wrong, 0, "{queue}: packets with the bytes of others");
        assert_eq!(ends, [2; 200], "{queue}: each packet and its duplicate end once");
        assert_eq!(network.packets_inside(), 0, "{queue}");
    }
}

#[test]
fn a_packet_for_nobody_is_refused() {
    let mut network = network(r#"{"kind":"infinite"}"#, "[]");
    let mut packet = data(0);
    packet[19] = 77;
    let header = Header::parse(&packet).unwrap();
    assert_eq!(network.inject(Time::ZERO, 0, &header, &packet, |_, _, _, _| ()), None);
    assert_eq!(network.packets_inside(), 0);
}

#[test]
fn a_packet_enters_the_link_when_the_kernels_queue_lets_it_go_and_what_it_overtook_was_dropped() {
    let mut network = network(r#"{"kind":"kernel","qdisc":"fq_codel"}"#, "[]");
    let mut log = Vec::new();
    for number in 0..2 {
        let mut packet = data(2);
        packet[4] = number;
        network.inject(Time::ZERO, 0, &Header::parse(&packet).unwrap(), &packet, |_, _, _, _| ());
    }
    // The packets leave the network where they meet the queue, so the driver must not sleep longer.
    let queued = [80_000, 160_000].map(|at| Time::from_nanos(at + 25_000_000));
    while network.next_exit() < Time::from_secs(1) {
        let until = network.next_exit();
        network.advance(until, |_, at, packet, event| log.push((packet.id, at, event)));
    }
    assert_eq!(
        log.iter().map(|entry| (entry.0, entry.2)).collect::<Vec<_>>(),
        [(0, Event::Queued(2)), (1, Event::Queued(2))]
    );
    assert!(log[0].1 > queued[0] && log[1].1 > queued[1]);
    assert_eq!(network.queue(2, Time::from_millis(50)).0, 2);
    let mut left = data(3); // marked, and forwarded
    (left[4], left[8]) = (1, 63);
    log.clear();
    let at = Time::from_secs(1);
    let header = Header::parse(&left).unwrap();
    assert!(network.leave(at, 2, &header, &left, |_, at, packet, event| log.push((packet.id, at, event))));
    assert!(!network.leave(at, 2, &header, &left, |_, _, _, _| ()), "it has left already");
    network.advance(Time::from_secs(9), |_, at, packet, event| log.push((packet.id, at, event)));
    let arrival = at + Time::from_nanos(833_333_333 + 150_000_000);
    let dropped = Event::Dropped(2, DropCause::Aqm);
    assert_eq!(log, [(0, at, dropped), (1, at, Event::Marked(2)), (1, arrival, Event::Delivered)]);
    let counters = network.counters(2, Time::from_secs(9));
    assert_eq!((counters.arrivals, counters.accepted, counters.drops, counters.marks), (2, 1, [0, 1, 0], 1));
    assert_eq!(network.packets_inside(), 0);
}

/// A TCP segment of 1000 bytes from port `port` of the source to the receiver.
fn segment(port: u8, flags: u8, seq: u32) -> Vec<u8> {
    let mut packet = data(0);
    packet[9] = 6;
    packet[21] = port;
    packet[24..28].copy_from_slice(&seq.to_be_bytes());
    (packet[32], packet[33]) = (0x50, flags);
    packet
}

#[test]
fn segments_are_dropped_by_their_place_in_the_stream_which_begins_after_the_syn() {
    const ACK: u8 = 0x10;
    let impairments = r#"[{"kind":"drop-seq","offsets":[960],"occurrences":1}]"#;
    let mut network = network(r#"{"kind":"infinite"}"#, impairments);
    let mut log = Vec::new();
    // Of both flows the SYN has a number of its own, and each segment 960 bytes of data.
    for (port, flags, seq) in [
        (1, Tcp::SYN, 99),
        (2, Tcp::SYN, 4_294_967_000),
        (1, ACK, 100),
        (2, ACK, 4_294_967_001),
        (1, ACK, 1060),
        (1, ACK, 1060),
    ] {
        let packet = segment(port, flags, seq);
        let header = Header::parse(&packet).unwrap();
        network.inject(Time::ZERO, 0, &header, &packet, |_, _, _, _| ()).unwrap();
    }
    network.advance(Time::from_secs(99), |_, _, packet, event| log.push((packet.id, event)));
    let dropped: Vec<_> = log.iter().filter(|(_, event)| *event != Event::Delivered).collect();
    // The byte after the first 960 is in the first flow's second segment; its copy passes.
    assert_eq!(dropped, [&(4, Event::Dropped(2, DropCause::Loss))]);
    assert_eq!(log.len(), 6);
}

#[test]
fn what_a_queue_sees_of_a_packet_is_what_it_carries() {
    let packet = LivePacket {
        wire_bytes: 5,
        flow_key: 6,
        payload: (7, 8),
        dscp: 46,
        hop: 9,
        ecn: Ecn::Ect1,
        ..LivePacket::default()
    };
    assert_eq!((packet.wire_bytes(), packet.flow_key(), packet.payload()), (5, 6, (7, 8)));
    assert_eq!((packet.dscp(), packet.route_position(), packet.ecn(), packet.ack()), (46, 9, Ecn::Ect1, None));
    let onward = Reported::<fn(&LiveNetwork, Time, &LivePacket, Event)>::onward(&packet);
    assert_eq!(onward, LivePacket { hop: 10, ..packet });
}
