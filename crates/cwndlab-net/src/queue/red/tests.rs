use super::*;
use rand::SeedableRng;

mod bounds;

const RATE: Rate = Rate::from_bps(8_000_000); // 1000 bytes take 1 ms

fn rng() -> Rng {
    Rng::seed_from_u64(1)
}

/// A busy link in which `waiting` packets of 1000 bytes wait.
fn busy(waiting: u32) -> Backlog {
    Backlog { packets: waiting + 1, bytes: 1000 * u64::from(waiting + 1), in_service_bytes: 1000, free_at: Time::MAX }
}

fn idle(since: Time) -> Backlog {
    Backlog { free_at: since, ..Backlog::default() }
}

fn red(config: RedConfig) -> Red {
    config.check().expect("a valid configuration");
    Red::new(config, RATE)
}

/// RED with a constant average, independent of arrivals.
fn red_at(average: f64, config: RedConfig) -> Red {
    Red { average, weight: 1e-300, ..red(config) }
}

fn arrive(red: &mut Red, backlog: Backlog, ecn: Ecn, rng: &mut Rng) -> Admit {
    red.on_arrival(Time::from_secs(1), backlog, 1000, ecn, rng)
}

/// Section 6.1, equation 3: after L arrivals that find 1 to L packets, the average is
/// L + 1 + ((1-w)^(L+1) - 1) / w.
#[test]
fn the_average_after_a_growing_queue_is_that_of_the_paper() {
    for (w, arrivals) in [(0.002, 50_u32), (0.001, 100), (0.05, 20), (0.5, 7)] {
        let mut red = red(RedConfig { w_q: Some(w), ..RedConfig::new(1000, 900.0, 950.0) });
        for length in 1..=arrivals {
            arrive(&mut red, busy(length), Ecn::NotEct, &mut rng());
        }
        let l = f64::from(arrivals);
        let expected = l + 1.0 + (libm::pow(1.0 - w, l + 1.0) - 1.0) / w;
        assert!((red.average() - expected).abs() < 1e-9, "{} and not {expected}", red.average());
    }
}

/// The chi-square statistic of the spacings of marks, against a uniform distribution on 1 to `longest` packets. The
/// average is halfway between the thresholds and `max_p` is 0.1, so the probability is 0.05.
fn spacing_chi2(config: &RedConfig, longest: usize) -> f64 {
    let mut red = red_at(10.0, RedConfig { ecn: true, ..config.clone() });
    let mut rng = rng();
    while arrive(&mut red, busy(10), Ecn::Ect0, &mut rng) != Admit::Mark {}
    let mut bins = vec![0_u32; longest];
    let (mut spacing, marks) = (0, 40_000);
    for _ in 0..marks {
        loop {
            spacing += 1;
            if arrive(&mut red, busy(10), Ecn::Ect0, &mut rng) == Admit::Mark {
                break;
            }
        }
        bins[spacing - 1] += 1; // panics on a longer spacing
        spacing = 0;
    }
    let expected = f64::from(marks) / longest as f64;
    bins.iter().map(|&n| cwndlab_units::power(f64::from(n) - expected, 2) / expected).sum()
}

#[test]
fn the_spacing_of_marks_is_uniform_on_one_to_the_reciprocal_of_p() {
    let chi2 = spacing_chi2(&RedConfig::new(1000, 5.0, 15.0), 20);
    assert!(chi2 < 43.8, "chi-square {chi2} with 19 degrees of freedom, 0.1 % point 43.8");
}

#[test]
fn by_ns2_s_rules_the_spacing_ends_one_packet_earlier() {
    let chi2 = spacing_chi2(&RedConfig { rules: RedRules::Ns2, ..RedConfig::new(1000, 5.0, 15.0) }, 19);
    assert!(chi2 < 42.3, "chi-square {chi2} with 18 degrees of freedom, 0.1 % point 42.3");
}

#[test]
fn at_a_weight_of_one_the_average_is_the_queue_even_if_it_empties_as_a_packet_comes() {
    let mut red = Red::new(RedConfig { w_q: Some(1.0), ..RedConfig::new(1000, 5.0, 15.0) }, Rate::from_bps(1_000_000));
    red.on_arrival(Time::ZERO, busy(4), 1000, Ecn::NotEct, &mut rng());
    for (at_ms, average) in [(7, 4.0), (8, 0.0)] {
        red.on_arrival(Time::from_millis(at_ms), idle(Time::from_millis(7)), 1000, Ecn::NotEct, &mut rng());
        assert!((red.average() - average).abs() < 1e-12, "{} after {at_ms} ms", red.average());
    }
}

#[test]
fn with_wait_the_spacing_is_uniform_on_one_to_two_reciprocals() {
    let mut red = red_at(10.0, RedConfig { wait: true, ..RedConfig::new(1000, 5.0, 15.0) });
    let mut rng = rng();
    let (mut spacings, mut spacing) = (Vec::new(), 0);
    for _ in 0..100_000 {
        spacing += 1;
        if arrive(&mut red, busy(10), Ecn::NotEct, &mut rng) != Admit::Enqueue {
            spacings.push(spacing);
            spacing = 0;
        }
    }
    assert_eq!((spacings.iter().min(), spacings.iter().max()), (Some(&21), Some(&40)));
    let mean = f64::from(spacings.iter().sum::<u32>()) / spacings.len() as f64;
    assert!((mean - 30.5).abs() < 0.5, "{mean}");
}

#[test]
fn below_the_lower_threshold_nothing_is_dropped() {
    let mut red = red_at(4.99, RedConfig { max_p: 1.0, ..RedConfig::new(1000, 5.0, 15.0) });
    let mut rng = rng();
    assert!((0..1000).all(|_| arrive(&mut red, busy(100), Ecn::NotEct, &mut rng) == Admit::Enqueue));
}

#[test]
fn above_the_upper_threshold_everything_is_dropped_ecn_capable_or_not() {
    let config = RedConfig { ecn: true, ..RedConfig::new(1000, 5.0, 15.0) };
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
        let mut red = red_at(15.0, config.clone());
        assert_eq!(arrive(&mut red, busy(3), ecn, &mut rng()), Admit::Drop(DropCause::Aqm));
    }
}

#[test]
fn without_hard_drop_ecn_capable_packets_are_marked_above_the_upper_threshold() {
    let config = RedConfig { ecn: true, hard_drop: false, ..RedConfig::new(1000, 5.0, 15.0) };
    let outcomes = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce]
        .map(|ecn| arrive(&mut red_at(20.0, config.clone()), busy(3), ecn, &mut rng()));
    assert_eq!(outcomes, [Admit::Drop(DropCause::Aqm), Admit::Mark, Admit::Enqueue]);
}

#[test]
fn between_the_thresholds_ecn_capable_packets_are_marked_and_others_dropped_at_the_same_arrivals() {
    let outcomes = |ecn| {
        let mut red = red_at(10.0, RedConfig { ecn: true, ..RedConfig::new(1000, 5.0, 15.0) });
        let mut rng = rng();
        (0..500).filter(|_| arrive(&mut red, busy(9), ecn, &mut rng) != Admit::Enqueue).count()
    };
    assert!(outcomes(Ecn::NotEct) > 30);
    assert_eq!(outcomes(Ecn::NotEct), outcomes(Ecn::Ect0));
}

#[test]
fn the_gentle_mode_reaches_one_at_twice_the_upper_threshold() {
    let config = RedConfig { gentle: true, ..RedConfig::new(1000, 5.0, 15.0) };
    let share = |average: f64| {
        let mut red = red_at(average, config.clone());
        let mut rng = rng();
        let drops = (0..20_000).filter(|_| arrive(&mut red, busy(9), Ecn::NotEct, &mut rng) != Admit::Enqueue).count();
        drops as f64 / 20_000.0
    };
    // Spacings uniform on 1..1/p have the mean (1 + 1/p) / 2.
    let expected = |p: f64| 2.0 / (1.0 + 1.0 / p);
    assert!((share(15.0) - expected(0.1)).abs() < 0.01, "{}", share(15.0));
    assert!((share(21.67) - expected(0.5)).abs() < 0.03, "{}", share(21.67));
    assert!((share(30.0) - 1.0).abs() < 1e-9);
}

#[test]
fn in_byte_mode_the_probability_is_in_proportion_to_the_packet() {
    let config = RedConfig { unit: Unit::Bytes, ..RedConfig::new(1_000_000, 5000.0, 15_000.0) };
    let drops = |bytes: u32| {
        let mut red = red_at(10_000.0, config.clone());
        let mut rng = rng();
        (0..200_000)
            .filter(|_| red.on_arrival(Time::ZERO, busy(9), bytes, Ecn::NotEct, &mut rng) != Admit::Enqueue)
            .count() as f64
    };
    let ratio = drops(1500) / drops(150);
    assert!((ratio - 10.0).abs() < 0.8, "{ratio}"); // expected: 2/(1+20) divided by 2/(1+200), which is 9.57
}

#[test]
fn an_idle_time_counts_as_the_packets_that_could_have_been_sent() {
    let mut red = red(RedConfig { w_q: Some(0.1), ..RedConfig::new(100, 50.0, 60.0) });
    red.average = 8.0;
    red.last_arrival = Time::from_millis(995);
    red.on_arrival(Time::from_millis(1020), idle(Time::from_millis(1000)), 1000, Ecn::NotEct, &mut rng());
    assert!((red.average() - 8.0 * cwndlab_units::power(0.9, 20)).abs() < 1e-9, "{}", red.average());
}

/// A drop at an empty queue must not end the idle time. On a testbed, an implementation with this error starved every
/// flow.
#[test]
fn the_average_keeps_falling_while_an_empty_queue_drops() {
    let mut red = red(RedConfig { w_q: Some(0.002), ..RedConfig::new(100, 5.0, 15.0) });
    red.average = 40.0;
    let mut rng = rng();
    let mut arrivals = (0..).map(|k| Time::from_millis(10 * k)).skip(1);
    let admitted = arrivals
        .find(|&now| red.on_arrival(now, idle(Time::ZERO), 1000, Ecn::NotEct, &mut rng) == Admit::Enqueue)
        .unwrap();
    // 40 (1-w)^m is below 15 after m = 490 steps of 1 ms, each of them counted once.
    assert!(admitted >= Time::from_millis(490) && admitted < Time::from_millis(800), "{admitted}");
    assert!((red.average() - 40.0 * libm::pow(0.998, admitted.as_secs_f64() * 1e3)).abs() < 1e-6);
}

#[test]
fn a_full_buffer_drops_whatever_the_average_is() {
    let mut red = red(RedConfig::new(10, 5.0, 15.0));
    assert_eq!(arrive(&mut red, busy(9), Ecn::Ect0, &mut rng()), Admit::Enqueue);
    assert_eq!(arrive(&mut red, busy(10), Ecn::Ect0, &mut rng()), Admit::Drop(DropCause::Full));
}

#[test]
fn the_time_in_each_region_adds_up_and_decays_through_the_thresholds_while_idle() {
    let mut red = red(RedConfig { w_q: Some(0.002), ..RedConfig::new(100, 5.0, 15.0) });
    red.average = 20.0;
    red.last_arrival = Time::from_millis(100);
    let regions = red.regions(Time::from_millis(2100), Some(Time::from_millis(200)));
    assert_eq!(regions.below + regions.between + regions.above, Time::from_millis(2000));
    let steps = |from: f64, to: f64| libm::log(to / from) / libm::log(0.998) / 1e3;
    assert!((regions.above.as_secs_f64() - 0.1 - steps(20.0, 15.0)).abs() < 1e-6, "{regions:?}");
    assert!((regions.between.as_secs_f64() - steps(15.0, 5.0)).abs() < 1e-6, "{regions:?}");
}

/// Linux's diffserv example: min 15 KB, burst 20, avpkt 1000 gives a weight of 2^-3.
#[test]
fn the_weight_for_a_burst_is_linuxs() {
    assert_eq!(weight_for_burst(20, 15.0), Some(0.125));
    assert_eq!(weight_for_burst(55, 30.0), Some(1.0 / 32.0));
    assert_eq!(weight_for_burst(10, 15.0), None);
    let config = RedConfig { unit: Unit::Bytes, burst: Some(20), ..RedConfig::new(60_000, 15_000.0, 45_000.0) };
    assert_eq!(config.weight(), Ok(0.125));
}

#[test]
fn contradictory_parameters_are_refused_by_name() {
    let base = RedConfig::new(100, 5.0, 15.0);
    let error = |config: RedConfig| config.check().unwrap_err().to_string();
    assert!(error(RedConfig { max_th: 5.0, ..base.clone() }).contains("max_th is 5"));
    assert!(error(RedConfig { max_p: 1.1, ..base.clone() }).contains("max_p is 1.1"));
    assert!(error(RedConfig { w_q: Some(0.0), ..base.clone() }).contains("w_q is 0"));
    assert!(error(RedConfig { w_q: Some(0.1), burst: Some(20), ..base.clone() }).contains("both w_q and burst"));
    assert!(error(RedConfig { burst: Some(3), ..base }).contains("burst is 3"));
}

/// 1.5 Mb/s and packets of 1000 bytes, as in `validation/ns2/red.tcl`.
const NS2_RATE: Rate = Rate::from_bps(1_500_000);

fn ns2_config(wait: bool) -> RedConfig {
    RedConfig { w_q: Some(0.02), wait, rules: RedRules::Ns2, ..RedConfig::new(60, 5.0, 15.0) }
}

/// A link of `NS2_RATE`, with the departure times of the packets in it.
#[derive(Default)]
struct Server {
    departures: std::collections::VecDeque<Time>,
    free_at: Time,
}

impl Server {
    fn backlog(&mut self, now: Time) -> Backlog {
        while self.departures.front().is_some_and(|&at| at <= now) {
            self.departures.pop_front();
        }
        let packets = self.departures.len() as u32;
        let in_service_bytes = if packets > 0 { 1000 } else { 0 };
        Backlog { packets, bytes: 1000 * u64::from(packets), in_service_bytes, free_at: self.free_at }
    }
    fn accept(&mut self, now: Time) {
        self.free_at = self.free_at.max(now) + NS2_RATE.serialization_time(1000);
        self.departures.push_back(self.free_at);
    }
}

/// `ns2_averages.csv` has the arrival times, drops and averages of ns-2.35's RED under Poisson arrivals (`red.tcl false
/// 1.05 5 3`). With the same arrivals and drops, the average here is the same.
#[test]
fn by_ns2_s_rules_the_average_follows_it_packet_by_packet() {
    let mut red = Red::new(ns2_config(false), NS2_RATE);
    let mut server = Server::default();
    let (mut compared, mut idle_times) = (0, 0);
    for line in include_str!("ns2_averages.csv").lines().skip(1) {
        let mut fields = line.split(',');
        let now = Time::from_micros(fields.next().unwrap().parse().unwrap());
        let dropped = fields.next() == Some("1");
        let backlog = server.backlog(now);
        red.update_average(now, &backlog, u64::from(backlog.waiting_packets()));
        idle_times += u32::from(backlog.idle_since().is_some());
        if !dropped {
            server.accept(now);
        }
        if let Some(ns2) = fields.next().and_then(|field| field.parse::<f64>().ok()) {
            // ns-2 prints averages with six digits, and arrival times to the microsecond.
            assert!((red.average() - ns2).abs() < 1e-4, "{now}: {} here, {ns2} there", red.average());
            compared += 1;
        }
    }
    assert!(compared > 1000 && idle_times > 10, "{compared} averages, {idle_times} idle times");
}

/// The expected values are the mean of RED's average and the share of packets dropped in ns-2.35, with Poisson arrivals
/// over 3000 s (`red.tcl WAIT LOAD 1000 SEED` for seeds 1 to 3).
#[test]
fn averages_and_drops_under_poisson_load_are_those_of_ns2() {
    for (wait, load, ns2_average, ns2_drops) in [
        (false, 0.9, 3.246, 0.0078),
        (false, 1.05, 7.935, 0.0697),
        (false, 1.2, 11.498, 0.1705),
        (true, 0.9, 3.527, 0.0043),
        (true, 1.05, 9.601, 0.0634),
        (true, 1.2, 13.045, 0.1675),
    ] {
        let (average, drops) = poisson(wait, load);
        assert!(
            (average - ns2_average).abs() < 0.02 * ns2_average,
            "{wait} {load}: average {average}, ns-2 {ns2_average}"
        );
        let tolerance = 0.02 * ns2_drops + 0.002;
        assert!((drops - ns2_drops).abs() < tolerance, "{wait} {load}: drops {drops}, ns-2 {ns2_drops}");
    }
}

/// The mean of RED's average at arrivals, and the share of packets dropped, with Poisson arrivals over 3000 s.
fn poisson(wait: bool, load: f64) -> (f64, f64) {
    let mut red = Red::new(ns2_config(wait), NS2_RATE);
    let mut server = Server::default();
    let (mut rng, mut now) = (rng(), Time::ZERO);
    let (mut sum, mut drops, mut arrivals) = (0.0, 0, 0);
    let mean_gap_s = 8000.0 / (load * 1.5e6);
    while now < Time::from_secs(3000) {
        now += Time::from_secs_f64(-mean_gap_s * libm::log(1.0 - rng.random::<f64>()));
        let backlog = server.backlog(now);
        arrivals += 1;
        if red.on_arrival(now, backlog, 1000, Ecn::NotEct, &mut rng) == Admit::Enqueue {
            server.accept(now);
        } else {
            drops += 1;
        }
        sum += red.average();
    }
    (sum / f64::from(arrivals), f64::from(drops) / f64::from(arrivals))
}

/// The queue is empty at first, so the average starts below `min_th`, and the first arrival divides `max_p` by three.
#[test]
fn an_adaptive_max_p_changes_once_each_time_the_average_leaves_the_region() {
    let config =
        RedConfig { adaptive: true, max_p: 0.3, w_q: Some(1.0), limit: 1000, ..RedConfig::new(1000, 5.0, 15.0) };
    let mut red = red(config);
    let steps =
        [(1, 100), (2, 100), (10, 100), (20, 200), (30, 200), (10, 200), (2, 67), (20, 133), (10, 133), (40, 267)];
    for (waiting, permille) in steps {
        arrive(&mut red, busy(waiting), Ecn::NotEct, &mut rng());
        assert_eq!((red.max_p * 1000.0).round() as u32, permille, "at {waiting}");
    }
}
