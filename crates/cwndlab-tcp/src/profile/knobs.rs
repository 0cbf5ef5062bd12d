//! The table of knobs: what each is, and where each profile's value comes from. The values themselves are in one place,
//! [`Profile::config`]; the table reads them from there.

use super::linux_2;
use crate::config::Profile;

/// One knob of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its path in study files: `rto.min_ns`, `handshake.timed`, `recovery.rack.f_rto`.
    pub name: &'static str,
    /// What a value looks like.
    pub kind: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Where the values of `ns2-1998`, `rfc5681` and `linux-6` come from; for all profiles see [`Knob::source`].
    sources: [&'static str; 3],
}

impl Knob {
    /// Where the value of `profile` comes from.
    pub fn source(&self, profile: Profile) -> &'static str {
        let [ns2, rfc5681, linux_6] = self.sources;
        let [linux_2_0, linux_2_2] = linux_2::sources(self.name);
        match profile {
            Profile::Ns2_1998 => ns2,
            Profile::Rfc5681 => rfc5681,
            Profile::Linux2_0 => linux_2_0,
            Profile::Linux2_2 => linux_2_2,
            Profile::Linux6 => linux_6,
        }
    }
}

const NS2: &str = "ns-2 (1998): the one-way agents";
const NS2_NONE: &str = "ns-2 (1998): the one-way agents have none";

const RULES: [&str; 3] = [NS2, "the standard's", "the standard's; unused by its recovery"];

const RFC6817: &str = "RFC 6817, 2.5";
const LEDBAT: &str = "draft-irtf-iccrg-ledbat-plus-plus-01, 4.5";

const fn knob(name: &'static str, kind: &'static str, doc: &'static str, sources: [&'static str; 3]) -> Knob {
    Knob { name, kind, doc, sources }
}

/// Every knob, in the order of [`crate::TcpConfig`]. The knobs of an alternative follow it, with its word in their names.
pub const KNOBS: [Knob; 76] = [
    knob(
        "mss",
        "bytes",
        "Payload of a full segment without options, and the MSS option offered. Agreed timestamps take 12 bytes of it.",
        [
            "ns-2 ns-default.tcl: packetSize_ 1000, the size on the wire",
            "RFC 9293, 3.7.1: MTU 1500 less 40",
            "MTU 1500 less 40; RFC 6691",
        ],
    ),
    knob(
        "header_bytes",
        "bytes",
        "IP and TCP headers of a segment with data, without options.",
        ["ns-2 (1998): useHeaders_ false, headers are not counted", "RFC 791 and RFC 9293: 20 + 20", "RFC 791 and RFC 9293: 20 + 20"],
    ),
    knob(
        "ack_bytes",
        "bytes",
        "Wire bytes of a segment without data, without options.",
        ["ns-2 ns-default.tcl: TCPSink packetSize_ 40", "RFC 791 and RFC 9293: 20 + 20", "RFC 791 and RFC 9293: 20 + 20"],
    ),
    knob(
        "handshake",
        "bool, or a table of its knobs",
        "Whether a connection begins with the three-way handshake; else both ends start established. A table switches it on.",
        ["ns-2 (1998): syn_ false (default changed in 2001)", "RFC 9293, 3.5", "RFC 9293, 3.5"],
    ),
    knob(
        "handshake.timed",
        "bool",
        "Whether it is measured; if not the timeout stays the initial one until the first data is acknowledged.",
        [NS2_NONE, "RFC 6298, 2.2: the first measurement is that of the SYN", "kernel: tcp_synack_rtt_meas"],
    ),
    knob(
        "handshake.ack_opens_window",
        "bool",
        "Whether the ACK of the SYN-ACK opens the window.",
        [NS2_NONE, "RFC 5681, 3.1: MUST NOT", "kernel: does not"],
    ),
    knob(
        "handshake.timeout_cuts",
        "bool",
        "Whether a timeout of a SYN reduces ssthresh like any other.",
        [NS2_NONE, "RFC 5681 makes no such rule", "kernel: does not"],
    ),
    knob(
        "handshake.linear_timeouts",
        "count",
        "Timeouts of a SYN before they begin to double.",
        [NS2_NONE, "RFC 6298, 5.5: doubles from the first", "kernel: tcp_syn_linear_timeouts 4"],
    ),
    knob(
        "handshake.free_retransmissions",
        "count",
        "How many times a SYN or SYN-ACK may be sent again without taking the initial window to one segment.",
        [NS2_NONE, "RFC 5681, 3.1: MUST be one segment if it was lost", "kernel: tcp_init_transfer resets only if total_retrans > 1, as RFC 6298 made the first timeout 1 s"],
    ),
    knob(
        "handshake.ecn_capable",
        "bool",
        "Whether its packets are ECN-capable: the first SYN-ACK with `rfc3168` (RFC 5562: if it is marked, another goes without ECT, and the initial window is one segment); SYN, SYN-ACK and RST with `dctcp` and `l4s` (RFC 8257, 3.6: marks are ignored).",
        [
            NS2_NONE,
            "RFC 3168, 6.1.1: MUST NOT; RFC 5562 is an experiment, RFC 8257 describes DCTCP",
            "kernel: not with rfc3168; for laws that need ECN, such as DCTCP, it is (tcp_ecn_send_syn, tcp_ecn_send_synack), which the profile does not model",
        ],
    ),
    knob(
        "fin",
        "bool, or a table of its knobs",
        "Whether a connection ends with FIN; else when all data is acknowledged. A table switches it on.",
        [NS2_NONE, "RFC 9293, 3.6", "RFC 9293, 3.6"],
    ),
    knob(
        "fin.alone",
        "bool",
        "Whether FIN has a segment of its own, which waits for the window; else it rides on the last data.",
        [NS2_NONE, "RFC 9293, 3.10.4: either", "kernel: tcp_send_fin rides on data not yet sent"],
    ),
    knob(
        "fin.time_wait_ns",
        "time",
        "How long TIME-WAIT lasts.",
        [NS2_NONE, "RFC 9293, 3.4.2: 2 MSL of 2 min", "kernel: TCP_TIMEWAIT_LEN 60 s"],
    ),
    knob(
        "sack",
        "bool",
        "SACK option offered (RFC 2018).",
        ["ns-2: only the Sack1 agents", "not in RFC 5681; set it with `recovery`", "tcp_sack = 1"],
    ),
    knob(
        "sack_blocks",
        "count",
        "Most blocks of an ACK, at most the four that fit into the options, or three next to timestamps.",
        ["ns-2 ns-default.tcl: maxSackBlocks_ 3", "RFC 2018, 3: as many as fit", "kernel: TCP_NUM_SACKS 4"],
    ),
    knob(
        "dsack",
        "bool",
        "Whether the first block reports what arrived twice (RFC 2883).",
        [NS2_NONE, "RFC 2883", "tcp_dsack = 1"],
    ),
    knob(
        "timestamps",
        "bool",
        "Timestamps option offered (RFC 7323).",
        ["ns-2 ns-default.tcl: timestamps_ false", "RFC 7323 is an option", "tcp_timestamps = 1"],
    ),
    knob(
        "packet_stamps",
        "bool",
        "Whether each data packet has a stamp that costs no bytes, and its ACK echoes it; FACK with `rules` `ns2-1998` measures by it.",
        [NS2, "RFC 7323: only as an option", "kernel: only as an option"],
    ),
    knob(
        "window_scale",
        "bool",
        "Window scale option offered (RFC 7323).",
        [NS2_NONE, "RFC 7323, so that 64 KiB do not limit a study", "tcp_window_scaling = 1"],
    ),
    knob(
        "recovery",
        "tahoe | reno | new-reno | sack | fack | prr | rack",
        "Loss recovery: a word, or a table of one kind with its knobs. Without SACK on the connection `sack`, `fack`, `prr` and `rack` are `new-reno`, with the knobs of their `without_sack`.",
        ["ns-2: Agent/TCP is Tahoe", "RFC 6582", "kernel since 4.18: RACK-TLP (RFC 8985), with PRR (RFC 6937) for the window; docs/models/rack.md"],
    ),
    knob(
        "recovery.reno.rules",
        "standard | ns2-1998",
        "Whose rules Reno follows: RFC 5681's, or those of ns-2's agent, with which its other knobs have the standard's values: the first two duplicate ACKs release nothing without `limited_transmit`, and the ACK that ends a recovery opens the window.",
        RULES,
    ),
    knob(
        "recovery.reno.dup_ack_window_segments",
        "segments",
        "Duplicate ACKs count only while cwnd is at least this (0 = always).",
        [NS2_NONE, "RFC 5681 makes no such rule", "kernel: none"],
    ),
    knob(
        "recovery.reno.retransmit_guard",
        "recovery | timeout",
        "What keeps a fast retransmit from answering old losses: data sent before the last fast retransmit or timeout, or before the last timeout only.",
        [NS2, "RFC 6582, 3.2, steps 2 and 4", "unused by its recovery"],
    ),
    knob(
        "recovery.reno.extra_segments",
        "segments",
        "Segments by which fast recovery inflates the window beyond the duplicate ACKs seen.",
        [NS2_NONE, "RFC 5681, 3.2, step 3: none", "unused by its recovery"],
    ),
    knob(
        "recovery.reno.outlives_timeout",
        "bool",
        "Whether a timeout in fast recovery reduces from the inflated window, and the next ACK of new data opens cwnd to ssthresh.",
        [NS2_NONE, "RFC 5681, 3.1: slow start", "kernel: slow start"],
    ),
    knob(
        "recovery.new-reno.rules",
        "standard | ns2-1998",
        "Whose rules NewReno follows, also in the `without_sack` of the selective kinds: RFC 6582's, or those of ns-2's agent: as Reno, and each ACK of an episode releases two segments at most.",
        RULES,
    ),
    knob(
        "recovery.new-reno.impatient",
        "bool",
        "Whether only the first partial ACK restarts the timer, or each one, also in the `without_sack` of the selective kinds.",
        ["ns-2 (1998): each (newreno_changes1_, default changed on 2004-10-14)", "RFC 6582, 4: recommended", "unused by its recovery; RFC 6582"],
    ),
    knob(
        "recovery.new-reno.partial_window_deflation",
        "bool",
        "Whether a partial ACK deflates the window, also in the `without_sack` of the selective kinds. Otherwise it leaves it alone, or with `rules` `ns2-1998` ends the inflation.",
        ["ns-2 (1998): partial_window_deflation_ 0 (default changed on 2003-05-05)", "RFC 6582, 3.2, step 3", "unused by its recovery"],
    ),
    knob(
        "recovery.new-reno.extra_segments",
        "segments",
        "Segments by which fast recovery inflates the window beyond the duplicate ACKs seen, also in the `without_sack` of the selective kinds.",
        [NS2_NONE, "RFC 6582, 3.2, step 2: none", "unused by its recovery"],
    ),
    knob(
        "recovery.sack.rules",
        "standard | ns2-1998",
        "Whose rules SACK follows: RFC 6675's, or those of ns-2's Sack1, which counts the segments in the pipe.",
        RULES,
    ),
    knob(
        "recovery.fack.rules",
        "standard | ns2-1998",
        "Whose rules FACK follows: those of the paper of 1996, or those of ns-2's Fack, which restarts from one segment and takes a round trip from every ACK.",
        RULES,
    ),
    knob(
        "recovery.rack.timers",
        "rfc8985 | linux",
        "Which timers run: the earliest of timeout, probe and reordering timer, or, as in Linux, only the one set last; then in place of a probe or of the reordering timer the timeout counts from when the first unacknowledged segment was sent.",
        [NS2_NONE, "RFC 8985, 8; RFC 6298, 5.3: from the last ACK of new data", "kernel: tcp_rto_delta_us"],
    ),
    knob(
        "recovery.rack.f_rto",
        "bool",
        "Whether new data after a timeout shows if it was spurious (RFC 5682).",
        [NS2_NONE, "RFC 5682 is an option", "tcp_frto = 2"],
    ),
    knob(
        "recovery.rack.window_validation",
        "bool",
        "Whether the window falls half the way to what was used of it after a timeout in which it was never full; with `grow_only_if_cwnd_limited`.",
        [NS2_NONE, "RFC 5681 makes no such rule", "kernel: tcp_cwnd_application_limited (RFC 2861, 3.2)"],
    ),
    knob(
        "ecn",
        "off | accept | rfc2481 | rfc3168 | rfc3168-ect1 | dctcp | l4s | accecn | accecn-ect1 | accecn-flags",
        "Explicit congestion notification: none, only if the peer asks, RFC 2481, RFC 3168 with ECT(0) or with ECT(1), RFC 8257 with ECT(0) or with ECT(1), AccECN (RFC 9768) with ECT(0), with ECT(1), or with ECT(0) and without its option.",
        ["ns-2 ns-default.tcl: ecn_ 0", "RFC 3168 is an option", "tcp_ecn = 2: accepts it and does not ask for it"],
    ),
    knob(
        "ecn_to_one_segment",
        "bool",
        "Whether an echo may take cwnd to one segment, and at one closes it until the retransmit timer expires; otherwise the minimum is two segments.",
        ["ns-2: ecn_backoff_ and rtx timer at one segment", "RFC 3168, 6.1.2", "kernel: tcp_reno_ssthresh, bictcp_recalc_ssthresh: at least two"],
    ),
    knob(
        "ecn_holds_slow_start",
        "bool",
        "Whether an ACK with an echo does not open the window in slow start either; above ssthresh it never does.",
        [
            "ns-2: TcpAgent::recv_newack_helper; its retransmissions carry CWR, which ends the echo",
            "RFC 3168, 6.1.2: SHOULD NOT, but a go-back would fill one hole a round trip; docs/models/ecn.md",
            "kernel: tcp_may_raise_cwnd",
        ],
    ),
    knob(
        "dup_thresh",
        "segments",
        "Duplicate ACKs before fast retransmit.",
        ["ns-2 ns-default.tcl: numdupacks_ 3", "RFC 5681, 3.2", "tcp_reordering = 3; its adaptation is not modelled"],
    ),
    knob(
        "drains_after_timeout",
        "bool",
        "Whether nothing new is sent after a timeout until everything that was outstanding is acknowledged.",
        [NS2_NONE, "RFC 5681 makes no such rule", "kernel: none"],
    ),
    knob(
        "limited_transmit",
        "bool",
        "New segments on the first two duplicate ACKs (RFC 3042).",
        ["ns-2 (1998): singledup_ 0 (default changed in 2001)", "RFC 5681, 3.2: SHOULD", "kernel: always"],
    ),
    knob(
        "window_law",
        "reno | reno-packets | reno-linux2 | cubic | cubic-linux | dctcp | bbr1 | bbr3 | prague | ledbat-plus-plus | ledbat",
        "How the window grows and shrinks: a word, or a table of one law with its knobs.",
        ["ns-2 ns-default.tcl: windowOption_ 1, in packets", "RFC 5681, 3.1", "tcp_congestion_control = cubic, as the kernel computes it; RFC 9438's is cubic"],
    ),
    knob(
        "window_law.cubic.fast_convergence",
        "bool",
        "Whether CUBIC, in both forms, lowers W_max further when windows shrink (RFC 9438, 4.7).",
        ["unused by its window law", "unused by its window law", "kernel: fast_convergence = 1"],
    ),
    knob(
        "window_law.bbr3.rules",
        "draft | google-v3",
        "Whose rules BBR version 3 follows where its sources differ: draft-ietf-ccwg-bbr-06, or google/bbr, branch v3, net/ipv4/tcp_bbr.c (docs/models/bbr.md has each difference).",
        ["draft-ietf-ccwg-bbr-06", "draft-ietf-ccwg-bbr-06", "draft-ietf-ccwg-bbr-06; kernel 6 has version 1 only"],
    ),
    knob(
        "window_law.bbr3.ecn",
        "bool",
        "Whether BBR version 3 responds to marks of a shallow threshold as the branch does (ecn_low); with `ecn` `dctcp`, `l4s` or `accecn`.",
        ["draft-ietf-ccwg-bbr-06, 3.7: none", "draft-ietf-ccwg-bbr-06, 3.7: none", "google/bbr v3: only on routes with the feature ecn_low"],
    ),
    knob(
        "window_law.ledbat-plus-plus.target_ns",
        "time",
        "The queueing delay that LEDBAT++ aims at.",
        [LEDBAT, LEDBAT, LEDBAT],
    ),
    knob(
        "window_law.ledbat.target_ns",
        "time",
        "The queueing delay that LEDBAT aims at (TARGET); the RFC asks for 100 ms or less.",
        [RFC6817, RFC6817, RFC6817],
    ),
    knob(
        "window_law.ledbat.gain_percent",
        "percent",
        "LEDBAT's GAIN: the growth of a window per round trip without a queue, in percent of a segment; the RFC asks for 100 or less.",
        [RFC6817, RFC6817, RFC6817],
    ),
    knob(
        "slow_start",
        "standard | hystart | hystart-plus-plus | search",
        "How slow start ends.",
        [
            NS2,
            "RFC 5681, 3.1",
            "kernel: hystart = 1 in tcp_cubic.c, delay and ACK train; the standard's is hystart-plus-plus (RFC 9406)",
        ],
    ),
    knob(
        "slow_start_limit_segments",
        "segments",
        "Most segments by which one ACK opens the window in slow start (RFC 3465's L); 0 = no limit.",
        [NS2, "RFC 5681, 3.1: min(N, SMSS)", "kernel: tcp_slow_start counts all that is acknowledged"],
    ),
    knob(
        "grow_only_if_cwnd_limited",
        "bool",
        "Whether cwnd grows only if it was what limited the sender.",
        ["ns-2 ns-default.tcl: control_increase_ 0", "RFC 5681 makes no such condition (RFC 7661 does)", "kernel: tcp_is_cwnd_limited; RFC 9438, 5.8"],
    ),
    knob(
        "reduce_from",
        "flight-size | cwnd | cwnd-whole-segments",
        "What ssthresh is a fraction of when congestion is found.",
        [
            "ns-2 (1998): slowdown() halves min(cwnd, window_) in whole packets (precisionReduce_, default changed on 2006-01-24)",
            "RFC 5681, 3.1, equation 4: FlightSize",
            "kernel: tcp_reno_ssthresh and cubictcp_recalc_ssthresh take snd_cwnd, in whole segments",
        ],
    ),
    knob(
        "timeout_ssthresh_segments",
        "segments",
        "Least ssthresh after a timeout.",
        ["unused: its law has its own", "RFC 5681, 3.1, equation 4: 2", "kernel: tcp_reno_ssthresh: 2"],
    ),
    knob(
        "each_timeout_cuts",
        "bool",
        "Whether each timeout of the same data reduces ssthresh again; `reno-packets` always does.",
        ["unused: its law always does", "RFC 5681, 3.1: held", "kernel: tcp_enter_loss: held"],
    ),
    knob(
        "initial_window",
        "segments = k | rfc3390 | rfc6928",
        "Window at connection start only.",
        ["ns-2 (1998): windowInit_ 1 (default changed in 2001)", "RFC 5681, 3.1 by RFC 3390", "kernel: TCP_INIT_CWND 10; RFC 6928"],
    ),
    knob(
        "loss_window_segments",
        "segments",
        "Window after a timeout, and where Tahoe and ns-2's FACK restart (RFC 5681's LW); laws that model the path or come from outside have their own.",
        [
            "as RFC 2416's authors modified ns-1.2a2: 1; its tcp.cc took the initial window in all cases (RFC 2416, Scenario and experimental setup)",
            "RFC 5681, 3.1: LW, 1",
            "kernel: tcp_enter_loss: tcp_packets_in_flight(tp) + 1, which is 1 once all is marked lost",
        ],
    ),
    knob(
        "restart_after_idle",
        "bool",
        "Whether the window restarts at min(IW, cwnd) after an idle time of one RTO (RFC 5681, 4.1).",
        ["ns-2: slow_start_restart_ acts only with QOption_", "RFC 5681, 4.1: SHOULD", "tcp_slow_start_after_idle = 1: halved per RTO (RFC 2861)"],
    ),
    knob(
        "initial_ssthresh_segments",
        "segments",
        "Initial slow-start threshold; 0 = none.",
        ["ns-2 begins at window_, which has the same effect, as its losses halve min(cwnd, window_)", "RFC 5681, 3.1: arbitrarily high", "kernel: TCP_INFINITE_SSTHRESH"],
    ),
    knob(
        "max_window",
        "segments = k | bytes = n",
        "Largest window used, whatever the receiver offers.",
        ["ns-2 ns-default.tcl: window_ 20", "RFC 7323, 2.3: 2^30", "RFC 7323, 2.3: 2^30 (tcp_wmem is not modelled)"],
    ),
    knob(
        "receive_buffer_bytes",
        "bytes",
        "What the receiver offers.",
        [NS2_NONE, "own choice: large enough for 1 Gb/s at 30 ms", "no limit but that of receive_tuning"],
    ),
    knob(
        "receive_tuning",
        "none | linux",
        "Whether the receive buffer has its size from the beginning, or grows as the application reads; not with `adaptive` acknowledgments.",
        [NS2_NONE, "the standards have none", "kernel: tcp_rmem = 4096 131072 6291456, tcp_moderate_rcvbuf = 1 (tcp_rcv_space_adjust)"],
    ),
    knob(
        "ack_policy",
        "every | delayed | heartbeat | quick-then-heartbeat | quick-then-delayed | adaptive | linux",
        "When the receiver acknowledges.",
        [
            "ns-2: Agent/TCPSink acknowledges every packet",
            "RFC 5681, 4.2 and RFC 1122, 4.2.3.2: second segment; 200 ms as in BSD, at most 500 ms",
            "kernel: tcp_event_data_recv, __tcp_ack_snd_check, tcp_send_delayed_ack, tcp_cleanup_rbuf",
        ],
    ),
    knob(
        "acks_before_answers",
        "bool",
        "Whether an ACK that is due at once goes before the application can answer what arrived; if not, the answer carries it.",
        [
            NS2,
            "RFC 1122, 4.2.3.2: a delayed ACK can ride on a response",
            "kernel: tcp_rcv_established sends it before the application runs",
        ],
    ),
    knob(
        "nagle",
        "bool",
        "Nagle's algorithm (RFC 1122, 4.2.3.4).",
        [NS2_NONE, "RFC 1122, 4.2.3.4: SHOULD", "on unless TCP_NODELAY"],
    ),
    knob(
        "nagle_rule",
        "rfc1122|minshall",
        "What a small segment waits for: an ACK of everything, or of the last small segment.",
        [NS2_NONE, "RFC 1122, 4.2.3.4", "kernel: tcp_minshall_check"],
    ),
    knob(
        "pacing",
        "bool",
        "Paces data by 200 % of cwnd a round trip below half of ssthresh, else 120 %; not the first ten segments.",
        [NS2_NONE, "RFC 5681 makes no such rule", "kernel: with fq as the queue or SO_MAX_PACING_RATE; pfifo_fast does not"],
    ),
    knob(
        "max_train_segments",
        "segments",
        "Most segments that leave at once where data is paced; 0 = as many as the rate says.",
        [NS2_NONE, "RFC 5681 makes no such rule", "kernel: gso_max_segs of the device; 1 without segmentation offload"],
    ),
    knob(
        "rto.estimator",
        "rfc6298 | linux-2.0 | linux-2.2 | linux",
        "Who computes the timeout from round trips: RFC 6298 (with a coarse tick the integers of 1988), or a kernel of that era.",
        ["as in BSD (Jacobson 1988)", "RFC 6298, 2", "kernel: tcp_rtt_estimator"],
    ),
    knob(
        "rto.tick_ns",
        "time",
        "Granularity of the clock that measures round trips; 0 measures to the nanosecond.",
        ["ns-2 (1998): tcpTick_ 0.1 (default changed in 2002)", "RFC 6298, 4: finer is better", "kernel: microseconds"],
    ),
    knob(
        "rto.tick_phase_ns",
        "time",
        "How far the clocks of `rto.tick_ns` and `rto.timer_hz` are ahead of the run's.",
        ["ns-2 draws it at random within a tick; 0 here", "unused", "unused"],
    ),
    knob(
        "rto.initial_ns",
        "time",
        "Timeout before the first measurement.",
        ["ns-2 (1998): rtxcur_init_ 6.0 (default changed in 2006)", "RFC 6298, 2.1", "kernel: TCP_TIMEOUT_INIT 1 s"],
    ),
    knob(
        "rto.min_ns",
        "time",
        "Smallest timeout.",
        ["ns-2 (1998): minrto_ 0; two ticks remain the least", "RFC 6298, 2.4", "kernel: TCP_RTO_MIN 200 ms"],
    ),
    knob(
        "rto.max_ns",
        "time",
        "Largest timeout.",
        ["ns-2 (1998): maxrto_ 64 (default changed in 2007)", "RFC 6298, 2.5: at least 60 s", "kernel: TCP_RTO_MAX 120 s"],
    ),
    knob(
        "rto.variance_floor_ns",
        "time",
        "Least variance term: RTO = SRTT + max(this, 4*RTTVAR) (RFC 6298, 2.3: G).",
        ["unused with a coarse tick", "RFC 6298, 2.3: the clock's granularity, here none", "kernel: rttvar is at least tcp_rto_min, so RTO is at least SRTT + 200 ms"],
    ),
    knob(
        "rto.samples",
        "round-trip | each-segment | one-way-delay",
        "What the estimator takes as samples. `round-trip`: the round trip of one segment a window, or of each ACK by its timestamp. `each-segment`: that of each segment acknowledged, from when it was last sent, but none until all that a timeout found outstanding is acknowledged. `one-way-delay`: the time since the stamp of the ACK's sender.",
        [
            "ns-2: one segment a window; the agents of RFC 2415's authors (baytcp) took one-way delays",
            "RFC 6298, 3: one a round trip is enough",
            "kernel: its record gives two an ACK",
        ],
    ),
    knob(
        "rto.start",
        "last-ack | first-segment",
        "Where the timeout counts from: the last ACK of new data, or the last sending of the first unacknowledged segment. RACK has `timers`.",
        ["ns-2: newtimer", "RFC 6298, 5.3", "unused: recovery.rack.timers"],
    ),
    knob(
        "rto.timer_hz",
        "ticks a second",
        "Clock of the timers, with the rounding of Linux's timer wheel: up to 63 ticks by one, then by up to an eighth; 0 = to the nanosecond.",
        [
            "unused: its tick is rto.tick_ns",
            "own choice: none",
            "kernel: CONFIG_HZ, 250 or 1000 mostly; 0 here, as it differs from kernel to kernel",
        ],
    ),
];

/// Names that knobs had before each belonged to the alternative that uses it, and where they are now.
pub const RENAMED: [(&str, &str); 20] = [
    ("one_way_agents", "recovery.reno.rules or packet_stamps or sack_blocks or dsack or ecn_holds_slow_start"),
    ("fin_alone", "fin.alone"),
    ("time_wait", "fin.time_wait"),
    ("dup_ack_window_segments", "recovery.reno.dup_ack_window_segments"),
    ("retransmit_guard", "recovery.reno.retransmit_guard"),
    ("timeout_keeps_recovery", "recovery.reno.outlives_timeout"),
    ("recovery_extra_segments", "recovery.reno.extra_segments or recovery.new-reno.extra_segments"),
    ("new_reno_impatient", "recovery.new-reno.impatient"),
    ("partial_window_deflation", "recovery.new-reno.partial_window_deflation"),
    ("f_rto", "recovery.rack.f_rto"),
    ("window_validation", "recovery.rack.window_validation"),
    ("rto.one_way", "rto.samples = \"one-way-delay\" or \"round-trip\""),
    ("rto.per_segment", "rto.samples = \"each-segment\" or \"round-trip\""),
    ("rto.from_first", "recovery.rack.timers = \"linux\""),
    ("cubic_fast_convergence", "window_law.cubic.fast_convergence"),
    ("handshake_ack_opens_window", "handshake.ack_opens_window"),
    ("syn_timeout_cuts", "handshake.timeout_cuts"),
    ("rto.times_handshake", "handshake.timed"),
    ("rto.syn_linear", "handshake.linear_timeouts"),
    ("rto.free_syns", "handshake.free_retransmissions"),
];
