"""Networks, traffic and probes that cannot be: each an error at its key, found before any run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cwndlab import Study, StudyError
from small_study import edited

LINK = (
    '[[topology.links]]\nbetween = ["{}", "{}"]\nrate = "1Mbps"\ndelay = "1ms"\n'
    'queue = {{ kind = "infinite" }}\n'
)
NODES = 'nodes = ["a", "b"]'
SECOND = '[[traffic]]\nname = "{}"\nclient = {}\nserver = {}\napp = {{ kind = "bulk" }}\n'


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([(NODES, 'nodes = ["a", "b", "a"]')], 'node "a" stands twice'),
        ([('between = ["a", "b"]', 'between = ["a", "a"]')], 'the link joins "a" with itself'),
        (
            [("[tcp]", f"{LINK.format('b', 'a')}[tcp]")],
            "there is a second link b>a; two nodes are joined once",
        ),
        ([("[tcp]", f"{LINK.format('a', 'b')}[tcp]")], "there is a second link a>b"),
        ([("[tcp]", SECOND.format("bulk", '"a"', '"b"') + "[tcp]")], 'traffic "bulk" stands twice'),
        ([('server = "b"', 'server = "a"')], 'client and server are both "a"'),
        ([('server = "b"', "server = []")], "it has no node at one end"),
        ([('server = "b"', 'server = "c"')], '"c"'),
        ([('count = "$webs"', 'count = 1\nstart = { between = ["1s", "0s"] }')], "start"),
        ([('segments_at = "a"', 'segments_at = "a"\nqueues = ["a>c"]')], 'there is no direction "a>c"'),
        ([('segments_at = "a"', 'segments_at = "a"\nqueue_interval = "0s"')], "queue_interval"),
    ],
)
def test_what_is_wrong_with_a_network_is_named(changes: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(StudyError) as found:
        Study.from_toml(edited(*changes)).plan().check()
    assert says in str(found.value)


def test_instances_take_the_ends_of_a_list_in_turn() -> None:
    text = edited(
        (NODES, 'nodes = ["a", "b", "c"]'),
        ("[tcp]", LINK.format("c", "b") + SECOND.format("more", '["a", "c"]', '"b"') + "count = 3\n[tcp]"),
    )
    made: dict[str, Any] = json.loads(Study.from_toml(text).plan().cells[0].scenario)
    names, ends = zip(
        *((one["name"], (one["client"], one["server"])) for one in made["traffic"]), strict=True
    )
    assert names == ("bulk.0", "bulk.1", "more.0", "more.1", "more.2")
    assert ends == ((0, 1), (0, 1), (0, 1), (2, 1), (0, 1))
