//! Properties of every queue, under random traffic.

use cwndlab_units::Rate;
use proptest::prelude::*;
use rand::SeedableRng;

use super::*;
use crate::test_packet::TestPacket;
use crate::Rng;

const RATE: Rate = Rate::from_bps(8_000_000); // 1000 bytes take 1 ms

/// Every kind of queue, with small limits, with and without ECN, so that each path through the code is taken.
fn configs() -> Vec<QueueConfig> {
    let red = RedConfig { ecn: true, w_q: Some(0.1), limit: 20, ..RedConfig::new(20, 2.0, 12.0) };
    let short = Time::from_millis(2);
    let codel = CodelConfig {
        target_ns: short,
        interval_ns: Time::from_millis(8),
        limit: 40,
        mtu: 500,
        ..CodelConfig::default()
    };
    let class = |parent, rate_bps, bounded, flows, queue: Option<QueueConfig>| CbqClassConfig {
        traffic: Vec::new(),
        numbers: Vec::new(),
        parent,
        rate_bps: Rate::from_bps(rate_bps),
        priority: 0,
        bounded,
        flows,
        queue: queue.map(Box::new),
        max_burst: 3,
        min_idle_ns: None,
        max_packet_bytes: 1500,
    };
    let drop_tail = DropTailConfig { limit: 8, unit: Unit::Packets, counts_in_service: false };
    let cbq = |sharing| {
        QueueConfig::Cbq(CbqConfig {
            classes: vec![
                class(None, 8_000_000, false, vec![], None),
                class(Some(0), 1_000_000, true, vec![1, 2], Some(QueueConfig::Red(red.clone()))),
                class(Some(0), 3_000_000, false, vec![3], Some(QueueConfig::DropTail(drop_tail.clone()))),
                class(Some(0), 2_000_000, false, vec![], Some(QueueConfig::Infinite {})),
            ],
            default: 3,
            sharing,
        })
    };
    let fq = FqCodelConfig {
        flows: 4,
        quantum: 600,
        limit: 30,
        drop_batch: 5,
        target_ns: short,
        ..FqCodelConfig::default()
    };
    let pie = PieConfig {
        limit: 50,
        target_ns: short,
        update_ns: short,
        max_burst_ns: short,
        ecn: true,
        ..PieConfig::default()
    };
    let mut configs = linux_configs(&fq, &pie);
    configs.extend([
        QueueConfig::Codel(codel.clone()),
        QueueConfig::Codel(CodelConfig { ecn: true, ..codel }),
        QueueConfig::Pie(pie.clone()),
        QueueConfig::Pie(PieConfig { estimate: DelayEstimate::Rate, activate_at: Some(0.5), ecn: false, ..pie }),
        QueueConfig::FqCodel(fq),
        QueueConfig::DualPi2(DualPi2Config {
            limit: 30,
            target_ns: short,
            update_ns: short,
            ..DualPi2Config::default()
        }),
        QueueConfig::DualPi2(DualPi2Config {
            form: DualPi2Form::Linux,
            limit: 30,
            target_ns: short,
            update_ns: short,
            ..DualPi2Config::default()
        }),
        cbq(Sharing::Formal),
        cbq(Sharing::AncestorsOnly),
    ]);
    configs
}

/// Shapers, and the queues that follow Linux's source.
fn linux_configs(fq: &FqCodelConfig, pie: &PieConfig) -> Vec<QueueConfig> {
    let short = Time::from_millis(2);
    let tbf = TbfConfig {
        rate_bps: Rate::from_bps(4_000_000),
        burst_bytes: 3000,
        limit: Some(20_000),
        peak_rate_bps: None,
        peak_burst_bytes: 1500,
        queue: None,
    };
    let cake = CakeConfig {
        rate_bps: Some(Rate::from_bps(6_000_000)),
        rtt_ns: Time::from_millis(8),
        memory_bytes: Some(40_000),
        ..CakeConfig::default()
    };
    let fq_pie = FqPieConfig {
        limit: 50,
        flows: 4,
        target_ns: short,
        update_ns: short,
        first_update_ns: short,
        mtu: 500,
        ecn: true,
        ..FqPieConfig::default()
    };
    vec![
        QueueConfig::Cake(CakeConfig { rate_bps: None, isolation: Isolation::Flows, ..cake.clone() }),
        QueueConfig::Cake(CakeConfig { ingress: true, framing: Framing::Atm, ..cake.clone() }),
        QueueConfig::Cake(cake),
        QueueConfig::FqPie(fq_pie.clone()),
        QueueConfig::Tbf(TbfConfig { limit: None, queue: Some(Box::new(QueueConfig::FqPie(fq_pie))), ..tbf.clone() }),
        QueueConfig::Tbf(TbfConfig { peak_rate_bps: Some(Rate::from_bps(6_000_000)), ..tbf.clone() }),
        QueueConfig::Tbf(TbfConfig {
            limit: None,
            queue: Some(Box::new(QueueConfig::Pie(pie.clone()))),
            ..tbf.clone()
        }),
        QueueConfig::Tbf(TbfConfig { limit: None, queue: Some(Box::new(QueueConfig::FqCodel(fq.clone()))), ..tbf }),
    ]
}

/// Random packets. For each: the gap since the last packet in µs, its size in bytes, its flow, and whether it is
/// ECN-capable.
fn traffic() -> impl Strategy<Value = Vec<(u64, u32, u64, bool)>> {
    prop::collection::vec((0..3000_u64, 40..1500_u32, 0..6_u64, any::<bool>()), 1..400)
}

/// Offers the traffic to a queue on a link of `RATE` and runs until the queue is empty. Checks after each step that
/// every packet and byte that arrived was sent, was dropped or waits. Returns the ids of the packets sent, in order.
fn conserve(config: &QueueConfig, traffic: &[(u64, u32, u64, bool)]) -> Result<Vec<u64>, TestCaseError> {
    config.check().expect("a valid configuration");
    let Queue::Departure(mut queue) = config.build::<TestPacket>(RATE, 9) else { panic!("not of this family") };
    let (mut rng, mut dropped) = (Rng::seed_from_u64(2), Vec::new());
    let mut waiting: std::collections::BTreeMap<u64, TestPacket> = std::collections::BTreeMap::new();
    let mut sent = Vec::new();
    let mut marks = (0, 0);
    let mut now = Time::ZERO;
    let mut free_at = Time::ZERO;
    let mut arrivals = traffic.iter().enumerate().peekable();
    let mut next_arrival = Time::ZERO;
    loop {
        let arrival = arrivals.peek().map(|(_, (gap, ..))| next_arrival + Time::from_micros(*gap));
        let service = queue.next_ready(now).map(|ready| ready.max(free_at));
        let mut packet = TestPacket::default();
        let Some(next) = arrival.into_iter().chain(service).min() else { break };
        now = next.max(now);
        if arrival == Some(next) {
            let (id, &(_, bytes, flow, ect)) = arrivals.next().expect("peeked");
            next_arrival = next;
            let ecn = match (flow, ect) {
                (4.., _) => Ecn::Ect1, // for all packets of these flows: DualPI2 would reorder a mixture
                (_, true) => Ecn::Ect0,
                _ => Ecn::NotEct,
            };
            let packet = TestPacket { id: id as u64, bytes, ecn, flow, ..TestPacket::default() };
            waiting.insert(packet.id, packet);
            marks.0 += u32::from(queue.enqueue(now, &packet, &mut rng, &mut dropped));
        } else if let Some(marked) = queue.dequeue(now, &mut dropped, &mut packet) {
            marks.0 += u32::from(marked);
            marks.1 += u32::from(packet.ecn == Ecn::Ce);
            let before = waiting.remove(&packet.id);
            prop_assert!(before.is_some_and(|was| was.bytes == packet.bytes && was.flow == packet.flow));
            sent.push(packet.id);
            free_at = now + RATE.serialization_time(packet.bytes);
        } else {
            prop_assert!(queue.next_ready(now).is_none_or(|ready| ready > now), "refuses a packet that is ready");
        }
        for (_, packet) in dropped.drain(..) {
            marks.1 += u32::from(packet.ecn == Ecn::Ce);
            prop_assert!(waiting.remove(&packet.id).is_some(), "dropped twice: {packet:?}");
        }
        prop_assert_eq!(queue.packets() as usize, waiting.len());
        prop_assert_eq!(queue.bytes(), waiting.values().map(|packet| u64::from(packet.bytes)).sum::<u64>());
    }
    prop_assert!(waiting.is_empty(), "never sent: {:?}", waiting.keys());
    prop_assert_eq!(marks.0, marks.1, "marks reported and marks seen");
    Ok(sent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_is_sent_once_or_handed_back_and_the_backlog_is_exact(traffic in traffic()) {
        for config in configs() {
            conserve(&config, &traffic)?;
        }
    }

    #[test]
    fn packets_of_a_flow_leave_in_their_order(traffic in traffic()) {
        for config in configs() {
            let sent = conserve(&config, &traffic)?;
            for flow in 0..6 {
                let of_flow: Vec<_> = sent.iter().filter(|&&id| traffic[id as usize].2 == flow).collect();
                prop_assert!(of_flow.windows(2).all(|pair| pair[0] < pair[1]), "{config:?}");
            }
        }
    }

    #[test]
    fn red_never_takes_more_than_its_limit_and_its_regions_add_up(
        gaps in prop::collection::vec(0..2500_u64, 1..300),
        gentle in any::<bool>(),
        hard_drop in any::<bool>(),
    ) {
        let config = RedConfig { w_q: Some(0.2), gentle, hard_drop, ecn: true, ..RedConfig::new(6, 1.0, 4.0) };
        let mut red = Red::new(config, RATE);
        let mut rng = Rng::seed_from_u64(4);
        // Departure times of the packets in a link of `RATE`.
        let mut departures = std::collections::VecDeque::new();
        let (mut now, mut free_at) = (Time::ZERO, Time::ZERO);
        for gap in gaps {
            now += Time::from_micros(gap);
            while departures.front().is_some_and(|&at| at <= now) {
                departures.pop_front();
            }
            let packets = departures.len() as u32;
            let in_service_bytes = if packets > 0 { 1000 } else { 0 };
            let backlog = Backlog { packets, bytes: 1000 * u64::from(packets), in_service_bytes, free_at };
            if !matches!(red.on_arrival(now, backlog, 1000, Ecn::Ect0, &mut rng), Admit::Drop(_)) {
                free_at = free_at.max(now) + RATE.serialization_time(1000);
                departures.push_back(free_at);
            }
            prop_assert!(departures.len() <= 7, "limit 6 and one in service");
            prop_assert!(red.average() >= 0.0 && red.average() <= 6.0);
            let regions = red.regions(now, None);
            prop_assert_eq!(regions.below + regions.between + regions.above, now);
        }
    }
}

/// Numbers from the ordinary to the absurd.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..20_u64, 6 => 0..100_000_000_u64, 1 => any::<u64>()]
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![8 => 0.0..1.0, 3 => 0.0..100.0, 1 => any::<f64>()]
}

fn pie(n: &[u64; 6], r: &[f64; 4], b: [bool; 4]) -> QueueConfig {
    let (small, time) = (|at: usize| n[at] as u32, |at: usize| Time::from_nanos(n[at]));
    QueueConfig::Pie(PieConfig {
        limit: small(0),
        target_ns: time(1),
        update_ns: time(2),
        alpha: r[0],
        beta: r[1],
        max_burst_ns: time(3),
        mean_packet_bytes: small(4),
        estimate: if b[0] { DelayEstimate::Rate } else { DelayEstimate::Timestamp },
        ecn: b[1],
        ecn_threshold: r[2],
        derandomize: b[2],
        cap_adjustment: b[3],
        activate_at: b[0].then_some(r[3]),
    })
}

fn linux_red(n: &[u64; 6], r: &[f64; 4], b: [bool; 4]) -> QueueConfig {
    let (min_th, max_th) = (r[0] as u32, (r[0] + r[1]) as u32);
    QueueConfig::LinuxRed(LinuxRedConfig {
        max_p: r[2],
        bandwidth_bps: Rate::from_bps(n[3]),
        ecn: b[0],
        hard_drop: b[1],
        version: if b[2] { LinuxRedVersion::V2_3_15 } else { LinuxRedVersion::V2_2_5 },
        ..LinuxRedConfig::new(n[0], min_th, max_th, n[1] as u32, n[2] as u32)
    })
}

/// A configuration of any kind with any numbers in it: most are rejected.
fn any_config() -> impl Strategy<Value = QueueConfig> {
    (prop::array::uniform6(number()), prop::array::uniform4(real()), any::<[bool; 4]>(), 0..9_u8).prop_map(
        |(n, r, b, kind)| {
            let (small, time) = (|at: usize| n[at] as u32, |at: usize| Time::from_nanos(n[at]));
            let unit = if b[0] { Unit::Packets } else { Unit::Bytes };
            let red = RedConfig {
                adaptive: b[2],
                limit: n[0],
                unit,
                min_th: r[0],
                max_th: r[0] + r[1],
                max_p: r[2],
                w_q: b[1].then_some(r[3]),
                burst: (!b[1] && b[2]).then_some(small(1)),
                mean_packet_bytes: small(2),
                max_packet_bytes: small(3),
                ecn: b[3],
                hard_drop: b[2],
                gentle: b[1],
                wait: b[0],
                rules: if b[1] { RedRules::Ns2 } else { RedRules::Paper },
                counts_in_service: b[3],
            };
            let class = |parent, rate: u64| CbqClassConfig {
                traffic: Vec::new(),
                numbers: Vec::new(),
                parent,
                rate_bps: Rate::from_bps(rate),
                priority: small(3) as u8,
                bounded: b[0],
                flows: vec![n[4] % 6],
                queue: Some(Box::new(QueueConfig::Red(red.clone()))),
                max_burst: small(2) % 1500,
                min_idle_ns: b[1].then_some(time(2)),
                max_packet_bytes: small(5),
            };
            match kind {
                0 => QueueConfig::DropTail(DropTailConfig { limit: n[0], unit, counts_in_service: b[1] }),
                1 => QueueConfig::Red(red),
                2 => QueueConfig::Codel(CodelConfig {
                    target_ns: time(0),
                    interval_ns: time(1),
                    ecn: b[0],
                    ce_threshold_ns: b[1].then_some(time(2)),
                    ..CodelConfig { limit: small(2), mtu: small(3), ..CodelConfig::default() }
                }),
                3 => pie(&n, &r, b),
                4 => QueueConfig::FqCodel(FqCodelConfig {
                    flows: small(0),
                    quantum: small(1),
                    limit: small(2),
                    drop_batch: small(3),
                    target_ns: time(4),
                    interval_ns: time(5),
                    ecn: b[0],
                    ce_threshold_ns: b[2].then_some(time(2)),
                    perturbation: b[1].then_some(n[3]),
                    ..FqCodelConfig::default()
                }),
                5 => QueueConfig::DualPi2(DualPi2Config {
                    form: if b[1] { DualPi2Form::Linux } else { DualPi2Form::Rfc9332 },
                    limit: small(0),
                    target_ns: time(1),
                    update_ns: time(2),
                    alpha: r[0],
                    beta: r[1],
                    coupling: 1.0 + r[2],
                    min_th_ns: if b[1] { Time::from_micros(800) } else { time(3) },
                    range_ns: if b[1] { Time::from_micros(400) } else { time(4) },
                    step_ns: if b[1] { time(3) } else { Time::from_millis(1) },
                    classic_share: r[3],
                    ecn: b[0],
                }),
                6 => linux_red(&n, &r, b),
                7 => {
                    let victim = if b[0] { Victim::Front } else { Victim::Random };
                    QueueConfig::DropOnFull(DropOnFullConfig { limit: small(0), victim })
                }
                _ => {
                    let root = CbqClassConfig {
                        traffic: Vec::new(),
                        numbers: Vec::new(),
                        queue: None,
                        flows: vec![],
                        ..class(None, n[0].saturating_add(n[1]).saturating_add(9))
                    };
                    let classes =
                        vec![root, class(Some(0), n[1]), CbqClassConfig { flows: vec![], ..class(Some(0), 9) }];
                    QueueConfig::Cbq(CbqConfig { classes, default: 1, sharing: Sharing::Formal })
                }
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_passes_the_check_runs_without_a_panic(config in any_config(), traffic in traffic()) {
        if config.check().is_err() {
            return Ok(());
        }
        let traffic = &traffic[..traffic.len().min(50)];
        match config.build::<TestPacket>(RATE, 1) {
            // Queues with extreme parameters may hold packets for a very long time, but must not lose any.
            Queue::Departure(_) => { conserve(&config, traffic)?; }
            Queue::Arrival(mut queue) => {
                let mut rng = Rng::seed_from_u64(1);
                let mut now = Time::ZERO;
                for &(gap, bytes, _, _) in traffic {
                    let backlog = Backlog { free_at: now, ..Backlog::default() };
                    now += Time::from_micros(gap);
                    queue.on_arrival(now, backlog, bytes, Ecn::Ect0, &mut rng);
                    prop_assert!(queue.average().is_none_or(f64::is_finite));
                }
            }
        }
    }
}

#[test]
fn configurations_are_read_from_json_and_unknown_keys_are_errors() {
    let good = r#"{"kind":"red","limit":60000,"unit":"bytes","min_th":15000.0,"max_th":45000.0,"burst":20,"ecn":true}"#;
    let config: QueueConfig = serde_json::from_str(good).unwrap();
    assert_eq!(config.check(), Ok(()));
    let back: QueueConfig = serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap();
    assert_eq!(back, config);
    for config in configs() {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<QueueConfig>(&text).unwrap(), config, "{text}");
    }
    for bad in [
        r#"{"kind":"drop-tail","limit":3,"limt":4}"#,
        r#"{"kind":"infinite","limit":3}"#,
        r#"{"kind":"codel","taget_ns":5}"#,
        r#"{"kind":"red","limit":60,"min_th":5,"max_th":15,"wq":0.1}"#,
    ] {
        assert!(serde_json::from_str::<QueueConfig>(bad).is_err(), "{bad}");
    }
    assert!(serde_json::from_str::<QueueConfig>(r#"{"kind":"codel"}"#).is_ok());
}

#[test]
fn queues_that_keep_an_average_report_it_and_its_regions() {
    let red = RedConfig { w_q: Some(1.0), ..RedConfig::new(20, 2.0, 12.0) };
    let linux = LinuxRedConfig::new(60_000, 15_000, 45_000, 20, 1000);
    let none = DropTailConfig { limit: 8, unit: Unit::Packets, counts_in_service: false };
    for (config, average, below_ms) in [
        (QueueConfig::Red(red), Some(3.0), Some(5)),
        (QueueConfig::LinuxRed(linux), Some(375.0), Some(9)), // 3000 bytes, by a weight of 2^-3
        (QueueConfig::DropTail(none), None, None),
        (QueueConfig::Infinite {}, None, None),
    ] {
        let Queue::Arrival(mut queue) = config.build::<TestPacket>(RATE, 1) else { panic!("{config:?}") };
        let backlog = Backlog { packets: 4, bytes: 4000, in_service_bytes: 1000, free_at: Time::MAX };
        queue.on_arrival(Time::from_millis(5), backlog, 1000, Ecn::NotEct, &mut Rng::seed_from_u64(1));
        assert_eq!(queue.average(), average, "{config:?}");
        let regions = queue.regions(Time::from_millis(9), None);
        assert_eq!(regions.map(|regions| regions.below), below_ms.map(Time::from_millis), "{config:?}");
    }
}

#[test]
fn queues_that_decide_by_length_alone_say_up_to_which_they_accept() {
    let packets = |counts_in_service| DropTailConfig { limit: 3, unit: Unit::Packets, counts_in_service };
    let bytes = DropTailConfig { limit: 3000, unit: Unit::Bytes, counts_in_service: true };
    for (config, below, up_to_bytes) in [
        (QueueConfig::DropTail(packets(true)), 3, 0),
        (QueueConfig::DropTail(packets(false)), 4, 0),
        (QueueConfig::DropTail(bytes), 0, 3000),
        (QueueConfig::Infinite {}, u32::MAX, 0),
        (QueueConfig::Red(RedConfig::new(20, 2.0, 12.0)), 0, 0),
    ] {
        let Queue::Arrival(queue) = config.build::<TestPacket>(RATE, 1) else { panic!("{config:?}") };
        assert_eq!((queue.takes_any_below(), queue.takes_any_up_to_bytes()), (below, up_to_bytes), "{config:?}");
    }
}

#[test]
fn a_queue_with_packets_is_one_waiting_class_and_cbq_has_its_own() {
    for config in configs() {
        let Queue::Departure(mut queue) = config.build::<TestPacket>(RATE, 9) else { panic!("{config:?}") };
        let mut waiting = vec![queue.waiting_classes()];
        for flow in [1, 3] {
            let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
            queue.enqueue(
                Time::ZERO,
                &TestPacket { bytes: 500, ..TestPacket::of_flow(flow, flow) },
                &mut rng,
                &mut dropped,
            );
            waiting.push(queue.waiting_classes());
        }
        let last = if matches!(config, QueueConfig::Cbq(_)) { 2 } else { 1 };
        assert_eq!(waiting, [0, 1, last], "{config:?}");
    }
}
