//! FACK and SACK as in ns-2's one-way agents of 1998; every number is computed by hand.

use super::loss::{after_ten, recovering};
use super::*;

fn of_1998(kind: RecoveryKind) -> TcpConfig {
    TcpConfig { recovery: Profile::Ns2_1998.recovery(kind), packet_stamps: true, ..recovering(kind) }
}

/// Until an episode begins, no segment is sent in response to an ACK with SACK blocks. During the episode, cwnd grows
/// from one segment with every ACK, and a retransmission counts as in flight until it has arrived.
#[test]
fn fack_of_1998_holds_back_and_then_opens_the_window_by_every_ack() {
    after_ten(
        &of_1998(RecoveryKind::Fack),
        "0.5 < ack 1000 sack 2000-3000   # one beyond the hole
         0.5 < ack 1000 sack 2000-4000
         0.5 < ack 1000 sack 2000-5000   # three
         0.5 > data 1000-2000
         = cwnd 1000 ssthresh 4500
         0.5 < ack 1000 sack 2000-6000   # 10 + 1 sent again + 1 > 6 + 2
         0.5 < ack 1000 sack 2000-7000
         0.5 < ack 1000 sack 2000-8000   # 12 = 8 + 4
         0.5 > data 10000-11000
         = cwnd 4000
         0.5 < ack 1000 sack 2000-9000   # half of nine segments: 11 + 1 + 1 = 9 + 4
         0.5 > data 11000-12000
         = cwnd 4500
         1.0 < ack 10000                 # what was sent again is no longer under way: 13 + 1 = 10 + 4
         1.0 > data 12000-13000
         1.0 > data 13000-14000
         1.05 < ack 10000 sack 11000-12000 # in an episode one report is enough
         1.05 > data 10000-11000
         1.05 > data 14000-15000
         1.1 < ack 12000                 # beyond the end of the episode, one segment after what was out
         1.1 > data 15000-16000
         1.6 < ack 12000 sack 13000-16000 # another loss, another episode
         1.6 > data 12000-13000
         = cwnd 1000 ssthresh 2000",
    );
}

/// Data sent after a retransmission has arrived, but the retransmission has not: nothing is sent until the timer
/// expires.
#[test]
fn fack_of_1998_waits_for_the_timer_when_a_copy_is_lost() {
    let end = after_ten(
        &of_1998(RecoveryKind::Fack),
        "0.5 < ack 0 sack 1000-5000      # a gap of more than three segments
         0.5 > data 0-1000
         0.5 < ack 0 sack 1000-6000
         0.5 < ack 0 sack 1000-7000
         0.5 < ack 0 sack 1000-8000
         0.5 > data 10000-11000
         0.5 < ack 0 sack 1000-9000
         0.5 > data 11000-12000
         0.5 > data 12000-13000
         1.0 < ack 0 sack 1000-11000     # 10000 to 11000 was sent after the copy
         1.0 < ack 0 sack 1000-12000
         2.299804692 > data 0-1000       # timed by the stamps of duplicates, too
         = cwnd 1000",
    );
    assert_eq!((end.stats().retransmits, end.stats().timeouts), (2, 1));
}

/// The first hole is retransmitted with the third ACK that has a SACK block, the next holes as the pipe counter falls
/// below cwnd. A partial ACK takes two segments off the pipe and ends the timer's backoff.
#[test]
fn sack_of_1998_counts_the_pipe_down_and_forgets_the_backoff_with_a_partial_ack() {
    let end = after_ten(
        &TcpConfig { packet_stamps: false, ..of_1998(RecoveryKind::Sack) },
        "1.0 > data 0-1000               # the timer expires; the next time after 2 s
         1.5 < ack 1000
         1.5 > data 1000-2000
         1.5 > data 2000-3000
         1.5 < ack 3000
         1.5 > data 3000-4000
         1.5 > data 4000-5000
         1.5 > data 5000-6000
         1.5 < ack 6000
         1.5 > data 6000-7000
         1.5 > data 7000-8000
         1.5 > data 8000-9000
         1.5 > data 9000-10000
         1.5 < ack 10000
         1.5 > data 10000-11000
         1.5 > data 11000-12000
         1.5 > data 12000-13000
         1.5 > data 13000-14000
         1.5 > data 14000-15000
         2.0 < ack 10500                 # of a segment that is timed, a part: nothing is measured
         2.0 < ack 10500 sack 12000-13000
         2.0 < ack 10500 sack 12000-14000
         2.0 < ack 10500 sack 12000-15000
         2.0 > data 10500-11500
         = cwnd 2250
         2.5 < ack 11500 sack 12000-15000 # two segments less in the pipe
         2.5 > data 11500-12000
         2.5 > data 15000-16000
         3.5 > data 11500-12500",
    );
    assert_eq!(end.stats().timeouts, 2);
}

/// Fall and Floyd 1996, section 3: each duplicate ACK takes a segment off the pipe, each segment sent adds one.
#[test]
fn sack_of_1998_sends_while_the_pipe_holds_less_than_cwnd() {
    after_ten(
        &of_1998(RecoveryKind::Sack),
        "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-2000       # no news, no duplicate
         0.5 < ack 0 sack 3000-4000 1000-2000
         0.5 < ack 0 sack 3000-5000 1000-2000
         0.5 > data 0-1000
         = cwnd 5000
         0.5 < ack 0 sack 3000-6000 1000-2000 # 10 - 3 - 1
         0.5 < ack 0 sack 3000-7000 1000-2000
         0.5 < ack 0 sack 3000-8000 1000-2000 # 4
         0.5 > data 2000-3000
         0.5 < ack 0 sack 3000-9000 1000-2000
         0.5 > data 10000-11000
         0.5 < ack 0 sack 3000-10000 1000-2000
         0.5 > data 11000-12000
         1.0 < ack 2000 sack 3000-10000   # 5 - 2
         1.0 > data 12000-13000
         1.0 > data 13000-14000
         1.0 < ack 10000                  # all that was out at the beginning
         1.0 > data 14000-15000
         = cwnd 5000",
    );
}

/// SACK blocks from before the timeout are forgotten, and duplicate ACKs do not count until new data is acknowledged.
#[test]
fn sack_of_1998_takes_no_duplicates_after_a_timeout() {
    let end = after_ten(
        &of_1998(RecoveryKind::Sack),
        "0.5 < ack 0 sack 1000-2000
         1.0 > data 0-1000
         = cwnd 1000 ssthresh 5000
         1.1 < ack 0 sack 1000-3000
         1.1 < ack 0 sack 1000-4000
         1.1 < ack 0 sack 1000-5000
         1.5 < ack 5000
         1.5 > data 5000-6000
         1.5 > data 6000-7000",
    );
    assert_eq!((end.stats().fast_retransmits, end.stats().timeouts), (0, 1));
}
