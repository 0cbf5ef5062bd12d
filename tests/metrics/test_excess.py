"""What runs draw in excess has an expectation of 0, and distributions have the mean that they state."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cwndlab import Study, _core, metrics
from cwndlab.metrics import drawn
from cwndlab.records.run_view import WholeRun

SIZES = {
    "uniform": '{ kind = "uniform", low = 1000, high = 90000 }',
    "exponential": '{ kind = "exponential", mean = 40000.0 }',
    "pareto": '{ kind = "pareto", shape = 1.5, mean = 20000, max = 300000 }',
    "lognormal": '{ kind = "lognormal", median = 20000, sigma = 1.2, max = 400000 }',
    "both": '{ kind = "lognormal-pareto", median = 9000, sigma = 1.0, tail_from = 20000, tail_alpha = 1.3, '
    "max = 400000 }",
    "named": '{ kind = "named", name = "seen" }',
}
TEXT = """
title = "one link each"
[distributions.seen]
values = [1000, 50000, 200000]
counts = [5, 3, 2]
[topology]
nodes = ["a", "b"]
[[topology.links]]
between = ["a", "b"]
rate = "300kbps"
delay = "10ms"
loss = "2%"
[run]
duration = "20s"
warmup = "3s"
[tcp]
profile = "linux-6"
[[quantities]]
name = "loss"
metric = "excess_losses"
options = { link = "b>a" }
"""
TRAFFIC = """
[[traffic]]
name = "{name}"
client = "a"
server = "b"
[traffic.app]
kind = "{kind}"
{sizes} = {size}
{pauses} = {pause}
first_s = {{ kind = "uniform", low = 0.0, high = 2.0 }}
{more}
[[quantities]]
name = "{name}_bytes"
metric = "excess_bytes"
options = {{ traffic = "{name}" }}
[[quantities]]
name = "{name}_pauses"
metric = "excess_pauses"
options = {{ traffic = "{name}" }}
"""
RUNS = 150


def _study() -> Study:
    pauses = ['{ kind = "exponential", mean = 2.0 }', '{ kind = "uniform", low = 0.5, high = 4.0 }']
    parts = [
        TRAFFIC.format(
            name=name,
            kind="ftp",
            sizes="file_bytes",
            size=size,
            pauses="pause_s",
            pause=pauses[k % 2],
            more="",
        )
        for k, (name, size) in enumerate(SIZES.items())
    ]
    more = """protocol = "http/1.0"
clock = "syn"
inline_trigger = "first-packet"
request_bytes = "300B"
inline_objects = 2"""
    parts.append(
        TRAFFIC.format(
            name="web",
            kind="web",
            sizes="object_bytes",
            size=SIZES["exponential"],
            pauses="think_s",
            pause=pauses[1],
            more=more,
        )
    )
    return Study.from_toml(TEXT + "".join(parts))


def test_what_runs_draw_in_excess_is_0_on_average_though_many_objects_are_unfinished() -> None:
    study = _study()
    cell = study.plan().cells[0]
    scenario, measurer = json.loads(cell.scenario), metrics.Measurer(study.outline.quantities)
    rows, unfinished = [], 0
    for replicate in range(RUNS):
        run = WholeRun(_core.run(cell.scenario, 7, replicate), scenario)
        rows.append(measurer.measure(run))
        unfinished += int(np.sum(~np.asarray(run.columns("objects")["finished"], np.bool_)))
    assert unfinished > 2 * RUNS
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        assert np.std(values) > 0.0
        # 15 numbers, so that the largest of their scores is rarely above 3.
        assert abs(np.mean(values)) < 3.3 * np.std(values) / math.sqrt(RUNS), name


@pytest.mark.parametrize("at", [0.0, 700.0, 30_000.0])
@pytest.mark.parametrize(
    "written",
    [
        {"kind": "uniform", "low": 500.0, "high": 60_000.0},
        {"kind": "exponential", "mean": 20_000.0},
        {"kind": "pareto", "shape": 2.5, "min": 900.0, "max": None},
        {"kind": "pareto", "shape": 1.0, "min": 900.0, "max": 90_000.0},
        {"kind": "pareto", "shape": 1.3, "mean": 20_000.0, "max": 90_000.0},
        {"kind": "lognormal", "median": 5_000.0, "sigma": 1.3, "max": 90_000.0},
        {"kind": "lognormal", "median": 5_000.0, "sigma": 0.7},
        {"kind": "lognormal-pareto", "median": 2e3, "sigma": 1.0, "tail_from": 8e3, "tail_alpha": 1.5}
        | {"max": 9e4},
        {"kind": "empirical", "values": [300, 5000, 80000], "counts": [7, 2, 1]},
        {"kind": "cdf", "points": [[200.0, 0.3], [200.0, 0.4], [9000.0, 0.8], [80000.0, 1.0]]},
    ],
    ids=lambda written: written["kind"],
)  # fmt: skip
def test_the_mean_beyond_a_value_is_that_of_the_values_drawn(written: dict[str, object], at: float) -> None:
    rng = np.random.default_rng(3)
    draws = _draw(written, rng, 400_000)
    if written.get("max") is not None:
        draws = np.minimum(draws, float(written["max"]))  # type: ignore[arg-type]
    above = draws[draws > at]
    found = drawn.expectation_beyond(written, at)
    assert abs(found - above.mean()) < 5.0 * above.std() / math.sqrt(len(above)) + 1e-9


def _draw(written: dict[str, object], rng: np.random.Generator, n: int) -> np.ndarray:
    d: dict[str, float] = {k: v for k, v in written.items() if isinstance(v, float)}
    match written["kind"]:
        case "uniform":
            return rng.uniform(d["low"], d["high"], n)
        case "exponential":
            return rng.exponential(d["mean"], n)
        case "pareto":
            least = d.get("min", d.get("mean", 0.0) * (d["shape"] - 1.0) / d["shape"])
            return least * rng.random(n) ** (-1.0 / d["shape"])
        case "lognormal":
            return rng.lognormal(math.log(d["median"]), d["sigma"], n)
        case "lognormal-pareto":
            body = rng.lognormal(math.log(d["median"]), d["sigma"], n)
            tail = d["tail_from"] * rng.random(n) ** (-1.0 / d["tail_alpha"])
            return np.where(body > d["tail_from"], tail, body)
        case "cdf":
            points = np.asarray(written["points"])
            return np.interp(rng.random(n), points[:, 1], points[:, 0])
    values, counts = (np.asarray(written[key], float) for key in ("values", "counts"))
    return rng.choice(values, n, p=counts / counts.sum())


def test_fixed_values_have_no_excess() -> None:
    assert drawn.expectation({"kind": "fixed", "value": 5.0}) == 5.0
    assert drawn.expectation_beyond({"kind": "fixed", "value": 5.0}, 9.0) == 9.0


@pytest.mark.parametrize("other", ["drop-every", "drop-nth", "duplicate", "gilbert-elliott", "reorder"])
def test_only_next_to_jitter_are_losses_compared_with_what_is_expected(other: str) -> None:
    counters = {"link": [0], "arrivals": [100], "drops_loss": [12]}
    lost = {"kind": "bernoulli", "p": 0.1}

    def excess(*impairments: dict[str, Any]) -> float:
        run: Any = SimpleNamespace(
            scenario={"links": [{"impairments": impairments}]},
            link=lambda name: 0,
            columns=lambda table: {name: np.array(column) for name, column in counters.items()},
        )
        return float(metrics.get("excess_losses").measure(run))

    assert excess({"kind": "jitter"}, lost) == pytest.approx(2.0)
    assert excess(lost, {"kind": other}) == excess({"kind": "jitter"}) == excess() == 0
