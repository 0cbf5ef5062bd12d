//! Segments in the syntax of scripts.

use crate::error::{unsupported, wrong, Result};
use crate::script::{EcnBits, Options, Packet};
use cwndlab_tcp::{AccEcnOption, Flags};
use std::fmt::Write as _;

const FLAG_LETTERS: [(char, Flags); 8] = [
    ('F', Flags::FIN),
    ('S', Flags::SYN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('.', Flags::ACK),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
];

const SEGMENT: &str = "a segment as in P. 1:1001(1000) ack 1 win 257 <sackOK>";

/// Parses a segment such as `[ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 1 ecr 2>`.
pub(crate) fn parse_packet(line: usize, text: &str) -> Result<Packet> {
    let mut packet = Packet { options: Some(Options::default()), ..Packet::default() };
    let mut rest = text.trim();
    if rest.is_empty() {
        return wrong(line, format!("expected {SEGMENT}, found nothing"));
    }
    if let Some(close) = [('[', ']'), ('(', ')')].iter().find(|pair| rest.starts_with(pair.0)).map(|pair| pair.1) {
        let Some(end) = rest.find(close) else { return wrong(line, format!("expected {close} in {rest:?}")) };
        packet.ecn = ip_info(line, &rest[1..end])?;
        rest = rest[end + 1..].trim_start();
    }
    if let Some(open) = rest.find('<') {
        let Some(length) = rest[open..].find('>') else {
            return wrong(line, format!("expected > after the options {:?}", &rest[open..]));
        };
        let tail = rest[open + length + 1..].trim();
        if !tail.is_empty() {
            return wrong(line, format!("expected the line's end after the options, found {tail:?}"));
        }
        packet.options = parse_options(line, &rest[open + 1..open + length])?;
        rest = rest[..open].trim_end();
    }
    let flags = rest.split_whitespace().next().unwrap_or_default();
    if matches!(flags, "icmp" | "udp" | "ipv4" | "ipv6" | "gre" | "mpls" | "sctp") {
        return unsupported(line, format!("{flags} packets are not supported, only TCP segments"));
    }
    packet.flags = parse_flags(line, flags)?;
    let rest = rest[flags.len()..].trim_start();
    if rest.is_empty() {
        return wrong(line, format!("expected first:last(length) after the flags {flags:?}, found nothing"));
    }
    // White space within the sequence has no meaning.
    let (sequence, rest) = rest.split_at(rest.find(')').map_or(rest.len(), |close| close + 1));
    let sequence: String = sequence.split_whitespace().collect();
    (packet.seq, packet.len) = parse_sequence(line, &sequence)?;
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        let found = words.next();
        let value = found.and_then(|v| v.parse::<u32>().ok());
        match (word, value) {
            ("ack", Some(n)) => packet.ack = Some(n),
            ("win", Some(n)) => packet.window = Some(n),
            ("urg", _) => return unsupported(line, "urgent data is not supported"),
            ("ack" | "win", None) => {
                let found = found.map_or("nothing".to_string(), |v| format!("{v:?}"));
                return wrong(line, format!("expected a number after {word}, found {found}"));
            }
            _ => return wrong(line, format!("expected ack N, win N or <options>, found {word:?}")),
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
    let bad_flags = || {
        wrong(line, format!("expected flags (letters of FSRPEWA., a digit for AE, CWR and ECE, or -), found {text:?}"))
    };
    if text.is_empty() || text.contains(':') {
        return bad_flags();
    }
    if text == "-" {
        return Ok(0);
    }
    let mut flags = 0;
    for c in text.chars() {
        match FLAG_LETTERS.iter().find(|(letter, _)| *letter == c) {
            Some((_, flag)) => flags |= flag.0,
            None if matches!(c, '0'..='7') => flags |= Flags::of_ace(c as u8 - b'0').0,
            None if matches!(c, 'C' | 'U' | '8' | '9') => {
                return unsupported(line, format!("flag {c} of {text:?} is not supported"))
            }
            None => return bad_flags(),
        }
    }
    Ok(flags)
}

fn parse_sequence(line: usize, text: &str) -> Result<(Option<u32>, u32)> {
    let unnumbered = text.strip_prefix("...(").and_then(|rest| rest.strip_suffix(')')?.parse::<u32>().ok());
    if let Some(length) = unnumbered {
        return Ok((None, length));
    }
    let parts = text.split_once(':').and_then(|(first, rest)| {
        let (last, length) = rest.strip_suffix(')')?.split_once('(')?;
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?, length.parse::<u32>().ok()?))
    });
    match parts {
        Some((first, last, length)) if first.wrapping_add(length) == last => Ok((Some(first), length)),
        Some((first, last, length)) => {
            let right = i64::from(last) - i64::from(first);
            wrong(line, format!("expected the length {right} of {first}:{last}, found {length}"))
        }
        None => wrong(line, format!("expected first:last(length), found {text:?}")),
    }
}

const OPTIONS: &str = "mss N, wscale N, sackOK, TS val N ecr N, sack A:B …, ECN e1b N ceb N e0b N and nop";

/// Whether the numbers of a known option can be parsed.
fn well_formed(words: &[&str]) -> bool {
    match words {
        ["sackOK"] => true,
        ["mss", n] => n.parse::<u16>().is_ok(),
        ["wscale", n] => n.parse::<u8>().is_ok(),
        ["TS", "val", val, "ecr", ecr] => val.parse::<u32>().is_ok() && ecr.parse::<u32>().is_ok(),
        ["ECN", fields @ ..] => accecn(fields).is_some(),
        ["sack", blocks @ ..] => !blocks.is_empty() && blocks.iter().all(|block| sack_block(block).is_some()),
        _ => false,
    }
}

/// Parses the AccECN option: all counters, or the first one or two, in one of the two orders of RFC 9768.
fn accecn(words: &[&str]) -> Option<AccEcnOption> {
    const ORDERS: [[&str; 3]; 2] = [["e0b", "ceb", "e1b"], ["e1b", "ceb", "e0b"]];
    let order = u8::from(words.first() != Some(&"e0b"));
    let mut option = AccEcnOption { order, ..AccEcnOption::default() };
    if words.len() > 6 || words.len() % 2 != 0 {
        return None;
    }
    for (field, pair) in words.chunks(2).enumerate() {
        if pair[0] != ORDERS[usize::from(order)][field] {
            return None;
        }
        option.counters[field] = pair[1].parse().ok().filter(|&value| value < 1 << 24)?;
        option.fields += 1;
    }
    Some(option)
}

fn sack_block(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once(':')?;
    Some((first.parse().ok()?, last.parse().ok()?))
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
            ["mss" | "wscale" | "sackOK" | "TS" | "sack" | "ECN", ..] if !well_formed(&words) => {
                return wrong(line, format!("expected {OPTIONS}, found {:?}", option.trim()));
            }
            ["sackOK"] => options.sack_permitted = true,
            ["mss", n] => options.mss = n.parse().ok(),
            ["wscale", n] => options.window_scale = n.parse().ok(),
            ["TS", _, val, _, ecr] => options.timestamps = val.parse().ok().zip(ecr.parse().ok()),
            ["sack", blocks @ ..] => options.sack.extend(blocks.iter().filter_map(|block| sack_block(block))),
            ["ECN", fields @ ..] => options.accecn = accecn(fields),
            [name, ..] => return unsupported(line, format!("TCP option {name} is not supported, only {OPTIONS}")),
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
    let _ = match packet.seq {
        Some(first) => write!(text, " {first}:{}({})", first.wrapping_add(packet.len), packet.len),
        None => write!(text, " ...({})", packet.len),
    };
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
    if let Some(option) = options.accecn {
        let names = if option.order == 0 { ["e0b", "ceb", "e1b"] } else { ["e1b", "ceb", "e0b"] };
        let counters = names.iter().zip(option.counters).take(usize::from(option.fields));
        list.push(counters.fold("ECN".to_string(), |text, (name, value)| format!("{text} {name} {value}")));
    }
    if !list.is_empty() {
        let _ = write!(text, " <{}>", list.join(","));
    }
    text
}
