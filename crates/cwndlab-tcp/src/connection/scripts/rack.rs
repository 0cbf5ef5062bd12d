//! RACK-TLP by RFC 8985's own cases: lost tails, reordering, a retransmission that is lost; every number is computed by
//! hand.

use super::loss::{after_ten, recovering};
use super::*;

fn rack() -> TcpConfig {
    recovering(RecoveryKind::Rack)
}

fn retransmits_and_timeouts(end: &Connection) -> (u32, u32) {
    (end.stats().retransmits, end.stats().timeouts)
}

/// One segment and its ACK, which give a round trip of 0.1 s, then the three segments to which the test applies.
const MEASURED: &str = "0 write 1000
    0 > data 0-1000
    0.1 < ack 1000
    0.1 write 3000
    0.1 > data 1000-2000
    0.1 > data 2000-3000
    0.1 > data 3000-4000
    ";

/// RFC 8985, section 3.3: the whole tail is lost. The probe is sent after 2 SRTT, and the SACK block of its ACK reveals
/// the losses.
#[test]
fn a_lost_tail_is_found_by_a_probe_and_repaired_without_a_timeout() {
    let end = client(
        &rack(),
        &format!(
            "{MEASURED}
            0.3 > data 3000-4000            # the probe, after 2 * 0.1 s
            0.4 < ack 1000 sack 3000-4000   # sent 0.3 s ago, more than 0.1 + 0.1/4 s: both are lost
            0.4 > data 1000-2000
            = ssthresh 2000
            0.5 < ack 2000 sack 3000-4000
            0.5 > data 2000-3000
            0.6 < ack 4000"
        ),
    );
    assert_eq!(retransmits_and_timeouts(&end), (3, 0));
    assert_eq!(end.stats().fast_retransmits, 1);
}

/// RFC 8985, section 7.4.2: only the last segment was lost, and the probe hid the loss. The window is reduced when an
/// ACK beyond the probe shows that the probe was not a duplicate.
#[test]
fn a_loss_that_the_probe_itself_repaired_reduces_the_window() {
    let end = client(
        &rack(),
        &format!(
            "{MEASURED}
            0.2 < ack 3000
            0.6 > data 3000-4000        # one segment: 2 * 0.1 s and the delay of an ACK, 0.2 s
            = cwnd 12000
            0.7 < ack 4000
            0.7 write 1000
            0.7 > data 4000-5000
            0.8 < ack 5000
            = ssthresh 2000"
        ),
    );
    assert_eq!(retransmits_and_timeouts(&end), (1, 0));
}

/// RFC 8985, section 7.4.2: a DSACK shows that the probe was not needed.
#[test]
fn a_probe_that_was_not_needed_leaves_the_window_alone() {
    client(
        &rack(),
        &format!(
            "{MEASURED}
            0.3 > data 3000-4000
            0.35 < ack 4000
            0.4 < ack 4000 sack 3000-4000
            0.4 write 1000
            0.4 > data 4000-5000
            0.5 < ack 5000
            = ssthresh {}",
            u64::MAX
        ),
    );
}

/// RFC 8985, section 7.3: a probe is new data, if there is any. If the probe is not acknowledged, the timeout follows
/// (section 6.3).
#[test]
fn a_probe_is_new_data_if_there_is_and_the_timeout_follows_it() {
    let end = after_ten(
        &rack(),
        "1.0 > data 10000-11000
         2.0 > data 0-1000
         = cwnd 1000 ssthresh 5500
         2.5 < ack 1000
         2.5 > data 1000-2000
         2.5 > data 2000-3000
         = cwnd 2000",
    );
    assert_eq!(retransmits_and_timeouts(&end), (3, 1));
}

/// RFC 8985, section 6.2, step 5: with fewer than three segments reported, the first segment is deemed lost only after
/// another quarter of the round trip.
#[test]
fn one_report_is_enough_once_the_reordering_window_has_passed() {
    let end = client(
        &rack(),
        "0 write 4000
         0 > data 0-1000
         0 > data 1000-2000
         0 > data 2000-3000
         0 > data 3000-4000
         0.1 < ack 0 sack 3000-4000
         0.125 > data 0-1000
         = ssthresh 2000
         0.225 < ack 1000 sack 3000-4000
         0.225 > data 1000-2000
         0.225 > data 2000-3000
         0.325 < ack 4000",
    );
    assert_eq!(retransmits_and_timeouts(&end), (3, 0));
}

/// RFC 8985, section 6.2, steps 3 and 4: reordering is not loss. Once reordering has been seen, even the arrival of
/// three later segments does not prove a loss.
#[test]
fn reordering_is_no_loss_and_widens_the_window_of_what_follows() {
    let end = after_ten(
        &rack(),
        "0.5 < ack 0 sack 1000-2000     # lost at 0.625 if it does not come
         0.6 < ack 2000
         0.6 > data 10000-11000
         0.6 > data 11000-12000
         0.6 > data 12000-13000
         0.6 < ack 2000 sack 3000-4000
         0.6 < ack 2000 sack 3000-5000
         0.6 < ack 2000 sack 3000-6000  # three, and still nothing before 0 + 0.6 + 0.5/4
         0.725 > data 2000-3000",
    );
    assert_eq!((end.stats().fast_retransmits, end.stats().retransmits), (1, 1));
    assert_eq!(end.info(&rack()).reordering, 3);
}

/// RFC 8985, section 6.2, step 4: a segment that arrived twice had not been lost, so the sender waits for twice a
/// quarter of the round trip.
#[test]
fn a_duplicate_report_widens_the_reordering_window() {
    after_ten(
        &rack(),
        "0.5 < ack 0 sack 1000-2000
         0.6 < ack 2000                 # reordered
         0.6 > data 10000-11000
         0.6 > data 11000-12000
         0.6 > data 12000-13000
         0.6 < ack 2000 sack 0-1000     # the first has arrived twice
         0.6 < ack 2000 sack 3000-4000
         0.85 > data 2000-3000          # 0 + 0.6 + 2 * 0.5/4",
    );
}

/// RFC 8985, section 6.2, step 5, on the ACK that ends a recovery: new data sent before the retransmission that this
/// ACK acknowledges is deemed lost, although no SACK block reports anything.
#[test]
fn what_was_sent_before_the_last_copy_is_lost_when_the_recovery_ends() {
    let end = after_ten(
        &rack(),
        "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-3000
         0.5 < ack 0 sack 1000-4000
         0.5 > data 0-1000               # will be lost
         0.5 < ack 0 sack 1000-5000
         0.5 < ack 0 sack 6000-7000 1000-5000
         0.5 < ack 0 sack 6000-8000 1000-5000
         0.5 > data 5000-6000
         0.5 < ack 0 sack 6000-9000 1000-5000
         0.5 > data 10000-11000          # will be lost
         0.5 < ack 0 sack 6000-10000 1000-5000
         0.5 > data 11000-12000          # as will these
         0.5 > data 12000-13000
         1.0 < ack 0 sack 1000-10000     # the second copy
         1.0 > data 0-1000
         1.0 > data 13000-14000
         1.5 < ack 10000                 # nothing is reported; sent at 0.5, and what was sent at 1.0 has arrived
         1.5 > data 10000-11000",
    );
    assert_eq!((end.stats().fast_retransmits, end.stats().timeouts), (2, 0));
}

/// RFC 8985, section 3.2: the retransmission is lost, too, as the arrival of later segments shows; PRR by RFC 9937,
/// 6.2.
#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    let end = after_ten(
        &rack(),
        "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-3000
         0.5 < ack 0 sack 1000-4000     # three: no window for reordering; pipe 6, in any case one
         0.5 > data 0-1000
         = ssthresh 5000
         0.5 < ack 0 sack 1000-5000     # pipe 6: 2 * 5/10 - 1
         0.5 < ack 0 sack 1000-6000     # pipe 5 = ssthresh
         0.5 < ack 0 sack 1000-7000     # pipe 4
         0.5 > data 10000-11000
         0.5 < ack 0 sack 1000-8000
         0.5 > data 11000-12000
         0.5 < ack 0 sack 1000-9000
         0.5 > data 12000-13000
         0.5 < ack 0 sack 1000-10000
         0.5 > data 13000-14000
         1.0 < ack 0 sack 1000-11000    # sent after the retransmission; pipe 3
         1.0 > data 0-1000
         1.0 > data 14000-15000
         1.5 < ack 14000
         = cwnd 5000
         1.5 > data 15000-16000
         1.5 > data 16000-17000
         1.5 > data 17000-18000
         1.5 > data 18000-19000",
    );
    assert_eq!(retransmits_and_timeouts(&end), (2, 0));
    assert_eq!(end.stats().fast_retransmits, 1);
}

/// RFC 6298, section 2: SRTT is 0.5 s, then 7/8 * 0.5 + 1/8 * 0.6 s; a single timed segment would give only the first
/// sample.
#[test]
fn every_ack_of_segments_sent_once_is_measured() {
    let cfg = rack();
    let end = after_ten(
        &cfg,
        "0.5 < ack 1000
         0.5 > data 10000-11000
         0.5 > data 11000-12000
         0.6 < ack 2000
         0.6 > data 12000-13000
         0.6 > data 13000-14000",
    );
    assert_eq!(end.srtt(&cfg), Time::from_micros(512_500));
}

/// RACK requires SACK (RFC 8985, section 4); on a connection without SACK, NewReno replaces it.
#[test]
fn without_sack_it_is_new_reno() {
    let cfg = TcpConfig { sack: false, ..rack() };
    let end = after_ten(
        &cfg,
        "0.5 < ack 0
         0.5 < ack 0
         0.5 < ack 0
         0.5 > data 0-1000",
    );
    assert_eq!(end.stats().fast_retransmits, 1);
}

/// RFC 8985, section 7.4.2: the response is that of a fast recovery, with the `FlightSize` before the ACK that shows
/// the loss; after that ACK nothing is outstanding.
#[test]
fn a_loss_that_the_probe_repaired_halves_what_was_out() {
    client(
        &rack(),
        &("0 write 1000
         0 > data 0-1000
         0.1 < ack 1000
         0.1 write 8000\n"
            .to_owned()
            + &sends("0.1", 1000..9000)
            + "0.3 > data 8000-9000            # the probe
         0.35 write 1000
         0.35 > data 9000-10000
         0.4 < ack 10000                 # beyond the probe, without DSACK: it had been lost
         = ssthresh 4500"),
    );
}

/// RFC 8985, section 6.2, step 2: an ACK that echoes a timestamp from before the retransmission shows that the original
/// arrived, and so reveals nothing about segments sent between the two transmissions.
#[test]
fn an_old_stamp_says_that_it_was_the_original_that_arrived() {
    for (echo, retransmits) in [(400_000, 2), (200_000, 1)] {
        let cfg = TcpConfig { timestamps: true, ..rack() };
        let again = if retransmits == 2 { "0.5 > data 988-1976" } else { "" };
        let end = client(
            &cfg,
            &format!(
                "0.1 write 988
                 0.1 > data 0-988
                 0.2 < ack 988 ts 7 100000
                 0.2 write 2964
                 0.2 > data 988-1976
                 0.2 > data 1976-2964
                 0.2 > data 2964-3952
                 0.4 > data 2964-3952            # the probe
                 0.5 < ack 988 ts 7 {echo} sack 2964-3952
                 {again}"
            ),
        );
        assert_eq!(end.stats().retransmits, retransmits, "echo of {echo} us");
    }
}

/// RFC 8985, section 6.2, step 5: the reordering timer runs for segments that were sent before a retransmission that
/// has arrived. An ACK of the first of them leaves it running for the second.
#[test]
fn an_ack_of_the_first_late_segment_leaves_the_reordering_timer_running_for_the_second() {
    let end = client(
        &rack(),
        &("0 write 1000
        0 > data 0-1000
        0.1 < ack 1000
        0.1 write 11000\n"
            .to_owned()
            + &sends("0.1", 1000..12_000)
            + "0.2 < ack 1000 sack 2000-12000
        0.2 > data 1000-2000            # this copy is lost, too
        0.2 write 1000
        0.2 > data 12000-13000
        0.29 write 2000
        0.29 > data 13000-14000
        0.29 > data 14000-15000
        0.3 < ack 1000 sack 2000-13000
        0.3 > data 1000-2000
        0.4 < ack 13000                 # two segments were sent before what arrived last: due 0.29 + 0.1 + 0.1/4 s
        0.405 < ack 14000               # a round trip of 0.115 s: due 0.29 + 0.115 + 0.1/4 s
        0.43 > data 14000-15000"),
    );
    assert_eq!(end.stats().timeouts, 0);
}

/// RFC 8985, section 6.3: also at a timeout, once there was reordering, a segment has a quarter of the round trip more
/// before it counts as lost. Linux allows for none (`tcp_timeout_mark_lost`).
#[test]
fn at_a_timeout_what_was_sent_little_more_than_a_round_trip_before_is_not_lost() {
    let before = format!(
        "{MEASURED}
         0.2 < ack 1000 sack 2000-3000
         0.205 < ack 3000                # reordering
         0.60625 > data 3000-4000        # the probe, after 2 SRTT and 0.2 s; the timeout is 1 s later
         1.5 write 1000
         1.5 > data 4000-5000
         1.60625 > data 3000-4000
         1.61 < ack 4000
         "
    );
    client(&rack(), &format!("{before} 1.62 < ack 5000"));
    let RecoveryConfig::Rack(rfc) = rack().recovery else { panic!("RACK") };
    let linux = RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, ..rfc });
    let before = before.replace("1.60625 >", "1.606251 >"); // its timers are a microsecond late
    client(
        &TcpConfig { recovery: linux, linux_details: true, ..rack() },
        &format!("{before} 1.61 > data 4000-5000\n1.62 < ack 5000"),
    );
}

/// `tcp_process_tlp_ack`: after an ACK of the probe, one that carries data does not show that the original arrived, too, so the
/// next ACK of later data reduces the window; a bare duplicate does.
#[test]
fn only_an_ack_that_carries_nothing_shows_that_a_probe_was_needless() {
    let cwnd = |between: &str| {
        let cfg = TcpConfig {
            linux_details: true,
            initial_window: InitialWindow::Segments(4),
            ..recovering(RecoveryKind::Rack)
        };
        let mut script = Script::new(&cfg, Connection::client(&cfg, ISS, Time::ZERO));
        script.run(&format!("0 write 4000\n{}1 > data 3000-4000", sends("0", 0..4000)));
        script.take(Time::from_millis(1100), "ack 4000");
        script.take(Time::from_millis(1200), between);
        script.end.write(1000);
        script.poll();
        script.out.clear();
        script.take(Time::from_millis(1300), "ack 5000");
        script.end.cwnd_bytes()
    };
    assert!(cwnd("data 0-100 ack 4000") < cwnd("ack 4000"));
}
