//! Conversion between the wire's 32-bit sequence numbers, which wrap, and the endpoint's 64-bit stream positions, which
//! do not.

/// Returns the number on the wire of a position in the stream that began at `initial`.
pub(crate) fn to_wire(initial: u32, position: u64) -> u32 {
    initial.wrapping_add(position as u32)
}

/// Returns the position nearest to `near` whose number on the wire is `number` (RFC 9293, section 3.4: arithmetic
/// modulo 2^32); negative if it lies before the SYN.
pub(crate) fn from_wire(initial: u32, number: u32, near: u64) -> i64 {
    near as i64 + i64::from(number.wrapping_sub(to_wire(initial, near)) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_position_within_two_gigabytes_survives_the_wire(
            initial: u32, position in 0_u64..1 << 50, distance in -0x7fff_ffff_i64..0x7fff_ffff
        ) {
            let near = position.saturating_add_signed(distance);
            prop_assert_eq!(from_wire(initial, to_wire(initial, position), near), position as i64);
        }
    }

    #[test]
    fn numbers_before_the_syn_are_negative() {
        assert_eq!(from_wire(100, 98, 1), -2);
    }
}
