"""Coverage of the intervals of `cwndlab.stats`: `python -m validation.coverage`.

Every method is applied to data with a known mean (median, ratio, next run), with 3, 5, 10 and 30 replicates.
The coverage is the share of intervals that contain the true value; 95 % is claimed. The command prints the
table of docs/evidence/intervals.md; `--write` puts it there. A test runs this with fewer trials.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cwndlab.base.numbers import ANY, COUNT, NON_NEGATIVE, SHARE, Range
from cwndlab.stats.further import Asked, predict
from cwndlab.stats.intervals import Interval
from cwndlab.stats.sample import PAIRED, Sample, Streams, relate

from .page import replace_part

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "intervals.md"
BEGIN, END = "<!-- made by python -m validation.coverage --write -->", "<!-- end of the table -->"

REPLICATES = (3, 5, 10, 30)
TRIALS = 2500
"""Trials of each case; the standard error of a coverage of 95 % is then 0.44 percentage points."""

CLAIMED = 0.93
"""The coverage that a method must reach with every number of replicates, unless the table gives a reason."""


@dataclass(frozen=True)
class Case:
    """A method applied to one kind of data."""

    method: str
    data: str
    interval: Callable[[np.random.Generator, int], tuple[Interval, float]]
    """Runs one trial: returns the interval from n replicates, and the true value."""
    short: str = ""
    """Why the coverage is lower than claimed; "" if it is not."""


@dataclass(frozen=True)
class Coverage:
    """The counts of trials for one number of replicates: hits, intervals given, trials, and warnings."""

    hits: int
    given: int
    trials: int
    warned: int

    @property
    def share(self) -> float:
        """Share of the given intervals that contain the true value; NaN if almost none is given."""
        return self.hits / self.given if self.given >= self.trials / 100 else math.nan


def _normal(mean: float, deviation: float) -> Draw:
    return lambda rng, n: rng.normal(mean, deviation, n)


def _lognormal(sigma: float) -> Draw:
    return lambda rng, n: rng.lognormal(0.0, sigma, n)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, n)


def _poisson(mean: float) -> Draw:
    return lambda rng, n: rng.poisson(mean, n).astype(np.float64)


def _geometric(mean: float) -> Draw:
    return lambda rng, n: rng.geometric(1.0 / (1.0 + mean), n) - 1.0


def _exponential(rng: np.random.Generator, n: int) -> Floats:
    return rng.exponential(1.0, n)


def _gamma(rng: np.random.Generator, n: int) -> Floats:
    return rng.gamma(0.5, 1.0, n)


def _pareto(rng: np.random.Generator, n: int) -> Floats:
    return 1.0 + rng.pareto(2.5, n)


def _student(rng: np.random.Generator, n: int) -> Floats:
    return 10.0 + rng.standard_t(3.0, n)


def _jump(rng: np.random.Generator, n: int) -> Floats:
    return 1.0 + rng.normal(0.0, 0.02, n) + 0.5 * (rng.random(n) < 0.2)


def _sample(runs: Floats, within: Range, statistic: str = "mean", streams: Streams = PAIRED) -> Sample:
    return Sample(runs, range=within, statistic=statistic, streams=streams)


def _mean(data: str, draw: Draw, truth: float, within: Range, short: str = "") -> Case:
    kind = "count" if within.count else {ANY: "any sign", NON_NEGATIVE: "≥ 0", SHARE: "share"}[within]
    return Case(
        f"mean, {kind}", data, lambda rng, n: (_sample(draw(rng, n), within).estimate(), truth), short
    )


def _median(data: str, draw: Draw, truth: float) -> Case:
    return Case("median", data, lambda rng, n: (_sample(draw(rng, n), ANY, "median").estimate(), truth))


Pairs = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def _compared(
    kind: str,
    data: str,
    pairs: Pairs,
    truth: float,
    within: Range = NON_NEGATIVE,
    statistic: str = "mean",
    short: str = "",
    *,
    seeds: tuple[str, str] = ("", ""),
) -> Case:
    def trial(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        both = (
            _sample(runs, within, statistic, Streams("paired", seed))
            for runs, seed in zip(pairs(rng, n), seeds, strict=True)
        )
        return relate(kind, *both).estimate(), truth

    sign = ", any sign (Fieller)" if kind == "ratio" and within is ANY else ""
    apart = "" if seeds[0] == seeds[1] else ", other seeds (Welch)"
    return Case(f"{kind} of {statistic}s{sign}{apart}", data, trial, short)


def _predicted(data: str, draw: Draw, within: Range, runs: int = 1, short: str = "") -> Case:
    def trial(rng: np.random.Generator, n: int) -> tuple[Interval, float]:
        values = draw(rng, n + runs)
        return predict(Asked(None, runs), _sample(values[:n], within), None), float(np.mean(values[n:]))

    return Case("one further run" if runs == 1 else f"mean of {runs} further runs", data, trial, short)


def _shared(noise: float, load: Draw) -> Pairs:
    """Pairs that share the load of each replicate, like runs with common random numbers."""

    def pairs(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        common = load(rng, n)
        return 1.2 * common * rng.lognormal(0.0, noise, n), common * rng.lognormal(0.0, noise, n)

    return pairs


def _both(a: Draw, b: Draw) -> Pairs:
    return lambda rng, n: (a(rng, n), b(rng, n))


INDEPENDENT = _both(_lognormal(0.5), _lognormal(0.5))
SEEDS = ("1", "2")
NORMALS = _both(_normal(12.0, 2.4), _normal(10.0, 2.0))
LOADED = _shared(0.1, _lognormal(0.5))
SKEWED = _shared(0.2, _lognormal(1.0))
LOAD = _shared(0.1, _exponential)
RARE = _both(_poisson(1.5), _poisson(0.5))
SHARES = _both(_beta(9.0, 0.5), _beta(8.0, 1.0))

TAIL = "a heavy tail shows only once a run has met it"
JUMP = "what happens in one of five runs is mostly not among three"
WIDE, SOME = "strong skewness", "skewness"

CASES = (
    _mean("normal", _normal(10.0, 2.0), 10.0, ANY),
    _mean("Student t, 3 degrees (heavy tails)", _student, 10.0, ANY),
    _mean("normal", _normal(10.0, 2.0), 10.0, NON_NEGATIVE),
    _mean("lognormal, σ = 0.5", _lognormal(0.5), math.exp(0.125), NON_NEGATIVE),
    _mean("exponential", _exponential, 1.0, NON_NEGATIVE),
    _mean("lognormal, σ = 1", _lognormal(1.0), math.exp(0.5), NON_NEGATIVE),
    _mean("lognormal, σ = 1.5", _lognormal(1.5), math.exp(1.125), NON_NEGATIVE, WIDE),
    _mean("gamma, shape 0.5", _gamma, 0.5, NON_NEGATIVE),
    _mean("Pareto, α = 2.5", _pareto, 2.5 / 1.5, NON_NEGATIVE, TAIL),
    _mean("1, in 20 % of runs 1.5", _jump, 1.1, NON_NEGATIVE, JUMP),
    _mean("beta (9, 0.5)", _beta(9.0, 0.5), 9.0 / 9.5, SHARE),
    _mean("beta (2, 18)", _beta(2.0, 18.0), 0.1, SHARE),
    _mean("beta (0.5, 9)", _beta(0.5, 9.0), 0.5 / 9.5, SHARE),
    _mean("Poisson, mean 0.5", _poisson(0.5), 0.5, COUNT),
    _mean("Poisson, mean 5", _poisson(5.0), 5.0, COUNT),
    _mean("geometric, mean 5 (bursts)", _geometric(5.0), 5.0, COUNT),
    _median("lognormal, σ = 1", _lognormal(1.0), 1.0),
    _compared("difference", "normal", NORMALS, 2.0),
    _compared("difference", "lognormal, σ = 0.5, common load", LOADED, 0.2 * math.exp(0.13), short=SOME),
    _compared("difference", "lognormal, σ = 1, common load", SKEWED, 0.2 * math.exp(0.52), short=WIDE),
    _compared("difference", "exponential, common load", LOAD, 0.2 * math.exp(0.005), short=WIDE),
    _compared("difference", "Poisson, means 1.5 and 0.5", RARE, 1.0, COUNT),
    _compared("difference", "beta (9, 0.5) and (8, 1)", SHARES, 9.0 / 9.5 - 8.0 / 9.0, SHARE),
    _compared("ratio", "normal", NORMALS, 1.2),
    _compared("ratio", "lognormal, σ = 0.5", INDEPENDENT, 1.0),
    _compared("ratio", "lognormal, σ = 0.5, common load", LOADED, 1.2),
    _compared("ratio", "lognormal, σ = 1, common load", SKEWED, 1.2, short=WIDE),
    _compared("ratio", "Poisson, means 1.5 and 0.5", RARE, 3.0, COUNT),
    _compared("ratio", "exponential denominator", _both(_normal(1.2, 0.05), _exponential), 1.2),
    _compared("ratio", "normal", NORMALS, 1.2, ANY),
    _compared("ratio", "lognormal, σ = 0.5, common load", LOADED, 1.2, NON_NEGATIVE, "median"),
    _compared("difference", "normal", NORMALS, 2.0, ANY, "median"),
    _compared("ratio", "lognormal, σ = 0.5", INDEPENDENT, 1.0, NON_NEGATIVE, "median"),
    _compared("difference", "normal, deviations 2.4 and 2", NORMALS, 2.0, ANY, seeds=SEEDS),
    _compared("ratio", "lognormal, σ = 0.5", INDEPENDENT, 1.0, seeds=SEEDS),
    _compared("ratio", "normal", NORMALS, 1.2, ANY, seeds=SEEDS),
    _predicted("normal", _normal(10.0, 2.0), ANY),
    _predicted("lognormal, σ = 1", _lognormal(1.0), NON_NEGATIVE),
    _predicted("beta (9, 0.5)", _beta(9.0, 0.5), SHARE),
    _predicted("Poisson, mean 0.5", _poisson(0.5), COUNT),
    _predicted("geometric, mean 5 (bursts)", _geometric(5.0), COUNT),
    _predicted("1, in 20 % of runs 1.5", _jump, NON_NEGATIVE, 1, JUMP),
    _predicted("normal", _normal(10.0, 2.0), ANY, 10),
    _predicted("lognormal, σ = 0.5", _lognormal(0.5), NON_NEGATIVE, 10),
    _predicted("lognormal, σ = 1", _lognormal(1.0), NON_NEGATIVE, 10, WIDE),
)  # fmt: skip


def cover(case: Case, n: int, trials: int) -> Coverage:
    """Runs `trials` trials of a method; the seed depends only on the case and n."""
    rng = np.random.default_rng([zlib.crc32(f"{case.method}: {case.data}".encode()), n])
    hits = given = warned = 0
    for _ in range(trials):
        interval, truth = case.interval(rng, n)
        if not math.isnan(interval.low):
            slack = 1e-9 * abs(truth)
            given += 1
            warned += bool(interval.warning)
            hits += interval.low - slack <= truth <= interval.high + slack
    return Coverage(hits, given, trials, warned)


def rows(trials: int) -> Iterator[tuple[Case, tuple[Coverage, ...]]]:
    """The coverage of every case with every number of replicates."""
    for case in CASES:
        yield case, tuple(cover(case, n, trials) for n in REPLICATES)


def table(trials: int) -> str:
    """The table in Markdown."""
    lines = [
        "| interval of | data | " + " | ".join(f"n = {n}" for n in REPLICATES) + " | |",
        "|---|---|" + "---:|" * len(REPLICATES) + "---|",
    ]
    for case, found in rows(trials):
        cells = " | ".join(map(text, found))
        lines.append(f"| {case.method} | {case.data} | {cells} | {_why(case, found)} |")
    return "\n".join(lines)


def _why(case: Case, found: Sequence[Coverage]) -> str:
    """The reason for a low coverage, and the percentages of trials whose interval has a warning."""
    if not case.short:
        return ""
    return f"{case.short}; warned: {', '.join(f'{100 * c.warned / c.trials:.0f}' for c in found)}"


def text(found: Coverage) -> str:
    """A coverage in percent; in parentheses the share of trials with an interval, unless it is 100 %."""
    if math.isnan(found.share):
        return "none"
    given = found.given / found.trials
    return f"{100 * found.share:.1f}" + (f" ({100 * given:.0f})" if given < 0.995 else "")


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m validation.coverage", description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--write", action="store_true", help="put the table into the page on statistics")
    options = parser.parse_args()
    made = table(options.trials)
    if not options.write:
        print(made)
        return
    replace_part(PAGE, BEGIN, END, made)


if __name__ == "__main__":
    main()
