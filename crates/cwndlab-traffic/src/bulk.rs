//! One transfer on one connection, without a request (as `ftp` of the simulators of the 1990s).

use cwndlab_units::Time;

use crate::{BulkSpec, Command, Event, Losses, ObjectKind, ObjectRecord, Setup, Side};

/// One transfer: the clock runs from the SYN to the last byte's arrival in order.
pub struct Bulk {
    tcp_client: u16,
    tcp_server: u16,
    from: Side,
    bytes: Option<u64>,
    start: Time,
    open: bool,
}

impl Bulk {
    pub(crate) fn new(spec: &BulkSpec, setup: &Setup<'_>) -> Result<Bulk, String> {
        spec.check()?;
        let bytes = spec.bytes.or(spec.segments.map(|s| s * u64::from(setup.mss)));
        Ok(Bulk {
            tcp_client: setup.tcp_client,
            tcp_server: setup.tcp_server,
            from: spec.from,
            bytes,
            start: Time::MAX,
            open: false,
        })
    }

    pub(crate) fn handle(&mut self, now: Time, event: Event, out: &mut Vec<Command>) {
        match event {
            Event::Start => {
                self.start = now;
                self.open = true;
                out.push(Command::Connect { conn: 0, tcp_client: self.tcp_client, tcp_server: self.tcp_server });
            }
            Event::Established { conn, side } if side == self.from => {
                let bytes = self.bytes.unwrap_or(Command::UNLIMITED);
                out.push(Command::Write { conn, side, bytes });
                if self.bytes.is_some() {
                    out.push(Command::Close { conn, side });
                    out.push(Command::NotifyAt { conn, side: side.other(), total: bytes });
                }
            }
            Event::Delivered { total, losses, .. } if self.open && Some(total) >= self.bytes => {
                self.record(now, losses, out);
            }
            Event::PeerClosed { conn, side } => out.push(Command::Close { conn, side }),
            Event::Finished { losses, .. } => self.record(Time::MAX, losses, out),
            Event::End => self.record(Time::MAX, Losses::default(), out),
            Event::Timer | Event::Established { .. } | Event::Delivered { .. } => {}
        }
    }

    /// Once per transfer; one without end has no delay to record.
    fn record(&mut self, end: Time, losses: Losses, out: &mut Vec<Command>) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        if let Some(bytes) = self.bytes {
            out.push(Command::Record(ObjectRecord {
                kind: ObjectKind::File,
                index: 0,
                start: self.start,
                end,
                bytes: if end.is_never() { 0 } else { bytes },
                connections: 1,
                retransmits: losses.retransmits,
                timeouts: losses.timeouts,
            }));
        }
    }
}

#[cfg(test)]
mod tests;
