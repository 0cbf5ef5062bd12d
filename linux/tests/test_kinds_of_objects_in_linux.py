"""Only objects that follow a run, a build or a search in progress can be changed."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import cwndlab_linux


def test_only_these_can_be_changed() -> None:
    found: dict[str, bool] = {}
    for module in pkgutil.walk_packages(cwndlab_linux.__path__, "cwndlab_linux."):
        if ".stacks" in module.name:  # programs that are built elsewhere
            continue
        for name, kind in vars(importlib.import_module(module.name)).items():
            if dataclasses.is_dataclass(kind) and getattr(kind, "__module__", "") == module.name:
                found[name] = not kind.__dataclass_params__.frozen  # type: ignore[union-attr]
    assert len(found) > 25
    words = "Commits Draft Kernel Namespace Program Programs Releases RunProcess Trials VirtualKernel _End"
    assert {name for name, changes in found.items() if changes} == set(words.split())
