"""How probable each choice behind published tables is, if one of the combinations is right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cwndlab.metrics._numbers import Floats
from cwndlab.spec.schema import Scalar
from cwndlab.spec.values import text

from .published_numbers import FARTHEST, Number, squared_scale

#: Below this a value counts as excluded, and with the rest as determined.
UNLIKELY = 0.05
#: Tables of known combinations by which the weight of a number is chosen.
TRUTHS = 100
#: For how many independent numbers each of a table's may count, since they are not independent.
_WEIGHTS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)


@dataclass(frozen=True)
class ScaledNumbers:
    """Published numbers and those of every combination, all in units of their scale."""

    #: The place of each number's block.
    block: Sequence[int]
    published: Floats
    #: A row for each combination.
    predicted: Floats

    @classmethod
    def of_numbers(
        cls,
        numbers: Sequence[Number],
        variances: Sequence[float],
        estimates: Floats,
        error: Floats | float = 0.0,
    ) -> ScaledNumbers:
        """These numbers with the estimates of every combination (row), which have this error.

        An estimate that is not known counts as one that lies as far away as counts at all.
        """
        blocks = list(dict.fromkeys(number.block for number in numbers))
        published = np.array([number.published for number in numbers])
        squared = [squared_scale(number, one) for number, one in zip(numbers, variances, strict=True)]
        scale = np.sqrt(np.maximum(squared, 1e-300) + np.square(error))
        predicted = np.where(np.isnan(estimates), published + math.sqrt(FARTHEST) * scale, estimates)
        block = [blocks.index(number.block) for number in numbers]
        return cls(block, published / scale, predicted / scale)

    def distances(self) -> Floats:
        """The distance of each combination from the published numbers, of which each is cut at `FARTHEST`."""
        squares = np.minimum((self.predicted - self.published) ** 2, FARTHEST)
        return np.asarray(self._block_means(squares).mean(axis=1))

    def squares(self, numbers: Floats) -> Floats:
        """The mean squared difference of each combination (row) from these numbers in each block (column)."""
        return self._block_means((self.predicted - numbers) ** 2)

    def _block_means(self, squares: Floats) -> Floats:
        members = [np.equal(self.block, one) for one in range(max(self.block) + 1)]
        return np.stack([squares[:, one].mean(axis=1) for one in members], axis=1)

    @property
    def counts(self) -> Floats:
        """The numbers of each block."""
        return np.bincount(self.block).astype(float)

    def likelihood(self, squares: Floats, weight: float) -> Floats:
        """The logarithm of each combination's likelihood.

        What remains of a block is normal. Its variance in units of the scale's is not known: it is the most
        likely one from 1.
        """
        variance = np.maximum(squares, 1.0)
        return np.asarray(-weight / 2 * (np.log(variance) + squares / variance) @ self.counts)

    def tables_of(self, k: int, rng: np.random.Generator) -> Floats:
        """The numbers of a known combination, as far from it as the published ones are from the nearest: what
        remains of each block there, with one random sign.
        """
        signs = rng.choice([-1.0, 1.0], size=max(self.block) + 1)
        return np.asarray(self.predicted[k] + signs[list(self.block)] * self._left)

    @cached_property
    def _left(self) -> Floats:
        """The published numbers less those of the nearest combination."""
        return np.asarray(self.published - self.predicted[self.distances().argmin()])


@dataclass(frozen=True)
class Posterior:
    """The probability of each value of each choice, and how right those of known combinations are."""

    over: Mapping[str, Sequence[Scalar]]
    marginals: Mapping[str, Floats]
    #: For how many independent numbers each number counts.
    weight: float
    #: Of tables of known combinations: values that had a probability below `UNLIKELY`, and the true of these.
    unlikely: int
    wrong: int

    @classmethod
    def of_numbers(cls, over: Mapping[str, Sequence[Scalar]], scaled: ScaledNumbers, seed: int) -> Posterior:
        """The posterior of every combination, of which all are as probable before.

        The weight is the one that gives the true values of known combinations the highest probability, by its
        mean logarithm.
        """
        rng = np.random.default_rng(seed)
        shape = [len(values) for values in over.values()]
        scores = np.zeros(len(_WEIGHTS))
        unlikely, wrong = np.zeros_like(scores), np.zeros_like(scores)
        for truth in rng.integers(len(scaled.predicted), size=TRUTHS):
            squares = scaled.squares(scaled.tables_of(int(truth), rng))
            places = np.unravel_index(truth, shape)
            for place, weight in enumerate(_WEIGHTS):
                found = _marginals(scaled.likelihood(squares, weight), shape)
                true = np.array([float(one[at]) for one, at in zip(found, places, strict=True)])
                scores[place] += np.log(np.maximum(true, 1e-12)).sum()
                unlikely[place] += sum(int((one < UNLIKELY).sum()) for one in found)
                wrong[place] += int((true < UNLIKELY).sum())
        best = int(scores.argmax())
        likelihood = scaled.likelihood(scaled.squares(scaled.published), _WEIGHTS[best])
        return cls(
            over,
            dict(zip(over, _marginals(likelihood, shape), strict=True)),
            _WEIGHTS[best],
            int(unlikely[best]),
            int(wrong[best]),
        )

    def sentences(self) -> Iterator[str]:
        """What is determined and what is excluded, and how far to trust it, in plain words."""
        if all(len(values) == 1 for values in self.over.values()):
            return
        every = [
            (name, f"{name}={text(value)}", float(chance))
            for name, values in self.over.items()
            for value, chance in zip(values, self.marginals[name], strict=True)
        ]
        sure = [(name, value) for name, value, chance in every if chance > 1 - UNLIKELY]
        known = {name for name, _ in sure}
        excluded = [value for name, value, chance in every if chance < UNLIKELY and name not in known]
        still = [name for name in self.over if name not in known]
        yield (
            "If one of the combinations is right, and the study otherwise as far from the paper as the "
            f"nearest one, these have more than {100 * (1 - UNLIKELY):g} %: "
            f"{_listed([value for _, value in sure])}; less than {100 * UNLIKELY:g} %: {_listed(excluded)}; "
            f"not determined: {_listed(still)}."
        )
        yield (
            f"In tables of {TRUTHS} known combinations, as far from these, {self.unlikely} values had less "
            f"than {100 * UNLIKELY:g} %, of which {self.wrong} were true."
        )


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) or "none"


def _marginals(likelihood: Floats, shape: Sequence[int]) -> list[Floats]:
    """The probabilities of the values of each choice, from those of all combinations in their order."""
    chance = np.exp(likelihood - likelihood.max()).reshape(shape)
    chance /= chance.sum()
    axes = range(len(shape))
    return [np.asarray(chance.sum(axis=tuple(k for k in axes if k != own))) for own in axes]
