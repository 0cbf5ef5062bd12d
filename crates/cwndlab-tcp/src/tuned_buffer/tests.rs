use super::*;

mod doubles;
mod small_share;

const MSS: u32 = 1460;
const MS: fn(u64) -> Time = Time::from_millis;

/// Linux's initial buffer: 128 KiB, half of which is advertised.
fn established() -> TunedBuffer {
    let mut buffer = TunedBuffer::new(131_072, 6 << 20, 1 << 30);
    let first = buffer.first_window(MSS);
    assert_eq!(first, 65_536 / MSS * MSS);
    buffer.on_established(Time::ZERO, MSS, first);
    buffer
}

fn full() -> Header {
    Header { len: MSS, wire_bytes: MSS + 40, ..Header::default() }
}

/// Receives `n` full segments at `now` that echo the timestamp of the time `echo`; positions begin at 1.
fn receive(buffer: &mut TunedBuffer, now: Time, n: u32, nxt: &mut u64, echo: Option<Time>) {
    for _ in 0..n {
        *nxt += u64::from(MSS);
        let held = Held { unread: 0, beyond: None };
        buffer.on_in_order(
            now,
            &full(),
            MSS,
            *nxt,
            held,
            (65_535, echo.map(|at| (at.as_nanos() / MICROSECOND) as u32)),
        );
    }
}

/// A buffer that has measured the peer's segments: they are full ones.
pub(super) fn established_with_full_segments() -> TunedBuffer {
    let mut buffer = established();
    arrive(&mut buffer, MS(1), 4, &mut 1, None);
    buffer
}

/// As [`receive`]; then the application reads everything.
fn arrive(buffer: &mut TunedBuffer, now: Time, n: u32, read: &mut u64, echo: Option<Time>) {
    receive(buffer, now, n, read, echo);
    buffer.on_read(now, MSS, *read, *read);
}

#[test]
fn the_round_trip_is_the_age_of_the_echo_in_milliseconds_smoothed_by_an_eighth() {
    let (mut buffer, mut read) = (established(), 1);
    arrive(&mut buffer, MS(200), 1, &mut read, Some(MS(120)));
    assert_eq!(buffer.rtt(), MS(80));
    arrive(&mut buffer, MS(300), 1, &mut read, Some(MS(140)));
    assert_eq!(buffer.rtt(), MS(90), "7/8 of 80 and 1/8 of 160");
    arrive(&mut buffer, MS(301), 1, &mut read, Some(MS(140)));
    assert_eq!(buffer.rtt(), MS(90), "the same echo counts once");
    arrive(&mut buffer, MS(340), 1, &mut read, Some(MS(300)));
    assert_eq!(buffer.rtt(), MS(40), "a shorter one counts in full");
}

#[test]
fn the_round_trip_is_measured_with_stamps_that_have_wrapped() {
    let (mut buffer, mut read) = (established(), 1);
    let wraps = Time::from_micros(1 << 32);
    arrive(&mut buffer, wraps + MS(1), 1, &mut read, Some(wraps + MS(1)));
    arrive(&mut buffer, wraps + MS(30), 1, &mut read, Some(Time::from_micros((1 << 32) - 50_000)));
    assert_eq!(buffer.rtt(), MS(80));
}

/// A packet of 1500 bytes takes 2304 bytes of memory: the share of the payload is 162/256.
#[test]
fn the_buffer_holds_twice_what_was_read_in_a_round_trip_and_more_where_that_grows() {
    let (mut buffer, mut read) = (established(), 1);
    arrive(&mut buffer, MS(100), 1, &mut read, Some(MS(0)));
    arrive(&mut buffer, MS(200), 1, &mut read, Some(MS(100)));
    assert_eq!((buffer.rtt(), buffer.buffer, buffer.space), (MS(100), 131_072, 10 * MSS));
    arrive(&mut buffer, MS(250), 20, &mut read, None);
    assert_eq!(buffer.buffer, 131_072, "the round trip is not over");
    arrive(&mut buffer, MS(300), 20, &mut read, None);
    // 40 segments were read, after 10 in the round trip before: 2 * 40 + 16 = 96 segments, and 2 * 96 * 30/10 = 576
    // more.
    assert_eq!(buffer.space, 40 * MSS);
    assert_eq!(buffer.buffer, 672 * MSS * 256 / 162);
    arrive(&mut buffer, MS(400), 40, &mut read, None);
    assert_eq!(buffer.buffer, 672 * MSS * 256 / 162, "no more was read");
    for (at, segments) in [(500, 400), (600, 4000)] {
        arrive(&mut buffer, MS(at), segments, &mut read, None);
    }
    assert_eq!(buffer.buffer, 6 << 20, "as large as it may be");
}

#[test]
fn data_that_waits_unread_does_not_enlarge_the_space() {
    let (mut buffer, mut nxt) = (established(), 1);
    arrive(&mut buffer, MS(100), 1, &mut nxt, Some(MS(0)));
    arrive(&mut buffer, MS(200), 1, &mut nxt, Some(MS(100)));
    receive(&mut buffer, MS(350), 30, &mut nxt, None);
    buffer.on_read(MS(350), MSS, nxt - 15 * u64::from(MSS), nxt);
    assert_eq!(buffer.space, 10 * MSS, "15 were read and 15 were not");
    arrive(&mut buffer, MS(460), 5, &mut nxt, None);
    assert_eq!(buffer.space, 20 * MSS, "20 were read in this round trip");
}

#[test]
fn the_window_follows_the_segments_up_to_what_is_free() {
    let (mut buffer, mut nxt) = (established(), 1);
    let offered = |buffer: &TunedBuffer, allocated| buffer.select_window(0, 0, allocated).0 / MSS;
    assert_eq!(offered(&buffer, 0), 43, "1460 bytes less than 64 KiB, which an application may leave unread");
    receive(&mut buffer, MS(10), 4, &mut nxt, None);
    assert_eq!(offered(&buffer, 0), 51, "two segments for each that came");
    receive(&mut buffer, MS(20), 100, &mut nxt, None);
    assert_eq!(offered(&buffer, 0), 55, "162/256 of 128 KiB, less the segment that came last");
    assert_eq!(offered(&buffer, 65_536), 28, "half of it is in use");
    assert_eq!(offered(&buffer, 131_072), 0);
}

/// `tun_alloc_skb`: packets of less than a page are in one buffer of the allocator's sizes, larger ones in whole pages.
#[test]
fn a_packet_occupies_a_buffer_or_whole_pages() {
    let sizes = [(40, 704), (1500, 2048), (4031, 8192), (4032, 4096), (4097, 8192), (9000, 12_288)];
    for (packet, data) in sizes {
        assert_eq!(memory(packet), data + HEAD_BYTES, "{packet}");
    }
}

/// `tcp_select_initial_window`: an application may ask for `net.core.rmem_max`, so that smaller buffers have its scale.
#[test]
fn the_scale_is_at_least_that_of_the_largest_buffer_an_application_may_ask_for() {
    for (most, shift) in [(8192, 2), (212_992, 2), (1 << 18, 3), (6 << 20, 7), (1 << 40, 14)] {
        assert_eq!(TunedBuffer::shift(most), shift, "{most}");
    }
}

/// `__tcp_select_window`: with less than half of the buffer free, free bytes below a unit of the scale do not count;
/// otherwise they are rounded up.
#[test]
fn a_tight_window_is_rounded_down_to_the_scale_and_another_one_up() {
    let buffer = established();
    for shift in [1_u8, 7, 9] {
        let unit = 1 << shift;
        let (mut tight, mut roomy) = (0, 0);
        for allocated in (0..buffer.buffer).step_by(257) {
            let free = buffer.free(allocated);
            let (window, is_tight) = buffer.select_window(shift, 0, allocated);
            let full = buffer.window_clamp.min(buffer.window_of(buffer.buffer));
            assert_eq!((is_tight, window % unit), (free < full / 2, 0));
            if is_tight {
                let down = free / unit * unit;
                let silly = down < buffer.window_of(buffer.buffer) / 16 || down < buffer.size.full().min(full);
                assert_eq!(window, if silly { 0 } else { down.min(buffer.threshold).next_multiple_of(unit) }, "{free}");
                tight += 1;
            } else {
                assert_eq!(window, free.min(buffer.threshold).next_multiple_of(unit), "{free}");
                roomy += 1;
            }
        }
        assert!(tight > 50 && roomy > 50, "{tight} {roomy}");
    }
}

/// `tcp_eat_recv_skb`: each segment that waits occupies its own memory until its last byte is read; a short one that fits
/// behind the one before it occupies none (`skb_try_coalesce`).
#[test]
fn unread_segments_occupy_their_own_memory_until_they_are_read_to_the_end() {
    let mut buffer = established();
    let mut nxt = 1;
    let mut arrive = |buffer: &mut TunedBuffer, len: u32| {
        let seg = Header { len, wire_bytes: len + 40, ..Header::default() };
        let unread = (nxt - 1) as u32;
        nxt += u64::from(len);
        let (_, with) = buffer.on_in_order(MS(1), &seg, MSS, nxt, Held { unread, beyond: None }, (65_535, None));
        buffer.keep(&seg, nxt, nxt);
        let after = buffer.allocated(Held { unread: unread + len, beyond: None }, 0);
        assert_eq!(with, after);
        after
    };
    // 2304 bytes for a packet of 1500, 1280 for one of 205, 960 for one of 41. Behind 1500 bytes 164 are free, behind 205 435.
    let memory = [MSS, 165, 300, MSS, 164, 1].map(|len| arrive(&mut buffer, len));
    assert_eq!(memory, [2304, 3584, 3584, 5888, 5888, 6848]);
    let mut after_read = |read: u64| {
        buffer.free_until(1 + read);
        buffer.allocated(Held { unread: 1, beyond: None }, 0)
    };
    let read = [1459, 1460, 1625, 1925, 3385, 3549].map(&mut after_read);
    assert_eq!(read, [6848, 4544, 4544, 3264, 3264, 960]);
}

/// Data that a segment makes contiguous counts as full segments and a rest.
#[test]
fn what_lay_behind_a_hole_waits_as_full_segments_and_a_rest() {
    let mut buffer = established();
    let first = full();
    buffer.on_in_order(MS(1), &first, MSS, 1461, Held { unread: 0, beyond: None }, (65_535, None));
    buffer.keep(&first, 1461, 1461 + 2 * 1460 + 500);
    let held = |unread| Held { unread, beyond: None };
    assert_eq!(buffer.allocated(held(4880), 0), 3 * 2304 + 1280);
    buffer.free_until(1461 + 1460);
    assert_eq!(buffer.allocated(held(1960), 0), 2304 + 1280);
    buffer.free_until(1461 + 2 * 1460 + 500);
    assert_eq!(buffer.allocated(held(0), 7), 7);
}

/// `tcp_rcv_established`: an ACK without data notes its echo, so that data with the same echo is no round trip.
#[test]
fn the_echo_of_an_ack_without_data_is_no_round_trip_of_the_data_that_follows() {
    let (mut buffer, mut read) = (established(), 1);
    buffer.note_echo(MS(190), 120_000);
    arrive(&mut buffer, MS(200), 1, &mut read, Some(MS(120)));
    assert_eq!(buffer.rtt(), Time::ZERO);
    arrive(&mut buffer, MS(210), 1, &mut read, Some(MS(121)));
    assert_eq!(buffer.rtt(), MS(89));
}
