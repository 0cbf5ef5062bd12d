//! Tests each kind of loss recovery with the examples of its specification.

use super::*;

pub(super) fn recovering(kind: RecoveryKind) -> TcpConfig {
    TcpConfig { recovery: kind.standard(), sack: kind.is_selective(), ..config(10) }
}

/// Ten segments are outstanding, from 0 to 10000.
const TEN: &str = "0 write 30000
    0 > data 0-1000
    0 > data 1000-2000
    0 > data 2000-3000
    0 > data 3000-4000
    0 > data 4000-5000
    0 > data 5000-6000
    0 > data 6000-7000
    0 > data 7000-8000
    0 > data 8000-9000
    0 > data 9000-10000
    ";

pub(super) fn after_ten(cfg: &TcpConfig, script: &str) -> Connection {
    client(cfg, &format!("{TEN}{script}"))
}

/// RFC 6298, 5.4 to 5.7; RFC 5681, section 3.1, equation 4.
#[test]
fn a_timeout_leaves_one_segment_and_half_the_flight_and_doubles_the_next() {
    after_ten(
        &recovering(RecoveryKind::NewReno),
        "1.0 > data 0-1000
         = cwnd 1000 ssthresh 5000
         3.0 > data 0-1000
         = cwnd 1000 ssthresh 5000   # the same loss: held
         7.0 > data 0-1000
         7.1 < ack 10000             # all had arrived; no measurement (Karn), so the backoff stays
         7.1 > data 10000-11000
         7.1 > data 11000-12000
         = cwnd 2000
         15.1 > data 10000-11000",
    );
}

#[test]
fn after_a_timeout_everything_goes_again_in_slow_start() {
    after_ten(
        &recovering(RecoveryKind::Reno),
        "1.0 > data 0-1000
         1.5 < ack 1000
         1.5 > data 1000-2000
         1.5 > data 2000-3000
         2.0 < ack 3000
         2.0 > data 3000-4000
         2.0 > data 4000-5000
         2.0 > data 5000-6000
         = cwnd 3000 ssthresh 5000",
    );
}

#[test]
fn tahoe_starts_again_from_one_segment() {
    after_ten(
        &recovering(RecoveryKind::Tahoe),
        "0.5 < ack 0
         0.5 < ack 0
         0.5 < ack 0
         0.5 > data 0-1000
         = cwnd 1000 ssthresh 5000
         0.5 < ack 0
         0.5 < ack 0
         0.9 < ack 1000
         0.9 > data 1000-2000
         0.9 > data 2000-3000
         = cwnd 2000",
    );
}

/// RFC 5681, section 3.2.
#[test]
fn reno_inflates_by_each_duplicate_and_deflates_with_the_first_new_ack() {
    after_ten(
        &recovering(RecoveryKind::Reno),
        "0.5 < ack 0
         0.5 < ack 0
         0.5 < ack 0
         0.5 > data 0-1000           # window 5 + 3
         = ssthresh 5000
         0.5 < ack 0
         0.5 < ack 0                 # 5 + 5: as much as is out
         0.5 < ack 0
         0.5 > data 10000-11000
         0.5 < ack 0
         0.5 > data 11000-12000
         0.9 < ack 10000             # 2 segments are out of a window of 5
         0.9 > data 12000-13000
         0.9 > data 13000-14000
         0.9 > data 14000-15000
         = cwnd 5000 ssthresh 5000",
    );
}

/// RFC 3042, section 2: two new segments beyond cwnd, no change of cwnd.
#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    let cfg = TcpConfig { limited_transmit: true, ..recovering(RecoveryKind::NewReno) };
    after_ten(
        &cfg,
        "0.5 < ack 0
         0.5 > data 10000-11000
         = cwnd 10000
         0.5 < ack 0
         0.5 > data 11000-12000
         = cwnd 10000
         0.5 < ack 0
         0.5 > data 0-1000",
    );
}

/// Without deflation, a partial ACK only ends the inflation. In the slow-but-steady variant, each partial ACK restarts
/// the timer (RFC 6582, section 4). Losses at 0, 3000 and 6000.
#[test]
fn newreno_of_1998_keeps_the_window_on_partial_acks_and_its_timer_running() {
    let new_reno = Profile::Ns2_1998.recovery(RecoveryKind::NewReno);
    let of_1998 = TcpConfig { recovery: new_reno, ..recovering(RecoveryKind::NewReno) };
    let script = |timeout: &str| {
        format!(
            "0.5 < ack 0
             0.5 < ack 0
             0.5 < ack 0
             0.5 > data 0-1000
             = ssthresh 5000 cwnd 5000
             0.9 < ack 3000              # partial, 7 are out
             0.9 > data 3000-4000
             = cwnd 5000
             1.3 < ack 6000              # 4 of a window of 5
             1.3 > data 6000-7000
             1.3 > data 10000-11000
             = cwnd 5000
             {timeout} > data 6000-7000"
        )
    };
    after_ten(&of_1998, &script("2.3"));
    let impatient = NewRenoConfig { impatient: true, ..new_reno.new_reno() };
    let impatient = TcpConfig { recovery: RecoveryConfig::NewReno(impatient), ..of_1998 };
    after_ten(&impatient, &script("1.9"));
}

/// RFC 6582, section 3.2: two losses, at 0 and 3000.
#[test]
fn newreno_sends_the_next_hole_on_a_partial_ack_and_stays_until_the_last_is_acknowledged() {
    after_ten(
        &recovering(RecoveryKind::NewReno),
        "0.5 < ack 0
         0.5 < ack 0
         0.5 < ack 0
         0.5 > data 0-1000
         = ssthresh 5000
         0.5 < ack 0
         0.5 < ack 0
         0.5 < ack 0
         0.5 > data 10000-11000
         0.5 < ack 0
         0.5 > data 11000-12000
         0.5 < ack 0
         0.5 > data 12000-13000      # window 5 + 8
         0.9 < ack 3000              # partial: 3 acknowledged, one added back: 5 + 6
         0.9 > data 3000-4000
         0.9 > data 13000-14000
         1.3 < ack 10000             # covers recover, what was out at the start
         1.3 > data 14000-15000
         = cwnd 5000",
    );
}

#[test]
fn a_second_fast_retransmit_waits_until_the_losses_of_the_first_are_over() {
    let end = after_ten(
        &recovering(RecoveryKind::NewReno),
        "1.0 > data 0-1000           # a timeout
         1.1 < ack 0
         1.1 < ack 0
         1.1 < ack 0
         1.1 < ack 0
         = cwnd 1000 timeouts 1",
    );
    assert_eq!(end.stats().fast_retransmits, 0);
}

/// RFC 6675, section 5: losses at 0 and 2000; pipe determines what may be sent.
#[test]
fn sack_sends_what_is_lost_first_and_new_data_as_the_pipe_empties() {
    after_ten(
        &recovering(RecoveryKind::Sack),
        "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 3000-4000 1000-2000
         0.5 < ack 0 sack 3000-5000 1000-2000
         0.5 > data 0-1000           # DupAcks = 3
         = cwnd 5000 ssthresh 5000
         0.5 < ack 0 sack 3000-6000 1000-2000
         0.5 < ack 0 sack 3000-7000 1000-2000
         0.5 > data 2000-3000        # lost by now; pipe was 4 of 5
         0.5 < ack 0 sack 3000-8000 1000-2000
         0.5 > data 10000-11000
         0.9 < ack 2000 sack 3000-8000
         0.9 > data 11000-12000
         1.0 < ack 10000             # the recovery point
         1.0 > data 12000-13000
         1.0 > data 13000-14000
         1.0 > data 14000-15000
         = cwnd 5000",
    );
}

/// RFC 6675, section 4, `NextSeg`, rule 4: the first segment and the last three are lost, and there is no new data. The
/// rescue retransmission repeats the last segment; its arrival shows the holes before it, which are filled without a
/// timeout.
#[test]
fn sack_rescues_a_lost_tail_without_a_timeout() {
    let end = client(
        &recovering(RecoveryKind::Sack),
        &(TEN.replace("write 30000", "write 10000")
            + "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-3000
         0.5 < ack 0 sack 1000-4000
         0.5 > data 0-1000
         0.5 < ack 0 sack 1000-5000
         0.5 < ack 0 sack 1000-6000
         0.5 < ack 0 sack 1000-7000  # pipe: 7000 to 10000 and the first again = 4 of 5
         0.5 > data 9000-10000
         0.9 < ack 7000              # the first arrives: pipe 3 of 5
         0.9 < ack 7000 sack 9000-10000
         0.9 > data 7000-8000
         0.9 > data 8000-9000
         1.3 < ack 10000
         = cwnd 5000 timeouts 0"),
    );
    assert_eq!((end.stats().fast_retransmits, end.stats().retransmits), (1, 4));
}

/// RFC 6675, section 5, step 2: three segments above the first hole, reported by a single ACK.
#[test]
fn sack_needs_no_three_duplicates_if_one_tells_of_three_segments() {
    let end = after_ten(
        &recovering(RecoveryKind::Sack),
        "0.5 < ack 0 sack 1000-4000
         0.5 > data 0-1000",
    );
    assert_eq!(end.stats().fast_retransmits, 1);
}

#[test]
fn a_duplicate_without_news_does_not_count_with_sack() {
    let end = after_ten(
        &recovering(RecoveryKind::Sack),
        "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-2000",
    );
    assert_eq!(end.stats().fast_retransmits, 0);
}

/// RFC 6937, section 3, by hand: `RecoverFS` 10, ssthresh 5.
#[test]
fn prr_reduces_in_proportion_down_to_ssthresh_and_then_conserves() {
    let end = after_ten(
        &recovering(RecoveryKind::Prr),
        "0.5 < ack 0 sack 1000-2000
         0.5 < ack 0 sack 1000-3000
         0.5 < ack 0 sack 1000-4000
         0.5 > data 0-1000           # the fast retransmit always goes; pipe 7
         = ssthresh 5000
         0.5 < ack 0 sack 1000-5000  # pipe 6: 2 delivered * 5 / 10 - 1 sent
         0.5 < ack 0 sack 1000-6000  # pipe 5: no room below ssthresh
         0.5 < ack 0 sack 1000-7000  # pipe 4: one
         0.5 > data 10000-11000
         0.5 < ack 0 sack 1000-8000
         0.5 > data 11000-12000
         0.5 < ack 0 sack 1000-9000
         0.5 > data 12000-13000
         0.5 < ack 0 sack 1000-10000
         0.5 > data 13000-14000
         0.9 < ack 10000             # ends at ssthresh, without a burst
         0.9 > data 14000-15000
         = cwnd 5000",
    );
    assert!(!end.in_recovery());
}

/// RFC 6937, section 3.1: while pipe is below ssthresh, no more is sent than was delivered, and one segment more on a
/// safe ACK. 0 to 7000 are lost.
#[test]
fn prr_keeps_to_what_was_delivered_when_much_was_lost() {
    after_ten(
        &recovering(RecoveryKind::Prr),
        "0.5 < ack 0 sack 7000-8000
         0.5 < ack 0 sack 7000-9000
         0.5 < ack 0 sack 7000-10000
         0.5 > data 0-1000           # pipe 0
         0.9 < ack 1000 sack 7000-10000
         0.9 > data 1000-2000
         0.9 > data 2000-3000
         = cwnd 2000
         1.3 < ack 2000 sack 7000-10000
         1.3 > data 3000-4000
         1.3 > data 4000-5000
         = cwnd 3000 ssthresh 5000",
    );
}

/// Mathis & Mahdavi 1996, 3.1 and 3.2: awnd = snd.nxt - snd.fack + `retran_data`. 0 to 4000 are lost.
#[test]
fn fack_recovers_on_the_first_ack_that_tells_of_a_gap_of_more_than_three() {
    let end = after_ten(
        &recovering(RecoveryKind::Fack),
        "0.5 < ack 0 sack 4000-5000
         = cwnd 5000 ssthresh 5000   # awnd is 5, and the first goes in any case
         0.5 > data 0-1000
         0.5 < ack 0 sack 4000-6000  # 4 + 1
         0.5 < ack 0 sack 4000-7000  # 3 + 1
         0.5 > data 1000-2000
         0.5 < ack 0 sack 4000-8000  # 2 + 2
         0.5 > data 2000-3000
         0.5 < ack 0 sack 4000-9000
         0.5 > data 3000-4000
         0.5 < ack 0 sack 4000-10000 # 0 + 4
         0.5 > data 10000-11000
         0.9 < ack 1000 sack 4000-10000
         0.9 > data 11000-12000
         0.9 < ack 10000             # over: two are out
         0.9 > data 12000-13000
         0.9 > data 13000-14000
         0.9 > data 14000-15000
         = cwnd 5000",
    );
    assert_eq!((end.stats().fast_retransmits, end.stats().retransmits, end.stats().timeouts), (1, 4, 0));
}

/// RFC 5681, section 3.1, equation 4, and slow start up to this ssthresh, whatever the recovery.
#[test]
fn every_recovery_starts_slowly_after_a_timeout() {
    use RecoveryKind::{Fack, NewReno, Prr, Reno, Sack, Tahoe};
    for kind in [Tahoe, Reno, NewReno, Sack, Fack, Prr] {
        after_ten(
            &recovering(kind),
            "1.0 > data 0-1000
             = cwnd 1000 ssthresh 5000
             1.5 < ack 1000
             1.5 > data 1000-2000
             1.5 > data 2000-3000
             = cwnd 2000",
        );
    }
}

/// RFC 6298, section 3 (Karn's algorithm).
#[test]
fn a_segment_sent_twice_is_not_measured() {
    let cfg = config(1);
    let end = client(
        &cfg,
        "0.0 write 1000
         0.0 > data 0-1000
         1.0 > data 0-1000
         1.1 < ack 1000",
    );
    assert_eq!(end.srtt(&cfg), Time::ZERO);
}

/// RFC 2018, section 8; RFC 6675, section 5.1: the receiver had reported 1000 to 4000 and discarded it. Once 0 to 1000
/// has arrived, the next segment that the receiver needs is one that it had reported, so the sender must forget the
/// reports to send that segment again.
#[test]
fn a_receiver_that_threw_away_what_it_reported_gets_it_again() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Prr, RecoveryKind::Rack] {
        let cfg = TcpConfig { recovery: kind.standard(), sack: true, ..config(4) };
        let mut end = Connection::client(&cfg, 0, Time::ZERO);
        end.write(4000);
        let drain = |end: &mut Connection, now: Time| while end.poll_transmit(&cfg, now).is_some() {};
        drain(&mut end, Time::ZERO);
        let mut dropping =
            Segment::from(Header { seq: 1, ack: 1, flags: Flags::ACK, window: 1 << 20, ..Header::default() });
        dropping.sack.blocks[0] = (1001, 4001);
        dropping.sack.len = 1;
        let mut now = Time::from_millis(100);
        end.handle_segment(&cfg, now, &dropping);
        drain(&mut end, now);
        now = Time::from_millis(200);
        let first =
            Segment::from(Header { seq: 1, ack: 1001, flags: Flags::ACK, window: 1 << 20, ..Header::default() });
        end.handle_segment(&cfg, now, &first);
        drain(&mut end, now);
        // only the timer is left; from now on the receiver keeps only data in order
        let mut held = 1001;
        for _ in 0..40 {
            now = end.poll_timeout();
            if now.is_never() {
                break;
            }
            end.handle_timeout(&cfg, now);
            while let Some(segment) = end.poll_transmit(&cfg, now) {
                if segment.len > 0 && segment.seq == held {
                    held += segment.len;
                }
            }
            end.handle_segment(&cfg, now, &Segment::from(Header { ack: held, ..first.header }));
            drain(&mut end, now);
        }
        assert_eq!(held, 4001, "{kind:?} does not send again what is missing");
    }
}

/// RFC 9937, section 6, in the case of its figure 1: 20 segments, the first lost, Limited Transmit, ssthresh 10.
/// `RecoverFS` is 20 segments: the 22 in flight, less 3 reported by SACK, plus 1 delivered by the ACK that begins
/// recovery. N is new data, R a retransmission. The figure counts in segments. Here PRR counts in bytes: if it allows half a
/// segment, the segment is sent one ACK later:
///
/// ```text
/// ACK         1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22
/// inflight   20 20 18 18 17 16 16 15 15 14 14 13 13 12 12 11 11 10  9  9  9  9
/// the figure  N  N  R     N     N     N     N     N     N     N     N     N  N
/// here        N  N  R        N     N     N     N     N     N        N  N  N  N
/// ```
#[test]
fn prr_sends_as_in_figure_1_of_rfc_9937() {
    let cfg = TcpConfig { recovery: RecoveryKind::Prr.standard(), sack: true, limited_transmit: true, ..config(20) };
    let mut end = Connection::client(&cfg, 0, Time::ZERO);
    end.write(100_000);
    while end.poll_transmit(&cfg, Time::ZERO).is_some() {}
    let now = Time::from_millis(100);
    let mut sent = String::new();
    for number in 1..=22 {
        let mut ack = Segment::from(Header { seq: 1, ack: 1, flags: Flags::ACK, window: 1 << 20, ..Header::default() });
        if number == 22 {
            ack.ack = 22_001; // all of the first flight and of Limited Transmit
        } else {
            ack.sack.blocks[0] = (1001, 1001 + 1000 * number);
            ack.sack.len = 1;
        }
        end.handle_segment(&cfg, now, &ack);
        let out: Vec<Segment> = std::iter::from_fn(|| end.poll_transmit(&cfg, now)).collect();
        assert!(out.len() <= 1, "ACK {number}");
        sent.push(out.first().map_or('-', |segment| if segment.seq == 1 { 'R' } else { 'N' }));
    }
    assert_eq!(sent, "NNR--N-N-N-N-N-N--NNNN");
    assert_eq!((end.cwnd_bytes(), end.in_flight()), (10_000, 10_000));
}

/// RFC 5681, section 2: `FlightSize` is what was sent and not acknowledged, also during go-back-N after a timeout.
#[test]
fn a_second_timeout_during_a_go_back_halves_all_that_is_outstanding() {
    after_ten(
        &recovering(RecoveryKind::NewReno),
        "1.0 > data 0-1000
         = cwnd 1000 ssthresh 5000
         1.5 < ack 1000
         1.5 > data 1000-2000
         1.5 > data 2000-3000
         3.5 > data 1000-2000            # of 9 segments outstanding
         = cwnd 1000 ssthresh 4500",
    );
}

/// ns-2's `tcp-full-bay.cc`, `recv`: "make sure we send at most 2 packets due to this ack".
#[test]
fn the_agents_of_rfc_2415_leave_recovery_with_two_segments_more_than_outstanding() {
    let RecoveryConfig::Reno(standard) = RecoveryKind::Reno.standard() else { unreachable!() };
    let reno = RenoConfig { ends_with: RecoveryEnd::OutstandingPlusTwo, ..standard };
    let script = "0.5 < ack 0
         0.5 < ack 0
         0.5 < ack 0
         0.5 > data 0-1000
         0.6 < ack 1000              # nine outstanding: 11 instead of ssthresh, 5
         0.6 > data 10000-11000
         0.6 > data 11000-12000
         = ssthresh 5000";
    after_ten(&TcpConfig { recovery: RecoveryConfig::Reno(reno), ..recovering(RecoveryKind::Reno) }, script);
}
