"""The default and the limits of every key of a study: `defaults.txt` has a line for each.

CWNDLAB_REGENERATE=1 writes it again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from cwndlab.study import base, changes, outputs, schema, shorthand

KEPT = Path(__file__).with_name("defaults.txt")


def lines() -> Iterator[str]:
    """Each key of each model, with its default, or the limits of one without."""
    for module in (base, changes, outputs, schema, shorthand):
        for name, model in sorted(vars(module).items()):
            own = (
                isinstance(model, type)
                and issubclass(model, BaseModel)
                and model.__module__ == module.__name__
            )
            for key, field in model.model_fields.items() if own else ():
                limits = [part for part in field.metadata if type(part).__module__ == "annotated_types"]
                default = (
                    "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
                )
                yield " ".join([f"{name}.{key}", default, *map(repr, limits)])


def test_every_key_has_its_default_and_its_limits() -> None:
    if os.environ.get("CWNDLAB_REGENERATE"):
        KEPT.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    assert list(lines()) == KEPT.read_text(encoding="utf-8").splitlines()
