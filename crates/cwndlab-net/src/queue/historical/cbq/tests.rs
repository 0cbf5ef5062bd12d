use super::*;
use crate::queue::{CodelConfig, DropTailConfig, QueueConfig, RedConfig, Unit};
use crate::test_packet::TestPacket;
use crate::{DropCause, Ecn};
use rand::SeedableRng;

mod sharing;

const LINK: Rate = Rate::from_bps(10_000_000);

fn class(rate_bps: u64) -> CbqClassConfig {
    CbqClassConfig {
        parent: None,
        rate_bps: Rate::from_bps(rate_bps),
        priority: 0,
        bounded: false,
        traffic: Vec::new(),
        numbers: Vec::new(),
        flows: Vec::new(),
        queue: Some(Box::new(QueueConfig::Infinite {})),
        max_burst: 1,
        min_idle_ns: None,
        max_packet_bytes: 1000,
    }
}

fn root() -> CbqClassConfig {
    CbqClassConfig { queue: None, ..class(10_000_000) }
}

fn leaf(rate_bps: u64, flow: u64) -> CbqClassConfig {
    CbqClassConfig { parent: Some(0), flows: vec![flow], ..class(rate_bps) }
}

fn config(classes: Vec<CbqClassConfig>) -> CbqConfig {
    let config = CbqConfig { default: classes.len() - 1, classes, sharing: Sharing::Formal };
    config.check().expect("a valid configuration");
    config
}

/// Keeps each flow backlogged from its start time on. Returns the bit rate of each between `from` and `until` seconds.
fn rates(config: &CbqConfig, flows: &[(u64, f64)], from: f64, until: f64) -> Vec<f64> {
    let mut cbq: Cbq<TestPacket> = Cbq::new(config, LINK);
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    let mut sent = vec![0.0; flows.len()];
    let mut now = Time::ZERO;
    while now.as_secs_f64() < until {
        for (at, &(flow, start)) in flows.iter().enumerate() {
            let (leaf, has_started) = (cbq.classify(&TestPacket::of_flow(0, flow)), now.as_secs_f64() >= start);
            if has_started && cbq.leaves[leaf].fifo.len() < 2 {
                cbq.enqueue(now, TestPacket::of_flow(at as u64, flow), &mut rng, &mut dropped);
            }
        }
        if let Some(Dequeued { packet, .. }) = cbq.dequeue(now) {
            if now.as_secs_f64() >= from {
                sent[packet.id as usize] += 8.0 * f64::from(packet.bytes) / (until - from);
            }
            now += LINK.serialization_time(packet.bytes);
        } else {
            let ready = cbq.next_ready(now).expect("packets wait");
            assert!(ready > now, "nothing was sent though {ready} had come");
            now = ready;
        }
    }
    sent
}

fn assert_rates(measured: &[f64], expected: &[f64]) {
    for (m, e) in measured.iter().zip(expected) {
        assert!((m - e).abs() <= 0.02 * e, "measured {measured:?}, expected {expected:?}");
    }
}

#[test]
fn a_bounded_class_keeps_to_its_rate_on_an_idle_link() {
    let bounded = CbqClassConfig { bounded: true, ..leaf(1_500_000, 1) };
    let measured = rates(&config(vec![root(), bounded]), &[(1, 0.0)], 0.0, 10.0);
    assert!((measured[0] - 1_500_000.0).abs() < 2000.0, "{measured:?}");
}

/// The root's own priority has no effect, because only leaves are served.
#[test]
fn a_root_of_another_priority_than_its_leaves_is_not_asked_for_packets() {
    let bounded = CbqClassConfig { bounded: true, priority: 1, ..leaf(1_500_000, 1) };
    let measured = rates(&config(vec![root(), bounded]), &[(1, 0.0)], 0.0, 10.0);
    assert!((measured[0] - 1_500_000.0).abs() < 2000.0, "{measured:?}");
}

#[test]
fn a_class_that_may_borrow_takes_the_idle_link() {
    assert_rates(&rates(&config(vec![root(), leaf(1_500_000, 1)]), &[(1, 0.0)], 0.0, 10.0), &[10_000_000.0]);
}

#[test]
fn backlogged_classes_get_their_shares_and_bounded_ones_not_more() {
    let bounded = CbqClassConfig { bounded: true, ..leaf(1_500_000, 1) };
    let config = config(vec![root(), bounded, leaf(3_000_000, 2), leaf(5_500_000, 3)]);
    let flows = [(1, 0.0), (2, 0.0), (3, 0.0)];
    assert_rates(&rates(&config, &flows, 1.0, 11.0), &[1_500_000.0, 3_000_000.0, 5_500_000.0]);
}

#[test]
fn a_higher_priority_does_not_give_more_than_the_share() {
    let urgent = CbqClassConfig { priority: 0, ..leaf(2_000_000, 1) };
    let rest = CbqClassConfig { priority: 1, ..leaf(8_000_000, 2) };
    let flows = [(1, 0.0), (2, 0.0)];
    // The urgent class may borrow while the other class is over its limit, which gives it a few percent more.
    let measured = rates(&config(vec![root(), urgent, rest]), &flows, 1.0, 11.0);
    assert!((1_980_000.0..2_120_000.0).contains(&measured[0]), "{measured:?}");
    assert!((measured[0] + measured[1] - 10_000_000.0).abs() < 20_000.0, "{measured:?}");
}

#[test]
fn the_share_of_an_idle_class_goes_to_its_sibling_before_others() {
    // Two agencies have 5 Mb/s each. One class of the first agency is idle, so its sibling gets that agency's whole
    // share.
    let agency = || CbqClassConfig { parent: Some(0), queue: None, ..class(5_000_000) };
    let member = |parent, flow| CbqClassConfig { parent: Some(parent), ..leaf(2_500_000, flow) };
    let config = config(vec![root(), agency(), agency(), member(1, 1), member(1, 2), member(2, 3), member(2, 4)]);
    let flows = [(1, 0.0), (3, 0.0), (4, 0.0)];
    assert_rates(&rates(&config, &flows, 1.0, 11.0), &[5_000_000.0, 2_500_000.0, 2_500_000.0]);
}

#[test]
fn a_bounded_agency_bounds_its_members_that_may_borrow_within_it() {
    let agency = CbqClassConfig { parent: Some(0), queue: None, bounded: true, ..class(4_000_000) };
    let member = |flow| CbqClassConfig { parent: Some(1), ..leaf(2_000_000, flow) };
    let config = config(vec![root(), agency, member(1), member(2)]);
    assert_rates(&rates(&config, &[(1, 0.0)], 1.0, 11.0), &[4_000_000.0]);
}

/// After a long time at ten times its rate, a class has an average of -7.2 ms (0.8 - 8). It then has to wait for 7.2 ms
/// plus 15 times its debt.
#[test]
fn a_class_that_borrowed_pays_back_no_more_than_its_lower_bound() {
    let wait_ms = |min_idle_s| {
        let mut estimator = Estimator::new(1e6, 1e7, 1, 1000, min_idle_s);
        let mut now = Time::ZERO;
        for _ in 0..1000 {
            estimator.on_send(now, 1000);
            now += LINK.serialization_time(1000);
        }
        (estimator.undertime - now).as_secs_f64() * 1e3
    };
    assert!((wait_ms(f64::NEG_INFINITY) - 115.2).abs() < 1e-3, "{}", wait_ms(f64::NEG_INFINITY));
    assert!((wait_ms(-0.5e-3) - 14.7).abs() < 1e-3, "{}", wait_ms(-0.5e-3));
}

#[test]
fn the_burst_after_a_pause_is_as_long_as_asked() {
    for max_burst in [1, 4, 20] {
        let bounded = CbqClassConfig { bounded: true, max_burst, ..leaf(1_000_000, 1) };
        let mut cbq: Cbq<TestPacket> = Cbq::new(&config(vec![root(), bounded]), LINK);
        let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
        let mut now = Time::from_secs(10);
        for id in 0..50 {
            cbq.enqueue(now, TestPacket::of_flow(id, 1), &mut rng, &mut dropped);
        }
        let mut burst = 0;
        while cbq.dequeue(now).is_some() {
            burst += 1;
            now += LINK.serialization_time(1000);
        }
        // The first packet after the pause leaves the average at its upper bound. If `max_burst` further packets leave
        // it slightly above zero, one more packet is sent.
        assert!((max_burst + 1..=max_burst + 2).contains(&burst), "{burst} packets, asked for {max_burst}");
    }
}

#[test]
fn packets_are_classified_by_flow_and_else_go_to_the_default() {
    let mut cbq: Cbq<TestPacket> = Cbq::new(&config(vec![root(), leaf(1_000_000, 7), leaf(1_000_000, 8)]), LINK);
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    for flow in [7, 8, 9] {
        cbq.enqueue(Time::ZERO, TestPacket::of_flow(0, flow), &mut rng, &mut dropped);
    }
    assert_eq!((cbq.class_packets(1), cbq.class_packets(2)), (1, 2));
}

/// With a drop-tail limit of ten, the queue of a bounded class drops an eleventh packet.
#[test]
fn a_leaf_queue_of_its_own_limits_its_class() {
    let queue = DropTailConfig { limit: 10, unit: Unit::Packets, counts_in_service: true };
    let bounded =
        CbqClassConfig { bounded: true, queue: Some(Box::new(QueueConfig::DropTail(queue))), ..leaf(1_500_000, 1) };
    let mut cbq: Cbq<TestPacket> = Cbq::new(&config(vec![root(), bounded]), LINK);
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    for id in 0..11 {
        cbq.enqueue(Time::ZERO, TestPacket::of_flow(id, 1), &mut rng, &mut dropped);
    }
    assert_eq!(dropped.len(), 1);
    assert_eq!((dropped[0].0, cbq.packets(), cbq.bytes()), (DropCause::Full, 10, 10_000));
}

#[test]
fn a_red_leaf_marks_and_idles_by_the_rate_of_its_class() {
    let red = RedConfig { ecn: true, w_q: Some(0.5), ..RedConfig::new(100, 2.0, 50.0) };
    let bounded = CbqClassConfig { bounded: true, queue: Some(Box::new(QueueConfig::Red(red))), ..leaf(1_000_000, 1) };
    let mut cbq: Cbq<TestPacket> = Cbq::new(&config(vec![root(), bounded]), LINK);
    let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
    let mut marks = 0;
    for id in 0..60 {
        marks +=
            u32::from(cbq.enqueue(Time::ZERO, TestPacket { flow: 1, ..TestPacket::ect(id) }, &mut rng, &mut dropped));
    }
    assert!(marks > 0);
    let average = cbq.average().unwrap();
    let mut now = Time::ZERO;
    let mut last = Time::ZERO;
    let mut ce = 0;
    while let Some(ready) = cbq.next_ready(now) {
        now = ready;
        if let Some(sent) = cbq.dequeue(now) {
            ce += u32::from(sent.packet.ecn == Ecn::Ce);
            last = now;
            now += LINK.serialization_time(1000);
        }
    }
    assert_eq!(ce, marks);
    // 1000 bytes take 8 ms at 1 Mb/s. An idle time of three packets (24 ms after the 8 ms of the last packet's service)
    // reduces the average to an eighth.
    cbq.enqueue(last + Time::from_millis(32), TestPacket::of_flow(99, 1), &mut rng, &mut dropped);
    assert!((cbq.average().unwrap() - average / 8.0).abs() < 1e-6, "{:?} {average}", cbq.average());
}

#[test]
fn contradictory_trees_are_refused_with_the_class() {
    let check = |classes: Vec<CbqClassConfig>, default| {
        CbqConfig { classes, default, sharing: Sharing::Formal }.check().unwrap_err().to_string()
    };
    assert!(check(vec![root()], 0).starts_with("class 0: it has no children and needs a queue"));
    assert!(check(vec![root(), leaf(11_000_000, 1)], 1).contains("children have 11000000 together"));
    assert!(check(vec![root(), leaf(1_000_000, 1)], 0).starts_with("default is 0"));
    assert!(check(vec![root(), leaf(1_000_000, 1), leaf(1_000_000, 1)], 1).contains("flow 1 belongs to two"));
    let codel =
        CbqClassConfig { queue: Some(Box::new(QueueConfig::Codel(CodelConfig::default()))), ..leaf(1_000_000, 1) };
    assert!(check(vec![root(), codel], 1).contains("must be infinite, drop-tail, red or linux-red"));
    let orphan = CbqClassConfig { parent: Some(2), ..leaf(1_000_000, 2) };
    assert!(check(vec![root(), leaf(1_000_000, 1), orphan], 1).contains("a class stands after its parent"));
}

/// RFC 2884's router: a bounded class of 1.5 Mb/s with RED on a link of 10 Mb/s, offered 3 Mb/s through [`crate::Link`].
#[test]
fn a_link_with_a_bounded_class_carries_the_rate_of_the_class_and_sleeps_in_between() {
    let red = RedConfig { w_q: Some(0.02), ..RedConfig::new(60, 5.0, 15.0) };
    let bounded = CbqClassConfig { bounded: true, queue: Some(Box::new(QueueConfig::Red(red))), ..leaf(1_500_000, 1) };
    let config = QueueConfig::Cbq(config(vec![root(), bounded]));
    let mut link = crate::Link::new(LINK, Time::from_millis(20), 0, &config, Rng::seed_from_u64(1));
    let (mut arrived, mut served) = (0_u32, 0_u32);
    let gap = Rate::from_bps(3_000_000).serialization_time(1000);
    for id in 0..7500 {
        let now = gap * id;
        loop {
            let (service, arrival) = (link.next_service(), link.next_arrival());
            if service.min(arrival) > now {
                break;
            }
            if service <= arrival {
                link.serve(service);
                served += 1;
                while link.pop_dropped().is_some() {}
            } else if link.arrive(arrival).is_some() {
                arrived += 1;
            }
        }
        link.offer(now, &TestPacket::of_flow(id, 1));
        while link.pop_dropped().is_some() {}
    }
    // At 1.5 Mb/s, 3750 packets fit into 20 s. Those under way at the end have not arrived.
    assert!((3680..=3760).contains(&arrived), "{arrived}");
    assert!(served < 3 * arrived, "{served} services for {arrived} packets");
    let regions = link.regions(gap * 7500).unwrap();
    assert_eq!(regions.below + regions.between + regions.above, gap * 7500);
    assert!(regions.below < Time::from_secs(1), "such a load keeps the average up: {regions:?}");
    assert!(link.average().unwrap() > 10.0);
}

#[test]
fn rates_whose_sum_does_not_fit_are_refused() {
    let huge = |flow| leaf(u64::MAX / 2 + 1, flow);
    let config = CbqConfig { classes: vec![root(), huge(1), huge(2)], default: 1, sharing: Sharing::Formal };
    assert!(config.check().is_err());
}

/// Subnormal numbers cost hundreds of cycles per operation.
#[test]
fn an_estimate_that_decays_reaches_zero_without_subnormal_numbers() {
    // 1000 bytes take exactly 8 ms at the class's rate
    let mut estimator = Estimator::new(1e6, 1e7, 4, 1000, f64::NEG_INFINITY);
    let mut now = Time::ZERO;
    for _ in 0..20_000 {
        estimator.on_send(now, 1000);
        assert!(!estimator.average_s().is_subnormal(), "{:e} at {now}", estimator.average_s());
        now += Time::from_millis(8);
    }
    assert!(estimator.average_s() <= 0.0, "{:e}", estimator.average_s());
}

#[test]
fn a_packet_takes_the_time_of_its_bytes_at_either_rate() {
    let mut estimator = Estimator::new(1e6, 1e7, 4, 1000, f64::NEG_INFINITY);
    for (bytes, link_us) in [(1000, 800), (40, 32), (1500, 1200), (1000, 800)] {
        assert_eq!(estimator.link_time(bytes), Time::from_micros(link_us));
        assert_eq!(estimator.class_time(bytes), Time::from_micros(10 * link_us));
    }
}
