//! Both sides of each bound, and what consumes a random number.

use rand::RngCore as _;

use super::*;

#[test]
fn a_threshold_belongs_to_the_region_above_it() {
    let ms = Time::from_millis;
    for (average, region) in [(4.9, 0), (5.0, 1), (14.9, 1), (15.0, 2)] {
        let mut red = red_at(average, RedConfig::new(1000, 5.0, 15.0));
        red.on_arrival(ms(10), busy(1), 1000, Ecn::NotEct, &mut rng());
        let Regions { below, between, above } = red.regions(ms(17), None);
        let mut expected = [Time::ZERO; 3];
        expected[region] = ms(17);
        assert_eq!([below, between, above], expected, "{average}");
    }
}

/// An arrival that ends an idle time counts it with the decay: from 20 the average passes 15 and 5 on its way.
#[test]
fn an_idle_time_is_divided_by_the_decay_before_the_arrival_that_ends_it() {
    let ms = Time::from_millis;
    let weight = 0.1;
    let mut red = Red { average: 20.0, ..red(RedConfig { w_q: Some(weight), ..RedConfig::new(1000, 5.0, 15.0) }) };
    red.last_arrival = ms(100);
    red.on_arrival(ms(200), idle(ms(130)), 1000, Ecn::NotEct, &mut rng());
    // In steps of 1 ms: ln(15/20) / ln(0.9) = 2.730, and ln(5/20) / ln(0.9) = 13.157.
    let us = |us: f64| Time::from_secs_f64(us / 1e6);
    let Regions { below, between, above } = red.regions(ms(200), Some(ms(200)));
    for (found, expected) in
        [(above, us(32_730.4)), (between, us(13_157.4 - 2_730.4)), (below, us(70_000.0 - 13_157.4))]
    {
        assert!(found.as_nanos().abs_diff(expected.as_nanos()) < 1000, "{found} {expected}");
    }
    assert!((red.average() - 20.0 * libm::pow(0.9, 70.0)).abs() < 1e-9);
}

/// Floyd and Jacobson's text decays over 2.5 packets' times; ns-2 counts two and adds one.
#[test]
fn the_rules_count_an_idle_time_in_packets() {
    for (rules, packets) in [(RedRules::Paper, 2.5), (RedRules::Ns2, 3.0)] {
        let mut red =
            Red { average: 8.0, ..red(RedConfig { rules, w_q: Some(0.25), ..RedConfig::new(1000, 5.0, 15.0) }) };
        let at = Time::from_micros(12_500);
        red.on_arrival(at, idle(Time::from_millis(10)), 1000, Ecn::NotEct, &mut rng());
        assert!((red.average() - 8.0 * libm::pow(0.75, packets)).abs() < 1e-12, "{rules:?}: {}", red.average());
    }
}

/// A probability so high that the signal is certain draws no number, so that later draws are the same.
#[test]
fn a_certain_signal_draws_no_random_number() {
    // The average is halfway between the thresholds: p is 0.25.
    for (count, wait, draws) in
        [(0, false, true), (2, false, true), (3, false, false), (3, true, false), (4, true, true), (7, true, false)]
    {
        let mut red = red_at(10.0, RedConfig { max_p: 0.5, wait, ..RedConfig::new(1000, 5.0, 15.0) });
        red.count = count;
        let (mut rng, mut other) = (rng(), rng());
        let admit = arrive(&mut red, busy(10), Ecn::NotEct, &mut rng);
        if draws {
            other.next_u64();
        } else {
            assert_eq!(admit == Admit::Enqueue, count == 3 && wait, "{count} {wait}");
        }
        assert_eq!(rng.next_u64(), other.next_u64(), "{count} {wait}");
    }
}

/// In packets a limit of 3 has room for a packet that finds two waiting; in bytes for one of 1000 that finds 2000.
#[test]
fn a_full_queue_drops_at_its_limit() {
    let admit = |config: RedConfig, backlog: Backlog, bytes| {
        red(RedConfig { min_th: 1e9, max_th: 2e9, ..config }).on_arrival(
            Time::from_secs(1),
            backlog,
            bytes,
            Ecn::NotEct,
            &mut rng(),
        )
    };
    let bytes = |limit, counts_in_service| RedConfig {
        unit: Unit::Bytes,
        counts_in_service,
        ..RedConfig::new(limit, 1.0, 2.0)
    };
    let packets = |counts_in_service| RedConfig { counts_in_service, ..RedConfig::new(3, 1.0, 2.0) };
    let full = Admit::Drop(DropCause::Full);
    for (config, backlog, size, expected) in [
        (packets(false), busy(2), 1000, Admit::Enqueue),
        (packets(false), busy(3), 1000, full),
        (packets(true), busy(1), 1000, Admit::Enqueue),
        (packets(true), busy(2), 1000, full),
        (bytes(3000, false), busy(2), 1000, Admit::Enqueue),
        (bytes(3000, false), busy(2), 1001, full),
        (bytes(3000, true), busy(1), 1000, Admit::Enqueue),
        (bytes(3000, true), busy(1), 1001, full),
        (bytes(3000, false), idle(Time::ZERO), 3001, Admit::Enqueue),
        (bytes(3000, true), idle(Time::ZERO), 3001, full),
        (bytes(3000, true), idle(Time::ZERO), 3000, Admit::Enqueue),
    ] {
        assert_eq!(admit(config.clone(), backlog, size), expected, "{config:?} {backlog:?} {size}");
    }
}

/// `max_p` changes when the average passes a threshold, not while it stays on a side.
#[test]
fn an_adaptive_probability_changes_as_the_average_passes_a_threshold() {
    let mut red = red_at(10.0, RedConfig { adaptive: true, max_p: 0.3, ..RedConfig::new(1000, 5.0, 15.0) });
    for (average, max_p) in [
        (10.0, 0.3),
        (5.0, 0.3),
        (4.999, 0.1),
        (3.0, 0.1),
        (5.0, 0.1),
        (14.999, 0.1),
        (15.0, 0.2),
        (20.0, 0.2),
        (4.0, 0.2 / 3.0),
        (15.0, 0.4 / 3.0),
    ] {
        red.average = average;
        red.adapt();
        assert!((red.max_p - max_p).abs() < 1e-12, "{average}: {}", red.max_p);
    }
    let mut most = red_at(20.0, RedConfig { adaptive: true, max_p: 0.7, ..RedConfig::new(1000, 5.0, 15.0) });
    most.adapt();
    assert!((most.max_p - 1.0).abs() < 1e-12);
}

/// With ns-2's rules, the first packet after the average was low, or at most one packet waited, gets no signal.
#[test]
fn by_ns2_s_rules_a_signal_waits_until_more_than_one_packet_does() {
    let config = RedConfig { rules: RedRules::Ns2, max_p: 1.0, ..RedConfig::new(1000, 5.0, 15.0) };
    for (average, waiting, first, second) in [
        (14.9, 2, Admit::Enqueue, Admit::Drop(DropCause::Aqm)),
        (14.9, 1, Admit::Enqueue, Admit::Enqueue),
        (4.9, 9, Admit::Enqueue, Admit::Enqueue),
        (15.0, 2, Admit::Drop(DropCause::Aqm), Admit::Drop(DropCause::Aqm)),
    ] {
        let mut red = red_at(average, config.clone());
        red.count = SKIP_ONE;
        let mut found = || arrive(&mut red, busy(waiting), Ecn::NotEct, &mut rng());
        assert_eq!([found(), found()], [first, second], "{average} {waiting}");
    }
}

/// From the threshold on, packets that pass are counted, though the probability is still 0.
#[test]
fn packets_are_counted_from_the_lower_threshold_on() {
    for (average, count) in [(4.999, 0), (5.0, 7), (5.001, 7)] {
        let mut red = red_at(average, RedConfig::new(1000, 5.0, 15.0));
        red.count = 6;
        assert_eq!(arrive(&mut red, busy(2), Ecn::NotEct, &mut rng()), Admit::Enqueue);
        assert_eq!(red.count, count, "{average}");
    }
}
