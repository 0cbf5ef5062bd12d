"""The kinds of queues."""

from __future__ import annotations

from collections.abc import Mapping

from .described import Kind

_MTU = "nothing is dropped while at most this many bytes wait"
_PACKETS = "packets that may wait; further ones are dropped"
_ECN = "mark ECN-capable packets where others are dropped"
_CE = "mark all ECN-capable packets that waited longer, whatever `ecn` says (Linux)"

#: Queues in which packets wait in several lines, so that no delay is that of all packets that arrive.
SEVERAL_LINES = ("fq-codel", "dualpi2", "cbq")

QUEUES: Mapping[str, Kind] = {
    "infinite": Kind("Never drops.", "", "link", {}, {}),
    "drop-tail": Kind(
        "Drops what does not fit.",
        "",
        "drop_tail",
        {
            "limit": 'the most that the queue holds: "25pkt", "64KiB" or "1BDP"',
            "counts_in_service": "whether the limit counts the packet in service, as in ns-2",
        },
        {"limit": 25},
    ),
    "drop-on-full": Kind(
        "Drops a packet that waits when another arrives and the queue is full.",
        "RFC 2884, section 2",
        "drop_tail",
        {
            "limit": _PACKETS.replace("further ones are dropped", "then one of them makes room"),
            "victim": 'which one: "front", that waited longest, or "random"',
        },
        {"limit": 25, "victim": "front"},
    ),
    "red": Kind(
        "Random early detection: drops with a probability that rises with the average queue.",
        "Floyd and Jacobson 1993",
        "red",
        {
            "limit": "the most that may be held, whatever the average is",
            "min_th": "below this average nothing is dropped",
            "max_th": "from this average on everything is dropped (see `gentle`, `hard_drop`)",
            "max_p": "probability of a drop as the average reaches `max_th`",
            "w_q": "weight of one arrival in the average; 0.002 unless `burst` is given",
            "burst": "packets that may pass unharmed, from which the weight follows, as in Linux",
            "mean_packet": "a typical packet: the step of the average while the link is idle",
            "max_packet": "packet size dropped with the full probability, with thresholds in bytes",
            "ecn": _ECN,
            "hard_drop": "whether ECN-capable packets are dropped, too, past the thresholds",
            "gentle": "the probability rises from `max_p` to 1 between `max_th` and twice `max_th`",
            "adaptive": "whether `max_p` falls to a third below `min_th` and doubles at `max_th` (Feng 1997)",
            "wait": "at least 1/p packets pass between two drops, as with ns-2's `wait_`",
            "rules": 'where the paper leaves room: its text ("paper") or ns-2\'s reading ("ns2")',
            "counts_in_service": "whether average and limit count the packet in service",
        },
        {"limit": 60, "min_th": 5.0, "max_th": 15.0},
    ),
    "linux-red": Kind(
        "RED as Linux 2.2 and 2.3 had it: in bytes and powers of two, configured as by `tc`.",
        "Linux, net/sched/sch_red.c",
        "linux_red",
        {
            "limit": "bytes that may wait; a packet that finds more is dropped",
            "min_th": "below this average nothing is dropped",
            "max_th": "from this average on everything is dropped (see `hard_drop`)",
            "max_p": "upper bound of the drop probability at `max_th`, which is a power of two per byte",
            "burst": "packets that may pass unharmed, from which the weight follows",
            "mean_packet": "a typical packet (tc's avpkt)",
            "bandwidth": "rate by which the average decays while the link is idle",
            "ecn": _ECN,
            "hard_drop": "whether ECN-capable packets are dropped, too, past `max_th`; not so in 2.3.49",
            "version": '"2.2.5", or "2.3.15", in which short idle times count, too',
        },
        {"limit": 60_000, "min_th": 15_000, "max_th": 45_000, "burst": 20, "mean_packet_bytes": 1000},
    ),
    "codel": Kind(
        "Controlled delay: drops at departure when all packets of an interval waited beyond the target.",
        "RFC 8289",
        "codel",
        {
            "target": "the standing delay that is accepted",
            "interval": "over which time the delay must have come down once; about a round trip",
            "limit": _PACKETS,
            "mtu": _MTU,
            "ecn": _ECN,
            "ce_threshold": _CE,
        },
        {},
    ),
    "pie": Kind(
        "Proportional integral controller: drops at arrival with a probability that steers the delay.",
        "RFC 8033",
        "pie",
        {
            "limit": _PACKETS,
            "target": "the delay aimed at",
            "update": "interval of the controller's updates",
            "alpha": "weight of the distance from the target (Hz)",
            "beta": "weight of the trend (Hz)",
            "max_burst": "a burst of this length passes unharmed after a time without congestion",
            "mean_packet": "a typical packet: nothing is dropped while at most two of them wait",
            "estimate": 'how the delay is measured: "timestamp" or "rate"',
            "ecn": _ECN,
            "ecn_threshold": "from this probability on ECN-capable packets are dropped, too",
            "derandomize": "whether drops are spaced (section 5.4)",
            "cap_adjustment": "from 10 % on, the probability rises by at most 2 % a step (section 5.5)",
            "activate_at": "share of `limit` that must be filled before it drops; without it, always active",
        },
        {},
    ),
    "fq-codel": Kind(
        "Fair queueing with CoDel for each flow.",
        "RFC 8290",
        "fq_codel",
        {
            "flows": "number of queues that flows are hashed to",
            "quantum": "bytes that a flow may send in its turn",
            "limit": "packets in all queues together",
            "drop_batch": "the most packets dropped at once when the limit is passed",
            "target": "CoDel's target",
            "interval": "CoDel's interval",
            "mtu": _MTU,
            "ecn": _ECN,
            "ce_threshold": _CE,
            "perturbation": "perturbation of the hash; drawn without it",
        },
        {},
    ),
    "dualpi2": Kind(
        "Two queues, one of low latency for L4S, coupled by a PI controller.",
        "RFC 9332",
        "dualpi2",
        {
            "form": 'whose signals: "rfc9332", evenly spaced with a ramp, or "linux", random with a step',
            "limit": "packets that may wait in both queues together",
            "target": "target delay of the classic queue",
            "update": "interval of the controller's updates",
            "alpha": "integral gain (Hz)",
            "beta": "proportional gain (Hz)",
            "coupling": "coupling factor k",
            "min_th": 'below this delay the low-latency queue marks nothing of its own (form = "rfc9332")',
            "range": 'from `min_th` to the delay at which all its packets are marked (form = "rfc9332")',
            "step": 'above this delay the low-latency queue marks all packets (form = "linux")',
            "classic_share": "share of the link that the classic queue is sure of",
            "ecn": "mark classic packets with ECT(0) where others are dropped",
        },
        {},
    ),
    "cbq": Kind(
        "Class-based queueing: shares of the link for classes of traffic, which may borrow from each other.",
        "Floyd and Jacobson 1995",
        "cbq",
        {
            "classes": "the classes, each after its parent",
            "default": "the class, by its place from 0, of packets that no class claims",
            "sharing": 'who may borrow when: "formal" or "ancestors-only"',
        },
        {"classes": [{"rate_bps": 1_000_000, "queue": {"kind": "infinite"}}], "default": 0},
    ),
}
