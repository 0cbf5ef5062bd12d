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
