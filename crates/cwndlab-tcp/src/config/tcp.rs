//! The knobs of an endpoint, and the values derived from them.

use cwndlab_units::Time;

use super::check::{CheckRanges as _, LARGEST_WINDOW, MOST_SEGMENTS};
use super::knobs::{knobs, AS_RFC5681, NS2, NS2_NONE};
use super::{
    AckPolicy, AdaptiveAcks, CubicConfig, FinConfig, HandshakeConfig, InitialWindow, MaxWindow, NagleRule, Profile,
    ReceiveTuning, RecoveryConfig, RecoveryKind, ReductionBase, RtoConfig, SendTuning, SlowStartKind, TrainKind,
    WindowLawKind,
};
use crate::ecn::EcnKind;
use crate::segment::TIMESTAMPS_BYTES;

const OPTIONS_2_0: &str = "2.0.32: tcp_options (tcp_input.c 456) reads the MSS only";

knobs! {
/// Every knob of an endpoint. Shared by all connections of a traffic group; never copied into one.
pub struct TcpConfig("") {
    /// Payload of a full segment without options, and the value of the MSS option. Timestamps, if agreed on, take 12
    /// bytes of it.
    mss: u32 ["bytes"; 1..=65_535, "in 1..=65535 bytes"] {
        ns2_1998: 1000 => "ns-2 ns-default.tcl: packetSize_ 1000, the size on the wire",
        rfc5681: 1460 => "RFC 9293, 3.7.1: MTU 1500 less 40",
        linux_2_0: 1460 => "2.0.32: MTU less 40, tcp_input.c 787 to 795",
        linux_2_2: 1460 => "2.2.5: MTU less 40, options counted in it (tcp_output.c 245 to 305)",
        linux_6: 1460 => "MTU 1500 less 40; RFC 6691",
    }
    /// Bytes of the IP and TCP headers, without options, of a segment with data.
    header_bytes: u32 ["bytes"; 0..=1000, "at most 1000"] {
        ns2_1998: 0 => "ns-2 (1998): useHeaders_ false, headers are not counted",
        rfc5681: 40 => "RFC 791 and RFC 9293: 20 + 20",
        linux_6: 40 => "RFC 791 and RFC 9293: 20 + 20",
    }
    /// Bytes on the wire, without options, of a segment without data.
    ack_bytes: u32 ["bytes"; 1..=1000, "in 1..=1000"] {
        ns2_1998: 40 => "ns-2 ns-default.tcl: TCPSink packetSize_ 40",
        rfc5681: 40 => "RFC 791 and RFC 9293: 20 + 20",
        linux_6: 40 => "RFC 791 and RFC 9293: 20 + 20",
    }
    /// Whether a connection begins with the three-way handshake; otherwise both ends are established from the start. A
    /// table of its knobs switches it on.
    handshake: Option<HandshakeConfig> ["bool, or a table of its knobs"; own] {
        ns2_1998: None => "ns-2 (1998): syn_ false (default changed in 2001)",
        rfc5681: Some(HandshakeConfig::of(Profile::Rfc5681)) => "RFC 9293, 3.5",
        linux_2_0: Some(HandshakeConfig::of(Profile::Linux2_0)) => AS_RFC5681,
        linux_2_2: Some(HandshakeConfig::of(Profile::Linux2_2)) => AS_RFC5681,
        linux_6: Some(HandshakeConfig::of(Profile::Linux6)) => "RFC 9293, 3.5",
    }
    /// Whether a connection ends with FIN; otherwise it ends once all data is acknowledged. A table of its knobs
    /// switches it on.
    fin: Option<FinConfig> ["bool, or a table of its knobs"; own] {
        ns2_1998: None => NS2_NONE,
        rfc5681: Some(FinConfig::of(Profile::Rfc5681)) => "RFC 9293, 3.6",
        linux_2_0: Some(FinConfig::of(Profile::Linux2_0)) => AS_RFC5681,
        linux_2_2: Some(FinConfig::of(Profile::Linux2_2)) => AS_RFC5681,
        linux_6: Some(FinConfig::of(Profile::Linux6)) => "RFC 9293, 3.6",
    }
    /// SACK option offered (RFC 2018).
    sack: bool ["bool"; any] {
        ns2_1998: false => "ns-2: only the Sack1 agents",
        rfc5681: false => "not in RFC 5681; set it with `recovery`",
        linux_2_0: false => OPTIONS_2_0,
        linux_2_2: true => "2.2.5: sysctl_tcp_sack = 1, tcp_input.c 77",
        linux_6: true => "tcp_sack = 1",
    }
    /// Maximum number of SACK blocks in an ACK. The options have room for four, or for three with timestamps.
    sack_blocks: u8 ["count"; 1..=4, "in 1..=4"] {
        ns2_1998: 3 => "ns-2 ns-default.tcl: maxSackBlocks_ 3",
        rfc5681: 4 => "RFC 2018, 3: as many as fit",
        linux_6: 4 => "kernel: TCP_NUM_SACKS 4",
    }
    /// Whether the first SACK block reports data that arrived twice (RFC 2883).
    dsack: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: true => "RFC 2883",
        linux_2_0: true => "as rfc5681; 2.0.32: has no SACK",
        linux_2_2: true => "as rfc5681; 2.2.5: older than RFC 2883, has none, which is not modelled",
        linux_6: true => "tcp_dsack = 1",
    }
    /// Timestamps option offered (RFC 7323).
    timestamps: bool ["bool"; any] {
        ns2_1998: false => "ns-2 ns-default.tcl: timestamps_ false",
        rfc5681: false => "RFC 7323 is an option",
        linux_2_0: false => OPTIONS_2_0,
        linux_2_2: true => "2.2.5: sysctl_tcp_timestamps = 1, tcp_input.c 75",
        linux_6: true => "tcp_timestamps = 1",
    }
    /// Whether each data packet carries a timestamp that costs no bytes and that its ACK echoes. FACK with `rules`
    /// `ns2-1998` measures round trips by it.
    packet_stamps: bool ["bool"; any] {
        ns2_1998: true => NS2,
        rfc5681: false => "RFC 7323: only as an option",
        linux_6: false => "kernel: only as an option",
    }
    /// Window scale option offered (RFC 7323).
    window_scale: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: true => "RFC 7323, so that 64 KiB do not limit a study",
        linux_2_0: false => OPTIONS_2_0,
        linux_2_2: true => "2.2.5: sysctl_tcp_window_scaling = 1, tcp_input.c 76",
        linux_6: true => "tcp_window_scaling = 1",
    }
    /// Loss recovery: a word, or a table of one kind with its knobs. On connections without SACK, `sack`, `fack`, `prr`
    /// and `rack` are replaced by `new-reno` with the knobs in `without_sack`.
    recovery: RecoveryConfig [RecoveryConfig::WORDS; own] {
        ns2_1998: RecoveryConfig::Tahoe => "ns-2: Agent/TCP is Tahoe",
        rfc5681: Profile::Rfc5681.recovery(RecoveryKind::NewReno) => "RFC 6582",
        linux_2_0: Profile::Linux2_0.recovery(RecoveryKind::Reno) => "2.0.32: tcp_ack, tcp_input.c 1264 to 1320",
        linux_2_2: Profile::Linux2_2.recovery(RecoveryKind::Fack) => "2.2.5: tcp_fast_retrans, tcp_input.c 476 to 585; without SACK new-reno. Its three segments beyond ssthresh during FACK are not modelled",
        linux_6: Profile::Linux6.recovery(RecoveryKind::Rack) => "kernel since 4.18: RACK-TLP (RFC 8985), with PRR (RFC 6937) for the window; docs/models/rack.md",
    }
    /// Explicit congestion notification: none, only if the peer asks, RFC 2481, RFC 3168 with ECT(0) or with ECT(1),
    /// RFC 8257 with ECT(0) or with ECT(1), AccECN (RFC 9768) with ECT(0), with ECT(1), or with ECT(0) and without
    /// its option.
    ecn: EcnKind ["off | accept | rfc2481 | rfc3168 | rfc3168-ect1 | dctcp | l4s | accecn | accecn-ect1 | accecn-flags"; any] {
        ns2_1998: EcnKind::Off => "ns-2 ns-default.tcl: ecn_ 0",
        rfc5681: EcnKind::Off => "RFC 3168 is an option",
        linux_2_0: EcnKind::Off => "2.0.32: none; the patch of RFC 2884's authors was not found",
        linux_2_2: EcnKind::Off => "2.2.5: none; likewise",
        linux_6: EcnKind::Accept => "tcp_ecn = 2: accepts it and does not ask for it",
    }
    /// Whether an ECN echo may reduce cwnd to one segment; a further echo then stops sending until the retransmission
    /// timer expires. Otherwise cwnd stays at two segments or more.
    ecn_to_one_segment: bool ["bool"; any] {
        ns2_1998: true => "ns-2: ecn_backoff_ and rtx timer at one segment",
        rfc5681: true => "RFC 3168, 6.1.2",
        linux_2_0: false => "2.0.32: no ECN; its fast retransmit, by RFC 2884 the response to an echo, leaves two, tcp_input.c 1289",
        linux_2_2: false => "2.2.5: likewise, tcp_input.c 500; 2.4.0-test7, the first with ECN, too (tcp_enter_cwr, tcp.h 1071)",
        linux_6: false => "kernel: tcp_reno_ssthresh, bictcp_recalc_ssthresh: at least two",
    }
    /// Whether an ACK with an ECN echo does not open the window even in slow start. Above ssthresh it never opens it.
    ecn_holds_slow_start: bool ["bool"; any] {
        ns2_1998: true => "ns-2: TcpAgent::recv_newack_helper; its retransmissions carry CWR, which ends the echo",
        rfc5681: false => "RFC 3168, 6.1.2: SHOULD NOT, but a go-back would fill one hole a round trip; docs/models/ecn.md",
        linux_6: false => "kernel: tcp_may_raise_cwnd",
    }
    /// Number of duplicate ACKs that trigger a fast retransmit.
    dup_thresh: u32 ["segments"; 1..=MOST_SEGMENTS, "in 1..=2^20"] {
        ns2_1998: 3 => "ns-2 ns-default.tcl: numdupacks_ 3",
        rfc5681: 3 => "RFC 5681, 3.2",
        linux_2_0: 3 => "2.0.32: MAX_DUP_ACKS, tcp.h 135",
        linux_2_2: 3 => "2.2.5: tcp_input.c 499",
        linux_6: 3 => "tcp_reordering = 3; its adaptation is not modelled",
    }
    /// Whether new data waits after a timeout until everything that was outstanding at the timeout is acknowledged.
    drains_after_timeout: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5681 makes no such rule",
        linux_2_0: true => "2.0.32: nothing new while retransmits > 0, tcp_input.c 1496 and tcp_output.c 189",
        linux_2_2: true => "2.2.5: tcp_snd_test, tcp.h 808",
        linux_6: false => "kernel: none",
    }
    /// Whether the first two duplicate ACKs each release a new segment (RFC 3042).
    limited_transmit: bool ["bool"; any] {
        ns2_1998: false => "ns-2 (1998): singledup_ 0 (default changed in 2001)",
        rfc5681: true => "RFC 5681, 3.2: SHOULD",
        linux_2_0: false => "2.0.32: tcp_input.c 1264 to 1310 has none",
        linux_2_2: false => "2.2.5: tcp_input.c 496 to 530 has none",
        linux_6: true => "kernel: always",
    }
    /// How the window grows and shrinks: a word, or a table of one law with its knobs.
    window_law: WindowLawKind [WindowLawKind::WORDS; own] {
        ns2_1998: WindowLawKind::RenoPackets => "ns-2 ns-default.tcl: windowOption_ 1, in packets",
        rfc5681: WindowLawKind::Reno => "RFC 5681, 3.1",
        linux_2_0: WindowLawKind::RenoLinux2 => "2.0.32: tcp_ack, tcp_input.c 1207 to 1238",
        linux_2_2: WindowLawKind::RenoLinux2 => "2.2.5: tcp_cong_avoid, tcp_input.c 589 to 604",
        linux_6: WindowLawKind::CubicLinux(CubicConfig::of(Profile::Linux6)) => "tcp_congestion_control = cubic, as the kernel computes it; RFC 9438's is cubic",
    }
    /// How slow start ends.
    slow_start: SlowStartKind ["standard | hystart | hystart-plus-plus | search"; any] {
        ns2_1998: SlowStartKind::Standard => NS2,
        rfc5681: SlowStartKind::Standard => "RFC 5681, 3.1",
        linux_6: SlowStartKind::Hystart => "kernel: hystart = 1 in tcp_cubic.c, delay and ACK train; the standard's is hystart-plus-plus (RFC 9406)",
    }
    /// Maximum number of segments by which one ACK opens the window in slow start (L of RFC 3465); 0: no limit.
    slow_start_limit_segments: u16 ["segments"; any] {
        ns2_1998: 1 => NS2,
        rfc5681: 1 => "RFC 5681, 3.1: min(N, SMSS)",
        linux_6: 0 => "kernel: tcp_slow_start counts all that is acknowledged",
    }
    /// Whether cwnd grows only if it limited the sender.
    grow_only_if_cwnd_limited: bool ["bool"; any] {
        ns2_1998: false => "ns-2 ns-default.tcl: control_increase_ 0",
        rfc5681: false => "RFC 5681 makes no such condition (RFC 7661 does)",
        linux_6: true => "kernel: tcp_is_cwnd_limited; RFC 9438, 5.8",
    }
    /// By how much the timer of ACKs that `ack_policy` `linux` withholds is late. A kernel with other timers to serve
    /// may be less late.
    withheld_ack_slack_ns: Time ["time"; time] {
        ns2_1998: Time::ZERO => "unused",
        rfc5681: Time::ZERO => "unused",
        linux_6: Time::from_micros(100) => "tcp_comp_sack_slack_ns = 100000",
    }
    /// Whether the endpoint follows Linux in the details of `docs/evidence/kernel.md` that belong to no other knob: each
    /// changes few packets, and in some scenarios all that follow.
    linux_details: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "no RFC asks for them",
        linux_6: true => "kernel: the functions that docs/evidence/kernel.md names",
    }
    /// The amount from which ssthresh is computed when congestion is detected.
    reduce_from: ReductionBase ["flight-size | cwnd | cwnd-whole-segments"; any] {
        ns2_1998: ReductionBase::CwndWholeSegments => "ns-2 (1998): slowdown() halves min(cwnd, window_) in whole packets (precisionReduce_, default changed on 2006-01-24)",
        rfc5681: ReductionBase::FlightSize => "RFC 5681, 3.1, equation 4: FlightSize",
        linux_2_0: ReductionBase::CwndWholeSegments => "2.0.32: min(cong_window, window / mss) >> 1, tcp_input.c 1289 and tcp_timer.c 142",
        linux_2_2: ReductionBase::CwndWholeSegments => "2.2.5: snd_cwnd >> 1, as it compares packets with bytes, tcp_input.c 500",
        linux_6: ReductionBase::CwndWholeSegments => "kernel: tcp_reno_ssthresh and cubictcp_recalc_ssthresh take snd_cwnd, in whole segments",
    }
    /// Minimum of ssthresh after a timeout.
    timeout_ssthresh_segments: u16 ["segments"; any] {
        ns2_1998: 2 => "unused: its law has its own",
        rfc5681: 2 => "RFC 5681, 3.1, equation 4: 2",
        linux_2_0: 0 => "2.0.32: none, tcp_timer.c 142 to 144",
        linux_2_2: 2 => "2.2.5: 2, tcp_timer.c 481",
        linux_6: 2 => "kernel: tcp_reno_ssthresh: 2",
    }
    /// Whether a repeated timeout of the same data reduces ssthresh again. With `reno-packets` it always does.
    each_timeout_cuts: bool ["bool"; any] {
        ns2_1998: false => "unused: its law always does",
        rfc5681: false => "RFC 5681, 3.1: held",
        linux_2_0: true => "2.0.32: tcp_retransmit, tcp_timer.c 133 to 150",
        linux_2_2: false => "2.2.5: only if retransmits is 0, tcp_timer.c 473",
        linux_6: false => "kernel: tcp_enter_loss: held",
    }
    /// Congestion window at the start of a connection.
    initial_window: InitialWindow ["segments = k | rfc3390 | rfc6928"; own, "in 1..=65535 segments"] {
        ns2_1998: InitialWindow::Segments(1) => "ns-2 (1998): windowInit_ 1 (default changed in 2001)",
        rfc5681: InitialWindow::Rfc3390 => "RFC 5681, 3.1 by RFC 3390",
        linux_2_0: InitialWindow::Segments(1) => "2.0.32: tcp_input.c 679, af_inet.c 460",
        linux_2_2: InitialWindow::Segments(1) => "2.2.5: tcp_ipv4.c 1358",
        linux_6: InitialWindow::Segments(10) => "kernel: TCP_INIT_CWND 10; RFC 6928",
    }
    /// Window after a timeout, and after a fast retransmit with Tahoe and ns-2's FACK (LW of RFC 5681). Laws that model
    /// the path, and external laws, set their own.
    loss_window_segments: u16 ["segments"; 1..=u16::MAX, "at least 1"] {
        ns2_1998: 1 => "as RFC 2416's authors modified ns-1.2a2: 1; its tcp.cc took the initial window in all cases (RFC 2416, Scenario and experimental setup)",
        rfc5681: 1 => "RFC 5681, 3.1: LW, 1",
        linux_2_0: 1 => "2.0.32: tcp_retransmit, tcp_timer.c 133 to 150",
        linux_2_2: 1 => "2.2.5: tcp_retransmit_timer, tcp_timer.c 473 to 489",
        linux_6: 1 => "kernel: tcp_enter_loss: tcp_packets_in_flight(tp) + 1, which is 1 once all is marked lost",
    }
    /// Whether the window restarts at min(IW, cwnd) after an idle time of one RTO (RFC 5681, 4.1).
    restart_after_idle: bool ["bool"; any] {
        ns2_1998: false => "ns-2: slow_start_restart_ acts only with QOption_",
        rfc5681: true => "RFC 5681, 4.1: SHOULD",
        linux_2_0: true => "2.0.32: tcp_send_skb, tcp_output.c 167; counted from the last arrival there",
        linux_2_2: false => "2.2.5: tcp_send_skb has none, tcp_output.c 160 to 183",
        linux_6: true => "tcp_slow_start_after_idle = 1: halved per RTO (RFC 2861)",
    }
    /// Initial slow-start threshold; 0 = none.
    initial_ssthresh_segments: u32 ["segments"; 0..=MOST_SEGMENTS, "at most 2^20"] {
        ns2_1998: 0 => "ns-2 begins at window_, which has the same effect, as its losses halve min(cwnd, window_)",
        rfc5681: 0 => "RFC 5681, 3.1: arbitrarily high",
        linux_2_0: 0 => "2.0.32: 0x7fffffff, tcp_input.c 681",
        linux_2_2: 0 => "2.2.5: 0x7fffffff, tcp_ipv4.c 1364",
        linux_6: 0 => "kernel: TCP_INFINITE_SSTHRESH",
    }
    /// Maximum window, whatever the receiver advertises.
    max_window: MaxWindow ["segments = k | bytes = n"; crossed, "at least 1 segment and at most 2^30 bytes"] {
        ns2_1998: MaxWindow::Segments(20) => "ns-2 ns-default.tcl: window_ 20",
        rfc5681: MaxWindow::Bytes(1 << 30) => "RFC 7323, 2.3: 2^30",
        linux_2_0: MaxWindow::Bytes(32_767) => "2.0.32: MAX_WINDOW, tcp.h 130",
        linux_2_2: MaxWindow::Bytes(1 << 30) => "as rfc5681: the receiver limits it",
        linux_6: MaxWindow::Bytes(1 << 30) => "RFC 7323, 2.3: 2^30",
    }
    /// Size of the receive buffer, which the receiver advertises.
    receive_buffer_bytes: u64 ["bytes"; 1..=LARGEST_WINDOW, "in 1..=2^30"] {
        ns2_1998: 1 << 30 => NS2_NONE,
        rfc5681: 4 << 20 => "own choice: large enough for 1 Gb/s at 30 ms",
        linux_2_0: 32_767 => "2.0.32: half of SK_RMEM_MAX, skbuff.h 119 and tcp_output.c 84",
        linux_2_2: 32_767 => "2.2.5: MAX_WINDOW, tcp.h 990",
        linux_6: 1 << 30 => "no limit but that of receive_tuning",
    }
    /// Whether the receive buffer has its full size from the beginning, or grows as the application reads. It cannot
    /// grow with `adaptive` acknowledgments.
    receive_tuning: ReceiveTuning ["none | linux"; own] {
        ns2_1998: ReceiveTuning::None => NS2_NONE,
        rfc5681: ReceiveTuning::None => "the standards have none",
        linux_6: ReceiveTuning::Linux { initial_bytes: 131_072, most_bytes: 6 << 20 } => "kernel: tcp_rmem = 4096 131072 6291456, tcp_moderate_rcvbuf = 1 (tcp_rcv_space_adjust)",
    }
    /// Whether the send buffer has room for all that the application writes, or grows with the congestion window.
    send_tuning: SendTuning ["none | linux"; own] {
        ns2_1998: SendTuning::None => NS2_NONE,
        rfc5681: SendTuning::None => "the standards have none",
        linux_6: SendTuning::None => "own choice: the kernel's (tcp_wmem = 4096 16384 4194304) limits only windows of 2 MB and more, and costs a fifth of the speed; comparisons with a kernel turn it on",
    }
    /// When the receiver acknowledges.
    ack_policy: AckPolicy ["every | delayed | heartbeat | quick-then-heartbeat | quick-then-delayed | adaptive | linux"; own] {
        ns2_1998: AckPolicy::Every => "ns-2: Agent/TCPSink acknowledges every packet",
        rfc5681: AckPolicy::Delayed { timeout_ns: Time::from_millis(200) } => "RFC 5681, 4.2 and RFC 1122, 4.2.3.2: second segment; 200 ms as in BSD, at most 500 ms",
        linux_2_0: AckPolicy::Adaptive(AdaptiveAcks { first_ns: Time::from_millis(330), max_ns: Time::from_millis(500), push_ns: Time::from_millis(20), holes_wait: true, on_ticks: true }) => "2.0.32: tcp_delack_estimator, tcp_input.c 55; tcp_queue, 1924 to 1937; tcp_send_delayed_ack, tcp_output.c 1075, whose timer of 0 fires with the next tick. Its second ACK of a hole, an RTO later, is not modelled",
        linux_2_2: AckPolicy::Adaptive(AdaptiveAcks { first_ns: Time::ZERO, max_ns: Time::from_millis(500), push_ns: Time::from_millis(500), holes_wait: false, on_ticks: false }) => "2.2.5: tcp_delack_estimator, tcp_input.c 97; __tcp_ack_snd_check, 1564. PSH shortens the timer of small segments only, which is not modelled",
        linux_6: AckPolicy::Linux => "kernel: tcp_event_data_recv, __tcp_ack_snd_check, tcp_send_delayed_ack, tcp_cleanup_rbuf",
    }
    /// Whether an ACK that is due at once is sent before the application can respond to the data; if not, the response
    /// carries it.
    acks_before_answers: bool ["bool"; any] {
        ns2_1998: false => NS2,
        rfc5681: false => "RFC 1122, 4.2.3.2: a delayed ACK can ride on a response",
        linux_2_0: false => "2.0.32: the first ACK waits for a timer, tcp_delack_estimator, tcp_input.c 55; the answer carries it",
        linux_2_2: false => "2.2.5: not modelled; its first ACK goes at once, and before the answer",
        linux_6: true => "kernel: tcp_rcv_established sends it before the application runs",
    }
    /// Nagle's algorithm (RFC 1122, 4.2.3.4).
    nagle: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: true => "RFC 1122, 4.2.3.4: SHOULD",
        linux_2_0: true => "2.0.32: tcp_sendmsg, tcp.c 1446 to 1458",
        linux_2_2: true => "2.2.5: tcp_snd_test, tcp.h 796",
        linux_6: true => "on unless TCP_NODELAY",
    }
    /// The ACK that a small segment waits for: the ACK of all data sent before it, or the ACK of the last small
    /// segment.
    nagle_rule: NagleRule ["rfc1122|minshall"; any] {
        ns2_1998: NagleRule::Rfc1122 => NS2_NONE,
        rfc5681: NagleRule::Rfc1122 => "RFC 1122, 4.2.3.4",
        linux_2_0: NagleRule::Rfc1122 => "2.0.32: tcp_sendmsg, tcp.c 1446 to 1458",
        linux_2_2: NagleRule::Rfc1122 => "2.2.5: tcp_snd_test, tcp.h 796",
        linux_6: NagleRule::Minshall => "kernel: tcp_minshall_check",
    }
    /// Whether data is paced: per round trip, 200 % of cwnd while it is below half of ssthresh, otherwise 120 %. The
    /// first ten segments are not paced.
    pacing: bool ["bool"; any] {
        ns2_1998: false => NS2_NONE,
        rfc5681: false => "RFC 5681 makes no such rule",
        linux_6: false => "kernel: with fq as the queue or SO_MAX_PACING_RATE; pfifo_fast does not",
    }
    /// Maximum number of segments sent at once if data is paced; 0: determined by the rate.
    max_train_segments: u16 ["segments"; any] {
        ns2_1998: 0 => NS2_NONE,
        rfc5681: 0 => "RFC 5681 makes no such rule",
        linux_6: 0 => "kernel: gso_max_segs of the device; 1 without segmentation offload",
    }
    /// What leaves at once: what the window and the pacer permit, or the trains that Linux hands to a device, each with
    /// PSH on its last segment; a small rest of the window may then wait for the next ACK (`tcp_tso_should_defer`).
    trains: TrainKind ["paced|linux"; any] {
        ns2_1998: TrainKind::Paced => NS2_NONE,
        rfc5681: TrainKind::Paced => "RFC 5681 makes no such rule",
        linux_6: TrainKind::Paced => "kernel: linux where the device has segmentation offload; paced with gso_max_segs 1",
    }
}
inner {
    /// Retransmission timeout.
    rto: RtoConfig,
}
}

impl TcpConfig {
    /// Whether windows are counted in whole segments, as in Linux; after idle times, they then also shrink as there.
    pub(crate) fn counts_whole_segments(&self) -> bool {
        self.reduce_from == ReductionBase::CwndWholeSegments
    }

    /// Whether data is paced: because of [`TcpConfig::pacing`], or because the window law sets a rate.
    pub fn paces(&self) -> bool {
        self.pacing || self.window_law.needs().paces
    }

    /// The handshake's knobs, or the standards' if connections have no handshake.
    pub(crate) fn shaking(&self) -> HandshakeConfig {
        self.handshake.unwrap_or(HandshakeConfig::STANDARD)
    }

    /// Whether FIN is sent in a segment of its own.
    pub(crate) fn sends_fin_alone(&self) -> bool {
        self.fin.is_some_and(|fin| fin.alone)
    }

    /// How the receive buffer is sized. With `adaptive` acknowledgments it is not tuned, as in the kernels that used
    /// them.
    pub(crate) fn tuning(&self) -> ReceiveTuning {
        match self.ack_policy {
            AckPolicy::Adaptive { .. } => ReceiveTuning::None,
            _ => self.receive_tuning,
        }
    }

    /// Payload bytes of a full segment to this peer: the smaller MSS of the two ends, less the bytes of the timestamps
    /// option if both offer it (RFC 6691; RFC 7323, appendix A).
    pub fn full_segment_bytes(&self, peer: &TcpConfig) -> u32 {
        let options = if self.timestamps && peer.timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.mss.min(peer.mss).saturating_sub(options).max(1)
    }
}
