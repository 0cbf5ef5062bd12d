"""Replicates as they finish, and all values as arrays."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cwndlab import Study
from cwndlab.base.errors import CwndlabError
from fake_core import FakeCore
from small_study import TEXT


def test_every_replicate_comes_with_the_values_of_the_results(fake_core: FakeCore) -> None:
    stream = Study.from_toml(TEXT).stream(threads=2)
    found = {(done.cell, done.replicate): done for done in stream}
    assert set(found) == {(cell, k) for cell in ("iw=1", "iw=4") for k in range(3)}
    assert found["iw=4", 2].axes == {"iw": 4}
    values = stream.result.results.values("iw=4", "goodput")
    assert [found["iw=4", k].values["goodput"] for k in range(3)] == values.tolist()


def test_what_was_kept_comes_first_and_a_stopped_run_goes_on(fake_core: FakeCore, tmp_path: Path) -> None:
    study = Study.from_toml(TEXT.replace("replicates = 3", "replicates = 200"))
    with study.stream(tmp_path / "o", threads=1) as stream:
        first = [next(stream) for _ in range(5)]
    with pytest.raises(StopIteration):
        next(stream)
    with pytest.raises(CwndlabError, match="the run was stopped"):
        _ = stream.result
    again = list(study.stream(tmp_path / "o", threads=1))
    assert len(again) == 400 == len({(done.cell, done.replicate) for done in again})
    assert {(done.cell, done.replicate) for done in first} <= {(d.cell, d.replicate) for d in again[:390]}


def test_an_error_of_the_run_ends_the_iteration(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("in the way")
    with pytest.raises(CwndlabError, match="is not a folder"):
        list(Study.from_toml(TEXT).stream(tmp_path / "o"))


def test_a_notebook_shows_how_far_a_run_is(fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class ZMQInteractiveShell:
        """As Jupyter's kernel calls its own."""

    class Handle:
        update = staticmethod(shown.append)

    def display(text: str, display_id: bool) -> Handle:
        shown.append(text)
        return Handle()

    parts = SimpleNamespace(HTML=str, display=display)
    notebook = SimpleNamespace(get_ipython=ZMQInteractiveShell, display=parts)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    Study.from_toml(TEXT).run()
    assert "0 of 6 replicates, 0 of 2 cells" in shown[0]
    assert "6 of 6 replicates" in shown[-1]


def test_a_dataset_has_the_axes_as_dimensions_and_nan_where_nothing_was_run(fake_core: FakeCore) -> None:
    pytest.importorskip("xarray", reason="xarray is not installed: make .venv/.ci")
    text = (
        TEXT
        + '\n[axes.webs]\nvalues = [1, 2]\n[[grids]]\naxes = ["iw", "webs"]\nwhen = "iw > 1 or webs < 2"\n'
    )
    run = Study.from_toml(text.replace("[parameters]\nwebs = 2\n", "")).run()
    data = run.to_xarray()
    goodput = data["goodput"]
    assert goodput.dims == ("iw", "webs", "replicate") and goodput.shape == (2, 2, 3)
    assert goodput.attrs["units"] == "kbit/s"
    assert goodput.coords["iw"].values.tolist() == [1, 4]
    assert np.isnan(goodput.sel(iw=1, webs=2)).all()
    wanted = run.results.values("iw=4,webs=2", "goodput")
    assert goodput.sel(iw=4, webs=2).values.tolist() == wanted.tolist()
