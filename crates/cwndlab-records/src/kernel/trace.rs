//! The format of the router's trace: a CSV line for each event of a packet, and for each sample of a queue.

use std::io::BufRead;
use std::net::SocketAddr;
use std::str::FromStr;

use cwndlab_net::DropCause;

use super::options::Options;
use super::KernelError;

/// Columns of the packet trace. `time_ns` is the scheduled time since the start of the router. `place` is the index of
/// the port for `in` and `out`, otherwise that of the link. `packet` is the packet's number, in the order in which
/// packets entered the router. `options` are the TCP options in hexadecimal. For UDP the fields of TCP's header are 0;
/// for other protocols they and the ports are empty.
pub const COLUMNS: &str = "time_ns,event,place,packet,source,destination,source_port,destination_port,\
                           flags,seq,ack,window,payload_bytes,wire_bytes,ecn,options";
/// Columns of the file of queue samples. `average` is empty if the queue computes no average.
pub const QUEUE_COLUMNS: &str = "time_ns,link,packets,bytes,average";

/// The event of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// The router read the packet from this port.
    In(u32),
    /// The router wrote the packet to this port.
    Out(u32),
    /// This link dropped the packet.
    Dropped(u32, DropCause),
    /// This link marked the packet CE.
    Marked(u32),
}

impl Line {
    /// Returns the columns `event` and `place`.
    pub fn words(self) -> (&'static str, u32) {
        match self {
            Line::In(port) => ("in", port),
            Line::Out(port) => ("out", port),
            Line::Dropped(link, DropCause::Full) => ("drop-full", link),
            Line::Dropped(link, DropCause::Aqm) => ("drop-aqm", link),
            Line::Dropped(link, DropCause::Loss) => ("drop-loss", link),
            Line::Marked(link) => ("mark", link),
        }
    }

    /// Parses the columns `event` and `place`; `None` if the event is unknown.
    pub fn from_words(event: &str, place: u32) -> Option<Line> {
        Some(match event {
            "in" => Line::In(place),
            "out" => Line::Out(place),
            "drop-full" => Line::Dropped(place, DropCause::Full),
            "drop-aqm" => Line::Dropped(place, DropCause::Aqm),
            "drop-loss" => Line::Dropped(place, DropCause::Loss),
            "mark" => Line::Marked(place),
            _ => return None,
        })
    }
}

/// A line about a packet of TCP or UDP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub at: u64,
    /// The packet's number, in the order in which packets entered the router.
    pub id: u64,
    pub line: Line,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    /// The header's window field, unscaled.
    pub window: u16,
    pub payload: u32,
    pub wire_bytes: u32,
    pub ecn: u8,
    pub options: Options,
}

/// The fields of a line.
struct Fields<'a> {
    words: std::str::Split<'a, char>,
    line: usize,
}

impl<'a> Fields<'a> {
    fn word(&mut self) -> Result<&'a str, KernelError> {
        self.words.next().ok_or(KernelError::Line { line: self.line, why: "it has too few columns" })
    }

    fn number<T: FromStr>(&mut self) -> Result<T, KernelError> {
        let line = self.line;
        self.word()?
            .parse()
            .map_err(|_| KernelError::Line { line, why: "a column holds something else than it should" })
    }
}

/// Calls `each` with the fields of every line after the header.
fn lines(
    mut file: impl BufRead,
    columns: &str,
    mut each: impl FnMut(&mut Fields<'_>) -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    let (mut text, mut line) = (String::new(), 0);
    while file.read_line(&mut text)? > 0 {
        line += 1;
        let row = text.trim_end();
        if line > 1 {
            each(&mut Fields { words: row.split(','), line })?;
        } else if row != columns {
            return Err(KernelError::Line { line, why: "the columns are not those of this version's router" });
        }
        text.clear();
    }
    Ok(())
}

/// Calls `each` with the number and the time of every line and, if the packet is TCP or UDP, with the packet.
pub(super) fn packets(
    file: impl BufRead,
    mut each: impl FnMut(usize, u64, Option<Packet>) -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    lines(file, COLUMNS, |row| {
        let line = row.line;
        let at = row.number()?;
        let (event, place) = (row.word()?, row.number()?);
        let wrong = |why| KernelError::Line { line, why };
        let event = Line::from_words(event, place).ok_or_else(|| wrong("the event is unknown"))?;
        let id = row.number()?;
        let (source, destination) = (row.number()?, row.number()?);
        let port = row.word()?;
        if port.is_empty() {
            return each(line, at, None);
        }
        let port = port.parse().map_err(|_| wrong("the port is not a number"))?;
        let packet = Packet {
            at,
            id,
            line: event,
            source: SocketAddr::new(source, port),
            destination: SocketAddr::new(destination, row.number()?),
            flags: row.number()?,
            seq: row.number()?,
            ack: row.number()?,
            window: row.number()?,
            payload: row.number()?,
            wire_bytes: row.number()?,
            ecn: row.number()?,
            options: Options::parse(&bytes(row.word()?).ok_or_else(|| wrong("the options are not hexadecimal"))?),
        };
        each(line, at, Some(packet))
    })
}

/// Calls `each` with time, link, packets, bytes and average of every sample.
pub(super) fn samples(
    file: impl BufRead,
    mut each: impl FnMut(u64, u32, u32, u64, Option<f64>),
) -> Result<(), KernelError> {
    lines(file, QUEUE_COLUMNS, |row| {
        let (at, link, packets, bytes) = (row.number()?, row.number()?, row.number()?, row.number()?);
        let average = row.word()?;
        let wrong = KernelError::Line { line: row.line, why: "the average is not a number" };
        let average = if average.is_empty() { None } else { Some(average.parse().map_err(|_| wrong)?) };
        each(at, link, packets, bytes, average);
        Ok(())
    })
}

/// Decodes pairs of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_router_writes_of_an_event_is_read_back() {
        let causes = [DropCause::Full, DropCause::Aqm, DropCause::Loss].map(|cause| Line::Dropped(3, cause));
        for line in [Line::In(1), Line::Out(2), Line::Marked(4)].into_iter().chain(causes) {
            let (event, place) = line.words();
            assert_eq!(Line::from_words(event, place), Some(line));
        }
    }
}
