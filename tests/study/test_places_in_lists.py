"""The place that an error names in a list is the number of the item, from 1 on."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from small_study import edited


@pytest.mark.parametrize(
    ("old", "new", "key", "problem"),
    [
        (
            'sets = "tcp.initial_window"',
            'sets = ["tcp.initial_window", 3]',
            "axes.iw.sets.2",
            "3 does not fit",
        ),
        (
            'between = ["a", "b"]',
            'between = [["a", 3], "b"]',
            "topology.links.wire.between.1.2",
            "3 does not",
        ),
        ('nodes = ["a", "b"]', 'nodes = ["a", { b = 1 }]', "topology.nodes.2", "a table does not fit"),
        ("values = [1, 4]", "values = [[1], 4]", "axes.iw.values.1", "a list does not fit"),
        ("values = [1, 4]", "values = [1, { x = 2 }]", "axes.iw.values.2.x", "unknown key 'x'"),
        ("values = [1, 4]", "values = [1, { name = [3] }]", "axes.iw.values.2.name", "a list does not fit"),
        (
            'queue = { kind = "drop-tail"',
            "queue = [3] # ",
            "topology.links.wire.queue",
            "a list does not fit",
        ),
        ('count = "$webs"', "count = [1, 2]", "traffic.bulk.count", "a list does not fit"),
    ],
)
def test_an_error_in_a_list_names_the_item(old: str, new: str, key: str, problem: str) -> None:
    with pytest.raises(StudyError) as caught:
        Study.from_toml(edited((old, new)))
    assert (caught.value.key, problem in caught.value.problem) == (key, True), caught.value
