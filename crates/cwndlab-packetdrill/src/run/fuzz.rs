//! Fuzz tests: whatever a script contains, its run ends with success or with an error that states the line, and never
//! with a panic or in an endless loop.

use std::path::Path;
use std::sync::LazyLock;

use cwndlab_tcp::Profile;
use proptest::prelude::*;

use super::{run, run_with, Strictness, Time};

/// The crate's own scripts, which the fuzzer modifies.
static SCRIPTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let folders = Profile::ALL.map(|profile| root.join(profile.name()));
    let mut paths: Vec<_> = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().collect();
    paths.sort_by_key(|entry| entry.as_ref().map(std::fs::DirEntry::path).ok());
    paths.into_iter().map(|entry| std::fs::read_to_string(entry.expect("a file").path()).expect("a script")).collect()
});

/// Words at the limits of what the syntax and the endpoint accept.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1",
    "536",
    "65535",
    "65536",
    "2147483647",
    "4294967295",
    "9223372036854775807",
    "18446744073709551615",
    "+0",
    "+.000000001",
    "+999999",
    "+1000000",
    "+18446744073709551615",
    "1e9",
    "0~0",
    "+0~+9",
    "*",
    "...",
    "é",
    "%{",
    "}%",
    "%",
    "`",
    "(",
    ")",
    "[",
    "{",
    "<",
    ">",
    ":",
    "//",
    "/*",
    "#",
    "\n",
    "\0",
    ".",
    "S",
    "S.",
    "F.",
    "R",
    "P.",
    "-",
    "SEW",
    "0:0(0)",
    "1:1(0)",
    "4294967295:0(1)",
    "1:4294967295(4294967294)",
    "2147483648:2147483648(0)",
    "ack",
    "win",
    "= 0",
    "= -1 EAGAIN (x)",
    "<mss 1>",
    "<mss 0,wscale 14>",
    "<wscale 255>",
    "<sackOK,TS val 1 ecr 1,wscale 15>",
    "<sack 1:0 4294967295:5>",
    "<TS val 4294967295 ecr 0>",
    "--tolerance_usecs=18446744073709551615",
    "--tolerance_percent=100",
    "[ce]",
    "(",
    "assert ((1",
    "not",
    "tcpi_rtt / 0",
    "`tc qdisc replace dev tun0 root fq`",
    "`sysctl -q net.ipv4.tcp_rmem=\"1 1 1\"`",
    "close(4) = 0",
    "read(4, ..., 1) = 1",
    "write(4, ..., 18446744073709551615) = 1",
    "setsockopt(4, SOL_TCP, TCP_MAXSEG, [1], 4) = 0",
];

/// Replaces `length` words, beginning with word number `at`, by `word`. The white space after them stays.
fn replace_words(text: &str, at: usize, length: usize, word: &str) -> String {
    let pieces: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let at = at % pieces.len().max(1);
    let after = (at + length).min(pieces.len());
    let space = pieces.get(after.wrapping_sub(1)).and_then(|last| last.chars().last()).filter(|c| c.is_whitespace());
    [&pieces[..at].concat(), word, &space.map_or(String::new(), String::from), &pieces[after..].concat()].concat()
}

fn holds_or_names_the_line(text: &str, profile: Profile) -> Result<(), TestCaseError> {
    if let Err(error) = run(text, &crate::config(profile, None)) {
        prop_assert!((1..=text.lines().count() + 1).contains(&error.line), "line {} of:\n{text}", error.line);
        prop_assert!(!error.message.is_empty());
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_damaged_script_runs_or_is_refused(
        script in 0..1000_usize,
        edits in proptest::collection::vec((any::<usize>(), 0..4_usize, 0..WORDS.len()), 0..5),
        profile in proptest::sample::select(&Profile::ALL[..]),
    ) {
        let mut text = SCRIPTS[script % SCRIPTS.len()].clone();
        for (at, length, word) in edits {
            text = replace_words(&text, at, length, WORDS[word]);
        }
        holds_or_names_the_line(&text, profile)?;
    }

    #[test]
    fn any_words_run_or_are_refused(words in proptest::collection::vec(0..WORDS.len(), 0..30)) {
        let text: Vec<&str> = words.into_iter().map(|word| WORDS[word]).collect();
        holds_or_names_the_line(&text.join(" "), Profile::Linux6)?;
    }

    #[test]
    fn any_text_runs_or_is_refused(text in any::<String>()) {
        holds_or_names_the_line(&text, Profile::Rfc5681)?;
    }
}

#[test]
fn a_percent_sign_without_code_is_refused_with_its_line() {
    let error = run("+0 %é{", &Profile::Linux6.config()).expect_err("no code");
    assert!(error.line == 1 && error.message.contains("%{ code }%"), "{error:?}");
}

#[test]
fn a_time_that_no_script_reaches_is_refused_while_a_timer_is_pending() {
    let connect = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n\
                   +0 connect(3, ..., ...) = -1 EINPROGRESS (now)\n";
    for last in
        ["18446744073709551615 close(3) = 0", "+1000000.1 close(3) = 0", "+600000 close(3) = 0\n+600000 close(3) = 0"]
    {
        let text = format!("{connect}{last}");
        let error = run(&text, &Profile::Linux6.config()).expect_err("too late");
        assert_eq!(error.line, text.lines().count());
        assert!(error.message.contains("at most 1000000 s"), "{error:?}");
    }
}

#[test]
fn an_endless_tolerance_does_not_make_a_run_endless() {
    let blocked = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0...0.1 connect(3, ..., ...) = 0\n";
    let cfg = Profile::Linux6.config();
    assert!(run_with(blocked, &cfg, Strictness { tolerance: Some(Time::MAX), ..Strictness::default() }).is_err());
    let error = run(&format!("--tolerance_usecs=18446744073709551615\n{blocked}"), &cfg).expect_err("too large");
    assert_eq!(error.line, 1);
}

#[test]
fn an_expression_nested_too_deeply_is_refused() {
    for deep in ["(", "-", "not ", "min(", "1 if "] {
        let text = format!("0 %{{ assert {}1 }}%", deep.repeat(100_000));
        assert!(run(&text, &Profile::Linux6.config()).is_err(), "{deep}");
    }
}

#[test]
fn a_segment_that_fits_no_packet_is_refused_and_a_shift_beyond_the_standard_is_not() {
    let listens = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n";
    for (segment, fits) in [
        ("S 0:0(0) win 65535 <mss 1460,wscale 255>", true),
        ("S 0:0(0) win 65536 <mss 1460>", false),
        ("S 0:4294967295(4294967295) win 65535", false),
    ] {
        let outcome = run(&format!("{listens}+0 < {segment}"), &Profile::Linux6.config());
        assert_eq!(outcome.as_ref().err().map(|error| error.line), (!fits).then_some(4), "{segment}: {outcome:?}");
    }
}
