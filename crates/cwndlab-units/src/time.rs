//! Simulated time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// An instant, measured from the start of the run, or a span between two instants, in integer nanoseconds.
///
/// There is one type for both, as in the RFCs' arithmetic. 2^64 ns is 584 years; [`Time::MAX`] means "never". Adding to
/// `MAX` returns `MAX`. Subtracting a later time from an earlier one panics in every build, because it is always a bug.
/// If the order is not known, use [`Time::saturating_sub`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The start of the run, or an empty span.
    pub const ZERO: Time = Time(0);
    /// Never: later than every instant.
    pub const MAX: Time = Time(u64::MAX);

    /// From integer nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }
    /// From integer microseconds; values that are too large become [`Time::MAX`].
    #[inline]
    pub const fn from_micros(us: u64) -> Time {
        Time(us.saturating_mul(1_000))
    }
    /// From integer milliseconds; values that are too large become [`Time::MAX`].
    #[inline]
    pub const fn from_millis(ms: u64) -> Time {
        Time(ms.saturating_mul(1_000_000))
    }
    /// From integer seconds; values that are too large become [`Time::MAX`].
    #[inline]
    pub const fn from_secs(s: u64) -> Time {
        Time(s.saturating_mul(1_000_000_000))
    }
    /// From seconds, rounded to the nearest nanosecond. Negative values and NaN become zero; values that are too large
    /// become [`Time::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Time {
        Time(rounded(s * 1e9))
    }
    /// Integer nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// `self + span`, for times and spans that are far from [`Time::MAX`]; `+` takes two instructions more.
    #[inline]
    #[must_use]
    pub const fn plus(self, span: Time) -> Time {
        debug_assert!(self.0 < u64::MAX / 2 && span.0 < u64::MAX / 2);
        Time(self.0.wrapping_add(span.0))
    }
    /// `self - earlier`, or zero if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
    /// The later of the two.
    #[inline]
    #[must_use]
    pub fn max(self, other: Time) -> Time {
        Time(self.0.max(other.0))
    }
    /// The earlier of the two.
    #[inline]
    #[must_use]
    pub fn min(self, other: Time) -> Time {
        Time(self.0.min(other.0))
    }
    /// This time multiplied by `factor`, rounded to the nearest nanosecond.
    #[inline]
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Time {
        Time(rounded(self.0 as f64 * factor))
    }
    /// Whether this is [`Time::MAX`].
    #[inline]
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }
}

/// Rounds to the nearest integer, halves up. Negative values and NaN become 0. For all values that a [`Time`] can hold,
/// the result equals that of `f64::round`, which is not used because it would call the C library.
#[inline]
fn rounded(x: f64) -> u64 {
    if (0.0..9e18).contains(&x) {
        let whole = x as i64; // one instruction, unlike the conversion to u64
        return (whole + i64::from(x - whole as f64 >= 0.5)) as u64;
    }
    let whole = x as u64; // saturates at both ends
    whole.saturating_add(u64::from(x - whole as f64 >= 0.5)) // the difference is exact
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Time) {
        *self = *self + span;
    }
}
impl Sub for Time {
    type Output = Time;
    #[inline]
    #[track_caller]
    fn sub(self, earlier: Time) -> Time {
        match self.0.checked_sub(earlier.0) {
            Some(span) => Time(span),
            None => negative(self, earlier),
        }
    }
}

/// Panics when a difference is negative. The function is not inlined, so that the check in `sub` costs one comparison
/// and a branch that is never taken.
#[cold]
#[inline(never)]
#[track_caller]
fn negative(time: Time, subtracted: Time) -> ! {
    panic!("{time} - {subtracted} is negative")
}

impl SubAssign for Time {
    #[inline]
    #[track_caller]
    fn sub_assign(&mut self, span: Time) {
        *self = *self - span;
    }
}
impl Mul<u64> for Time {
    type Output = Time;
    #[inline]
    fn mul(self, k: u64) -> Time {
        Time(self.0.saturating_mul(k))
    }
}
impl Sum for Time {
    fn sum<I: Iterator<Item = Time>>(spans: I) -> Time {
        spans.fold(Time::ZERO, Add::add)
    }
}
impl fmt::Display for Time {
    /// Seconds with nine decimals, as packet analyzers print them; "never" for [`Time::MAX`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            return f.write_str("never");
        }
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test also runs under `cargo test --release`: a release build must not continue with a negative time, which
    /// would wrap to 584 years.
    #[test]
    #[should_panic(expected = "1.000000000 s - 2.000000000 s is negative")]
    fn a_negative_span_panics_in_every_build() {
        let _ = Time::from_secs(1) - Time::from_secs(2);
    }

    #[test]
    fn numbers_round_as_the_c_library_does() {
        let edges =
            [0.0, 0.5, 0.499_999_999_999_999_94, 1.5, 2.5, -0.5, -3.0, 4_503_599_627_370_495.5, 9e15, 1e19, 1e30];
        let spread =
            (0..10_000).map(|k| f64::from(k) * 0.1).chain((0..10_000).map(|k| crate::power(1.7, k % 80) + 0.25));
        for x in edges.into_iter().chain([f64::INFINITY, f64::NAN, f64::MAX, f64::MIN]).chain(spread) {
            assert_eq!(rounded(x), x.round() as u64, "{x}");
        }
    }

    #[test]
    fn seconds_milliseconds_and_microseconds_are_nanoseconds() {
        let all = [Time::from_secs(3), Time::from_millis(3), Time::from_micros(3), Time::from_nanos(3)];
        assert_eq!(all.map(Time::as_nanos), [3_000_000_000, 3_000_000, 3000, 3]);
        let seconds = [3.0, 0.003, 0.000_003, 0.000_000_003];
        assert_eq!(all.map(|time| time.as_secs_f64().to_bits()), seconds.map(f64::to_bits));
        assert_eq!(Time::from_secs_f64(1.5), Time::from_millis(1500));
        assert_eq!(Time::from_secs_f64(-1.0), Time::ZERO);
    }

    #[test]
    fn never_stays_never_and_is_printed_so() {
        let (one, never) = (Time::from_secs(1), Time::MAX);
        assert_eq!([never + one, never * 2, Time::from_secs(u64::MAX)], [never; 3]);
        assert_eq!([never.is_never(), one.is_never()], [true, false]);
        assert_eq!([format!("{never}"), format!("{:?}", Time::from_micros(1_000_050))], ["never", "1.000050000 s"]);
    }

    #[test]
    fn spans_are_added_subtracted_and_multiplied() {
        let (two, five) = (Time::from_secs(2), Time::from_secs(5));
        let mut sum = two;
        sum += five;
        sum -= Time::from_secs(1);
        assert_eq!([sum, two.plus(five), two * 3, five - two], [6, 7, 6, 3].map(Time::from_secs));
        assert_eq!([two.max(five), two.min(five), five.saturating_sub(two)], [5, 2, 3].map(Time::from_secs));
        assert_eq!([two.saturating_sub(five), [].into_iter().sum()], [Time::ZERO; 2]);
        assert_eq!([two, five].into_iter().sum::<Time>(), Time::from_secs(7));
        assert_eq!(Time::from_nanos(3).mul_f64(0.5), Time::from_nanos(2), "halves up");
    }
}
