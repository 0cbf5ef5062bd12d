//! Distributions of sizes (bytes) and times (seconds).

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_units::Time;
use rand::Rng as _;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::error::{AppError, DistError};

/// Maximum bytes of an object, transfer or request. The bytes of all objects of a page must fit in 64 bits.
pub(crate) const MAX_BYTES: u64 = 1 << 50;

/// The random stream of one purpose of one application (object sizes, think times, …).
pub type Rng = rand_pcg::Pcg64Mcg;

/// A distribution as written in a scenario. Its unit, bytes or seconds, is that of the field that holds the
/// distribution.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Dist {
    /// Always the same value.
    Fixed {
        /// the value
        value: f64,
    },
    /// Uniform on `[low, high)`.
    Uniform {
        /// lower end
        low: f64,
        /// upper end
        high: f64,
    },
    /// Exponential.
    Exponential {
        /// mean
        mean: f64,
    },
    /// Pareto: P(X > x) = (min/x)^shape for x ≥ `min`.
    Pareto {
        /// the exponent
        shape: f64,
        /// the smallest value; if `mean` is given instead, it is `mean * (shape - 1) / shape`
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<f64>,
        /// the mean that the distribution would have without `max`; requires a shape above 1
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean: Option<f64>,
        /// upper limit, which replaces larger values
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
    },
    /// Lognormal: exp of a normal variable with mean ln `median` and standard deviation `sigma`.
    Lognormal {
        /// median
        median: f64,
        /// standard deviation of ln X
        sigma: f64,
        /// upper limit, which replaces larger values
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<f64>,
    },
    /// Lognormal body with a Pareto tail: beyond `tail_from`, the remaining probability of the lognormal is distributed
    /// as P(X > x) = P(X > `tail_from`) (`tail_from`/x)^`tail_alpha` (Barford & Crovella 1998), up to `max`.
    LognormalPareto {
        /// median of the body
        median: f64,
        /// standard deviation of ln X in the body
        sigma: f64,
        /// where the tail begins
        tail_from: f64,
        /// the tail's exponent
        tail_alpha: f64,
        /// the largest value
        max: f64,
    },
    /// Measured values with counts. Value k is drawn with probability counts\[k\] / sum(counts); values in between are
    /// never drawn.
    Empirical {
        /// the values, in ascending order
        values: Vec<f64>,
        /// how often each value was observed
        counts: Vec<u64>,
    },
    /// A distribution function given by points, with straight lines between them, as flow sizes are published.
    Cdf {
        /// value and share of all values up to it, in ascending order; the last share is 1
        points: Vec<(f64, f64)>,
    },
    /// One of the scenario's shared [`Distributions`], by name.
    Named {
        /// key in [`Distributions`]
        name: String,
    },
}

/// Distributions that the applications of a scenario share by name, so that a measured table is stored once.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Distributions(pub BTreeMap<String, Dist>);

impl Distributions {
    /// Checks each distribution and prepares it for drawing, once for all applications.
    ///
    /// # Errors
    ///
    /// If a distribution is invalid; the error names it.
    pub fn samplers(&self) -> Result<BTreeMap<String, Sampler>, DistError> {
        let none = BTreeMap::new();
        let wrong = |name: &String, error| DistError::Shared { name: name.clone(), error: Box::new(error) };
        self.0
            .iter()
            .map(|(name, d)| Ok((name.clone(), d.sampler(&none).map_err(|error| wrong(name, error))?)))
            .collect()
    }
}

/// A distribution prepared for drawing. Clones share an empirical table.
#[derive(Clone, Debug)]
pub struct Sampler(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Fixed(f64),
    Uniform(f64, f64),
    Exponential(f64),
    Pareto { min: f64, shape: f64, max: f64 },
    Lognormal { mu: f64, sigma: f64, max: f64 },
    LognormalPareto { mu: f64, sigma: f64, tail_from: f64, tail_alpha: f64, max: f64 },
    Empirical(Arc<Table>),
    Cdf(Arc<[(f64, f64)]>),
}

#[derive(Debug)]
struct Table {
    values: Vec<f64>,
    /// Running sums of the counts: value k is drawn for numbers in `cumulative[k-1]..cumulative[k]`.
    cumulative: Vec<u64>,
    /// An index that narrows the binary search in [`Table::position`]. Numbers that are equal when shifted right by
    /// `part_bits` form a part; there are at most twice as many parts as values. The list has an entry for each part:
    /// the index of the value that is drawn for the part's lowest number. One more entry at the end is the index of the
    /// last value.
    firsts: Vec<u32>,
    part_bits: u32,
}

impl Table {
    /// `cumulative` must not be empty, nor end with 0.
    fn new(values: Vec<f64>, cumulative: Vec<u64>) -> Table {
        let last = cumulative.len() - 1;
        let highest = cumulative[last] - 1;
        let part_bits = (0..u64::BITS).find(|bits| highest >> bits < 2 * last as u64 + 1).unwrap_or(0);
        let mut first = 0;
        let part = |part: u64| {
            while cumulative[first] <= part << part_bits {
                first += 1;
            }
            first as u32
        };
        let firsts = (0..=highest >> part_bits).map(part).chain([last as u32]).collect();
        Table { values, cumulative, firsts, part_bits }
    }

    /// The index of the value that is drawn for `number`, which must be below the sum of all counts.
    fn position(&self, number: u64) -> usize {
        let part = (number >> self.part_bits) as usize;
        let (first, last) = (self.firsts[part] as usize, self.firsts[part + 1] as usize);
        first + self.cumulative[first..last].partition_point(|sum| *sum <= number)
    }
}

impl Dist {
    /// Prepares the distribution for drawing, with errors that name the field of the application.
    pub(crate) fn of_field(
        &self,
        field: &'static str,
        shared: &BTreeMap<String, Sampler>,
    ) -> Result<Sampler, AppError> {
        self.sampler(shared).map_err(|error| AppError::Field { field, error })
    }

    /// Checks the distribution and prepares it for drawing. The name of a [`Dist::Named`] is looked up in `shared`.
    ///
    /// # Errors
    /// If the distribution is invalid; the error says what would be right.
    pub fn sampler(&self, shared: &BTreeMap<String, Sampler>) -> Result<Sampler, DistError> {
        let finite = |name: &'static str, value: f64| {
            if value.is_finite() && value >= 0.0 {
                Ok(value)
            } else {
                Err(DistError::Negative { name, value })
            }
        };
        let positive = |name: &'static str, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(value)
            } else {
                Err(DistError::NotPositive { name, value })
            }
        };
        let cut = |max: Option<f64>| max.map_or(Ok(f64::INFINITY), |max| positive("max", max));
        Ok(Sampler(match self {
            Dist::Fixed { value } => Kind::Fixed(finite("value", *value)?),
            Dist::Uniform { low, high } => {
                if finite("low", *low)? > finite("high", *high)? {
                    return Err(DistError::Order { low: *low, high: *high });
                }
                Kind::Uniform(*low, *high)
            }
            Dist::Exponential { mean } => Kind::Exponential(finite("mean", *mean)?),
            Dist::Pareto { shape, min, mean, max } => {
                let shape = positive("shape", *shape)?;
                let min = match (min, mean) {
                    (Some(min), None) => positive("min", *min)?,
                    (None, Some(mean)) if shape > 1.0 => positive("mean", *mean)? * (shape - 1.0) / shape,
                    (None, Some(_)) => return Err(DistError::NoMean(shape)),
                    _ => return Err(DistError::MinOrMean),
                };
                Kind::Pareto { min, shape, max: cut(*max)? }
            }
            Dist::Lognormal { median, sigma, max } => Kind::Lognormal {
                mu: libm::log(positive("median", *median)?),
                sigma: finite("sigma", *sigma)?,
                max: cut(*max)?,
            },
            Dist::LognormalPareto { median, sigma, tail_from, tail_alpha, max } => Kind::LognormalPareto {
                mu: libm::log(positive("median", *median)?),
                sigma: finite("sigma", *sigma)?,
                tail_from: positive("tail_from", *tail_from)?,
                tail_alpha: positive("tail_alpha", *tail_alpha)?,
                max: positive("max", *max)?,
            },
            Dist::Empirical { values, counts } => {
                values.iter().try_for_each(|value| finite("value", *value).map(drop))?;
                empirical(values, counts)?
            }
            Dist::Cdf { points } => by_points(points)?,
            Dist::Named { name } => {
                let known = || shared.keys().cloned().collect();
                let unknown = || DistError::Unknown { name: name.clone(), known: known() };
                return shared.get(name).cloned().ok_or_else(unknown);
            }
        }))
    }
}

/// The distribution function with these points.
fn by_points(points: &[(f64, f64)]) -> Result<Kind, DistError> {
    let fits = |point: &(f64, f64)| point.0.is_finite() && point.0 >= 0.0 && point.1 >= 0.0;
    let rises = points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
    let ends = points.last().is_some_and(|point| point.1.to_bits() == 1f64.to_bits());
    if points.len() >= 2 && points.iter().all(fits) && rises && ends {
        Ok(Kind::Cdf(points.into()))
    } else {
        Err(DistError::Points)
    }
}

/// The values with these counts.
fn empirical(values: &[f64], counts: &[u64]) -> Result<Kind, DistError> {
    if values.len() != counts.len() {
        return Err(DistError::Lengths { values: values.len(), counts: counts.len() });
    }
    let mut sum = 0u64;
    let mut cumulative = Vec::with_capacity(counts.len());
    for c in counts {
        sum = sum.checked_add(*c).ok_or(DistError::TooManyCounts)?;
        cumulative.push(sum);
    }
    if sum == 0 {
        return Err(DistError::NoCounts);
    }
    Ok(Kind::Empirical(Arc::new(Table::new(values.to_vec(), cumulative))))
}

impl Sampler {
    /// Draws one value.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match &self.0 {
            Kind::Fixed(v) => *v,
            Kind::Uniform(low, high) => low + (high - low) * rng.random::<f64>(),
            Kind::Exponential(mean) => Sampler::exponential(*mean, rng),
            Kind::Pareto { min, shape, max } => (min * libm::pow(1.0 - rng.random::<f64>(), -1.0 / shape)).min(*max),
            Kind::Lognormal { mu, sigma, max } => {
                let z: f64 = StandardNormal.sample(rng);
                libm::exp(mu + sigma * z).min(*max)
            }
            Kind::LognormalPareto { mu, sigma, tail_from, tail_alpha, max } => {
                let z: f64 = StandardNormal.sample(rng);
                let u = 1.0 - rng.random::<f64>(); // drawn even if unused, so that later draws do not shift
                let body = libm::exp(mu + sigma * z);
                let x = if body > *tail_from { tail_from * libm::pow(u, -1.0 / tail_alpha) } else { body };
                x.min(*max)
            }
            Kind::Empirical(t) => {
                let total = t.cumulative[t.cumulative.len() - 1];
                let r = rng.random_range(0..total);
                t.values[t.position(r)]
            }
            Kind::Cdf(points) => Sampler::value_of_share(points, rng.random::<f64>()),
        }
    }
    /// The value up to which this share lies; the first value below the first share.
    fn value_of_share(points: &[(f64, f64)], share: f64) -> f64 {
        let above = points.partition_point(|point| point.1 <= share).min(points.len() - 1);
        if above == 0 {
            return points[0].0;
        }
        let (low, high) = (points[above - 1], points[above]);
        low.0 + (high.0 - low.0) * ((share - low.1) / (high.1 - low.1)).min(1.0)
    }
    /// Draws one value of an exponential distribution.
    pub(crate) fn exponential(mean: f64, rng: &mut Rng) -> f64 {
        // 1 - U is in (0, 1], so the logarithm is finite.
        -mean * libm::log(1.0 - rng.random::<f64>())
    }
    /// Draws a size in bytes, at least 1 (an empty object would send nothing, so its end could not be observed) and at
    /// most 2^50.
    pub fn draw_bytes(&self, rng: &mut Rng) -> u64 {
        (self.draw(rng).round() as u64).clamp(1, MAX_BYTES)
    }
    /// Draws a time; the distribution's unit is seconds.
    pub fn draw_time(&self, rng: &mut Rng) -> Time {
        Time::from_secs_f64(self.draw(rng))
    }
}

#[cfg(test)]
mod tests;
