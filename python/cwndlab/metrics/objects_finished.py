"""Number of pages (or files, transactions, objects) that began and were finished."""

from __future__ import annotations

import numpy as np

from . import RunView, _select
from ._options import Kind
from ._range import NON_NEGATIVE

UNIT = "1"
RANGE = NON_NEGATIVE
TABLES = ("objects",)


def measure(run: RunView, *, traffic: str | None = None, kind: Kind = "page") -> float:
    """See the module; counted are those that began in the window."""
    return float(np.count_nonzero(_select.objects(run, kind, traffic).finished))
