//! Which flow has the most bytes, next to a search of all.

use super::*;

/// The bytes of the flow that the heap names.
fn top_bytes(fattest: &mut Fattest, bytes: &[u32]) -> u32 {
    let (tin, flow) = fattest.top();
    bytes[tin * QUEUES + flow]
}

/// Numbers that look random, below `n`.
fn numbers(n: usize) -> impl FnMut() -> usize {
    let mut state = 7_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    }
}

#[test]
fn bytes_that_are_added_before_and_after_the_heap_is_built_are_found() {
    let (mut fattest, mut bytes) = (Fattest::new(), vec![0_u32; SIZE]);
    let mut next = numbers(SIZE);
    for round in 0..400 {
        for _ in 0..5 {
            let (entry, more) = (next(), 60 + next() as u32 % 1440);
            let fewer = if bytes[entry] > 60 { 52 } else { 0 };
            fattest.add(entry / QUEUES, entry % QUEUES, more, fewer);
            bytes[entry] += more - fewer;
        }
        let most = *bytes.iter().max().unwrap();
        assert_eq!(top_bytes(&mut fattest, &bytes), most, "round {round}");
        assert_eq!(fattest.timeout, u16::MAX);
    }
}

/// The heap is not kept in order before it is asked for the first time, nor after 65,535 packets without being asked.
#[test]
fn a_heap_that_is_out_of_use_is_built_again() {
    let mut fattest = Fattest::new();
    for flow in 0..100 {
        fattest.add(2, flow, 100 + flow as u32, 0);
    }
    assert_eq!(fattest.heap, Fattest::new().heap, "not sorted yet");
    assert_eq!(fattest.top(), (2, 99));
    let sorted = fattest.heap.clone();
    fattest.timeout = 0;
    fattest.add(2, 50, 1000, 0);
    fattest.subtract(2, 99, 150);
    assert_eq!(fattest.heap, sorted);
    assert_eq!(fattest.top(), (2, 50));
}

#[test]
fn of_flows_that_are_dropped_from_the_next_one_gets_its_turn() {
    let mut fattest = Fattest::new();
    for (tin, bytes) in [(0, 5000), (1, 4500), (2, 4200)] {
        fattest.add(tin, 0, bytes, 0);
    }
    let mut turns = Vec::new();
    for _ in 0..6 {
        let (tin, flow) = fattest.top();
        assert_eq!(flow, 0);
        turns.push(tin);
        fattest.subtract(tin, flow, 1000);
    }
    assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
    assert_eq!([0, 1, 2].map(|tin| fattest.bytes[tin * QUEUES]), [3000, 2500, 2200]);
}

/// Each entry knows its place, whatever was swapped.
#[test]
fn the_places_are_those_of_the_entries() {
    let mut fattest = Fattest::new();
    let mut next = numbers(64);
    for _ in 0..300 {
        fattest.add(0, next(), 100, 0);
        let (tin, flow) = fattest.top();
        fattest.subtract(tin, flow, 60);
        assert!(fattest
            .heap
            .iter()
            .enumerate()
            .all(|(at, &entry)| usize::from(fattest.place[usize::from(entry)]) == at));
    }
}

/// `cake_heapify` and `cake_heapify_up` move only what has more bytes.
#[test]
fn of_flows_with_as_many_bytes_the_one_on_top_stays() {
    let mut fattest = Fattest::new();
    for tin in [0, 1, 2] {
        fattest.add(tin, 0, 100, 0);
    }
    assert_eq!(fattest.top(), (0, 0));
    fattest.add(3, 0, 100, 0);
    fattest.subtract(1, 0, 0);
    assert_eq!(fattest.top(), (0, 0));
    fattest.add(3, 0, 1, 0);
    assert_eq!(fattest.top(), (3, 0));
}
