//! Windows of less than a segment (RFC 9293, 3.8.6.2.1 (3)): what is about half of the largest window is used at once.

use super::*;

#[test]
fn half_of_the_largest_window_is_used_at_once_and_less_is_not() {
    client(
        &config(4),
        "0.0 < ack 0 win 800            # 1024 is the next power of two
         0.0 write 3000
         0.0 > data 0-800
         0.1 < ack 800 win 512
         0.1 > data 800-1312
         0.2 < ack 1312 win 511
         = flight 0
         0.25 < ack 1312 win 1000
         0.25 > data 1312-2312",
    );
}

#[test]
fn a_larger_window_later_raises_what_is_enough() {
    client(
        &config(4),
        "0.0 < ack 0 win 800
         0.0 write 5000
         0.0 > data 0-800
         0.1 < ack 800 win 1500         # half of 2048 is more than a segment
         0.1 > data 800-1800
         0.2 < ack 1800 win 999
         = flight 0
         0.25 < ack 1800 win 1000
         0.25 > data 1800-2800",
    );
}
