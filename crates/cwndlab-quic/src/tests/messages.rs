//! Datagrams of applications (RFC 9221): sizes, congestion control, losses and what is recorded.

use super::*;

/// Datagrams at a constant rate over a stack; `packet` is the size that they would have over UDP.
fn constant(stack: &str, rate_bps: u64, packet: u32) -> Case {
    let packet = json!({"kind": "fixed", "value": packet});
    let app = json!({"kind": "cbr", "rate_bps": rate_bps, "packet_bytes": packet});
    Case { app, ..Case::new(stack, "cubic") }
}

fn arrived(log: &Log) -> usize {
    log.objects.iter().filter(|one| !one.end.is_never()).count()
}

#[test]
fn datagrams_below_capacity_arrive_with_the_delay_of_the_path() {
    for stack in ["quinn", "noq"] {
        let log = constant(stack, 1_000_000, 500).run();
        // A datagram every 4 ms from the end of the handshake, after one round trip, to the end of the run.
        assert!(log.objects.len().abs_diff(1988) < 8, "{stack}: {}", log.objects.len());
        assert!(log.objects.len() - arrived(&log) <= 6, "{stack}: in flight at the end");
        assert_eq!((log.drops, log.lost), (0, 0), "{stack}");
        assert_eq!(log.delivered, [472 * arrived(&log) as u64, 0], "{stack}");
        assert_eq!(log.delays.len(), arrived(&log), "{stack}: one for each datagram, none for packets");
        let (least, most) = log.delays.iter().fold((u64::MAX, 0), |(a, b), one| (a.min(one.1), b.max(one.1)));
        // 536 bytes take 0.43 ms. At the start, pacers hold a few datagrams back, so that they share packets.
        assert!(least > 20_400_000 && most < 26_000_000, "{stack}: {least} to {most}");
        let rate = log.datagrams.iter().filter(|one| one.2).map(|one| u64::from(one.3)).sum::<u64>();
        assert!(rate > 500 * log.objects.len() as u64, "{stack}: QUIC's headers are larger than UDP's");
    }
}

#[test]
fn datagrams_above_capacity_wait_at_the_sender_and_the_oldest_are_discarded() {
    for stack in ["quinn", "noq"] {
        // 20 Mb/s on 10 Mb/s: half of the datagrams never leave.
        let behind = |buffer: u32| constant(stack, 20_000_000, 1190).with("datagram_buffer_bytes", buffer).run();
        let (small, large) = (behind(50_000), behind(500_000));
        for log in [&small, &large] {
            let share = arrived(log) as f64 / log.objects.len() as f64;
            assert!((0.40..0.55).contains(&share), "{stack}: {share}");
            let lost = f64::from(log.drops) / log.objects.len() as f64;
            assert!(lost < 0.03, "{stack}: congestion control keeps losses low: {lost}");
        }
        let typical = |log: &Log| {
            let mut delays: Vec<u64> = log.delays.iter().map(|one| one.1).collect();
            delays.sort_unstable();
            delays[delays.len() / 2]
        };
        // 50 kB are new after 20 ms at 20 Mb/s, 500 kB after 200 ms; the path and its queue take 20 to 55 ms more.
        let (short, long) = (typical(&small), typical(&large));
        assert!(short > 30_000_000 && short < 80_000_000, "{stack}: {short}");
        assert!(long > 200_000_000 && long < 280_000_000, "{stack}: {long}");
    }
}

#[test]
fn lost_datagrams_are_not_sent_again() {
    for stack in ["quinn", "noq"] {
        let losses = json!([{"kind": "bernoulli", "p": 0.05}]);
        // No packet has room for two.
        let log = Case { impairments: losses, ..constant(stack, 1_000_000, 1000) }.run();
        let missing = log.objects.len() - arrived(&log);
        assert!(log.drops > 30 && missing.abs_diff(log.drops as usize) < 12, "{stack}: {missing}, {}", log.drops);
    }
}

#[test]
fn the_largest_datagram_that_the_check_permits_fits() {
    for stack in ["quinn", "noq"] {
        for (mtu, most) in [(None, 1190), (Some(1500), 1462), (Some(9000), 8962)] {
            let case = |packet: u32| match mtu {
                None => constant(stack, 1_000_000, packet),
                Some(bytes) => constant(stack, 1_000_000, packet).with("mtu_bytes", bytes),
            };
            let log = case(most).run();
            assert!(log.objects.len() - arrived(&log) < 10, "{stack} {mtu:?}: {}", arrived(&log));
            assert!(log.objects.iter().any(|one| one.bytes == u64::from(most - 28)), "{stack} {mtu:?}");
            let refusal = std::panic::catch_unwind(|| case(most + 1).scenario());
            assert!(refusal.is_err(), "{stack} {mtu:?}");
        }
    }
}

#[test]
fn a_server_may_send_datagrams_and_a_flow_may_end() {
    for stack in ["quinn", "noq"] {
        let fixed = |value: f64| json!({"kind": "fixed", "value": value});
        let app = json!({"kind": "voip", "from": "server", "first_s": fixed(1.0), "duration_s": fixed(2.0)});
        let log = Case { app, ..Case::new(stack, "cubic") }.run();
        assert_eq!((log.objects.len(), arrived(&log)), (100, 100), "{stack}: 20 ms each");
        assert!(log.objects[0].start > Time::from_secs(1) && log.delivered == [0, 17_200], "{stack}");
        assert!(log.server_windows > 0);
    }
}

#[test]
fn runs_with_datagrams_depend_on_the_seed_alone() {
    let losses = json!([{"kind": "bernoulli", "p": 0.01}]);
    for stack in ["quinn", "noq"] {
        let run = |seed| Case { seed, impairments: losses.clone(), ..constant(stack, 12_000_000, 1000) }.run();
        let (first, again, other) = (run(1), run(1), run(2));
        assert!(first == again && first.datagrams != other.datagrams, "{stack}");
    }
}
