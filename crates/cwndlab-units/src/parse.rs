//! Strict parsing: a number and its unit, nothing else.

use std::str::FromStr;

use thiserror::Error;

use crate::{Bytes, Rate, Time};

/// Why a quantity could not be parsed. The message says what would be right.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[error("{text:?} is not a {what}: {why}; write a number and one of {units}, like {example:?}")]
pub struct ParseUnitError {
    text: String,
    what: &'static str,
    why: &'static str,
    units: String,
    example: &'static str,
}

/// A kind of quantity, with its units and their sizes in the base unit. The constants of this type are the only
/// definition of units.
struct Kind {
    what: &'static str,
    example: &'static str,
    table: &'static [(&'static str, u64)],
}

const TIME: Kind = Kind {
    what: "time",
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
    example: "1.5Mbps",
    table: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("B/s", 8),
        ("kB/s", 8_000),
        ("MB/s", 8_000_000),
        ("GB/s", 8_000_000_000),
    ],
};
const SIZE: Kind = Kind {
    what: "size",
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
const PACKETS: Kind = Kind {
    what: "packet count",
    example: "25pkt",
    table: &[("pkt", 1), ("pkts", 1), ("packet", 1), ("packets", 1), ("segment", 1), ("segments", 1)],
};
/// Shares in per cent. The unit "1" denotes a ratio (0.02 for 2%). [`conversion`] supports it; [`parse_quantity`]
/// rejects it.
const SHARE: Kind = Kind { what: "share", example: "2%", table: &[("%", 1), ("1", 100)] };
const BDP: Kind = Kind { what: "multiple of the bandwidth-delay product", example: "1BDP", table: &[("BDP", 1)] };

const KINDS: [&Kind; 6] = [&TIME, &RATE, &SIZE, &PACKETS, &SHARE, &BDP];

impl Kind {
    fn scale(&self, unit: &str) -> Option<u64> {
        self.table.iter().find_map(|&(name, scale)| (name == unit).then_some(scale))
    }

    fn error(&self, text: &str, why: &'static str) -> ParseUnitError {
        let (what, units, example) = (self.what, self.units(), self.example);
        ParseUnitError { text: text.to_owned(), what, why, units, example }
    }

    fn units(&self) -> String {
        self.table.iter().map(|&(name, _)| name).filter(|&name| name != "1").collect::<Vec<_>>().join(" ")
    }
}

/// A parsed quantity of any kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// A time, such as "50ms".
    Time(Time),
    /// A rate, such as "1.5Mbps".
    Rate(Rate),
    /// A size, such as "64KiB".
    Size(Bytes),
    /// A number of packets, such as "25pkt".
    Packets(u64),
    /// A share as a ratio: 0.02 for "2%".
    Share(f64),
    /// A multiple of a link's bandwidth-delay product, such as "1.5BDP".
    Bdp(f64),
}

/// Splits "1.5 Mbps" into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// Splits a quantity into the digits before the decimal point, the digits after the point, and the size of the unit.
/// Rejects signs and exponents.
fn digits<'a>(text: &'a str, kind: &Kind) -> Result<(&'a str, &'a str, u64), ParseUnitError> {
    let fail = |why| kind.error(text, why);
    let (number, unit) = split(text);
    if number.starts_with(['-', '+']) {
        return Err(fail("it must not carry a sign"));
    }
    if unit.is_empty() {
        return Err(fail("it has no unit"));
    }
    let scale = kind.scale(unit).ok_or_else(|| fail("its unit is unknown"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty())
        || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
        || fraction.len() > 15
    {
        return Err(fail("its number is not a plain decimal"));
    }
    Ok((whole, fraction, scale))
}

/// Parses a quantity into its base unit, with exact decimal arithmetic: "1.544Mbps" is 1 544 000 bit/s, without a
/// floating-point number in between.
fn parse(text: &str, kind: &Kind) -> Result<u64, ParseUnitError> {
    let too_large = || kind.error(text, "it is too large");
    let (whole, fraction, scale) = digits(text, kind)?;
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
    let product = digits.checked_mul(u128::from(scale)).ok_or_else(too_large)?;
    let unit_of_last_digit = 10_u128.pow(fraction.len() as u32);
    let value = (product + unit_of_last_digit / 2) / unit_of_last_digit;
    u64::try_from(value).ok().filter(|&v| v < u64::MAX).ok_or_else(too_large)
}

/// Parses a quantity and returns its number, not multiplied by the size of its unit.
fn parse_real(text: &str, kind: &Kind) -> Result<f64, ParseUnitError> {
    let (whole, fraction, _) = digits(text, kind)?;
    let value: f64 = format!("{whole}.{fraction}").parse().expect("the digits are a plain decimal");
    if value > 1e6 {
        return Err(kind.error(text, "it is too large"));
    }
    Ok(value)
}

/// Parses a quantity. Its unit determines the kind.
///
/// # Errors
/// If the text is not a plain decimal with one of the units.
pub fn parse_quantity(text: &str) -> Result<Quantity, ParseUnitError> {
    let unit = split(text).1;
    let Some(kind) = KINDS.into_iter().find(|kind| unit != "1" && kind.scale(unit).is_some()) else {
        let why = if unit.is_empty() { "it has no unit" } else { "its unit is unknown" };
        let units = KINDS.map(Kind::units).join(" ");
        return Err(ParseUnitError { text: text.to_owned(), what: "quantity", why, units, example: "50ms" });
    };
    Ok(match kind.what {
        what if what == TIME.what => Quantity::Time(text.parse()?),
        what if what == RATE.what => Quantity::Rate(text.parse()?),
        what if what == SIZE.what => Quantity::Size(parse_bytes(text)?),
        what if what == SHARE.what => Quantity::Share(parse_real(text, kind)? / 100.0),
        what if what == BDP.what => Quantity::Bdp(parse_real(text, kind)?),
        _ if digits(text, kind)?.1.is_empty() => Quantity::Packets(parse(text, kind)?),
        _ => return Err(kind.error(text, "it must be a whole number")),
    })
}

/// Why values in one unit cannot be converted to another unit.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
pub enum ConversionError {
    /// The units measure different kinds of quantity.
    #[error("{wanted:?} is not a unit of a {what}; write one of {units}")]
    OtherKind {
        /// The requested unit.
        wanted: String,
        /// The kind of the values.
        what: &'static str,
        /// The units of this kind.
        units: String,
    },
    /// The values have a unit for which there are no conversions.
    #[error("values in {from:?} are not converted to {wanted:?}; write {from:?} or no unit")]
    NoKind {
        /// The values' unit.
        from: String,
        /// The requested unit.
        wanted: String,
    },
}

/// The factor that converts a number in the unit `from` to the unit `wanted`.
///
/// # Errors
///
/// If the units differ, and `from` is unknown or `wanted` is not a unit of the same kind.
pub fn conversion(from: &str, wanted: &str) -> Result<f64, ConversionError> {
    if from == wanted {
        return Ok(1.0);
    }
    let Some((kind, size)) = KINDS.into_iter().find_map(|kind| Some((kind, kind.scale(from)?))) else {
        return Err(ConversionError::NoKind { from: from.to_owned(), wanted: wanted.to_owned() });
    };
    let other = || ConversionError::OtherKind { wanted: wanted.to_owned(), what: kind.what, units: kind.units() };
    Ok(size as f64 / kind.scale(wanted).ok_or_else(other)? as f64)
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

/// Parses a size in bytes, such as "1460B", "64KiB" or "20MB".
///
/// # Errors
/// If the text is not a plain decimal with one of the units.
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseUnitError> {
    parse(text, &SIZE)
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
    fn a_rate_has_the_same_units_however_it_is_used() {
        for text in ["1.5Mbps", "1.5 Mbit/s", "1.5 Mb/s", "1500kbit/s", "187.5kB/s"] {
            assert_eq!(text.parse(), Ok(Rate::from_bps(1_500_000)), "{text}");
        }
    }

    #[test]
    fn a_quantity_is_of_the_kind_that_its_unit_names() {
        for (text, quantity) in [
            ("6s", Quantity::Time(Time::from_secs(6))),
            ("2Mbit/s", Quantity::Rate(Rate::from_bps(2_000_000))),
            ("64KiB", Quantity::Size(65_536)),
            ("25 pkt", Quantity::Packets(25)),
            ("2.5%", Quantity::Share(0.025)),
            ("0.5BDP", Quantity::Bdp(0.5)),
        ] {
            assert_eq!(parse_quantity(text), Ok(quantity), "{text}");
        }
        for (text, why) in [
            ("2.5pkt", "it must be a whole number"),
            ("3 parsec", "its unit is unknown"),
            ("0.02 1", "its unit is unknown"),
            ("3", "it has no unit"),
            ("-1%", "it must not carry a sign"),
            ("9999999BDP", "it is too large"),
        ] {
            let error = parse_quantity(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_are_converted_within_their_kind_only() {
        for (from, wanted, factor) in [
            ("s", "ms", 1e3),
            ("1", "%", 1e2),
            ("bit/s", "Mbps", 1e-6),
            ("B", "MB", 1e-6),
            ("segments", "packets", 1.0),
        ] {
            assert_eq!(conversion(from, wanted), Ok(factor), "{from} to {wanted}");
        }
        assert_eq!(conversion("transactions", "transactions"), Ok(1.0));
        let error = conversion("s", "Mbit/s").unwrap_err().to_string();
        assert_eq!(error, r#""Mbit/s" is not a unit of a time; write one of ns us ms s min h"#);
        let error = conversion("timeouts", "%").unwrap_err().to_string();
        assert_eq!(error, r#"values in "timeouts" are not converted to "%"; write "timeouts" or no unit"#);
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
            // A time close to halfway between two nanoseconds may be rounded either way.
            let twice = u128::from(bytes) * 16_000_000_000;
            let tie_distance = (twice + u128::from(bps)) % (2 * u128::from(bps));
            let near_tie = tie_distance <= u128::from(bps) / 1000 || tie_distance + u128::from(bps) / 1000 >= 2 * u128::from(bps);
            prop_assert!(exact == fast || (near_tie && exact.abs_diff(fast) <= 1), "{exact} {fast}");
        }

        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = (text.parse::<Time>(), text.parse::<Rate>(), parse_bytes(&text), parse_quantity(&text));
        }
    }
}
