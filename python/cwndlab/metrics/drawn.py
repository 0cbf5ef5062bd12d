"""Deviations of a run's random draws from their expectations; `adjust_for` corrects quantities for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import RunView
from ._declared import metric
from ._rows import Kind, link_counters, objects

#: For each application, the key with the size of its objects, and their kind in the records.
_SIZES: Mapping[str, tuple[str, Kind]] = {
    "web": ("object_bytes", "page"),
    "ftp": ("file_bytes", "file"),
    "short-flows": ("flow_bytes", "file"),
    "rr": ("response_bytes", "transaction"),
    "pipeline": ("response_bytes", "transaction"),
}
#: For each application, the key with the pause before an object, and the object's kind in the records.
_PAUSES: Mapping[str, tuple[str, Kind]] = {"web": ("think_s", "page"), "ftp": ("pause_s", "file")}


@metric(unit="B", centred=True, tables=["objects"])
def excess_bytes(run: RunView, *, traffic: str | None = None) -> float:
    r"""Excess of the bytes requested: by how much the sizes of a run's objects exceed their expectation.

    $$ \sum_i (X_i - E[X]) $$

    The sum is over all pages, files and transactions that began in the window, finished or not, except those
    of `crr`. A size is drawn when its object begins, independently of what happened before, so the
    expectation of the sum is 0, however many objects a run has (Wald 1944). Fixed sizes contribute nothing.

    `traffic` selects one traffic entry of the study; by default, all count.
    """
    total = 0.0
    for index in run.traffic(traffic):
        app = run.scenario["traffic"][index]["app"]
        if (declared := _SIZES.get(app["kind"])) is not None:
            key, kind = declared
            mine = objects(run, kind)
            sizes = mine.bytes[mine.client == index]
            total += float(np.sum(sizes)) - len(sizes) * _expected_bytes(run, app, key)
    return total


@metric(unit="s", centred=True, tables=["objects"])
def excess_pauses(run: RunView, *, traffic: str | None = None) -> float:
    r"""Excess of the pauses: by how much the pauses between a run's objects exceed their expectation.

    $$ \sum_i (P_i - E[P]) $$

    The sum is over the pauses after pages and files that began and ended in the window. A pause that lasts
    beyond the window counts with its conditional expectation, given that it lasts to the window's end, so the
    expectation of the sum is 0. Applications whose clock begins with the request contribute nothing: the end
    of their pauses is not recorded.

    `traffic` selects one traffic entry of the study; by default, all count.
    """
    total = 0.0
    for index in run.traffic(traffic):
        app = run.scenario["traffic"][index]["app"]
        if (declared := _PAUSES.get(app["kind"])) is not None and app.get("clock", "syn") == "syn":
            key, kind = declared
            mine = objects(run, kind)
            chosen = np.flatnonzero(mine.client == index)
            chosen = chosen[np.argsort(mine.start_s[chosen])]
            begins, ends = mine.start_s[chosen], mine.start_s[chosen] + mine.delay_s[chosen]
            pause = _distribution(run, app.get(key, {"kind": "fixed", "value": 0.0}))
            expected = expectation(pause)
            gaps = begins[1:] - ends[:-1]
            total += float(np.sum(gaps[np.isfinite(gaps)] - expected))
            if len(ends) and math.isfinite(ends[-1]) and not _is_last(app, mine.index[chosen[-1]]):
                total += expectation_beyond(pause, run.end_s - float(ends[-1])) - expected
    return total


@metric(unit="packets", centred=True, tables=["links"])
def excess_losses(run: RunView, *, link: str | None = None) -> float:
    r"""Excess of the random losses: by how much a link's random losses exceed their expectation.

    $$ L - p \cdot \text{arrivals} $$

    with \(L\) the packets that the link lost at random. Each packet is lost with the link's loss probability
    p, independently of what happened before, so the expectation is 0, however many packets arrive (Wald
    1944).

    `link` is a direction, such as "n1>n0". The value is 0 unless the link's only impairment, apart from
    `jitter`, is a constant loss probability.
    """
    impairments = run.scenario["links"][run.link(link)].get("impairments", ())
    losing = [impairment for impairment in impairments if impairment["kind"] != "jitter"]
    if [impairment["kind"] for impairment in losing] != ["bernoulli"]:
        return 0.0
    counted = link_counters(run, link, "arrivals", "drops_loss")
    return counted["drops_loss"] - float(losing[0]["p"]) * counted["arrivals"]


def _distribution(run: RunView, written: Mapping[str, Any]) -> Mapping[str, Any]:
    """The distribution that a scenario states; if it states a name, the shared distribution of that name."""
    return run.scenario["distributions"][written["name"]] if written["kind"] == "named" else written


def _mean(run: RunView, written: Mapping[str, Any]) -> float:
    """The expectation of a distribution of the scenario; computed once if applications share it."""
    distribution = _distribution(run, written)
    if written["kind"] != "named":
        return expectation(distribution)
    return run.once(("mean", written["name"]), lambda: expectation(distribution))


def _expected_bytes(run: RunView, app: Mapping[str, Any], key: str) -> float:
    """The mean size (bytes) of an application's pages, files or transactions; a page has several objects."""
    mean = _mean(run, app[key])
    if app["kind"] != "web":
        return mean
    inline = app.get("inline_bytes")
    other = mean if inline is None else _mean(run, inline)
    return mean + float(app.get("inline_objects", 3)) * other


def _is_last(app: Mapping[str, Any], index: int) -> bool:
    """Whether the page or file with this index (from 0) is the last that the application requests."""
    limit = app.get("pages" if app["kind"] == "web" else "files")
    return limit is not None and index + 1 >= limit


def expectation(written: Mapping[str, Any]) -> float:
    """The expectation of a scenario's distribution, ignoring that the engine rounds values to integers."""
    return _beyond(written, 0.0)[1] if written["kind"] != "fixed" else float(written["value"])


def expectation_beyond(written: Mapping[str, Any], at: float) -> float:
    """The conditional expectation E[X | X > at]; `at` if P(X > at) is below 1e-12."""
    share, part = _beyond(written, at)
    return part / share if share > 1e-12 else at


def _beyond(d: Mapping[str, Any], at: float) -> tuple[float, float]:
    """P(X > at) and E[X 1(X > at)] of a value X with this distribution."""
    match d["kind"]:
        case "fixed":
            return (1.0, float(d["value"])) if d["value"] > at else (0.0, 0.0)
        case "uniform":
            low, high = float(d["low"]), float(d["high"])
            if low == high:
                return (1.0, low) if low > at else (0.0, 0.0)
            start = min(max(at, low), high)
            share = (high - start) / (high - low)
            return share, share * (high + start) / 2.0
        case "exponential":
            share = math.exp(-at / d["mean"]) if d["mean"] else 0.0
            return share, share * (at + d["mean"])
        case "pareto":
            shape = d["shape"]
            least = d["min"] if d.get("min") is not None else d["mean"] * (shape - 1.0) / shape
            return _pareto_beyond(least, shape, _limit(d), at)
        case "lognormal":
            return _lognormal_beyond(d["median"], d["sigma"], _limit(d), at)
        case "lognormal-pareto":
            tail_from, most = d["tail_from"], _limit(d)
            if most <= tail_from:
                return _lognormal_beyond(d["median"], d["sigma"], most, at)
            body = _lognormal_beyond(d["median"], d["sigma"], math.inf, min(at, tail_from))
            above = _lognormal_beyond(d["median"], d["sigma"], math.inf, tail_from)
            share, part = _pareto_beyond(tail_from, d["tail_alpha"], most, at)
            return body[0] - above[0] + above[0] * share, body[1] - above[1] + above[0] * part
        case "empirical":
            values, counts = (np.asarray(d[key], dtype=np.float64) for key in ("values", "counts"))
            shares = np.where(values > at, counts, 0.0) / counts.sum()
            return float(shares.sum()), float(shares @ values)
        case "cdf":
            ends, shares = np.asarray(d["points"], dtype=np.float64).T
            begins = np.insert(ends[:-1], 0, ends[0])  # the whole first share lies at the first value
            at_least = np.clip(at, begins, ends)
            beyond = np.where(ends > begins, (ends - at_least) / np.maximum(ends - begins, 1e-300), ends > at)
            weights = np.diff(shares, prepend=0.0) * beyond
            return float(weights.sum()), float(weights @ (ends + at_least)) / 2.0
    raise ValueError(f"the expectation of a distribution of kind {d['kind']!r} is not known")


def _limit(d: Mapping[str, Any]) -> float:
    """The limit of a distribution, which replaces larger values; infinite if it has none."""
    most = d.get("max")
    return math.inf if most is None else float(most)


def _pareto_beyond(least: float, shape: float, most: float, at: float) -> tuple[float, float]:
    """P(X > at) and E[X 1(X > at)] of a Pareto value X limited to `most`. With a the larger of `at` and
    `least`, the latter is a P(X > a) plus the integral of P(X > x) from a to `most`.
    """
    if at >= most:
        return 0.0, 0.0
    if least >= most:
        return 1.0, most
    start = max(at, least)
    share = (least / start) ** shape
    if shape == 1.0:
        area = least * math.log(most / start)
    elif math.isinf(most):
        area = start * share / (shape - 1.0) if shape > 1.0 else math.inf
    else:
        area = least**shape * (most ** (1.0 - shape) - start ** (1.0 - shape)) / (1.0 - shape)
    return share, start * share + area


def _lognormal_beyond(median: float, sigma: float, most: float, at: float) -> tuple[float, float]:
    """P(X > at) and E[X 1(X > at)] of a lognormal value X limited to `most`: the latter is the part of the
    mean from `at` to `most`, plus `most` times the probability of larger values.
    """
    if at >= most:
        return 0.0, 0.0
    if sigma == 0.0:
        value = min(median, most)
        return (1.0, value) if value > at else (0.0, 0.0)

    def above(x: float, shift: float) -> float:
        """P(Z > z - shift) of a standard normal Z, with z = ln(x / median) / sigma."""
        return 0.5 * math.erfc((math.log(x / median) / sigma - shift) / math.sqrt(2.0)) if x > 0.0 else 1.0

    whole = median * math.exp(sigma * sigma / 2.0)
    moved = most * above(most, 0.0) if math.isfinite(most) else 0.0
    return above(at, 0.0), whole * (above(at, sigma) - above(most, sigma)) + moved
