//! Random numbers of a stack, all from the seed of its end.

use rand::{RngCore as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Derives the generators of an end. Each `purpose` has its own.
#[derive(Clone, Copy)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    pub(crate) fn generator(self, purpose: u64) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(self.0 ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The seed of the stack's own generator.
    pub(crate) fn of_the_stack(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.generator(1).fill_bytes(&mut bytes);
        bytes
    }

    /// The seed of the congestion control.
    #[cfg(feature = "noq")]
    pub(crate) fn of_the_law(self) -> u64 {
        self.generator(4).next_u64()
    }

    /// The connection ID by which the client first addresses the server.
    pub(crate) fn first_id(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        self.generator(2).fill_bytes(&mut bytes);
        bytes
    }
}

/// Connection IDs.
pub(crate) struct Ids(Pcg64Mcg);

impl Ids {
    /// Bytes of an ID.
    pub(crate) const LEN: usize = 8;

    pub(crate) fn new(seed: Seed) -> Ids {
        Ids(seed.generator(3))
    }

    pub(crate) fn next(&mut self) -> [u8; Ids::LEN] {
        self.0.next_u64().to_le_bytes()
    }
}

/// A checksum that takes the place of a keyed hash.
pub(crate) fn checksum(data: &[u8], out: &mut [u8]) {
    let hash = data
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    Pcg64Mcg::seed_from_u64(hash).fill_bytes(out);
}
