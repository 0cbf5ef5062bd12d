//! Invariants of every law under random events.

use super::*;
use crate::config::Profile;
use crate::config::ReductionBase;
use crate::congestion::CongestionEvent;
use crate::flight::RateSample;
use proptest::prelude::*;

const MSS: u32 = 1000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Ack { bytes: u64, after_us: u64, rtt_us: Option<u64>, limited: bool, may_grow: bool },
    Congestion(CongestionEvent),
    Undo,
    Idle,
    Change(WindowChange),
}

fn step() -> impl Strategy<Value = Step> {
    let event = prop_oneof![
        Just(CongestionEvent::Loss),
        Just(CongestionEvent::Ecn),
        Just(CongestionEvent::Rto),
        Just(CongestionEvent::RtoRepeat)
    ];
    prop_oneof![
        20 => (0..20_000_u64, 0..200_000_u64, proptest::option::of(0..2_000_000_u64), any::<bool>(), any::<bool>()).prop_map(
            |(bytes, after_us, rtt_us, limited, may_grow)| Step::Ack { bytes, after_us, rtt_us, limited, may_grow }
        ),
        2 => event.prop_map(Step::Congestion),
        1 => Just(Step::Undo),
        1 => Just(Step::Idle),
        2 => change().prop_map(Step::Change),
    ]
}

fn change() -> impl Strategy<Value = WindowChange> {
    let bytes = 0..5_000_000_u32;
    prop_oneof![
        Just(WindowChange::Restart),
        Just(WindowChange::End),
        bytes.clone().prop_map(WindowChange::Window),
        bytes.clone().prop_map(WindowChange::Deflate),
        (0..5_u32).prop_map(WindowChange::DeflateBySegments),
        bytes.prop_map(WindowChange::Inflate),
        (0..5_000_000_u32).prop_map(WindowChange::StillInNetwork),
    ]
}

/// Whether the law reduces its window only for losses and marks.
fn is_loss_based(law: WindowLawKind) -> bool {
    use WindowLawKind::{Cubic, CubicLinux, Dctcp, Prague, Reno, RenoLinux2, RenoPackets};
    matches!(law, Reno | RenoPackets | RenoLinux2 | Cubic(_) | CubicLinux(_) | Dctcp | Prague(_))
}

fn config() -> impl Strategy<Value = TcpConfig> {
    let law = prop::sample::select(WindowLawKind::all(Profile::Rfc5681));
    let slow_start = prop_oneof![
        Just(SlowStartKind::Standard),
        Just(SlowStartKind::Hystart),
        Just(SlowStartKind::HystartPlusPlus),
        Just(SlowStartKind::Search)
    ];
    let reduce_from =
        prop_oneof![Just(ReductionBase::FlightSize), Just(ReductionBase::Cwnd), Just(ReductionBase::CwndWholeSegments)];
    (law, slow_start, reduce_from, 0..9_u16).prop_map(|(window_law, slow_start, reduce_from, limit)| TcpConfig {
        window_law,
        slow_start,
        reduce_from,
        slow_start_limit_segments: limit,
        ..Profile::Linux6.config()
    })
}

/// The delivery rate of a path that delivered `bytes` in one round trip.
fn sample(law: &Controller, (una, bytes): (u64, u64), rtt: Time) -> RateSample {
    let (flight, packets) = (law.cwnd(), bytes / u64::from(MSS));
    RateSample {
        delivered_bytes: bytes,
        delivered_packets: packets,
        interval: rtt,
        send_elapsed: rtt,
        ack_elapsed: rtt,
        prior_delivered_bytes: una.saturating_sub(flight),
        prior_delivered_packets: una.saturating_sub(flight) / u64::from(MSS),
        tx_in_flight_bytes: flight,
        prior_lost_bytes: 0,
        prior_ce_bytes: 0,
        app_limited: false,
        retransmission: false,
        min_rtt: rtt,
    }
}

proptest! {
    /// The window has at least one segment, unless an ECN echo has closed it, and at most 2^30 bytes. A reduction never
    /// raises the window and leaves ssthresh at two segments or more. An ACK never lowers the window (except the ACK at
    /// which SEARCH ends slow start), nor raises it in recovery or while the application limits the sender. An undo
    /// never lowers the window.
    #[test]
    fn windows_keep_their_bounds(cfg in config(), steps in proptest::collection::vec(step(), 1..300)) {
        let mut law = Controller::new(&cfg, MSS);
        let loss_based = is_loss_based(cfg.window_law);
        let (mut now, mut una) = (Time::from_secs(1), 1_u64);
        for step in steps {
            let exact = law.cwnd();
            // At most the whole segments that fit in 2^30 bytes.
            let before = exact.min((1 << 30) / u64::from(MSS) * u64::from(MSS));
            match step {
                Step::Ack { bytes, after_us, rtt_us, limited, may_grow } => {
                    now += Time::from_micros(after_us);
                    una += bytes;
                    let rtt = rtt_us.map(Time::from_micros);
                    let rate = cfg.window_law.needs().min_rtt_window.map(|_| sample(&law, (una, bytes), rtt.unwrap_or(Time::from_millis(50))));
                    let ack = AckReport {
                        now,
                        mss: MSS,
                        acked_bytes: bytes,
                        delivered_bytes: bytes,
                        fresh_bytes: bytes,
                        rtt,
                        rate,
                        srtt: Time::from_millis(50),
                        snd_una: una,
                        snd_nxt: una + law.cwnd(),
                        ..AckReport::default()
                    };
                    let after = AfterAck {
                        cwnd_limited: limited,
                        may_grow,
                        total_delivered_packets: una / u64::from(MSS),
                        in_flight_bytes: before,
                        ..AfterAck::CALM
                    };
                    law.on_ack(&cfg, &ack, &after);
                    if loss_based {
                        prop_assert!(law.cwnd() >= before || cfg.slow_start == SlowStartKind::Search);
                        prop_assert!(law.cwnd() == exact || (limited && may_grow));
                    }
                }
                Step::Congestion(event) => {
                    law.on_congestion(&cfg, Time::ZERO, event, before.min(una), MSS);
                    prop_assert!(law.cwnd() <= before.max(2 * u64::from(MSS)), "{event:?} raised {before} to {}", law.cwnd());
                    if event != CongestionEvent::RtoRepeat {
                        prop_assert!(law.ssthresh() >= 2 * u64::from(MSS));
                    }
                }
                Step::Undo => {
                    law.on_undo(Time::ZERO, MSS);
                    let whole = |window: u64| window / u64::from(MSS); // as the kernel's laws count
                    prop_assert!(whole(law.cwnd()) >= whole(before));
                }
                Step::Idle => {
                    law.on_idle_restart(&cfg, MSS, 1);
                    prop_assert!(law.cwnd() <= before);
                }
                Step::Change(change) => law.change(&cfg, Time::ZERO, change, MSS),
            }
            let closed_by_echo = law.cwnd() == 0 && law.ssthresh() == 2 * u64::from(MSS);
            prop_assert!(closed_by_echo || (u64::from(MSS)..=1 << 30).contains(&law.cwnd()), "{step:?}: cwnd {}", law.cwnd());
        }
    }
}
