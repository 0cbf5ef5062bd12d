"""Choices that a paper leaves open, the axes of [sensitivity]: varied one at a time, or in combinations."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cwndlab.base.errors import StudyError, nearest

from .schema import Scalar, Sensitivity, Where
from .study_spec import StudySpec
from .values import as_list, is_among, same_value, text

#: The value of `--sensitivity` that selects the drawn combinations.
COMBINATIONS = "combinations"


class Wanted(NamedTuple):
    """The axes and the combinations that `--sensitivity` selects."""

    axes: tuple[str, ...] = ()
    combinations: tuple[Mapping[str, Scalar], ...] = ()

    @property
    def variations(self) -> int:
        """The largest number of combinations with which a cell is run again."""
        return len(self.combinations)


def parse_choices(study: StudySpec, name: str | None) -> Wanted:
    """The axes and combinations that a value of `--sensitivity` selects: an axis, "combinations" or "all"."""
    axes = study.outline.sensitivity
    if name is None:
        return Wanted()
    if not axes:
        raise StudyError(
            "the study has no sensitivity axes", key="--sensitivity", right="give it [sensitivity]"
        )
    if name == "all":
        return Wanted(tuple(axes), draw(study))
    if name == COMBINATIONS and study.outline.combinations:
        return Wanted(combinations=draw(study))
    if name not in axes:
        names = [*axes, "all", *([COMBINATIONS] if study.outline.combinations else [])]
        raise StudyError(
            f'there is no sensitivity axis "{name}"', key="--sensitivity", right=nearest(name, names)
        )
    return Wanted((name,))


def draw(study: StudySpec) -> tuple[Mapping[str, Scalar], ...]:
    """Combinations of the axes with `combined = true`: a Latin hypercube (McKay, Beckman and Conover 1979).

    Each value of an axis occurs equally often, give or take one. The study's seed determines the draw.
    """
    number = study.outline.combinations
    source = random.Random(study.base.run.seed)
    columns: dict[str, list[Scalar]] = {}
    for name, axis in combined_axes(study).items():
        column = [axis.names[k % len(axis.names)] for k in range(number)]
        source.shuffle(column)
        columns[name] = column
    return tuple({name: column[k] for name, column in columns.items()} for k in range(number))


def combined_axes(study: StudySpec) -> dict[str, Sensitivity]:
    """The sensitivity axes with `combined = true`, by name."""
    return {name: axis for name, axis in study.outline.sensitivity.items() if axis.combined}


def variations_around(
    study: StudySpec, axes: Mapping[str, Scalar], asked: Wanted
) -> Iterator[tuple[str, Mapping[str, Scalar]]]:
    """The variations of a cell, each as the axis varied (or "combinations") and the values of its axes."""
    sensitivity = study.outline.sensitivity
    for name in asked.axes:
        if is_selected(axes, sensitivity[name].where):
            yield from ((name, {name: value}) for value in sensitivity[name].names)
    for combination in asked.combinations:
        if all(is_selected(axes, sensitivity[name].where) for name in combination):
            yield COMBINATIONS, combination


def describe_choices(study: StudySpec, chosen: Mapping[str, Scalar]) -> str:
    """The choices that differ from the study's own (the first value of each axis), in words."""
    axes: Mapping[str, Sensitivity] = study.outline.sensitivity
    changed = [f"{name}={text(v)}" for name, v in chosen.items() if not same_value(v, axes[name].names[0])]
    return ", ".join(changed) or "nothing changed"


def is_selected(axes: Mapping[str, Scalar], where: Where) -> bool:
    """Whether a cell with these axis values matches the selection `where`."""
    return all(name in axes and is_among(axes[name], as_list(chosen)) for name, chosen in where.items())
