"""Compiles a distribution that applications share; reads the columns of its file, if it has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cwndlab.base.errors import KeyPath, StudyError, nearest, problem_at
from cwndlab.study import schema
from cwndlab.study.files import read_csv


def distribution(given: schema.Distribution, folder: Path | None, at: KeyPath) -> dict[str, Any]:
    """The scenario's table of a distribution; `at` is the distribution's path in the study."""
    keys: dict[str, Any] = {"kind": given.kind, **given.knobs()}
    if given.file is None:
        if given.values is not None:
            keys["values"] = given.values
        if given.counts is not None:
            keys["counts"] = given.counts
        return keys
    try:
        table = read_csv(folder, given.file)
    except StudyError as error:
        raise problem_at((*at, "file"), error.problem, error.right) from None
    wanted = {"values": given.values, "counts": given.counts}
    for key, column in wanted.items():
        if not isinstance(column, str):
            raise problem_at(at, f"which column has the {key}?", f'write {key} = "{table.columns[0]}" (say)')
        if column not in table.columns:
            raise problem_at(
                (*at, key), f'{given.file} has no column "{column}"', nearest(column, table.columns)
            )
        try:
            keys[key] = table.numbers(column, float if key == "values" else int)
        except ValueError as error:
            raise problem_at(
                (*at, key), f'{given.file}, column "{column}": {error}', "it must hold numbers"
            ) from None
    return keys
