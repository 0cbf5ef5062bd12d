//! Linux 2.0.32 and 2.2.5, read in their sources: `net/ipv4`, and `include/net/tcp.h`. What differs from `rfc5681`, with file
//! and line.

use super::{Era, RFC5681, RFC5681_ERA};
use crate::config::{
    AckPolicy, Estimator, FinConfig, HandshakeConfig, InitialWindow, MaxWindow, NewRenoConfig, RecoveryKind,
    ReductionBase, RenoConfig, RetransmitGuard, RtoConfig, RttSamples, TcpConfig, TimerStart, WindowLawKind,
};
use cwndlab_units::Time;

/// HZ = 100 on a PC (include/asm-i386/param.h).
const JIFFY: Time = Time::from_millis(10);

pub(super) const LINUX_2_0_ERA: Era = Era {
    reno: RenoConfig {
        dup_ack_window_segments: 3,
        retransmit_guard: RetransmitGuard::Timeout,
        extra_segments: 1,
        outlives_timeout: true,
        ..RenoConfig::STANDARD
    },
    new_reno: NewRenoConfig { extra_segments: 1, ..NewRenoConfig::STANDARD },
    handshake: HandshakeConfig {
        timed: false,
        ack_opens_window: true,
        timeout_cuts: true,
        ..HandshakeConfig::STANDARD
    },
    fin: FinConfig { alone: true, time_wait_ns: Time::from_secs(60) },
    ..RFC5681_ERA
};

pub(super) const LINUX_2_2_ERA: Era = Era {
    new_reno: NewRenoConfig { partial_window_deflation: false, ..NewRenoConfig::STANDARD },
    handshake: HandshakeConfig { timed: false, ..HandshakeConfig::STANDARD },
    fin: FinConfig { alone: false, time_wait_ns: Time::from_secs(60) },
    ..RFC5681_ERA
};

pub(super) const LINUX_2_0: TcpConfig = TcpConfig {
    handshake: Some(LINUX_2_0_ERA.handshake),
    fin: Some(LINUX_2_0_ERA.fin),
    window_scale: false,
    recovery: LINUX_2_0_ERA.recovery(RecoveryKind::Reno),
    drains_after_timeout: true,
    limited_transmit: false,
    window_law: WindowLawKind::RenoLinux2,
    reduce_from: ReductionBase::CwndWholeSegments,
    timeout_ssthresh_segments: 0,
    each_timeout_cuts: true,
    initial_window: InitialWindow::Segments(1),
    loss_window_segments: 1,
    max_window: MaxWindow::Bytes(32_767),
    receive_buffer_bytes: 32_767,
    ack_policy: AckPolicy::Adaptive {
        first_ns: Time::from_millis(330),
        max_ns: Time::from_millis(500),
        push_ns: Time::from_millis(20),
        holes_wait: true,
        on_ticks: true,
    },
    rto: RtoConfig {
        estimator: Estimator::Linux2_0,
        tick_ns: JIFFY,
        initial_ns: Time::from_secs(3),
        min_ns: Time::from_millis(200),
        max_ns: Time::from_secs(120),
        samples: RttSamples::EachSegment,
        start: TimerStart::FirstSegment,
        ..RFC5681.rto
    },
    ..RFC5681
};

pub(super) const LINUX_2_2: TcpConfig = TcpConfig {
    handshake: Some(LINUX_2_2_ERA.handshake),
    fin: Some(LINUX_2_2_ERA.fin),
    sack: true,
    timestamps: true,
    recovery: LINUX_2_2_ERA.recovery(RecoveryKind::Fack),
    drains_after_timeout: true,
    limited_transmit: false,
    window_law: WindowLawKind::RenoLinux2,
    reduce_from: ReductionBase::CwndWholeSegments,
    initial_window: InitialWindow::Segments(1),
    loss_window_segments: 1,
    receive_buffer_bytes: 32_767,
    restart_after_idle: false,
    ack_policy: AckPolicy::Adaptive {
        first_ns: Time::ZERO,
        max_ns: Time::from_millis(500),
        push_ns: Time::from_millis(500),
        holes_wait: false,
        on_ticks: false,
    },
    rto: RtoConfig {
        estimator: Estimator::Linux2_2,
        tick_ns: JIFFY,
        initial_ns: Time::from_secs(3),
        min_ns: Time::from_millis(200),
        max_ns: Time::from_secs(120),
        start: TimerStart::FirstSegment,
        ..RFC5681.rto
    },
    ..RFC5681
};

/// What neither kernel has, or has as RFC 5681's time did.
const AS_RFC5681: [&str; 2] = ["as rfc5681; the kernel has nothing else"; 2];

/// Where the values of both come from.
pub(super) fn sources(knob: &str) -> [&'static str; 2] {
    SOURCES.iter().find(|(name, ..)| *name == knob).map_or(AS_RFC5681, |&(_, of_2_0, of_2_2)| [of_2_0, of_2_2])
}

const OPTIONS_2_0: &str = "2.0.32: tcp_options (tcp_input.c 456) reads the MSS only";

/// Knob, source in 2.0.32, source in 2.2.5.
pub(super) const SOURCES: &[(&str, &str, &str)] = &[
    ("mss", "2.0.32: MTU less 40, tcp_input.c 787 to 795", "2.2.5: MTU less 40, options counted in it (tcp_output.c 245 to 305)"),
    ("fin.alone", "2.0.32: tcp_send_fin makes a segment of its own, tcp_output.c 835 to 936", "2.2.5: rides on data not yet sent, tcp_output.c 709 to 713"),
    ("sack", OPTIONS_2_0, "2.2.5: sysctl_tcp_sack = 1, tcp_input.c 77"),
    ("dsack", "as rfc5681; 2.0.32: has no SACK", "as rfc5681; 2.2.5: older than RFC 2883, has none, which is not modelled"),
    ("timestamps", OPTIONS_2_0, "2.2.5: sysctl_tcp_timestamps = 1, tcp_input.c 75"),
    ("window_scale", OPTIONS_2_0, "2.2.5: sysctl_tcp_window_scaling = 1, tcp_input.c 76"),
    ("recovery", "2.0.32: tcp_ack, tcp_input.c 1264 to 1320", "2.2.5: tcp_fast_retrans, tcp_input.c 476 to 585; without SACK new-reno. Its three segments beyond ssthresh during FACK are not modelled"),
    ("ecn", "2.0.32: none; the patch of RFC 2884's authors was not found", "2.2.5: none; likewise"),
    ("ecn_to_one_segment", "RFC 3168, 6.1.2: an inference, as neither the patch nor RFC 2481's text was found", "the same inference"),
    ("dup_thresh", "2.0.32: MAX_DUP_ACKS, tcp.h 135", "2.2.5: tcp_input.c 499"),
    ("recovery.reno.dup_ack_window_segments", "2.0.32: tcp_input.c 1279", "2.2.5: no such condition, tcp_input.c 497 to 499"),
    ("recovery.reno.retransmit_guard", "2.0.32: high_seq is set by timeouts alone, tcp_output.c 661; that it begins as 0, so that half of all initial sequence numbers allow no fast retransmit before the first timeout, is not modelled", "2.2.5: tcp_input.c 497 and 503, tcp_timer.c 489"),
    ("recovery.new-reno.extra_segments", "2.0.32: has no NewReno; as its Reno, tcp_input.c 1294", "2.2.5: ssthresh + 3, tcp_input.c 502"),
    ("recovery.reno.extra_segments", "2.0.32: ssthresh + MAX_DUP_ACKS + 1, tcp_input.c 1294", "2.2.5: ssthresh + 3, tcp_input.c 502"),
    ("recovery.new-reno.partial_window_deflation", "2.0.32: no partial ACKs", "2.2.5: \"Don't muck with the congestion window here\", tcp_input.c 561"),
    ("drains_after_timeout", "2.0.32: nothing new while retransmits > 0, tcp_input.c 1496 and tcp_output.c 189", "2.2.5: tcp_snd_test, tcp.h 808"),
    ("limited_transmit", "2.0.32: tcp_input.c 1264 to 1310 has none", "2.2.5: tcp_input.c 496 to 530 has none"),
    ("window_law", "2.0.32: tcp_ack, tcp_input.c 1207 to 1238", "2.2.5: tcp_cong_avoid, tcp_input.c 589 to 604"),
    ("reduce_from", "2.0.32: min(cong_window, window / mss) >> 1, tcp_input.c 1289 and tcp_timer.c 142", "2.2.5: snd_cwnd >> 1, as it compares packets with bytes, tcp_input.c 500"),
    ("timeout_ssthresh_segments", "2.0.32: none, tcp_timer.c 142 to 144", "2.2.5: 2, tcp_timer.c 481"),
    ("each_timeout_cuts", "2.0.32: tcp_retransmit, tcp_timer.c 133 to 150", "2.2.5: only if retransmits is 0, tcp_timer.c 473"),
    ("recovery.reno.outlives_timeout", "2.0.32: rcv_ack_cnt outlives the timeout, tcp_input.c 1312 to 1316", "2.2.5: dup_acks is cleared, tcp_timer.c 488"),
    ("handshake.timeout_cuts", "2.0.32: the timer of a SYN-ACK calls tcp_retransmit, tcp_output.c 1041 and tcp_timer.c 229", "2.2.5: tcp_syn_recv_timer touches no window, tcp_timer.c 503 to 575"),
    ("loss_window_segments", "2.0.32: tcp_retransmit, tcp_timer.c 133 to 150", "2.2.5: tcp_retransmit_timer, tcp_timer.c 473 to 489"),
    ("initial_window", "2.0.32: tcp_input.c 679, af_inet.c 460", "2.2.5: tcp_ipv4.c 1358"),
    ("handshake.ecn_capable", "2.0.32: has no ECN", "2.2.5: has no ECN"),
    ("handshake.ack_opens_window", "2.0.32: ip_xmit_timeout is TIME_WRITE then, tcp_input.c 1207 and tcp_output.c 1041", "2.2.5: SYNs are not data, tcp_input.c 642"),
    ("acks_before_answers", "2.0.32: the first ACK waits for a timer, tcp_delack_estimator, tcp_input.c 55; the answer carries it", "2.2.5: not modelled; its first ACK goes at once, and before the answer"),
    ("restart_after_idle", "2.0.32: tcp_send_skb, tcp_output.c 167; counted from the last arrival there", "2.2.5: tcp_send_skb has none, tcp_output.c 160 to 183"),
    ("initial_ssthresh_segments", "2.0.32: 0x7fffffff, tcp_input.c 681", "2.2.5: 0x7fffffff, tcp_ipv4.c 1364"),
    ("max_window", "2.0.32: MAX_WINDOW, tcp.h 130", "as rfc5681: the receiver limits it"),
    ("receive_buffer_bytes", "2.0.32: half of SK_RMEM_MAX, skbuff.h 119 and tcp_output.c 84", "2.2.5: MAX_WINDOW, tcp.h 990"),
    ("ack_policy", "2.0.32: tcp_delack_estimator, tcp_input.c 55; tcp_queue, 1924 to 1937; tcp_send_delayed_ack, tcp_output.c 1075, whose timer of 0 fires with the next tick. Its second ACK of a hole, an RTO later, is not modelled", "2.2.5: tcp_delack_estimator, tcp_input.c 97; __tcp_ack_snd_check, 1564. PSH shortens the timer of small segments only, which is not modelled"),
    ("nagle", "2.0.32: tcp_sendmsg, tcp.c 1446 to 1458", "2.2.5: tcp_snd_test, tcp.h 796"),
    ("nagle_rule", "2.0.32: tcp_sendmsg, tcp.c 1446 to 1458", "2.2.5: tcp_snd_test, tcp.h 796"),
    ("rto.estimator", "2.0.32: tcp_rtt_estimator, tcp_input.c 111 to 155", "2.2.5: tcp_rtt_estimator and tcp_set_rto, tcp_input.c 154 to 191"),
    ("rto.tick_ns", "2.0.32: HZ = 100", "2.2.5: HZ = 100"),
    ("rto.tick_phase_ns", "0; it depends on when the machine was started", "0; it depends on when the machine was started"),
    ("rto.initial_ns", "2.0.32: TCP_TIMEOUT_INIT 3 s, tcp.h 164", "2.2.5: TCP_TIMEOUT_INIT 3 s, tcp.h 286"),
    ("rto.min_ns", "2.0.32: HZ/5, tcp_input.c 151", "2.2.5: HZ/5, tcp_input.c 208"),
    ("rto.max_ns", "2.0.32: 120 s, tcp_input.c 149", "2.2.5: 120 s, tcp_input.c 206"),
    ("handshake.timed", "2.0.32: reset on establishment, tcp_input.c 1668 to 1675", "2.2.5: tcp_ipv4.c 1342 to 1359; no sample from the ACK of the SYN-ACK, tcp_input.c 725"),
    ("rto.samples", "2.0.32: tcp_ack, tcp_input.c 1421 to 1489", "2.2.5: one an ACK, by its timestamp, tcp_input.c 712"),
    ("rto.start", "2.0.32: send_head->when + rto, tcp_timer.c 43 to 61", "2.2.5: tcp_ack_packets_out, tcp_input.c 749"),
    ("fin.time_wait_ns", "2.0.32: TCP_TIMEWAIT_LEN 60 s, tcp.h 156", "2.2.5: TCP_TIMEWAIT_LEN 60 s, tcp.h 277"),
];
