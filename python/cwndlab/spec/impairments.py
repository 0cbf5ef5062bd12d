"""The kinds of impairments of a link."""

from __future__ import annotations

from collections.abc import Mapping

from .described import Kind

_AT = "times at which each value begins, in ns; the first is 0"
_REPEAT = "the steps begin again after this time"
_ORDER = "whether packets stay in order; else they may overtake each other"
_NUMBERS = "numbers of the packets, from 1 as they reach it"

IMPAIRMENTS: Mapping[str, Kind] = {
    "bernoulli": Kind("Loses packets independently.", "", "loss", {"p": "probability"}, {"p": 0.1}),
    "gilbert-elliott": Kind(
        "Loses packets in bursts: a chain of a good and a bad state.",
        "Gilbert 1960, Elliott 1963",
        "loss",
        {
            "p_good_bad": "probability per packet of the change from good to bad",
            "p_bad_good": "probability per packet of the change back; a bad time has 1/p packets in the mean",
            "loss_good": "probability of a loss in the good state",
            "loss_bad": "probability of a loss in the bad state",
        },
        {"p_good_bad": 0.1, "p_bad_good": 0.5},
    ),
    "drop-nth": Kind("Loses packets by their number.", "", "loss", {"packets": _NUMBERS}, {"packets": [1]}),
    "drop-every": Kind(
        "Loses packets at a fixed distance.",
        "",
        "loss",
        {"every": "one of so many packets", "first": "the first that is lost; `every` without it"},
        {"every": 10},
    ),
    "drop-seq": Kind(
        "Loses the packets that carry given bytes of a flow.",
        "",
        "loss",
        {"offsets": "the bytes, from 0", "occurrences": "how many transmissions of each are lost"},
        {"offsets": [0]},
    ),
    "loss-steps": Kind(
        "Loses packets with a probability that changes; a link's `loss = { at = … }` is short for it.",
        "",
        "loss",
        {"at": _AT, "p": "the probabilities", "repeat": _REPEAT},
        {"at_ns": [0], "p": [0.1], "repeat_ns": 1_000_000_000},
    ),
    "policer": Kind(
        "A token bucket: loses packets beyond a rate and a burst.",
        "",
        "loss",
        {"rate": "at which tokens come", "burst": "bytes that the bucket holds"},
        {"rate_bps": 1_000_000, "burst_bytes": 15_000},
    ),
    "duplicate": Kind("Sends a copy after the packet.", "", "loss", {"p": "probability"}, {"p": 0.1}),
    "delay-nth": Kind(
        "Delays packets by their number.",
        "",
        "loss",
        {"packets": _NUMBERS, "extra": "the delay"},
        {"packets": [1], "extra_ns": 1_000_000},
    ),
    "jitter": Kind(
        "Delays each packet by a random time, uniform from 0.",
        "",
        "loss",
        {"max": "the longest delay", "keep_order": _ORDER},
        {"max_ns": 1_000_000},
    ),
    "normal-jitter": Kind(
        "Delays each packet by a random time of a normal distribution that is cut at both sides.",
        "",
        "loss",
        {
            "sigma": "standard deviation before the cut",
            "cut": "in standard deviations from the mean",
            "mean": "`cut` × `sigma` without it",
            "keep_order": _ORDER,
        },
        {"sigma_ns": 1_000_000, "mean_ns": 5_000_000},
    ),
    "delay-steps": Kind(
        "Delays packets by a time that changes; a link's `delay = { at = … }` is short for it.",
        "",
        "loss",
        {"at": _AT, "extra": "the delays, in ns", "repeat": _REPEAT, "keep_order": _ORDER},
        {"at_ns": [0], "extra_ns": [0], "repeat_ns": 1_000_000_000},
    ),
    "aggregate": Kind(
        "Lets packets leave in bursts, as Wi-Fi does with ACKs.",
        "",
        "loss",
        {"hold": "how long the first of a burst waits for others"},
        {"hold_ns": 1_000_000},
    ),
    "reorder": Kind(
        "Delays some packets, so that later ones overtake them.",
        "",
        "loss",
        {"p": "probability", "extra": "the delay"},
        {"p": 0.1, "extra_ns": 1_000_000},
    ),
}
