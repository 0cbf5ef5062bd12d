"""Modules that users import and that have moved: importing one says where it is."""

from __future__ import annotations

import sys

#: Since 0.4.
MOVED = {
    "cwndlab.gym": "cwndlab.apps.gym",
    "cwndlab.policy": "cwndlab.apps.policy",
    "cwndlab.fit": "cwndlab.apps.fit",
    "cwndlab.evaluate": "cwndlab.apps.evaluate",
    "cwndlab.errors": "cwndlab",
}


class _Signpost:
    """Is asked before other finders: a folder left behind by an earlier version would be an empty package."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in MOVED:
            raise ModuleNotFoundError(f"{name} has moved; import {MOVED[name]}", name=name)


def put_up() -> None:
    """From now on, importing a module that has moved says where it is."""
    sys.meta_path.insert(0, _Signpost())
