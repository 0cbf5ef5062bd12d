//! When a window update is due after reading: the window has doubled what the peer has left (`__tcp_cleanup_rbuf`).

use super::*;

#[test]
fn an_update_is_due_from_twice_what_is_left_on() {
    let nothing = Held { unread: 0, beyond: None };
    let offered = 65_536 / MSS * MSS;
    // 64 KiB less a segment can be advertised.
    for (left, due) in [(0, true), (31_000, true), (33_000, false), (41_000, false), (offered, false)] {
        assert_eq!(established().doubles(u64::from(left), (7, offered), nothing), due, "{left}");
    }
}
