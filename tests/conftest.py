"""Shared by all tests; its presence puts this folder on the path, for `import synthetic`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fake_core import FakeCore, replace_core


@pytest.fixture
def fake_core() -> Iterator[FakeCore]:
    """Quick runs that need no engine."""
    core = FakeCore()
    replace_core(core)
    yield core
    replace_core(None)
