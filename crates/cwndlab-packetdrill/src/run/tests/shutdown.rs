//! Which direction `shutdown` closes, by its name and by its number.

use super::*;

fn after_opening(lines: &str) -> Result<()> {
    run(&format!("{OPENS}{lines}"), &Profile::Linux6.config())
}

#[test]
fn a_shut_writer_sends_a_fin_and_still_reads() {
    for how in ["SHUT_WR", "1"] {
        let lines = format!(
            "+0 shutdown(4, {how}) = 0\n+0 > F. 1:1(0) ack 1\n+0 write(4, ..., 9) = -1 EPIPE (Broken pipe)\n\
             +.1 < . 1:11(10) ack 2 win 65535\n+0 > . 2:2(0) ack 11\n+0 read(4, ..., 10) = 10"
        );
        after_opening(&lines).expect(how);
    }
}

#[test]
fn a_shut_reader_still_writes_and_sends_no_fin() {
    for how in ["SHUT_RD", "0"] {
        let lines = format!(
            "+0 shutdown(4, {how}) = 0\n+0 read(4, ..., 9) = 0\n+0 write(4, ..., 9) = 9\n+0 > P. 1:10(9) ack 1"
        );
        after_opening(&lines).expect(how);
    }
}

#[test]
fn both_directions_are_shut_together() {
    for how in ["SHUT_RDWR", "2"] {
        let lines = format!(
            "+0 shutdown(4, {how}) = 0\n+0 > F. 1:1(0) ack 1\n+0 read(4, ..., 9) = 0\n\
             +0 write(4, ..., 9) = -1 EPIPE (Broken pipe)"
        );
        after_opening(&lines).expect(how);
    }
}

#[test]
fn another_direction_is_an_error_that_names_those_there_are() {
    let error = after_opening("+0 shutdown(4, 3) = 0").expect_err("no such direction");
    assert!(error.message.contains("expected SHUT_RD, SHUT_WR or SHUT_RDWR, found \"3\""), "{error}");
}
