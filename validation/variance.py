"""The runs that adjusting and pairing save, and their coverage: `python -m validation.variance`.

Each cell is run many times, and these runs represent its population: samples are drawn from them with
replacement, and intervals are computed with and without adjustment. The true value is the mean of all runs,
with controls shifted to a mean of 0. The command prints the tables of docs/evidence/adjusted-intervals.md;
`--write` puts them there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwndlab import Study, _core, metrics
from cwndlab.base.numbers import Range
from cwndlab.records.run_view import WholeRun
from cwndlab.stats import intervals
from cwndlab.stats.adjustment import adjust
from cwndlab.stats.intervals import Interval
from cwndlab.stats.sample import Sample, relate

from .page import replace_part

Floats = NDArray[np.float64]

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "adjusted-intervals.md"
BEGIN, END = "<!-- made by python -m validation.variance --write -->", "<!-- end of the tables -->"

RUNS = 400
SIZES = (10, 20)
"""Runs per sample."""
TRIALS = 2000
"""Number of samples; the standard error of a coverage of 95 % is then half a percentage point."""


@dataclass(frozen=True)
class Case:
    """Quantities of one cell of a study; with `against`, also their decrease relative to another cell."""

    study: str
    cell: str
    quantities: tuple[str, ...]
    against: str = ""


def _pages(webs: int, ftps: int, iw: int) -> str:
    return f"model=reconstructed,http=1.0,webs={webs},ftps={ftps},iw={iw}"


def _window(speed: str, depth: str, iw: int) -> str:
    return f"question=window,speed={speed},depth={depth},iw={iw}"


def _loss(law: str, loss: str) -> str:
    return f"question=random-loss,law={law},loss={loss}"


_LOADED = ("page_delay", "file_delay", "drops", "utilization", "pages", "ftp_power")
CASES = (
    Case("rfc2415", _pages(8, 0, 1), ("page_delay", "utilization", "web_power", "pages")),
    Case("rfc2415", _pages(16, 1, 3), _LOADED, against=_pages(16, 1, 1)),
    Case("rfc2415", _pages(32, 1, 3), _LOADED, against=_pages(32, 1, 1)),
    Case("modern", _window("0.25", "200pkt", 3), ("page_delay", "utilization", "wait")),
    Case("modern", _window("1", "200pkt", 10), ("page_delay", "utilization", "wait")),
    Case("modern", _window("10", "20pkt", 10), ("page_delay", "utilization", "wait")),
    Case("bbr", _loss("cubic", "1"), ("retransmitted",)),
    Case("bbr", _loss("cubic", "10"), ("retransmitted",)),
    Case("bbr", _loss("google-v3", "15"), ("retransmitted",)),
    Case("bbr", _loss("bbr3", "20"), ("retransmitted",)),
)


class Population(NamedTuple):
    """All runs of a cell: the values of a quantity, and of its controls, which have a mean of 0."""

    values: Floats
    controls: Sequence[Floats]
    within: Range

    def sample(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats | None]:
        """The values of the runs with these indices, plain and adjusted (None if not possible)."""
        values = self.values[rows]
        return values, adjust(values, [control[rows] for control in self.controls], self.within)

    @property
    def explained(self) -> float:
        """The share of the variance that the controls explain."""
        varying = [control for control in self.controls if np.ptp(control) > 0.0]
        design = np.column_stack([np.ones(len(self.values)), *varying])
        fitted = design @ np.linalg.lstsq(design, self.values, rcond=None)[0]
        return 1.0 - float(np.var(self.values - fitted) / np.var(self.values))


def _one(task: tuple[str, int, int, metrics.Measurer]) -> dict[str, float]:
    scenario, seed, replicate, measurer = task
    records = _core.run(scenario, seed, replicate)
    values = measurer.measure(WholeRun(records, json.loads(scenario)))
    return {name: value for name, value in values.items() if isinstance(value, float)}


def populations(study: Study, cell: str, runs: int, pool: ProcessPoolExecutor) -> Mapping[str, Population]:
    """The adjusted quantities of a cell, by name, over this many runs."""
    plan, quantities = study.plan(), {quantity.name: quantity for quantity in study.outline.quantities}
    scenario = next(candidate.scenario for candidate in plan.cells if candidate.id == cell)
    adjusted = [quantity for quantity in quantities.values() if quantity.adjust_for]
    measured = {name for quantity in adjusted for name in (quantity.name, *quantity.adjust_for)}
    measurer = metrics.Measurer([quantities[name] for name in quantities if name in measured])
    tasks = ((scenario, plan.seed, k, measurer) for k in range(runs))
    rows = list(pool.map(_one, tasks, chunksize=10))
    values = {name: np.array([row[name] for row in rows]) for name in measured}
    centred = {name: values[name] - values[name].mean() for one in adjusted for name in one.adjust_for}
    return {
        one.name: Population(
            values[one.name], [centred[name] for name in one.adjust_for], metrics.find_range(one, quantities)
        )
        for one in adjusted
    }


class Compared(NamedTuple):
    """Two kinds of intervals: their coverage (%), and how many times fewer runs the second kind needs."""

    first: float
    second: float
    saved: float


def compared(pairs: Sequence[tuple[Interval, Interval]], truth: float) -> Compared:
    """The comparison of two intervals of the same samples; widths are proportional to 1 / sqrt(runs)."""
    ends = np.array([[(interval.low, interval.high) for interval in pair] for pair in pairs])
    hits = 100.0 * ((ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])).mean(axis=0)
    widths = (ends[:, :, 1] - ends[:, :, 0]).mean(axis=0)
    return Compared(float(hits[0]), float(hits[1]), float((widths[0] / widths[1]) ** 2))


def mean_of(one: Population, size: int, trials: int) -> Compared:
    """The comparison for the mean, without and with adjustment."""
    rng = np.random.default_rng([len(one.values), size])
    pairs = []
    for _ in range(trials):
        values, freed = one.sample(rng.integers(0, len(one.values), size))
        plain = intervals.mean(values, one.within)
        pairs.append((plain, plain if freed is None else intervals.mean(freed, one.within, adjusted=True)))
    return compared(pairs, float(np.mean(one.values)))


def decrease_of(a: Population, b: Population, size: int, trials: int) -> tuple[Compared, Compared]:
    """The comparisons for the decrease between two cells: unpaired and paired, then paired and adjusted."""
    rng = np.random.default_rng([len(a.values), size])
    apart, together = [], []

    def interval(x: Floats, y: Floats) -> Interval:
        return relate("decrease", *(Sample(runs, range=a.within) for runs in (x, y))).estimate()

    for _ in range(trials):
        rows, others = rng.integers(0, len(a.values), (2, size))
        (x, freed_x), (y, freed_y) = a.sample(rows), b.sample(rows)
        paired = interval(x, y)
        apart.append((interval(x, b.values[others]), paired))
        freed = paired if freed_x is None or freed_y is None else interval(freed_x, freed_y)
        together.append((paired, freed))
    truth = 100.0 * (1.0 - float(np.mean(a.values) / np.mean(b.values)))
    return compared(apart, truth), compared(together, truth)


def means(case: Case, known: Mapping[str, Population], trials: int) -> Iterator[tuple[str, list[float]]]:
    """Rows of the first table, each with the factors by which runs are saved."""
    for name in case.quantities:
        at = [mean_of(known[name], size, trials) for size in SIZES]
        cover = " | ".join(f"{row.first:.1f} / {row.second:.1f}" for row in at)
        saved = " | ".join(f"{row.saved:.1f}" for row in at)
        cell = case.cell.replace(",", ", ")
        line = f"| {case.study} | {cell} | {name} | {100 * known[name].explained:.0f} | {saved} | {cover} |"
        yield line, [row.saved for row in at]


def tables(runs: int, trials: int) -> str:
    """Both tables in Markdown."""
    sizes = " | ".join(f"times fewer runs, n = {n}" for n in SIZES)
    covers = " | ".join(f"coverage (%), n = {n}" for n in SIZES)
    first = [
        f"| study | cell | quantity | explained (%) | {sizes} | {covers} |",
        "|---|---|---|" + "---:|" * (1 + 2 * len(SIZES)),
    ]
    second = [
        "| study | decrease of | to cell, from IW = 1 | times fewer runs by pairing | then by adjusting | "
        "coverage (%) |",
        "|---|---|---|---:|---:|---:|",
    ]
    saved: dict[str, list[list[float]]] = {}
    with ProcessPoolExecutor(2) as pool:
        for case in CASES:
            study = Study.load(case.study)
            known = populations(study, case.cell, runs, pool)
            for line, at in means(case, known, trials):
                first.append(line)
                saved.setdefault(case.study, []).append(at)
            others = populations(study, case.against, runs, pool) if case.against else {}
            for name in case.quantities if others else ():
                apart, together = decrease_of(known[name], others[name], SIZES[-1], trials)
                covers = f"{together.first:.1f} / {together.second:.1f}"
                cell = case.cell.replace(",", ", ")
                numbers = f"{apart.saved:.1f} | {together.saved:.1f} | {covers}"
                second.append(f"| {case.study} | {name} | {cell} | {numbers} |")
    for name, lines in saved.items():
        middle = " | ".join(f"**{np.median(column):.1f}**" for column in zip(*lines, strict=True))
        first.append(f"| **{name}** | median of its {len(lines)} rows | | | {middle} | | |")
    return "\n".join([*first, "", *second])


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m validation.variance", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    options = parser.parse_args()
    made = tables(options.runs, options.trials)
    if not options.write:
        print(made)
        return
    replace_part(PAGE, BEGIN, END, made)


if __name__ == "__main__":
    main()
