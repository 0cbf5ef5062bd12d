//! Units: [`Time`] (integer nanoseconds), [`Bytes`] and [`Rate`] (bit/s), with strict parsing of values with units
//! ("50ms", "64KiB", "1.5Mbps"), conversion between units and exact serialization times. Also [`Ring`], which
//! links and connections share.
//!
//! ```
//! use cwndlab_units::{Rate, Time};
//!
//! let rate: Rate = "1.5Mbps".parse().unwrap();
//! assert_eq!(rate.serialization_time(1500), Time::from_millis(8));
//! assert!("50 parsecs".parse::<Time>().is_err());
//! ```
#![forbid(unsafe_code)]

mod parse;
mod rate;
mod ring;
mod time;

pub use parse::{conversion, parse_bytes, parse_quantity, ConversionError, ParseUnitError, Quantity};
pub use rate::{Rate, Serializer};
pub use ring::Ring;
pub use time::Time;

/// A size in bytes.
pub type Bytes = u64;

/// `base` to the power `exponent`, computed by multiplication only. The result has the same bits on every platform,
/// unlike that of [`f64::powi`].
#[must_use]
pub fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    loop {
        if exponent % 2 == 1 {
            result *= base;
        }
        exponent /= 2;
        if exponent == 0 {
            return result;
        }
        base *= base;
    }
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn powers_are_those_of_repeated_multiplication() {
        let near = |found: f64, right: f64| (found - right).abs() <= right * 1e-15;
        assert!(
            near(power(2.0, 10), 1024.0) && near(power(0.5, 31), 1.0 / 2_147_483_648.0) && near(power(3.0, 0), 1.0)
        );
        assert!(near(power(0.9, 20), (0..20).fold(1.0, |product, _| product * 0.9)));
    }
}
