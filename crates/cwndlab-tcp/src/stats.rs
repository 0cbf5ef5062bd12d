//! The counters of one endpoint.

/// Counters of one endpoint, from its creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments with data or FIN whose first byte had been sent before, and SYNs and SYN-ACKs sent again after a
    /// timeout.
    pub retransmits: u32,
    /// Expiries of the retransmission timer (including SYNs, excluding window probes).
    pub timeouts: u32,
    /// Number of times that loss recovery began without a retransmission timeout.
    pub fast_retransmits: u32,
    /// Duplicate ACKs received (RFC 5681, section 2).
    pub dup_acks: u32,
    /// Window reductions in response to an ECN echo (RFC 3168, section 6.1.2).
    pub ecn_reductions: u32,
    /// Probes of a zero window sent (RFC 9293, 3.8.6.1).
    pub window_probes: u32,
}
