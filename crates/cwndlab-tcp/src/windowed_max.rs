//! The largest value in a window, from three samples (Linux: `lib/win_minmax.c`, after Kathleen Nichols).

/// The best, second and third choice, each measured no earlier than the one before. Times may be in any unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax([Sample; 3]);

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: u32,
    value: u32,
}

impl WindowedMax {
    pub fn get(&self) -> u32 {
        self.0[0].value
    }

    /// `minmax_running_max`
    pub fn update(&mut self, window: u32, at: u32, value: u32) {
        let new = Sample { at, value };
        let [first, second, third] = &mut self.0;
        if value >= first.value || at.wrapping_sub(third.at) > window {
            self.0 = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.age(window, new);
    }

    /// `minmax_subwin_update`: replaces choices that have left the window, and spreads the others over the window.
    fn age(&mut self, window: u32, new: Sample) {
        let [first, second, third] = self.0;
        let age = new.at.wrapping_sub(first.at);
        if age > window {
            self.0 = [second, third, new];
            if new.at.wrapping_sub(second.at) > window {
                self.0 = [third, new, new];
            }
        } else if second.at == first.at && age > window / 4 {
            self.0 = [first, new, new];
        } else if third.at == second.at && age > window / 2 {
            self.0 = [first, second, new];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The result is at least the latest value and at most the largest value in the window.
        #[test]
        fn it_stays_between_the_last_quarter_and_the_window(
            steps in proptest::collection::vec((0_u32..3, 1_u32..1000), 1..200)
        ) {
            const WINDOW: u32 = 10;
            let (mut max, mut at, mut seen) = (WindowedMax::default(), 0, Vec::new());
            for (after, value) in steps {
                at += after;
                seen.push((at, value));
                max.update(WINDOW, at, value);
                let most = |age: u32| seen.iter().filter(|(when, _)| at - when <= age).map(|(_, v)| *v).max().unwrap();
                prop_assert!(max.get() <= most(WINDOW), "{} of {seen:?}", max.get());
                prop_assert!(max.get() >= value);
            }
        }
    }

    #[test]
    fn a_larger_value_replaces_all_and_an_old_one_leaves() {
        let mut max = WindowedMax::default();
        for (at, value, expected) in
            [(0, 50, 50), (1, 80, 80), (4, 60, 80), (7, 40, 80), (11, 30, 80), (12, 30, 60), (15, 30, 40)]
        {
            max.update(10, at, value);
            assert_eq!(max.get(), expected, "at {at}");
        }
    }
}
