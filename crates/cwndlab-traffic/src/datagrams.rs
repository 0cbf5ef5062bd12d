//! Unresponsive traffic: datagrams whose departures do not depend on the network.

mod media;
mod spec;

pub use spec::{CbrSpec, EcnField, OnOffSpec, PoissonSpec, VideoSpec, VoipSpec};

use cwndlab_units::Time;

use crate::dist::{Dist, Rng, Sampler};
use crate::error::AppError;
use crate::event::{Command, Event, Side};
use crate::spec::{Application, Setup};
use media::{Video, Voice};

/// Bytes of an IPv4 header without options (RFC 791) and a UDP header (RFC 768).
pub(crate) const HEADER_BYTES: u32 = 28;
/// [`HEADER_BYTES`] and the bytes of an RTP header without contributing sources (RFC 3550, section 5.1).
const RTP_HEADERS: u32 = HEADER_BYTES + 12;
/// The maximum total length of an IPv4 packet, a field of 16 bits.
const MAX_PACKET_BYTES: u64 = 65_535;

/// A sender of datagrams. It receives no feedback and never slows down.
#[derive(Clone)]
pub struct Datagrams {
    from: Side,
    ecn: EcnField,
    packet: (Sampler, Rng),
    first: (Sampler, Rng),
    duration: Option<Sampler>,
    pattern: Pattern,
    /// No packet is sent at this time or later.
    until: Time,
    open: bool,
}

/// The pattern of departures.
#[derive(Clone)]
enum Pattern {
    Constant(Pace),
    OnOff { pace: Pace, on: (Sampler, Rng), off: (Sampler, Rng), end: Time },
    Poisson { rate_bps: u64, gaps: Rng },
    Voice(Voice),
    Video(Video),
}

/// Packets back to back at a rate. Times are computed from the bits sent since `origin`, so that rounding errors do not
/// add up.
#[derive(Clone)]
struct Pace {
    rate_bps: u64,
    origin: Time,
    bits: u64,
}

impl Pace {
    fn new(rate_bps: u64) -> Pace {
        Pace { rate_bps, origin: Time::ZERO, bits: 0 }
    }

    fn begin(&mut self, now: Time) {
        (self.origin, self.bits) = (now, 0);
    }

    /// The departure time of the next packet, after one of `bytes` bytes.
    fn after(&mut self, bytes: u32) -> Time {
        self.bits += 8 * u64::from(bytes);
        let nanos = u128::from(self.bits) * 1_000_000_000 / u128::from(self.rate_bps);
        self.origin + Time::from_nanos(nanos as u64)
    }
}

/// The common fields of all kinds of unresponsive traffic.
struct Common<'a> {
    from: Side,
    ecn: EcnField,
    packet: &'a Dist,
    first: &'a Dist,
    duration: Option<&'a Dist>,
}

/// A field's distribution, with a random stream named after the field.
fn drawn(field: &'static str, dist: &Dist, setup: &mut Setup<'_>) -> Result<(Sampler, Rng), AppError> {
    let sampler = dist.of_field(field, setup.shared)?;
    Ok((sampler, (setup.stream)(field)))
}

impl Application for Datagrams {
    const IS_UNRESPONSIVE: bool = true;

    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => match self.first.0.draw_time(&mut self.first.1) {
                Time::ZERO => self.begin(now, out),
                wait => out.push(Command::Timer { at: now + wait }),
            },
            Event::Timer if self.open => self.send(now, out),
            Event::Timer => self.begin(now, out),
            _ => {}
        }
    }
}

impl Datagrams {
    fn constant(spec: &CbrSpec, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        Datagrams::new(&spec.common(), Pattern::Constant(Pace::new(spec.rate_bps)), setup)
    }

    fn on_off(spec: &OnOffSpec, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        let (on, off) = (drawn("on_s", &spec.on_s, setup)?, drawn("off_s", &spec.off_s, setup)?);
        let pattern = Pattern::OnOff { pace: Pace::new(spec.rate_bps), on, off, end: Time::ZERO };
        Datagrams::new(&spec.common(), pattern, setup)
    }

    fn poisson(spec: &PoissonSpec, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        let pattern = Pattern::Poisson { rate_bps: spec.rate_bps, gaps: (setup.stream)("gaps") };
        Datagrams::new(&spec.common(), pattern, setup)
    }

    fn voice(spec: &VoipSpec, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        let pattern = Pattern::Voice(Voice::new(spec, setup)?);
        Datagrams::new(&spec.common(), pattern, setup)
    }

    fn video(spec: &VideoSpec, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        let pattern = Pattern::Video(Video::new(spec, setup));
        Datagrams::new(&spec.common(), pattern, setup)
    }

    fn new(common: &Common<'_>, pattern: Pattern, setup: &mut Setup<'_>) -> Result<Datagrams, AppError> {
        let make = |field: &'static str, d: &Dist| d.of_field(field, setup.shared);
        let (packet, first) = (make("packet_bytes", common.packet)?, make("first_s", common.first)?);
        let duration = common.duration.map(|dist| make("duration_s", dist)).transpose()?;
        Ok(Datagrams {
            from: common.from,
            ecn: common.ecn,
            packet: (packet, (setup.stream)("sizes")),
            first: (first, (setup.stream)("pauses")),
            duration,
            pattern,
            until: Time::MAX,
            open: false,
        })
    }

    fn begin(&mut self, now: Time, out: &mut Vec<Command>) {
        self.open = true;
        if let Some(duration) = &self.duration {
            self.until = now + duration.draw_time(&mut self.first.1);
        }
        out.push(Command::Open { conn: 0 });
        self.pattern.begin(now);
        if now < self.until {
            self.send(now, out);
        }
    }

    fn send(&mut self, now: Time, out: &mut Vec<Command>) {
        let drawn = self.packet.0.draw_bytes(&mut self.packet.1);
        let drawn = drawn.clamp(u64::from(HEADER_BYTES) + 1, MAX_PACKET_BYTES) as u32;
        let bytes = match &mut self.pattern {
            Pattern::Video(video) => video.packet_bytes(now, drawn),
            _ => drawn,
        };
        out.push(Command::Send { conn: 0, side: self.from, payload: bytes - HEADER_BYTES, bytes, ecn: self.ecn });
        let next = self.pattern.after(now, bytes);
        if next < self.until {
            out.push(Command::Timer { at: next });
        }
    }
}

impl Pattern {
    fn begin(&mut self, now: Time) {
        match self {
            Pattern::Constant(pace) => pace.begin(now),
            Pattern::OnOff { pace, on, end, .. } => {
                pace.begin(now);
                *end = now + on.0.draw_time(&mut on.1);
            }
            Pattern::Voice(voice) => voice.begin(now),
            Pattern::Poisson { .. } | Pattern::Video(_) => {}
        }
    }

    /// The departure time of the next packet, after one of `bytes` bytes that is sent at `now`.
    fn after(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Pattern::Constant(pace) => pace.after(bytes),
            Pattern::OnOff { pace, off, end, .. } => {
                let is_first = pace.bits == 0;
                let next = pace.after(bytes);
                if next < *end {
                    return next;
                }
                // A burst has at least one packet, so it lasts at least until that packet has been sent.
                let idle_from = if is_first { next.max(*end) } else { *end };
                let begin = idle_from + off.0.draw_time(&mut off.1);
                self.begin(begin);
                begin
            }
            Pattern::Poisson { rate_bps, gaps } => {
                let mean = 8.0 * f64::from(bytes) / *rate_bps as f64;
                now + Time::from_secs_f64(Sampler::exponential(mean, gaps))
            }
            Pattern::Voice(voice) => voice.after(now),
            Pattern::Video(video) => video.after(now),
        }
    }
}

#[cfg(test)]
mod tests;
