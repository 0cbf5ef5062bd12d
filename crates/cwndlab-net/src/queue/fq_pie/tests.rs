use rand::SeedableRng as _;

use super::*;
use crate::test_packet::TestPacket;

/// Offers a packet of each flow every `gap_us` and sends one every millisecond. Returns for each flow how many packets
/// were dropped, and the last delay in ms.
fn load(config: &FqPieConfig, gaps_us: &[u64], seconds: u64) -> Vec<(usize, u64)> {
    config.check().unwrap();
    let (mut queue, mut rng, mut dropped) = (FqPie::new(config.clone(), 5), Rng::seed_from_u64(1), Vec::new());
    let mut found = vec![(0, 0); gaps_us.len()];
    let mut sent_at = std::collections::BTreeMap::new();
    for us in 0..seconds * 1_000_000 {
        let now = Time::from_micros(us);
        for (flow, _) in gaps_us.iter().enumerate().filter(|(_, &gap)| us % gap == 0) {
            let id = us * 10 + flow as u64;
            sent_at.insert(id, us);
            queue.enqueue(now, &TestPacket::of_flow(id, flow as u64), &mut rng, &mut dropped);
        }
        if us % 1000 == 0 {
            if let Some(Dequeued { packet, .. }) = queue.dequeue(now) {
                found[packet.flow as usize].1 = (us - sent_at[&packet.id]) / 1000;
            }
        }
    }
    for (_, packet) in dropped {
        found[packet.flow as usize].0 += 1;
    }
    found
}

#[test]
fn the_flow_that_fills_its_queue_is_dropped_from_and_the_other_is_not() {
    let found = load(&FqPieConfig { quantum: 1000, mtu: 1000, ..FqPieConfig::default() }, &[1000, 5000], 30);
    assert!(found[0].0 > 30, "{found:?}: 1200 packets/s are offered");
    assert_eq!(found[1].0, 0);
    assert!(found[1].1 <= 2, "the slow flow hardly waits: {found:?}");
}

/// Flows at rest are not updated, so what such a flow does later must not depend on when the queue began.
#[test]
fn updates_of_flows_at_rest_change_nothing() {
    let mut pie = Pie::default();
    let params = Params { target: ticks(15), alpha: 2, beta: 20, bytemode: false, mtu: 1500 };
    for _ in 0..100 {
        pie.update(&params, 0);
    }
    assert_eq!(pie, Pie::default());
}

fn ticks(ms: u64) -> u64 {
    pie::ticks(Time::from_millis(ms))
}

/// A queue with a packet of flow 0 waiting for each of `ids`, and the index of its line.
fn waiting(config: &FqPieConfig, ids: std::ops::Range<u64>) -> (FqPie<TestPacket>, usize) {
    let mut queue = FqPie::new(FqPieConfig { first_update_ns: config.update_ns, ..config.clone() }, 5);
    let index = queue.index(0);
    for id in ids {
        queue.enqueue(Time::ZERO, &TestPacket::ect(id), &mut Rng::seed_from_u64(1), &mut Vec::new());
    }
    (queue, index)
}

/// An update finds the delay of a packet that left after an earlier update had found nothing to do.
#[test]
fn a_flow_is_updated_while_packets_wait_and_until_it_is_at_rest() {
    let ms = Time::from_millis;
    let (mut queue, line) = waiting(&FqPieConfig::default(), 0..3);
    queue.update(ms(30));
    assert!(queue.flows[line].stirred && queue.flows[line].pie == Pie::default(), "nothing has left");
    for _ in 0..2 {
        queue.dequeue(ms(200));
    }
    queue.update(ms(210));
    let high = queue.flows[line].pie.prob;
    assert!(high > 0, "the delay was 200 ms");
    // Once empty, the flow decays until it is as at the beginning.
    assert!(queue.dequeue(ms(211)).is_some() && queue.dequeue(ms(211)).is_none());
    queue.update(ms(225));
    assert!(queue.flows[line].stirred && queue.flows[line].pie.prob < high);
    queue.update(ms(100_000));
    assert!(!queue.flows[line].stirred && queue.stirred.is_empty() && queue.flows[line].pie == Pie::default());
}

/// `fq_pie_qdisc_enqueue`: marks up to the probability of `ecn_prob` per cent; a packet with CE passes there unchanged.
#[test]
fn a_signal_marks_passes_or_drops() {
    let bound = MAX_PROB / 100 * 10;
    for (prob, ecn, codepoint, marks, drops) in [
        (bound, true, Ecn::Ect0, true, false),
        (bound, true, Ecn::Ect1, true, false),
        (bound, true, Ecn::Ce, false, false),
        (bound, true, Ecn::NotEct, false, true),
        (bound + 1, true, Ecn::Ect0, false, true),
        (bound, false, Ecn::Ect0, false, true),
    ] {
        let (mut queue, line) = waiting(&FqPieConfig { ecn, mtu: 1000, ..FqPieConfig::default() }, 0..3);
        let certain = MAX_PROB / 2 * 17;
        queue.flows[line].pie = Pie::due(ticks(40));
        (queue.flows[line].pie.prob, queue.flows[line].pie.accumulated) = (prob, certain);
        let mut dropped = Vec::new();
        let packet = TestPacket { ecn: codepoint, ..TestPacket::new(9) };
        let marked = queue.enqueue(Time::ZERO, &packet, &mut Rng::seed_from_u64(1), &mut dropped);
        let case = format!("{ecn} {codepoint:?} {}", prob - bound);
        assert_eq!((marked, dropped.len()), (marks, usize::from(drops)), "{case}");
        assert!(dropped.iter().all(|&(cause, dropped)| (cause, dropped) == (DropCause::Aqm, packet)), "{case}");
        assert_eq!(queue.packets(), if drops { 3 } else { 4 }, "{case}");
        assert_eq!(queue.flows[line].pie.accumulated == 0, drops, "{case}");
    }
}

/// A new flow that is empty passes through the old ones, if there are any; else it leaves the lists at once.
#[test]
fn an_empty_new_flow_goes_behind_the_old_ones() {
    let (mut queue, line) = waiting(&FqPieConfig::default(), 0..1);
    assert!(queue.flows[line].listed && queue.dequeue(Time::ZERO).is_some() && queue.dequeue(Time::ZERO).is_none());
    assert!(!queue.flows[line].listed && queue.new_flows.is_empty() && queue.old_flows.is_empty());
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    let other = (1..9).find(|&flow| queue.index(flow) != line).unwrap();
    for id in 0..5 {
        queue.enqueue(Time::ZERO, &TestPacket::of_flow(id, other), &mut rng, &mut dropped);
    }
    for _ in 0..3 {
        assert!(queue.dequeue(Time::ZERO).is_some()); // the other flow has used its quantum, and is an old one
    }
    queue.enqueue(Time::ZERO, &TestPacket::of_flow(9, 0), &mut rng, &mut dropped);
    let flows: Vec<_> = (0..2).map(|_| queue.dequeue(Time::ZERO).unwrap().packet.flow).collect();
    assert_eq!(flows, [0, other], "new flows first");
    assert!(queue.new_flows.is_empty() && queue.flows[line].listed);
    assert_eq!(queue.old_flows.iter().filter(|&&index| index == line as u32).count(), 1);
}
