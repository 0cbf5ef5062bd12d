//! Each loss recovery by a table of its own; the expected values follow from the RFC's steps by hand.

mod script;

use cwndlab_tcp::{InitialWindow, RecoveryKind, TcpConfig};
use script::{config, play, In::*};

#[test]
fn tahoe_sends_the_first_hole_again_and_starts_slowly_from_one_segment() {
    // Fall & Floyd 1996, 2.1; segment 1 of eight is lost
    let c = play(
        &config(RecoveryKind::Tahoe),
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Ack(0), &[], 8000),
            (101, Ack(0), &[], 8000),
            (102, Ack(0), &[1], 1000),
            (103, Ack(0), &[], 1000), // no inflation
            (200, Ack(8), &[9, 10], 2000),
            (300, Ack(9), &[11, 12], 3000),
            (301, Ack(10), &[13, 14], 4000), // ssthresh = 8/2
            (400, Ack(11), &[15], 4000),     // RFC 5681, 3.1: then a segment for each window acknowledged
            (401, Ack(12), &[16], 4000),
            (402, Ack(13), &[17], 4000),
            (403, Ack(14), &[18, 19], 5000),
        ],
    );
    assert_eq!(c.ssthresh_bytes(), 4000);
}

#[test]
fn reno_inflates_by_each_duplicate_and_deflates_at_the_first_new_ack() {
    // RFC 5681, section 3.2, steps 2 to 6; segment 1 of eight is lost
    let c = play(
        &config(RecoveryKind::Reno),
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Ack(0), &[], 8000),
            (101, Ack(0), &[], 8000),
            (102, Ack(0), &[1], 4000),  // step 2: 8/2; step 3: 4 + 3 may be out
            (103, Ack(0), &[], 4000),   // 8: just those that are out
            (104, Ack(0), &[9], 4000),  // step 5
            (105, Ack(0), &[10], 4000), //
            (106, Ack(0), &[11], 4000), //
            (200, Ack(8), &[12], 4000), // step 6: deflated; three are out
        ],
    );
    assert_eq!((c.ssthresh_bytes(), c.stats().fast_retransmits, c.stats().timeouts), (4000, 1, 0));
}

#[test]
fn reno_waits_for_the_timer_when_two_of_a_window_are_lost() {
    // Fall & Floyd 1996, 2.2: the partial ACK ends recovery; too few duplicates follow for another fast retransmit
    let c = play(
        &config(RecoveryKind::Reno),
        &[
            (0, Write(8), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Ack(0), &[], 8000),
            (100, Ack(0), &[], 8000),
            (100, Ack(0), &[1], 4000),
            (200, Ack(4), &[], 4000),  // 5 is lost too; nothing left to send
            (1200, Timer, &[5], 1000), // RFC 6298, 2.1 and 5.3: 1 s from the last ACK of new data
        ],
    );
    assert_eq!((c.stats().timeouts, c.ssthresh_bytes()), (1, 2000)); // equation 4: max(4/2, 2)
}

#[test]
fn newreno_sends_a_hole_again_for_each_partial_ack_and_cuts_once() {
    // RFC 6582, section 3.2; segments 1 and 6 of eight are lost
    let c = play(
        &config(RecoveryKind::NewReno),
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Ack(0), &[], 8000),
            (101, Ack(0), &[], 8000),
            (102, Ack(0), &[1], 4000),  // recover = 8
            (103, Ack(0), &[], 4000),   //
            (104, Ack(0), &[9], 4000),  // 4 + 5
            (105, Ack(0), &[10], 4000), // 4 + 6
            // partial: deflated by the five acknowledged, less one: 4 + 2 may be out, five are
            (200, Ack(5), &[6, 11], 4000),
            (201, Ack(5), &[12], 4000),      // a duplicate from 9
            (300, Ack(10), &[13, 14], 4000), // full: cwnd = ssthresh, 11 and 12 are out
        ],
    );
    assert_eq!((c.ssthresh_bytes(), c.stats().fast_retransmits, c.stats().timeouts), (4000, 1, 0));
}

#[test]
fn newreno_does_not_take_duplicates_after_a_timeout_for_new_losses() {
    // RFC 6582, section 3.2, steps 2 and 4, and section 4.1: go-back-N makes duplicates of what the receiver has
    let c = play(
        &config(RecoveryKind::NewReno),
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (1000, Timer, &[1], 1000),
            (1100, Ack(1), &[2, 3], 2000),
            (1200, Ack(8), &[9, 10, 11], 3000),
            (1201, Ack(8), &[], 3000),
            (1201, Ack(8), &[], 3000),
            (1201, Ack(8), &[], 3000), // 8 is `recover`: no more than that is acknowledged
        ],
    );
    assert_eq!(c.stats().fast_retransmits, 0);
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates_without_opening_cwnd() {
    // RFC 3042, section 2, and RFC 5681, section 3.2, step 2: not part of FlightSize when the window is cut
    let cfg = TcpConfig { limited_transmit: true, ..config(RecoveryKind::NewReno) };
    let c = play(
        &cfg,
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Ack(0), &[9], 8000),
            (101, Ack(0), &[10], 8000),
            (102, Ack(0), &[1], 4000),
            (103, Ack(0), &[], 4000),   // 4 + 4; ten are out
            (104, Ack(0), &[], 4000),   //
            (105, Ack(0), &[], 4000),   //
            (106, Ack(0), &[11], 4000), // 4 + 7
        ],
    );
    assert_eq!(c.ssthresh_bytes(), 4000);
}

#[test]
fn sack_fills_the_holes_as_pipe_allows() {
    // RFC 6675, section 5; segments 1 and 3 of eight are lost
    let cfg = TcpConfig { limited_transmit: true, ..config(RecoveryKind::Sack) };
    let c = play(
        &cfg,
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Sack(0, &[(2, 2)]), &[9], 8000),          // step 3.3: as RFC 3042
            (101, Sack(0, &[(4, 4), (2, 2)]), &[10], 8000), //
            (102, Sack(0, &[(4, 5), (2, 2)]), &[1], 4000),  // steps 4.1 to 4.3; pipe: 3, 6 to 10 and 1 again = 7
            (103, Sack(0, &[(4, 6), (2, 2)]), &[], 4000),   // 3 is lost now; pipe: 7 to 10 and 1 = 5
            (104, Sack(0, &[(4, 7), (2, 2)]), &[], 4000),   // 4
            (105, Sack(0, &[(4, 8), (2, 2)]), &[3], 4000),  // 3: NextSeg rule 1
            (106, Sack(0, &[(4, 9), (2, 2)]), &[11], 4000), // rule 2
            (107, Sack(0, &[(4, 10), (2, 2)]), &[12], 4000), //
            (200, Sack(2, &[(4, 10)]), &[13], 4000),        // step B; pipe: 3, 11, 12
            (201, Ack(10), &[14], 4000),                    // step A: over; 11 to 13 are out
        ],
    );
    assert_eq!((c.stats().fast_retransmits, c.stats().retransmits, c.stats().timeouts), (1, 2, 0));
}

#[test]
fn sack_finds_a_loss_by_bytes_above_it_before_three_duplicates() {
    // RFC 6675, section 5, step 2: IsLost(HighACK + 1) by more than two segments above it, here in two ACKs
    play(
        &config(RecoveryKind::Sack),
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Sack(0, &[(2, 3)]), &[], 8000), // two segments are not more than two
            (101, Sack(0, &[(2, 5)]), &[1], 4000),
        ],
    );
}

#[test]
fn fack_recovers_on_the_first_ack_that_tells_of_a_gap_of_more_than_three() {
    // Mathis & Mahdavi 1996, 3.1 and 3.2: awnd = snd.nxt - snd.fack + retran_data; segments 1 to 4 of eight are lost
    let c = play(
        &config(RecoveryKind::Fack),
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
            (100, Sack(0, &[(5, 5)]), &[1], 4000), // awnd 3 + 1
            (101, Sack(0, &[(5, 6)]), &[2], 4000), // 2 + 2
            (102, Sack(0, &[(5, 7)]), &[3], 4000), // 1 + 3
            (103, Sack(0, &[(5, 8)]), &[4], 4000), // 0 + 4
            (200, Sack(1, &[(5, 8)]), &[9], 4000),
            (201, Sack(2, &[(5, 8)]), &[10], 4000),
            (202, Sack(3, &[(5, 8)]), &[11], 4000),
            (203, Ack(8), &[12], 4000), // over; 9 to 11 are out
        ],
    );
    assert_eq!((c.stats().fast_retransmits, c.stats().retransmits, c.stats().timeouts), (1, 4, 0));
}

#[test]
fn prr_sends_one_segment_for_two_delivered_when_the_window_is_halved() {
    // RFC 9937, section 6.2: sndcnt = ceil(prr_delivered * ssthresh / RecoverFS) - prr_out; segment 1 of twenty is lost:
    // ssthresh 10 of RecoverFS 20. cwnd is pipe + sndcnt.
    let cfg = TcpConfig { initial_window: InitialWindow::Segments(20), ..config(RecoveryKind::Prr) };
    let c = play(
        &cfg,
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], 20000),
            (100, Sack(0, &[(2, 2)]), &[], 20000),
            (101, Sack(0, &[(2, 3)]), &[], 20000),
            (102, Sack(0, &[(2, 4)]), &[1], 17000),  // ceil(1/2) - 0
            (103, Sack(0, &[(2, 5)]), &[], 16000),   // 2/2 - 1
            (104, Sack(0, &[(2, 6)]), &[], 15500),   // half a segment waits
            (105, Sack(0, &[(2, 7)]), &[21], 15000), // 4/2 - 1
            (106, Sack(0, &[(2, 8)]), &[], 14500),
            (107, Sack(0, &[(2, 9)]), &[22], 14000),
            (108, Sack(0, &[(2, 10)]), &[], 13500),
            (200, Ack(20), &[23, 24, 25, 26, 27, 28, 29, 30], 10000), // over, at ssthresh: 21 and 22 are out
        ],
    );
    assert_eq!(c.ssthresh_bytes(), 10000);
}

#[test]
fn prr_keeps_to_what_was_delivered_when_much_was_lost() {
    // RFC 9937, section 6.2: pipe below ssthresh: no more than delivered (conservation), plus one where an ACK is safe
    let cfg = TcpConfig { initial_window: InitialWindow::Segments(10), ..config(RecoveryKind::Prr) };
    play(
        &cfg,
        &[
            (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 10000),
            // 1 to 7 are lost: 8 to 10 arrive
            (100, Sack(0, &[(8, 8)]), &[], 10000),
            (101, Sack(0, &[(8, 9)]), &[], 10000),
            (102, Sack(0, &[(8, 10)]), &[1], 1000), // pipe 0; one delivered, one goes
            (200, Sack(1, &[(8, 10)]), &[2, 3], 2000), // safe: one delivered and one more
            (300, Sack(2, &[(8, 10)]), &[4, 5], 3000),
            (301, Sack(3, &[(8, 10)]), &[6, 7], 4000),
        ],
    );
}

#[test]
fn a_timeout_leaves_one_segment_and_half_the_flight_whatever_the_recovery() {
    // RFC 5681, section 3.1, equation 4; RFC 6298, 5.5: the timer doubles; a second expiry keeps ssthresh
    use RecoveryKind::{Fack, NewReno, Prr, Reno, Sack, Tahoe};
    for recovery in [Tahoe, Reno, NewReno, Sack, Fack, Prr] {
        let c = play(
            &config(recovery),
            &[
                (0, Write(100), &[1, 2, 3, 4, 5, 6, 7, 8], 8000),
                (1000, Timer, &[1], 1000),
                (3000, Timer, &[1], 1000),
                (3100, Ack(1), &[2, 3], 2000),
                (3200, Ack(2), &[4, 5], 3000),
                (3201, Ack(3), &[6, 7], 4000),
                (3300, Ack(4), &[8], 4000),
            ],
        );
        assert_eq!((c.ssthresh_bytes(), c.stats().timeouts), (4000, 2), "{recovery:?}");
    }
}
