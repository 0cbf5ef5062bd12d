"""What a result folder states about itself, read with care: a folder may be a stranger's, or damaged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cwndlab.errors import CwndlabError, OutputError

#: More replicates than any run has.
MOST_REPLICATES = 10_000_000
_Count = Annotated[int, Field(ge=0, le=MOST_REPLICATES)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class StatedCell(_Part):
    """A cell and its replicates."""

    id: str
    replicates: _Count


class StatedMetric(_Part):
    """A metric of the user's own, without its code."""

    name: str
    unit: str
    range: Annotated[list[float | int | bool | None], Field(min_length=3, max_length=3)]
    formula: str
    tables: list[str]
    options: list[str]
    list_: bool = Field(alias="list")
    file: str


class StatedLaw(_Part):
    """A congestion control in Python, without its code."""

    name: str
    class_: str = Field(alias="class")
    file: str
    uses_random: bool


class Stated(_Part):
    """What is read of provenance.json; whatever else it holds is for people."""

    study: str
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    replicates: _Count | None = None
    sensitivity: str | None = None
    backend_key: str = ""
    set_: dict[str, Any] = Field(default={}, alias="set")
    cells: list[StatedCell]
    metrics: list[StatedMetric] = []
    congestion_controls: list[StatedLaw] = []


def read_statements(file: Path, content: object) -> Stated:
    """The statements of a provenance.json; OutputError with the first key that is wrong."""
    try:
        return Stated.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise OutputError(f"{file}: {key}: {first['msg']}; run the study again") from None


@contextmanager
def damage_as_error(folder: Path) -> Iterator[None]:
    """Turns what the content of a folder, which no run has written so, leads to into an OutputError."""
    try:
        yield
    except CwndlabError:
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RecursionError,
        OSError,
        pa.ArrowException,
    ) as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise OutputError(f"{folder}: holds what no run writes ({what}); run the study again") from None
