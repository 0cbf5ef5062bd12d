//! How connections begin and end.

use cwndlab_units::Time;

use super::knobs::{knobs, NS2_NONE};
use super::Profile;

knobs! {
/// The three-way handshake.
pub struct HandshakeConfig("handshake.") {
    /// Whether the handshake's round trip is measured. If not, the timeout keeps its initial value until the first data
    /// is acknowledged.
    timed: bool ["bool"; any] {
        ns2_1998: true => NS2_NONE,
        rfc5681: true => "RFC 6298, 2.2: the first measurement is that of the SYN",
        linux_2_0: false => "2.0.32: reset on establishment, tcp_input.c 1668 to 1675",
        linux_2_2: false => "2.2.5: tcp_ipv4.c 1342 to 1359; no sample from the ACK of the SYN-ACK, tcp_input.c 725",
        linux_6: true => "kernel: tcp_synack_rtt_meas",
    }
    /// Whether the ACK of the SYN-ACK opens the window as an ACK of data does.
    ack_opens_window: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5681, 3.1: MUST NOT",
        linux_2_0: true => "2.0.32: ip_xmit_timeout is TIME_WRITE then, tcp_input.c 1207 and tcp_output.c 1041",
        linux_2_2: false => "2.2.5: SYNs are not data, tcp_input.c 642",
        linux_6: false => "kernel: does not",
    }
    /// Whether a timeout of a SYN reduces ssthresh like any other.
    timeout_cuts: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5681 makes no such rule",
        linux_2_0: true => "2.0.32: the timer of a SYN-ACK calls tcp_retransmit, tcp_output.c 1041 and tcp_timer.c 229",
        linux_2_2: false => "2.2.5: tcp_syn_recv_timer touches no window, tcp_timer.c 503 to 575",
        linux_6: false => "kernel: does not",
    }
    /// Timeouts of a SYN before they begin to double.
    linear_timeouts: u8 ["count"; 0..=100, "at most 100"] {
        ns2_1998: 0 => NS2_NONE,
        rfc5681: 0 => "RFC 6298, 5.5: doubles from the first",
        linux_6: 4 => "kernel: tcp_syn_linear_timeouts 4",
    }
    /// How many times a SYN or SYN-ACK may be retransmitted before the initial window is reduced to one segment.
    free_retransmissions: u8 ["count"; any] {
        ns2_1998: 0 => NS2_NONE,
        rfc5681: 0 => "RFC 5681, 3.1: MUST be one segment if it was lost",
        linux_6: 1 => "kernel: tcp_init_transfer resets only if total_retrans > 1, as RFC 6298 made the first timeout 1 s",
    }
    /// Whether the handshake's packets are ECN-capable. With `rfc3168`, the first SYN-ACK is (RFC 5562); if it is
    /// marked, another SYN-ACK is sent without ECT, and the initial window is one segment. With `dctcp` and `l4s`, SYN,
    /// SYN-ACK and RST are (RFC 8257, 3.6), and their marks are ignored.
    #[serde(default)]
    ecn_capable: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 3168, 6.1.1: MUST NOT; RFC 5562 is an experiment, RFC 8257 describes DCTCP",
        linux_2_0: false => "2.0.32: has no ECN",
        linux_2_2: false => "2.2.5: has no ECN",
        linux_6: false => "kernel: not with rfc3168; for laws that need ECN, such as DCTCP, it is (tcp_ecn_send_syn, tcp_ecn_send_synack), which the profile does not model",
    }
}
}

knobs! {
/// How connections end with FIN.
pub struct FinConfig("fin.") {
    /// Whether FIN is sent in a segment of its own, for which the window must have room; otherwise the last data
    /// segment carries it.
    alone: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 9293, 3.10.4: either",
        linux_2_0: true => "2.0.32: tcp_send_fin makes a segment of its own, tcp_output.c 835 to 936",
        linux_2_2: false => "2.2.5: rides on data not yet sent, tcp_output.c 709 to 713",
        linux_6: false => "kernel: tcp_send_fin rides on data not yet sent",
    }
    /// How long TIME-WAIT lasts.
    time_wait_ns: Time ["time"; time] {
        ns2_1998: Time::ZERO => NS2_NONE,
        rfc5681: Time::from_secs(240) => "RFC 9293, 3.4.2: 2 MSL of 2 min",
        linux_2_0: Time::from_secs(60) => "2.0.32: TCP_TIMEWAIT_LEN 60 s, tcp.h 156",
        linux_2_2: Time::from_secs(60) => "2.2.5: TCP_TIMEWAIT_LEN 60 s, tcp.h 277",
        linux_6: Time::from_secs(60) => "kernel: TCP_TIMEWAIT_LEN 60 s",
    }
}
}
