"""Whatever grids and figures name, a study loads and compiles, or a StudyError says why."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from fuzzing import tries

BASE: dict[str, Any] = {
    "title": "grids",
    "dumbbell": {
        "rate": "10Mbps",
        "rtt": "20ms",
        "buffer": 1,
        "flows": [{"cc": "cubic"}],
    },
    "run": {"duration": "20ms", "replicates": 2},
    "axes": {
        "iw": {"sets": "tcp.initial_window", "values": [1, 4]},
        "rto": {"sets": "tcp.rto.min", "values": ["200ms", "1s"]},
        "mss": {"sets": "tcp.mss", "values": [536, 1460]},
    },
}
AXES = ("iw", "rto", "mss")
names = st.one_of(*[st.sampled_from(AXES)] * 5, st.sampled_from(("no_axis", "IW", "", "a.b", "é")))
numbers = st.sampled_from((1, 4, "200ms", "1s", 536, "536"))
odd = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.text(max_size=3), st.just([]), st.just({}), st.none()
)
values = st.one_of(*[numbers] * 6, st.lists(numbers, min_size=1, max_size=2), odd)
where = st.dictionaries(names, values, max_size=2)
grid = st.fixed_dictionaries(
    {},
    optional={
        "axes": st.lists(names, max_size=3),
        "where": where,
        "cells": st.lists(where, max_size=2),
        "replicates": st.sampled_from((1, 2, 3, 4, 0, "x")),
        "name": st.sampled_from(("one", "two", "iw")),
    },
)
figure = st.fixed_dictionaries(
    {
        "id": st.just("f"),
        "title": st.just("f"),
        "kind": st.sampled_from(("line", "bar")),
        "x": names,
        "quantity": st.just("goodput"),
    },
    optional={"where": where, "series": st.lists(names, max_size=2)},
)
counts: Counter[str] = Counter()


@tries(150)
@given(
    grids=st.lists(grid, max_size=2),
    figures=st.lists(figure, max_size=1),
    chosen=where,
)
def check(grids: list[dict[str, Any]], figures: list[Any], chosen: dict[str, Any]) -> None:
    counts["tried"] += 1
    raw = {**BASE, "quantities": [{"name": "goodput", "metric": "goodput"}]}
    raw |= {key: made for key, made in (("grids", grids), ("figures", figures)) if made}
    try:
        study = Study.from_dict(raw)
        counts["loaded"] += 1
        plan = study.plan()
        plan.check()
        assert len({cell.id for cell in plan.cells}) == len(plan.cells)
        counts["accepted"] += 1
        study.set(chosen).plan().check()
    except StudyError as error:
        assert str(error)


def test_grids_with_any_axes_load_or_are_refused() -> None:
    check()
    assert counts["accepted"] >= 0.1 * counts["tried"], f"too few inputs are accepted: {counts}"
