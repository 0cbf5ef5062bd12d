//! When a window update is due after reading: the window has doubled what the peer has left (`__tcp_cleanup_rbuf`).

use super::*;

#[test]
fn an_update_is_due_from_twice_what_is_left_on() {
    let nothing = Held { unread: 0, beyond: None };
    let offered = 65_536 / MSS * MSS;
    // 64 KiB less a segment, 64,076 bytes, can be advertised: in units of 128 bytes 64,128, but no more than before is
    // asked for.
    for (left, due) in
        [(0, true), (31_000, true), (32_038, true), (32_039, false), (33_000, false), (41_000, false), (offered, false)]
    {
        assert_eq!(established().doubles(u64::from(left), (7, offered), nothing), due, "{left}");
    }
}
