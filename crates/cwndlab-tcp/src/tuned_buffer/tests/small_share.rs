//! Segments with little payload for their memory open the window, too, as long as it is small (`__tcp_grow_window`).

use super::*;

/// The window that is offered after a segment of `len` bytes of payload, and before.
fn offered(most: u64, len: u32) -> (u32, u32) {
    let mut buffer = TunedBuffer::new(131_072, most, 1 << 30);
    let first = buffer.first_window(MSS);
    buffer.on_established(Time::ZERO, MSS, first);
    receive(&mut buffer, MS(5), 1, &mut 1, None);
    let window = |buffer: &TunedBuffer| buffer.select_window(0, 0, 0).0;
    let before = window(&buffer);
    let seg = Header { len, wire_bytes: len + 40, ..Header::default() };
    buffer.on_in_order(MS(10), &seg, MSS, 1 + u64::from(MSS + len), Held { unread: 0, beyond: None }, (65_535, None));
    (before, window(&buffer))
}

#[test]
fn a_segment_of_500_bytes_opens_the_window_by_two_full_ones() {
    // It takes 1280 bytes of memory, which stand for 810 bytes of window; half of them is less than its payload.
    let (before, after) = offered(6 << 20, 500);
    assert_eq!(after - before, 2 * MSS);
}

#[test]
fn a_segment_of_less_than_128_bytes_opens_nothing() {
    let (before, after) = offered(6 << 20, 127);
    assert_eq!(after, before);
    let (before, after) = offered(6 << 20, 128);
    assert_eq!(after - before, 2 * MSS);
}

#[test]
fn a_small_segment_opens_only_a_window_that_is_small_for_the_largest_buffer() {
    // 262,144 bytes stand for 165,888 of window. For 128 bytes of payload in 896, an eighth of that is too little.
    let (before, after) = offered(262_144, 128);
    assert_eq!(after, before);
}
