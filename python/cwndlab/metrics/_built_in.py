"""The metrics that come with cwndlab: those that the modules of this package declare."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ._metric import Metric

#: By name, as far as their modules have been imported.
declared: dict[str, Metric] = {}


@cache
def built_in() -> Mapping[str, Metric]:
    """The metrics that come with cwndlab, by name, in alphabetical order."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(declared.items()))
