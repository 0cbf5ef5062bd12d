use rand::SeedableRng;

use super::*;
use crate::queue::CodelConfig;
use crate::test_packet::TestPacket;

fn config(rate_bps: u64, burst_bytes: u32, limit: u32) -> TbfConfig {
    TbfConfig {
        rate_bps: Rate::from_bps(rate_bps),
        burst_bytes,
        limit: Some(limit),
        peak_rate_bps: None,
        peak_burst_bytes: 1500,
        queue: None,
    }
}

/// Offers `count` packets of 1000 bytes at time 0 and returns the times at which they leave, in µs, on a link that takes
/// no time.
fn departures_us(config: &TbfConfig, count: u64) -> Vec<u64> {
    config.check().unwrap();
    let (mut queue, mut dropped) = (Tbf::new(config, 0), Vec::new());
    let mut rng = Rng::seed_from_u64(1);
    for id in 0..count {
        queue.enqueue(Time::ZERO, &TestPacket::new(id), &mut rng, &mut dropped);
    }
    let (mut now, mut times) = (Time::ZERO, Vec::new());
    while queue.packets() > 0 {
        if queue.dequeue(now, &mut dropped).is_some() {
            times.push(now.as_nanos() / 1000);
        }
        now = queue.next_ready(now).unwrap_or(now);
    }
    times
}

#[test]
fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
    // 8 Mb/s: 1000 bytes are 1 ms of tokens.
    assert_eq!(departures_us(&config(8_000_000, 3000, 100_000), 6), [0, 0, 0, 1000, 2000, 3000]);
}

#[test]
fn the_peak_rate_spaces_the_packets_of_a_burst() {
    let peak = TbfConfig {
        peak_rate_bps: Some(Rate::from_bps(80_000_000)),
        peak_burst_bytes: 1000,
        ..config(8_000_000, 3000, 100_000)
    };
    assert_eq!(departures_us(&peak, 6), [0, 100, 200, 1000, 2000, 3000]);
}

#[test]
fn the_limit_counts_bytes() {
    assert_eq!(departures_us(&config(8_000_000, 1000, 2999), 6), [0, 1000]);
}

#[test]
fn a_packet_larger_than_the_bucket_is_dropped() {
    assert!(departures_us(&config(8_000_000, 999, 100_000), 2).is_empty());
}

/// `next_turn` must give the time at which `dequeue`, asked at `free_at`, would have asked for the packet again.
#[test]
fn the_next_turn_is_when_the_tokens_suffice() {
    for rate in [1_000_000, 7_777_777, 33_000_000, 999_999_999] {
        let mut queue = Tbf::new(&config(rate, 1500, 1_000_000), 0);
        let (mut rng, mut dropped) = (Rng::seed_from_u64(1), Vec::new());
        for id in 0..200 {
            let packet = TestPacket { bytes: 40 + (id as u32 * 997) % 1460, ..TestPacket::new(id) };
            queue.enqueue(Time::ZERO, &packet, &mut rng, &mut dropped);
        }
        let mut now = Time::ZERO;
        while queue.packets() > 0 {
            let turn = queue.next_turn(now);
            let sent = queue.dequeue(now, &mut dropped).is_some();
            assert_eq!(sent, turn == now);
            now = queue.next_ready(now).unwrap_or(now);
            assert!(sent || now == turn, "{now} {turn}");
        }
    }
}

/// `tc` of 10mbit: `psched_ratecfg_precompute` by hand. 1,250,000 bytes/s are 800 ns a byte: 800 << 21 has bit 31 set.
#[test]
fn times_are_rounded_as_in_linux() {
    assert_eq!(LinuxRate::new(Rate::from_bps(10_000_000)).time_ns(1500), 1_200_000);
    // 3 Gb/s: 375,000,000 bytes/s; mult = (10^9 << 30) / 375e6 = 2863311530 (rounded down), so 1500 bytes take 3999 ns.
    assert_eq!(LinuxRate::new(Rate::from_bps(3_000_000_000)).time_ns(1500), 3999);
}

#[test]
fn a_queue_inside_drops_what_waited_too_long() {
    let inside = QueueConfig::Codel(CodelConfig { limit: 2000, ..CodelConfig::default() });
    let shaped = TbfConfig { limit: None, queue: Some(Box::new(inside)), ..config(8_000_000, 1500, 1) };
    assert!(departures_us(&shaped, 600).len() < 600, "CoDel drops when delays exceed its target");
}

#[test]
fn what_cannot_work_is_refused() {
    let good = config(8_000_000, 1500, 1000);
    let inside = |kind| Some(Box::new(kind));
    for (bad, says) in [
        (TbfConfig { limit: None, ..good.clone() }, "either limit"),
        (TbfConfig { queue: inside(QueueConfig::Codel(CodelConfig::default())), ..good.clone() }, "either limit"),
        (TbfConfig { limit: None, queue: inside(QueueConfig::Infinite {}), ..good.clone() }, "must be drop-on-full"),
        (TbfConfig { limit: None, queue: inside(QueueConfig::Tbf(good.clone())), ..good.clone() }, "must be drop-on"),
        (TbfConfig { peak_rate_bps: Some(good.rate_bps), ..good.clone() }, "above rate_bps"),
        (TbfConfig { rate_bps: Rate::from_bps(7), ..good.clone() }, "rate_bps is 7; it must lie in 8..="),
        (TbfConfig { burst_bytes: 0, ..good }, "burst_bytes is 0"),
    ] {
        assert!(bad.check().unwrap_err().to_string().contains(says), "{bad:?}");
    }
}
