"""Two sets of runs have one interval in tables, figures, claims, comparisons, stopping and scorecards.

The pairs are drawn at random: exact or random, mean or median, each kind of range, adjusted or not, with the
same random numbers or others, with different numbers of runs and runs that could not be measured. The suite
tries a few hundred; `CWNDLAB_PAIRS=2000 pytest tests/stats/test_one_interval.py` tries more.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from cwndlab.apps.evaluate import scorecard
from cwndlab.apps.evaluate.pack import Pack, PackFile
from cwndlab.apps.reproduction.choice_effects import _change
from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Floats, Range
from cwndlab.stats import series
from cwndlab.stats.difference import compare_datasets
from cwndlab.stats.expression import Evaluator
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results
from cwndlab.stats.sample import Streams, is_less
from cwndlab.stats.stopping import StoppingRule, replicates_by_cell
from cwndlab.stats.tables import judge_table
from cwndlab.study.cells import CellInfo
from cwndlab.study.labels import QuantityInfo
from cwndlab.study.outputs import Column, Figure, Table
from synthetic import EXACT, make_results, sample

PAIRS = int(os.environ.get("CWNDLAB_PAIRS", "240"))
KINDS = ("ratio", "difference", "increase", "decrease")
RULE = StoppingRule(relative=0.05, cap=10**12)


@dataclass(frozen=True)
class Pair:
    """Results with the cells `a` and `b`, and how they are compared."""

    results: Results
    kind: str

    @property
    def claim(self) -> str:
        """The comparison as an expression."""
        a, b = (f'value[v="{cell}"]' for cell in "ab")
        return {
            "difference": f"{a} - {b}",
            "ratio": f"ratio({a}, {b})",
            "increase": f"increase({b}, {a})",
            "decrease": f"decrease({b}, {a})",
        }[self.kind]

    @property
    def info(self) -> QuantityInfo:
        """What is known of the quantity."""
        return self.results.labels.quantities["value"]

    @property
    def compare(self) -> str:
        """The comparison as a table and a figure have it."""
        return f'{self.kind}(v="b")'


def draw(rng: np.random.Generator, within: Range, level: float, n: int) -> Floats:
    """Runs of a quantity with this range."""
    if within is SHARE:
        return rng.beta(20.0 * level, 20.0 * (1.0 - level), n)
    if within is COUNT:
        return rng.poisson(20.0 * level, n).astype(np.float64)
    values = level * rng.lognormal(0.0, 0.3, n)
    return values - 0.3 if within is ANY else values


def pair(seed: int) -> Pair:
    """The pair of this number."""
    rng = np.random.default_rng([64, seed])
    within = [ANY, NON_NEGATIVE, SHARE, COUNT][seed % 4]
    statistic = "median" if rng.random() < 0.25 else "mean"
    adjusted = statistic == "mean" and rng.random() < 0.3
    exact = {cell for cell in "ab" if rng.random() < 0.2}
    seeds = {"a": "1", "b": "2" if rng.random() < 0.2 else "1"}
    data: dict[tuple[str, str], list[float]] = {}
    load = rng.normal(0.0, 1.0, 20)
    for cell in "ab":
        n = 1 if cell in exact else int(rng.choice([1, 2, 3, 5, 8, 10, 14, 20]))
        values = draw(rng, within, rng.uniform(0.2, 0.8), n)
        if adjusted and within is not COUNT:
            values = within.clip(np.clip(values + 0.05 * load[:n], *within.limits))
        if n > 3 and rng.random() < 0.2:
            values[rng.integers(n)] = math.nan
        if rng.random() < 0.05:
            values[:] = values[0]
        data[cell, "value"] = values.tolist()
        data[cell, "load"] = load[:n].tolist()
    results = make_results(
        tuple(CellInfo(cell, {"v": cell, "subject": "s"}) for cell in "ab"),
        {"value": "Mbit/s", "load": "B"},
        data,
        statistics={"value": statistic},
        ranges={"value": within},
        adjustments={"value": ["load"]} if adjusted else {},
        centred={"load"},
        deterministic=exact,
        seeds=seeds,
    )
    return Pair(results, KINDS[int(rng.integers(len(KINDS)))])


def claimed(pair: Pair) -> Interval:
    """The number of a claim."""
    return Evaluator(pair.results).evaluate(pair.claim).interval(("s",))


def in_table(pair: Pair) -> Interval:
    """The number of a table."""
    column = {"heading": "c", "quantity": "value", "where": {"v": "a"}, "compare": pair.compare}
    table = Table.model_validate({"id": "t", "title": "t", "rows": ["subject"], "columns": [column]})
    [number] = judge_table(table, pair.results, Path(), []).numbers
    assert number.estimate is not None
    return number.estimate.interval


def in_figure(pair: Pair) -> Interval:
    """The number of a figure."""
    keys = {"quantity": "value", "compare": pair.compare, "where": {"v": "a"}}
    figure = Figure.model_validate({"id": "f", "title": "f", "kind": "bar", "x": "subject", **keys})
    return _only(series.points(figure, pair.results))


def in_figure_of_a_list(pair: Pair) -> Interval:
    """The number of a figure along the positions of a list."""
    lists = {
        (cell, name): [[value] if name == "value" else value for value in values]
        for (cell, name), values in pair.results.data.items()
    }
    results = replace(pair.results, data=lists)  # type: ignore[arg-type]
    keys = {"quantity": "value", "compare": pair.compare, "where": {"v": "a"}}
    figure = Figure.model_validate({"id": "f", "title": "f", "kind": "bar", "x": "index", **keys})
    return _only(series.points(figure, results))


def _only(points: list[series.Point]) -> Interval:
    if not points:
        return Interval(math.nan, math.nan, math.nan, 0, "")
    [point] = points
    return point.interval


def of_cell(pair: Pair, cell: str) -> Results:
    """The results of one of both cells, under the name `x`."""
    values = {("x", name): values for (of, name), values in pair.results.data.items() if of == cell}
    return replace(
        pair.results,
        cells=(CellInfo("x", {"v": "x", "subject": "s"}),),
        data=values,
        deterministic={"x"} if cell in pair.results.deterministic else (),
        seeds={"x": pair.results.seeds[cell]},
    )


def compared(pair: Pair) -> Interval:
    """What `cwndlab compare` finds in two folders, one with each cell."""
    moved = compare_datasets(of_cell(pair, "b"), of_cell(pair, "a")).moved
    [found] = [one for one in moved if one.quantity == "value"]
    return found.interval


def of_a_choice(pair: Pair) -> Interval:
    """What a choice of a sensitivity axis changes, where it turns cell `b` into `a`."""
    column = Column.model_validate({"heading": "c", "quantity": "value"})
    before, after = of_cell(pair, "b"), of_cell(pair, "a")
    return _change(column, before.cells[0], before, after, 0.95)


def scored(pair: Pair) -> Interval:
    """The number of a scorecard."""
    row = {"id": "r", "section": "1", "level": "", "asks": "?", "study": "s", "shows": "?"}
    file = {"title": "t", "kind": "cc", "document": "d", "url": "u", "about": "a", "references": ["other"]}
    pack = PackFile.model_validate({**file, "criteria": [{**row, "value": pair.claim}]})
    [found] = scorecard.judge(Pack("p", Path(), pack), ["s"], {"s": pair.results}).rows
    return found.values["s"]


def same(x: Interval, y: Interval) -> bool:
    """Whether two intervals are one."""
    return bool(np.allclose(x[:3], y[:3], rtol=1e-9, atol=1e-12, equal_nan=True))


def pairs(only: Callable[[Pair], bool] = lambda _: True) -> Iterator[Pair]:
    return (one for one in map(pair, range(PAIRS)) if only(one))


def _differ(one: Pair) -> bool:
    """Whether a difference of runs is asked for that are not the same."""
    a, b = (one.results.sample(cell, "value") for cell in "ab")
    return one.kind == "difference" and not a.keep_common(b).equals(b.keep_common(a))


ASKED: dict[Callable[[Pair], Interval], Callable[[Pair], bool]] = {
    in_table: lambda _: True,
    in_figure: lambda _: True,
    in_figure_of_a_list: lambda one: not one.info.controls,
    compared: _differ,
    of_a_choice: _differ,
    scored: lambda _: True,
}


@pytest.mark.parametrize("ask", ASKED)
def test_a_pair_has_one_interval_everywhere(ask: Callable[[Pair], Interval]) -> None:
    for number, one in enumerate(pairs(ASKED[ask])):
        assert same(claimed(one), ask(one)), (number, one, claimed(one), ask(one))


def wanted(shown: Interval, relative_to: float, ran: int) -> int:
    """How many replicates would make an interval as narrow as the rule asks, by its width alone."""
    reach, bound = max(shown.high - shown.value, shown.value - shown.low), 0.05 / 1.05 * relative_to
    if math.isnan(reach) or bound == 0.0:
        return 2 * ran
    return ran if reach <= bound else max(ran + 1, math.ceil(ran * (reach / bound) ** 2))


def test_stopping_looks_at_the_interval_that_is_shown() -> None:
    column = {"heading": "c", "quantity": "value", "where": {"v": "a"}}
    for one in pairs():
        table = Table.model_validate(
            {"id": "t", "title": "t", "rows": ["subject"], "columns": [{**column, "compare": one.compare}]}
        )
        shown = in_table(one)
        if shown.exact or math.isnan(shown.value) or shown.n < RULE.first_look:
            continue
        alone, found = (replicates_by_cell(RULE, one.results, tables)["a"] for tables in ([], [table]))
        own, base = (one.results.sample(cell, "value") for cell in "ab")
        a, b = own.keep_common(base), base.keep_common(own)
        relative_to = {
            "ratio": abs(shown.value),
            "decrease": abs(100.0 - shown.value),
            "increase": abs(100.0 + shown.value),
            "difference": max(abs(a.estimate().value), abs(b.estimate().value)),
        }[one.kind]
        ran = min(len(side.runs) for side in (own, base) if not side.exact)
        assert found == max(alone, wanted(shown, relative_to, ran)), (one, shown)


def test_what_is_shown_is_decided_by_the_same_interval() -> None:
    """A claim that numbers of any sign differ is decided where their difference's interval leaves out 0."""
    for one in pairs(lambda one: one.info.range is ANY):
        a, b = (one.results.sample(cell, "value") for cell in "ab")
        answer, apart = is_less(a, b), (b - a).estimate()
        low, high = apart.decided
        assert answer is (True if low > 0.0 else False if high < 0.0 or low == high else None), (
            a.runs,
            b.runs,
        )


def test_an_exact_value_stands_for_all_replicates_of_the_other_side() -> None:
    runs = np.array([5.0, 5.2, 4.9, 5.4, 5.1])
    exact, random = sample([8.0], NON_NEGATIVE, streams=EXACT), sample(runs, NON_NEGATIVE)
    found = (random / exact).estimate()
    assert found.n == 5 and found.value == pytest.approx(runs.mean() / 8.0)
    alone = random.derived.estimate()
    assert (found.low * 8.0, found.high * 8.0) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_pairing_follows_from_the_random_numbers() -> None:
    rng = np.random.default_rng(1)
    load = rng.normal(0.0, 1.0, 12)
    a, b = (sample(10.0 + load + 0.1 * rng.normal(0.0, 1.0, 12)) for _ in "ab")
    apart = sample(b.runs, streams=Streams("paired", "another seed"))
    assert (a - b).estimate().half_width < (a - apart).estimate().half_width / 5
    assert (a - a).estimate().decided == (0.0, 0.0)


def test_the_values_of_results_and_samples_cannot_be_changed() -> None:
    runs = [1.0, 2.0, 3.0]
    results = make_results((CellInfo("x", {}),), {"value": "s"}, {("x", "value"): runs})
    before = results.estimate("x", "value")
    runs[0] = 100.0
    with pytest.raises(TypeError):
        results.data["x", "value"] = (4.0,)  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        results.sample("x", "value").runs[0] = 100.0
    assert results.estimate("x", "value") == before
    assert results.values("x", "value").tolist() == [1.0, 2.0, 3.0]
