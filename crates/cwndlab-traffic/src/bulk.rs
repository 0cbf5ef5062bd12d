//! One transfer on one connection, without a request (like `ftp` in the simulators of the 1990s).

use std::num::NonZeroU64;

use cwndlab_units::Time;
use serde::{Deserialize, Serialize};

use crate::dist::{Dist, Rng, Sampler, MAX_BYTES};
use crate::error::AppError;
use crate::event::{Command, Event, Losses, ObjectKind, ObjectRecord, Side};
use crate::spec::{client, Application, Setup, Spec};

/// Maximum number of segments of a transfer: [`MAX_BYTES`] divided by a segment size of 64 KiB.
const MAX_SEGMENTS: u64 = 1 << 34;

/// One transfer on one connection, without a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkSpec {
    /// Payload bytes; without `bytes` and `segments` the transfer is unlimited.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Payload in full segments, instead of `bytes`.
    #[serde(default)]
    pub segments: Option<u64>,
    /// The sending end.
    #[serde(default = "client")]
    pub from: Side,
    /// Rate at which the receiving application reads, in bit/s, a full segment at a time; if left out, it reads data as
    /// soon as it arrives. A reader slower than the network fills the receive buffer, and the window closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_rate_bps: Option<u64>,
    /// Time from the application's start to the opening of the connection; 0 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_s: Option<Box<Dist>>,
}

/// The state of one transfer. The recorded time starts with the SYN. It ends when the last byte has arrived in order
/// or, if `read_rate_bps` is given, when the receiving application has read that byte.
#[derive(Clone)]
pub struct Bulk {
    tcp_client: u16,
    tcp_server: u16,
    from: Side,
    open: bool,
    bytes: Option<NonZeroU64>,
    start: Time,
    /// Boxed, because most transfers do not need this state and there may be many transfers.
    extra: Option<Box<Extra>>,
}

/// State that few transfers need.
#[derive(Clone)]
struct Extra {
    reader: Option<Reader>,
    /// Draws the wait before the connection is opened.
    first: Option<(Sampler, Rng)>,
}

/// A receiving application that reads at a rate: it reads a chunk, then waits as long as the chunk takes at this rate.
#[derive(Clone)]
struct Reader {
    rate_bps: u64,
    chunk: u64,
    read: u64,
    /// Whether the sender has closed before everything was read. The receiving end then closes after reading the last
    /// byte, because closing with unread data would reset the connection (RFC 2525, section 2.17).
    peer_closed: bool,
}

impl Reader {
    fn pause(&self, bytes: u64) -> Time {
        Time::from_nanos((u128::from(bytes) * 8_000_000_000 / u128::from(self.rate_bps)) as u64)
    }
}

impl Spec for BulkSpec {
    type App = Bulk;

    fn dists(&self) -> Vec<(&'static str, &Dist)> {
        self.first_s.iter().map(|d| ("first_s", &**d)).collect()
    }

    fn check(&self) -> Result<(), AppError> {
        if self.bytes.is_some() && self.segments.is_some() {
            return Err(AppError::SizeTwice);
        }
        if self.bytes == Some(0) || self.segments == Some(0) {
            return Err(AppError::NoBytes);
        }
        if self.bytes.is_some_and(|bytes| bytes > MAX_BYTES) || self.segments.is_some_and(|n| n > MAX_SEGMENTS) {
            return Err(AppError::TooLarge);
        }
        if self.read_rate_bps == Some(0) {
            return Err(AppError::NeverReads);
        }
        Ok(())
    }

    fn build(&self, setup: &mut Setup<'_>) -> Result<Bulk, AppError> {
        self.check()?;
        let mss = u64::from(setup.mss);
        let reader = |rate_bps| Reader { rate_bps, chunk: mss, read: 0, peer_closed: false };
        let reader = self.read_rate_bps.map(reader);
        let first = match &self.first_s {
            Some(dist) => {
                let sampler = dist.of_field("first_s", setup.shared)?;
                Some((sampler, (setup.stream)("pauses")))
            }
            None => None,
        };
        Ok(Bulk {
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            from: self.from,
            open: false,
            bytes: self.bytes.or(self.segments.map(|s| s * mss)).and_then(NonZeroU64::new),
            start: Time::MAX,
            extra: (reader.is_some() || first.is_some()).then(|| Box::new(Extra { reader, first })),
        })
    }
}

impl Application for Bulk {
    fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => match self.draw_wait() {
                Time::ZERO => self.begin(now, out),
                wait => out.push(Command::Timer { at: now + wait }),
            },
            Event::Timer if self.start.is_never() => self.begin(now, out),
            Event::Established { conn, side } if side == self.from => {
                let bytes = self.bytes().unwrap_or(Command::UNLIMITED);
                out.push(Command::Write { conn, side, bytes });
                if self.bytes.is_some() {
                    out.push(Command::Close { conn, side });
                    if self.reader().is_none() {
                        out.push(Command::NotifyAt { conn, side: side.other(), total: bytes });
                    }
                }
            }
            Event::Delivered { conn, side, total, losses } if self.reader().is_some() => {
                self.read(now, conn, side, total, out);
                if self.all_read() {
                    self.record(now, losses, out);
                }
            }
            Event::Timer => self.wait_for_data(out),
            Event::Delivered { total, losses, .. } if self.open && Some(total) >= self.bytes() => {
                self.record(now, losses, out);
            }
            Event::PeerClosed { conn, side } => {
                let bytes = self.bytes();
                match self.extra.as_mut().and_then(|extra| extra.reader.as_mut()) {
                    Some(reader) if side != self.from && Some(reader.read) < bytes => reader.peer_closed = true,
                    _ => out.push(Command::Close { conn, side }),
                }
            }
            Event::Finished { losses, .. } => self.record(Time::MAX, losses, out),
            Event::End => self.record(Time::MAX, Losses::default(), out),
            Event::Established { .. } | Event::Delivered { .. } | Event::Answered { .. } | Event::Arrived { .. } => {}
        }
    }
}

impl Bulk {
    /// Bytes to transfer; `None` if the transfer is unlimited.
    fn bytes(&self) -> Option<u64> {
        self.bytes.map(NonZeroU64::get)
    }

    fn reader(&self) -> Option<&Reader> {
        self.extra.as_ref()?.reader.as_ref()
    }

    /// The wait before the connection is opened.
    fn draw_wait(&mut self) -> Time {
        let first = self.extra.as_mut().and_then(|extra| extra.first.as_mut());
        first.map_or(Time::ZERO, |(sampler, rng)| sampler.draw_time(rng))
    }

    fn begin(&mut self, now: Time, out: &mut Vec<Command>) {
        self.start = now;
        self.open = true;
        out.push(Command::Connect { conn: 0, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
        if self.reader().is_some() {
            out.push(Command::Hold { conn: 0, side: self.from.other() });
            self.wait_for_data(out);
        }
    }

    fn all_read(&self) -> bool {
        matches!((self.reader(), self.bytes()), (Some(reader), Some(bytes)) if reader.read >= bytes)
    }

    /// If the receiver reads at a rate, requests a notification at the next unread byte.
    fn wait_for_data(&self, out: &mut Vec<Command>) {
        if let Some(reader) = self.reader() {
            out.push(Command::NotifyAt { conn: 0, side: self.from.other(), total: reader.read + 1 });
        }
    }

    /// Reads one chunk of the received data. After the last chunk, closes the receiving end if the sender has closed.
    /// After any other chunk, sets a timer to the time that the chunk takes at the reader's rate.
    fn read(&mut self, now: Time, conn: u32, side: Side, total: u64, out: &mut Vec<Command>) {
        let whole = self.bytes();
        let Some(reader) = self.extra.as_mut().and_then(|extra| extra.reader.as_mut()) else { return };
        let bytes = reader.chunk.min(total - reader.read);
        reader.read += bytes;
        out.push(Command::Read { conn, side, bytes });
        if Some(reader.read) == whole {
            if reader.peer_closed {
                out.push(Command::Close { conn, side });
            }
        } else {
            out.push(Command::Timer { at: now + reader.pause(bytes) });
        }
    }

    /// Records the transfer, unless it is unlimited or has been recorded.
    fn record(&mut self, end: Time, losses: Losses, out: &mut Vec<Command>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        if let Some(bytes) = self.bytes() {
            let record = ObjectRecord::of_one_connection(ObjectKind::File, 0, self.start, end, bytes, losses);
            out.push(Command::Record(record));
        }
    }
}

#[cfg(test)]
mod tests;
