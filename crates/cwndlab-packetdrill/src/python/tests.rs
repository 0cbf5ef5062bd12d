use super::*;

fn holds(code: &str) -> Result<(), Failure> {
    let mut names = Names::from([("tcpi_snd_cwnd".to_string(), 10.0), ("tcpi_lost".to_string(), 0.0)]);
    run(code, &mut names)
}

#[test]
fn assertions_hold_by_pythons_rules() {
    for code in [
        "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd",
        "assert tcpi_snd_cwnd == 10,tcpi_snd_cwnd; print(tcpi_snd_cwnd)",
        "assert 9 <= tcpi_snd_cwnd <= 11",
        "assert (tcpi_snd_cwnd - 4) * 2 // 5 == 2 and not tcpi_lost",
        "assert tcpi_lost or tcpi_snd_cwnd >= 7 % 4",
        "assert -7 // 2 == -4 and -7 % 4 == 1",
        "assert abs(min(3, -2, 5)) == 2, 'text, with a comma'",
        "BIG = 0x7fffffff\nassert BIG == 2147483647",
        "x = tcpi_snd_cwnd / 4\nassert x == 2.5  # a comment",
        "assert 1, 'a; b # c'; assert 2, \"it's; so\"",
        "assert tcpi_snd_cwnd != 9 and not tcpi_snd_cwnd != 10 and not 11 == tcpi_snd_cwnd",
        "assert 9 != tcpi_snd_cwnd != 11 and not 10 != tcpi_snd_cwnd",
        "assert not 10 < tcpi_snd_cwnd and not tcpi_snd_cwnd > 10 and 9 < tcpi_snd_cwnd < 11 > 10",
        "assert not 9 <= tcpi_snd_cwnd <= 9 and tcpi_snd_cwnd >= 10 and not tcpi_snd_cwnd >= 11",
        "assert 6 & 3 == 2 and 0.5 == 1 / 2 and -0.0 == 0 and max(1, 3, 2) == 3 and int(-2.5) == -2",
        "assert True and not False and float(2) == 2",
    ] {
        assert_eq!(holds(code), Ok(()), "{code}");
    }
}

/// For each failure: the line within the code, what is wrong, and whether the cause is something unsupported.
#[test]
fn failures_say_where_and_what() {
    for (code, line, part, unsupported) in [
        ("assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd", 0, "tcpi_snd_cwnd == 11 (found tcpi_snd_cwnd = 10)", false),
        ("\nx = 1; assert x == 1\n# no; comment\nassert x == 2", 3, "assertion failed: x == 2", false),
        ("assert tcpi_lost, 'cwnd: %d; # is' % tcpi_snd_cwnd", 0, "tcpi_lost (found tcpi_lost = 0)", false),
        ("assert (tcpi_lost ==\n 1)", 0, "( tcpi_lost == 1 )", false),
        ("assert tcpi_new == 1", 0, "the endpoint has no tcpi_new; it has tcpi_lost, tcpi_snd_cwnd", true),
        ("assert cwnd == 1", 0, "cwnd has no value", false),
        ("assert tcpi_lost ==", 0, "expected a value, found the end", false),
        ("for x in y: pass", 0, "expected assert, print or name = value", true),
        ("assert (1", 0, "expected ) after (", false),
        ("assert 1 1", 0, "found \"1\"", false),
        ("assert f(1)", 0, "found f of 1 values", true),
        ("assert 1 @ 2", 0, "found '@'", false),
        ("assert tcpi_lost = 1", 0, "found '='", false),
        ("x = 1 2", 0, "found \"2\"", false),
    ] {
        let failure = holds(code).expect_err(code);
        assert!(failure.message.contains(part), "{code}: {failure:?}");
        assert_eq!((failure.line, failure.unsupported), (line, unsupported), "{code}: {failure:?}");
    }
}

#[test]
fn assignments_stay() {
    let mut names = Names::new();
    run("a = 2", &mut names).expect("a number");
    run("assert a * 2 == 4; a += 3; a *= 2\na -= 1; a //= 2", &mut names).expect("a is known");
    assert_eq!(names["a"].to_bits(), 4.0_f64.to_bits());
}

#[test]
fn a_name_has_letters_digits_and_underscores() {
    let mut names = Names::new();
    run("rto_1 = 2; _x = rto_1 * 2\nassert _x == 4", &mut names).expect("names of Python");
    for code in ["a.b = 1", "a b = 1", "a-b = 1", " = 1", "a == 1"] {
        let failure = run(code, &mut names).expect_err(code);
        assert!(failure.unsupported, "{code}: {failure:?}");
    }
}
