"""A queue's limit as the engine gets it: in what the queue counts, whatever it is written in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cwndlab import Study, StudyError
from small_study import edited


def queue(kind: str, limit: str) -> dict[str, Any]:
    old, new = 'kind = "drop-tail", limit = "25pkt"', f'kind = "{kind}", limit = "{limit}"'
    table: dict[str, Any] = json.loads(Study.from_toml(edited((old, new))).plan().cells[0].scenario)
    found: dict[str, Any] = table["links"][0]["queue"]
    return found


@pytest.mark.parametrize(
    ("kind", "limit", "keys"),
    [
        ("drop-tail", "1pkt", {"limit": 1, "unit": "packets"}),
        ("drop-tail", "1B", {"limit": 1, "unit": "bytes"}),
        ("drop-tail", "1BDP", {"limit": 2500, "unit": "bytes"}),  # 1 Mbit/s x 20 ms
        ("codel", "7pkt", {"limit": 7}),
        ("codel", "3000B", {"limit": 2}),
        ("codel", "3001B", {"limit": 3}),  # packets of 1500 bytes, rounded up
        ("codel", "1BDP", {"limit": 2}),
        ("fq-codel", "0.1BDP", {"limit": 1}),
        ("pie", "1.2BDP", {"limit": 2}),
        ("pie", "1.21BDP", {"limit": 3}),
        ("cake", "1pkt", {"memory_bytes": 2304}),
        ("cake", "3001B", {"memory_bytes": 3 * 2304}),
        ("cake", "1BDP", {"memory_bytes": 2 * 2304}),
    ],
)
def test_a_limit_is_in_the_unit_that_the_queue_counts(kind: str, limit: str, keys: dict[str, Any]) -> None:
    assert queue(kind, limit) == {"kind": kind, **keys}


@pytest.mark.parametrize(
    ("kind", "limit", "says"),
    [
        ("drop-tail", "0pkt", "a queue of no room drops every packet"),
        ("drop-tail", "0B", "a queue of no room drops every packet"),
        ("codel", "0B", "a queue of no room drops every packet"),
        ("cake", "0pkt", "a queue of no room drops every packet"),
        ("drop-tail", "0BDP", "the bandwidth-delay product of this link is 0"),
        ("drop-tail", "20ms", "'20ms' is no queue limit"),
        ("drop-tail", "many", "'many' is no queue limit"),
    ],
)
def test_a_limit_that_cannot_be_is_an_error_of_its_key(kind: str, limit: str, says: str) -> None:
    with pytest.raises(StudyError) as found:
        queue(kind, limit)
    assert says in str(found.value) and "limit" in str(found.value)
