//! The text format of ns-2's traces, for existing scripts.
//!
//! `event time from to type size flags flow source.port destination.port sequence packet`, where the event is `+` for a
//! packet that the observed node sent, `r` for one that it received, `d` for one that a link dropped. As in ns-2, a
//! mark has no line of its own: it shows in the flags of the packet's later lines. `from` and `to` of a sent or
//! received packet are the connection's ends; those of a dropped packet are the link's ends. Packets are numbered from
//! 0, as in ns-2.

use std::io::{self, Write};

use crate::cell::OneOf;
use crate::tables::{SegmentEvent, SegmentRow};
use crate::trace::Flow;

/// Writes the rows. `flows` is indexed by connection. `links` has the two nodes of each link.
///
/// # Errors
///
/// If writing fails, or a row's connection or link is unknown.
pub fn write(out: &mut impl Write, rows: &[SegmentRow], flows: &[Flow], links: &[(u32, u32)]) -> io::Result<()> {
    let unknown =
        |what: &str, index: u32| io::Error::new(io::ErrorKind::InvalidInput, format!("{what} {index} is not known"));
    for (packet, row) in rows.iter().enumerate() {
        let flow = flows.get(row.connection as usize).ok_or_else(|| unknown("connection", row.connection))?;
        let (source, target) = if row.from_client { (flow.client, flow.server) } else { (flow.server, flow.client) };
        let (event, (from, to)) = match row.event {
            OneOf(SegmentEvent::Mark) => continue,
            OneOf(SegmentEvent::Drop) => {
                let link = row.link.unwrap_or(u32::MAX);
                ('d', *links.get(link as usize).ok_or_else(|| unknown("link", link))?)
            }
            _ => (if row.sent { '+' } else { 'r' }, (source, target)),
        };
        let kind = if row.len == 0 { "ack" } else { "tcp" };
        writeln!(
            out,
            "{event} {:.9} {from} {to} {kind} {} {} {} {source}.{} {target}.{} {} {packet}",
            row.time_ns as f64 / 1e9,
            row.wire_bytes,
            flags(row),
            row.connection,
            row.connection,
            row.connection,
            row.segment - 1,
        )?;
    }
    Ok(())
}

/// ns-2's seven flag characters. Four are used: ECN echo, congestion action (CWR), congestion experienced and
/// ECN-capable.
fn flags(row: &SegmentRow) -> String {
    let mut text = *b"-------";
    let set = [(0, b'C', row.flags & 0x40 != 0), (3, b'A', row.flags & 0x80 != 0)];
    let ecn = [(4, b'E', row.ecn == 3), (6, b'N', row.ecn != 0)];
    for (place, letter, on) in set.into_iter().chain(ecn) {
        if on {
            text[place] = letter;
        }
    }
    text.iter().map(|&letter| char::from(letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::segment;

    #[test]
    fn a_line_reads_as_ns_writes_it() {
        let mut data = segment(1_500_000, SegmentEvent::Send);
        (data.len, data.wire_bytes, data.segment, data.ecn, data.flags) = (1000, 1040, 1, 2, 0x90);
        let mut lost = data;
        (lost.event, lost.sent, lost.link, lost.segment) = (OneOf(SegmentEvent::Drop), false, Some(0), 2);
        let mut ack = segment(2_000_000_000, SegmentEvent::Ack);
        (ack.from_client, ack.sent, ack.segment, ack.flags) = (false, false, 1, 0x50);
        let mut text = Vec::new();
        write(&mut text, &[data, lost, ack], &[Flow { client: 0, server: 3, traffic: 0, datagrams: false }], &[(1, 2)])
            .unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "+ 0.001500000 0 3 tcp 1040 ---A--N 0 0.0 3.0 0 0\n\
             d 0.001500000 1 2 tcp 1040 ---A--N 0 0.0 3.0 1 1\n\
             r 2.000000000 3 0 ack 40 C------ 0 3.0 0.0 0 2\n"
        );
    }

    #[test]
    fn a_row_of_an_unknown_connection_is_refused() {
        let error = write(&mut Vec::new(), &[segment(0, SegmentEvent::Send)], &[], &[]).unwrap_err();
        assert_eq!(error.to_string(), "connection 0 is not known");
    }
}
