//! The hash by which queues choose a flow's line.

/// Mixes a key and a queue's perturbation, as splitmix64's finalizer does.
#[inline]
pub(super) fn mix(key: u64, perturbation: u64) -> u64 {
    let mut x = key ^ perturbation.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The same, scaled to the number of lines.
#[inline]
pub(super) fn index(flow_key: u64, perturbation: u64, lines: u32) -> u32 {
    ((u128::from(mix(flow_key, perturbation)) * u128::from(lines)) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of splitmix64 from seed 0, whose states are multiples of the perturbation's factor.
    #[test]
    fn the_mixture_is_that_of_splitmix64() {
        let numbers = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!([1, 2, 3].map(|perturbation| mix(0, perturbation)), numbers);
        assert_eq!(mix(0x9E37_79B9_7F4A_7C15, 0), numbers[0]);
    }

    #[test]
    fn the_line_is_the_share_of_the_mixture_in_all_numbers() {
        assert_eq!(index(0, 1, 1 << 8), 0xE2);
        assert_eq!(index(0, 3, 1 << 16), 0x06C4);
        assert_eq!(index(0, 2, 100), 43); // 0x6E78 of 0x10000 are 43.15 %
    }
}
