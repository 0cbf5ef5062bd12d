//! Segments as scripts write them.

use crate::parse::{syntax, unsupported, Result};
use crate::script::{EcnBits, Options, Packet};
use cwndlab_tcp::Flags;
use std::fmt::Write as _;

const FLAG_LETTERS: [(char, Flags); 7] = [
    ('F', Flags::FIN),
    ('S', Flags::SYN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
];

/// `[ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`
pub(crate) fn parse_packet(line: usize, text: &str) -> Result<Packet> {
    let mut packet = Packet { options: Some(Options::default()), ..Packet::default() };
    let mut rest = text.trim();
    if let Some(inner) = rest.strip_prefix('[').or_else(|| rest.strip_prefix('(')) {
        let Some(end) = inner.find([']', ')']) else { return syntax(line, "[ without ]") };
        packet.ecn = ip_info(line, &inner[..end])?;
        rest = inner[end + 1..].trim_start();
    }
    if let Some(open) = rest.find('<') {
        let Some(close) = rest.rfind('>') else { return syntax(line, "options without >") };
        packet.options = parse_options(line, &rest[open + 1..close])?;
        rest = rest[..open].trim_end();
    }
    let mut words = rest.split_whitespace();
    let flags = words.next().unwrap_or_default();
    if matches!(flags, "icmp" | "udp" | "ipv4" | "ipv6" | "gre" | "mpls" | "sctp") {
        return unsupported(line, format!("{flags} packets are not supported, only TCP segments"));
    }
    packet.flags = parse_flags(line, flags)?;
    let Some(sequence) = words.next() else { return syntax(line, "expected first:last(length) after the flags") };
    (packet.seq, packet.len) = parse_sequence(line, sequence)?;
    while let Some(word) = words.next() {
        let value = words.next().and_then(|v| v.parse::<u32>().ok());
        match (word, value) {
            ("ack", Some(n)) => packet.ack = Some(n),
            ("win", Some(n)) => packet.window = Some(n),
            ("urg", _) => return unsupported(line, "urgent data is not supported"),
            _ => return syntax(line, format!("{word:?}: expected ack N, win N or <options>")),
        }
    }
    Ok(packet)
}

fn ip_info(line: usize, text: &str) -> Result<Option<EcnBits>> {
    Ok(Some(match text.trim() {
        "noecn" => EcnBits::NotEct,
        "ect0" => EcnBits::Ect0,
        "ect1" => EcnBits::Ect1,
        "ect01" => EcnBits::Ect01,
        "ce" => EcnBits::Ce,
        other => {
            return unsupported(
                line,
                format!("[{other}]: of the IP header only ECN bits (noecn, ect0, ect1, ect01, ce)"),
            )
        }
    }))
}

fn parse_flags(line: usize, text: &str) -> Result<u8> {
    if text == "-" {
        return Ok(0);
    }
    let mut flags = 0;
    for c in text.chars() {
        match FLAG_LETTERS.iter().find(|(letter, _)| *letter == c) {
            Some((_, flag)) => flags |= flag.0,
            None if matches!(c, 'A' | 'C' | 'U' | '0'..='9') => {
                return unsupported(line, format!("flag {c} is not supported"))
            }
            None => return syntax(line, format!("flags {text:?}: expected letters of FSRPEW. or -")),
        }
    }
    Ok(flags)
}

fn parse_sequence(line: usize, text: &str) -> Result<(u32, u32)> {
    let parts = text.split_once(':').and_then(|(first, rest)| {
        let (last, length) = rest.strip_suffix(')')?.split_once('(')?;
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?, length.parse::<u32>().ok()?))
    });
    match parts {
        Some((first, last, length)) if first.wrapping_add(length) == last => Ok((first, length)),
        Some(_) => syntax(line, format!("{text}: the length does not fit the sequence numbers")),
        None => syntax(line, format!("{text:?}: expected first:last(length)")),
    }
}

fn parse_options(line: usize, text: &str) -> Result<Option<Options>> {
    let mut options = Options::default();
    if text.trim() == "..." {
        return Ok(None);
    }
    for option in text.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        match words.as_slice() {
            ["nop" | "eol"] | [] => {}
            ["sackOK"] => options.sack_permitted = true,
            ["mss", n] if n.parse::<u16>().is_ok() => options.mss = n.parse().ok(),
            ["wscale", n] if n.parse::<u8>().is_ok() => options.window_scale = n.parse().ok(),
            ["TS", "val", val, "ecr", ecr] => match (val.parse(), ecr.parse()) {
                (Ok(val), Ok(ecr)) => options.timestamps = Some((val, ecr)),
                _ => return syntax(line, format!("{option:?}: expected TS val N ecr N")),
            },
            ["sack", blocks @ ..] => {
                for block in blocks {
                    match block.split_once(':').map(|(a, b)| (a.parse(), b.parse())) {
                        Some((Ok(first), Ok(last))) => options.sack.push((first, last)),
                        _ => return syntax(line, format!("{block:?}: expected first:last of a SACK block")),
                    }
                }
            }
            _ => return unsupported(line, format!("option {:?} is not supported", option.trim())),
        }
    }
    Ok(Some(options))
}

/// A segment in the script's syntax, for messages.
pub(crate) fn show(packet: &Packet) -> String {
    let mut text = String::new();
    if let Some(ecn) = packet.ecn {
        let name = match ecn {
            EcnBits::NotEct => "noecn",
            EcnBits::Ect0 => "ect0",
            EcnBits::Ect1 => "ect1",
            EcnBits::Ce => "ce",
            EcnBits::Ect01 => "ect01",
        };
        let _ = write!(text, "[{name}] ");
    }
    text.extend(FLAG_LETTERS.iter().filter(|(_, flag)| packet.flags & flag.0 != 0).map(|(letter, _)| letter));
    let _ = write!(text, " {}:{}({})", packet.seq, packet.seq.wrapping_add(packet.len), packet.len);
    if let Some(ack) = packet.ack {
        let _ = write!(text, " ack {ack}");
    }
    if let Some(window) = packet.window {
        let _ = write!(text, " win {window}");
    }
    let Some(options) = &packet.options else { return text + " <...>" };
    let mut list = Vec::new();
    list.extend(options.mss.map(|n| format!("mss {n}")));
    list.extend(options.sack_permitted.then(|| "sackOK".to_string()));
    list.extend(options.timestamps.map(|(val, ecr)| format!("TS val {val} ecr {ecr}")));
    list.extend(options.window_scale.map(|n| format!("wscale {n}")));
    if !options.sack.is_empty() {
        let blocks: Vec<String> = options.sack.iter().map(|(first, last)| format!("{first}:{last}")).collect();
        list.push(format!("sack {}", blocks.join(" ")));
    }
    if !list.is_empty() {
        let _ = write!(text, " <{}>", list.join(","));
    }
    text
}
