use super::*;
use crate::congestion::{CongestionEvent, WindowChange};
use crate::sender::Sender;
use crate::Profile;

/// The pace of a sender of 1000-byte segments with this window and threshold (in segments), after a measured round trip
/// of `rtt_us`.
fn pace(cwnd: u64, ssthresh: u32, rtt_us: u64) -> Option<Pace> {
    let cfg = TcpConfig { initial_ssthresh_segments: ssthresh, ecn_to_one_segment: true, ..Profile::Linux6.config() };
    let mut s = Sender::new(&cfg, 1000);
    s.cc.change(&cfg, Time::ZERO, WindowChange::Window(1000 * cwnd as u32), 1000);
    if cwnd == 0 {
        s.cc.on_congestion(&cfg, Time::ZERO, CongestionEvent::Ecn, 1000, 1000);
    }
    if rtt_us > 0 {
        s.snd.rtt.on_sample(&cfg.rto, Time::from_secs(1), Time::from_micros(rtt_us), (0, 0));
    }
    Pace::of_grant(&TcpConfig { pacing: true, ..cfg }, &s.snd, &s.cc, s.cc.grant())
}

/// Whether a segment may be sent, in a train that begins if it may.
fn admits(pacer: &mut Pacer, now: Time, pace: impl Fn() -> Option<Pace>) -> bool {
    pacer.admits(now).unwrap_or_else(|| {
        pacer.begin(now, pace());
        true
    })
}

/// Rates in bytes per second: 200 % or 120 % of cwnd per round trip.
#[test]
fn the_rate_is_a_share_of_cwnd_a_round_trip() {
    for (what, cwnd, ssthresh, rtt_us, rate) in [
        ("slow start", 10, 0, 100_000, 200_000),
        ("slow start, below half of ssthresh", 9, 20, 100_000, 180_000),
        ("slow start, from half of ssthresh", 10, 20, 100_000, 120_000),
        ("slow start, from half of ssthresh in whole packets", 10, 21, 100_000, 120_000),
        ("avoidance", 20, 20, 100_000, 240_000),
        ("a window below a segment counts as one", 0, 2, 100_000, 20_000),
    ] {
        assert_eq!(pace(cwnd, ssthresh, rtt_us).map(|pace| pace.rate), Some(rate), "{what}");
    }
    assert_eq!(pace(10, 0, 0), None, "no round trip has been measured");
}

/// A train has the whole segments that fit into 2^-10 s at the rate, but at least two. If the RTT is small, it has
/// more.
#[test]
fn a_train_is_a_millisecond_of_the_rate_and_two_segments_at_least() {
    for (what, cwnd, rtt_us, train) in [
        ("slow", 10, 100_000, 2_000),
        ("4 MB/s over 1024", 200, 100_000, 3_000),
        ("at most 64 KiB", 20_000, 100_000, 65_000),
        ("10 ms: 64 KiB halved 19 times add nothing", 10, 10_000, 2_000),
        ("2 ms: halved 3 times add 8 KiB to 9 KiB", 10, 2_000, 17_000),
    ] {
        assert_eq!(pace(cwnd, 0, rtt_us).map(|pace| pace.train_bytes), Some(train), "{what}");
    }
}

#[test]
fn a_law_may_state_its_rate_and_its_quantum() {
    let cfg = Profile::Linux6.config();
    let s = Sender::new(&cfg, 1000);
    let stated = |pacing_rate, quantum| {
        let grant = Grant { pacing_rate, quantum, ..s.cc.grant() };
        Pace::of_grant(&cfg, &s.snd, &s.cc, grant).map(|pace| (pace.rate, pace.train_bytes))
    };
    let one = Quantum::OfRate(1);
    assert_eq!(stated(Some(100_000), Quantum::DEFAULT), Some((100_000, 2000)));
    assert_eq!(stated(Some(100_000), one), Some((100_000, 1000)));
    assert_eq!(stated(Some(100_000), Quantum::Bytes(4500)), Some((100_000, 4500)));
    let single = TcpConfig { max_train_segments: 1, ..cfg };
    let grant = Grant { pacing_rate: Some(100_000), ..s.cc.grant() };
    assert_eq!(
        Pace::of_grant(&single, &s.snd, &s.cc, grant).map(|pace| pace.train_bytes),
        Some(1000),
        "no segmentation offload"
    );
    assert_eq!(stated(None, one), None, "neither the law nor the endpoint paces");
}

/// Trains of two segments at 200 kB/s: 10 ms apart once ten segments have been sent.
#[test]
fn the_first_ten_segments_are_free_and_lateness_is_forgiven_by_half() {
    let two = || Some(Pace { rate: 200_000, train_bytes: 2_000 });
    let ms = Time::from_millis;
    let mut pacer = Pacer::default();
    for _ in 0..10 {
        assert!(admits(&mut pacer, ms(100), two));
        pacer.charge(1000);
    }
    assert_eq!(pacer.next(), ms(110), "the fifth train is charged");
    // when the next train begins, and when the following one may begin
    for (at, next) in [(110, 120), (123, 130), (147, 152), (152, 162)] {
        assert_eq!(pacer.admits(pacer.next() - Time::from_nanos(1)), Some(false), "before {at} ms");
        for _ in 0..2 {
            assert!(admits(&mut pacer, ms(at), two), "{at} ms");
            pacer.charge(1000);
        }
        assert!(!admits(&mut pacer, ms(at), two), "a third at {at} ms");
        assert_eq!(pacer.next(), ms(next), "after {at} ms");
    }
}

#[test]
fn a_short_train_is_charged_what_it_was() {
    let two = || Some(Pace { rate: 200_000, train_bytes: 2_000 });
    let mut pacer = Pacer { sent: FREE_SEGMENTS, next: Time::from_millis(100), ..Pacer::default() };
    assert!(admits(&mut pacer, Time::from_millis(100), two));
    pacer.charge(500);
    assert_eq!(pacer.next(), Time::from_micros(102_500));
    assert!(admits(&mut pacer, Time::from_millis(100), two), "more of the same train");
}

/// In Linux, `tcp_wstamp_ns` is updated by every packet, including ACKs without data, and the lateness of a train is
/// measured from it.
#[test]
fn an_ack_without_data_ends_what_is_forgiven_for_lateness() {
    let next = |acked_at: Option<u64>| {
        let pace = || Some(Pace { rate: 1_000_000, train_bytes: 10_000 });
        let mut pacer = Pacer { sent: FREE_SEGMENTS, ..Pacer::default() };
        if let Some(at) = acked_at {
            pacer.on_pure_ack(Time::from_millis(at));
        }
        assert!(admits(&mut pacer, Time::from_millis(100), pace));
        pacer.charge(10_000);
        pacer.next()
    };
    assert_eq!(next(None), Time::from_millis(105), "half of 10 ms is forgiven");
    assert_eq!(next(Some(98)), Time::from_millis(108), "it is 2 ms late");
    assert_eq!(next(Some(100)), Time::from_millis(110));
}

/// Linux: `tcp_wstamp_ns` changes when a packet is sent, not when a window forbids it.
#[test]
fn a_train_of_which_nothing_was_sent_does_not_end_the_lateness() {
    let pace = || Some(Pace { rate: 1_000_000, train_bytes: 1000 });
    let mut pacer = Pacer { sent: FREE_SEGMENTS, ..Pacer::default() };
    assert!(admits(&mut pacer, Time::from_millis(100), pace));
    // nothing is sent; then a segment of 1 ms, of which at most half is forgiven
    assert!(admits(&mut pacer, Time::from_micros(100_100), pace));
    pacer.charge(1000);
    assert_eq!(pacer.next(), Time::from_micros(100_600));
}

/// `tcp_update_pacing_rate` compares packets; by bytes, ten segments are less than half of 21.
#[test]
fn without_linuxs_details_bytes_decide_which_share_of_cwnd_is_sent() {
    let cfg = TcpConfig { linux_details: false, initial_ssthresh_segments: 21, ..Profile::Linux6.config() };
    let mut s = Sender::new(&cfg, 1000);
    s.cc.change(&cfg, Time::ZERO, WindowChange::Window(10_000), 1000);
    s.snd.rtt.on_sample(&cfg.rto, Time::from_secs(1), Time::from_millis(100), (0, 0));
    assert_eq!(Pace::rate_of_window(&cfg, &s.snd, &s.cc), Some(200_000));
}
