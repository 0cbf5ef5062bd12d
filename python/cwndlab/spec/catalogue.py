"""What a study has to know from outside its file: the metrics, and congestion controls in Python."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cwndlab.errors import StudyError
from cwndlab.laws import LawCode

from .measures import Shape
from .schema import Quantity


class Metrics(Protocol):
    """The metrics, as far as a study has to know them."""

    def shapes(self) -> Mapping[str, Shape]:
        """What `measure` needs to know about each metric."""

    def tables_of(self, quantity: Quantity) -> Collection[str]:
        """The record tables that a quantity's metric reads: their probes are switched on."""

    def faults(self, quantities: Sequence[Quantity]) -> Iterator[StudyError]:
        """The quantities whose metric, options or unit do not fit, each with its path in the study."""


@dataclass(frozen=True)
class Catalogue:
    """What the names in a study mean."""

    metrics: Metrics = field(repr=False)
    #: Congestion controls of the user's own, by what the study calls them; never from a study file.
    laws: Mapping[str, LawCode] = field(default_factory=dict)
