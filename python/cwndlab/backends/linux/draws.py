"""Draws from the scenario's distributions: the simulator's own numbers.

The same replicate asks for the same objects after the same pauses on both, so that what differs is the TCP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cwndlab._core import Distribution, Stream


class Dist:
    """A distribution of the scenario, and the stream to draw from."""

    def __init__(self, spec: Mapping[str, Any], shared: Mapping[str, Any], stream: Stream) -> None:
        self.distribution = Distribution(json.dumps(spec), json.dumps(shared))
        self.stream = stream

    def draw(self) -> float:
        """One value."""
        return self.distribution.draw(self.stream)

    def bytes(self) -> int:
        """A size, at least 1."""
        return self.distribution.draw_bytes(self.stream)
