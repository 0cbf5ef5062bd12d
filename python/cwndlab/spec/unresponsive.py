"""The applications that send datagrams without congestion control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The kinds, and whether each draws random numbers regardless of its distributions.
KINDS = {"cbr": False, "on-off": False, "poisson": True, "voip": False, "video": True}


def is_unresponsive(app: object) -> bool:
    """Whether an application, as a study or a scenario states it, is one of them."""
    kind = app.get("kind") if isinstance(app, Mapping) else None
    return isinstance(kind, str) and kind in KINDS


def draws(app: Mapping[str, Any]) -> bool:
    """Whether an application draws random numbers in addition to those of its distributions."""
    return app["kind"] == "short-flows" or KINDS.get(str(app["kind"]), False)
