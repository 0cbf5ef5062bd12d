use super::*;
use crate::config::RecoveryKind;
use crate::congestion::Changes;
use crate::flight::Keeps;
use crate::sender::Sender;
use crate::Profile;

const MS: fn(u64) -> Time = Time::from_millis;

fn config(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig { mss: 100, sack: true, recovery: recovery.standard(), ..Profile::Rfc5681.config() }
}

/// Five segments of 100 bytes are outstanding, one sent every 10 ms.
fn sender(cfg: &TcpConfig) -> Sender {
    let mut s = Sender::new(cfg, 100);
    s.outstanding.keep(Keeps { order: true, ..Keeps::default() });
    s.snd.rtt.on_sample(&cfg.rto, MS(40), MS(40), (1, 1));
    (s.snd.end, s.snd.nxt, s.snd.max) = (501, 501, 501);
    for k in 0..5 {
        s.outstanding.on_sent(1 + 100 * k, 101 + 100 * k, MS(10 * k), k == 0);
    }
    s
}

fn report(cfg: &TcpConfig, s: &Sender, kind: AckKind, sacked_bytes: u64) -> AckReport {
    let now = MS(100);
    AckReport { kind, sacked_bytes, ..s.snd.report(cfg, now, (s.snd.flight_size(), 0), 0, None) }
}

/// Passes an ACK to the recovery, and applies its changes to the window.
fn take(cfg: &TcpConfig, s: &mut Sender, recovery: &mut Recovery, ack: &AckReport) -> Outcome {
    let outcome = recovery.on_ack(&mut s.view(cfg), ack);
    s.apply(cfg, ack.now, &outcome.changes);
    Outcome { changes: Changes::NONE, ..outcome }
}

/// Processes a duplicate ACK with one SACK block at `now`.
fn block(cfg: &TcpConfig, s: &mut Sender, recovery: &mut Recovery, now: Time, (left, right): (u64, u64)) -> Outcome {
    s.outstanding.begin_ack();
    let sacked_bytes = s.outstanding.on_block(left, right);
    let ack = AckReport { now, prior_min_rtt: MS(40), ..report(cfg, s, AckKind::Duplicate, sacked_bytes) };
    take(cfg, s, recovery, &ack)
}

#[test]
fn a_lost_segment_counts_once_and_again_when_its_copy_is_lost() {
    let cfg = config(RecoveryKind::Rack);
    let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
    let outcome = block(&cfg, &mut s, &mut recovery, MS(100), (201, 501));
    assert_eq!((outcome.lost_bytes, outcome.began), (200, true));
    let outcome = block(&cfg, &mut s, &mut recovery, MS(101), (201, 501));
    assert_eq!((outcome.lost_bytes, outcome.began), (0, false));
    // Both lost segments are retransmitted. The retransmission of the second arrives after 50 ms; that of the first,
    // sent 10 ms earlier, is lost.
    s.outstanding.on_sent(1, 101, MS(102), false);
    s.outstanding.on_sent(101, 201, MS(112), false);
    let outcome = block(&cfg, &mut s, &mut recovery, MS(162), (101, 501));
    assert_eq!((outcome.lost_bytes, outcome.began), (100, false));
}

#[test]
fn the_third_duplicate_begins_an_episode_and_other_acks_change_nothing() {
    for kind in RecoveryKind::ALL.iter().copied().filter(|kind| *kind != RecoveryKind::Rack) {
        let cfg = config(kind);
        let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
        let mut take = |s: &mut Sender, kind| {
            let ack = report(&cfg, s, kind, 0);
            take(&cfg, s, &mut recovery, &ack)
        };
        s.snd.una = 101;
        assert_eq!(take(&mut s, AckKind::New), Outcome::GROW, "{kind:?}");
        for expected in [Outcome::NOTHING, Outcome::NOTHING] {
            assert_eq!(take(&mut s, AckKind::Duplicate), expected, "{kind:?}");
            assert_eq!(take(&mut s, AckKind::Other), Outcome::NOTHING, "{kind:?}");
            assert_eq!(take(&mut s, AckKind::Old), Outcome::NOTHING, "{kind:?}");
        }
        let third = take(&mut s, AckKind::Duplicate);
        assert_eq!(
            third,
            Outcome { began: true, restart_timer: true, lost_bytes: 100, ..Outcome::NOTHING },
            "{kind:?}"
        );
        assert!(s.snd.resend_first || s.snd.nxt == s.snd.una, "{kind:?}: the first segment goes again");
    }
}

#[test]
fn blocks_of_an_ack_of_new_data_may_begin_an_episode() {
    // RFC 6675, section 4: three segments reported above the first one suffice, without duplicate ACKs.
    for kind in [RecoveryKind::Sack, RecoveryKind::Prr] {
        let cfg = config(kind);
        let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
        s.snd.una = 101;
        let sacked = s.outstanding.on_block(201, 501);
        let ack = report(&cfg, &s, AckKind::New, sacked);
        let outcome = take(&cfg, &mut s, &mut recovery, &ack);
        assert_eq!(
            outcome,
            Outcome { growth: Growth::None, began: true, lost_bytes: 100, ..Outcome::GROW },
            "{kind:?}"
        );
    }
}

#[test]
fn what_blocks_show_to_be_lost_counts_once() {
    for (kind, lost) in [
        (RecoveryKind::Sack, [200, 0, 100]),
        (RecoveryKind::Prr, [200, 0, 100]),
        // for FACK, everything below the highest report is lost
        (RecoveryKind::Fack, [300, 0, 0]),
    ] {
        let cfg = config(kind);
        let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
        let mut take = |s: &mut Sender, blocks: &[(u64, u64)]| {
            let sacked = blocks.iter().map(|&(left, right)| s.outstanding.on_block(left, right)).sum();
            let ack = report(&cfg, s, AckKind::Duplicate, sacked);
            super::tests::take(&cfg, s, &mut recovery, &ack).lost_bytes
        };
        (s.snd.end, s.snd.nxt, s.snd.max) = (901, 901, 901);
        // Bytes 1 to 100 and 201 to 300 are missing, with three segments reported above them. Bytes 501 to 600 are
        // missing, with only one segment reported above them.
        let seen = [
            take(&mut s, &[(101, 201), (301, 501), (601, 701)]),
            take(&mut s, &[(601, 701)]),
            take(&mut s, &[(601, 901)]),
        ];
        assert_eq!(seen, lost, "{kind:?}");
    }
}

#[test]
fn without_sack_each_segment_that_goes_again_counts_as_lost() {
    let cfg = config(RecoveryKind::NewReno);
    let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, false));
    let mut take = |s: &mut Sender, kind| {
        s.snd.resend_first = false; // the first segment has been sent
        let ack = report(&cfg, s, kind, 0);
        super::tests::take(&cfg, s, &mut recovery, &ack).lost_bytes
    };
    assert_eq!([AckKind::Duplicate; 4].map(|kind| take(&mut s, kind)), [0, 0, 100, 0]);
    s.snd.una = 201; // a partial ACK: RFC 6582, section 3.2, step 3
    assert_eq!(take(&mut s, AckKind::New), 100);
    s.snd.una = 501;
    assert_eq!(take(&mut s, AckKind::New), 0);
}

#[test]
fn only_one_reduction_is_made_for_the_losses_of_a_window() {
    let cfg = config(RecoveryKind::NewReno);
    let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, false));
    let mut take_kind = |s: &mut Sender, kind| {
        let ack = report(&cfg, s, kind, 0);
        take(&cfg, s, &mut recovery, &ack)
    };
    let began: Vec<_> = (0..6).map(|_| take_kind(&mut s, AckKind::Duplicate).began).collect();
    assert_eq!(began, [false, false, true, false, false, false]);
    recovery.on_timeout(&mut s.view(&cfg), MS(200));
    s.snd.dup_acks = 0;
    let mut take_kind = |s: &mut Sender, kind| {
        let ack = report(&cfg, s, kind, 0);
        take(&cfg, s, &mut recovery, &ack)
    };
    assert!((0..6).all(|_| !take_kind(&mut s, AckKind::Duplicate).began), "RFC 6582, section 3.2, step 4");
}

/// Whether a timeout, the `retries`-th in a row, finds the window reduced already.
fn has_reduced(cfg: &TcpConfig, s: &mut Sender, recovery: &mut Recovery, una: u64, retries: u8) -> bool {
    s.snd.una = una;
    recovery.has_reduced(&mut s.view(cfg), retries)
}

#[test]
fn a_timeout_finds_the_window_reduced_until_the_data_of_the_episode_is_acknowledged() {
    let cfg = config(RecoveryKind::Rack);
    // In recovery, up to the last byte that was outstanding when it began (500).
    for (una, reduced) in [(1, true), (500, true), (501, false)] {
        let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
        assert!(!has_reduced(&cfg, &mut s, &mut recovery, 1, 1), "nothing was lost yet");
        block(&cfg, &mut s, &mut recovery, MS(100), (201, 501));
        assert!(recovery.in_recovery());
        assert_eq!(has_reduced(&cfg, &mut s, &mut recovery, una, 1), reduced, "{una}");
    }
    // After a timeout, only another one in a row: the first timeout after progress is a loss of its own.
    for (una, retries, reduced) in
        [(1, 1, false), (1, 2, true), (101, 1, false), (101, 2, true), (500, 2, true), (501, 2, false)]
    {
        let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
        recovery.on_timeout(&mut s.view(&cfg), MS(200));
        assert!(recovery.shown().in_loss);
        assert_eq!(has_reduced(&cfg, &mut s, &mut recovery, una, retries), reduced, "{una}, {retries}");
    }
    // Other algorithms leave that to the count of timeouts in a row.
    for kind in RecoveryKind::ALL.iter().copied().filter(|kind| *kind != RecoveryKind::Rack) {
        let cfg = config(kind);
        let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, true));
        assert!(!has_reduced(&cfg, &mut s, &mut recovery, 1, 2), "{kind:?}");
    }
}

/// Linux without SACK: a duplicate ACK is a segment that has arrived, and a partial ACK of two segments accounts for one
/// of them (`tcp_remove_reno_sacks`).
#[test]
fn without_sack_linux_keeps_the_count_of_duplicates_through_a_partial_ack_and_forgets_it_with_the_episode() {
    let cfg = TcpConfig { mss: 100, sack: false, ..Profile::Linux6.config() };
    let (mut s, mut recovery) = (sender(&cfg), Recovery::new(&cfg, false));
    s.outstanding.begin_ack();
    for expected in 1..=3 {
        let ack = report(&cfg, &s, AckKind::Duplicate, 0);
        take(&cfg, &mut s, &mut recovery, &ack);
        assert_eq!(s.snd.dup_acks, expected);
    }
    assert!(recovery.in_recovery());
    let mut acknowledge = |s: &mut Sender, una: u64| {
        s.outstanding.begin_ack();
        s.outstanding.on_ack(una);
        s.snd.una = una;
        let ack = report(&cfg, s, AckKind::New, 0);
        take(&cfg, s, &mut recovery, &ack);
        s.snd.dup_acks
    };
    assert_eq!(acknowledge(&mut s, 201), 2);
    assert_eq!(acknowledge(&mut s, 501), 0);
}
