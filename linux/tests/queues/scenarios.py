"""Scenarios drawn at random for queues of Linux: packets, `tc`'s words and the simulator's queue."""

from __future__ import annotations

import random
from typing import Any

MTU = 1500


def _flow(draw: random.Random, number: int, rate: float, duration: float, acks: bool) -> list[dict[str, Any]]:
    """The packets of a flow of about `rate` bytes per second."""
    size = draw.choice([60, 200, 576, 1000, 1500, None])
    ends = {"source": draw.randrange(3), "destination": draw.randrange(3)}
    common = {"flow": number, **ends, "dscp": draw.choice([0, 0, 0, 8, 10, 18, 34, 46, 48, 1])}
    ecn, burst = draw.choice([0, 0, 2, 1]), draw.choice([1, 1, 4, 20])
    stamps, sack, echo = draw.random() < 0.7, draw.random() < 0.3, draw.random() < 0.3
    at, packets, acked = draw.uniform(0, duration / 3), [], 1
    until = draw.uniform(duration / 2, duration)
    while at < until:
        for _ in range(burst):
            ack = None
            bytes_ = size if size is not None else draw.randrange(40, 1501)
            if acks:
                acked += draw.choice([0, 1448, 2896])
                pure = draw.random() < 0.9
                has_sack = sack and draw.random() < 0.3
                times = (int(at * 1000) + 1, int(at * 1000)) if stamps else None
                bytes_ = 40 + 12 * stamps + 12 * has_sack + (0 if pure else 500)
                flags = 0x40 if echo and draw.random() < 0.2 else 0
                ack = {"number": acked, "pure": pure, "flags": flags, "timestamps": times, "sack": has_sack}
            packets.append({"at": int(at * 1e9), "bytes": bytes_, "ecn": ecn, "ack": ack, **common})
            at += draw.expovariate(1) * bytes_ / rate if burst == 1 else 5e-6 * (1 + draw.random())
        if burst > 1:
            at += draw.expovariate(1) * burst * packets[-1]["bytes"] / rate
    return packets


def _cake(draw: random.Random, bps: int) -> tuple[list[list[str]], dict[str, Any]]:
    words, queue = ["root", "cake"], {"kind": "cake", "mtu": MTU, "perturbation": 7}
    if draw.random() < 0.9:
        words += ["bandwidth", f"{bps}bit"]
        queue["rate_bps"] = bps
    rtt_us = draw.choice([10_000, 30_000, 100_000, 100_000, 300_000])
    words += ["rtt", f"{rtt_us}us"]
    queue["rtt_ns"] = rtt_us * 1000
    isolation = draw.choice(
        "flowblind srchost dsthost hosts flows dual-srchost dual-dsthost triple-isolate".split()
    )
    tins = draw.choice("besteffort precedence diffserv3 diffserv4 diffserv8".split())
    ack_filter = draw.choice(["no-ack-filter", "ack-filter", "ack-filter-aggressive"])
    words += [isolation, tins, ack_filter]
    queue |= {"isolation": isolation, "tins": tins}
    queue["ack_filter"] = {"no-ack-filter": "off", "ack-filter": "on"}.get(ack_filter, "aggressive")
    if draw.random() < 0.4:
        overhead, mpu, framing = (
            draw.choice([18, 44, -4]),
            draw.choice([0, 64, 84]),
            draw.choice(["noatm", "atm", "ptm"]),
        )
        words += ["overhead", str(overhead), "mpu", str(mpu), framing]
        queue |= {"overhead": overhead, "mpu": mpu, "framing": framing.replace("noatm", "none")}
    if draw.random() < 0.3:
        words.append("ingress")
        queue["ingress"] = True
    if draw.random() < 0.4:
        memory = draw.choice([20_000, 60_000, 200_000])
        words += ["memlimit", str(memory)]
        queue["memory_bytes"] = memory
    return [words], queue


def _shaper(draw: random.Random, bps: int) -> tuple[list[str], dict[str, Any]]:
    burst = draw.choice([1514, 5000, 30_000])
    words = ["root", "handle", "1:", "tbf", "rate", f"{bps}bit", "burst", str(burst)]
    queue: dict[str, Any] = {"kind": "tbf", "rate_bps": bps, "burst_bytes": burst}
    if draw.random() < 0.3:
        words += ["peakrate", f"{2 * bps}bit", "mtu", "1600"]
        queue |= {"peak_rate_bps": 2 * bps, "peak_burst_bytes": 1600}
    return words, queue


def _tbf(draw: random.Random, bps: int) -> tuple[list[list[str]], dict[str, Any]]:
    words, queue = _shaper(draw, bps)
    limit = draw.choice([5000, 20_000, 100_000])
    return [[*words, "limit", str(limit)]], {**queue, "limit": limit}


def _fq_pie(draw: random.Random, bps: int) -> tuple[list[list[str]], dict[str, Any]]:
    words, queue = _shaper(draw, bps)
    limit, target = draw.choice([50, 200, 10_240]), draw.choice([5000, 15_000])
    update = draw.choice([15_000, 30_000])
    inside = ["parent", "1:1", "fq_pie", "limit", str(limit), "flows", "2048", "target", f"{target}us"]
    inside += ["tupdate", f"{update}us", "quantum", "1500"]
    # Linux counts the packet that waits for its tokens outside.
    fair: dict[str, Any] = {"kind": "fq-pie", "limit": limit - 1, "flows": 2048, "target_ns": target * 1000}
    fair |= {"update_ns": update * 1000, "quantum": 1500, "mtu": MTU, "perturbation": 7}
    if draw.random() < 0.5:
        inside.append("ecn")
        fair["ecn"] = True
    if draw.random() < 0.3:
        inside.append("bytemode")
        fair["bytemode"] = True
    return [[*words, "limit", "1000000"], inside], {**queue, "queue": fair}


def scenario(seed: int, kind: str) -> dict[str, Any]:
    """One scenario: `tc` has the words of each `tc qdisc add dev DEVICE`, `queue` is the simulator's."""
    draw = random.Random(f"{kind} {seed}")
    bps = draw.choice([1, 2, 5, 10, 20]) * 1_000_000
    words, queue = {"cake": _cake, "tbf": _tbf, "fq-pie": _fq_pie}[kind](draw, bps)
    duration = 4.0 if kind == "fq-pie" else 12e6 / bps
    flows, load = draw.randint(1, 6), draw.uniform(0.6, 2.0)
    packets: list[dict[str, Any]] = []
    for number in range(flows):
        acks = kind == "cake" and draw.random() < 0.4
        packets += _flow(draw, number, bps / 8 * load / flows, duration, acks)
    packets.sort(key=lambda packet: packet["at"])
    return {"tc": words, "queue": queue, "packets": packets[:4000]}
