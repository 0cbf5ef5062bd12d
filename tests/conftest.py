"""Shared by all tests; its presence puts this folder on the path, for `import synthetic`."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from _pytest.approx import ApproxScalar

from fake_core import FakeCore, replace_core

# Numbers agree to rounding unless a test states a tolerance: with pytest's 1e-6, a wrong 1e9 would pass.
ApproxScalar.DEFAULT_RELATIVE_TOLERANCE = 1e-11
# In the background or under nohup SIGINT is ignored, which the processes that tests interrupt would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def fake_core() -> Iterator[FakeCore]:
    """Quick runs that need no engine."""
    core = FakeCore()
    replace_core(core)
    yield core
    replace_core(None)
