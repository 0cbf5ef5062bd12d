//! The window laws, each with its own knobs.

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use super::check::Errors;
use super::knobs::knobs;
use super::{LawId, Profile};

const RFC6817: &str = "RFC 6817, 2.5";
const PRAGUE: &str = "L4STeam's tcp_prague.c";
const LEDBAT: &str = "draft-irtf-iccrg-ledbat-plus-plus-01, 4.5";

/// Makes `WindowLawKind`: the window laws that a study can name, and the external law, which the caller attaches.
macro_rules! laws {
    ($($(#[$doc:meta])+ $name:ident$(($config:ty))? = $word:literal,)*) => {
        /// A window law, with its knobs.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        pub enum WindowLawKind {
            $($(#[$doc])+ #[serde(rename = $word)] $name$(($config))?,)*
            /// An external law, attached by the caller ([`crate::Connection::attach_law`]).
            #[serde(rename = "external")]
            External {
                /// a digest of the law's code, which identifies it
                code: LawId,
                /// whether the law draws random numbers
                random: bool,
            },
        }

        impl WindowLawKind {
            pub(super) const WORDS: &'static str = laws!(@words $($word)*);

            /// Every law that a study can name, with the knobs of a profile.
            pub fn all(profile: Profile) -> Vec<WindowLawKind> {
                vec![$(laws!(@value profile, $name $(, $config)?),)*]
            }

            pub(super) fn check_ranges(&self, errors: &mut Errors) {
                match self {
                    $($(WindowLawKind::$name(knobs) => <$config>::check_ranges(knobs, errors),)?)*
                    _ => {}
                }
            }
        }
    };
    (@words $first:literal $($word:literal)*) => { concat!($first, $(" | ", $word),*) };
    (@value $profile:ident, $name:ident) => { WindowLawKind::$name };
    (@value $profile:ident, $name:ident, $config:ty) => { WindowLawKind::$name(<$config>::of($profile)) };
}

laws! {
    /// RFC 5681, counted in bytes.
    Reno = "reno",
    /// Counted in packets, as in ns-2: +1 per ACK in slow start, +1/cwnd per ACK in congestion avoidance.
    RenoPackets = "reno-packets",
    /// Counted in packets, as in Linux 2.0 and 2.2: +1 per ACK in slow start, which includes cwnd = ssthresh; then +1
    /// every cwnd + 1 ACKs.
    RenoLinux2 = "reno-linux2",
    /// RFC 9438.
    Cubic(CubicConfig) = "cubic",
    /// CUBIC as the Linux kernel computes it.
    CubicLinux(CubicConfig) = "cubic-linux",
    /// DCTCP (RFC 8257); Reno if the ends do not agree on ECN. Needs `ecn = dctcp` or `ecn = l4s` at both ends.
    Dctcp = "dctcp",
    /// BBR version 1 as in Linux 6.12. Sets a pacing rate, and its window also applies in recovery.
    Bbr1 = "bbr1",
    /// BBR version 3 by draft-ietf-ccwg-bbr-06 or Google's BBR v3 branch. Sets a pacing rate, and its window also
    /// applies in recovery.
    Bbr3(Bbr3Config) = "bbr3",
    /// TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04); Reno if the ends do not agree on AccECN. Sets a
    /// pacing rate, and its window also applies in recovery. Needs `ecn = accecn-ect1` at both ends.
    Prague(PragueConfig) = "prague",
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01), for background traffic.
    LedbatPlusPlus(LedbatPlusPlusConfig) = "ledbat-plus-plus",
    /// LEDBAT (RFC 6817), for background traffic, controlled by one-way delays. Needs `timestamps`.
    Ledbat(LedbatConfig) = "ledbat",
}

/// The sources of BBR version 3; docs/models/bbr.md lists their differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bbr3Rules {
    /// draft-ietf-ccwg-bbr-06.
    Draft,
    /// google/bbr, branch v3, `net/ipv4/tcp_bbr.c`.
    #[serde(rename = "google-v3")]
    GoogleV3,
}

/// Versions of `L4STeam`'s module for TCP Prague; docs/models/prague.md lists their differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PragueVersion {
    /// Version 0.5, of 2020.
    #[serde(rename = "v0.5")]
    V05,
    /// Version 0.6, of Linux 5.15.
    #[serde(rename = "v0.6")]
    V06,
    /// Version 0.7, of Linux 6.
    #[serde(rename = "v0.7")]
    V07,
}

impl PragueVersion {
    /// Whether cwnd is the window, with a carry of up to one segment each way (`cwnd_cnt`), and alpha starts at 1.
    pub(crate) fn has_carry(self) -> bool {
        self != PragueVersion::V07
    }

    /// The least number of segments sent at once (`prague_tso_segs`, `sysctl_tcp_min_tso_segs`).
    pub(crate) fn least_train(self) -> u64 {
        if self == PragueVersion::V06 {
            2
        } else {
            1
        }
    }
}

knobs! {
/// CUBIC's knobs, in both forms of the law.
pub struct CubicConfig("window_law.cubic.") {
    /// Whether CUBIC, in both forms, lowers W_max further when successive maxima decrease (fast convergence; RFC 9438,
    /// 4.7).
    fast_convergence: bool ["bool"; any] {
        ns2_1998: true => "unused by its window law",
        rfc5681: true => "unused by its window law",
        linux_6: true => "kernel: fast_convergence = 1",
    }
}
}

knobs! {
/// Knobs of BBR version 3.
pub struct Bbr3Config("window_law.bbr3.") {
    /// Whose rules BBR version 3 follows where its sources differ: draft-ietf-ccwg-bbr-06, or google/bbr, branch v3,
    /// `net/ipv4/tcp_bbr.c` (docs/models/bbr.md has each difference).
    rules: Bbr3Rules ["draft | google-v3"; any] {
        ns2_1998: Bbr3Rules::Draft => "draft-ietf-ccwg-bbr-06",
        rfc5681: Bbr3Rules::Draft => "draft-ietf-ccwg-bbr-06",
        linux_6: Bbr3Rules::Draft => "draft-ietf-ccwg-bbr-06; kernel 6 has version 1 only",
    }
    /// Whether BBR version 3 responds to the CE marks of a queue with a shallow threshold, as google/bbr, branch v3,
    /// does (`ecn_low`). It has an effect with the knob `ecn` at `dctcp`, `l4s` or `accecn`.
    ecn: bool ["bool"; any] {
        ns2_1998: false => "draft-ietf-ccwg-bbr-06, 3.7: none",
        rfc5681: false => "draft-ietf-ccwg-bbr-06, 3.7: none",
        linux_6: false => "google/bbr v3: only on routes with the feature ecn_low",
    }
}
}

knobs! {
/// Knobs of TCP Prague, named after the parameters of `L4STeam`'s module (`net/ipv4/tcp_prague.c`).
pub struct PragueConfig("window_law.prague.") {
    /// Whose rules Prague follows where versions of the module differ (`MODULE_VERSION`; docs/models/prague.md has each
    /// difference).
    version: PragueVersion ["v0.5 | v0.6 | v0.7"; any] {
        ns2_1998: PragueVersion::V07 => PRAGUE,
        rfc5681: PragueVersion::V07 => PRAGUE,
        linux_6: PragueVersion::V07 => PRAGUE,
    }
    /// On paths with a shorter round trip, Prague opens and reduces its window as if the round trip were this long
    /// (`prague_rtt_target`); 0 for no independence of the round trip, as in the module of 2020 (`prague_rtt_scaling`).
    rtt_target_ns: Time ["time"; time] {
        ns2_1998: Time::from_millis(25) => PRAGUE,
        rfc5681: Time::from_millis(25) => PRAGUE,
        linux_6: Time::from_millis(25) => PRAGUE,
    }
    /// The number of rounds after slow start from which Prague is independent of the round trip
    /// (`prague_rtt_transition`): 500 in version 0.6 of the module, 4 in version 0.7.
    rtt_transition: u32 ["rounds"; any] {
        ns2_1998: 500 => PRAGUE,
        rfc5681: 500 => PRAGUE,
        linux_6: 500 => PRAGUE,
    }
}
}

knobs! {
/// Knobs of LEDBAT++.
pub struct LedbatPlusPlusConfig("window_law.ledbat-plus-plus.") {
    /// Target queueing delay of LEDBAT++.
    target_ns: Time ["time"; timer] {
        ns2_1998: Time::from_millis(60) => LEDBAT,
        rfc5681: Time::from_millis(60) => LEDBAT,
        linux_6: Time::from_millis(60) => LEDBAT,
    }
}
}

knobs! {
/// Knobs of LEDBAT.
pub struct LedbatConfig("window_law.ledbat.") {
    /// Target queueing delay of LEDBAT (TARGET); the RFC's limit is 100 ms.
    target_ns: Time ["time"; timer] {
        ns2_1998: Time::from_millis(100) => RFC6817,
        rfc5681: Time::from_millis(100) => RFC6817,
        linux_6: Time::from_millis(100) => RFC6817,
    }
    /// LEDBAT's GAIN: how much a window grows per round trip without a queue, in per cent of a segment; the RFC's
    /// limit is 100.
    gain_percent: u32 ["percent"; 1..=10_000, "in 1..=10000"] {
        ns2_1998: 100 => RFC6817,
        rfc5681: 100 => RFC6817,
        linux_6: 100 => RFC6817,
    }
}
}

impl WindowLawKind {
    /// Whether the law is CUBIC with fast convergence.
    pub(crate) fn converges_fast(self) -> bool {
        use WindowLawKind::{Cubic, CubicLinux};
        matches!(
            self,
            Cubic(CubicConfig { fast_convergence: true }) | CubicLinux(CubicConfig { fast_convergence: true })
        )
    }
}
