//! Checks the bytes of the file and, if tshark and tcptrace are installed, what they read from the file.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::cell::{AccEcnCounts, Sack};
use crate::samples::{segment, ACK, SYN};

const FLOW: Flow = Flow { client: 0, server: 3, traffic: 0, datagrams: false };
const MS: u64 = 1_000_000;

/// A connection with options in its handshake and five segments, of which one is lost and retransmitted after SACKs,
/// and one is marked. At the end, the window is zero.
fn story() -> Vec<SegmentRow> {
    let mut rows = Vec::new();
    let mut syn = segment(0, SegmentEvent::Send);
    (syn.flags, syn.mss_bytes, syn.window_scale, syn.sack_permitted, syn.ts_val) =
        (SYN, Some(1460), Some(7), true, Some(0));
    syn.ts_ecr = Some(0);
    let mut syn_ack = syn;
    (syn_ack.time_ns, syn_ack.event, syn_ack.flags) = (10 * MS, OneOf(SegmentEvent::Receive), SYN | ACK);
    (syn_ack.from_client, syn_ack.sent) = (false, false);
    rows.extend([syn, syn_ack]);

    let timed = |mut row: SegmentRow| {
        (row.ts_val, row.ts_ecr, row.window_bytes) = (Some((row.time_ns / MS) as u32), Some(0), 1 << 20);
        row
    };
    rows.push(timed(segment(10 * MS, SegmentEvent::Ack)));
    let data = |k: u64, time: u64, event| {
        let mut row = timed(segment(time, event));
        (row.seq, row.len, row.ecn, row.segment) = (1448 * k, 1448, 2, k as i64 + 1);
        row
    };
    rows.extend((0..5).map(|k| data(k, 11 * MS, SegmentEvent::Send)));
    let at_link = |mut row: SegmentRow, time, event, cause| {
        (row.time_ns, row.event, row.sent, row.link) = (time, OneOf(event), false, Some(0));
        row.cause = cause;
        row
    };
    rows.push(at_link(
        data(1, 11 * MS, SegmentEvent::Send),
        12 * MS,
        SegmentEvent::Drop,
        Some(OneOf(DropReason::Full)),
    ));
    rows.push(at_link(data(2, 11 * MS, SegmentEvent::Send), 12 * MS, SegmentEvent::Mark, None));
    let ack = |time, ack: u64, event| {
        let mut row = timed(segment(time, event));
        (row.ack, row.from_client, row.sent) = (ack, false, false);
        row
    };
    rows.push(ack(21 * MS, 1448, SegmentEvent::Ack));
    for k in 0..3 {
        let mut dup = ack((22 + k) * MS, 1448, SegmentEvent::DupAck);
        dup.sack = Sack { len: 1, blocks: [(2896, 1448 * (3 + k)), (0, 0), (0, 0), (0, 0)] };
        dup.flags |= 0x40; // ECE
        rows.push(dup);
    }
    rows.push(data(1, 25 * MS, SegmentEvent::Retransmit));
    let mut full = ack(35 * MS, 5 * 1448, SegmentEvent::Ack);
    full.window_bytes = 0;
    rows.push(full);
    number(&mut rows);
    rows
}

/// Gives each packet the next IP identification of its sender. The row of a drop or mark gets the identification of its
/// packet.
fn number(rows: &mut [SegmentRow]) {
    let mut last = [0, 0];
    for i in 0..rows.len() {
        let (before, row) = (&rows[..i], &rows[i]);
        let id = if row.link.is_some() {
            before.iter().rfind(|sent| sent.link.is_none() && sent.seq == row.seq && sent.len == row.len).unwrap().ip_id
        } else {
            last[usize::from(row.from_client)] += 1;
            Some(last[usize::from(row.from_client)])
        };
        rows[i].ip_id = id;
    }
}

fn file(rows: &[SegmentRow]) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, "client", rows, &[FLOW], &["r1>r2".into()], Network::Ipv4).unwrap();
    out
}

/// Runs a tool on the trace. Returns `None`, with a message on stderr, if the tool is not installed.
fn tool(name: &str, args: &[&str], rows: &[SegmentRow]) -> Option<String> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let serial = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("cwndlab-{}-{serial}.pcapng", std::process::id()));
    std::fs::write(&path, file(rows)).unwrap();
    let run = Command::new(name).args(args).arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    match run {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("skipped: {name} does not run here ({error})");
            None
        }
    }
}

/// Values of tshark's fields, one line per packet.
fn tshark(fields: &[&str], rows: &[SegmentRow]) -> Option<Vec<String>> {
    let checks =
        ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-n", "-T", "fields", "-E", "separator=/s"];
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let args: Vec<&str> = checks.into_iter().chain(fields).chain(["-r"]).collect();
    tool("tshark", &args, rows).map(|text| text.lines().map(|line| line.trim().to_owned()).collect())
}

#[test]
fn blocks_are_framed_and_padded_as_the_format_demands() {
    let bytes = file(&story());
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut kinds) = (0, Vec::new());
    while at < bytes.len() {
        let length = word(at + 4) as usize;
        assert_eq!((length % 4, word(at + length - 4) as usize), (0, length), "block at {at}");
        kinds.push(word(at));
        at += length;
    }
    let packets = story().iter().filter(|row| row.link.is_none()).count();
    assert_eq!(kinds[..2], [0x0A0D_0D0A, 1]);
    assert_eq!(kinds[2..], vec![6; packets]);
}

#[test]
fn checksums_verify_and_nothing_is_malformed() {
    let Some(lines) = tshark(&["ip.checksum.status", "tcp.checksum.status", "_ws.malformed"], &story()) else { return };
    assert_eq!(lines.len(), 14);
    for line in lines {
        // status 1 is "good"; status 2 means that tshark cannot tell, because the packet was captured in part
        assert!(line == "1 1" || line == "1 2", "{line}");
    }
}

#[test]
fn headers_carry_lengths_options_ecn_and_scaled_windows() {
    let fields = ["ip.len", "ip.dsfield.ecn", "ip.flags.df", "tcp.len", "tcp.window_size", "tcp.options.mss_val"];
    let Some(lines) = tshark(&fields, &story()) else { return };
    assert_eq!(lines[0], "60 0 1 0 65535 1460"); // SYN: MSS, SACK permitted, timestamps, window scale: 20 bytes
    assert_eq!(lines[2], "52 0 1 0 1048576"); // timestamps: 12 bytes
    assert_eq!(lines[3], "1500 2 1 1448 1048576");
    assert_eq!(lines[9], "64 0 1 0 1048576"); // timestamps and one SACK block: 24 bytes
}

#[test]
fn tshark_reads_the_ace_field_of_accecn() {
    let mut rows = story();
    rows[0].flags |= 0xe0; // AE, CWR and ECE
    rows[1].flags |= 0x80; // CWR
    let Some(lines) = tshark(&["tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece", "tcp.flags.urg"], &rows) else {
        return;
    };
    assert_eq!(lines[..2], ["1 1 1 0", "0 1 0 0"]);
    rows[2].flags |= 0xe0;
    // after an AccECN handshake, tshark shows the three bits as one number
    let Some(lines) = tshark(&["tcp.flags.ace", "tcp.flags.urg"], &rows) else { return };
    assert_eq!(lines[2], "7 0");
}

#[test]
fn tshark_reads_the_counters_of_the_accecn_option_beside_the_other_options() {
    let mut rows = story();
    rows[1].accecn = AccEcnCounts { len: 3, counters: [1, 0, 1] };
    rows[10].accecn = AccEcnCounts { len: 3, counters: [1, 1448, 0xff_ffff] };
    rows[11].accecn = AccEcnCounts { len: 2, counters: [2897, 0x01_0203, 0] }; // with timestamps and a SACK block
    let fields = ["ip.len", "tcp.options.acc_ecn.ee1b", "tcp.options.acc_ecn.eceb", "tcp.options.acc_ecn.ee0b"];
    let Some(lines) = tshark(&fields, &rows) else { return };
    assert_eq!(lines[1], "72 1 0 1");
    // the story's rows 8 and 9, a drop and a mark at a link, are not in the file
    assert_eq!(lines[8], "64 1 1448 16777215");
    assert_eq!(lines[9], "72 2897 66051");
    let Some(lines) = tshark(&["tcp.options.sack_le", "tcp.options.timestamp.tsval"], &rows) else { return };
    assert_eq!(lines[9], "2897 22");
}

#[test]
fn tshark_sees_the_retransmission_the_duplicates_the_zero_window_and_no_loss_of_its_own() {
    let count = |filter: &str| {
        let args = ["-n", "-Y", filter, "-T", "fields", "-e", "frame.number", "-r"];
        tool("tshark", &args, &story()).map(|text| text.lines().count())
    };
    for (filter, expected) in [
        ("tcp.analysis.retransmission", 1),
        ("tcp.analysis.duplicate_ack", 3),
        ("tcp.analysis.zero_window", 1),
        ("tcp.analysis.lost_segment or tcp.analysis.ack_lost_segment", 0),
        ("tcp.flags.ece == 1", 3),
        ("tcp.options.sack_le == 2897", 3),
    ] {
        let Some(seen) = count(filter) else { return };
        assert_eq!(seen, expected, "{filter}");
    }
}

#[test]
fn drops_and_marks_are_comments_on_the_packet_as_it_was_sent() {
    let Some(lines) = tshark(&["frame.number", "frame.comment"], &story()) else { return };
    let commented: Vec<_> = lines.into_iter().filter(|line| line.contains(' ')).collect();
    assert_eq!(commented, ["5 dropped (queue full) at r1>r2 at 12000000 ns", "6 marked CE at r1>r2 at 12000000 ns"]);
}

#[test]
fn the_comment_is_on_the_copy_that_it_is_about() {
    let [mut first, mut again, mut lost] = [segment(0, SegmentEvent::Send); 3];
    (first.len, again.len, lost.len) = (1000, 1000, 1000);
    (first.ip_id, again.ip_id, lost.ip_id) = (Some(7), Some(8), Some(7));
    (again.time_ns, again.event) = (MS, OneOf(SegmentEvent::Retransmit));
    // the first copy is dropped when the second is already on its way
    (lost.time_ns, lost.event, lost.sent, lost.link) = (2 * MS, OneOf(SegmentEvent::Drop), false, Some(0));
    assert_eq!(comments(&[first, again, lost], &[]).into_keys().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_packet_marked_on_its_way_to_the_node_says_so_where_it_arrives() {
    let [mut marked, mut arrived] = [segment(0, SegmentEvent::Mark); 2];
    (marked.sent, marked.link, marked.from_client) = (false, Some(0), false);
    (arrived.time_ns, arrived.event, arrived.sent, arrived.from_client) =
        (MS, OneOf(SegmentEvent::Receive), false, false);
    let found = comments(&[marked, arrived], &["r1>r2".into()]);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(1, "marked CE at r1>r2 at 0 ns".into())]);
}

#[test]
fn every_packet_has_the_identification_its_sender_gave_it() {
    let Some(lines) = tshark(&["ip.src", "ip.id"], &story()) else { return };
    let expected: Vec<String> = story()
        .iter()
        .filter(|row| row.link.is_none())
        .map(|row| format!("10.0.0.{} 0x{:04x}", if row.from_client { 1 } else { 4 }, row.ip_id.unwrap()))
        .collect();
    assert_eq!(lines, expected);
    assert_eq!(expected.iter().collect::<std::collections::BTreeSet<_>>().len(), expected.len());
}

#[test]
fn tcptrace_counts_what_the_run_did() {
    let Some(text) = tool("tcptrace", &["-n", "-l"], &story()) else { return };
    // the columns are a->b and b->a
    let text = text.split_once("a->b").unwrap().1;
    let both = |label: &str| -> Vec<u64> {
        let line = text.lines().find(|line| line.trim_start().starts_with(label));
        let line = line.unwrap_or_else(|| panic!("{label} is not in\n{text}"));
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    assert_eq!(both("total packets:"), [8, 6]);
    assert_eq!(both("unique bytes sent:"), [5 * 1448, 0]);
    assert_eq!(both("rexmt data pkts:"), [1, 0]);
    assert_eq!(both("rexmt data bytes:"), [1448, 0]);
    assert_eq!(both("sack pkts sent:"), [0, 3]);
    assert_eq!(both("zero win adv:"), [0, 1]);
    assert_eq!(both("mss requested:"), [1460, 1460]);
}

#[test]
fn datagrams_are_udp_with_true_checksums() {
    let mut row = segment(5 * MS, SegmentEvent::Send);
    (row.flags, row.len, row.ecn, row.wire_bytes) = (0, 1472, 1, 1500);
    let flow = Flow { datagrams: true, ..FLOW };
    let (packet, total) = headers(Network::Ipv4, &row, 0, flow, &mut Scaling::default());
    assert_eq!((packet.len(), total, packet[9], packet[1]), (28, 1500, 17, 1));
    assert_eq!(packet[24..26], 1480_u16.to_be_bytes());
    // all 16-bit words of the pseudo-header, the header and a payload of zeros add up to 0xffff (RFC 768)
    let pseudo = [&packet[12..20], &[0, 17], &packet[24..26], &packet[20..]].concat();
    let sum: u32 = pseudo.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
}

#[test]
fn ipv6_headers_have_the_ecn_field_in_the_traffic_class_and_true_checksums() {
    let mut row = segment(5 * MS, SegmentEvent::Send);
    (row.len, row.ecn) = (1428, 2);
    for datagrams in [false, true] {
        let (packet, total) = headers(Network::Ipv6, &row, 0, Flow { datagrams, ..FLOW }, &mut Scaling::default());
        let (protocol, of_protocol) = if datagrams { (17, 8) } else { (6, packet.len() as u32 - 40) };
        assert_eq!((packet[0], packet[1], packet[6], total), (0x60, 0x20, protocol, 40 + of_protocol + 1428));
        assert_eq!(packet[4..6], ((of_protocol + 1428) as u16).to_be_bytes());
        assert_eq!((packet[8], packet[23], packet[24], packet[39]), (0xfd, 1, 0xfd, 4));
        // RFC 8200, section 8.1: addresses, length, three zeros and the protocol.
        let pseudo = [&packet[8..40], &[0, 0], &packet[4..6], &[0, 0, 0, protocol], &packet[40..]].concat();
        let sum: u32 = pseudo.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{protocol}");
    }
}

#[test]
fn a_row_of_an_unknown_connection_is_refused() {
    let error = write(&mut Vec::new(), "client", &story(), &[], &[], Network::Ipv4).unwrap_err();
    assert_eq!(error.to_string(), "connection 0 is not known");
}
