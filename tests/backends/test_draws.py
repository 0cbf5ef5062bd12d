"""What applications on real sockets draw is what the simulator's draw."""

from __future__ import annotations

import json

import pytest

from cwndlab._core import Distribution, Stream, run
from cwndlab.backends.linux.draws import Dist
from cwndlab.study import Study


def test_objects_on_a_kernel_are_those_of_the_simulator() -> None:
    chosen = {"grid": "tables_1_to_3", "webs": 8, "ftps": 0, "iw": 1, "run.duration": "30s"}
    scenario = Study.load("rfc2415").set(chosen).plan().cells[0].compiled.scenario
    rows = run(json.dumps(scenario), 7, 2).table("objects")
    import pyarrow as pa

    simulated = [
        row["bytes"]
        for row in pa.table(rows).to_pylist()
        if row["traffic"] == 3 and row["kind"] == "object" and row["finished"]
    ]
    assert len(simulated) > 8
    entry = scenario["traffic"][3]
    stream = Stream(7, 2, entry["name"], "sizes")
    sizes = Dist(entry["app"]["object_bytes"], scenario["distributions"], stream)
    drawn = [sizes.bytes() for _ in range(len(simulated) + 8)]
    # objects of a page end in any order
    for page in range(len(simulated) // 4):
        at = slice(4 * page, 4 * page + 4)
        assert sorted(drawn[at]) == sorted(simulated[at])


def test_streams_differ_by_seed_replicate_traffic_and_purpose() -> None:
    ones = {Distribution('{"kind": "uniform", "low": 0.0, "high": 1.0}').draw(Stream(*key)) for key in (
        (1, 0, "web", "sizes"), (2, 0, "web", "sizes"), (1, 1, "web", "sizes"),
        (1, 0, "ftp", "sizes"), (1, 0, "web", "thinks"),
    )}  # fmt: skip
    assert len(ones) == 5


def test_a_wrong_distribution_is_refused_with_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="low 2 is above high 1"):
        Distribution('{"kind": "uniform", "low": 2.0, "high": 1.0}')
