//! Shaper, CAKE and FQ-PIE next to those of Linux 6.12: what left the kernel's queues, recorded by
//! `linux/tests/queues/compare.py` in scenarios drawn at random. Each line of `kernel.jsonl` is a scenario.

#[path = "../examples/replay.rs"]
#[allow(dead_code, reason = "the program's entry is not needed here")]
mod replay;

/// A kernel acts some nanoseconds late: each look at its clock takes one.
const SAME_NS: u64 = 1000;

#[test]
fn packets_leave_as_they_left_the_kernel() {
    let mut scenarios = 0;
    for line in include_str!("kernel.jsonl").lines() {
        let recorded: serde_json::Value = serde_json::from_str(line).unwrap();
        let left: Vec<(usize, u64, bool)> = serde_json::from_value(recorded["left"].clone()).unwrap();
        let read = serde_json::json!({"queue": recorded["queue"], "packets": recorded["packets"]});
        let ours = replay::replay(serde_json::from_value(read).unwrap());
        assert!(left.len() + 8 <= recorded["packets"].as_array().unwrap().len(), "some packets are dropped");
        assert_eq!(ours.len(), left.len(), "{}", recorded["queue"]);
        for (own, theirs) in ours.iter().zip(&left) {
            assert_eq!((own.0, own.2), (theirs.0, theirs.2), "{own:?} {theirs:?} {}", recorded["queue"]);
            assert!(own.1.abs_diff(theirs.1) < SAME_NS, "{own:?} {theirs:?} {}", recorded["queue"]);
        }
        scenarios += 1;
    }
    assert!(scenarios >= 5);
}
