"""Which dataclasses of a package can be changed, are compared by their values, and print their values."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil


def kinds(package: str) -> dict[str, str]:
    """For each dataclass of a package of cwndlab: "changes", "equals" and "shows", as far as they hold."""
    found = {}
    inside = importlib.import_module(f"cwndlab.{package}")
    for module in pkgutil.walk_packages(inside.__path__, f"cwndlab.{package}."):
        for name, kind in vars(importlib.import_module(module.name)).items():
            own = isinstance(kind, type) and kind.__module__ == module.name
            if own and "__dataclass_params__" in vars(kind) and dataclasses.is_dataclass(kind):
                is_set = kind.__dataclass_params__  # type: ignore[union-attr]
                words = {"changes": not is_set.frozen, "equals": is_set.eq, "shows": is_set.repr}
                found[name] = " ".join(word for word, holds in words.items() if holds)
    return found


def changeable(*packages: str) -> list[str]:
    """The dataclasses of packages of cwndlab whose objects can be changed."""
    return [name for package in packages for name, words in kinds(package).items() if "changes" in words]
