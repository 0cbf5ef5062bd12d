//! Strict parsing: a number and its unit, nothing else.

use std::str::FromStr;

use thiserror::Error;

use crate::{Bytes, Rate, Time};

/// Why a quantity was not understood; the message says what would be right.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[error("{text:?} is not a {what}: {why}; write a number and one of {units}, like {example:?}")]
pub struct ParseUnitError {
    text: String,
    what: &'static str,
    why: &'static str,
    units: &'static str,
    example: &'static str,
}

struct Kind {
    what: &'static str,
    units: &'static str,
    example: &'static str,
    table: &'static [(&'static str, u64)],
}

const TIME: Kind = Kind {
    what: "time",
    units: "ns us ms s min h",
    example: "50ms",
    table: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};
const RATE: Kind = Kind {
    what: "rate",
    units: "bps kbps Mbps Gbps",
    example: "1.5Mbps",
    table: &[("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000)],
};
const BYTES: Kind = Kind {
    what: "size",
    units: "B kB KiB MB MiB GB GiB",
    example: "64KiB",
    table: &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
};

/// Exact decimal arithmetic: "1.544" x 10^6 is 1 544 000, with no float in between.
fn parse(text: &str, kind: &Kind) -> Result<u64, ParseUnitError> {
    let fail =
        |why| ParseUnitError { text: text.to_owned(), what: kind.what, why, units: kind.units, example: kind.example };
    let trimmed = text.trim();
    let split =
        trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    if number.starts_with(['-', '+']) {
        return Err(fail("it must not carry a sign"));
    }
    if unit.is_empty() {
        return Err(fail("it has no unit"));
    }
    let scale = kind
        .table
        .iter()
        .find_map(|&(name, scale)| (name == unit).then_some(scale))
        .ok_or_else(|| fail("its unit is unknown"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty())
        || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
        || fraction.len() > 15
    {
        return Err(fail("its number is not a plain decimal"));
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| fail("it is too large"))?;
    let product = digits.checked_mul(u128::from(scale)).ok_or_else(|| fail("it is too large"))?;
    let unit_of_last_digit = 10_u128.pow(fraction.len() as u32);
    let value = (product + unit_of_last_digit / 2) / unit_of_last_digit;
    u64::try_from(value).ok().filter(|&v| v < u64::MAX).ok_or_else(|| fail("it is too large"))
}

impl FromStr for Time {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Time, ParseUnitError> {
        parse(text, &TIME).map(Time::from_nanos)
    }
}
impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Rate, ParseUnitError> {
        parse(text, &RATE).map(Rate::from_bps)
    }
}

/// Bytes from "1460B", "64KiB", "20MB".
///
/// # Errors
/// If the text is not a plain decimal with one of the units.
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseUnitError> {
    parse(text, &BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serializer;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_read_as_people_write_them() {
        assert_eq!("50ms".parse(), Ok(Time::from_millis(50)));
        assert_eq!("0.08 ms".parse(), Ok(Time::from_micros(80)));
        assert_eq!("1.544Mbps".parse(), Ok(Rate::from_bps(1_544_000)));
        assert_eq!("9600bps".parse(), Ok(Rate::from_bps(9600)));
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("1.5kB"), Ok(1500));
    }

    #[test]
    fn a_refusal_says_what_would_be_right() {
        for (text, why) in [
            ("50", "it has no unit"),
            ("-5ms", "it must not carry a sign"),
            ("50 parsec", "its unit is unknown"),
            ("5e3ms", "its unit is unknown"),
            ("1.2.3s", "its number is not a plain decimal"),
            ("ms", "its number is not a plain decimal"),
            ("99999999999999h", "it is too large"),
        ] {
            let error = text.parse::<Time>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("50ms"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn the_reciprocal_gives_the_exact_serialization_time(bytes in 0_u32..65_536, bps in 1_000_u64..400_000_000_000) {
            let rate = Rate::from_bps(bps);
            let (exact, fast) = (rate.serialization_time(bytes).as_nanos(), Serializer::new(rate).time(bytes).as_nanos());
            // a half nanosecond may round either way
            let twice = u128::from(bytes) * 16_000_000_000;
            let tie_distance = (twice + u128::from(bps)) % (2 * u128::from(bps));
            let near_tie = tie_distance <= u128::from(bps) / 1000 || tie_distance + u128::from(bps) / 1000 >= 2 * u128::from(bps);
            prop_assert!(exact == fast || (near_tie && exact.abs_diff(fast) <= 1), "{exact} {fast}");
        }

        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = (text.parse::<Time>(), text.parse::<Rate>(), parse_bytes(&text));
        }
    }
}
