//! Random streams: one per (seed, replicate, component name).
//!
//! Adding a component changes no other component's draws. Replicate k can run without replicates 0 to k-1. The same
//! replicate draws the same numbers in every cell of a sweep (common random numbers).

use cwndlab_net::Rng;
use rand::SeedableRng;

/// Creates the streams of one replicate.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
    replicate: u64,
}

impl Streams {
    /// The streams of one replicate of a study.
    pub const fn new(seed: u64, replicate: u64) -> Streams {
        Streams { seed, replicate }
    }

    /// The stream that a traffic entry uses for one purpose, such as sizes or pauses.
    pub fn traffic(self, name: &str, purpose: &str) -> Rng {
        self.stream(&format!("traffic:{name}:{purpose}"))
    }

    /// The stream of one end of a connection, for a window law that draws random numbers. `number` is the connection's
    /// serial number in its traffic entry.
    pub fn connection(self, traffic: &str, number: u32, end: &str) -> Rng {
        self.stream(&format!("tcp:{traffic}:{number}:{end}"))
    }

    /// The stream of a component. Each call returns a generator at the beginning of the stream.
    ///
    /// The generator is a PCG. Its seed is a 128-bit FNV-1a hash of seed, replicate and name, with both halves passed
    /// through [`mix`].
    pub fn stream(self, component: &str) -> Rng {
        const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        let bytes = self.seed.to_le_bytes().into_iter().chain(self.replicate.to_le_bytes()).chain(component.bytes());
        let hash = bytes.fold(OFFSET, |h, b| (h ^ u128::from(b)).wrapping_mul(PRIME));
        let (high, low) = (mix(hash as u64), mix((hash >> 64) as u64 ^ mix(hash as u64)));
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&high.to_le_bytes());
        seed[8..].copy_from_slice(&low.to_le_bytes());
        Rng::from_seed(seed)
    }
}

/// `SplitMix64`'s finalizer (Steele, Lea & Flood 2014): every input bit changes half of the output bits on average.
const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    #[test]
    fn a_stream_depends_on_seed_replicate_and_name_and_on_nothing_else() {
        let first = |seed, replicate, name| Streams::new(seed, replicate).stream(name).next_u64();
        assert_eq!(first(1, 2, "loss"), first(1, 2, "loss"));
        let of = |name, purpose| Streams::new(1, 2).traffic(name, purpose).next_u64();
        assert!(of("web", "sizes") != of("web", "pauses") && of("web", "sizes") != of("ftp", "sizes"));
        let end = |number, end| Streams::new(1, 2).connection("web", number, end).next_u64();
        assert_eq!(end(0, "client"), end(0, "client"));
        assert!(end(0, "client") != end(1, "client") && end(0, "client") != end(0, "server"));
        let all = [first(1, 2, "loss"), first(2, 1, "loss"), first(1, 3, "loss"), first(1, 2, "sizes")];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }

    /// FNV-1a of 128 bits over seed, replicate and name, each half mixed: computed once with Python's integers.
    #[test]
    fn the_seed_of_a_stream_is_the_hash_of_its_names() {
        let seed = |seed, replicate, name| {
            let mut stream = Streams::new(seed, replicate).stream(name);
            [stream.next_u64(), stream.next_u64()]
        };
        assert_eq!(seed(1, 2, "loss"), [0x6193_3b94_3d14_ee07, 0x23e3_2cd0_382a_6a62]);
        assert_eq!(seed(7, 0, "traffic:web:sizes"), [0x205d_3a1c_8840_2a55, 0x3edd_8fe4_48e4_2341]);
    }

    #[test]
    fn the_first_draws_of_neighbouring_replicates_are_uncorrelated() {
        let draws: Vec<f64> = (0..4000)
            .map(|k| (Streams::new(7, k).stream("x").next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let lag_1 = draws.windows(2).map(|w| (w[0] - 0.5) * (w[1] - 0.5)).sum::<f64>() / 4000.0 * 12.0;
        assert!((mean - 0.5).abs() < 0.02 && lag_1.abs() < 0.06, "{mean} {lag_1}");
    }
}
