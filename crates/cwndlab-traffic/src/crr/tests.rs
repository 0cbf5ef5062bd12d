use cwndlab_units::Time;

use crate::event::ObjectKind;
use crate::testing::{app, Network};

const MS: fn(u64) -> Time = Time::from_millis;
const SIZES: &str = r#""request_bytes":{"kind":"fixed","value":200},"response_bytes":{"kind":"fixed","value":5120}"#;

#[test]
fn transactions_follow_without_a_pause_each_on_a_new_connection() {
    let a = app(&format!(r#"{{"kind":"crr",{SIZES}}}"#), 1).unwrap();
    let net = Network::new(a, MS(20)).run(Time::from_secs(1));
    // Handshake, request and response with FIN take 40 ms per transaction.
    assert_eq!(net.records.iter().filter(|r| !r.end.is_never()).count(), 24);
    for (k, r) in net.records.iter().take(24).enumerate() {
        assert_eq!((r.kind, r.start, r.end), (ObjectKind::Transaction, MS(40 * k as u64), MS(40 * (k as u64 + 1))));
    }
    assert_eq!(net.connects.len(), 25);
    assert!(net.connects.iter().all(|(_, slot)| *slot < 3), "slots are used again");
}

#[test]
fn a_transaction_may_end_with_the_last_byte_and_their_number_may_be_limited() {
    let a = app(&format!(r#"{{"kind":"crr",{SIZES},"ends":"delivered","transactions":7}}"#), 1).unwrap();
    let net = Network::new(a, MS(20)).run(Time::from_secs(1));
    assert_eq!(net.records.len(), 7);
    assert!(net.records.iter().all(|r| r.bytes == 5120 && r.end - r.start == MS(40)));
}
