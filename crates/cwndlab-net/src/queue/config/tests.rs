//! What a configuration may be, at both sides of each bound; what it is where a key is left out; and what traffic it names.

use serde_json::{json, Value};

use super::*;

fn read(config: &Value) -> QueueConfig {
    serde_json::from_value(config.clone()).unwrap_or_else(|error| panic!("{config}: {error}"))
}

/// `config` with these keys.
fn with(config: &Value, keys: &Value) -> Value {
    let mut config = config.clone();
    config.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    config
}

/// Checks that `base` is valid with each of the keys `good`, and that its error says what belongs to it with each `bad`.
fn assert_bounds(base: &Value, good: &[Value], bad: &[(Value, &str)]) {
    assert_eq!(read(base).check(), Ok(()), "{base}");
    for keys in good {
        let config = with(base, keys);
        assert_eq!(read(&config).check(), Ok(()), "{config}");
    }
    for (keys, says) in bad {
        let config = with(base, keys);
        let error = read(&config).check().expect_err(&config.to_string()).to_string();
        assert!(error.contains(says), "{config}: {error}");
    }
}

#[test]
fn bounds_of_queues_without_control_of_delay() {
    let most = u64::from(u32::MAX);
    assert_bounds(
        &json!({"kind": "drop-tail", "limit": 1}),
        &[json!({"limit": most - 1}), json!({"limit": most, "unit": "bytes"})],
        &[(json!({"limit": 0}), "limit is 0"), (json!({"limit": most}), "use kind infinite")],
    );
    let bad = [(json!({"limit": 0}), "limit is 0")];
    assert_bounds(&json!({"kind": "drop-on-full", "limit": 1, "victim": "front"}), &[], &bad);
    assert_bounds(&json!({"kind": "kernel", "qdisc": "cake"}), &[], &[(json!({"qdisc": ""}), "qdisc is empty")]);
    assert_bounds(&json!({"kind": "infinite"}), &[], &[]);
}

#[test]
fn bounds_of_red() {
    assert_bounds(
        &json!({"kind": "red", "limit": 1, "min_th": 0.0, "max_th": 0.5}),
        &[
            json!({"max_p": 1.0, "w_q": 1.0}),
            json!({"max_p": 0.0, "burst": 1, "min_th": 1.0, "max_th": 2.0}),
            json!({"mean_packet_bytes": 1, "max_packet_bytes": 1}),
        ],
        &[
            (json!({"limit": 0}), "limit is 0"),
            (json!({"mean_packet_bytes": 0}), "mean_packet_bytes is 0"),
            (json!({"max_packet_bytes": 0}), "max_packet_bytes is 0"),
            (json!({"min_th": -0.1}), "min_th is -0.1"),
            (json!({"min_th": 0.5}), "max_th is 0.5"),
            (json!({"max_p": 1.01}), "max_p is 1.01"),
            (json!({"w_q": 0.0}), "w_q is 0"),
            (json!({"w_q": 1.01}), "w_q is 1.01"),
            (json!({"w_q": 0.5, "burst": 3}), "both w_q and burst"),
            (json!({"min_th": 5.0, "max_th": 6.0, "burst": 4}), "burst is 4"),
        ],
    );
    // The smallest probability at max_th is 30,000 / 2^30.
    let least = 30_000.0 / 1_073_741_824.0;
    assert_bounds(
        &json!({"kind": "linux-red", "limit": 1, "min_th": 15_000, "max_th": 45_000, "burst": 15, "mean_packet_bytes": 1000}),
        &[json!({"max_p": 1.0}), json!({"max_p": least}), json!({"bandwidth_bps": 1}), json!({"max_th": 15_001})],
        &[
            (json!({"limit": 0}), "limit is 0"),
            (json!({"min_th": 0}), "min_th is 0"),
            (json!({"mean_packet_bytes": 0}), "mean_packet_bytes is 0"),
            (json!({"bandwidth_bps": 0}), "bandwidth_bps is 0"),
            (json!({"max_th": 15_000}), "max_th is 15000"),
            (json!({"max_p": least * 0.999}), "max_p is"),
            (json!({"max_p": 1.01}), "max_p is 1.01"),
            (json!({"burst": 14}), "burst is 14"),
        ],
    );
}

#[test]
fn bounds_of_codel() {
    let codel = json!({"kind": "codel", "limit": 1, "target_ns": 1, "interval_ns": 2});
    let bad = [(json!({"target_ns": 0}), "target_ns is 0"), (json!({"target_ns": 2}), "longer than target_ns")];
    assert_bounds(&codel, &[], &bad);
    assert_bounds(&codel, &[], &[(json!({"limit": 0}), "limit is 0")]);
    let fq = with(&codel, &json!({"kind": "fq-codel", "flows": 65_536, "quantum": 1, "drop_batch": 1}));
    assert_bounds(&fq, &[json!({"flows": 1})], &bad);
    let bad = [
        (json!({"flows": 0}), "flows is 0"),
        (json!({"flows": 65_537}), "flows is 65537"),
        (json!({"quantum": 0}), "quantum is 0"),
        (json!({"drop_batch": 0}), "drop_batch is 0"),
    ];
    assert_bounds(&fq, &[], &bad);
}

#[test]
fn bounds_of_pie() {
    let times = json!({"target_ns": 1, "update_ns": 100_000, "limit": 1});
    let bad = [
        (json!({"limit": 0}), "limit is 0"),
        (json!({"target_ns": 0}), "target_ns is 0"),
        (json!({"update_ns": 99_999}), "update_ns is 99999"),
    ];
    let pie = with(&json!({"kind": "pie", "alpha": 0.0, "beta": 0.0}), &times);
    assert_bounds(&pie, &[json!({"ecn_threshold": 1.0, "activate_at": 1.0})], &bad);
    let bad_shares = [
        (json!({"alpha": -0.1}), "alpha is -0.1"),
        (json!({"beta": -0.1}), "beta is -0.1"),
        (json!({"ecn_threshold": 1.1}), "ecn_threshold is 1.1"),
        (json!({"activate_at": 1.1}), "activate_at is 1.1"),
    ];
    assert_bounds(&pie, &[], &bad_shares);
    let fq_pie = with(&json!({"kind": "fq-pie", "flows": 65_536, "alpha": 32, "beta": 32}), &times);
    assert_bounds(&fq_pie, &[json!({"quantum": 256, "mtu": 1, "ecn_prob": 100, "flows": 1})], &bad);
    let bad_sizes = [
        (json!({"flows": 0}), "flows is 0"),
        (json!({"flows": 65_537}), "flows is 65537"),
        (json!({"alpha": 33}), "alpha is 33"),
        (json!({"beta": 33}), "beta is 33"),
        (json!({"quantum": 255}), "quantum is 255"),
        (json!({"mtu": 0}), "mtu is 0"),
        (json!({"ecn_prob": 101}), "ecn_prob is 101"),
    ];
    assert_bounds(&fq_pie, &[], &bad_sizes);
    let dual = with(&json!({"kind": "dualpi2", "alpha": 0.0, "beta": 0.0, "coupling": 1.0}), &times);
    assert_bounds(&dual, &[json!({"coupling": 100.0, "classic_share": 1.0}), json!({"classic_share": 0.0})], &bad);
    let bad_weights = [
        (json!({"alpha": -0.1}), "alpha is -0.1"),
        (json!({"beta": -0.1}), "beta is -0.1"),
        (json!({"coupling": 0.9}), "coupling is 0.9"),
        (json!({"coupling": 100.1}), "coupling is 100.1"),
        (json!({"classic_share": 1.1}), "classic_share is 1.1"),
    ];
    assert_bounds(&dual, &[], &bad_weights);
}

#[test]
fn bounds_of_shapers() {
    assert_bounds(
        &json!({"kind": "tbf", "rate_bps": 8, "burst_bytes": 1, "limit": 1}),
        &[json!({"peak_rate_bps": 9, "peak_burst_bytes": 1}), json!({"rate_bps": 400_000_000_000_u64})],
        &[
            (json!({"burst_bytes": 0}), "burst_bytes is 0"),
            (json!({"peak_burst_bytes": 0}), "peak_burst_bytes is 0"),
            (json!({"limit": 0}), "limit is 0"),
            (json!({"rate_bps": 7}), "rate_bps is 7"),
            (json!({"peak_rate_bps": 8}), "peak_rate_bps is 8"),
        ],
    );
    assert_bounds(
        &json!({"kind": "cake", "rate_bps": 512, "rtt_ns": 20_000, "overhead": -64, "mpu": 0, "mtu": 64}),
        &[
            json!({"rtt_ns": 4_000_000_000_u64, "overhead": 256, "mpu": 256, "mtu": 65_535}),
            json!({"codepoints": [{"dscp": 63, "traffic": ["a"]}, {"dscp": 0, "traffic": ["b"]}]}),
        ],
        &[
            (json!({"rate_bps": 511}), "rate_bps is 511"),
            (json!({"rtt_ns": 19_999}), "rtt_ns is 19999"),
            (json!({"rtt_ns": 4_000_000_001_u64}), "rtt_ns is 4000000001"),
            (json!({"overhead": -65}), "overhead is -65"),
            (json!({"overhead": 257}), "overhead is 257"),
            (json!({"mpu": 257}), "mpu is 257"),
            (json!({"mtu": 63}), "mtu is 63"),
            (json!({"mtu": 65_536}), "mtu is 65536"),
            (json!({"codepoints": [{"dscp": 64, "traffic": []}]}), "dscp is 64"),
            (
                json!({"codepoints": [{"dscp": 1, "traffic": ["b", "a"]}, {"dscp": 2, "traffic": ["a"]}]}),
                "\"a\" belongs",
            ),
        ],
    );
}

fn cbq(classes: &Value, default: u32) -> Value {
    json!({"kind": "cbq", "classes": classes, "default": default})
}

#[test]
fn bounds_of_class_based_queues() {
    let queue = json!({"kind": "infinite"});
    let root = json!({"rate_bps": 10});
    let leaf = json!({"parent": 0, "rate_bps": 5, "queue": queue, "flows": [1], "traffic": ["a"], "max_packet_bytes": 1, "max_burst": 1});
    let other = with(&leaf, &json!({"flows": [2], "traffic": ["b"], "max_burst": 1000}));
    let valid = cbq(&json!([root, leaf, other]), 2);
    assert_bounds(
        &valid,
        &[json!({"default": 1})],
        &[(json!({"default": 0}), "default is 0"), (json!({"default": 3}), "default is 3")],
    );
    for (place, keys, says) in [
        (1, json!({"rate_bps": 0}), "class 1: rate_bps is 0"),
        (1, json!({"max_packet_bytes": 0}), "class 1: max_packet_bytes is 0"),
        (2, json!({"max_burst": 0}), "class 2: max_burst is 0"),
        (2, json!({"max_burst": 1001}), "class 2: max_burst is 1001"),
        (1, json!({"parent": 1}), "class 1: parent is 1"),
        (1, json!({"parent": 2}), "class 1: parent is 2"),
        (2, json!({"rate_bps": 6}), "class 0: rate_bps is 10; its children have 11"),
        (2, json!({"queue": null}), "class 2: it has no children and needs a queue"),
        (0, json!({"queue": queue}), "class 0: it has children, so it has no queue"),
        (0, json!({"flows": [9]}), "class 0: it has children, so it has no flows"),
        (0, json!({"traffic": ["c"]}), "class 0: it has children, so it has no flows"),
        (2, json!({"queue": {"kind": "codel"}}), "class 2: its queue must be"),
        (2, json!({"queue": {"kind": "drop-tail", "limit": 0}}), "class 2: limit is 0"),
        (2, json!({"flows": [3, 1]}), "flow 1 belongs to two classes"),
        (2, json!({"traffic": ["c", "a"]}), "traffic \"a\" belongs to two classes"),
    ] {
        let mut classes = json!([root, leaf, other]);
        classes[place] = with(&classes[place], &keys);
        let error = read(&cbq(&classes, 2)).check().expect_err(says).to_string();
        assert!(error.starts_with(says), "{keys}: {error}");
    }
}

/// The values of keys that are left out, for each kind: those that the documentation of the parameters states.
#[test]
fn keys_that_are_left_out_have_their_defaults() {
    let ms = |ms: u64| ms * 1_000_000;
    for (least, more) in [
        (json!({"kind": "drop-tail", "limit": 3}), json!({"unit": "packets", "counts_in_service": true})),
        (
            json!({"kind": "red", "limit": 60, "min_th": 5.0, "max_th": 15.0}),
            json!({"unit": "packets", "max_p": 0.1, "w_q": null, "burst": null, "mean_packet_bytes": 1000,
                "max_packet_bytes": 1500, "ecn": false, "hard_drop": true, "gentle": false, "wait": false,
                "adaptive": false, "rules": "paper", "counts_in_service": false}),
        ),
        (
            json!({"kind": "linux-red", "limit": 60_000, "min_th": 15_000, "max_th": 45_000, "burst": 20, "mean_packet_bytes": 1000}),
            json!({"max_p": 0.02, "bandwidth_bps": 10_000_000, "ecn": false, "hard_drop": true, "version": "2.2.5"}),
        ),
        (
            json!({"kind": "codel"}),
            json!({"target_ns": ms(5), "interval_ns": ms(100), "limit": 1000, "mtu": 1500, "ecn": false, "ce_threshold_ns": null}),
        ),
        (
            json!({"kind": "fq-codel"}),
            json!({"flows": 1024, "quantum": 1514, "limit": 10_240, "drop_batch": 64, "target_ns": ms(5),
                "interval_ns": ms(100), "mtu": 1500, "ecn": true, "ce_threshold_ns": null, "perturbation": null}),
        ),
        (
            json!({"kind": "pie"}),
            json!({"limit": 1000, "target_ns": ms(15), "update_ns": ms(15), "alpha": 0.125, "beta": 1.25,
                "max_burst_ns": ms(150), "mean_packet_bytes": 1024, "estimate": "timestamp", "ecn": false,
                "ecn_threshold": 0.1, "derandomize": true, "cap_adjustment": true, "activate_at": null}),
        ),
        (
            json!({"kind": "fq-pie"}),
            json!({"limit": 10_240, "flows": 1024, "target_ns": ms(15), "update_ns": ms(15), "first_update_ns": ms(500),
                "alpha": 2, "beta": 20, "quantum": 1514, "mtu": 1514, "ecn": false, "ecn_prob": 10, "bytemode": false,
                "perturbation": null}),
        ),
        (
            json!({"kind": "dualpi2"}),
            json!({"form": "rfc9332", "limit": 10_000, "target_ns": ms(15), "update_ns": ms(16), "alpha": 0.16, "beta": 3.2,
                "coupling": 2.0, "min_th_ns": 800_000, "range_ns": 400_000, "step_ns": ms(1), "classic_share": 0.1, "ecn": true}),
        ),
        (json!({"kind": "tbf", "rate_bps": 9, "burst_bytes": 1, "limit": 1}), json!({"peak_burst_bytes": 1500})),
        (
            json!({"kind": "cake"}),
            json!({"rate_bps": null, "rtt_ns": ms(100), "isolation": "triple-isolate", "tins": "diffserv3", "codepoints": [],
                "ack_filter": "off", "overhead": 0, "mpu": 0, "framing": "none", "ingress": false, "mtu": 1514,
                "memory_bytes": null, "perturbation": null}),
        ),
    ] {
        assert_eq!(serde_json::to_value(read(&least)).unwrap(), with(&least, &more));
    }
    let class = json!({"parent": null, "priority": 0, "bounded": false, "traffic": [], "flows": [], "queue": null,
        "max_burst": 1, "min_idle_ns": null, "max_packet_bytes": 1500});
    let found = serde_json::to_value(read(&cbq(&json!([{"rate_bps": 10}]), 0))).unwrap();
    assert_eq!(found["sharing"], "formal");
    assert_eq!(found["classes"][0], with(&class, &json!({"rate_bps": 10})));
}

#[test]
fn class_based_queues_name_their_traffic_and_learn_its_numbers() {
    let number = |name: &str| name.len() as u8;
    let queue = json!({"kind": "infinite"});
    let classes = json!([
        {"rate_bps": 10}, {"parent": 0, "rate_bps": 5, "queue": queue, "traffic": ["a", "bb"]},
        {"parent": 0, "rate_bps": 5, "queue": queue, "traffic": ["ccc"]}
    ]);
    let mut by_class = read(&cbq(&classes, 2));
    assert_eq!(by_class.traffic(), ["a", "bb", "ccc"]);
    by_class.number_traffic(number);
    let QueueConfig::Cbq(config) = &by_class else { panic!("{by_class:?}") };
    assert_eq!(
        config.classes.iter().map(|class| class.numbers.clone()).collect::<Vec<_>>(),
        [vec![], vec![1, 2], vec![3]]
    );
    let points = json!([{"dscp": 46, "traffic": ["a"]}, {"dscp": 8, "traffic": ["bb", "ccc"]}]);
    let mut cake = read(&json!({"kind": "cake", "codepoints": points}));
    assert_eq!(cake.traffic(), ["a", "bb", "ccc"]);
    cake.number_traffic(number);
    let hosts = [RouteHosts { start: 3, source: 1, destination: 2 }];
    cake.number_hosts(&hosts);
    let QueueConfig::Cake(config) = &cake else { panic!("{cake:?}") };
    assert_eq!(config.codepoints.iter().map(|point| point.numbers.clone()).collect::<Vec<_>>(), [vec![1], vec![2, 3]]);
    assert_eq!(config.hosts, hosts);
    assert!(cake.knows_hosts() && !by_class.knows_hosts());
    let mut plain = read(&json!({"kind": "codel"}));
    let before = plain.clone();
    plain.number_traffic(number);
    plain.number_hosts(&hosts);
    assert!(plain.traffic().is_empty() && plain == before);
}

#[test]
fn fifos_of_a_kernel_are_told_from_other_disciplines() {
    for (qdisc, plain) in
        [("pfifo limit 9", true), ("bfifo", true), ("pfifo_fast", true), ("fq_codel", false), ("xpfifo", false)]
    {
        let QueueConfig::Kernel(config) = read(&json!({"kind": "kernel", "qdisc": qdisc})) else { panic!("{qdisc}") };
        assert_eq!(config.is_plain_fifo(), plain, "{qdisc}");
    }
}
