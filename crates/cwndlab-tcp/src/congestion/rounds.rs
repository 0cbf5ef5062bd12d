//! Packet-timed round trips (draft-ietf-ccwg-bbr-06, section 5.5.1): a round ends with the first ACK of a packet that
//! was sent after the round began.

/// Rounds of one connection, counted in packets delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// The round ends with the ACK of a packet that was sent after this many packets had been delivered.
    pub ends_at: u64,
    /// Rounds so far.
    pub count: u32,
    /// Whether the current ACK begins a round.
    pub started: bool,
}

impl Rounds {
    /// Takes an ACK. `prior` is the number of packets delivered before the acknowledged packet was sent; `delivered` is
    /// the number delivered so far.
    pub fn on_ack(&mut self, prior: Option<u64>, delivered: u64) {
        self.started = prior.is_some_and(|prior| prior >= self.ends_at);
        if self.started {
            self.ends_at = delivered;
            self.count += 1;
        }
    }
}
