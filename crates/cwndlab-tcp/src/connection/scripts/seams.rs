//! Guarantees on which window laws, recoveries and traces rely, one per test. In most tests an external window law
//! records the reports that it receives, and sets the window.

use std::sync::{Arc, Mutex};

use super::loss::recovering;
use super::*;
use rand::SeedableRng;

/// The reports that a law received, one per ACK.
type Reports = Arc<Mutex<Vec<(AckReport, AfterAck)>>>;

/// A law that records every report, then lets `decide` set the window.
struct Watch {
    reports: Reports,
    decide: fn(&AckReport, &mut Window),
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

impl CongestionControl for Watch {
    fn uses_slow_start(&self) -> bool {
        false
    }

    fn on_ack(
        &mut self,
        ack: &AckReport,
        after: &AfterAck,
        _growth_bytes: u64,
        window: &mut Window,
    ) -> Result<(), LawError> {
        self.reports.lock().unwrap().push((*ack, *after));
        (self.decide)(ack, window);
        Ok(())
    }

    fn on_loss(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        window.set_cwnd_bytes(event.flight_bytes as f64 / 2.0);
        Ok(())
    }
}

const EXTERNAL: WindowLawKind = WindowLawKind::External { code: LawId(1), random: false };

/// An end with a [`Watch`] law that sets the window by `decide`.
fn watched(cfg: &TcpConfig, decide: fn(&AckReport, &mut Window)) -> (Connection, Reports) {
    let mut end = Connection::client(cfg, ISS, Time::ZERO);
    let reports = Reports::default();
    let law = Watch { reports: Arc::clone(&reports), decide };
    end.attach_law(cfg, Time::ZERO, Box::new(law), String::new(), LawFailures::default());
    (end, reports)
}

/// The reports that a law receives during a script. The law leaves the window as it is.
pub(super) fn reports(cfg: &TcpConfig, script: &str) -> Vec<AckReport> {
    let (end, reports) = watched(cfg, |_, _| {});
    run(cfg, end, script);
    let reports = reports.lock().unwrap();
    reports.iter().map(|(ack, _)| *ack).collect()
}

pub(super) fn external(cfg: TcpConfig) -> TcpConfig {
    TcpConfig { window_law: EXTERNAL, ..cfg }
}

/// `tcp_rate.c`, by hand: a segment stores how much had been delivered when it was sent, and when the last delivery
/// was. The interval of its sample is the longer of two times: the time in which the data delivered meanwhile was sent,
/// and the time in which it was acknowledged.
#[test]
fn rate_sample_of_each_segment_counts_what_was_delivered_since_it_was_sent() {
    let script = "0 write 8000
        0 > data 0-1000
        0 > data 1000-2000
        0 > data 2000-3000
        0 > data 3000-4000
        0.1 < ack 1000
        0.1 > data 4000-5000
        0.15 < ack 4000             # sent before anything was delivered
        0.15 > data 5000-6000
        0.15 > data 6000-7000
        0.15 > data 7000-8000
        0.2 < ack 5000              # 1000 were delivered when it was sent, 0.1 s ago
        0.3 < ack 8000              # 4000 were, 0.15 s ago, the last of them sent at 0
        ";
    let samples: Vec<_> = reports(&external(config(4)), script).iter().map(|ack| ack.rate.unwrap()).collect();
    let seen: Vec<_> = samples
        .iter()
        .map(|rate| {
            (rate.delivered_bytes, rate.prior_delivered_bytes, rate.delivered_packets, rate.prior_delivered_packets)
        })
        .collect();
    // the SYN counts as a packet
    assert_eq!(seen, [(1000, 0, 1, 1), (4000, 0, 4, 1), (4000, 1000, 4, 2), (4000, 4000, 4, 5)]);
    let ms = Time::from_millis;
    let times: Vec<_> = samples.iter().map(|rate| (rate.send_elapsed, rate.ack_elapsed, rate.interval)).collect();
    assert_eq!(
        times,
        [
            (ms(0), ms(100), ms(100)),
            (ms(0), ms(150), ms(150)),
            (ms(100), ms(100), ms(100)),
            (ms(150), ms(150), ms(150))
        ]
    );
}

/// `tcp_rate_check_app_limited`: if the application writes while the window has room, the samples of the data sent
/// afterwards are application-limited, until more than the data in flight at the write has been delivered.
#[test]
fn rate_sample_says_whether_the_application_limited_the_sender() {
    let script = "0 write 2000
        0 > data 0-1000
        0 > data 1000-2000
        0.1 < ack 2000
        1.0 write 8000              # nothing was under way
        1.0 > data 2000-3000
        1.0 > data 3000-4000
        1.0 > data 4000-5000
        1.0 > data 5000-6000
        1.1 < ack 3000              # the first of these ends the gap
        1.1 > data 6000-7000
        1.15 < ack 6000
        1.15 > data 7000-8000
        1.15 > data 8000-9000
        1.15 > data 9000-10000
        1.2 < ack 7000
        1.3 < ack 10000
        ";
    let limited: Vec<_> =
        reports(&external(config(4)), script).iter().map(|ack| ack.rate.unwrap().app_limited).collect();
    assert_eq!(limited, [true, true, true, false, false]);
}

/// The window of an external law's minimum RTT is ten seconds: once the shorter round trip is older, a longer one is
/// the minimum.
#[test]
fn minimum_rtt_of_a_window_forgets_a_round_trip_that_is_older() {
    let script = "0 write 1000
        0 > data 0-1000
        0.1 < ack 1000
        5 write 1000
        5 > data 1000-2000
        5.2 < ack 2000
        9.8 write 1000
        9.8 > data 2000-3000
        10.1 < ack 3000
        10.2 write 1000
        10.2 > data 3000-4000
        10.7 < ack 4000
        ";
    let least: Vec<_> = reports(&external(config(4)), script).iter().map(|ack| ack.rate.unwrap().min_rtt).collect();
    assert_eq!(least, [100, 100, 100, 200].map(Time::from_millis));
}

/// Ten segments, of which the first is lost: nine duplicate ACKs, with SACK blocks if agreed on, then an ACK of
/// everything.
#[test]
fn every_ack_reaches_the_law_in_recovery_too() {
    for &kind in RecoveryKind::ALL {
        let cfg = external(recovering(kind));
        let (end, reports) = watched(&cfg, |_, _| {});
        let mut script = Script::new(&cfg, end);
        script.end.write(10_000);
        let mut expected = Vec::new();
        for k in 2..=11 {
            let ack = match k {
                11 => "ack 10000".to_owned(),
                _ if kind.is_selective() => format!("ack 0 sack 1000-{k}000"),
                _ => "ack 0".to_owned(),
            };
            let at = Time::from_millis(100 + k);
            script.take(at, &ack);
            expected.push((at, script.end.in_recovery()));
        }
        let seen: Vec<_> = reports.lock().unwrap().iter().map(|(ack, after)| (ack.now, after.in_recovery)).collect();
        assert_eq!(seen, expected, "{kind:?}: when, and whether in recovery");
        let acks = seen.iter().filter(|ack| ack.1).count();
        assert!(acks == 7 || kind == RecoveryKind::Tahoe, "{kind:?}: {acks} ACKs in recovery");
        // Tahoe has no recovery: it slow-starts.
    }
}

/// Each lost segment counts once, with the ACK that shows its loss; here two segments below three that arrived.
#[test]
fn lost_bytes_are_reported_with_the_ack_that_shows_the_loss() {
    for kind in [RecoveryKind::Sack, RecoveryKind::Fack, RecoveryKind::Prr, RecoveryKind::Rack] {
        let cfg = external(recovering(kind));
        let (end, reports) = watched(&cfg, |_, _| {});
        let mut script = Script::new(&cfg, end);
        script.end.write(10_000);
        for (at, ack) in [
            (100, "ack 1000"),
            (101, "ack 1000 sack 3000-4000"),
            (102, "ack 1000 sack 3000-6000"),
            (103, "ack 1000 sack 3000-7000"),
        ] {
            script.take(Time::from_millis(at), ack);
        }
        let lost: Vec<_> = reports.lock().unwrap().iter().map(|(_, after)| after.lost_bytes).collect();
        assert_eq!(lost, [0, 0, 2000, 0], "{kind:?}");
    }
}

/// AccECN counts packets; with ECE alone, everything that the ACK delivers counts as marked (RFC 8257, section 3.3).
#[test]
fn ce_counts_of_each_ack_reach_the_law() {
    for (ecn, expected) in [
        (EcnKind::Accecn, [(0, 0), (1, 1000), (2, 2000), (0, 0)]),
        (EcnKind::Dctcp, [(0, 0), (0, 1000), (0, 2000), (0, 0)]),
    ] {
        let cfg = external(TcpConfig { ecn, ..config(8) });
        let (mut end, reports) = watched(&cfg, |_, window| window.set_cwnd_bytes(8000.0));
        let mut peer = Connection::server(&cfg, 77, Time::ZERO);
        let full = u64::from(end.mss());
        end.write(5 * full);
        // for each group of packets, with one ACK each: whether they are marked
        for marks in [&[false] as &[bool], &[true], &[true, true], &[false]] {
            for &marked in marks {
                let mut segment = end.poll_transmit(&cfg, Time::ZERO).unwrap();
                assert_ne!(segment.ecn, 0, "ECN-capable");
                if marked {
                    segment.ecn = crate::ecn::CE;
                }
                peer.handle_segment(&cfg, Time::ZERO, &segment);
            }
            let mut acks = 0;
            while let Some(ack) = peer.poll_transmit(&cfg, Time::ZERO) {
                end.handle_segment(&cfg, Time::from_millis(100), &ack);
                acks += 1;
            }
            assert_eq!(acks, 1, "{ecn:?}");
        }
        let seen: Vec<_> =
            reports.lock().unwrap().iter().map(|(ack, _)| (ack.ce_packets, ack.ce_bytes * 1000 / full)).collect();
        assert_eq!(seen, expected, "{ecn:?}: packets and bytes with CE");
    }
}

/// Returns the four trains that follow the ACK of the first ten segments, which arrives at `rtt`: for each, the time
/// since the ACK and the number of segments.
fn trains(cfg: &TcpConfig, end: Connection, rtt: Time) -> Vec<(Time, usize)> {
    let mut script = Script::new(cfg, end);
    script.end.write(100_000);
    script.take(rtt, "ack 10000");
    let (mut end, mut sent) = (script.end, Vec::new());
    for _ in 0..4 {
        let now = end.poll_timeout();
        end.handle_timeout(cfg, now);
        sent.push((now - rtt, std::iter::from_fn(|| end.poll_transmit(cfg, now)).count()));
    }
    sent
}

/// At 160 kb/s, a train of two segments leaves every 100 ms. The first train begins long after the pacer allowed it, so
/// the next one may follow after half of that time.
#[test]
fn pacing_rate_of_the_law_spaces_the_trains() {
    let cfg = external(config(10));
    let (end, _) = watched(&cfg, |_, window| window.pacing_rate_bps = Some(160_000.0));
    let expected = [50, 150, 250, 350].map(|at| (Time::from_millis(at), 2));
    assert_eq!(trains(&cfg, end, Time::from_millis(100)), expected);
}

/// BBR sends trains of one segment below 1.2 Mb/s, where the default is two.
#[test]
fn quantum_of_the_law_is_the_length_of_the_trains() {
    let cfg = TcpConfig { window_law: WindowLawKind::Bbr1, ..config(10) };
    let end = Connection::client(&cfg, ISS, Time::ZERO);
    let lengths: Vec<_> = trains(&cfg, end, Time::from_secs(1)).iter().map(|train| train.1).collect();
    assert_eq!(lengths, [1; 4]);
}

/// The rates that BBR grants over a bottleneck of 8 Mb/s with a round trip of 20 ms, once a handshake has agreed on an
/// option.
fn rates(seed: u64) -> Vec<Option<u64>> {
    let shaken = TcpConfig { handshake: Some(HandshakeConfig::STANDARD), timestamps: true, ..config(10) };
    let cfg = TcpConfig { window_law: WindowLawKind::Bbr1, ..shaken };
    let mut ends = [Connection::client(&cfg, ISS, Time::ZERO), Connection::server(&cfg, 77, Time::ZERO)];
    ends[0].set_random(Rng::seed_from_u64(seed));
    ends[0].write(1 << 30);
    let (mut now, mut free, mut rates) = (Time::ZERO, Time::ZERO, Vec::new());
    let mut wire = VecDeque::new();
    while now < Time::from_millis(600) {
        for (side, end) in ends.iter_mut().enumerate() {
            while let Some(segment) = end.poll_transmit(&cfg, now) {
                free = free.max(now) + Time::from_micros(u64::from(segment.len));
                let at = if side == 0 { free + Time::from_millis(20) } else { now };
                wire.push_back((at, 1 - side, segment));
            }
        }
        rates.push(ends[0].sender.cc.grant().pacing_rate);
        let arrives = wire.iter().map(|(at, ..)| *at).min().unwrap_or(Time::MAX);
        now = now.max(arrives.min(ends[0].poll_timeout()).min(ends[1].poll_timeout()));
        ends.iter_mut().filter(|end| end.poll_timeout() <= now).for_each(|end| end.handle_timeout(&cfg, now));
        while let Some(next) = wire.iter().position(|(at, ..)| *at <= now) {
            let (_, side, segment) = wire.remove(next).unwrap();
            ends[side].handle_segment(&cfg, now, &segment);
        }
    }
    rates.dedup();
    rates
}

/// BBR draws the phase with which its cycle begins. The law restarts once options are agreed on, and must keep its
/// random numbers.
#[test]
fn random_numbers_of_the_connection_reach_the_law() {
    assert_eq!(rates(1), rates(1));
    assert!((2..6).any(|seed| rates(seed) != rates(1)), "the seed changes nothing");
}

/// A law adds 300.25 bytes with each ACK: the window is not rounded to segments, nor the law's own value to bytes.
#[test]
fn windows_keep_fractions_of_a_segment() {
    let cfg = external(config(2));
    let (end, _) = watched(&cfg, |_, window| window.set_cwnd_bytes(window.cwnd_bytes() + 300.25));
    run(
        &cfg,
        end,
        "0 write 20000
        0 > data 0-1000
        0 > data 1000-2000
        0.1 < ack 1000
        0.1 > data 2000-3000
        = cwnd 2300
        0.1 < ack 2000
        0.1 > data 3000-4000
        = cwnd 2600
        0.2 < ack 3000
        0.2 > data 4000-5000
        = cwnd 2900
        0.2 < ack 4000
        0.2 > data 5000-6000
        0.2 > data 6000-7000
        = cwnd 3201 flight 3000",
    );
}

/// The trace of a sender during a script, finished at `end`.
fn traced(cfg: &TcpConfig, end: Time, script: &str) -> Vec<Traced> {
    let mut it = Script::new(cfg, Connection::client(cfg, ISS, Time::ZERO));
    it.follows = Some((Trace::new(Time::ZERO), Vec::new()));
    it.run(script);
    let (trace, mut traced) = it.follows.unwrap();
    trace.finish(end, |what| traced.push(what));
    traced
}

fn limits(traced: &[Traced]) -> Vec<(Time, Limit)> {
    let limit = |what: &Traced| match *what {
        Traced::Limited { from, by, .. } => Some((from, by)),
        _ => None,
    };
    traced.iter().filter_map(limit).collect()
}

fn states(traced: &[Traced]) -> Vec<(Time, CongestionState, Cause)> {
    let state = |what: &Traced| match *what {
        Traced::Was { from, state, entered_by, .. } => Some((from, state, entered_by)),
        _ => None,
    };
    traced.iter().filter_map(state).collect()
}

#[test]
fn trace_names_what_limits_the_sender() {
    let seen = traced(
        &config(2),
        Time::from_secs(2),
        "0 write 3000
        0 > data 0-1000
        0 > data 1000-2000
        0.1 < ack 2000
        0.1 > data 2000-3000
        0.2 < ack 3000
        0.5 write 5000
        0.5 > data 3000-4000
        0.5 > data 4000-5000
        0.5 > data 5000-6000
        0.5 > data 6000-7000
        0.6 < ack 7000 win 500
        0.7 < ack 7000 win 8000
        0.7 > data 7000-8000
        0.8 < ack 8000",
    );
    let ms = |at, by| (Time::from_millis(at), by);
    let expected = [
        ms(0, Limit::Cwnd),
        ms(100, Limit::Application),
        ms(200, Limit::Idle),
        ms(500, Limit::Cwnd),
        ms(600, Limit::ReceiveWindow),
        ms(700, Limit::Application),
        ms(800, Limit::Idle),
    ];
    assert_eq!(limits(&seen), expected);
}

/// Linux 2.0's FIN waits until fewer whole segments are in flight than the window holds. In recovery, pipe is the
/// amount in flight.
#[test]
fn recovery_limits_a_fin_that_waits_for_pipe() {
    let fin = Some(FinConfig { alone: true, ..FIN });
    let seen = traced(
        &TcpConfig { fin, initial_window: InitialWindow::Segments(10), ..recovering(RecoveryKind::Sack) },
        Time::from_secs(1),
        "0 write 4900
        0 > data 0-1000
        0 > data 1000-2000
        0 > data 2000-3000
        0 > data 3000-4000
        0 > data 4000-4900
        0.1 < ack 0 sack 1000-2000
        0.1 < ack 0 sack 1000-3000
        0.1 < ack 0 sack 1000-4000
        0.1 > data 0-1000           # window 2450
        0.1 < ack 0 sack 1000-4900
        0.2 write 50
        0.2 > data 4900-4950
        0.2 close
        0.2 > data 4900-4950        # the rescue (RFC 6675); 1100 bytes in flight, counted as 2 segments of 2
        0.3 < ack 4950
        0.3 > fin ack 0
        0.4 < ack 4951",
    );
    let at = |ms| limits(&seen).iter().rev().find(|(from, _)| *from <= Time::from_millis(ms)).map(|(_, by)| *by);
    assert_eq!(at(250), Some(Limit::Recovery));
}

#[test]
fn trace_shows_states_expiries_and_when_the_timer_was_set() {
    let seen = traced(
        &recovering(RecoveryKind::NewReno),
        Time::from_secs(4),
        "0 write 2000
        0 > data 0-1000
        0 > data 1000-2000
        1 > data 0-1000
        3 > data 0-1000
        3.5 < ack 2000",
    );
    let s = Time::from_secs;
    assert_eq!(
        states(&seen),
        [
            (s(0), CongestionState::Open, Cause::Start),
            (s(1), CongestionState::Loss, Cause::Timeout),
            (s(3), CongestionState::Loss, Cause::Timeout),
            (Time::from_millis(3500), CongestionState::Open, Cause::Ack),
        ]
    );
    let expired: Vec<_> = seen.iter().filter(|what| matches!(what, Traced::Expired { .. })).copied().collect();
    let timer = Expired::Retransmission;
    assert_eq!(
        expired,
        [
            Traced::Expired { at: s(1), timer, set_at: s(0), backoffs: 1, acked: 0 },
            Traced::Expired { at: s(3), timer, set_at: s(1), backoffs: 2, acked: 0 },
        ]
    );
    assert!(limits(&seen).contains(&(s(0), Limit::Timeout)), "the silence before counts as waiting for the timer");
}

/// RFC 3522: the ACK that ends recovery echoes the timestamp of the first transmission, so nothing had been lost.
#[test]
fn trace_shows_an_undo() {
    let cfg = TcpConfig { timestamps: true, mss: 1012, ..recovering(RecoveryKind::Rack) };
    let seen = traced(
        &cfg,
        Time::from_secs(1),
        "0.1 write 4000
        0.1 > data 0-1000
        0.1 > data 1000-2000
        0.1 > data 2000-3000
        0.1 > data 3000-4000
        0.2 < ack 0 sack 1000-4000 ts 1 100000
        0.2 > data 0-1000
        0.25 < ack 4000 ts 1 100000",
    );
    let ms = Time::from_millis;
    assert_eq!(
        states(&seen),
        [
            (ms(0), CongestionState::Open, Cause::Start),
            (ms(200), CongestionState::Recovery, Cause::Loss),
            (ms(250), CongestionState::Open, Cause::Undo),
        ]
    );
}
