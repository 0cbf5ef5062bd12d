"""A pytest plugin that records which test file executes which lines, and the CPU time of each file."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import coverage  # type: ignore[import-not-found]

SPENT: dict[str, float] = defaultdict(float)


def _cpu_s() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Attributes lines to the test's file, since a module's fixtures run in its first test."""
    file = item.nodeid.partition("::")[0]
    started = _cpu_s()
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(file)
    result = yield
    SPENT[file] += _cpu_s() - started
    return result


def pytest_sessionfinish() -> None:
    """Saves the CPU times next to coverage's data."""
    Path(os.environ["CWNDLAB_RECORD"], "cpu.json").write_text(json.dumps(SPENT), encoding="utf-8")
