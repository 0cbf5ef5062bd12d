//! A TCP behaviour as a table: time, what comes in, which segments go out, cwnd after it. No simulator, no link.

use cwndlab_tcp::{
    AckPolicy, Connection, Flags, InitialWindow, MaxWindow, Profile, RecoveryKind, SackBlocks, Segment, TcpConfig,
};
use cwndlab_units::Time;

/// Payload bytes of a segment. Segment n has the bytes from `(n-1)*MSS` on; its first sequence number is one higher (SYN).
pub const MSS: u32 = 1000;

/// What comes in.
#[derive(Clone, Copy, Debug)]
pub enum In {
    /// The application writes this many segments.
    Write(u64),
    /// An ACK of all up to this segment.
    Ack(u32),
    /// The same, with SACK blocks `first..=last` in segments, most recent first.
    Sack(u32, &'static [(u32, u32)]),
    /// The retransmission timer expires.
    Timer,
}

/// Time in ms, what comes in, the segments that go out, cwnd in bytes (without inflation).
pub type Row = (u64, In, &'static [u32], u64);

/// The standards without options, eight segments to begin with, every segment acknowledged, no SYN.
pub fn config(recovery: RecoveryKind) -> TcpConfig {
    let selective = matches!(recovery, RecoveryKind::Sack | RecoveryKind::Fack | RecoveryKind::Prr);
    TcpConfig {
        recovery,
        sack: selective,
        mss: MSS,
        handshake: false,
        limited_transmit: false,
        initial_window: InitialWindow::Segments(8),
        ack_policy: AckPolicy::Every,
        max_window: MaxWindow::Bytes(1 << 30),
        ..Profile::Rfc5681.config()
    }
}

fn position(segment: u32) -> u32 {
    1 + (segment - 1) * MSS
}

/// Plays the table and asserts each row.
pub fn play(cfg: &TcpConfig, rows: &[Row]) -> Connection {
    let mut sender = Connection::client(cfg, 0, Time::ZERO);
    for (i, &(ms, input, expected, cwnd)) in rows.iter().enumerate() {
        let mut now = Time::from_millis(ms);
        match input {
            In::Write(segments) => sender.write(segments * u64::from(MSS)),
            In::Ack(upto) => sender.handle_segment(cfg, now, &ack(cfg, upto, &[])),
            In::Sack(upto, blocks) => sender.handle_segment(cfg, now, &ack(cfg, upto, blocks)),
            In::Timer => {
                now = sender.poll_timeout();
                assert_eq!(now, Time::from_millis(ms), "row {i}: when the timer expires");
                sender.handle_timeout(cfg, now);
            }
        }
        let mut sent = Vec::new();
        while let Some(segment) = sender.poll_transmit(cfg, now) {
            assert_eq!(segment.len, MSS, "row {i}: {segment:?}");
            sent.push((segment.seq - 1) / MSS + 1);
        }
        assert_eq!((sent.as_slice(), sender.cwnd_bytes()), (expected, cwnd), "row {i}: {:?}", rows[i]);
    }
    sender
}

fn ack(cfg: &TcpConfig, upto: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut sack = SackBlocks { len: blocks.len() as u8, ..SackBlocks::default() };
    for (block, &(first, last)) in sack.blocks.iter_mut().zip(blocks) {
        *block = (position(first), position(last + 1));
    }
    Segment {
        seq: 1,
        ack: position(upto + 1),
        window: cfg.receive_buffer_bytes as u32,
        flags: Flags::ACK,
        sack,
        ..Segment::default()
    }
}
