//! Unresponsive traffic as the scenario states it.

use serde::{Deserialize, Serialize};

use super::{Common, HEADER_BYTES};
use crate::spec::{client, zero};
use crate::{Dist, Side};

/// The ECN codepoint that a sender sets (RFC 3168, section 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum EcnField {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// L4S's identifier (RFC 9331, section 4.1).
    Ect1 = 1,
    /// Classic ECN.
    Ect0 = 2,
}

macro_rules! datagram_specs {
    ($($(#[$about:meta])* $name:ident, $what:literal { $($own:tt)* })+) => {$(
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Bits per second of IP packets, headers included.
            pub rate_bps: u64,
            /// Bytes of an IP packet: 28 of headers, and the payload. What is drawn is kept within 29 to 65,535.
            #[serde(default = "full_packet")]
            pub packet_bytes: Dist,
            /// The ECN codepoint of its packets.
            #[serde(default)]
            pub ecn: EcnField,
            /// The sending end.
            #[serde(default = "client")]
            pub from: Side,
            /// Seconds from the application's start to its first packet.
            #[serde(default = "zero")]
            pub first_s: Dist,
            /// Seconds from there to its end; to the end of the run without it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub duration_s: Option<Dist>,
            $($own)*
        }

        impl $name {
            pub(super) fn common(&self) -> Common<'_> {
                Common {
                    what: $what,
                    from: self.from,
                    ecn: self.ecn,
                    packet: &self.packet_bytes,
                    first: &self.first_s,
                    duration: self.duration_s.as_ref(),
                }
            }

            /// The fields that hold distributions, with their names.
            fn common_dists(&self) -> Vec<(&'static str, &Dist)> {
                let mut all = vec![("packet_bytes", &self.packet_bytes), ("first_s", &self.first_s)];
                all.extend(self.duration_s.as_ref().map(|d| ("duration_s", d)));
                all
            }

            /// Whether rate and size make sense.
            pub(crate) fn check(&self) -> Result<(), String> {
                check_rate($what, self.rate_bps)?;
                check_packet($what, &self.packet_bytes)
            }
        }
    )+};
}

datagram_specs! {
    /// Packets of a constant bit rate.
    CbrSpec, "cbr" {}

    /// Bursts of a constant bit rate, and silence between them.
    OnOffSpec, "on-off" {
        /// Seconds of a burst, which has at least one packet.
        pub on_s: Dist,
        /// Seconds of silence between bursts.
        pub off_s: Dist,
    }

    /// Packets at independent, exponentially distributed distances, in the mean of the rate.
    PoissonSpec, "poisson" {}
}

impl CbrSpec {
    pub(crate) fn dists(&self) -> Vec<(&'static str, &Dist)> {
        self.common_dists()
    }
}

impl OnOffSpec {
    pub(crate) fn dists(&self) -> Vec<(&'static str, &Dist)> {
        let mut all = self.common_dists();
        all.extend([("on_s", &self.on_s), ("off_s", &self.off_s)]);
        all
    }
}

impl PoissonSpec {
    pub(crate) fn dists(&self) -> Vec<(&'static str, &Dist)> {
        self.common_dists()
    }
}

/// As for links: faster, a small packet would take no time at all.
fn check_rate(what: &str, rate_bps: u64) -> Result<(), String> {
    if (8..=400_000_000_000).contains(&rate_bps) {
        return Ok(());
    }
    Err(format!("{what}: rate is {rate_bps} bit/s; it must be at least 8 bit/s and at most 400 Gbit/s"))
}

fn check_packet(what: &str, packet: &Dist) -> Result<(), String> {
    match packet {
        Dist::Fixed { value } if !(f64::from(HEADER_BYTES) + 1.0..=65_535.0).contains(value) => {
            Err(format!("{what}: packet is {value} bytes; an IP packet with a UDP header has 29 to 65535 bytes"))
        }
        _ => Ok(()),
    }
}

fn full_packet() -> Dist {
    Dist::Fixed { value: 1500.0 }
}
