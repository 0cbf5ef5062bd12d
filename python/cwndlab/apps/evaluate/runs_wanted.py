"""Estimates of how many runs would decide an open comparison."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping, Sequence

from cwndlab.stats import field
from cwndlab.stats.expression import Evaluator
from cwndlab.stats.field import Field
from cwndlab.stats.sample import CLOSE, Number
from cwndlab.study.grammar import parse

from .pack import PLACEHOLDER, Criterion

#: Larger numbers of runs are not stated.
_MOST_RUNS = 1000


def runs_text(count: int) -> str:
    """A number of runs as text, rounded because it is an estimate."""
    if count > _MOST_RUNS:
        return f"more than {_MOST_RUNS:,} runs"
    step = 1 if count < 20 else 10 if count < 200 else 100
    return f"about {math.ceil(count / step) * step} runs"


def _runs(apart: Number) -> int | None:
    """The estimated number of replicates that show a difference from 0; None if it cannot be estimated.

    The half-width of an interval is proportional to one over the square root of the number of replicates.
    """
    found = apart.estimate()
    half = (found.high - found.low) / 2
    if not math.isfinite(half) or abs(found.value) <= CLOSE:
        return None
    return max(found.n + 1, math.ceil(found.n * (half / found.value) ** 2))


def runs_to_differ(numbers: Field, alike: Mapping[str, Collection[str]]) -> dict[str, tuple[int, str]]:
    """For names that differ from no other: the fewest runs that would show a difference, and from whom."""
    found = {}
    for name, others in alike.items():
        runs = [(_runs(numbers.data[(name,)] - numbers.data[(other,)]), other) for other in others]
        if known := [(count, other) for count, other in runs if count is not None]:
            found[name] = min(known)
    return found


def runs_to_decide(criterion: Criterion, subjects: Sequence[str], evaluator: Evaluator) -> dict[str, int]:
    """The estimated number of runs that decides all undecided comparisons in each subject's limit."""
    found = {}
    for subject in subjects:
        tree = parse(str(criterion.requires).replace(PLACEHOLDER, f'"{subject}"'))
        counts: list[int | None] = []
        for part in tree.values if isinstance(tree, ast.BoolOp) else [tree]:
            if isinstance(part, ast.Compare):
                holds = evaluator.value(part)
                sides = evaluator.value(part.left), evaluator.value(part.comparators[0])
                apart = field.combine(*sides, lambda a, b: a - b).data
                counts += [_runs(apart[key]) for key in holds.data if field.as_truth(holds, key) is None]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            found[subject] = max(known)
    return found
