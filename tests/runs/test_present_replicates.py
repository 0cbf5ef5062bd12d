"""provenance.json and the report state the replicates that have values, whatever was requested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cwndlab import OutputError, Study
from cwndlab.api import open_results
from cwndlab.metrics import _declared
from cwndlab.runs.store.folder_store import FolderStore
from small_study import edited

#: Fails in some runs, by the random number of bytes that arrived.
SOMETIMES = """\
import cwndlab


@cwndlab.metric(unit="1", low=0)
def sometimes(run: cwndlab.RunView) -> float:
    "Fails for some numbers of packets."
    if (int(sum(run.columns("connections")["bytes_up"])) // 100) % 3 == 0:
        raise ValueError("odd")
    return 1.0
"""


def stated(folder: Path) -> tuple[list[int], list[int]]:
    content = json.loads((folder / "provenance.json").read_text())
    return [cell["replicates"] for cell in content["cells"]], [cell["requested"] for cell in content["cells"]]


def kept(folder: Path) -> int:
    with FolderStore(folder / "store", read_only=True) as store:
        return len(store)


def test_what_failed_is_requested_and_not_present(tmp_path: Path) -> None:
    known = dict(_declared._known)
    try:
        (tmp_path / "mine.py").write_text(SOMETIMES)
        _declared.load_metrics(str(tmp_path / "mine.py"))
        text = edited(("p = 0.01", "p = 0.2"), ('"50ms"', '"500ms"'))
        text += '\n[[quantities]]\nname = "sometimes"\nmetric = "sometimes"\n'
        run = Study.from_toml(text).run(tmp_path / "out", replicates=20)
        present, requested = stated(tmp_path / "out")
        assert run.failures and requested == [20, 20]
        assert sum(present) == 40 - len(run.failures) == kept(tmp_path / "out")
        for cell, number in zip(run.plan.cells, present, strict=True):
            assert run.results.sample(cell.id, "goodput").n == number
            assert run.results.estimate(cell.id, "goodput").n == number
        assert (
            f"replicates of each | {min(present)} to {max(present)} of 20 requested"
            in (tmp_path / "out" / "report.md").read_text()
        )
        assert f"{len(run.failures)} of 40 runs gave no number" in (tmp_path / "out/report.md").read_text()
        with pytest.raises(OutputError, match=f"{len(run.failures)} of 40 replicates have no values"):
            open_results(tmp_path / "out")
    finally:
        _declared._known.clear()
        _declared._known.update(known)


def test_fewer_replicates_after_more_state_the_fewer(tmp_path: Path) -> None:
    study = Study.from_toml(edited())
    study.run(tmp_path, replicates=20)
    study.run(tmp_path, replicates=10)
    assert stated(tmp_path) == ([10, 10], [10, 10]) and kept(tmp_path) == 40
    assert open_results(tmp_path).sel(iw=1).estimate("goodput").replicates == 10


def test_a_stopping_rule_states_what_it_ran(tmp_path: Path) -> None:
    study = Study.from_toml(edited(("seed = 7", "seed = 7\nmax_replicates = 12")))
    study.run(tmp_path, until=0.0001)
    assert stated(tmp_path) == ([12, 12], [12, 12]) and kept(tmp_path) == 24
