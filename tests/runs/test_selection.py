"""`sel` takes as long as what it returns, however many cells there are, and finds the same as a search."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from cwndlab import Dumbbell, Flow, Run, Study
from cwndlab.base.errors import NotFoundError
from cwndlab.results.result import RunResult


def sweep(buffers: int, laws: list[str]) -> RunResult:
    network = Dumbbell(
        rate="10Mbps",
        rtt="40ms",
        buffer=[round(0.01 * k, 2) for k in range(1, buffers + 1)],
        flows=[Flow(cc=laws)],
    )
    study = Study.build(
        "sweep", dumbbell=network, measure=["goodput"], run=Run(duration="10ms", replicates=1)
    )
    return study.run(threads=2)


def lines(call: Callable[[], object]) -> int:
    """How many lines of Python a call executes."""
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        call()
    finally:
        sys.settrace(before)
    return count


SELECTIONS: list[Callable[[RunResult], object]] = [
    lambda run: run.sel(buffer=0.07).estimate("goodput"),
    lambda run: run.sel(cell=run.results.cells[6].id).estimate("goodput"),
    lambda run: run.sel(buffer=["0.07", 0.1]).results,
]


@pytest.mark.parametrize("select", SELECTIONS)
def test_a_selection_takes_no_longer_among_more_cells(select: Callable[[RunResult], object]) -> None:
    few, many = (sweep(buffers, ["cubic"]) for buffers in (20, 400))
    for run in (few, many):
        select(run)  # makes the index
    assert lines(lambda: select(many)) < 1.2 * lines(lambda: select(few))


def test_a_selection_in_a_grid_finds_what_a_search_finds() -> None:
    run = sweep(4, ["cubic", "reno"])
    laws = next(axis for axis in run.axes if axis != "buffer")
    for buffer in (0.01, "0.02", [0.03, 0.01], slice(0.02, 0.03)):
        for law in ("reno", ["reno", "cubic"]):
            found = run.sel({"buffer": buffer, laws: law}).results.cells
            named = run.sel(cell=[cell.id for cell in reversed(found)])
            assert [cell.id for cell in named.results.cells] == [cell.id for cell in found]
            wanted = {buffer} if isinstance(buffer, float) else {0.02} if buffer == "0.02" else None
            if wanted is not None:
                assert {cell.axes["buffer"] for cell in found} == wanted
            assert {cell.axes[laws] for cell in found} == set([law] if isinstance(law, str) else law)
            assert [cell.id for cell in run.sel({"buffer": buffer, laws: law}).plan] == [c.id for c in found]
    twice = run.sel(buffer=0.03).sel({laws: "reno"})
    assert [cell.id for cell in twice.results.cells] == [run.sel({"buffer": 0.03, laws: "reno"}).plan[0].id]
    with pytest.raises(NotFoundError, match="axis 'buffer' has no value 7"):
        run.sel(buffer=7)
    with pytest.raises(NotFoundError, match='no cell "x"'):
        run.sel(cell="x")
    with pytest.raises(NotFoundError):
        run.sel(buffer=0.03).sel(buffer=0.01)
