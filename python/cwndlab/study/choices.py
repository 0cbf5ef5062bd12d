"""Choices that a paper leaves open, the axes of [sensitivity]: each is varied alone, some in combination."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cwndlab.base.errors import StudyError, nearest

from .schema import Scalar, Sensitivity, Where
from .study_spec import StudySpec
from .values import as_list, is_among, same_value, text

#: The name of the drawn combinations in `--sensitivity`.
COMBINATIONS = "combinations"


class Wanted(NamedTuple):
    """The axes and the drawn combinations that `--sensitivity` selects."""

    axes: tuple[str, ...] = ()
    combinations: tuple[Mapping[str, Scalar], ...] = ()

    @property
    def variations(self) -> int:
        """The number of combinations with which a cell is run again, at most."""
        return len(self.combinations)


def parse_choices(study: StudySpec, name: str | None) -> Wanted:
    """What `--sensitivity` selects by a name: an axis of [sensitivity], "combinations", or "all"."""
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

    The values of an axis occur equally often, give or take one. The study's seed determines the draw.
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
    """The axes that take part in combinations."""
    return {name: axis for name, axis in study.outline.sensitivity.items() if axis.combined}


def variations_around(
    study: StudySpec, axes: Mapping[str, Scalar], asked: Wanted
) -> Iterator[tuple[str, Mapping[str, Scalar]]]:
    """The variations of a cell: for each the axis (or "combinations"), and the values of the axes varied."""
    sensitivity = study.outline.sensitivity
    for name in asked.axes:
        if is_selected(axes, sensitivity[name].where):
            yield from ((name, {name: value}) for value in sensitivity[name].names)
    for combination in asked.combinations:
        if all(is_selected(axes, sensitivity[name].where) for name in combination):
            yield COMBINATIONS, combination


def describe_choices(study: StudySpec, chosen: Mapping[str, Scalar]) -> str:
    """The choices that differ from the first value of their axis, which is the study's own."""
    axes: Mapping[str, Sensitivity] = study.outline.sensitivity
    changed = [f"{name}={text(v)}" for name, v in chosen.items() if not same_value(v, axes[name].names[0])]
    return ", ".join(changed) or "nothing changed"


def is_selected(axes: Mapping[str, Scalar], where: Where) -> bool:
    """Whether a cell with these axes is among those that `where` selects."""
    return all(name in axes and is_among(axes[name], as_list(chosen)) for name, chosen in where.items())
