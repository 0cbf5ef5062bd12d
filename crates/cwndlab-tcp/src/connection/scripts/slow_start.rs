//! Slow start that ends because round trips become longer (RFC 9406), measured without timestamps and without RACK.

use super::*;

/// Rounds of 20, 40 and 80 segments whose round trips rise from 100 to 140 ms, by more than an eighth. The ACK that
/// begins a round counts for that round, so the second round includes a round trip of the first.
fn after_slower_round(slow_start: SlowStartKind) -> Connection {
    let cfg = TcpConfig { slow_start, recovery: RecoveryKind::NewReno.standard(), timestamps: false, ..config(20) };
    let mut end = Connection::client(&cfg, ISS, Time::ZERO);
    end.write(1_000_000);
    let drain = |end: &mut Connection, now: Time| {
        std::iter::from_fn(|| end.poll_transmit(&cfg, now)).filter(|segment| segment.len > 0).count() as u32
    };
    let (mut now, mut out, mut acked) = (Time::ZERO, drain(&mut end, Time::ZERO), 0_u32);
    for millis in [100, 140, 140] {
        now += Time::from_millis(millis);
        let mut next = 0;
        for _ in 0..out {
            acked += 1000;
            let ack = Segment::from(Header {
                seq: 1,
                ack: 1 + acked,
                flags: Flags::ACK,
                window: 1 << 30,
                ..Header::default()
            });
            end.handle_segment(&cfg, now, &ack);
            next += drain(&mut end, now);
        }
        out = next;
    }
    end
}

/// RFC 9406, section 4.2: eight round-trip samples per round. With only one timed segment per round, there would never
/// be enough samples to end slow start.
#[test]
fn hystart_measures_every_ack_without_timestamps() {
    let plus_plus = after_slower_round(SlowStartKind::HystartPlusPlus);
    assert!(plus_plus.sender.cc.in_conservative_slow_start());
    let kernel = after_slower_round(SlowStartKind::Hystart);
    assert!(kernel.ssthresh_bytes() < u64::MAX);
    assert_eq!(after_slower_round(SlowStartKind::Standard).ssthresh_bytes(), u64::MAX);
}

#[test]
fn what_was_sent_twice_is_no_round_trip() {
    let cfg = TcpConfig { slow_start: SlowStartKind::HystartPlusPlus, ..config(2) };
    let end = client(
        &cfg,
        "0 write 2000
         0 > data 0-1000
         0 > data 1000-2000
         1 > data 0-1000",
    );
    let mut outstanding = end.sender.outstanding.clone();
    assert!(outstanding.keeps_segments(), "it listens");
    outstanding.on_ack(2001);
    assert_eq!(outstanding.sample(Time::from_secs(2), None).0, None);
}

#[test]
fn an_initial_window_is_never_beyond_the_largest_of_all() {
    for segments in [1, 10, 65_535] {
        let cfg = TcpConfig { mss: 65_535, initial_ssthresh_segments: segments, ..config(segments) };
        let end = Connection::client(&cfg, 0, Time::ZERO);
        let right = (u64::from(segments) * 65_535).min(1 << 30);
        assert_eq!((end.cwnd_bytes(), end.ssthresh_bytes()), (right, right));
    }
}

/// RFC 3390, equation 1: the window is 4380 bytes. These are three segments of 1460 bytes, but only two whole ones of
/// 1500, where RFC 5681, section 3.1, allows three segments.
#[test]
fn rfc_3390_counts_bytes() {
    for (mss, whole) in [(536, 4), (1095, 4), (1460, 3), (1500, 2), (2190, 2), (9000, 2)] {
        let cfg = TcpConfig { mss, initial_window: InitialWindow::Rfc3390, ..config(1) };
        let mut end = Connection::client(&cfg, 0, Time::ZERO);
        end.write(100_000);
        assert_eq!(std::iter::from_fn(|| end.poll_transmit(&cfg, Time::ZERO)).count(), whole, "{mss} bytes");
    }
}
