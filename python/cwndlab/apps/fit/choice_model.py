"""Selection of combinations of choices to run: a model of a few runs predicts the others."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cwndlab.apps.captures.flow_packets import Floats
from cwndlab.study.schema import Scalar
from cwndlab.study.values import same_value

Choices: TypeAlias = Mapping[str, Scalar]
#: Penalties of the ridge regression for terms of choices, and of pairs, in units of one run.
_RIDGE, _PAIR_RIDGE = 0.1, 10.0
#: Combinations predicted at a time.
_ROWS = 4096


def latin_hypercube(over: Mapping[str, Sequence[Scalar]], count: int, *, seed: int) -> list[Choices]:
    """A Latin hypercube sample: combinations in which all values of a choice are about equally frequent."""
    rng = random.Random(seed)
    columns = {}
    for name, values in over.items():
        column = [values[k % len(values)] for k in range(count)]
        rng.shuffle(column)
        columns[name] = column
    rows = [{name: column[k] for name, column in columns.items()} for k in range(count)]
    return [row for k, row in enumerate(rows) if row not in rows[:k]]


@dataclass(frozen=True)
class ChoiceModel:
    """A linear model of each number of a table: a term for each choice and for each pair of choices."""

    over: Mapping[str, Sequence[Scalar]]
    coefficients: Floats
    mean: Floats
    #: The leave-one-out prediction error of each number (root mean square).
    error: Floats

    @classmethod
    def of_runs(
        cls,
        over: Mapping[str, Sequence[Scalar]],
        run: Sequence[Choices],
        estimates: Sequence[Sequence[float]],
    ) -> ChoiceModel:
        """The model fitted to combinations that were run, with their numbers; NaN is replaced by the mean."""
        found = np.array(estimates, dtype=float)
        mean = np.nan_to_num(np.nanmean(found, axis=0))
        design = _design(over, run)
        inverse = np.linalg.inv(design.T @ design + np.eye(design.shape[1]))
        around = np.where(np.isnan(found), 0.0, found - mean)
        coefficients = inverse @ design.T @ around
        # The leave-one-out residual of a ridge regression is its residual divided by 1 - leverage.
        leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
        left_out = (around - design @ coefficients) / (1 - leverage)[:, None]
        return cls(over, coefficients, mean, np.sqrt(np.mean(left_out**2, axis=0)))

    def estimates(self, every: Sequence[Choices]) -> Floats:
        """The predicted numbers, a row for each combination."""
        parts = [every[start : start + _ROWS] for start in range(0, len(every), _ROWS)]
        return np.concatenate([_design(self.over, part) @ self.coefficients + self.mean for part in parts])


def _design(over: Mapping[str, Sequence[Scalar]], every: Sequence[Choices]) -> Floats:
    """The design matrix: centred indicators of each value and of each pair of values of different choices,
    divided by the root of their penalty.
    """
    names = [
        np.array([[same_value(one[name], value) for value in over[name]] for one in every]) for name in over
    ]
    single = [columns - 1 / columns.shape[1] for columns in names]
    pairs = [
        (one[:, :, None] * other[:, None, :]).reshape(len(every), -1)
        for one, other in itertools.combinations(single, 2)
    ]
    return np.hstack(
        [*(pair / math.sqrt(_RIDGE) for pair in single), *(one / math.sqrt(_PAIR_RIDGE) for one in pairs)]
    )


def nearest_predicted(
    over: Mapping[str, Sequence[Scalar]],
    every: Sequence[Choices],
    predicted: Sequence[float],
    count: int,
    run: Sequence[Choices],
) -> list[int]:
    """Indices of the next combinations to run: the nearest for each value, then the nearest overall."""
    order = sorted(range(len(every)), key=lambda k: predicted[k])
    first = [
        next(k for k in order if same_value(every[k][name], value))
        for name, values in over.items()
        for value in values
    ]
    new = [k for k in dict.fromkeys([*first, *order[: count + len(run)]]) if every[k] not in run]
    return new[:count]


@dataclass(frozen=True)
class Search:
    """How the combinations were selected, and how well the model predicted them."""

    total: int
    drawn: int
    #: The predicted and the actual distance of each selected combination.
    pairs: tuple[tuple[float, float], ...]

    def share(self, run: int) -> str:
        """The number of combinations that were run, of the total, as text."""
        return f"{run} of {self.total:,}"

    def sentence(self) -> str:
        """A description of the search and its accuracy, in sentences."""
        predicted, found = np.array(self.pairs).T
        error = float(np.median(np.abs(predicted - found)))
        return (
            f"{self.drawn} of {self.total:,} combinations were drawn, and {len(self.pairs)} more were run "
            "that a model of these predicts to be near. It predicts their distances with an error "
            f"of {error:.2f} (median), so another combination may be nearer by about that much."
        )
