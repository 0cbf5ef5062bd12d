//! What passed one port, as pcapng with the packets' true headers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cwndlab_net::DropCause;
use cwndlab_records::trace::pcapng;
use cwndlab_units::Time;

use crate::header::mark_ce;
use crate::trace::Line;

/// Bytes kept of a packet: IPv4 without options and the longest TCP header (20 + 60), and a little payload.
const KEPT: usize = 96;

/// A packet's fate is known after it has passed, so packets wait in a file beside the capture until the end.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    port: u32,
    spool: BufWriter<File>,
    /// What links did to a packet, by its number.
    comments: BTreeMap<u64, String>,
    links: Vec<String>,
}

impl Capture {
    /// Of the port of that index; `links` are their names.
    pub(crate) fn create(path: &Path, port: u32, links: Vec<String>) -> io::Result<Capture> {
        let spool = BufWriter::with_capacity(1 << 20, File::create(spool(path))?);
        Ok(Capture { path: path.to_owned(), port, spool, comments: BTreeMap::new(), links })
    }

    /// What happened to packet `id`; `ce` if it carries the mark by now.
    pub(crate) fn packet(&mut self, at: Time, event: Line, id: u64, bytes: &[u8], ce: bool) -> io::Result<()> {
        let (link, what) = match event {
            Line::In(port) if port == self.port => return self.keep(at, id, bytes, true, ce),
            Line::Out(port) if port == self.port => return self.keep(at, id, bytes, false, ce),
            Line::In(_) | Line::Out(_) => return Ok(()),
            Line::Dropped(link, DropCause::Full) => (link, "dropped (queue full)"),
            Line::Dropped(link, DropCause::Aqm) => (link, "dropped (active queue management)"),
            Line::Dropped(link, DropCause::Loss) => (link, "dropped (loss)"),
            Line::Marked(link) => (link, "marked CE"),
        };
        let text = format!("{what} at {} at {} ns", self.links[link as usize], at.as_nanos());
        let before = self.comments.entry(id).or_default();
        if !before.is_empty() {
            before.push_str("; ");
        }
        before.push_str(&text);
        Ok(())
    }

    fn keep(&mut self, at: Time, id: u64, bytes: &[u8], sent: bool, ce: bool) -> io::Result<()> {
        let mut head = [0; KEPT];
        let length = bytes.len().min(KEPT);
        head[..length].copy_from_slice(&bytes[..length]);
        if ce {
            mark_ce(&mut head[..length]);
        }
        self.spool.write_all(&at.as_nanos().to_le_bytes())?;
        self.spool.write_all(&id.to_le_bytes())?;
        self.spool.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.spool.write_all(&[u8::from(sent), length as u8])?;
        self.spool.write_all(&head[..length])
    }

    /// Writes the capture of what was seen at `node`, with comments on the packets that it sent.
    pub(crate) fn finish(mut self, node: &str) -> io::Result<()> {
        self.spool.flush()?;
        let waiting = spool(&self.path);
        let mut from = BufReader::with_capacity(1 << 20, File::open(&waiting)?);
        let out = BufWriter::with_capacity(1 << 20, File::create(&self.path)?);
        let mut file = pcapng::Capture::begin(out, node)?;
        let mut fixed = [0; 22];
        let mut head = [0; KEPT];
        while !from.fill_buf()?.is_empty() {
            from.read_exact(&mut fixed)?;
            let number = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("8 bytes"));
            let length = usize::from(fixed[21]);
            from.read_exact(&mut head[..length])?;
            let sent = fixed[20] != 0;
            let comment = if sent { self.comments.get(&number(8)) } else { None };
            file.packet(pcapng::Packet {
                time_ns: number(0),
                bytes: &head[..length],
                total_bytes: u32::from_le_bytes(fixed[16..20].try_into().expect("4 bytes")),
                sent,
                comment: comment.map(String::as_str),
            })?;
        }
        file.into_inner().flush()?;
        fs::remove_file(waiting)
    }
}

fn spool(path: &Path) -> OsString {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name
}
