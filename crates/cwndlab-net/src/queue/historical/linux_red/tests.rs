use super::*;
use cwndlab_units::Rate;
use rand::SeedableRng;

/// The RED of Linux's diffserv examples (iproute2, `examples/diffserv/efcbq`).
fn diffserv() -> LinuxRedConfig {
    LinuxRedConfig { max_p: 0.4, ..LinuxRedConfig::new(60_000, 15_000, 45_000, 20, 1000) }
}

fn rng() -> Rng {
    Rng::seed_from_u64(1)
}

/// A busy link in which `bytes` wait.
fn busy(bytes: u64) -> Backlog {
    Backlog {
        packets: 1 + bytes.div_ceil(1000) as u32,
        bytes: bytes + 1000,
        in_service_bytes: 1000,
        free_at: Time::MAX,
    }
}

fn idle(since: Time) -> Backlog {
    Backlog { free_at: since, ..Backlog::default() }
}

fn queue(config: LinuxRedConfig) -> LinuxRed {
    config.check().expect("a valid configuration");
    LinuxRed::new(config)
}

/// A queue with the given average, which stays constant while packets find this number of bytes waiting.
fn at(average: u32, config: LinuxRedConfig) -> LinuxRed {
    let queue = queue(config);
    LinuxRed { average: u64::from(average) << queue.weight_log, ..queue }
}

fn arrive(queue: &mut LinuxRed, bytes: u64, ecn: Ecn, rng: &mut Rng) -> Admit {
    queue.on_arrival(Time::from_secs(1), busy(bytes), ecn, rng)
}

/// Compares the longest burst for each weight by tc's formula, with `min_th` at 32 packets, with the table "Upper bound
/// on W" in a comment of `sch_red.c`. Where they differ, tc uses the formula.
#[test]
fn the_weight_of_a_burst_is_near_the_kernel_s_table() {
    let comment = [33, 35, 39, 46, 57, 75, 101, 135, 190_u32];
    for (k, (burst, comment)) in (1..).zip([32, 34, 38, 46, 57, 75, 101, 137, 189_u32].into_iter().zip(comment)) {
        let log = |burst| LinuxRedConfig::new(1_000_000, 32_000, 96_000, burst, 1000).weight_log().unwrap();
        assert_eq!((log(burst), log(burst + 1)), (k, k + 1));
        assert!(burst.abs_diff(comment) <= 2);
    }
}

#[test]
fn the_probability_is_rounded_down_to_a_slope_of_a_power_of_two() {
    // The thresholds are 30,000 bytes apart.
    for (wanted, log, becomes) in [(0.02, 21, 0.0143), (0.1, 19, 0.0572), (0.2, 18, 0.1144), (0.5, 16, 0.4578)] {
        let config = LinuxRedConfig { max_p: wanted, ..diffserv() };
        assert_eq!(config.probability_log(), log);
        assert!((30_000.0 / cwndlab_units::power(2.0, log) - becomes).abs() < 5e-5);
    }
    // A comment in the kernel says "if qth_max=128K and qth_min=32K, then Plog=22 corresponds to max_P=0.02"; exactly,
    // it is 0.0234.
    let example = LinuxRedConfig { max_p: 0.0235, ..LinuxRedConfig::new(1 << 20, 32 << 10, 128 << 10, 40, 1000) };
    assert_eq!(example.probability_log(), 22);
}

/// The binary point is at bit `weight_log`. Each arrival adds the waiting bytes and subtracts 2^-k of the average,
/// rounded down.
#[test]
fn the_average_is_a_fixed_point_number_in_bytes() {
    let mut queue = queue(diffserv()); // weight 2^-3
    let mut rng = rng();
    for (waiting, scaled) in [(1000, 1000), (1000, 1875), (1500, 3141), (0, 2749), (0, 2406)] {
        arrive(&mut queue, waiting, Ecn::NotEct, &mut rng);
        assert_eq!(queue.average, scaled);
    }
    assert!((queue.average() - 2406.0 / 8.0).abs() < 1e-9);
}

/// A chi-square test of the spacings at an average of 22,500 bytes, 7500 bytes above `min_th`. For a requested
/// probability of 0.2, the random numbers are below 2^18, which gives spacings of 1 to 35 packets.
#[test]
fn signals_at_a_constant_average_are_spaced_uniformly() {
    let mut queue = at(22_500, LinuxRedConfig { max_p: 0.2, ecn: true, ..diffserv() });
    let mut rng = rng();
    let mut next = || (1..=1000).find(|_| arrive(&mut queue, 22_500, Ecn::Ect0, &mut rng) == Admit::Mark).unwrap();
    next();
    let mut bins = [0_u32; 35];
    for _ in 0..40_000 {
        bins[next() - 1] += 1; // panics on a longer spacing
    }
    // The spacing is n if the random number is in (7500 (n - 1), 7500 n]. The last bin has fewer numbers, and the first
    // also has 0.
    let numbers = |n: u32| if n == 35 { 262_143 - 255_000 } else { 7500 + u32::from(n == 1) };
    let expected = |n: u32| 40_000.0 * f64::from(numbers(n)) / 262_144.0;
    let chi2: f64 =
        (1..=35).map(|n| cwndlab_units::power(f64::from(bins[n as usize - 1]) - expected(n), 2) / expected(n)).sum();
    assert!(chi2 < 65.2, "chi-square {chi2} with 34 degrees of freedom, 0.1 % point 65.2");
}

#[test]
fn the_first_packet_between_the_thresholds_passes() {
    let mut rng = rng();
    for _ in 0..1000 {
        let mut queue = at(44_000, LinuxRedConfig { max_p: 1.0, ..diffserv() });
        assert_eq!(arrive(&mut queue, 44_000, Ecn::NotEct, &mut rng), Admit::Enqueue);
    }
}

#[test]
fn below_min_th_nothing_is_dropped_until_more_than_the_limit_waits() {
    let mut rng = rng();
    let mut queue = queue(LinuxRedConfig { max_p: 1.0, ..diffserv() });
    assert_eq!(arrive(&mut queue, 60_000, Ecn::NotEct, &mut rng), Admit::Enqueue);
    assert_eq!(arrive(&mut queue, 60_001, Ecn::NotEct, &mut rng), Admit::Drop(DropCause::Full));
}

#[test]
fn from_max_th_on_packets_are_dropped_and_only_linux_2_3_marks() {
    let ecn = LinuxRedConfig { ecn: true, ..diffserv() };
    let marks = LinuxRedConfig { hard_drop: false, ..ecn.clone() };
    for (config, of_ect) in [(ecn, Admit::Drop(DropCause::Aqm)), (marks, Admit::Mark)] {
        let mut queue = at(45_000, config);
        assert_eq!(arrive(&mut queue, 45_000, Ecn::Ect0, &mut rng()), of_ect);
        assert_eq!(arrive(&mut queue, 45_000, Ecn::NotEct, &mut rng()), Admit::Drop(DropCause::Aqm));
    }
}

/// A packet of 1000 bytes takes 655.36 ticks at 10 Mb/s and the weight is 2^-3, so a tick shifts the average by
/// 0.133531 / 655.36 = 2.0375e-4 bits. 31 bits are 152,146 ticks, and an entry of the table stands for 512 ticks,
/// 0.10432 bits.
#[test]
fn an_idle_time_shifts_the_average_by_the_table() {
    let (table, cell_log) = diffserv().idle_table(3);
    assert_eq!(cell_log, 9);
    assert_eq!((table[0], table[9], table[10], table[100], table[254], table[255]), (0, 0, 1, 10, 26, 31));
    let mut queue = at(16_000, diffserv());
    let from = Time::from_secs(1);
    // A time just below ten jiffies counts as nine: 73,728 ticks, entry 144 of the table, a shift of 128,000 by 15
    // bits.
    queue.on_arrival(from + Time::from_micros(99_999), idle(from), Ecn::NotEct, &mut rng());
    assert_eq!(queue.average, 128_000 >> 15);
}

/// At the link's own rate of 1.5 Mb/s, an entry of the table stands for 4096 ticks, 0.1252 bits, so a jiffy of 8192
/// ticks shifts the average by no bit.
#[test]
fn short_idle_times_shrink_the_average_only_from_2_3_15_on() {
    let slow = LinuxRedConfig { bandwidth_bps: Rate::from_bps(1_500_000), ..diffserv() };
    let newer = LinuxRedConfig { version: LinuxRedVersion::V2_3_15, ..slow.clone() };
    let from = Time::from_secs(1);
    for (config, after) in [(slow, 128_000), (newer, 64_000)] {
        let mut queue = at(16_000, config);
        queue.on_arrival(from + JIFFY, idle(from), Ecn::NotEct, &mut rng());
        assert_eq!(queue.average, after);
    }
}

#[test]
fn a_drop_from_an_idle_queue_restarts_the_idle_time() {
    let mut queue = at(50_000, LinuxRedConfig { bandwidth_bps: Rate::from_bps(1_500_000), ..diffserv() });
    let jiffies = |n: u64| Time::from_secs(1) + Time::from_nanos(n * JIFFY.as_nanos());
    for n in 1..=3 {
        let admit = queue.on_arrival(jiffies(n), idle(jiffies(0)), Ecn::NotEct, &mut rng());
        assert_eq!(admit, Admit::Drop(DropCause::Aqm), "an idle time of one jiffy each");
    }
}

#[test]
fn the_regions_hold_the_time_from_one_arrival_to_the_next() {
    let mut queue = queue(diffserv());
    let mut rng = rng();
    for (ms, waiting) in [(10, 150_000), (30, 0), (60, 360_000), (100, 0)] {
        // The averages are 18,750, 16,407, 59,356 and 51,937 bytes.
        queue.on_arrival(Time::from_millis(ms), busy(waiting), Ecn::NotEct, &mut rng);
    }
    let ms = Time::from_millis;
    assert_eq!(queue.regions(ms(150)), Regions { below: ms(10), between: ms(50), above: ms(90) });
}

#[test]
fn wrong_parameters_are_named() {
    let check = |config: LinuxRedConfig| config.check().unwrap_err().to_string();
    assert_eq!(
        check(LinuxRedConfig { burst: 14, ..diffserv() }),
        "burst is 14; it must be at least min_th, 15 packets"
    );
    assert_eq!(
        check(LinuxRedConfig { max_th: 15_000, ..diffserv() }),
        "max_th is 15000; it must be above min_th, 15000"
    );
    assert!(check(LinuxRedConfig { max_p: 1e-9, ..diffserv() }).starts_with("max_p is 0.000000001; it must lie in"));
    assert_eq!(check(LinuxRedConfig { min_th: 0, ..diffserv() }), "min_th is 0; it must be at least 1");
}

/// `red_enqueue`: the bits of the table shift the average. If they are none, 2.3.15 takes off the average times the ticks,
/// over `2^cell_log`, but at most half.
#[test]
fn the_average_decays_by_the_table_or_in_proportion_to_the_time() {
    let from = Time::from_secs(1);
    for version in [LinuxRedVersion::V2_2_5, LinuxRedVersion::V2_3_15] {
        for (bandwidth, average) in [(10_000_000, 1_000_000), (100_000, 1_000_000), (100_000, 7), (20_000, 999_999)] {
            let config = LinuxRedConfig { bandwidth_bps: Rate::from_bps(bandwidth), version, ..diffserv() };
            let (table, cell_log) = config.idle_table(3);
            for jiffies in [0, 1, 2, 3, 5, 20, 1000, 1_000_000] {
                let mut queue = LinuxRed { average, ..queue(config.clone()) };
                let ticks = (jiffies * 8192_u64).min(255 << cell_log);
                let bits = table[(ticks >> cell_log) as usize];
                let less = (u128::from(average) * u128::from(ticks)) >> cell_log;
                let expected = match (bits, version) {
                    (0, LinuxRedVersion::V2_3_15) if less < u128::from(average / 2) => average - less as u64,
                    (0, LinuxRedVersion::V2_3_15) => average / 2,
                    _ => average >> bits,
                };
                queue.decay(from + Time::from_nanos(jiffies * 10_000_000), from);
                assert_eq!(queue.average, expected, "{version:?} {bandwidth} {average} {jiffies}");
            }
        }
    }
}

/// A link that has never sent a packet is not idle: the first packets find an average that is not decayed.
#[test]
fn there_is_no_idle_time_before_the_first_packet_was_sent() {
    for (since, expected) in [(Time::ZERO, 128_000 - 16_000), (Time::from_nanos(1), 0)] {
        let mut queue = at(16_000, diffserv());
        queue.on_arrival(Time::from_secs(9), idle(since), Ecn::NotEct, &mut rng());
        assert_eq!(queue.average, expected, "{since}");
    }
}

#[test]
fn the_thresholds_belong_to_the_region_above_them() {
    for (average, counted, admit) in [
        (14_999, false, Admit::Enqueue),
        (15_000, true, Admit::Enqueue),
        (44_999, true, Admit::Enqueue),
        (45_000, false, Admit::Drop(DropCause::Aqm)),
    ] {
        let mut queue = at(average, diffserv());
        assert_eq!(arrive(&mut queue, u64::from(average), Ecn::NotEct, &mut rng()), admit, "{average}");
        assert_eq!(queue.count.is_some(), counted, "{average}");
    }
}

/// The largest `(max_th - min_th) / 2^k` that is below the requested probability: not one that equals it.
#[test]
fn a_probability_that_is_a_power_of_two_of_the_distance_is_halved() {
    let config = |max_p| LinuxRedConfig { max_p, ..LinuxRedConfig::new(1 << 20, 1 << 15, 1 << 16, 40, 1000) };
    for (max_p, log) in [(0.125, 19), (0.126, 18), (0.124, 19), (1.0, 16)] {
        assert_eq!(config(max_p).probability_log(), log, "{max_p}");
    }
}

/// A signal is due when the packets since the last one, times the distance from `min_th`, reach the random number.
#[test]
fn a_signal_is_due_at_its_random_number() {
    for (count, random, due, then) in [
        (None, 0, false, 0),
        (Some(0), 7500, true, 0),
        (Some(0), 7501, false, 1),
        (Some(3), 30_000, true, 0),
        (Some(3), 30_001, false, 4),
    ] {
        let mut queue = at(22_500, LinuxRedConfig { ecn: true, ..diffserv() });
        (queue.count, queue.random) = (count, random);
        let admit = arrive(&mut queue, 22_500, Ecn::Ect0, &mut rng());
        assert_eq!((admit == Admit::Mark, queue.count), (due, Some(then)), "{count:?} {random}");
        // A new number is drawn with each signal and for the first packet between the thresholds.
        assert_eq!(queue.random != random, due || count.is_none());
        assert!(queue.random <= queue.random_mask);
    }
}
