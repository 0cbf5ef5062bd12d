use super::*;
use cwndlab_tcp::Profile;
use std::path::Path;

mod shutdown;

/// Every script of `scripts/PROFILE/` passes with that profile.
#[test]
fn own_scripts_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut failures = Vec::new();
    let mut count = 0;
    for profile in Profile::ALL {
        let Ok(folder) = std::fs::read_dir(root.join(profile.name())) else { continue };
        let mut paths: Vec<_> = folder.map(|entry| entry.expect("a file").path()).collect();
        paths.sort();
        for path in paths {
            count += 1;
            let text = std::fs::read_to_string(&path).expect("a script");
            if let Err(error) = run(&text, &crate::config(profile, None)) {
                failures.push(format!("{}:{error}", path.display()));
            }
        }
    }
    assert!(count >= 15, "{count} scripts found");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

const OPENS: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
";

/// Each case has the lines that follow the seven lines of `OPENS` (which pass), the number of the line that fails, and
/// parts of the message.
#[test]
fn what_the_endpoint_contradicts_says_what_was_expected_and_what_came() {
    let sends = "+0 write(4, ..., 1000) = 1000\n";
    for (lines, line, parts) in [
        ("+0 > . 1:1001(1000) ack 1", 8, ["expected . 1:1001(1000) ack 1 at 0.1", "nothing was sent by 0.104"]),
        (
            &format!("{sends}+0 > . 1:1001(1000) ack 2"),
            9,
            ["acknowledgment: expected . 1:1001(1000) ack 2", "sent P. 1:1001(1000) ack 1"],
        ),
        (
            &format!("{sends}+0 > . 1:1002(1001) ack 1"),
            9,
            ["sequence numbers: expected . 1:1002(1001)", "sent P. 1:1001(1000)"],
        ),
        (&format!("{sends}+0 > F. 1:1001(1000) ack 1"), 9, ["flags: expected F. 1:1001(1000)", "sent P. 1:1001(1000)"]),
        (
            &format!("{sends}+0 > . 1:1001(1000) ack 1 win 5"),
            9,
            ["window: expected . 1:1001(1000) ack 1 win 5", "ack 1 win 64240"],
        ),
        (&format!("{sends}+0 > [ect0] . 1:1001(1000) ack 1"), 9, ["ECN bits: expected [ect0]", "sent [noecn]"]),
        (
            &format!("{sends}+0 > . 1:1001(1000) ack 1 <nop,nop,TS val 1 ecr 2>"),
            9,
            ["options: expected", "<TS val 1 ecr 2>"],
        ),
        (
            &format!("{sends}+.1 > . 1:1001(1000) ack 1"),
            9,
            ["at 0.200000 s, but it was sent at 0.100000 s", "tolerance 0.0125"],
        ),
        ("0.05 close(4) = 0", 8, ["expected it to happen at 0.050000 s", "it is 0.100000 s already"]),
        ("+0 write(9, ..., 1) = 1", 8, ["expected an open file descriptor (3, 4)", "found 9"]),
        ("+0 write(3, ..., 1) = 1", 8, ["expected a connected socket", "found one that listens"]),
        ("+0 write(x, ..., 1) = 1", 8, ["expected a file descriptor", "found \"x\""]),
        ("+0 read(4, ..., 9) = 9", 8, ["expected read(…) to return", "it blocks"]),
        ("+0...0.2 read(4, ..., 9) = 9", 8, ["expected read(…) to return at 0.300", "it blocks still"]),
        ("+0...0.5 read(4, ..., 9) = 9\n+.1 < . 1:10(9) ack 1 win 9", 8, ["to return at 0.600", "it did at 0.200"]),
        ("+0 < . 1:6(5) ack 1 win 9\n+0 read(4, ..., 9) = 9", 9, ["to return 9", "it returned 5"]),
        ("+0 %{\nx = 1\nassert tcpi_snd_cwnd == x\n}%", 10, ["assertion failed", "found tcpi_snd_cwnd = 10"]),
    ] {
        let error = run(&format!("{OPENS}{lines}"), &Profile::Linux6.config()).expect_err(lines);
        assert_eq!(error.line, line, "{lines}: {error}");
        assert!(!error.unsupported && parts.iter().all(|part| error.message.contains(part)), "{lines}: {error}");
    }
    let error = run("0 %{ assert tcpi_snd_cwnd == 1 }%", &Profile::Linux6.config()).expect_err("no connection");
    assert!(error.message.contains("before there is a connection"), "{error}");
}

#[test]
fn what_is_not_there_is_told_from_what_fails() {
    for (script, part) in [
        (format!("{OPENS}+0 wriet(4, ..., 9) = 9"), "\"wriet\" is not supported; there are socket"),
        (
            format!("{OPENS}+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"vegas\", 5) = 0"),
            "only bbr, cubic, dctcp and reno",
        ),
        (format!("`sysctl -q net.ipv4.tcp_congestion_control=vegas`\n{OPENS}"), "only bbr, cubic, dctcp and reno"),
        (format!("{OPENS}+0 %{{ assert tcpi_rcv_rtt == 1 }}%"), "no tcpi_rcv_rtt; it has tcpi_"),
        (format!("{OPENS}+0 setsockopt(4, SOL_TCP, TCP_QUICKACK, [1], 4) = 0"), "TCP_QUICKACK, …) is not supported"),
        (format!("{OPENS}+0 setsockopt(4, SOL_SOCKET, SO_RCVBUF, [9000], 4) = 0"), "SO_RCVBUF of a connection"),
        (format!("{OPENS}+0 setsockopt(4, SOL_TCP, TCP_MAXSEG, [900], 4) = 0"), "TCP_MAXSEG of a connection"),
        (format!("{OPENS}+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [9000], [4]) = 0"), "SO_SNDBUF, …) is not supported"),
        (format!("{OPENS}+0 send(4, ..., 9, MSG_OOB) = 9"), "flag MSG_OOB is not supported"),
        (format!("{OPENS}+0 recv(4, ..., 9, MSG_WAITALL) = 9"), "flag MSG_WAITALL is not supported"),
        (format!("{OPENS}+0 write(4, ..., 90) = 80"), "does not take whole is not supported"),
        (format!("{OPENS}+0...0.5 write(4, ..., 90) = 90"), "waits for the send buffer is not supported"),
        (format!("{OPENS}+0 ioctl(4, SIOCATMARK, [0]) = 0"), "SIOCATMARK) is not supported"),
        (format!("{OPENS}+0 fcntl(4, F_SETOWN, 1) = 0"), "F_SETOWN) is not supported"),
        (format!("{OPENS}+0 `sleep 1`"), "command \"sleep\" is not supported"),
        ("0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 3".to_string(), "SOCK_DGRAM is not supported"),
        (OPENS.replace("S 0:0(0)", "S 0:9(9)"), "Fast Open) is not supported"),
        // a setting that was not applied and may be the reason for a failure
        (
            format!("`sysctl -q net.ipv4.tcp_early_retrans=0`\n{OPENS}+0 > . 1:1(0) ack 1"),
            "tcp_early_retrans=0 is not supported",
        ),
    ] {
        let error = run(&script, &Profile::Linux6.config()).expect_err(part);
        assert!(error.unsupported && error.message.contains(part), "{error}");
    }
}

/// Linux's values after a handshake of 0.1 s: RFC 6298 gives 300 ms, and Linux's bound of 200 ms on the variation the same.
#[test]
fn what_a_script_reads_of_a_new_connection() {
    let checks = "tcpi_rtt == 100000 and tcpi_rttvar == 50000 and tcpi_rto == 300000 and tcpi_min_rtt == 100000
assert tcpi_snd_mss == 1000 and tcpi_advmss == 1460 and tcpi_unacked == 0 and tcpi_snd_cwnd == 10
assert tcpi_segs_in == 2 and tcpi_segs_out == 1 and tcpi_bytes_sent == 0 and tcpi_total_retrans == 0
assert tcpi_ca_state == 0 and tcpi_retransmits == 0 and tcpi_backoff == 0 and tcpi_sacked == 0 and tcpi_lost == 0";
    run(&format!("{OPENS}+0 %{{\nassert {checks}\n}}%"), &Profile::Linux6.config()).expect(checks);
}

/// RFC 7323, section 3.2: the echo of a segment without the ACK flag has no meaning.
#[test]
fn a_syn_may_echo_anything_and_an_ack_what_was_sent() {
    let script = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 100 ecr 77>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 50 ecr 100>
+.1 < . 1:1(0) ack 1 win 65535 <nop,nop,TS val 200 ecr {echo}>";
    run(&script.replace("{echo}", "50"), &Profile::Linux6.config()).expect("it was sent");
    let error = run(&script.replace("{echo}", "51"), &Profile::Linux6.config()).expect_err("it was not");
    assert!(error.message.contains("TS ecr 51 echoes no timestamp"), "{error}");
}

/// Limits of the values of socket options, before the socket is connected.
#[test]
fn values_of_options_are_checked() {
    for (option, value, taken) in [
        ("TCP_MAXSEG", "7", false),
        ("TCP_MAXSEG", "8", true),
        ("TCP_MAXSEG", "65535", true),
        ("TCP_MAXSEG", "65536", false),
        ("SO_RCVBUF", "0", false),
        ("SO_RCVBUF", "1", true),
        ("SO_RCVBUF", "1073741824", true),
        ("SO_RCVBUF", "1073741825", false),
        ("TCP_USER_TIMEOUT", "0", true),
        ("TCP_USER_TIMEOUT", "2147483647", true),
        ("TCP_USER_TIMEOUT", "2147483648", false),
        ("TCP_USER_TIMEOUT", "-1", false),
    ] {
        let script =
            format!("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 setsockopt(3, SOL, {option}, [{value}], 4) = 0");
        let found = run(&script, &Profile::Linux6.config());
        assert_eq!(found.is_ok(), taken, "{option} {value}: {found:?}");
        if let Err(error) = found {
            assert!(error.message.contains("expected [number]") && !error.unsupported, "{error}");
        }
    }
}

/// While the interface's queue accepts no segments, none is sent. When the queue accepts segments again, the next write
/// sends all data.
#[test]
fn a_queue_without_room_takes_nothing() {
    let script = format!(
        "{OPENS}+0 `tc qdisc replace dev tun0 root pfifo limit 0`
+0 write(4, ..., 1000) = 1000
+.05 %{{ assert tcpi_unacked == 0 }}%
+0 `tc qdisc replace dev tun0 root pfifo limit 9`
+.01 write(4, ..., 1000) = 1000
+0 > P. 1:2001(2000) ack 1"
    );
    run(&script, &Profile::Linux6.config()).expect("it holds");
    let early = script.replace("+.05 %{", "+0 > P. 1:1001(1000) ack 1\n+.05 %{");
    assert_eq!(run(&early, &Profile::Linux6.config()).expect_err("nothing goes").line, 10);
}

/// With `fq`, data after the first ten segments is paced at 200 % of a window per round trip of 0.1 s. As in the
/// kernel, the first wait is halved.
#[test]
fn under_fq_data_is_paced() {
    let script = format!(
        "--tolerance_usecs=1 --tolerance_percent=0
{OPENS}+0 write(4, ..., 14000) = 14000
+0 > . 1:10001(10000) ack 1
+.1 < . 1:1(0) ack 2001 win 65535
+0 > . 10001:12001(2000) ack 1
+{{later}} > . 12001:14001(2000) ack 1"
    );
    // By then cwnd is 12: the wait is half the time that 2000 bytes take at 240 kB/s.
    let paced = format!("`tc qdisc replace dev tun0 root fq`\n{}", script.replace("{later}", ".004166"));
    run(&paced, &Profile::Linux6.config()).expect("paced");
    run(&script.replace("{later}", "0"), &Profile::Linux6.config()).expect("at once");
}

/// RACK's reordering timer expires after a quarter of the round trip of 100 ms. On a kernel's clock, it expires 2 ms
/// and the rest of a tick later.
#[test]
fn a_kernels_timers_tick_and_the_tolerance_can_be_given() {
    let script = format!(
        "{OPENS}+0 write(4, ..., 4000) = 4000\n+0 > P. 1:4001(4000) ack 1\n\
         +.1 < . 1:1(0) ack 1 win 65535 <sack 3001:4001,nop,nop>\n+.{{at}} > . 1:1001(1000) ack 1"
    );
    for (hz, at, holds) in [(None, "028", true), (Some(0), "025", true), (Some(0), "040", false)] {
        let found = run(&script.replace("{at}", at), &crate::config(Profile::Linux6, hz));
        assert_eq!(found.is_ok(), holds, "{hz:?} {at}: {found:?}");
    }
    let late = script.replace("{at}", "040");
    let within = |ms| Strictness { tolerance: Some(Time::from_millis(ms)), ..Strictness::default() };
    let cfg = crate::config(Profile::Linux6, None);
    assert!(run_with(&late, &cfg, within(4)).is_err());
    run_with(&late, &cfg, within(14)).expect("within 14 ms");
}

/// Options and calls that change or show what is sent.
#[test]
fn options_are_read_back_and_errors_returned_once() {
    for (lines, line, part) in [
        ("+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [1000], [4]) = 0\n+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [9], [4]) = 0", 9, "give 9, but it gave 1000"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n+0 getsockopt(4, SOL_TCP, TCP_CORK, [0], [4]) = 0", 9, "give 0, but it gave 1"),
        ("+0 < R 1:1(0)\n+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0\n+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0", 10, "give ECONNRESET, but it gave 0"),
        ("+0 < R 1:1(0)\n+0 read(4, ..., 9) = -1 ECONNRESET (Reset)\n+0 read(4, ..., 9) = 0\n+0 write(4, ..., 9) = 9", 11, "failed with EPIPE"),
        ("+0 < . 1:6(5) ack 1 win 9\n+0 ioctl(4, SIOCINQ, [4]) = 0", 9, "give 4, but it gave 5"),
        ("+0 write(4, NULL, 9) = 9", 8, "failed with EFAULT"),
    ] {
        let error = run(&format!("{OPENS}{lines}"), &Profile::Linux6.config()).expect_err(lines);
        assert!(error.line == line && !error.unsupported && error.message.contains(part), "{lines}: {error}");
    }
}

/// TS val counts ticks of `--tcp_ts_tick_usecs` and is compared only if a script states this tick. TS ecr is always
/// compared.
#[test]
fn timestamps_are_compared_by_the_tick_that_the_script_states() {
    let opens = OPENS
        .replace("sackOK>", "sackOK,TS val 7 ecr 0>")
        .replace("<mss 1460,nop,nop,sackOK,TS val 7 ecr 0>", "<mss 1460,sackOK,TS val 100 ecr 7>");
    let opens = opens.replace("ack 1 win 65535\n+0 acc", "ack 1 win 65535 <nop,nop,TS val 8 ecr 100>\n+0 acc");
    let run = |options: &str, val: u32, ecr: u32| {
        let sends = format!("+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1 <nop,nop,TS val {val} ecr {ecr}>");
        run(&format!("{options}{opens}{sends}"), &Profile::Linux6.config())
    };
    for (options, val, ecr, holds) in [
        ("", 100, 8, true),
        ("", 5000, 8, true),
        ("", 100, 7, false),
        ("--tcp_ts_tick_usecs=1000\n", 200, 8, true),
        ("--tcp_ts_tick_usecs=1000\n", 5000, 8, false),
        ("--tcp_ts_tick_usecs=10000\n", 110, 8, true),
        ("--tcp_ts_tick_usecs=10000\n", 200, 8, false),
    ] {
        assert_eq!(run(options, val, ecr).is_ok(), holds, "{options}{val} {ecr}: {:?}", run(options, val, ecr));
    }
}

/// An echo must repeat a timestamp that was sent, unless the script asks for interpolation.
#[test]
fn an_echo_of_no_timestamp_is_named() {
    let lines = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0...0.1 connect(3, ..., ...) = 0\n\
                 +0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>\n\
                 +.1 < S. 0:0(0) ack 1 win 9000 <mss 1460,sackOK,TS val 7 ecr 123>";
    let error = run(lines, &Profile::Linux6.config()).expect_err("123 was not sent");
    assert!(error.line == 4 && error.message.contains("TS ecr 123 echoes no timestamp"), "{error}");
    let error = run(&format!("--tcp_ts_ecr_scaled\n{lines}"), &Profile::Linux6.config());
    assert!(error.is_ok(), "{error:?}");
}

/// As in packetdrill, an ACK without a number acknowledges 0 and is therefore old.
#[test]
fn an_ack_without_a_number_is_of_zero() {
    let script = format!("{OPENS}+0 < . 1:2001(2000) win 65535\n+0 > . 1:1(0) ack 2001");
    run(&script, &Profile::Linux6.config()).expect("the data is taken");
    let error = run(&script.replace("(0) ack 2001", "(0)"), &Profile::Linux6.config()).expect_err("ack 0");
    assert!(error.message.starts_with("acknowledgment"), "{error}");
}

#[test]
fn trains_are_taken_apart_where_segments_are_strict() {
    let script = format!("{OPENS}+0 write(4, ..., 2000) = 2000\n+0 > . 1:2001(2000) ack 1");
    run(&script, &Profile::Linux6.config()).expect("a train");
    let error = run(&format!("--strict_segments\n{script}"), &Profile::Linux6.config()).expect_err("two segments");
    assert!(error.message.contains("sent . 1:1001(1000)"), "{error}");
}

#[test]
fn windows_are_left_out_on_request() {
    let script = format!("{OPENS}+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1 win 5");
    let strictness = Strictness { ignore_windows: true, ..Strictness::default() };
    assert!(run(&script, &Profile::Linux6.config()).is_err());
    run_with(&script, &Profile::Linux6.config(), strictness).expect("but for the window");
    // the value of the window scale is ignored together with the windows, but not whether the option is present
    let scaled = OPENS.replace("sackOK>", "sackOK,nop,wscale 1>");
    assert!(run(&scaled, &Profile::Linux6.config()).is_err());
    run_with(&scaled, &Profile::Linux6.config(), strictness).expect("but for the scale");
    let agreed = scaled
        .replace("> S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 1>", "> S. 0:0(0) ack 1 <mss 1460,sackOK>");
    assert!(run_with(&agreed, &Profile::Linux6.config(), strictness).is_err());
}

/// The events come in order, the newest last, and include segments that were sent but not expected yet.
#[test]
fn a_failure_shows_the_last_events_before_it() {
    let lines = "+.01 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n+0 write(4, ..., 2000) = 2000\n\
                 +.01 %{ assert tcpi_snd_cwnd == 7 }%";
    let error = run(&format!("{OPENS}{lines}"), &Profile::Linux6.config()).expect_err("it is 10");
    let expected = [
        "0.100000 s < . 1:1(0) ack 1 win 65535",
        "0.100000 s accept(3, ..., ...) = 4",
        "0.110000 s write(4, ..., 1000) = 1000",
        "0.110000 s > P. 1:1001(1000) ack 1",
        "0.110000 s write(4, ..., 2000) = 2000",
        "0.110000 s > . 1001:2001(1000) ack 1 (not expected yet)",
        "0.110000 s > P. 2001:3001(1000) ack 1 (not expected yet)",
    ];
    assert_eq!(error.before, expected[1..], "{error}");
}

/// Only reads of the application make room in the receive buffer, as BSD's scripts check.
#[test]
fn bsds_windows_shrink_until_the_application_reads() {
    let script = format!(
        "`sysctl -w net.inet.tcp.recvspace=14600 net.inet.tcp.sack.enable=1`
{}+0 < . 1:5001(5000) ack 1 win 65535
+0 > . 1:1(0) ack 5001 win 9600
+0 read(4, ..., 5000) = 5000
+0 > . 1:1(0) ack 5001 win 14600",
        OPENS.replace("<mss 1460,nop,nop,sackOK>", "win 14600 <mss 1460,nop,nop,sackOK>")
    );
    run(&script, &Profile::Rfc5681.config()).expect("the window follows the reads");
}
