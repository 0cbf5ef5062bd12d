"""A short form of a network written out in full, as text, and where each part of it was written."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cwndlab.study import toml
from cwndlab.study.network_form import Expanded, NetworkForm
from cwndlab.study.shorthand import Dumbbell, ParkingLot

FORMS: Mapping[str, type[Dumbbell] | type[ParkingLot]] = {"dumbbell": Dumbbell, "parking_lot": ParkingLot}


@dataclass(frozen=True)
class WrittenOut:
    """A short form and what became of it."""

    name: str
    expanded: Expanded

    @classmethod
    def from_short(cls, name: str, short: str) -> WrittenOut:
        """Writes out the table of this name."""
        expanded = Expanded({})
        form: Any = FORMS[name].model_validate(tomllib.loads(short))
        NetworkForm(form, name, expanded).write()
        return cls(name, expanded)

    @property
    def text(self) -> str:
        """Its sections by name."""
        raw = self.expanded.raw
        return toml.dumps({section: raw[section] for section in sorted(raw)})

    @property
    def origins(self) -> list[str]:
        """The path of each part, and that of the key from which it comes; "-" is the whole table."""
        assert {path[0] for path in self.expanded.origins.values()} == {self.name}
        return [
            f"{'.'.join(map(str, part))} < {'.'.join(map(str, written[1:])) or '-'}"
            for part, written in self.expanded.origins.items()
        ]
