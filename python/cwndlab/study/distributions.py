"""Measured distributions: a CSV file of the study becomes one table of the scenario, shared by its applications."""

from __future__ import annotations

import csv
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from cwndlab.errors import StudyError


def read_table(path: Path) -> dict[str, Any]:
    """An empirical distribution of the core: values with counts, from the first two columns of a CSV file.

    Lines that begin with `#` and a heading are left out; a file with one column counts each value once.
    """
    values: list[float] = []
    counts: list[int] = []
    with path.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row or row[0].startswith("#"):
                continue
            try:
                value, count = float(row[0]), int(row[1]) if len(row) > 1 else 1
            except ValueError:
                if not values:
                    continue  # the heading
                raise StudyError(
                    f"{','.join(row)!r} is no value with its count",
                    file=path,
                    line=number,
                    right="write 1460,12",
                ) from None
            values.append(value)
            counts.append(count)
    if not values:
        raise StudyError(
            "the file holds no values", file=path, right="write a value and its count in each line"
        )
    order = sorted(range(len(values)), key=values.__getitem__)
    return {
        "kind": "empirical",
        "values": [values[i] for i in order],
        "counts": [counts[i] for i in order],
    }


def share(app: Mapping[str, Any], folder: Path, shared: MutableMapping[str, Any]) -> dict[str, Any]:
    """The application with `{kind = "file", path = …}` replaced by a name; the tables themselves go to
    `shared`.

    A path that leaves the study's folder, or names no file, is a StudyError.
    """
    compiled: dict[str, Any] = {}
    for key, value in app.items():
        if isinstance(value, Mapping) and value.get("kind") == "file":
            name = value.get("path")
            extra = sorted(set(value) - {"kind", "path"})
            if not isinstance(name, str) or extra:
                raise StudyError(
                    "a measured distribution has a `path` and nothing else",
                    key=key,
                    right='write { kind = "file", path = "sizes/replies.csv" }',
                )
            if name not in shared:
                shared[name] = read_table(_inside(folder, name, key))
            compiled[key] = {"kind": "named", "name": name}
        else:
            compiled[key] = value
    return compiled


def _inside(folder: Path, name: str, key: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StudyError(
            f"{name!r} leaves the study's folder", key=key, right="copy the file into the folder"
        )
    if not path.is_file():
        raise StudyError(f"there is no file {name!r} in the study's folder", key=key)
    return path
