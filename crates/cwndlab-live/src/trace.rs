//! Writes the trace in the format of [`cwndlab_records::kernel::trace`].

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use cwndlab_records::kernel::trace::{Line, COLUMNS, QUEUE_COLUMNS};
use cwndlab_units::Time;

use crate::header::Header;
use crate::network::Event;

/// The line for a network event of a packet that leaves through `port`; `None` for an event that is not recorded.
pub(crate) fn line_of(event: Event, port: u32) -> Option<Line> {
    match event {
        Event::Delivered => Some(Line::Out(port)),
        Event::Dropped(link, cause) => Some(Line::Dropped(link, cause)),
        Event::Marked(link) => Some(Line::Marked(link)),
        Event::Queued(_) => None,
    }
}

/// Writes the events of packets to the given path. If queues are sampled, writes the samples to this path with
/// `.queues.csv` appended.
#[derive(Debug)]
pub(crate) struct Trace {
    packets: BufWriter<File>,
    queues: Option<BufWriter<File>>,
    line: String,
}

impl Trace {
    pub(crate) fn create(path: &Path, with_queues: bool) -> io::Result<Trace> {
        let mut packets = BufWriter::with_capacity(1 << 20, File::create(path)?);
        writeln!(packets, "{COLUMNS}")?;
        let mut queues = None;
        if with_queues {
            let mut name = path.as_os_str().to_owned();
            name.push(".queues.csv");
            let mut file = BufWriter::with_capacity(1 << 18, File::create(name)?);
            writeln!(file, "{QUEUE_COLUMNS}")?;
            queues = Some(file);
        }
        Ok(Trace { packets, queues, line: String::new() })
    }

    /// Writes the line for a packet. `ce` is whether the packet carries CE now; `bytes` may lack the mark. Without CE,
    /// the packet's ECN field is that in `bytes`.
    pub(crate) fn packet(&mut self, at: Time, line: Line, id: u64, bytes: &[u8], ce: bool) -> io::Result<()> {
        let Some(header) = Header::parse(bytes) else { return Ok(()) };
        let (event, place) = line.words();
        let out = &mut self.line;
        out.clear();
        let _ = write!(out, "{},{event},{place},{id},{},{},", at.as_nanos(), header.source, header.destination);
        let ecn = if ce { 3 } else { header.ecn as u8 };
        if let Some(tcp) = header.tcp {
            let (sport, dport) = (tcp.source_port, tcp.destination_port);
            let _ = write!(out, "{sport},{dport},{},{},{},", tcp.flags, tcp.seq, tcp.ack);
            let _ = write!(out, "{},{},{},{ecn},", tcp.window, tcp.payload, header.total_bytes);
            for byte in &bytes[usize::from(tcp.options.0)..usize::from(tcp.options.1)] {
                let _ = write!(out, "{byte:02x}");
            }
        } else if let Some(udp) = header.udp {
            let (sport, dport) = (udp.source_port, udp.destination_port);
            let _ = write!(out, "{sport},{dport},0,0,0,0,{},{},{ecn},", udp.payload, header.total_bytes);
        } else {
            let _ = write!(out, ",,,,,,,{},{ecn},", header.total_bytes);
        }
        out.push('\n');
        self.packets.write_all(out.as_bytes())
    }

    /// Writes the line for a sample of a queue.
    pub(crate) fn queue(&mut self, at: Time, link: u32, sample: (u32, u64, Option<f64>)) -> io::Result<()> {
        let Some(file) = &mut self.queues else { return Ok(()) };
        let (packets, bytes, average) = sample;
        write!(file, "{},{link},{packets},{bytes},", at.as_nanos())?;
        match average {
            Some(average) => writeln!(file, "{average}"),
            None => writeln!(file),
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.packets.flush()?;
        self.queues.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}
