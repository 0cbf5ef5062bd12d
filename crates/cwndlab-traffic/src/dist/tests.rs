use std::collections::BTreeMap;

use super::{Dist, Distributions};
use crate::dist::Rng;

fn draws(d: &Dist, n: usize) -> Vec<f64> {
    let s = d.sampler(&BTreeMap::new()).unwrap();
    let mut rng = Rng::new(0x5eed);
    let mut v: Vec<f64> = (0..n).map(|_| s.draw(&mut rng)).collect();
    v.sort_by(f64::total_cmp);
    v
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

/// `tolerance` is the relative deviation allowed: about four standard errors of the draws.
fn near(got: f64, want: f64, tolerance: f64) {
    assert!((got / want - 1.0).abs() < tolerance, "got {got}, want {want}");
}

#[test]
fn uniform_and_exponential_have_their_means_and_stay_in_range() {
    let u = draws(&Dist::Uniform { low: 1.0, high: 5.0 }, 100_000);
    near(mean(&u), 3.0, 0.005);
    assert!(u[0] >= 1.0 && u[u.len() - 1] < 5.0);
    let e = draws(&Dist::Exponential { mean: 2.0 }, 100_000);
    near(mean(&e), 2.0, 0.013);
    near(e[50_000], 2.0 * std::f64::consts::LN_2, 0.02);
}

#[test]
fn bytes_are_rounded_and_at_least_one() {
    for (value, bytes) in [(2.4, 2), (2.5, 3), (2.6, 3), (0.2, 1), (0.0, 1)] {
        let sampler = Dist::Fixed { value }.sampler(&BTreeMap::new()).unwrap();
        assert_eq!(sampler.draw_bytes(&mut Rng::new(1)), bytes, "{value}");
    }
}

#[test]
fn lognormal_pareto_has_the_bodys_median_the_tails_slope_and_the_cut() {
    let d = Dist::LognormalPareto { median: 1600.0, sigma: 1.2, tail_from: 10_000.0, tail_alpha: 1.5, max: 1e6 };
    let v = draws(&d, 400_000);
    near(v[200_000], 1600.0, 0.01);
    let above = |x: f64| v.iter().filter(|s| **s > x).count() as f64;
    near(above(40_000.0) / above(10_000.0), 0.125, 0.07); // 4^-1.5
    assert!(v[v.len() - 1] <= 1e6);
}

#[test]
fn empirical_draws_only_measured_values_each_as_often_as_it_was_seen() {
    let d = Dist::Empirical { values: vec![0.0, 62.0, 83.0, 1e6], counts: vec![1, 0, 6, 3] };
    let v = draws(&d, 100_000);
    let share = |x: f64| v.iter().filter(|s| (**s - x).abs() < 0.5).count() as f64 / 1e5;
    near(share(0.0), 0.1, 0.04);
    near(1.0 + share(62.0), 1.0, 1e-9);
    near(share(83.0), 0.6, 0.012);
    near(share(1e6), 0.3, 0.02);
}

#[test]
fn a_table_finds_the_value_that_covers_each_number() {
    for counts in
        [vec![1], vec![0, 3, 0], vec![1, 0, 6, 3], vec![1000, 1, 1, 1, 1, 0, 500], vec![1; 100], vec![u64::MAX / 4; 3]]
    {
        let sums: Vec<u64> = counts
            .iter()
            .scan(0, |sum, count| {
                Some({
                    *sum += count;
                    *sum
                })
            })
            .collect();
        let table = super::Table::new(vec![0.0; counts.len()], sums.clone());
        let total = sums[sums.len() - 1];
        for number in (0..total.min(2000)).chain(sums.iter().flat_map(|sum| [sum.saturating_sub(1), *sum])) {
            if number < total {
                assert_eq!(table.position(number), sums.partition_point(|sum| *sum <= number), "{counts:?}, {number}");
            }
        }
    }
}

#[test]
fn sizes_are_at_least_one_byte() {
    let s = Dist::Fixed { value: 0.0 }.sampler(&BTreeMap::new()).unwrap();
    assert_eq!(s.draw_bytes(&mut Rng::new(1)), 1);
}

#[test]
fn named_distributions_are_shared_and_an_unknown_name_lists_the_known_ones() {
    let mut all = Distributions::default();
    all.0.insert("mah".into(), Dist::Fixed { value: 7.0 });
    let shared = all.samplers().unwrap();
    let s = Dist::Named { name: "mah".into() }.sampler(&shared).unwrap();
    assert!(s.draw_bytes(&mut Rng::new(1)) == 7);
    let e = Dist::Named { name: "mha".into() }.sampler(&shared).unwrap_err().to_string();
    assert!(e.contains("mha") && e.contains("mah"), "{e}");
}

#[test]
fn impossible_distributions_are_refused_with_what_would_be_right() {
    let none = BTreeMap::new();
    for (d, part) in [
        (Dist::Fixed { value: f64::NAN }, "finite"),
        (Dist::Uniform { low: 2.0, high: 1.0 }, "above high"),
        (Dist::Empirical { values: vec![1.0], counts: vec![] }, "1 values but 0 counts"),
        (Dist::Empirical { values: vec![1.0], counts: vec![0] }, "at least one"),
    ] {
        let e = d.sampler(&none).unwrap_err().to_string();
        assert!(e.contains(part), "{d:?}: {e}");
    }
}

#[test]
fn pareto_has_its_mean_its_slope_and_its_cut() {
    let d = Dist::Pareto { shape: 2.5, min: None, mean: Some(10.0), max: None };
    let v = draws(&d, 400_000);
    near(v[0], 6.0, 1e-4); // mean (shape - 1) / shape
    near(mean(&v), 10.0, 0.01);
    let above = |v: &[f64], x: f64| v.iter().filter(|s| **s > x).count() as f64;
    near(above(&v, 24.0) / above(&v, 12.0), libm::pow(2.0, -2.5), 0.05);
    let cut = draws(&Dist::Pareto { shape: 1.2, min: Some(1.0), mean: None, max: Some(50.0) }, 10_000);
    near(cut[cut.len() - 1], 50.0, 1e-9);
    let wrong = |shape, min, mean| {
        Dist::Pareto { shape, min, mean, max: None }.sampler(&BTreeMap::new()).unwrap_err().to_string()
    };
    assert_eq!(wrong(1.0, None, Some(2.0)), "shape is 1; with a mean it must be above 1, or give `min`");
    assert_eq!(wrong(1.5, Some(1.0), Some(2.0)), "pareto needs either `min` or `mean`");
}

#[test]
fn lognormal_has_its_median_its_mean_and_its_cut() {
    let v = draws(&Dist::Lognormal { median: 8.0, sigma: 0.5, max: None }, 100_000);
    near(v[50_000], 8.0, 0.01);
    near(mean(&v), 8.0 * libm::exp(0.125), 0.01);
    let cut = draws(&Dist::Lognormal { median: 8.0, sigma: 0.5, max: Some(9.0) }, 1000);
    near(cut[cut.len() - 1], 9.0, 1e-9);
}

#[test]
fn a_distribution_by_points_has_straight_lines_between_them() {
    let points = vec![(10.0, 0.0), (10.0, 0.5), (30.0, 0.75), (130.0, 1.0)];
    let v = draws(&Dist::Cdf { points: points.clone() }, 100_000);
    let below = |x: f64| v.iter().filter(|s| **s <= x).count() as f64 / v.len() as f64;
    for (x, share) in [(9.9, 0.0), (10.0, 0.5), (20.0, 0.625), (30.0, 0.75), (80.0, 0.875), (130.0, 1.0)] {
        assert!((below(x) - share).abs() < 0.005, "{x}: {}", below(x));
    }
    near(mean(&v), 0.5 * 10.0 + 0.25 * 20.0 + 0.25 * 80.0, 0.01);
    let first = draws(&Dist::Cdf { points: vec![(4.0, 1.0), (4.0, 1.0)] }, 10);
    assert_eq!(first, [4.0; 10]);
    let broken: [&[(f64, f64)]; 5] = [
        &[(1.0, 1.0)],
        &[(1.0, 0.0), (2.0, 0.9)],
        &[(2.0, 0.0), (1.0, 1.0)],
        &[(1.0, 0.5), (2.0, 0.4), (3.0, 1.0)],
        &[(1.0, 0.0), (2.0, 1.5), (3.0, 1.0)],
    ];
    for points in broken {
        let wrong = Dist::Cdf { points: points.to_vec() }.sampler(&BTreeMap::new()).unwrap_err().to_string();
        assert!(wrong.starts_with("points must be at least two"), "{wrong}");
    }
}
