//! What a driver reports of packets: marks, drops and copies, each once and with its packet.

use super::*;

/// 60 packets in pairs: twice what the last link can send.
fn overload(packet: fn(u64) -> TestPacket) -> Vec<(Time, TestPacket)> {
    (0..60).map(|id| (Time::from_millis(id / 2), packet(id))).collect()
}

fn impatient(ecn: bool) -> QueueConfig {
    let (target_ns, interval_ns) = (Time::from_millis(2), Time::from_millis(4));
    QueueConfig::Codel(CodelConfig { target_ns, interval_ns, ecn, ..CodelConfig::default() })
}

#[test]
fn every_mark_at_departure_is_reported_once_and_counted() {
    let line = line(&impatient(true), |wire| wire).run(&overload(TestPacket::ect));
    assert!(line.marked.len() > 2, "{:?}", line.marked);
    assert!(line.marked.iter().all(|&(link, _)| link == 1));
    assert!(line.marked.windows(2).all(|pair| pair[0].1 < pair[1].1), "{:?}", line.marked);
    let counters = line.wires[1].link.counters();
    assert_eq!((counters.marks, counters.drops), (line.marked.len() as u64, [0; 3]));
    assert_eq!(line.delivered.len(), 60);
}

#[test]
fn every_drop_at_departure_is_reported_once_and_counted() {
    let line = line(&impatient(false), |wire| wire).run(&overload(TestPacket::ect));
    assert!(line.dropped.len() > 2 && line.marked.is_empty());
    let counters = line.wires[1].link.counters();
    assert_eq!((counters.marks, counters.drops), (0, [0, line.dropped.len() as u64, 0]));
    assert_eq!((counters.arrivals, counters.accepted), (60, 60 - line.dropped.len() as u64));
    let mut ids: Vec<_> = line.delivered.iter().map(|&(id, ..)| id).collect();
    ids.extend(line.dropped.iter().map(|&(_, id)| id));
    ids.sort_unstable();
    assert_eq!(ids, (0..60).collect::<Vec<_>>());
}

/// RED with a weight of 1 marks all that find two packets waiting.
#[test]
fn every_mark_at_arrival_is_reported_once_and_counted() {
    let red = RedConfig { w_q: Some(1.0), ecn: true, hard_drop: false, ..RedConfig::new(1000, 1.0, 2.0) };
    let line = line(&QueueConfig::Red(red), |wire| wire).run(&overload(TestPacket::ect));
    assert!(line.marked.len() > 40, "{:?}", line.marked);
    assert_eq!((line.wires[1].link.counters().marks, line.delivered.len()), (line.marked.len() as u64, 60));
}

/// A copy follows its packet, and is neither lost nor copied.
#[test]
fn every_packet_of_a_link_that_copies_all_comes_twice() {
    let long = QueueConfig::DropTail(DropTailConfig { limit: 999, unit: Unit::Packets, counts_in_service: true });
    for queue in [long, impatient(true)] {
        let copies = |wire: Wire<TestPacket>| {
            let rules = [ImpairmentConfig::Duplicate { p: 1.0 }];
            Wire::new(wire.link.impaired(Impairments::new(&rules))).watched()
        };
        let line = line(&queue, copies).run(&overload(TestPacket::ect));
        let ids: Vec<_> = line.delivered.iter().map(|&(id, ..)| id).collect();
        assert_eq!(ids, (0..120).map(|k| k / 2).collect::<Vec<_>>(), "{queue:?}");
        assert_eq!((line.copied, line.changes[1].len()), (60, 120));
        assert_eq!(line.wires[1].link.counters().arrivals, 120);
    }
}

#[test]
fn a_loss_before_the_queue_is_reported_and_leaves_the_queue_unchanged() {
    let lossy = |wire: Wire<TestPacket>| {
        let rules = [ImpairmentConfig::DropEvery { every: 4, first: None }];
        Wire::new(wire.link.impaired(Impairments::new(&rules))).watched()
    };
    let drop_tail = QueueConfig::DropTail(DropTailConfig { limit: 999, unit: Unit::Packets, counts_in_service: true });
    for queue in [drop_tail, bounded(999)] {
        let line = line(&queue, lossy).run(&overload(TestPacket::new));
        assert_eq!(line.dropped, (0..15).map(|k| (1, 4 * k + 3)).collect::<Vec<_>>(), "{queue:?}");
        assert_eq!((line.delivered.len(), line.changes[1].len()), (45, 45));
        assert_eq!(line.wires[1].link.counters().drops, [0, 0, 15]);
    }
}

/// A CBQ with one class, which is bounded to 4 Mb/s.
fn bounded(limit: u64) -> QueueConfig {
    let drop_tail = serde_json::json!({"kind": "drop-tail", "limit": limit});
    let classes = serde_json::json!([
        {"rate_bps": 8_000_000},
        {"parent": 0, "rate_bps": 4_000_000, "bounded": true, "queue": drop_tail, "max_packet_bytes": 1000}
    ]);
    serde_json::from_value(serde_json::json!({"kind": "cbq", "classes": classes, "default": 1})).unwrap()
}

/// The queue of a bounded class is looked at with every packet, also one that it drops: as that of several classes is.
#[test]
fn a_watched_class_is_looked_at_with_each_packet_that_it_drops() {
    let line = line(&bounded(5), Wire::watched).run(&overload(TestPacket::new));
    assert!(line.wires[1].link.has_bounded_class());
    assert!(line.dropped.len() > 20, "{:?}", line.dropped);
    assert_eq!(line.changes[1].len(), 60);
    let short = QueueConfig::DropTail(DropTailConfig { limit: 5, unit: Unit::Packets, counts_in_service: true });
    let plain = super::line(&short, Wire::watched).run(&overload(TestPacket::new));
    assert_eq!(plain.changes[1].len(), 60 - plain.dropped.len());
}

/// Packets that a later one overtakes leave in the order of their times, and at equal times in that of their arrival.
#[test]
fn packets_that_are_held_back_leave_by_the_end_of_their_delays() {
    let held = |wire: Wire<TestPacket>| {
        let delay = |packets: &[u64], ms| ImpairmentConfig::DelayNth {
            packets: packets.to_vec(),
            extra_ns: Time::from_millis(ms),
        };
        Wire::new(wire.link.impaired(Impairments::new(&[delay(&[1], 3), delay(&[2], 2), delay(&[3], 5)])))
    };
    let mut sends: Vec<_> = (1..=5).map(|id| (Time::ZERO, TestPacket::new(id))).collect();
    // The sixth enters while only the third is under way, and overtakes it.
    sends.push((Time::from_millis(6), TestPacket::new(6)));
    let line = line(&QueueConfig::Infinite {}, held).run(&sends);
    // Without delays they would arrive 1 to 5 ms after the first was sent by the first link, in 10 us.
    let seen: Vec<_> = line.delivered.iter().map(|&(id, at, more)| (id, at.as_nanos() / 1000 - 10, more)).collect();
    assert_eq!(
        seen,
        [(1, 4000, true), (2, 4000, true), (4, 4000, false), (5, 5000, false), (6, 7000, false), (3, 8000, false)],
        "packets and the us of their arrival"
    );
}
