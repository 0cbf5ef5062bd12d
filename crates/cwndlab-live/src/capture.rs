//! A capture of the packets at one port: a pcapng file with the packets' original headers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cwndlab_engine::Network;
use cwndlab_net::DropCause;
use cwndlab_records::kernel::trace::Line;
use cwndlab_records::trace::pcapng;
use cwndlab_units::Time;

use crate::header::mark_ce;

/// The most bytes stored per packet.
const KEPT: usize = pcapng::snaplen(Network::Ipv6) as usize;

/// A capture in progress. What happens to a packet becomes known only after the packet was captured, so packets are
/// kept in a temporary file next to the capture until the end.
#[derive(Debug)]
pub(crate) struct Capture {
    path: PathBuf,
    port: u32,
    network: Network,
    spool: BufWriter<File>,
    /// What links did to a packet and when, by packet number.
    fates: BTreeMap<u64, Vec<(u64, String)>>,
    links: Vec<String>,
}

impl Capture {
    /// A capture at the port with this index. `links` are the names of the links.
    pub(crate) fn create(path: &Path, port: u32, links: Vec<String>, network: Network) -> io::Result<Capture> {
        let spool = BufWriter::with_capacity(1 << 20, File::create(spool(path))?);
        Ok(Capture { path: path.to_owned(), port, network, spool, fates: BTreeMap::new(), links })
    }

    /// Records what happened to packet `id`. `ce` is whether the packet is marked CE by now; `bytes` may be from
    /// before the mark.
    pub(crate) fn packet(&mut self, at: Time, event: Line, id: u64, bytes: &[u8], ce: bool) -> io::Result<()> {
        let (link, what) = match event {
            Line::In(port) | Line::Out(port) if port == self.port => return self.keep(at, event, id, bytes, ce),
            Line::In(_) | Line::Out(_) => return Ok(()),
            Line::Dropped(link, DropCause::Full) => (link, "dropped (queue full)"),
            Line::Dropped(link, DropCause::Aqm) => (link, "dropped (active queue management)"),
            Line::Dropped(link, DropCause::Loss) => (link, "dropped (loss)"),
            Line::Marked(link) => (link, "marked CE"),
        };
        let text = format!("{what} at {}", self.links[link as usize]);
        self.fates.entry(id).or_default().push((at.as_nanos(), text));
        Ok(())
    }

    fn keep(&mut self, at: Time, line: Line, id: u64, bytes: &[u8], ce: bool) -> io::Result<()> {
        let mut head = [0; KEPT];
        let length = bytes.len().min(pcapng::snaplen(self.network) as usize);
        head[..length].copy_from_slice(&bytes[..length]);
        if ce {
            mark_ce(&mut head[..length]);
        }
        self.spool.write_all(&at.as_nanos().to_le_bytes())?;
        self.spool.write_all(&id.to_le_bytes())?;
        self.spool.write_all(&(bytes.len() as u32).to_le_bytes())?;
        self.spool.write_all(&[u8::from(matches!(line, Line::In(_))), length as u8])?;
        self.spool.write_all(&head[..length])
    }

    /// Writes the capture of the packets at `node`, with comments on those that the node sent.
    pub(crate) fn finish(mut self, node: &str) -> io::Result<()> {
        self.spool.flush()?;
        let waiting = spool(&self.path);
        let mut from = BufReader::with_capacity(1 << 20, File::open(&waiting)?);
        let out = BufWriter::with_capacity(1 << 20, File::create(&self.path)?);
        let mut file = pcapng::Capture::begin(out, node, self.network)?;
        let mut fixed = [0; 22];
        let mut head = [0; KEPT];
        while !from.fill_buf()?.is_empty() {
            from.read_exact(&mut fixed)?;
            let number = |at: usize| u64::from_le_bytes(fixed[at..at + 8].try_into().expect("8 bytes"));
            let length = usize::from(fixed[21]);
            from.read_exact(&mut head[..length])?;
            let sent = fixed[20] != 0;
            let time_ns = number(0);
            let fates = if sent { self.fates.get(&number(8)).map(Vec::as_slice) } else { None };
            let comment = fates.map(|fates| {
                // Times are relative to the packet, so that tools that shift the file's times need not parse comments.
                let told = fates.iter().map(|(at, text)| format!("{text} {} ns later", at.saturating_sub(time_ns)));
                told.collect::<Vec<_>>().join("; ")
            });
            file.packet(pcapng::Packet {
                time_ns,
                bytes: &head[..length],
                total_bytes: u32::from_le_bytes(fixed[16..20].try_into().expect("4 bytes")),
                sent,
                comment: comment.as_deref(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 40 bytes, ECT(0).
    fn ack() -> Vec<u8> {
        let mut packet = vec![0; 40];
        packet[..20].copy_from_slice(&[0x45, 2, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet
    }

    #[test]
    fn packets_keep_their_bytes_and_those_sent_say_what_became_of_them() {
        let path = std::env::temp_dir().join(format!("cwndlab-capture-{}.pcapng", std::process::id()));
        let mut capture = Capture::create(&path, 0, vec!["a>b".into(), "b>c".into()], Network::Ipv4).unwrap();
        let at = Time::from_millis;
        capture.packet(at(1), Line::In(0), 7, &ack(), false).unwrap();
        capture.packet(at(2), Line::In(1), 8, &ack(), false).unwrap();
        capture.packet(at(3), Line::Marked(0), 7, &ack(), true).unwrap();
        capture.packet(at(4), Line::Dropped(1, DropCause::Full), 7, &ack(), true).unwrap();
        capture.packet(at(5), Line::Out(0), 8, &ack(), true).unwrap();
        capture.finish("a").unwrap();
        let file = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!Path::new(&spool(&path)).exists());
        let has = |wanted: &[u8]| file.windows(wanted.len()).filter(|found| *found == wanted).count();
        assert_eq!(has(b"marked CE at a>b 2000000 ns later; dropped (queue full) at b>c 3000000 ns later"), 1);
        assert_eq!(has(b"dropped"), 1);
        assert_eq!((has(&[0x45, 2, 0, 40]), has(&[0x45, 3, 0, 40])), (1, 1), "as sent, and CE as it arrived");
    }
}
