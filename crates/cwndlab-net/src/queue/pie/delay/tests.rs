//! The estimates of the delay, by hand.

use super::*;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn assert_ms(delay: &DelayEstimator, queued_bytes: u64, expected_ms: f64) {
    let found = delay.current_s(queued_bytes) * 1e3;
    assert!((found - expected_ms).abs() < 1e-9, "{found} ms, expected {expected_ms}");
}

#[test]
fn the_timestamp_of_the_last_packet_counts_until_the_queue_is_empty() {
    let mut delay = DelayEstimator::new(DelayEstimate::Timestamp);
    assert_ms(&delay, 5000, 0.0);
    delay.on_departure(ms(9), ms(2), 1000, 3000);
    assert_ms(&delay, 2000, 7.0);
    delay.on_departure(ms(10), ms(5), 1000, 2000);
    assert_ms(&delay, 1000, 5.0);
    delay.on_departure(ms(11), ms(5), 1000, 1000);
    assert_ms(&delay, 0, 0.0);
}

/// Section 5.2: a measurement begins with 16,384 bytes waiting, and ends with the first departure after so many have left.
#[test]
fn the_departure_rate_is_that_of_a_busy_queue() {
    let mut delay = DelayEstimator::new(DelayEstimate::Rate);
    delay.on_departure(ms(0), ms(0), 1024, 16_383); // too few
    for k in 0..17 {
        assert_ms(&delay, 99_999, 0.0);
        delay.on_departure(ms(10 + k), ms(0), 1024, 16_384);
    }
    // 16 packets have left in the 16 ms from 10 to 26 ms, of 1024 bytes: those from 10 to 25 ms.
    assert_ms(&delay, 16_384, 16.0);
    assert_ms(&delay, 8192, 8.0);
    // The next measurement has begun at 26 ms, with the packet of that time. It takes 2 ms for each packet.
    for k in 1..16 {
        delay.on_departure(ms(26 + 2 * k), ms(0), 1024, 100);
        assert_ms(&delay, 16_384, 16.0);
    }
    delay.on_departure(ms(26 + 32), ms(0), 2048, 100);
    assert_ms(&delay, 16_384, 20.0); // 3/4 of 16 and 1/4 of 32
                                     // With fewer bytes waiting, no other has begun.
    for k in 0..40 {
        delay.on_departure(ms(60 + k), ms(0), 1024, 16_383);
    }
    assert_ms(&delay, 16_384, 20.0);
}

/// What leaves beyond the 16,384 bytes counts in proportion.
#[test]
fn a_measurement_of_more_bytes_is_scaled() {
    let mut delay = DelayEstimator::new(DelayEstimate::Rate);
    for k in 0..12 {
        delay.on_departure(ms(2 * k), ms(0), 1500, 50_000);
    }
    // 11 packets, 16,500 bytes, in 22 ms
    assert_ms(&delay, 16_384, 22.0 * 16_384.0 / 16_500.0);
}
