"""What the kinds of queues, applications and impairments mean, for the manual and the command line.

Kinds, keys and defaults themselves are the engine's; tests compare these lists with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """A kind of part of a study, which `kind = "…"` names."""

    about: str
    source: str
    #: The page of docs/models/ that describes it.
    page: str
    keys: Mapping[str, str]
    #: Values for the keys that have no default, as the engine has them.
    example: Mapping[str, object] = field(default_factory=dict)
