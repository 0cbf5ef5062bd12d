use super::*;
use crate::script::{EcnBits, Options, Packet};
use crate::segment::show;

fn events(text: &str) -> Vec<Event> {
    parse(text).expect("a script").events
}

fn when(text: &str) -> When {
    events(&format!("{text} < . 1:1(0) ack 1 win 9"))[0].when
}

#[test]
fn times_are_absolute_relative_ranges_or_any() {
    let at = |ns| Some(Time::from_nanos(ns));
    assert_eq!(when("0"), When { relative: false, at: at(0), until: None });
    assert_eq!(when("0.3"), When { relative: false, at: at(300_000_000), until: None });
    assert_eq!(when("+.000123"), When { relative: true, at: at(123_000), until: None });
    assert_eq!(when("1.5~2.5"), When { relative: false, at: at(1_500_000_000), until: at(2_500_000_000) });
    assert_eq!(when("+.3~+.303"), When { relative: true, at: at(300_000_000), until: at(303_000_000) });
    assert_eq!(when("+ \t.3"), When { relative: true, at: at(300_000_000), until: None });
    assert_eq!(when("1000000"), When { relative: false, at: at(1_000_000_000_000_000), until: None });
    let late = parse("1000001 < . 1:1(0)").expect_err("too late").message;
    assert!(late.contains("at most 1000000 s"), "{late}");
    assert_eq!(when("*"), When { relative: false, at: None, until: None });
}

#[test]
fn segments_have_flags_numbers_window_options_and_ecn_bits() {
    let text = "+0 > [ect0] P. 1:1001(1000) ack 7 win 257 <nop,nop,TS val 100 ecr 200,sack 3:4 5:6>";
    let Action::Expect(packet) = events(text)[0].action.clone() else { panic!("a segment") };
    assert_eq!(
        packet,
        Packet {
            ecn: Some(EcnBits::Ect0),
            flags: 0x18,
            seq: Some(1),
            len: 1000,
            ack: Some(7),
            window: Some(257),
            options: Some(Options { timestamps: Some((100, 200)), sack: vec![(3, 4), (5, 6)], ..Options::default() }),
        }
    );
    assert_eq!(show(&packet), "[ect0] P. 1:1001(1000) ack 7 win 257 <TS val 100 ecr 200,sack 3:4 5:6>");
}

#[test]
fn options_left_open_are_not_compared_and_absent_ones_must_be_absent() {
    let options = |text: &str| match events(text)[0].action.clone() {
        Action::Expect(packet) => packet.options,
        _ => panic!("a segment"),
    };
    assert_eq!(options("0 > S 0:0(0) <...>"), None);
    assert_eq!(options("0 > S 0:0(0)"), Some(Options::default()));
}

#[test]
fn options_are_read_within_the_ranges_of_their_fields() {
    let options = |text: &str| match parse(&format!("0 < . 1:1(0) <{text}>")) {
        Ok(script) => match script.events[0].action.clone() {
            Action::Inject(packet) => packet.options,
            _ => panic!("a segment"),
        },
        Err(_) => None,
    };
    let plain = Options::default;
    let accecn = |order, fields, counters| {
        Some(Options { accecn: Some(cwndlab_tcp::AccEcnOption { order, fields, counters }), ..plain() })
    };
    for (text, expected) in [
        ("nop,eol", Some(plain())),
        ("mss 65535", Some(Options { mss: Some(65_535), ..plain() })),
        ("wscale 14", Some(Options { window_scale: Some(14), ..plain() })),
        ("sackOK", Some(Options { sack_permitted: true, ..plain() })),
        ("TS val 4294967295 ecr 0", Some(Options { timestamps: Some((u32::MAX, 0)), ..plain() })),
        ("ECN e0b 1 ceb 2 e1b 3", accecn(0, 3, [1, 2, 3])),
        ("ECN e1b 16777215", accecn(1, 1, [16_777_215, 0, 0])),
        ("ECN e1b 4 ceb 5", accecn(1, 2, [4, 5, 0])),
        ("ECN", accecn(1, 0, [0; 3])),
        ("mss 65536", None),
        ("wscale 256", None),
        ("sackOK 1", None),
        ("TS val x ecr 1", None),
        ("TS val 1 ecr x", None),
        ("sack", None),
        ("sack 1:2 3:x", None),
        ("ECN e1b", None),
        ("ECN e1b 1 ceb 2 e0b 3 e1b 4", None),
        ("ECN e1b 1 e0b 2", None),
        ("ECN ceb 1", None),
        ("ECN e1b 16777216", None),
    ] {
        assert_eq!(options(text), expected, "{text}");
    }
}

#[test]
fn calls_have_arguments_result_error_and_a_time_of_return() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                +0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0\n\
                +.1...0.2 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)\n\
                +0 writev(4, [{..., 10}, {..., 20}], 2) = ?";
    let calls: Vec<(Call, Option<Time>)> = events(text)
        .into_iter()
        .map(|event| match event.action {
            Action::Call { call, end } => (call, end),
            _ => panic!("a call"),
        })
        .collect();
    assert_eq!(calls[0].0.arguments, ["...", "SOCK_STREAM", "IPPROTO_TCP"]);
    assert_eq!(calls[1].0.arguments[3], "\"reno\"");
    assert_eq!((calls[2].0.result, calls[2].0.errno.as_deref()), (Some(-1), Some("EINPROGRESS")));
    assert_eq!(calls[2].1, Some(Time::from_millis(200)));
    assert_eq!((calls[3].0.result, calls[3].0.arguments.len()), (None, 3));
}

#[test]
fn a_comment_ends_after_its_opening() {
    for comment in ["/*/ close(3) */", "/**/", "/***/", "/*/*/", "/* // */", "/*/\n close(3) /*/"] {
        let script = parse(&format!("{comment}\n0 close(3) = 0")).expect(comment);
        assert_eq!(script.events.len(), 1, "{comment}");
    }
    assert!(parse("/*/\n0 close(3) = 0").is_err());
}

#[test]
fn lines_are_counted_through_comments_code_and_commands() {
    let text = "// one\n`sysctl -q net.ipv4.tcp_sack=0 # why\n`\n/* four\nfive */\n0 socket(..., SOCK_STREAM, 0) = 3\n\
                +0 %{\n# no comment of ours\nassert 1 // 1 == 1\n}%\n# eleven\n+0 < . 1:1(0) ack 1 win 9";
    let script = parse(text).expect("a script");
    assert_eq!(script.setup, [(2, "sysctl -q net.ipv4.tcp_sack=0 # why\n".to_string())]);
    assert_eq!(script.events.iter().map(|e| e.line).collect::<Vec<_>>(), [6, 7, 12]);
    assert_eq!(script.events[1].action, Action::Code("\n# no comment of ours\nassert 1 // 1 == 1\n".into()));
}

/// The tolerance is the larger of a time and a share of the time since the previous event, as in packetdrill.
#[test]
fn tolerance_is_an_option() {
    for (options, after, ms) in [
        ("", Time::from_millis(10), 4.0),
        ("", Time::from_secs(1), 125.0),
        ("--tolerance_usecs=20000\n", Time::from_millis(10), 20.0),
        ("--tolerance_percent=1\n", Time::from_secs(1), 10.0),
        ("--mss=1000 --tolerance_usecs=1000 --tolerance_percent=0\n", Time::from_secs(1), 1.0),
    ] {
        let script = parse(&format!("{options}0 close(3) = 0")).expect(options);
        assert_eq!(script.options.tolerance.over(after), Time::from_secs_f64(ms / 1e3), "{options} after {after}");
    }
}

/// For each mistake: the line, what was expected and what was found.
#[test]
fn mistakes_name_their_line() {
    for (text, line, expected, found) in [
        ("\n\n0 > X 0:0(0)", 3, "flags (letters of FSRPEWA., a digit", "\"X\""),
        ("0 > 1:1(0) ack 1", 1, "flags", "\"1:1(0)\""),
        ("0 >", 1, "a segment", "nothing"),
        ("0 > .", 1, "first:last(length)", "nothing"),
        ("0 > . 0:1(0)", 1, "the length 1 of 0:1", "0"),
        ("0 > . -1:1(2)", 1, "first:last(length)", "\"-1:1(2)\""),
        ("0 > . 1:1(0) ak 3", 1, "ack N", "\"ak\""),
        ("0 > . 1:1(0) ack", 1, "a number after ack", "nothing"),
        ("0 > . 1:1(0) win x", 1, "a number after win", "\"x\""),
        ("0 > [ect0 . 1:1(0)", 1, "]", "[ect0"),
        ("0 > . 1:1(0) <sackOK> win 3", 1, "the line's end", "\"win 3\""),
        ("0 > . 1:1(0) <sackOK", 1, "> after the options", "<sackOK"),
        ("0 < . 1:1(0) <sack 1>", 1, "sack A:B", "\"sack 1\""),
        ("0 < . 1:1(0) <mss>", 1, "mss N", "\"mss\""),
        ("0 socket(...", 1, "the ) of socket(", "end"),
        ("0 bind(3)", 1, "= and its result", "nothing"),
        ("0 bind(3)) = 0", 1, "= and its result", "\")\""),
        ("0 bind 3 = 0", 1, "a system call", "\"bind 3 = 0\""),
        ("0 read(4, ..., 9) = x", 1, "an integer or ?", "x"),
        ("0 read(4, ..., 9) = -1 EWHAT (What)", 1, "an error's name", "\"EWHAT\""),
        ("0 read(4, ..., 9) = -1 EAGAIN", 1, "the text of EAGAIN in ( )", "none"),
        ("\n+x < . 1:1(0)", 2, "a time in seconds", "\"x\""),
        ("This is prose", 1, "a time in seconds", "\"This\""),
        ("+.2~.3 < . 1:1(0)", 1, "+a~+b", "\".3\""),
        ("+.2~+.1 < . 1:1(0)", 1, "a range", "ends before it begins"),
        ("0 ?", 1, "a system call", "\"?\""),
        ("0 %{ assert 1", 1, "}% after %{", "end"),
        ("0 `true", 1, "` after `", "end"),
        ("0 close(3) = 0\n/* or", 2, "*/ after /*", "end"),
        ("// nothing", 1, "a time in seconds", "no events"),
        ("--tolerance_usecs=soon", 1, "microseconds", "soon"),
        ("--tolerance_percent=200", 1, "0 to 100", "200"),
        ("--tcp_ts_tick_usecs=x", 1, "0 to 1000000 microseconds", "x"),
        ("--mtu=9", 1, "68 to 65535", "9"),
        ("--ip_version=ipv5", 1, "ipv6", "ipv5"),
        ("--mss=1000 x", 1, "--name=value", "\"x\""),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.message.contains("expected"), "{text}: {error}");
        assert!(error.message.contains(expected) && error.message.contains(found), "{text}: {error}");
        assert!(!error.unsupported, "{text}: {error}");
    }
}

#[test]
fn what_is_not_supported_says_so() {
    for text in [
        "0 < icmp unreachable",
        "0 < . 1:1(0) urg 3",
        "0 > S 0:0(0) <FO abcd>",
        "--frobnicate=3",
        "--define=X=3",
        "--non_fatal=packet",
        "0 > (flowlabel 0x1) . 1:1(0)",
    ] {
        assert!(parse(text).expect_err(text).unsupported, "{text}");
    }
}

/// The MSS offered follows from the tool's own options for the path.
#[test]
fn the_mtu_and_the_ip_version_leave_an_mss() {
    for (options, mss) in [
        ("", None),
        ("--ip_version=ipv4\n", None),
        ("--ip_version=ipv6\n", Some(1440)),
        ("--mtu=9000\n", Some(8960)),
        ("--mtu=1280 --ip_version=ipv6\n", Some(1220)),
    ] {
        assert_eq!(parse(&format!("{options}0 close(3) = 0")).expect(options).options.mss(), mss, "{options}");
    }
}

#[test]
fn sequence_numbers_may_be_left_open() {
    let Action::Expect(packet) = events("0 > S. ...(0) ack 4")[0].action.clone() else { panic!("a segment") };
    assert_eq!((packet.seq, packet.len, packet.ack), (None, 0, Some(4)));
    assert_eq!(show(&packet), "S. ...(0) ack 4");
}
