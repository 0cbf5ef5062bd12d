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
