//! The interface of the crate getrandom 0.4, as far as the crate rand 0.10 uses it. It returns the system's random
//! numbers, except within [`seeded`], where it returns those of a generator with the given seed.
//!
//! noq's BBR version 3 draws the time between its probes from `rand::rng()`, whose seed comes from here. Without a seed
//! of ours, no two runs would be equal.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use rand_core_09::{RngCore as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

pub use system::Error;

#[cfg(feature = "sys_rng")]
pub use rand_core;

thread_local! {
    static SEEDED: RefCell<Option<Pcg64Mcg>> = const { RefCell::new(None) };
}

/// Calls `draw`. Meanwhile, this thread's requests are answered from a generator with this seed. Not to be nested.
pub fn seeded<T>(seed: u64, draw: impl FnOnce() -> T) -> T {
    SEEDED.set(Some(Pcg64Mcg::seed_from_u64(seed)));
    let drawn = draw();
    SEEDED.set(None);
    drawn
}

/// Fills `dest` with random bytes.
///
/// # Errors
///
/// If the system has none.
pub fn fill(dest: &mut [u8]) -> Result<(), Error> {
    SEEDED.with_borrow_mut(|generator| match generator {
        Some(generator) => {
            generator.fill_bytes(dest);
            Ok(())
        }
        None => system::fill(dest),
    })
}

/// A random number.
///
/// # Errors
///
/// If the system has none.
pub fn u32() -> Result<u32, Error> {
    let mut bytes = [0; 4];
    fill(&mut bytes).map(|()| u32::from_le_bytes(bytes))
}

/// A random number.
///
/// # Errors
///
/// If the system has none.
pub fn u64() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    fill(&mut bytes).map(|()| u64::from_le_bytes(bytes))
}

/// The source of random numbers as a generator of the crate rand.
#[cfg(feature = "sys_rng")]
#[derive(Clone, Copy, Debug, Default)]
pub struct SysRng;

#[cfg(feature = "sys_rng")]
impl rand_core::TryRng for SysRng {
    type Error = Error;

    fn try_next_u32(&mut self) -> Result<u32, Error> {
        u32()
    }
    fn try_next_u64(&mut self) -> Result<u64, Error> {
        u64()
    }
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        fill(dest)
    }
}

#[cfg(feature = "sys_rng")]
impl rand_core::TryCryptoRng for SysRng {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_what_is_drawn_within_the_call_and_nothing_else_does() {
        let draws = || [u64(), u64()].map(Result::unwrap);
        assert_eq!(seeded(1, draws), seeded(1, draws));
        assert_ne!(seeded(1, draws), seeded(2, draws));
        assert_ne!(draws(), draws());
    }
}
