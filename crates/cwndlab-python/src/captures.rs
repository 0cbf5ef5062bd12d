//! TCP connections in pcap and pcapng files.

mod clock;
mod connections;
mod copies;
mod file;
mod headers;
mod jumps;
mod raw;

use std::fs::File;
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::net::SocketAddr;

use cwndlab_tcp::Flags;
use flate2::read::MultiGzDecoder;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Segments that are handed over at a time.
const PART: usize = 10_000;

/// A TCP segment as it was captured.
#[pyclass(frozen, get_all, module = "cwndlab._core")]
#[derive(Clone)]
pub struct CapturedSegment {
    /// Time since the first packet of the capture.
    time_ns: i64,
    /// Whether the sender is the end that sent the connection's first captured segment.
    from_first: bool,
    /// Offset in the data of its sender; without a SYN, from the least number that was captured.
    seq: i64,
    /// Offset in the data of its receiver; 0 if it acknowledges nothing.
    ack: i64,
    /// Bytes of payload according to the headers; the capture may contain fewer.
    len: u32,
    /// The header's window field, without scaling.
    window: u16,
    flags: u8,
    mss: Option<u16>,
    scale: Option<u8>,
    ts: Option<(u32, u32)>,
    /// Blocks of the data of its receiver.
    sack: Vec<(i64, i64)>,
    /// Whether options of its header were not captured.
    options_cut: bool,
}

/// What was wrong with the capture of a connection.
#[pyclass(frozen, get_all, module = "cwndlab._core")]
#[derive(Clone, Default)]
pub struct Faults {
    /// Packets that were captured several times: the copies that were left out.
    copies: usize,
    /// The time to live of two copies of a packet, if it differs.
    ttls: Option<(u8, u8)>,
    /// Whether the copies are of several interfaces.
    interfaces: bool,
    /// Segments with a wrong checksum or impossible numbers, which were left out.
    damaged: usize,
    /// The payload of these, of the first end and of the other.
    damaged_bytes: [u64; 2],
    /// Segments that came as fragments of IP.
    fragmented: usize,
    /// The times of the first and the last packet, with those that were left out.
    span_ns: Option<(i64, i64)>,
}

/// What the segments of one end say of it.
#[pyclass(frozen, get_all, module = "cwndlab._core")]
#[derive(Clone, Default)]
pub struct CapturedEnd {
    /// Whether its SYN was captured.
    opened: bool,
    /// The options of its SYN.
    mss: Option<u16>,
    scale: Option<u8>,
    /// Its payload, and that of its largest segment.
    bytes: u64,
    largest: u32,
    /// Whether segments with data have timestamps.
    stamped: bool,
    /// Whether options of its headers were not captured.
    options_cut: bool,
    /// The highest offset in its data that the other end acknowledged.
    acknowledged: i64,
}

struct Connection {
    ends: [SocketAddr; 2],
    /// In parts, whose memory is free once they were taken.
    segments: std::vec::IntoIter<Vec<CapturedSegment>>,
    sides: [CapturedEnd; 2],
    faults: Faults,
}

impl Connection {
    fn new(ends: [SocketAddr; 2], segments: Vec<CapturedSegment>, faults: Faults) -> Self {
        let mut sides = [CapturedEnd::default(), CapturedEnd::default()];
        for segment in &segments {
            let (own, peer) = (usize::from(!segment.from_first), usize::from(segment.from_first));
            sides[peer].acknowledged = sides[peer].acknowledged.max(segment.ack);
            let side = &mut sides[own];
            if Flags(segment.flags).has(Flags::SYN) {
                (side.opened, side.mss, side.scale) = (true, segment.mss, segment.scale);
            }
            side.bytes += u64::from(segment.len);
            side.largest = side.largest.max(segment.len);
            side.stamped |= segment.len > 0 && segment.ts.is_some();
            side.options_cut |= segment.options_cut;
        }
        Connection { ends, segments: in_parts(segments).into_iter(), sides, faults }
    }
}

/// The segments in parts of at most `PART`.
fn in_parts(mut segments: Vec<CapturedSegment>) -> Vec<Vec<CapturedSegment>> {
    let mut parts = Vec::with_capacity(segments.len() / PART + 1);
    while segments.len() > PART {
        let whole = (segments.len() - 1) / PART * PART;
        parts.push(segments.split_off(whole));
    }
    segments.shrink_to_fit();
    parts.push(segments);
    parts.reverse();
    parts
}

/// The TCP connections of a capture, in order of their first segments.
#[pyclass(module = "cwndlab._core")]
pub struct Capture {
    connections: Vec<Connection>,
    /// Why only the beginning of the capture was read; None if the whole capture was read.
    #[pyo3(get)]
    cut: Option<String>,
    /// Packets that were cut within the header of TCP, and left out.
    #[pyo3(get)]
    headers_cut: u64,
    /// When the clock was set, in nanoseconds of the corrected times, and how far back; negative if forward.
    #[pyo3(get)]
    steps: Vec<(i64, i64)>,
    /// The longest time, in nanoseconds, of which all times are multiples.
    #[pyo3(get)]
    tick_ns: i64,
}

#[pymethods]
impl Capture {
    /// Addresses and ports of a connection's ends: first the end that sent the first captured segment, then the other.
    fn ends(&self, connection: usize) -> PyResult<(String, String)> {
        let [one, other] = self.at(connection)?.ends;
        Ok((one.to_string(), other.to_string()))
    }

    /// The next segments of a connection, which it does not keep; none at its end.
    fn take_segments(&mut self, connection: usize) -> PyResult<Vec<CapturedSegment>> {
        self.at(connection)?;
        Ok(self.connections[connection].segments.next().unwrap_or_default())
    }

    /// What the segments of a connection's first end say of it, or those of its other end.
    fn end(&self, connection: usize, first: bool) -> PyResult<CapturedEnd> {
        Ok(self.at(connection)?.sides[usize::from(!first)].clone())
    }

    /// What was wrong with the capture of a connection.
    fn faults(&self, connection: usize) -> PyResult<Faults> {
        Ok(self.at(connection)?.faults.clone())
    }

    fn __len__(&self) -> usize {
        self.connections.len()
    }
}

impl Capture {
    fn at(&self, connection: usize) -> PyResult<&Connection> {
        self.connections.get(connection).ok_or_else(|| PyIndexError::new_err(connection))
    }
}

/// Reads a capture: at most `most_segments` TCP segments, and at most `most_bytes` bytes of the uncompressed file.
#[pyfunction]
#[pyo3(signature = (path, *, most_segments, most_bytes))]
#[allow(clippy::needless_pass_by_value)] // pyo3 hands over a PathBuf
pub fn read_capture(
    py: Python<'_>,
    path: std::path::PathBuf,
    most_segments: usize,
    most_bytes: u64,
) -> PyResult<Capture> {
    py.detach(|| {
        let mut file = File::open(&path)?;
        let mut start = Vec::new();
        file.by_ref().take(2).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(0))?;
        let file = BufReader::with_capacity(1 << 16, file);
        let bytes: Box<dyn Read + Send> =
            if start == GZIP { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        file::read(bytes.take(most_bytes), most_segments, most_bytes)
    })
    .map_err(|fault| match fault {
        Fault::Io(error) => error.into(),
        Fault::Content(reason) => PyValueError::new_err(reason),
    })
}

/// Why a capture cannot be read.
enum Fault {
    Io(std::io::Error),
    Content(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Fault::Io(error)
    }
}
