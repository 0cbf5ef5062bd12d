use super::Fate::{Drop, Pass};
use super::*;
use crate::test_packet::TestPacket;
use rand::SeedableRng;

fn rng() -> Rng {
    Rng::seed_from_u64(7)
}

/// Ids of the packets 1..=n that the entrance drops.
fn drops(configs: &[ImpairmentConfig], n: u64) -> Vec<u64> {
    let (mut impairments, mut rng) = (Impairments::new(configs), rng());
    (1..=n).filter(|&id| impairments.on_entry(Time::ZERO, &TestPacket::new(id), &mut rng) == Fate::Drop).collect()
}

#[test]
fn drop_nth_drops_the_numbers_it_is_given_and_no_others() {
    assert_eq!(drops(&[ImpairmentConfig::DropNth { packets: vec![3, 7] }], 20), [3, 7]);
}

#[test]
fn drop_every_is_periodic_from_its_first() {
    assert_eq!(drops(&[ImpairmentConfig::DropEvery { every: 5, first: None }], 16), [5, 10, 15]);
    assert_eq!(drops(&[ImpairmentConfig::DropEvery { every: 5, first: Some(2) }], 16), [2, 7, 12]);
}

#[test]
fn drop_seq_drops_the_packet_that_holds_the_byte_as_often_as_asked() {
    let config = ImpairmentConfig::DropSeq { offsets: vec![960, 2000], occurrences: 2 };
    let (mut impairments, mut rng) = (Impairments::new(&[config]), rng());
    // Packet k holds bytes 960k to 960k + 959: the offsets lie in packets 1 and 2.
    let fates: Vec<_> = [0, 1, 2, 3, 1, 2, 1, 2]
        .iter()
        .map(|&id| impairments.on_entry(Time::ZERO, &TestPacket::new(id), &mut rng))
        .collect();
    assert_eq!(fates, [Pass, Drop, Drop, Pass, Drop, Drop, Pass, Pass]);
}

/// Sequence numbers wrap after 4 GiB; the offsets in a scenario do not.
#[test]
fn drop_seq_counts_beyond_4_gib_flow_by_flow() {
    const GIB: u64 = 1 << 30;
    let config = ImpairmentConfig::DropSeq { offsets: vec![960, 4 * GIB + 1500], occurrences: 1 };
    let (mut impairments, mut rng) = (Impairments::new(&[config]), rng());
    let mut fate = |flow: u64, offset: u64| {
        impairments.on_entry(Time::ZERO, &TestPacket { offset, ..TestPacket::of_flow(0, flow) }, &mut rng)
    };
    for quarter in 1..4 {
        assert_eq!(fate(1, quarter * GIB), Pass);
    }
    assert_eq!(fate(1, 4 * GIB + 960), Drop); // bytes up to 4 GiB + 1920
    assert_eq!(fate(2, 1500), Pass); // another flow, at its beginning
    assert_eq!(fate(1, 4 * GIB - 960), Pass);
    assert_eq!(fate(2, 960), Drop);
}

#[test]
fn bernoulli_loses_its_share_independently() {
    let lost = drops(&[ImpairmentConfig::Bernoulli { p: 0.1 }], 100_000);
    let share = lost.len() as f64 / 1e5;
    assert!((share - 0.1).abs() < 4.0 * (0.1 * 0.9 / 1e5_f64).sqrt(), "{share}");
    // A packet right after a lost one is lost with the same probability.
    let runs = lost.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64 / lost.len() as f64;
    assert!((runs - 0.1).abs() < 0.015, "{runs}");
}

#[test]
fn gilbert_elliott_has_its_stationary_loss_and_its_mean_burst() {
    let config = ImpairmentConfig::GilbertElliott { p_good_bad: 0.01, p_bad_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    let lost = drops(&[config], 400_000);
    let share = lost.len() as f64 / 4e5;
    assert!((share - 0.01 / 0.26).abs() < 0.002, "{share}"); // p / (p + r)
    let bursts = 1 + lost.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    let mean = lost.len() as f64 / bursts as f64;
    assert!((mean - 4.0).abs() < 0.15, "{mean}"); // 1 / r
}

#[test]
fn duplicates_come_with_their_probability() {
    let (mut impairments, mut rng) = (Impairments::new(&[ImpairmentConfig::Duplicate { p: 0.5 }]), rng());
    let copies = (0..10_000)
        .filter(|&id| impairments.on_entry(Time::ZERO, &TestPacket::new(id), &mut rng) == Fate::Duplicate)
        .count();
    assert!((4800..5200).contains(&copies), "{copies}");
}

/// Arrival times of packets that would arrive 1 ms apart without the impairments.
fn arrivals(configs: &[ImpairmentConfig], n: u64) -> Vec<Time> {
    let (mut impairments, mut rng) = (Impairments::new(configs), rng());
    (1..=n).map(Time::from_millis).map(|at| at + impairments.extra_delay(at, at, &mut rng)).collect()
}

#[test]
fn jitter_that_keeps_order_never_lets_a_packet_overtake() {
    let max_ns = Time::from_millis(10);
    let ordered = ImpairmentConfig::Jitter { max_ns, keep_order: true };
    let times = arrivals(std::slice::from_ref(&ordered), 2000);
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(!Impairments::new(&[ordered]).may_reorder());
    let free = ImpairmentConfig::Jitter { max_ns, keep_order: false };
    assert!(arrivals(std::slice::from_ref(&free), 2000).windows(2).any(|pair| pair[0] > pair[1]));
    assert!(Impairments::new(&[free]).may_reorder());
}

#[test]
fn delay_nth_delays_only_its_packets() {
    let config = ImpairmentConfig::DelayNth { packets: vec![2], extra_ns: Time::from_millis(5) };
    assert_eq!(arrivals(&[config], 3), [Time::from_millis(1), Time::from_millis(7), Time::from_millis(3)]);
}

#[test]
fn probabilities_outside_zero_to_one_are_refused_by_name() {
    let error = ImpairmentConfig::Bernoulli { p: 1.5 }.check().unwrap_err();
    assert_eq!(error.to_string(), "p is 1.5; a probability lies in 0..=1");
    assert!(ImpairmentConfig::Reorder { p: f64::NAN, extra_ns: Time::ZERO }.check().is_err());
    assert!(ImpairmentConfig::DropNth { packets: vec![3, 3] }.check().is_err());
    assert!(ImpairmentConfig::DropNth { packets: vec![0] }.check().is_err());
}

#[test]
fn loss_follows_its_schedule() {
    let steps = ImpairmentConfig::LossSteps {
        at_ns: vec![Time::ZERO, Time::from_secs(1)],
        p: vec![0.0, 1.0],
        repeat_ns: Some(Time::from_secs(3)),
    };
    assert_eq!(steps.check(), Ok(()));
    let (mut impairments, mut rng) = (Impairments::new(&[steps]), rng());
    let lost: Vec<u64> = (0..90)
        .filter(|&k| impairments.on_entry(Time::from_millis(100 * k), &TestPacket::new(k), &mut rng) == Drop)
        .collect();
    let expected: Vec<u64> = (0..90).filter(|k| k % 30 >= 10).collect();
    assert_eq!(lost, expected);
}

#[test]
fn a_policer_passes_its_burst_and_then_its_rate() {
    // One packet arrives per millisecond, but tokens for a packet take 8 ms. The full bucket has tokens for 3.5
    // packets.
    let bytes = u64::from(TestPacket::new(0).wire_bytes());
    let policer = ImpairmentConfig::Policer { rate_bps: bytes * 1000, burst_bytes: 7 * bytes / 2 };
    let (mut impairments, mut rng) = (Impairments::new(&[policer]), rng());
    let passed: Vec<u64> = (0..40)
        .filter(|&k| impairments.on_entry(Time::from_millis(k), &TestPacket::new(k), &mut rng) == Pass)
        .collect();
    // After packet 2, the bucket has tokens for 1/2 + 2/8 of a packet. They suffice for a whole packet at 4 ms, and
    // then every 8 ms.
    assert_eq!(passed, [0, 1, 2, 4, 12, 20, 28, 36]);
}

#[test]
fn normal_jitter_is_cut_and_has_its_mean() {
    let sigma = Time::from_millis(5);
    let config = |keep_order| ImpairmentConfig::NormalJitter { sigma_ns: sigma, cut: 3.0, mean_ns: None, keep_order };
    let (mut impairments, mut rng) = (Impairments::new(&[config(false)]), rng());
    let mut extra = |at| impairments.extra_delay(at, at, &mut rng).as_secs_f64() * 1e3;
    let drawn: Vec<f64> = (0..100_000).map(|k| extra(Time::from_secs(k))).collect();
    assert!(drawn.iter().all(|ms| (0.0..=30.0).contains(ms)));
    let mean = drawn.iter().sum::<f64>() / 1e5;
    assert!((mean - 15.0).abs() < 0.07, "{mean}"); // four standard errors
    let variance = drawn.iter().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / 1e5;
    // Truncation at 3 sigma leaves a variance of 1 - 2 * 3 phi(3) / (2 Phi(3) - 1) = 0.97334 times sigma squared.
    assert!((variance / 25.0 / 0.97334 - 1.0).abs() < 0.02, "{variance}");
    let ordered = arrivals(&[config(true)], 1000);
    assert!(ordered.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(!Impairments::new(&[config(true)]).may_reorder() && Impairments::new(&[config(false)]).may_reorder());
    let wrong = ImpairmentConfig::NormalJitter { sigma_ns: sigma, cut: 3.0, mean_ns: Some(sigma), keep_order: true };
    assert!(wrong.check().unwrap_err().to_string().contains("at least 0.015"), "{:?}", wrong.check());
}

#[test]
fn wifi_jitter_has_short_delays_and_from_its_time_on_long_ones_with_their_probability() {
    let config = ImpairmentConfig::WifiJitter {
        p: vec![0.0, 0.25],
        at_ns: vec![Time::ZERO, Time::from_secs(100_000)],
        repeat_ns: None,
        short_ns: Time::from_millis(1),
        long_ns: Time::from_micros(7500),
    };
    assert_eq!(config.check(), Ok(()));
    let (mut impairments, mut rng) = (Impairments::new(std::slice::from_ref(&config)), rng());
    // a packet each second, so that none waits for the one before
    let drawn: Vec<f64> = (0..200_000)
        .map(Time::from_secs)
        .map(|at| impairments.extra_delay(at, at, &mut rng).as_secs_f64() * 1e3)
        .collect();
    let (good, bad) = drawn.split_at(100_000);
    // Poisson(1) periods of 1 ms, less half of one if there is any: 1 - (1 - 1/e) / 2 = 0.6839 ms; e^-1 have none.
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    assert!((mean(good) - 0.6839).abs() < 0.012, "{}", mean(good));
    let none = good.iter().filter(|&&ms| ms == 0.0).count() as f64 / 1e5;
    assert!((none - 0.3679).abs() < 0.006, "{none}");
    // a quarter also have Poisson(12) periods of 7.5 ms, less half of one: 86.25 ms
    assert!((mean(bad) - mean(good) - 0.25 * 86.25).abs() < 0.6, "{}", mean(bad));
    let long = bad.iter().filter(|&&ms| ms > 20.0).count() as f64 / 1e5;
    assert!((long - 0.25).abs() < 0.006, "{long}");
    let ordered = arrivals(&[config], 1000);
    assert!(ordered.windows(2).all(|pair| pair[0] <= pair[1]));
    let wrong: ImpairmentConfig = serde_json::from_str(r#"{"kind": "wifi-jitter", "p": [0.1, 0.2]}"#).unwrap();
    assert!(wrong.check().is_err(), "two probabilities and one time");
}

#[test]
fn a_delay_that_falls_lets_packets_overtake_unless_they_keep_their_order() {
    let ms = Time::from_millis;
    let config = |keep_order| ImpairmentConfig::DelaySteps {
        at_ns: vec![Time::ZERO, ms(3)],
        extra_ns: vec![ms(10), ms(1)],
        repeat_ns: None,
        keep_order,
    };
    // The packets leave the transmitter at 1, 2, 3 and 4 ms.
    assert_eq!(arrivals(&[config(false)], 4), [ms(11), ms(12), ms(4), ms(5)]);
    assert_eq!(arrivals(&[config(true)], 4), [ms(11), ms(12), ms(12), ms(12)]);
}

#[test]
fn aggregation_delivers_what_came_while_the_first_was_held() {
    let ms = Time::from_millis;
    let config = ImpairmentConfig::Aggregate { hold_ns: ms(3), burst_packets: None };
    assert_eq!(arrivals(&[config], 6), [4, 4, 4, 4, 8, 8].map(ms));
}

#[test]
fn what_a_full_burst_has_no_room_for_leaves_with_the_next() {
    let ms = Time::from_millis;
    let config = |packets| ImpairmentConfig::Aggregate { hold_ns: ms(3), burst_packets: Some(packets) };
    // The third and fourth packet begin a burst that leaves 3 ms after the first.
    assert_eq!(arrivals(&[config(2)], 6), [4, 4, 7, 7, 10, 10].map(ms));
    // One packet every 3 ms: the queue grows.
    assert_eq!(arrivals(&[config(1)], 4), [4, 7, 10, 13].map(ms));
    assert_eq!(arrivals(&[config(4)], 6), [4, 4, 4, 4, 8, 8].map(ms));
    assert_eq!(config(0).check().unwrap_err().to_string(), "`burst_packets` is 0; a burst has at least one packet");
}

/// Each impairment at the exit adds to what those before it in the list have made of the arrival.
#[test]
fn delays_at_the_exit_add_up() {
    let ms = Time::from_millis;
    let delay = |number, by| ImpairmentConfig::DelayNth { packets: vec![number], extra_ns: ms(by) };
    let config = [delay(2, 5), delay(2, 7), delay(3, 1)];
    assert_eq!(arrivals(&config, 4), [ms(1), ms(14), ms(4), ms(4)]);
    let (mut impairments, mut rng) = (Impairments::new(&config), rng());
    let mut late = |at| impairments.late_arrival(ms(at), ms(at + 20), &mut rng);
    assert_eq!([late(1), late(2), late(3)], [ms(21), ms(34), ms(24)]);
}

/// From the departure, not from the arrival: the delay of a step is that of the time at which a packet was sent.
#[test]
fn a_step_of_the_delay_applies_to_packets_sent_from_then_on() {
    let ms = Time::from_millis;
    let steps = |repeat_ns| ImpairmentConfig::DelaySteps {
        at_ns: vec![Time::ZERO, ms(10)],
        extra_ns: vec![ms(1), ms(4)],
        repeat_ns,
        keep_order: false,
    };
    for (repeat, times) in [(None, [(9, 1), (10, 4), (25, 4)]), (Some(ms(25)), [(9, 1), (24, 4), (25, 1)])] {
        let (mut impairments, mut rng) = (Impairments::new(&[steps(repeat)]), rng());
        for (departure, extra) in times {
            assert_eq!(impairments.extra_delay(ms(departure), ms(departure + 30), &mut rng), ms(extra), "{departure}");
        }
    }
}

#[test]
fn a_packet_is_reordered_with_its_probability_by_its_delay() {
    let config = ImpairmentConfig::Reorder { p: 0.25, extra_ns: Time::from_millis(7) };
    let late = arrivals(std::slice::from_ref(&config), 40_000);
    let by = |at: usize| (late[at] - Time::from_millis(at as u64 + 1)).as_nanos();
    let count = (0..late.len()).filter(|&at| by(at) == 7_000_000).count();
    assert!((0..late.len()).all(|at| [0, 7_000_000].contains(&by(at))));
    assert!((count as f64 / 4e4 - 0.25).abs() < 0.009, "{count}");
    assert!(Impairments::new(&[config]).may_reorder());
}

/// Uniform on 0 to the maximum, both included: the mean is half of it and the variance a twelfth of its square.
#[test]
fn jitter_is_uniform() {
    let config = ImpairmentConfig::Jitter { max_ns: Time::from_nanos(4), keep_order: false };
    let (mut impairments, mut rng) = (Impairments::new(&[config]), rng());
    let mut counts = [0_u32; 5];
    for _ in 0..50_000 {
        counts[impairments.extra_delay(Time::ZERO, Time::ZERO, &mut rng).as_nanos() as usize] += 1;
    }
    let chi2: f64 = counts.iter().map(|&n| cwndlab_units::power(f64::from(n) - 1e4, 2) / 1e4).sum();
    assert!(chi2 < 18.5, "chi-square {chi2} with 4 degrees of freedom, 0.1 % point 18.5");
}

/// Of two impairments that keep the order, the last one decides; bursts never reorder.
#[test]
fn an_ordered_delay_undoes_what_was_reordered_before_it() {
    let jitter = |keep_order| ImpairmentConfig::Jitter { max_ns: Time::from_millis(5), keep_order };
    let bursts = || ImpairmentConfig::Aggregate { hold_ns: Time::from_millis(3), burst_packets: None };
    for (list, reorders) in [
        (vec![], false),
        (vec![bursts()], false),
        (vec![jitter(false), jitter(true)], false),
        (vec![jitter(false), jitter(true), bursts()], false),
        (vec![jitter(true), jitter(false)], true),
        (vec![jitter(false), bursts()], true),
    ] {
        assert_eq!(Impairments::new(&list).may_reorder(), reorders, "{list:?}");
        let times = arrivals(&list, 1000);
        assert!(reorders || times.is_sorted(), "{list:?}");
    }
}

/// A bucket that is full again after a pause passes its burst at once, and no more.
#[test]
fn a_policer_that_was_idle_has_a_full_bucket() {
    let policer = ImpairmentConfig::Policer { rate_bps: 8_000_000, burst_bytes: 2500 };
    let (mut impairments, mut rng) = (Impairments::new(&[policer]), rng());
    let mut passes = |us| impairments.on_entry(Time::from_micros(us), &TestPacket::new(0), &mut rng) == Pass;
    // 1000 bytes take 1 ms of tokens.
    assert_eq!(
        [passes(0), passes(0), passes(0), passes(499), passes(500), passes(501)],
        [true, true, false, false, true, false]
    );
    assert_eq!([passes(60_000), passes(60_000), passes(60_000)], [true, true, false]);
}

#[test]
fn keys_that_are_left_out_have_their_defaults() {
    for (least, whole) in [
        (
            r#"{"kind":"gilbert-elliott","p_good_bad":0.1,"p_bad_good":0.5}"#,
            ImpairmentConfig::GilbertElliott { p_good_bad: 0.1, p_bad_good: 0.5, loss_good: 0.0, loss_bad: 1.0 },
        ),
        (r#"{"kind":"drop-every","every":3}"#, ImpairmentConfig::DropEvery { every: 3, first: None }),
        (r#"{"kind":"drop-seq","offsets":[7]}"#, ImpairmentConfig::DropSeq { offsets: vec![7], occurrences: 1 }),
        (r#"{"kind":"jitter","max_ns":5}"#, ImpairmentConfig::Jitter { max_ns: Time::from_nanos(5), keep_order: true }),
        (
            r#"{"kind":"normal-jitter","sigma_ns":5}"#,
            ImpairmentConfig::NormalJitter { sigma_ns: Time::from_nanos(5), cut: 3.0, mean_ns: None, keep_order: true },
        ),
        (
            r#"{"kind":"wifi-jitter","p":[0.1]}"#,
            ImpairmentConfig::WifiJitter {
                p: vec![0.1],
                at_ns: vec![Time::ZERO],
                repeat_ns: None,
                short_ns: Time::from_millis(1),
                long_ns: Time::from_micros(7500),
            },
        ),
        (
            r#"{"kind":"delay-steps","at_ns":[0],"extra_ns":[3]}"#,
            ImpairmentConfig::DelaySteps {
                at_ns: vec![Time::ZERO],
                extra_ns: vec![Time::from_nanos(3)],
                repeat_ns: None,
                keep_order: false,
            },
        ),
    ] {
        assert_eq!(serde_json::from_str::<ImpairmentConfig>(least).unwrap(), whole);
    }
}

#[test]
fn parameters_are_valid_up_to_their_bounds() {
    let read = |text: &str| serde_json::from_str::<ImpairmentConfig>(text).unwrap().check();
    for good in [
        r#"{"kind":"bernoulli","p":1}"#,
        r#"{"kind":"duplicate","p":0}"#,
        r#"{"kind":"drop-every","every":1,"first":1}"#,
        r#"{"kind":"drop-seq","offsets":[],"occurrences":1}"#,
        r#"{"kind":"drop-nth","packets":[1,2]}"#,
        r#"{"kind":"delay-nth","packets":[],"extra_ns":1}"#,
        r#"{"kind":"policer","rate_bps":1,"burst_bytes":1}"#,
        r#"{"kind":"normal-jitter","sigma_ns":5,"cut":1,"mean_ns":5}"#,
        r#"{"kind":"normal-jitter","sigma_ns":5,"cut":10,"mean_ns":50}"#,
        r#"{"kind":"aggregate","hold_ns":0,"burst_packets":1}"#,
        r#"{"kind":"jitter","max_ns":0}"#,
    ] {
        assert_eq!(read(good), Ok(()), "{good}");
    }
    for (bad, says) in [
        (r#"{"kind":"gilbert-elliott","p_good_bad":1.1,"p_bad_good":0}"#, "p_good_bad is 1.1"),
        (r#"{"kind":"gilbert-elliott","p_good_bad":0,"p_bad_good":1.1}"#, "p_bad_good is 1.1"),
        (r#"{"kind":"gilbert-elliott","p_good_bad":0,"p_bad_good":0,"loss_good":1.1}"#, "loss_good is 1.1"),
        (r#"{"kind":"gilbert-elliott","p_good_bad":0,"p_bad_good":0,"loss_bad":-1}"#, "loss_bad is -1"),
        (r#"{"kind":"drop-every","every":0}"#, ""),
        (r#"{"kind":"drop-every","every":2,"first":0}"#, ""),
        (r#"{"kind":"drop-seq","offsets":[1],"occurrences":0}"#, ""),
        (r#"{"kind":"delay-nth","packets":[2,1],"extra_ns":1}"#, ""),
        (r#"{"kind":"policer","rate_bps":0,"burst_bytes":1}"#, "above 0"),
        (r#"{"kind":"policer","rate_bps":1,"burst_bytes":0}"#, "above 0"),
        (r#"{"kind":"normal-jitter","sigma_ns":5,"cut":0.9}"#, "cut is 0.9"),
        (r#"{"kind":"normal-jitter","sigma_ns":5,"cut":10.1}"#, "cut is 10.1"),
        (r#"{"kind":"normal-jitter","sigma_ns":5,"cut":2,"mean_ns":9}"#, "may be negative"),
        (r#"{"kind":"loss-steps","at_ns":[0,5],"p":[0.1,1.1]}"#, "p is 1.1"),
        (r#"{"kind":"loss-steps","at_ns":[0,5],"p":[0.1]}"#, "2 times but 1 values"),
        (r#"{"kind":"delay-steps","at_ns":[1],"extra_ns":[1]}"#, "time 0"),
        (r#"{"kind":"aggregate","hold_ns":1,"burst_packets":0}"#, "burst_packets"),
    ] {
        let error = read(bad).expect_err(bad).to_string();
        assert!(error.contains(says), "{bad}: {error}");
    }
}

/// Poisson numbers of periods: those above `whole` end early, others do not.
#[test]
fn a_number_of_periods_up_to_the_whole_ones_is_exact() {
    let (periods, mut rng) = (Periods::new(1.0, 1.0, Time::from_millis(1)), rng());
    let drawn: Vec<_> = (0..10_000).map(|_| periods.draw(&mut rng)).collect();
    let count = |ms| drawn.iter().filter(|&&time| time == Time::from_millis(ms)).count() as f64 / 1e4;
    // e^-1 are 0, and as many 1
    assert!((count(0) - 0.3679).abs() < 0.02 && (count(1) - 0.3679).abs() < 0.02, "{} {}", count(0), count(1));
    assert!(count(2) < 0.001);
}

/// The delay is the mean and so many deviations as the first draw within the cut says.
#[test]
fn a_normal_delay_is_that_of_its_draw() {
    let ms = Time::from_millis;
    let config = ImpairmentConfig::NormalJitter { sigma_ns: ms(4), cut: 1.5, mean_ns: Some(ms(9)), keep_order: false };
    let (mut impairments, mut rng) = (Impairments::new(&[config]), rng());
    let mut other = rng.clone();
    for k in 0..200 {
        let z = (0..1000).map(|_| StandardNormal.sample(&mut other)).find(|z: &f64| z.abs() <= 1.5).unwrap();
        let extra = impairments.extra_delay(ms(k), ms(k), &mut rng).as_secs_f64();
        assert!((extra - (0.009 + 0.004 * z)).abs() < 1e-9, "{extra} {z}");
    }
}
