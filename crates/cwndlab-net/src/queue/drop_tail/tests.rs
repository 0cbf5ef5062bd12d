use super::*;

fn backlog(packets: u32, bytes_each: u32) -> Backlog {
    Backlog {
        packets,
        bytes: u64::from(packets) * u64::from(bytes_each),
        in_service_bytes: if packets > 0 { bytes_each } else { 0 },
        ..Backlog::default()
    }
}

/// How many packets of 1000 bytes fit before the first drop, including the one in service.
fn capacity(limit: u64, unit: Unit, counts_in_service: bool) -> u32 {
    let queue = DropTail::new(&DropTailConfig { limit, unit, counts_in_service });
    (0..100).find(|&n| queue.on_arrival(backlog(n, 1000), 1000) == Admit::Drop(DropCause::Full)).unwrap()
}

#[test]
fn a_limit_of_three_packets_holds_two_waiting_and_one_in_service_if_that_one_counts() {
    assert_eq!(capacity(3, Unit::Packets, true), 3);
}

#[test]
fn a_limit_of_three_packets_holds_three_waiting_if_the_one_in_service_does_not_count() {
    assert_eq!(capacity(3, Unit::Packets, false), 4);
}

#[test]
fn a_limit_in_bytes_takes_what_fits_exactly() {
    assert_eq!(capacity(3000, Unit::Bytes, true), 3);
    assert_eq!(capacity(2999, Unit::Bytes, true), 2);
    assert_eq!(capacity(3000, Unit::Bytes, false), 4);
    assert_eq!(capacity(2999, Unit::Bytes, false), 3);
}

#[test]
fn a_small_packet_fits_where_a_large_one_does_not() {
    let queue = DropTail::new(&DropTailConfig { limit: 2500, unit: Unit::Bytes, counts_in_service: true });
    assert_eq!(queue.on_arrival(backlog(2, 1000), 1000), Admit::Drop(DropCause::Full));
    assert_eq!(queue.on_arrival(backlog(2, 1000), 500), Admit::Enqueue);
}

#[test]
fn an_idle_link_takes_a_packet_larger_than_what_may_wait() {
    let queue = DropTail::new(&DropTailConfig { limit: 500, unit: Unit::Bytes, counts_in_service: false });
    assert_eq!(queue.on_arrival(backlog(0, 0), 1000), Admit::Enqueue);
    assert_eq!(queue.on_arrival(backlog(1, 1000), 1000), Admit::Drop(DropCause::Full));
}

#[test]
fn a_limit_of_zero_is_refused_with_its_name() {
    let config = DropTailConfig { limit: 0, unit: Unit::Packets, counts_in_service: true };
    assert_eq!(config.check(), Err(QueueError::Zero("limit")));
}
