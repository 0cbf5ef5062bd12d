use super::*;

fn holds(code: &str) -> Result<(), String> {
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
    ] {
        assert_eq!(holds(code), Ok(()), "{code}");
    }
}

#[test]
fn failures_show_what_was_found() {
    let error = holds("assert tcpi_snd_cwnd == 11, tcpi_snd_cwnd").expect_err("it is 10");
    assert_eq!(error, "assertion failed: tcpi_snd_cwnd == 11, tcpi_snd_cwnd (found tcpi_snd_cwnd = 10)");
}

#[test]
fn what_cannot_be_read_is_an_error_rather_than_true() {
    for code in [
        "assert tcpi_new == 1",
        "assert tcpi_lost ==",
        "for x in y: pass",
        "assert (1",
        "assert 1 1",
        "assert f(1)",
        "assert 1 @ 2",
    ] {
        assert!(holds(code).is_err(), "{code}");
    }
}

#[test]
fn assignments_stay() {
    let mut names = Names::new();
    run("a = 2", &mut names).expect("a number");
    run("assert a * 2 == 4", &mut names).expect("a is known");
}
