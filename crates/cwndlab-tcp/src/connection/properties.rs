//! Runs two endpoints over a pipe that loses, marks, duplicates and reorders segments. The stream must arrive whole and
//! in order, and every connection must end or report an error.

mod followed;
pub(super) mod unchanged;

use super::fast::comparison::{deliver, poll};
use super::Connection;
use crate::clock::Clock;
use crate::*;
use cwndlab_units::Time;
use followed::Followed;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A small random number generator, whose seed reproduces a failing case.
struct Dice(u64);
impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[derive(Clone, Debug)]
struct Pipe {
    loss: f64,
    /// Share of ECN-capable segments that are marked.
    marks: f64,
    duplication: f64,
    delay: Time,
    jitter: Time,
    /// Index of the first segment that an outage loses, and of the first one after the outage.
    outage: (u32, u32),
    seed: u64,
    /// One in this many segments is also processed by the full path, and the results are compared.
    compares_one_in: u64,
}

#[derive(Clone, Debug)]
struct Plan {
    /// Bytes that each end writes, in total and per write.
    bytes: [u64; 2],
    pieces: [u64; 2],
    close_at: [Time; 2],
    /// Bytes that each end reads per 100 ms; 0: everything at once.
    reads: [u64; 2],
}

struct Outcome {
    ends: [Connection; 2],
    end: Time,
    /// Whether both ends have finished.
    over: bool,
    /// What the traces reported, if there were any.
    traced: String,
}

/// Segments in flight by arrival time and serial number, each with the index of the end that receives it.
type Wire = BTreeMap<(Time, u64), (usize, Segment)>;

/// Sends segment number `sent` through the pipe, which may lose, mark or duplicate it.
fn transmit(pipe: &Pipe, dice: &mut Dice, wire: &mut Wire, (now, sent): (Time, u64), to: usize, mut segment: Segment) {
    let marked = segment.ecn != 0 && dice.roll() < pipe.marks;
    if marked {
        segment.ecn = 3;
    }
    let lost = dice.roll() < pipe.loss || (u64::from(pipe.outage.0)..u64::from(pipe.outage.1)).contains(&sent);
    let copies = if lost { 0 } else { 1 + u32::from(dice.roll() < pipe.duplication) };
    for copy in 0..copies {
        let at = now + pipe.delay + pipe.jitter.mul_f64(dice.roll());
        wire.insert((at, sent * 2 + u64::from(copy)), (to, segment));
    }
}

/// Runs until both ends have finished, or no event is left.
fn run(configs: &[TcpConfig; 2], pipe: &Pipe, plan: &Plan, start: Time) -> Outcome {
    run_seen(configs, pipe, plan, start, |_, _, _| {})
}

/// Does so, and reports each segment with the end that sends it.
fn run_seen(
    configs: &[TcpConfig; 2],
    pipe: &Pipe,
    plan: &Plan,
    start: Time,
    mut see: impl FnMut(Time, &Segment, (&TcpConfig, &Connection)),
) -> Outcome {
    let mut dice = Dice(pipe.seed | 1);
    let mut now = start;
    let iss = [u32::MAX - 700, 5];
    let mut ends = [Connection::client(&configs[0], iss[0], now), Connection::server(&configs[1], iss[1], now)];
    let mut wire = Wire::new();
    let (mut sent, mut written, mut closed) = (0_u64, [0_u64; 2], [false; 2]);
    let close_at = plan.close_at.map(|at| start + at);
    let mut next_write = [start; 2];
    let mut next_read = start;
    let mut read = [0_u64; 2];
    for (end, reads) in ends.iter_mut().zip(plan.reads) {
        end.set_auto_read(reads == 0);
        if pipe.seed & 2 != 0 {
            end.sender.outstanding.measure_rate(Time::from_secs(10), Clock::default());
        }
    }
    let mut followed = (pipe.seed & 4 != 0).then(|| [Followed::new(), Followed::new()]);
    let mut is_over = false;
    for round in 0.. {
        assert!(round < 200_000, "does not come to an end at {now}: {ends:?}");
        for side in 0..2 {
            let (cfg, end) = (&configs[side], &mut ends[side]);
            if now >= next_write[side] && written[side] < plan.bytes[side] {
                let piece = plan.pieces[side].min(plan.bytes[side] - written[side]);
                end.write(piece);
                written[side] += piece;
                next_write[side] = now + Time::from_millis(20);
            }
            if !closed[side] && written[side] == plan.bytes[side] && now >= close_at[side] {
                // An application does not close a connection before it is open.
                if end.was_established() {
                    closed[side] = true;
                    end.close();
                }
            }
            if plan.reads[side] > 0 && now >= next_read {
                end.read(cfg, now, plan.reads[side]);
                read[side] += plan.reads[side];
            }
            let mut burst = 0;
            while let Some(segment) = poll(end, cfg, now, pipe.seed % 8 == 0 || pipe.compares_one_in == 1) {
                burst += 1;
                assert!(burst < 20_000, "endless output");
                assert!(segment.len <= cfg.mss, "longer than the MSS");
                assert!(
                    end.sender.snd.una <= end.sender.snd.nxt && end.sender.snd.nxt <= end.sender.snd.max,
                    "positions out of order"
                );
                sent += 1;
                see(now, &segment, (cfg, end));
                transmit(pipe, &mut dice, &mut wire, (now, sent), 1 - side, segment);
            }
            if let Some(followed) = &mut followed {
                followed[side].look(cfg, now, end);
            }
        }
        if now >= next_read {
            next_read = now + Time::from_millis(100);
        }
        // Without FIN, an end that its application has closed has finished once nothing is in flight or waiting.
        let over = |side: usize| {
            let e = &ends[side];
            e.is_finished()
                || e.state() == State::Listen
                || (configs[side].fin.is_none() && closed[side] && e.is_quiet())
        };
        is_over = over(0) && over(1) && wire.is_empty();
        if is_over {
            break;
        }
        let mut next = wire.first_key_value().map_or(Time::MAX, |(k, _)| k.0);
        for side in 0..2 {
            next = next.min(ends[side].poll_timeout());
            if written[side] < plan.bytes[side] {
                next = next.min(next_write[side].max(now));
            }
            if !closed[side] {
                next = next.min(close_at[side].max(now + Time::from_millis(10)));
            }
            if plan.reads[side] > 0 && read[side] < ends[side].received() {
                next = next.min(next_read);
            }
        }
        if next > start + Time::from_secs(1_000_000) {
            break;
        }
        now = now.max(next);
        for (side, end) in ends.iter_mut().enumerate() {
            if end.poll_timeout() <= now {
                end.handle_timeout(&configs[side], now);
            }
        }
        while let Some(entry) = wire.first_entry().filter(|e| e.key().0 <= now) {
            let (side, segment) = entry.remove();
            deliver(&configs[side], &mut ends[side], now, &segment, sent.is_multiple_of(pipe.compares_one_in));
        }
    }
    let traced = followed.into_iter().flatten().map(|followed| followed.finish(now)).collect();
    Outcome { ends, end: now, over: is_over, traced }
}

fn check(configs: &[TcpConfig; 2], pipe: &Pipe, plan: &Plan) {
    let outcome = run(configs, pipe, plan, Time::ZERO);
    let [a, b] = &outcome.ends;
    let state = format!("{:?} {:?} at {}\n{a:?}\n{b:?}", a.state(), b.state(), outcome.end);
    for (from, to, bytes) in [(a, b, plan.bytes[0]), (b, a, plan.bytes[1])] {
        assert!(to.received() <= bytes, "more than was written: {state}");
        assert!(from.acked() <= to.received(), "acknowledged, not received: {state}");
        if a.error().is_none() && b.error().is_none() {
            assert_eq!(to.received(), bytes, "not whole: {state}");
        }
    }
    for (end, cfg) in [a, b].into_iter().zip(configs) {
        // The rate sampler has counted all bytes as delivered, in Linux those that arrived twice once more, unless segments are
        // still outstanding.
        let delivered = end.sender.outstanding.clone().rate().map(|rate| rate.delivered_bytes());
        let once = end.sender.snd.una - 1;
        let counted = delivered.is_none_or(|bytes| bytes == once || cfg.linux_details && bytes > once);
        assert!(
            end.error().is_some() || end.sender.snd.una < end.sender.snd.max || counted,
            "delivered otherwise: {state}"
        );
    }
    let gave_up = a.error().is_some() || b.error().is_some(); // the other end may not have learned of it
    assert!(gave_up || outcome.over, "does not end: {state}");
    if pipe.loss < 0.05 {
        // With more loss, giving up is possible; so is a handshake of seven SYNs after an outage of up to five.
        let is_excused = |error| error == CloseReason::ConnectTimeout && pipe.loss > 0.0 && pipe.outage.0 < 8;
        let gave_up = [a, b].map(|end| end.error().filter(|&error| !is_excused(error)));
        assert_eq!(gave_up, [None, None], "gave up: {state}");
    }
}

prop_compose! {
    fn config()(
        (profile, recovery_of) in (prop::sample::select(&Profile::ALL), prop::sample::select(&Profile::ALL)),
        recovery in prop::sample::select(RecoveryKind::ALL),
        odd in any::<bool>(),
        law in prop::sample::select(WindowLawKind::all(Profile::Rfc5681)),
        (ecn, slow_start, reduce_from) in (
            prop::sample::select(vec![
                EcnKind::Off, EcnKind::Accept, EcnKind::Rfc2481, EcnKind::Rfc3168, EcnKind::Rfc3168Ect1, EcnKind::Dctcp,
                EcnKind::L4s, EcnKind::Accecn, EcnKind::AccecnEct1,
            ]),
            prop::sample::select(vec![
                SlowStartKind::Standard, SlowStartKind::Hystart, SlowStartKind::HystartPlusPlus, SlowStartKind::Search,
            ]),
            prop::sample::select(vec![
                ReductionBase::FlightSize, ReductionBase::Cwnd, ReductionBase::CwndWholeSegments,
            ]),
        ),
        (ecn_to_one_segment, pacing, validation, growth) in any::<(bool, bool, bool, bool)>(),
        (sack, timestamps, scale, nagle, limited, minshall) in any::<(bool, bool, bool, bool, bool, bool)>(),
        mss in prop::sample::select(vec![1_u32, 7, 100, 536, 1460]),
        buffer_segments in prop::sample::select(vec![1_u64, 2, 5, 30, 3000]),
        policy in prop::sample::select(vec![
            AckPolicy::Every,
            AckPolicy::Delayed { timeout_ns: Time::from_millis(200) },
            AckPolicy::Heartbeat { grid_ns: Time::from_millis(200) },
            AckPolicy::QuickThenHeartbeat { quick_bytes: 3000, every: 2, grid_ns: Time::from_millis(100) },
            AckPolicy::QuickThenDelayed { quick_segments: 4, timeout_ns: Time::from_millis(40) },
            Profile::Linux2_0.config().ack_policy,
            Profile::Linux2_2.config().ack_policy,
            Profile::Linux6.config().ack_policy,
        ]),
        (idle, f_rto, linux_timers, linux_details, in_trains) in any::<(bool, bool, bool, bool, bool)>(),
        send_tuning in prop::sample::select(vec![
            SendTuning::None, SendTuning::Linux { most_bytes: 1 << 22 }, SendTuning::Linux { most_bytes: 2304 },
        ]),
        (packet_stamps, dsack, sack_blocks, ecn_holds_slow_start) in (any::<bool>(), any::<bool>(), 1..=4_u8, any::<bool>()),
        time_wait_ns in prop::sample::select(vec![Time::ZERO, Time::from_secs(1), Time::from_secs(240)]),
    ) -> TcpConfig {
        let base = profile.config();
        let timers = if linux_timers { RackTimers::Linux } else { RackTimers::Rfc8985 };
        let rack = RackConfig { timers, f_rto, window_validation: validation, ..RackConfig::STANDARD };
        let rack_or_other = |kind| match kind {
            RecoveryKind::Rack => RecoveryConfig::Rack(rack),
            other => recovery_of.recovery(other),
        };
        TcpConfig {
            mss: if timestamps { mss.max(40) } else { mss },
            header_bytes: 40,
            recovery: rack_or_other(recovery),
            sack, timestamps, nagle,
            nagle_rule: if minshall { NagleRule::Minshall } else { NagleRule::Rfc1122 },
            window_law: law,
            ecn, slow_start, reduce_from, ecn_to_one_segment, pacing,
            grow_only_if_cwnd_limited: growth,
            packet_stamps, dsack, sack_blocks, ecn_holds_slow_start,
            limited_transmit: limited,
            window_scale: scale,
            receive_buffer_bytes: buffer_segments * u64::from(mss) + u64::from(odd),
            ack_policy: policy,
            restart_after_idle: idle,
            send_tuning, linux_details,
            trains: if in_trains { TrainKind::Linux } else { TrainKind::Paced },
            handshake: Some(HandshakeConfig::of(profile)),
            fin: Some(FinConfig { time_wait_ns, ..FinConfig::of(profile) }),
            ..base
        }
    }
}

prop_compose! {
    fn pipe()(
        loss in prop::sample::select(vec![0.0, 0.01, 0.1, 0.3]),
        marks in prop::sample::select(vec![0.0, 0.05, 0.5, 1.0]),
        duplication in prop::sample::select(vec![0.0, 0.05, 0.5]),
        delay_ms in 0_u64..200,
        jitter_ms in prop::sample::select(vec![0_u64, 3, 300]),
        outage in (1_u32..60, 0_u32..6),
        seed in any::<u64>(),
    ) -> Pipe {
        Pipe {
            loss, marks, duplication, delay: Time::from_millis(delay_ms), jitter: Time::from_millis(jitter_ms),
            outage: (outage.0, outage.0 + outage.1), seed, compares_one_in: 16,
        }
    }
}

prop_compose! {
    fn plan(mss: [u32; 2])(
        segments in prop::array::uniform2(0_u64..60), odd in prop::array::uniform2(0_u64..3),
        piece_segments in prop::array::uniform2(1_u64..40), close_ms in prop::array::uniform2(0_u64..3000),
        reads in prop::array::uniform2(prop::sample::select(vec![0_u64, 0, 300, 5000])),
    ) -> Plan {
        let of = |i: usize| segments[i] * u64::from(mss[i]) + odd[i];
        Plan {
            bytes: [of(0), of(1)],
            pieces: [0, 1].map(|i| piece_segments[i] * u64::from(mss[i])),
            close_at: close_ms.map(Time::from_millis),
            reads,
        }
    }
}

prop_compose! {
    fn case()(a in config(), b in config(), pipe in pipe(), handshake in any::<bool>(), fin in any::<bool>())
        (plan in plan([u64::from(a.mss.min(b.mss)).min(a.receive_buffer_bytes).min(b.receive_buffer_bytes) as u32; 2]), a in Just(a), b in Just(b), pipe in Just(pipe), handshake in Just(handshake), fin in Just(fin))
        -> ([TcpConfig; 2], Pipe, Plan) {
        // Knobs on which both ends must agree if there is no handshake.
        let common = |c: TcpConfig| TcpConfig {
            handshake: c.handshake.filter(|_| handshake),
            fin: c.fin.filter(|_| fin || handshake),
            sack: if handshake { c.sack } else { a.sack },
            timestamps: if handshake { c.timestamps } else { a.timestamps },
            ecn: if handshake { c.ecn } else { a.ecn },
            mss: if handshake { c.mss } else { a.mss },
            receive_buffer_bytes: if handshake { c.receive_buffer_bytes } else { a.receive_buffer_bytes },
            ..c
        };
        ([common(a), common(b)], pipe, plan)
    }
}

/// The number of cases: `cases`, unless `PROPTEST_CASES` states another number.
fn cases(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(cases, |cases| cases.parse().expect("a number of cases"));
    ProptestConfig { cases, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(5_000))]
    #[test]
    fn the_stream_arrives_whole_and_every_connection_ends((configs, pipe, plan) in case()) {
        check(&configs, &pipe, &plan);
    }
}

/// The part of the outcome that must not depend on when a connection begins.
fn seen(outcome: &Outcome, start: Time) -> String {
    let ends = outcome.ends.each_ref().map(|end| {
        let sender = &end.sender;
        format!(
            "{:?} acked {} received {} cwnd {} srtt {:?} {:?}",
            end.state(),
            end.acked(),
            end.received(),
            sender.cc.cwnd(),
            sender.snd.rtt.min_rtt(),
            end.stats
        )
    });
    format!("{:?} after {} {}", ends, outcome.end - start, outcome.over)
}

prop_compose! {
    /// A profile with any window law, any recovery and any kind of ECN.
    fn profiled()(
        profile in prop::sample::select(&Profile::ALL),
        recovery in prop::sample::select(RecoveryKind::ALL),
        law in prop::sample::select(WindowLawKind::all(Profile::Rfc5681)),
        ecn in prop::sample::select(vec![EcnKind::Off, EcnKind::Rfc3168, EcnKind::Dctcp, EcnKind::Accecn, EcnKind::AccecnEct1]),
        policy in prop::sample::select(vec![AckPolicy::Every, Profile::Linux6.config().ack_policy, Profile::Linux2_2.config().ack_policy]),
    ) -> TcpConfig {
        TcpConfig {
            recovery: profile.recovery(recovery),
            window_law: law,
            ecn,
            ack_policy: policy,
            sack: true,
            timestamps: true,
            handshake: Some(HandshakeConfig::of(profile)),
            ..profile.config()
        }
    }
}

proptest! {
    #![proptest_config(cases(1_000))]
    /// A shift by a multiple of 7680 s does not change the phase of ticks, of the slots of Linux's timer wheel for
    /// waits of up to four minutes, or of LEDBAT's minutes (RFC 6817, section 2.4.2). Timestamps wrap after 4295 s.
    #[test]
    fn a_connection_does_the_same_whenever_it_begins(
        cfg in profiled(), pipe in pipe(), plan in plan([1460; 2]), first in prop_oneof![1..512_u64, 195..200_u64], turns in 1..=4_u64,
    ) {
        // A timestamp of 0, which occurs only in the first microsecond of a run, counts as none.
        let [first, later] = [Time::from_secs(first), Time::from_secs(first + 7680 * turns)];
        let configs = [cfg; 2];
        let [a, b] = [first, later].map(|start| seen(&run(&configs, &pipe, &plan, start), start));
        prop_assert_eq!(a, b);
    }
}

proptest! {
    #![proptest_config(cases(400))]
    /// With RACK, every segment and every poll is also processed by the full path, and the results are compared.
    #[test]
    fn racks_short_paths_do_what_the_long_ones_do((configs, pipe, plan) in case(), law in 0..8_usize, (extra, linux) in any::<(bool, bool)>()) {
        let laws = [
            WindowLawKind::Reno,
            WindowLawKind::CubicLinux(CubicConfig { fast_convergence: true }),
            WindowLawKind::Cubic(CubicConfig { fast_convergence: true }),
            WindowLawKind::Bbr1,
            WindowLawKind::Bbr3(Bbr3Config::of(Profile::Linux6)),
            WindowLawKind::Prague(PragueConfig::of(Profile::Linux6)),
            WindowLawKind::Prague(PragueConfig { version: PragueVersion::V06, ..PragueConfig::of(Profile::Linux6) }),
            WindowLawKind::LedbatPlusPlus(LedbatPlusPlusConfig::of(Profile::Linux6)),
        ];
        let configs = configs.map(|cfg| TcpConfig {
            recovery: match cfg.recovery {
                rack @ RecoveryConfig::Rack(_) => rack,
                _ if linux => RecoveryConfig::Rack(RackConfig { timers: RackTimers::Linux, ..RackConfig::STANDARD }),
                _ => RecoveryConfig::Rack(RackConfig::STANDARD),
            },
            window_law: laws[law],
            sack: true,
            pacing: cfg.pacing && extra,
            ecn: if extra { cfg.ecn } else { EcnKind::Off },
            ..cfg
        });
        check(&configs, &Pipe { compares_one_in: 1, ..pipe }, &plan);
    }
}
