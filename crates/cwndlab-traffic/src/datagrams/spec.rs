//! The specifications of unresponsive traffic in a scenario.

use serde::{Deserialize, Serialize};

use super::{Common, Datagrams, RTP_HEADERS, UDP_HEADER_BYTES};
use crate::dist::Dist;
use crate::ecn::EcnField;
use crate::error::AppError;
use crate::event::Side;
use crate::spec::{client, zero, Setup, Spec};

/// Defines the specification of each kind of traffic: the fields that all kinds share, with the kind's default packet
/// size, and the fields of its own.
macro_rules! datagram_specs {
    ($($(#[$about:meta])* $name:ident, $packet:literal { $($own:tt)* })+) => {$(
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Bytes of an IP packet: 28 bytes of headers, and the payload. Drawn values are limited to 29 to 65,535. Over a
            /// QUIC stack, a datagram has the same payload, and the packet is larger by QUIC's headers.
            #[serde(default = $packet)]
            pub packet_bytes: Dist,
            /// The ECN codepoint of the packets; a QUIC stack sets its own.
            #[serde(default)]
            pub ecn: EcnField,
            /// The sending end.
            #[serde(default = "client")]
            pub from: Side,
            /// Time from the application's start to its first packet, or to the handshake of a QUIC stack.
            #[serde(default = "zero")]
            pub first_s: Dist,
            /// Time from the first packet to the end of the flow; if left out, the flow lasts until the end of the
            /// run.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub duration_s: Option<Dist>,
            $($own)*
        }

        impl $name {
            pub(super) fn common(&self) -> Common<'_> {
                Common {
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

        }
    )+};
}

datagram_specs! {
    /// Packets at a constant bit rate.
    CbrSpec, "full_packet" {
        /// Bits per second of IP packets, headers included.
        pub rate_bps: u64,
    }

    /// Bursts at a constant bit rate, separated by silence.
    OnOffSpec, "full_packet" {
        /// Bits per second of IP packets within a burst, headers included.
        pub rate_bps: u64,
        /// Length of a burst in seconds; a burst has at least one packet.
        pub on_s: Dist,
        /// Seconds of silence between bursts.
        pub off_s: Dist,
    }

    /// Packets at independent, exponentially distributed intervals.
    PoissonSpec, "full_packet" {
        /// Mean rate of IP packets in bit/s, headers included.
        pub rate_bps: u64,
    }

    /// One direction of a voice call: packets at a fixed interval, with or without silence suppression.
    VoipSpec, "g711_packet" {
        /// Time between packets, which is the amount of speech in each packet (RFC 3551, section 4.2).
        #[serde(default = "g711_interval")]
        pub interval_s: Dist,
        /// Length of a talkspurt in seconds, rounded up to a whole number of packets; if left out, the call is never
        /// silent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub talk_s: Option<Dist>,
        /// Seconds of silence between talkspurts; nothing is sent during silence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub silence_s: Option<Dist>,
    }

    /// One direction of a video call: frames whose sizes and intervals vary, split into packets.
    VideoSpec, "video_packet" {
        /// Bits per second of the encoded video, without headers.
        pub encoded_rate_bps: u64,
        /// Frames per second.
        #[serde(default = "thirty")]
        pub frame_rate: f64,
        /// Scale of the Laplace distribution of a frame's size, as a share of the mean size.
        #[serde(default = "scatter")]
        pub size_scale: f64,
        /// Scale of the Laplace distribution of the interval between two frames, as a share of the mean interval.
        #[serde(default = "scatter")]
        pub interval_scale: f64,
        /// Whether a frame's packets are spread over the time to the next frame; otherwise they are sent at once.
        #[serde(default = "yes")]
        pub shaped: bool,
    }
}

impl Spec for CbrSpec {
    type App = Datagrams;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        self.common_dists()
    }

    fn check(&self) -> Result<(), AppError> {
        check_rate("cbr", "rate", self.rate_bps)?;
        check_packet("cbr", &self.packet_bytes, UDP_HEADER_BYTES)
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        Datagrams::constant(self, setup)
    }
}

impl Spec for OnOffSpec {
    type App = Datagrams;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        let mut all = self.common_dists();
        all.extend([("on_s", &self.on_s), ("off_s", &self.off_s)]);
        all
    }

    fn check(&self) -> Result<(), AppError> {
        check_rate("on-off", "rate", self.rate_bps)?;
        check_packet("on-off", &self.packet_bytes, UDP_HEADER_BYTES)
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        Datagrams::on_off(self, setup)
    }
}

impl Spec for PoissonSpec {
    type App = Datagrams;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        self.common_dists()
    }

    fn check(&self) -> Result<(), AppError> {
        check_rate("poisson", "rate", self.rate_bps)?;
        check_packet("poisson", &self.packet_bytes, UDP_HEADER_BYTES)
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        Datagrams::poisson(self, setup)
    }
}

impl Spec for VoipSpec {
    type App = Datagrams;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        let mut all = self.common_dists();
        all.push(("interval_s", &self.interval_s));
        all.extend(self.talk_s.as_ref().map(|d| ("talk_s", d)));
        all.extend(self.silence_s.as_ref().map(|d| ("silence_s", d)));
        all
    }

    fn check(&self) -> Result<(), AppError> {
        check_packet("voip", &self.packet_bytes, RTP_HEADERS)?;
        match self.interval_s {
            Dist::Fixed { value } if value < SHORTEST_INTERVAL_S => {
                return Err(AppError::SpeechInterval(value));
            }
            _ => {}
        }
        if self.talk_s.is_some() == self.silence_s.is_some() {
            return Ok(());
        }
        Err(AppError::HalfSilence)
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        Datagrams::voice(self, setup)
    }
}

impl Spec for VideoSpec {
    type App = Datagrams;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        self.common_dists()
    }

    fn check(&self) -> Result<(), AppError> {
        check_rate("video", "encoded_rate", self.encoded_rate_bps)?;
        check_packet("video", &self.packet_bytes, RTP_HEADERS)?;
        if !(0.01..=10_000.0).contains(&self.frame_rate) {
            return Err(AppError::FrameRate(self.frame_rate));
        }
        for (field, scale) in [("size_scale", self.size_scale), ("interval_scale", self.interval_scale)] {
            // With a larger scale, truncating sizes and intervals at 0 would raise their mean by more than 3 %.
            if !(0.0..=0.5).contains(&scale) {
                return Err(AppError::Scatter { field, scale });
            }
        }
        Ok(())
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        Datagrams::video(self, setup)
    }
}

/// The shortest interval between packets; a shorter one would contain no speech.
const SHORTEST_INTERVAL_S: f64 = 1e-5;

/// Checks a rate. The limits are those of a link's rate; above them, a small packet's transmission time would round to
/// zero.
fn check_rate(app: &'static str, field: &'static str, rate_bps: u64) -> Result<(), AppError> {
    if (8..=400_000_000_000).contains(&rate_bps) {
        return Ok(());
    }
    Err(AppError::Rate { app, field, rate_bps })
}

fn check_packet(app: &'static str, packet: &Dist, headers: u32) -> Result<(), AppError> {
    let least = headers + 1;
    let protocols = if headers == RTP_HEADERS { "UDP and RTP headers" } else { "a UDP header" };
    match packet {
        Dist::Fixed { value } if !(f64::from(least)..=65_535.0).contains(value) => {
            Err(AppError::Packet { app, bytes: *value, protocols, least })
        }
        _ => Ok(()),
    }
}

fn full_packet() -> Dist {
    Dist::Fixed { value: 1500.0 }
}

/// A packet with 20 ms of G.711: 160 bytes (RFC 3551, sections 4.2 and 4.5.14), and 40 bytes of headers.
fn g711_packet() -> Dist {
    Dist::Fixed { value: 200.0 }
}

fn g711_interval() -> Dist {
    Dist::Fixed { value: 0.02 }
}

/// 1000 bytes of video, and 40 bytes of headers.
fn video_packet() -> Dist {
    Dist::Fixed { value: 1040.0 }
}

fn thirty() -> f64 {
    30.0
}

fn scatter() -> f64 {
    0.15
}

fn yes() -> bool {
    true
}
