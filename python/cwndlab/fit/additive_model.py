"""Which of many combinations of choices to run: an additive model of some predicts the others."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cwndlab.spec.schema import Scalar
from cwndlab.spec.values import same_value

from .flow_packets import Floats

Choices: TypeAlias = Mapping[str, Scalar]
#: How much the coefficients of the model are drawn to 0, as a share of a run.
_RIDGE = 0.1


def latin_hypercube(over: Mapping[str, Sequence[Scalar]], count: int, *, seed: int) -> list[Choices]:
    """Combinations in which the values of a choice are about equally frequent."""
    rng = random.Random(seed)
    columns = {}
    for name, values in over.items():
        column = [values[k % len(values)] for k in range(count)]
        rng.shuffle(column)
        columns[name] = column
    rows = [{name: column[k] for name, column in columns.items()} for k in range(count)]
    return [row for k, row in enumerate(rows) if row not in rows[:k]]


@dataclass(frozen=True)
class AdditiveModel:
    """Each number of a table as a sum of one term for each choice."""

    over: Mapping[str, Sequence[Scalar]]
    coefficients: Floats
    mean: Floats

    @classmethod
    def of_runs(
        cls,
        over: Mapping[str, Sequence[Scalar]],
        run: Sequence[Choices],
        estimates: Sequence[Sequence[float]],
    ) -> AdditiveModel:
        """The model of combinations that were run, with the numbers of each; NaN is taken for their mean."""
        found = np.array(estimates, dtype=float)
        mean = np.nan_to_num(np.nanmean(found, axis=0))
        design = np.array([list(_columns(over, one)) for one in run])
        left = design.T @ design + _RIDGE * np.eye(design.shape[1])
        right = design.T @ np.where(np.isnan(found), 0.0, found - mean)
        return cls(over, np.linalg.solve(left, right), mean)

    def estimates(self, choices: Choices) -> Floats:
        """The numbers that it predicts."""
        return np.asarray(self.mean + np.array(list(_columns(self.over, choices))) @ self.coefficients)


def _columns(over: Mapping[str, Sequence[Scalar]], choices: Choices) -> Iterator[float]:
    """For each value of each choice, how far its presence is from the average."""
    for name, values in over.items():
        for value in values:
            yield float(same_value(choices[name], value)) - 1 / len(values)


def nearest_predicted(
    over: Mapping[str, Sequence[Scalar]],
    every: Sequence[Choices],
    predicted: Sequence[float],
    count: int,
    run: Sequence[Choices],
) -> list[int]:
    """The combinations to run next: the nearest with each value of each choice, then the nearest of all."""
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
    """How combinations were chosen, and how well the model predicted those that it chose."""

    total: int
    drawn: int
    #: Predicted and found distance of each.
    pairs: tuple[tuple[float, float], ...]

    def share(self, run: int) -> str:
        """How many of them were run."""
        return f"{run} of {self.total:,}"

    def sentence(self) -> str:
        """How it was done, in plain words."""
        predicted, found = np.array(self.pairs).T
        error = float(np.median(np.abs(predicted - found)))
        return (
            f"{self.drawn} of {self.total:,} combinations were drawn, and {len(self.pairs)} more were run "
            "that an additive model of these predicts to be near. It predicts their distances with an error "
            f"of {error:.2f} (median), so another combination may be nearer by about that much."
        )
