use super::*;

#[test]
fn numbers_of_the_script_count_ticks_from_the_first() {
    let mut kernel = Timestamps::with_tick(0);
    assert_eq!((kernel.script(7), kernel.live(7), kernel.interpolated(7)), (7, None, 7), "nothing is known yet");
    kernel.learn(10, 5_000);
    kernel.learn(20, 15_900); // the first one still counts
                              // Ticks of 1 ms, to the nearest one.
    for (live, script) in [(5_000, 10), (5_499, 10), (5_500, 11), (7_000, 12), (4_000, 9), (15_900, 21)] {
        assert_eq!(kernel.script(live), script, "{live}");
    }
    for (script, live) in [(0, Some(0)), (10, Some(5_000)), (20, Some(15_900)), (11, None)] {
        assert_eq!(kernel.live(script), live, "{script}");
    }
    for (script, live) in [(0, 0), (10, 5_000), (20, 15_900), (13, 8_000), (9, 4_000)] {
        assert_eq!(kernel.interpolated(script), live, "{script}");
    }
    let mut fine = Timestamps::with_tick(100);
    fine.learn(u32::MAX, 50);
    assert_eq!((fine.script(250), fine.interpolated(1)), (1, 250), "both clocks wrap");
    fine.learn(u32::MAX, 90);
    assert_eq!(fine.live(u32::MAX), Some(90), "the last timestamp that got the number");
}
