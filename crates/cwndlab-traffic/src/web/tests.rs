use std::collections::BTreeMap;

use cwndlab_units::Time;
use proptest::prelude::*;

use crate::dist::{Dist, Rng};
use crate::event::{ObjectKind, ObjectRecord};
use crate::testing::{app, Network};

const MS: fn(u64) -> Time = Time::from_millis;

fn web(protocol: &str, clock: &str, trigger: &str, more: &str) -> String {
    format!(
        r#"{{"kind":"web","protocol":"{protocol}","clock":"{clock}","inline_trigger":"{trigger}",
        "object_bytes":{{"kind":"uniform","low":100,"high":9000}},"request_bytes":{{"kind":"fixed","value":300}},
        "think_s":{{"kind":"uniform","low":1,"high":5}}{more}}}"#
    )
}

fn run(json: &str, seed: u64, rtt_ms: u64, secs: u64) -> Network {
    Network::new(app(json, seed).unwrap(), MS(rtt_ms)).run(Time::from_secs(secs))
}

fn pages(net: &Network) -> Vec<&ObjectRecord> {
    net.records.iter().filter(|r| r.kind == ObjectKind::Page).collect()
}

#[test]
fn http_1_0_opens_three_in_line_connections_at_the_moment_of_the_trigger() {
    for trigger in ["first-packet", "whole-primary"] {
        let net = run(&web("http/1.0", "syn", trigger, r#","pages":1"#), 1, 100, 60);
        // In ms: SYN at 0; the request, in the third packet, arrives at 150, the primary object at 200; in-line objects
        // take 200 more.
        assert_eq!(net.connects[0].0, MS(0));
        assert_eq!(net.connects[1..].iter().map(|c| c.0).collect::<Vec<_>>(), [MS(200); 3], "{trigger}");
        let p = pages(&net);
        assert_eq!((p.len(), p[0].start, p[0].end, p[0].connections), (1, MS(0), MS(400), 4));
    }
}

#[test]
fn the_page_clock_from_the_request_leaves_the_handshake_out() {
    let net = run(&web("http/1.0", "request", "first-packet", r#","pages":1"#), 1, 100, 60);
    assert_eq!((pages(&net)[0].start, pages(&net)[0].end), (MS(100), MS(400)));
}

#[test]
fn http_1_1_carries_all_objects_on_one_connection_with_a_second_request() {
    for trigger in ["first-packet", "whole-primary"] {
        let net = run(&web("http/1.1", "syn", trigger, r#","pages":1,"record_objects":true"#), 1, 100, 60);
        assert_eq!(net.connects.len(), 1);
        let p = pages(&net);
        assert_eq!((p[0].end, p[0].connections), (MS(300), 1)); // one round trip after the primary
        let objects: Vec<_> = net.records.iter().filter(|r| r.kind == ObjectKind::Object).collect();
        assert_eq!(objects.iter().map(|o| o.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(objects.iter().map(|o| o.end).collect::<Vec<_>>(), [MS(200), MS(300), MS(300), MS(300)]);
        assert_eq!(objects.iter().map(|o| o.bytes).sum::<u64>(), p[0].bytes);
    }
}

#[test]
fn http_3_carries_each_object_on_a_stream_of_one_connection() {
    // The request leaves at 100 ms; on this network, the first data of a response takes a round trip, and all of it
    // half a round trip more.
    for (trigger, end) in [("first-packet", 350), ("whole-primary", 400)] {
        let net = run(&web("http/3", "syn", trigger, r#","pages":1,"record_objects":true"#), 1, 100, 60);
        assert_eq!(net.connects.len(), 1);
        let p = pages(&net);
        assert_eq!((p[0].start, p[0].end, p[0].connections), (MS(0), MS(end), 1), "{trigger}");
        let objects: Vec<_> = net.records.iter().filter(|r| r.kind == ObjectKind::Object).collect();
        assert_eq!(
            objects.iter().map(|o| (o.index, o.end)).collect::<Vec<_>>(),
            [(0, MS(250)), (1, MS(end)), (2, MS(end)), (3, MS(end)),]
        );
        assert_eq!(objects.iter().map(|o| o.bytes).sum::<u64>(), p[0].bytes);
    }
}

#[test]
fn a_page_of_more_objects_than_can_be_opened_at_once_is_refused() {
    let json = |objects: u32| web("http/1.0", "syn", "first-packet", &format!(r#","inline_objects":{objects}"#));
    assert!(app(&json(10_000), 1).is_ok());
    let error = app(&json(2_000_000_000), 1).err().unwrap();
    assert_eq!(error, "web: inline_objects is 2000000000; a page has at most 10000");
}

#[test]
fn the_next_page_comes_after_a_think_time_between_1_and_5_s() {
    let net = run(&web("http/1.0", "syn", "first-packet", ""), 3, 100, 360);
    let p = pages(&net);
    assert!(p.len() > 80, "{} pages in 360 s", p.len());
    let gaps: Vec<f64> = p.windows(2).map(|w| (w[1].start - w[0].end).as_secs_f64()).collect();
    assert!(gaps.iter().all(|g| (1.0..5.0).contains(g)));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean - 3.0).abs() < 0.5, "mean think time {mean} s"); // four standard errors of 100 draws
}

#[test]
fn page_k_has_the_same_sizes_whatever_the_network_and_the_protocol_do() {
    let slow = run(&web("http/1.0", "syn", "whole-primary", ""), 7, 900, 200);
    let fast = run(&web("http/1.1", "syn", "first-packet", ""), 7, 10, 200);
    let other = run(&web("http/1.1", "request", "first-packet", ""), 8, 10, 200);
    let bytes =
        |net: &Network| pages(net).iter().filter(|p| !p.end.is_never()).map(|p| p.bytes).take(20).collect::<Vec<_>>();
    assert_eq!(bytes(&slow), bytes(&fast));
    assert_ne!(bytes(&fast), bytes(&other));
    let thinks = |net: &Network| pages(net).windows(2).map(|w| w[1].start - w[0].end).take(20).collect::<Vec<_>>();
    assert_eq!(thinks(&slow), thinks(&fast));
}

#[test]
fn a_page_without_in_line_objects_ends_with_its_primary() {
    for (protocol, end) in [("http/1.0", 200), ("http/1.1", 200), ("http/3", 250)] {
        let net = run(&web(protocol, "syn", "first-packet", r#","inline_objects":0,"pages":2"#), 1, 100, 60);
        let p = pages(&net);
        assert_eq!((p.len(), p[0].end, net.connects.len()), (2, MS(end), 2), "{protocol}");
    }
}

#[test]
fn a_page_that_loses_a_connection_is_unfinished_and_browsing_goes_on() {
    let a = app(&web("http/1.0", "syn", "first-packet", r#","pages":3"#), 1).unwrap();
    let mut net = Network::new(a, MS(100));
    net.broken.push_back(3); // an in-line connection of the first page
    let net = net.run(Time::from_secs(60));
    let finished: Vec<bool> = pages(&net).iter().map(|p| !p.end.is_never()).collect();
    assert_eq!(finished, [false, true, true]);
}

proptest! {
    #[test]
    fn every_page_and_object_begun_is_recorded_exactly_once_finished_or_not(
        seed in 0u64..1000, rtt_ms in 2u64..3000, secs in 1u64..60, whole: bool, request: bool,
        protocol in prop::sample::select(&["http/1.0", "http/1.1", "http/3"][..]),
        late: bool, broken in proptest::collection::btree_set(1usize..60, 0..6),
    ) {
        let json = web(
            protocol,
            if request { "request" } else { "syn" },
            if whole { "whole-primary" } else { "first-packet" },
            if late { r#","record_objects":true,"server_closes":"after-response""# } else { r#","record_objects":true"# },
        );
        let mut net = Network::new(app(&json, seed).unwrap(), MS(rtt_ms));
        net.broken.extend(broken);
        let net = net.run(Time::from_secs(secs));
        let p = pages(&net);
        let indices: Vec<u32> = p.iter().map(|r| r.index).collect();
        prop_assert_eq!(&indices, &(0..p.len() as u32).collect::<Vec<_>>());
        let mut objects: Vec<u32> =
            net.records.iter().filter(|r| r.kind == ObjectKind::Object).map(|r| r.index).collect();
        objects.sort_unstable();
        prop_assert_eq!(objects, (0..4 * p.len() as u32).collect::<Vec<_>>());
        for r in &p {
            prop_assert!(r.end >= r.start);
        }
        // Only the last page may be cut short by the end of the run. Other pages are unfinished only if a connection
        // broke.
        let unfinished = p.iter().filter(|r| r.end.is_never()).count();
        prop_assert!(unfinished <= 1 + 6);
    }
}

/// The sampler must reproduce the quantiles of Mah's reply lengths, read off the cumulative counts
/// (`sizes/mah-reply-bytes.csv` of the study `rfc2415`).
#[test]
fn empirical_reply_sizes_have_mahs_quantiles() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/cwndlab/studies/rfc2415/sizes/");
    let table = std::fs::read_to_string(format!("{folder}mah-reply-bytes.csv")).unwrap();
    let (mut values, mut counts) = (Vec::new(), Vec::new());
    for line in table.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())) {
        let (v, c) = line.split_once(',').unwrap();
        values.push(v.parse().unwrap());
        counts.push(c.parse().unwrap());
    }
    assert_eq!(counts.iter().sum::<u64>(), 4100);
    let sampler = Dist::Empirical { values, counts }.sampler(&BTreeMap::new()).unwrap();
    let mut rng = Rng::new(42);
    let n = 200_000;
    let mut drawn: Vec<f64> = (0..n).map(|_| sampler.draw(&mut rng)).collect();
    drawn.sort_by(f64::total_cmp);
    // Pairs of p and a number of bytes: the share of draws up to this number must equal p within four standard errors.
    for (p, bytes) in
        [(0.1, 110.0), (0.25, 560.0), (0.5, 2112.0), (0.75, 4797.0), (0.9, 12581.0), (0.95, 23332.0), (0.99, 67379.0)]
    {
        let below = drawn.partition_point(|d| *d < bytes) as f64 / f64::from(n);
        let up_to = drawn.partition_point(|d| *d <= bytes) as f64 / f64::from(n);
        assert!(below <= p + 0.005 && up_to >= p - 0.005, "P(X < {bytes}) {below}, P(X <= {bytes}) {up_to}, want {p}");
    }
    let two_packets = drawn.partition_point(|d| *d <= 2920.0) as f64 / f64::from(n);
    assert!((two_packets - 0.6137).abs() < 0.005, "{two_packets} fit two packets of 1460 bytes");
    let mean = drawn.iter().sum::<f64>() / f64::from(n);
    assert!((mean / 7231.0 - 1.0).abs() < 0.06, "mean {mean}");
}

#[test]
fn the_memory_of_a_page_is_that_of_its_objects() {
    let of = |inline: u32| {
        let json = web("http/1.1", "syn", "whole-primary", &format!(r#","inline_objects":{inline}"#));
        app(&json, 1).unwrap().memory_bytes()
    };
    let each = (std::mem::size_of::<super::page::Object>() + std::mem::size_of::<u64>()) as u64;
    assert_eq!([of(0), of(1), of(3), of(99)], [each, 2 * each, 4 * each, 100 * each]);
}
