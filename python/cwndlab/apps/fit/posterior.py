"""Probabilities of the choices behind published tables, if one of the combinations is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cwndlab.base.numbers import Floats
from cwndlab.study.schema import Scalar
from cwndlab.study.values import text

from .published_numbers import ScaledNumbers

#: A value with a lower probability counts as excluded; a value whose rivals together have less is determined.
UNLIKELY = 0.05
#: Tables of known combinations from which the weight of a number is chosen.
TRUTHS = 100
#: Candidate weights: for how many independent numbers each number counts, since numbers are correlated.
_WEIGHTS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)


@dataclass(frozen=True)
class Posterior:
    """The probability of each value of each choice, and its accuracy for known combinations."""

    over: Mapping[str, Sequence[Scalar]]
    marginals: Mapping[str, Floats]
    #: For how many independent numbers each number counts.
    weight: float
    #: In tables of known combinations: values with a probability below `UNLIKELY`, and how many were true.
    unlikely: int
    wrong: int

    @classmethod
    def of_numbers(cls, over: Mapping[str, Sequence[Scalar]], scaled: ScaledNumbers, seed: int) -> Posterior:
        """The posterior of every combination from a uniform prior.

        The weight is chosen to maximize the mean log probability of the true values of known combinations.
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
        """Sentences on what is determined and excluded, and on the accuracy of these statements."""
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
    """The probabilities of each choice's values, from the log likelihoods of all combinations in order."""
    chance = np.exp(likelihood - likelihood.max()).reshape(shape)
    chance /= chance.sum()
    axes = range(len(shape))
    return [np.asarray(chance.sum(axis=tuple(k for k in axes if k != own))) for own in axes]
