"""Shared by all tests; its presence puts this folder on the path, for `import synthetic`."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from fake_core import FakeCore, replace_core

# In the background or under nohup SIGINT is ignored, which the processes that tests interrupt would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def fake_core() -> Iterator[FakeCore]:
    """Quick runs that need no engine."""
    core = FakeCore()
    replace_core(core)
    yield core
    replace_core(None)
