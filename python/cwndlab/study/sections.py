"""The sections of studies built in code, and their conversion to the tables of a study file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypedDict

from pydantic import BaseModel

from cwndlab._core import CongestionControl

from .outputs import AnyTable, Figure, Mark, Scalar
from .schema import (
    Axis,
    Distribution,
    Grid,
    Limits,
    Probes,
    Quantity,
    Run,
    Sensitivity,
    Source,
    Tcp,
    Topology,
    Traffic,
)
from .shorthand import Dumbbell, Flow, LeafSpine, ParkingLot

#: A section as the keys of a study file.
Keys: TypeAlias = Mapping[str, object]


class Sections(TypedDict, total=False):
    """The sections of a study, each as a model or as a mapping with the keys of a study file."""

    measure: Sequence[str]
    dumbbell: Dumbbell | Keys
    parking_lot: ParkingLot | Keys
    leaf_spine: LeafSpine | Keys
    source: Source | Keys
    about: str
    parameters: Mapping[str, Scalar]
    topology: Topology | Keys
    traffic: Sequence[Traffic | Keys]
    distributions: Mapping[str, Distribution | Keys]
    tcp: Tcp | Keys
    run: Run | Keys
    probes: Probes | Keys
    limits: Limits | Keys
    phases: Mapping[str, Sequence[str]]
    axes: Mapping[str, Axis | Keys]
    grids: Sequence[Grid | Keys]
    cells: Mapping[str, Mapping[str, Scalar]]
    sensitivity: Mapping[str, Sensitivity | Keys]
    combinations: int
    quantities: Sequence[Quantity | Keys]
    tables: Sequence[AnyTable | Keys]
    figures: Sequence[Figure | Keys]
    marks: Sequence[Mark | Keys]


def find_laws(value: object) -> Iterator[tuple[str, type[CongestionControl]]]:
    """Yields the name and class of each congestion control that a flow in `value` was given as a class."""
    match value:
        case Flow():
            yield from value._laws.items()
        case BaseModel():
            for name in type(value).model_fields:
                yield from find_laws(getattr(value, name))
        case Mapping():
            for item in value.values():
                yield from find_laws(item)
        case list() | tuple():
            for item in value:
                yield from find_laws(item)


def to_plain(value: object) -> object:
    """The value with each model as a table of a study file: only the keys that were set, units as text."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
        case Mapping():
            return {str(key): to_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [to_plain(item) for item in value]
    return value
