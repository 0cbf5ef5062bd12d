//! Connections that are spread over paths of equal cost.

use cwndlab_tcp::{Profile, RecoveryKind};

use super::*;

/// 64 transfers of 30 kB between two hosts whose routers are joined by four links each way, and short access links, so
/// that two packets of a connection on different links would overtake each other.
fn four_links(ecmp: bool) -> Scenario {
    let mut scenario = chain(&tcp(Profile::Rfc5681, RecoveryKind::Sack), 30_000, r#"{"kind": "infinite"}"#, "", 600);
    for (way, first) in [("there", 1), ("back", 4)] {
        for delay in 1..4 {
            let mut link = scenario.links[first].clone();
            link.name = format!("{way} {delay}");
            link.delay_ns += Time::from_millis(10 * delay);
            scenario.links.push(link);
        }
    }
    let transfer = scenario.traffic[0].clone();
    let transfers = (0..64).map(|k| {
        let mut one = transfer.clone();
        one.name = format!("transfer {k}");
        one.start_ns = Time::from_millis(500 * k);
        one
    });
    scenario.traffic = transfers.collect();
    scenario.ecmp = ecmp;
    scenario
}

/// The packets that crossed each of the four links, there and back.
fn crossed(log: &Log) -> [[u64; 4]; 2] {
    [[1, 6, 7, 8], [4, 9, 10, 11]].map(|links| links.map(|link: usize| log.links[link].accepted))
}

#[test]
fn ecmp_spreads_connections_over_paths_and_keeps_the_packets_of_each_in_order() {
    let (_, log) = run(&four_links(true), 0);
    for way in crossed(&log) {
        let all: u64 = way.iter().sum();
        assert!(way.iter().all(|&link| link > all / 10), "{way:?}"); // of 64 connections 16 each on average
    }
    assert_eq!(log.connections.len(), 64);
    assert!(log.connections.iter().all(|one| one.retransmits == 0 && one.bytes_up == 30_000));
    assert_eq!(crossed(&run(&four_links(true), 0).1), crossed(&log));
    assert_ne!(crossed(&run(&four_links(true), 1).1), crossed(&log)); // another replicate, another hash
}

#[test]
fn without_ecmp_all_connections_take_the_first_path() {
    let [there, back] = crossed(&run(&four_links(false), 0).1);
    assert!(there[0] > 0 && back[0] > 0);
    assert_eq!((&there[1..], &back[1..]), (&[0; 3][..], &[0; 3][..]));
}

#[test]
fn the_way_there_does_not_decide_the_way_back() {
    let mut scenario = four_links(true);
    scenario.traffic.truncate(1);
    let taken = |replicate| {
        let used = |way: [u64; 4]| way.iter().position(|&link| link > 0);
        crossed(&run(&scenario, replicate).1).map(used)
    };
    let pairs: std::collections::BTreeSet<_> = (0..40).map(taken).collect();
    assert!(pairs.len() > 8, "{pairs:?}"); // of 16
}
