//! Time-sequence graphs for xplot in the style of tcptrace: data segments are vertical lines with arrows; the
//! acknowledgment number and the right edge of the advertised window are steps; SACK blocks are lines. Letters show
//! retransmissions, drops and ECN marks.

use std::io::{self, Write};

use crate::cell::OneOf;
use crate::tables::{SegmentEvent, SegmentRow};

/// Writes the graph of one direction of one connection.
///
/// # Errors
///
/// If writing fails.
pub fn write(
    out: &mut impl Write,
    title: &str,
    rows: &[SegmentRow],
    connection: u32,
    from_client: bool,
) -> io::Result<()> {
    writeln!(out, "timeval unsigned\ntitle\n{title}\nxlabel\ntime\nylabel\nsequence offset")?;
    let mut last_ack: Option<(u64, u64)> = None;
    let mut last_edge: Option<(u64, u64)> = None;
    for row in rows.iter().filter(|row| row.connection == connection) {
        let time = row.time_ns;
        if row.from_client == from_client {
            if row.len == 0 {
                continue;
            }
            let (start, end) = (row.seq, row.seq + u64::from(row.len));
            match row.event {
                OneOf(SegmentEvent::Drop) => letter(out, time, end, "X", "red")?,
                OneOf(SegmentEvent::Mark) => letter(out, time, end, "CE", "purple")?,
                OneOf(event) => {
                    let again = event == SegmentEvent::Retransmit;
                    let colour = if again { "red" } else { "white" };
                    line(out, (time, start), (time, end), colour)?;
                    writeln!(out, "darrow {} {start}\nuarrow {} {end}", Seconds(time), Seconds(time))?;
                    if again {
                        letter(out, time, end, "R", "red")?;
                    }
                    if row.flags & 0x80 != 0 {
                        letter(out, time, end, "CWR", "purple")?;
                    }
                }
            }
        } else if row.flags & 0x10 != 0 && !matches!(row.event, OneOf(SegmentEvent::Drop | SegmentEvent::Mark)) {
            step(out, &mut last_ack, (time, row.ack), "green")?;
            step(out, &mut last_edge, (time, row.ack + u64::from(row.window_bytes)), "yellow")?;
            for &(start, end) in row.sack.as_slice() {
                line(out, (time, start), (time, end), "purple")?;
            }
            if row.event == OneOf(SegmentEvent::DupAck) {
                letter(out, time, row.ack, "3", "green")?;
            }
            if row.flags & 0x40 != 0 {
                letter(out, time, row.ack, "ECE", "purple")?;
            }
        }
    }
    writeln!(out, "go")
}

/// A time in nanoseconds, printed in seconds and rounded to microseconds.
struct Seconds(u64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = (self.0 + 500) / 1000;
        write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

fn line(out: &mut impl Write, from: (u64, u64), to: (u64, u64), colour: &str) -> io::Result<()> {
    writeln!(out, "{colour}\nline {} {} {} {}", Seconds(from.0), from.1, Seconds(to.0), to.1)
}

fn letter(out: &mut impl Write, time: u64, at: u64, text: &str, colour: &str) -> io::Result<()> {
    writeln!(out, "{colour}\natext {} {at}\n{text}", Seconds(time))
}

/// Draws a step: horizontally to the new time, then up (or, for a shrunk window, down) to the new value.
fn step(out: &mut impl Write, last: &mut Option<(u64, u64)>, now: (u64, u64), colour: &str) -> io::Result<()> {
    if let Some(before) = last.replace(now) {
        line(out, before, (now.0, before.1), colour)?;
        if before.1 != now.1 {
            line(out, (now.0, before.1), now, colour)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Sack;
    use crate::samples::segment;

    #[test]
    fn the_graph_shows_data_acknowledgments_sack_and_losses() {
        let mut data = segment(0, SegmentEvent::Send);
        data.len = 1000;
        let mut again = data;
        (again.time_ns, again.event) = (2_000_000, OneOf(SegmentEvent::Retransmit));
        let mut lost = data;
        (lost.time_ns, lost.event) = (1_000_000, OneOf(SegmentEvent::Drop));
        let mut ack = segment(1_500_000, SegmentEvent::DupAck);
        (ack.from_client, ack.window_bytes) = (false, 4000);
        ack.sack = Sack { len: 1, blocks: [(2000, 3000), (0, 0), (0, 0), (0, 0)] };
        let mut later = ack;
        (later.time_ns, later.ack, later.event, later.sack) =
            (3_000_000, 3000, OneOf(SegmentEvent::Ack), Sack::default());
        let mut text = Vec::new();
        write(&mut text, "a run", &[data, lost, ack, again, later], 0, true).unwrap();
        let text = String::from_utf8(text).unwrap();
        for expected in [
            "timeval unsigned\ntitle\na run\n",
            "white\nline 0.000000 0 0.000000 1000\n",
            "red\natext 0.001000 1000\nX\n",
            "purple\nline 0.001500 2000 0.001500 3000\n",
            "red\nline 0.002000 0 0.002000 1000\n",
            "green\nline 0.001500 0 0.003000 0\ngreen\nline 0.003000 0 0.003000 3000\n",
            "yellow\nline 0.003000 4000 0.003000 7000\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert!(text.ends_with("go\n"));
    }
}
