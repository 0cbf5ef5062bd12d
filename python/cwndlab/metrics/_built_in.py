"""The metrics that come with cwndlab, by their modules here."""

import pkgutil
from functools import cache
from pathlib import Path


@cache
def built_in() -> tuple[str, ...]:
    """The names of the metrics that come with cwndlab."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return tuple(sorted(module.name for module in modules if not module.name.startswith("_")))
