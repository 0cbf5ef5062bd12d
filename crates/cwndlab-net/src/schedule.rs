//! Values that change at times known in advance.

use cwndlab_units::Time;
use thiserror::Error;

/// Why times and values are not a valid schedule. The message says what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ScheduleError {
    /// The numbers of times and values differ.
    #[error("{times} times but {values} values")]
    Lengths {
        /// Number of times.
        times: usize,
        /// Number of values.
        values: usize,
    },
    /// There is no value for time 0.
    #[error("the first value must be for time 0")]
    Start,
    /// A time is not later than the previous one.
    #[error("the times must rise")]
    Order,
    /// The schedule repeats before its last time.
    #[error("repeat must be later than the last time")]
    Repeat,
}

/// Checks that the times and values form a valid schedule.
pub(crate) fn check(at: &[Time], values: usize, repeat: Option<Time>) -> Result<(), ScheduleError> {
    if at.len() != values {
        return Err(ScheduleError::Lengths { times: at.len(), values });
    }
    if at.first() != Some(&Time::ZERO) {
        return Err(ScheduleError::Start);
    }
    if at.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(ScheduleError::Order);
    }
    if repeat.is_some_and(|period| at.last().is_some_and(|&last| period <= last)) {
        return Err(ScheduleError::Repeat);
    }
    Ok(())
}

/// A piecewise constant function of time. If it repeats, one period is called a round. Query it in non-decreasing order
/// of time.
#[derive(Clone, Debug)]
pub(crate) struct Schedule<T> {
    at: Vec<Time>,
    values: Vec<T>,
    repeat: Option<Time>,
    index: usize,
    /// Start of the current round.
    base: Time,
}

impl<T: Copy> Schedule<T> {
    /// Creates a schedule from times and values that have passed [`check`].
    pub(crate) fn new(at: &[Time], values: &[T], repeat: Option<Time>) -> Schedule<T> {
        Schedule { at: at.to_vec(), values: values.to_vec(), repeat, index: 0, base: Time::ZERO }
    }

    /// Length of a round, if the schedule repeats.
    pub(crate) fn period(&self) -> Option<Time> {
        self.repeat
    }

    /// The values of one round, each with its duration. Complete only if the schedule repeats: otherwise the last value
    /// never ends, and is left out.
    pub(crate) fn round(&self) -> impl Iterator<Item = (T, Time)> + '_ {
        let ends = self.at.iter().skip(1).copied().chain(self.repeat);
        self.values.iter().zip(&self.at).zip(ends).map(|((&value, &at), end)| (value, end - at))
    }

    /// The value at `now`, and the time until which it holds.
    pub(crate) fn at(&mut self, now: Time) -> (T, Time) {
        if let Some(period) = self.repeat {
            let rounds = (now - self.base).as_nanos() / period.as_nanos();
            if rounds > 0 {
                self.base += period * rounds;
                self.index = 0;
            }
        }
        while self.until() <= now {
            self.index += 1;
        }
        (self.values[self.index], self.until())
    }

    fn until(&self) -> Time {
        match (self.at.get(self.index + 1), self.repeat) {
            (Some(&next), _) => self.base + next,
            (None, Some(period)) => self.base + period,
            (None, None) => Time::MAX,
        }
    }
}
