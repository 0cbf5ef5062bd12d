//! Integers as scripts write them.

/// Parses a decimal or hexadecimal (`0x`) integer.
pub(crate) fn integer(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}
