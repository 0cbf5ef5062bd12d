//! Unresponsive traffic: datagrams whose departures do not depend on the network.
//!
//! Over QUIC the application is the same, but the stack decides when a datagram leaves, and may drop it. Each datagram is
//! recorded as an object.

mod media;
mod spec;

pub use spec::{CbrSpec, OnOffSpec, PoissonSpec, VideoSpec, VoipSpec};

use std::collections::BTreeMap;

use cwndlab_units::Time;

use crate::dist::{Dist, Rng, Sampler};
use crate::ecn::EcnField;
use crate::error::AppError;
use crate::event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
use crate::spec::{Application, Setup};
use media::{Video, Voice};

/// Bytes of an IPv4 header without options (RFC 791).
const IP: u32 = 20;
/// Bytes of an IPv4 header and a UDP header (RFC 768).
pub const UDP_HEADER_BYTES: u32 = IP + 8;
/// [`UDP_HEADER_BYTES`] and the bytes of an RTP header without contributing sources (RFC 3550, section 5.1).
const RTP_HEADERS: u32 = UDP_HEADER_BYTES + 12;
/// The maximum total length of an IPv4 packet, a field of 16 bits.
const MAX_PACKET_BYTES: u64 = 65_535;

/// A sender of datagrams. It receives no feedback and never slows down.
#[derive(Clone)]
pub struct Datagrams {
    from: Side,
    /// Bytes of the IP and UDP headers.
    headers: u32,
    ecn: EcnField,
    packet: (Sampler, Rng),
    first: (Sampler, Rng),
    duration: Option<Sampler>,
    pattern: Pattern,
    /// No packet is sent at this time or later.
    until: Time,
    open: bool,
    /// Over QUIC: the connection's groups, and the datagrams that have not arrived.
    quic: Option<OverQuic>,
}

/// The part of a sender that only a QUIC connection needs.
#[derive(Clone)]
struct OverQuic {
    tcp_client: u16,
    tcp_server: u16,
    /// Datagrams sent so far.
    sent: u32,
    /// When each datagram was sent that has not arrived, and its payload.
    missing: BTreeMap<u32, (Time, u32)>,
}

impl OverQuic {
    fn record(number: u32, start: Time, end: Time, bytes: u32, out: &mut Vec<Command>) {
        let (kind, bytes) = (ObjectKind::Object, u64::from(bytes));
        let record = ObjectRecord::of_one_connection(kind, number, start, end, bytes, Losses::default());
        out.push(Command::Record(record));
    }

    fn arrived(&mut self, number: u32, now: Time, out: &mut Vec<Command>) {
        if let Some((start, bytes)) = self.missing.remove(&number) {
            OverQuic::record(number, start, now, bytes, out);
        }
    }
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
            Event::Established { side, .. } if side == self.from => self.start(now, out),
            Event::Arrived { number, .. } => {
                if let Some(quic) = &mut self.quic {
                    quic.arrived(number, now, out);
                }
            }
            Event::End => {
                for (&number, &(start, bytes)) in self.quic.iter().flat_map(|quic| &quic.missing) {
                    OverQuic::record(number, start, Time::MAX, bytes, out);
                }
            }
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
            headers: UDP_HEADER_BYTES - IP + setup.ip_header_bytes,
            ecn: common.ecn,
            packet: (packet, (setup.stream)("sizes")),
            first: (first, (setup.stream)("pauses")),
            duration,
            pattern,
            until: Time::MAX,
            open: false,
            quic: setup.over_quic.then(|| OverQuic {
                tcp_client: setup.tcp_client,
                tcp_server: setup.tcp_server,
                sent: 0,
                missing: BTreeMap::new(),
            }),
        })
    }

    fn begin(&mut self, now: Time, out: &mut Vec<Command>) {
        self.open = true;
        if let Some(OverQuic { tcp_client, tcp_server, .. }) = self.quic {
            out.push(Command::Connect { conn: 0, tcp_client, tcp_server });
        } else {
            out.push(Command::Open { conn: 0 });
            self.start(now, out);
        }
    }

    /// Begins the pattern of departures.
    fn start(&mut self, now: Time, out: &mut Vec<Command>) {
        if let Some(duration) = &self.duration {
            self.until = now + duration.draw_time(&mut self.first.1);
        }
        self.pattern.begin(now);
        if now < self.until {
            self.send(now, out);
        }
    }

    fn send(&mut self, now: Time, out: &mut Vec<Command>) {
        let drawn = self.packet.0.draw_bytes(&mut self.packet.1);
        let drawn = drawn.clamp(u64::from(self.headers) + 1, MAX_PACKET_BYTES) as u32;
        let bytes = match &mut self.pattern {
            Pattern::Video(video) => video.packet_bytes(now, drawn),
            _ => drawn,
        };
        let payload = bytes.saturating_sub(self.headers).max(1);
        out.push(Command::Send { conn: 0, side: self.from, payload, bytes, ecn: self.ecn });
        if let Some(quic) = &mut self.quic {
            quic.missing.insert(quic.sent, (now, payload));
            quic.sent += 1;
        }
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
