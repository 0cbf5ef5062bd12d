//! What the caller reads of the sender: acknowledged payload, without SYN and FIN.

use super::*;

#[test]
fn acknowledged_bytes_are_payload_and_grow_with_each_ack() {
    let cfg = TcpConfig { fin: Some(FIN), ..config(2) };
    let mut script = Script::new(&cfg, Connection::client(&cfg, ISS, Time::ZERO));
    for (lines, acked) in [
        ("0.0 write 2000\n0.0 > data 0-1000\n0.0 > data 1000-2000\n0.0 close\n0.0 > fin ack 0", 0),
        ("0.1 < ack 1000", 1000),
        ("0.2 < ack 1500", 1500),
        ("0.3 < ack 2001", 2000), // the last position is that of the FIN
    ] {
        script.run(lines);
        assert_eq!(script.end.acked(), acked, "{lines}");
    }
}
