use super::*;

const MSS: u64 = 1000;

fn next(start: u64, cwnd: u64, in_flight: u64, most: u64) -> Next {
    let (offered, window) = (60_000, 60_000);
    Next { now: Time::from_millis(100), start, mss: MSS, cwnd, in_flight, most, offered, window, holds_small: false }
}

/// The last packet left 0.1 ms ago, and the next ACK is due now.
fn busy() -> Waiting {
    Waiting {
        repairs: false,
        last_sent: Time::from_micros(99_900),
        first_sent: Some(Time::from_millis(80)),
        srtt: Time::from_millis(20),
        fin: false,
    }
}

fn idle() -> Waiting {
    Waiting { last_sent: Time::ZERO, ..busy() }
}

/// Linux 6.12 sent the first ten segments as 3, 3, 3 and 1 at a rate of three in a millisecond.
#[test]
fn a_train_has_what_the_rate_and_half_of_cwnd_allow() {
    let mut trains = Trains::default();
    trains.append(40_000, true);
    let ends: Vec<u64> =
        (0..4).map(|k| trains.begin(&next(3000 * k, 10, 3 * k, 3), &idle(), 40_000).expect("goes")).collect();
    assert_eq!(ends, [3000, 6000, 9000, 10_000]);
    assert!(!trains.is_pushed(Time::from_millis(100), 10_000), "a segment alone has no PSH");
    assert_eq!(trains.begin(&next(10_000, 10, 0, 60), &idle(), 40_000), Ok(15_000), "half of cwnd");
    assert!(trains.is_pushed(Time::from_millis(100), 15_000) && !trains.is_pushed(Time::from_millis(101), 15_000));
}

/// `tcp_tso_should_defer`, each exception.
#[test]
fn a_small_rest_of_the_window_waits_for_the_next_ack() {
    let begin = |change: &dyn Fn(&mut Next, &mut Waiting)| {
        let mut trains = Trains::default();
        trains.append(40_000, true);
        let (mut next, mut waiting) = (next(0, 20, 18, 3), busy());
        change(&mut next, &mut waiting);
        trains.begin(&next, &waiting, 40_000)
    };
    assert_eq!(begin(&|_, _| {}), Err(Deferred::Cwnd));
    assert_eq!(begin(&|next, _| next.in_flight = 17), Ok(3000), "a full train");
    assert_eq!(begin(&|next, _| (next.cwnd, next.in_flight) = (6, 4)), Ok(2000), "a third of cwnd");
    assert_eq!(begin(&|next, _| next.window = 6000), Ok(2000), "a third of the window");
    assert_eq!(begin(&|next, _| next.offered = 1500), Err(Deferred::PeerWindow));
    assert_eq!(begin(&|_, waiting| waiting.repairs = true), Ok(2000));
    assert_eq!(begin(&|_, waiting| waiting.last_sent = Time::from_millis(98)), Ok(2000));
    assert_eq!(begin(&|_, waiting| waiting.first_sent = None), Ok(2000));
    assert_eq!(begin(&|_, waiting| waiting.first_sent = Some(Time::from_micros(81_001))), Ok(2000), "an ACK is far");
}

/// `tcp_write_xmit`: what cannot grow any more does not wait, unless it is the last.
#[test]
fn an_sk_buff_that_goes_whole_does_not_wait_if_another_follows() {
    for (ends, wanted) in [(vec![2000], Err(Deferred::Cwnd)), (vec![2000, 9000], Ok(2000))] {
        let mut trains = Trains::default();
        for end in ends {
            trains.append(end, true);
        }
        assert_eq!(trains.begin(&next(0, 20, 18, 3), &busy(), 9000), wanted);
    }
}

/// `tcp_grow_skb`: the first takes what it lacks from the second; PSH moves with its end.
#[test]
fn an_sk_buff_grows_by_the_next_one() {
    let mut trains = Trains::default();
    for end in [1000, 1500, 9000] {
        trains.append(end, true);
    }
    assert_eq!(trains.begin(&next(0, 20, 10, 3), &busy(), 9000), Ok(1500), "by one, which it takes whole");
    assert_eq!((trains.take_grown(), trains.take_grown()), (Some((1000, 1500)), None));
    assert_eq!((trains.last_bytes(1500, 9000), trains.count(0, 1500)), (7500, 2));
}

/// `tcp_write_xmit` looks at the peer's window after `tcp_grow_skb`, so an `sk_buff` that waits for the window grows by one more
/// each time; where cwnd is full, it looks first, and none grows.
#[test]
fn an_sk_buff_that_waits_for_the_peers_window_grows_at_each_try() {
    let mut trains = Trains::default();
    for end in [700, 1500, 2300, 9000] {
        trains.append(end, true);
    }
    trains.grow(&next(0, 10, 10, 2), 9000);
    assert_eq!(trains.take_grown(), None, "cwnd is full");
    let closed = next(0, 20, 10, 2);
    trains.grow(&closed, 9000);
    assert_eq!(
        (trains.take_grown(), trains.count(0, 0)),
        (Some((700, 1500)), 3),
        "by one, though 2000 bytes are wanted"
    );
    trains.grow(&closed, 9000);
    assert_eq!((trains.take_grown(), trains.count(0, 0)), (Some((1500, 2000)), 3));
    trains.grow(&closed, 9000);
    assert_eq!(trains.take_grown(), None, "it has two segments");
}

/// `tcp_mss_split_point`: a partial segment at the end of the window goes unless Nagle's algorithm holds it.
#[test]
fn a_train_ends_with_a_partial_segment_at_the_end_of_the_window() {
    for (holds_small, end) in [(false, 2500), (true, 2000)] {
        let mut trains = Trains::default();
        trains.append(40_000, true);
        let next = Next { offered: 2500, window: 2500, holds_small, ..next(0, 20, 0, 10) };
        assert_eq!(trains.begin(&next, &idle(), 40_000), Ok(end));
    }
}

/// `tcp_bound_to_half_wnd`
#[test]
fn an_sk_buff_has_at_most_half_of_the_largest_window() {
    assert_eq!([64_256, 1 << 20, 500].map(|window| Trains::goal(window, 1448)), [22 * 1448, 45 * 1448, 1448]);
}

/// The train of a push leaves although it is small; then the application writes on.
#[test]
fn a_pushed_train_does_not_wait() {
    let mut trains = Trains::default();
    trains.append(40_000, true);
    trains.push_one();
    assert_eq!(trains.begin(&next(0, 20, 18, 3), &busy(), 40_000), Ok(2000));
    assert!(trains.ends_push_one() && !trains.ends_push_one());
    assert_eq!(trains.begin(&next(2000, 20, 18, 3), &busy(), 40_000), Err(Deferred::Cwnd));
}

fn sent(ends: &[u64]) -> Trains {
    let mut trains = Trains::default();
    trains.sent.extend(ends.iter().map(|&end| Skb { end, reported: false }));
    trains
}

fn ends(trains: &Trains) -> Vec<u64> {
    trains.sent.iter().map(|skb| skb.end).collect()
}

/// `tcp_match_skb_to_sack`, `tcp_shift_skb_data`
#[test]
fn blocks_split_and_join_what_was_sent() {
    let mut trains = sent(&[3000, 6000, 9000, 12_000]);
    trains.take_blocks([(4000, 5000)].into_iter(), 0, MSS);
    assert_eq!(ends(&trains), [3000, 4000, 5000, 6000, 9000, 12_000]);
    trains.take_blocks([(4000, 7000)].into_iter(), 0, MSS);
    assert_eq!(ends(&trains), [3000, 4000, 7000, 9000, 12_000], "joined with what was reported before it");
    trains.take_blocks([(4000, 7000), (9000, 12_000)].into_iter(), 0, MSS);
    trains.take_blocks([(4000, 12_000)].into_iter(), 0, MSS);
    assert_eq!(ends(&trains), [3000, 4000, 12_000], "and with what was reported after it");
    trains.take_blocks([(4000, 12_000)].into_iter(), 4000, MSS);
    assert_eq!((ends(&trains), trains.count(4000, 12_000)), (vec![12_000], 1));
}

/// `tcp_xmit_retransmit_queue`: what is lost of one `sk_buff` is sent again as a train, with PSH if it has several.
#[test]
fn what_is_lost_of_an_sk_buff_is_a_train() {
    let now = Time::from_millis(100);
    let mut trains = sent(&[3000, 6000]);
    let mut resend = |start: u64| {
        trains.resend(now, (start, start + MSS), |limit| limit.min(5000));
        (trains.is_pushed(now, start + MSS), trains.is_complete(now, 6000), ends(&trains))
    };
    assert_eq!(resend(1000), (false, false, vec![3000, 6000]));
    assert_eq!(resend(2000), (true, true, vec![3000, 6000]));
    assert_eq!(resend(3000), (false, false, vec![3000, 5000, 6000]));
    assert_eq!(resend(4000), (true, true, vec![3000, 5000, 6000]));
    assert_eq!(resend(5000), (false, true, vec![3000, 5000, 6000]), "one alone");
}

/// `tcp_update_pacing_rate` runs with each ACK, so what is sent between two leaves the rate as it was.
#[test]
fn the_rate_that_sizes_trains_is_kept_until_the_next_arrival() {
    let mut trains = Trains::default();
    assert_eq!(trains.kept_rate(0), None);
    trains.keep_rate(7, 1_000_000);
    assert_eq!([7, 8].map(|arrivals| trains.kept_rate(arrivals)), [Some(1_000_000), None]);
}
