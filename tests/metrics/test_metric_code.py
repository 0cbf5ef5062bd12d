"""The code on which a stored value depends: what `ast` finds by following imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cwndlab
from cwndlab import metrics
from cwndlab.metrics import _code

ROOT = Path(cwndlab.__file__).parent
#: One metric of each module.
EACH = {metrics.get(name).measure.__module__: name for name in metrics.names()}.values()


def imported(path: Path) -> Iterator[str]:
    """The names that a module imports from cwndlab, without `cwndlab.`, as modules or as names in them."""
    package = ("cwndlab", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name.removeprefix("cwndlab.") for name in names if name.startswith("cwndlab."))


def reached(*start: str) -> dict[str, bytes]:
    todo, found = list(start), {}
    while todo:
        name = todo.pop()
        counts = name.split(".")[0] in ("metrics", "records") or name == "base.numbers"
        if name in found or not counts or name in ("metrics", "metrics._declared"):
            continue
        base = ROOT.joinpath(*name.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                found[name] = path.read_bytes()
                todo += imported(path)
    return found


@pytest.mark.parametrize("name", EACH)
def test_a_metric_depends_on_its_module_and_all_that_it_imports_of_metrics_and_records(name: str) -> None:
    own = metrics.get(name).measure.__module__.removeprefix("cwndlab.")
    shared = reached("metrics._measure")
    assert {own, "metrics._measure", "base.numbers", "records.window"} <= _code.closure(name).keys()
    assert _code.closure(name) == shared | reached(own)
    assert _code.closure(None) == shared


def test_every_way_to_import_is_followed() -> None:
    source = b"""import numpy, cwndlab.records.window, cwndlab.metrics.queue as q
from cwndlab import metrics
from cwndlab.records import window, run_view as view
from . import RunView
from .. import records
from ._rows import (
    Kind,  # a comment, with a comma
    Seconds as S,
)
import os
from os import path
    from .lazily import inside
text = "from .nothing"
"""
    assert list(_code._named(source, "metrics")) == [
        *("records.window", "metrics.queue"),
        *("", "metrics"),
        *("records", "records.window", "records.run_view"),
        *("metrics", "metrics.RunView"),
        *("", "records"),
        *("metrics._rows", "metrics._rows.Kind", "metrics._rows.Seconds"),
        *("metrics.lazily", "metrics.lazily.inside"),
    ]
