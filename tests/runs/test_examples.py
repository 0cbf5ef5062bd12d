"""The docstrings of what users call: each has an example, which runs, and says what goes in and out."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import cwndlab
from cwndlab import Dumbbell, Flow, Link, Run, RunResult, Study
from cwndlab.apps.notebook.plot import Plots
from cwndlab.apps.notebook.widget import ExplorePage
from cwndlab.apps.packets.traces import trace
from cwndlab.plan.scenario import sender
from cwndlab.results.result_tables import Estimates
from cwndlab.results.samples import Samples

GIVEN = (Samples, Estimates, Plots, ExplorePage)
"""What methods of the public classes return."""

INNER = "the package and its applications call it; users have no need to"
WITHOUT = {
    "Study.with_laws": "`run(cc=…)` is the way for users; docs/guide/own-cc.md has examples, which run",
    "Study.configure": INNER,
    "Study.locate_refusal": INNER,
    "Study.model": INNER,
    "Study.with_model": INNER,
    "Plan.check_cells": INNER,
    "Plan.check_kernel": INNER,
    "Plan.check_parts": INNER,
    "Plan.evenly_spaced": INNER,
    "Plan.count_replicates": INNER,
    "Plan.count_requested": INNER,
    "Plan.derive_seed": INNER,
    "RecordTables.read_cell": INNER,
    "RecordTables.only_cell": INNER,
    "Samples.from_results": INNER,
    "Estimate.from_interval": INNER,
    "StudyError.replace": INNER,
    "StudyError.with_place": INNER,
    "StudyError.without_others": INNER,
    "metric": "a metric's source is read from its file; docs/how-to/first-steps-in-python.md runs one",
    "RunResult.widget": "needs anywidget, an optional package; tests/live tries it",
    "ExplorePage.widget": "needs anywidget, an optional package; tests/live tries it",
    "RunView": "only a metric gets one; `metric` has an example",
}
CALLED = ("RunResult.__getitem__", "RecordTables.__call__", "Plots.__call__")
OPTIONAL = {"to_pandas": "pandas", "to_xarray": "xarray"}


def classes() -> Iterator[type]:
    yield from (one for name in cwndlab.__all__ if inspect.isclass(one := getattr(cwndlab, name)))
    yield from GIVEN


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Public functions, and methods of public classes that are written in this package."""
    for name in cwndlab.__all__:
        if inspect.isfunction(one := getattr(cwndlab, name)):
            yield name, one
    for kind in classes():
        if kind.__name__ in WITHOUT or hasattr(kind, "model_fields"):  # a section of a study file
            continue
        for name, member in inspect.getmembers(kind):
            found = inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else member
            shown = not name.startswith("_") or f"{kind.__name__}.{name}" in CALLED
            module = getattr(found, "__module__", None) or ""
            if shown and inspect.isfunction(found) and module.startswith("cwndlab"):
                yield f"{kind.__name__}.{name}", found


FUNCTIONS = {name: one for name, one in functions() if name not in WITHOUT}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What examples refer to, and the folder that they run in."""
    folder = tmp_path_factory.mktemp("examples")
    flows = [Flow("cubic"), Flow("bbr1")]
    network = Dumbbell(rate="10Mbps", rtt="20ms", buffer=[0.5, 2], loss="0.2%", flows=flows)
    figure = {"id": "shares", "title": "Shares", "kind": "bar", "x": "buffer", "quantity": "share_bbr1"}
    study = Study.build(
        "Two flows",
        dumbbell=network,
        measure=["goodput", "share", "queue_delay"],
        figures=[figure],
        run=Run(duration="2s", replicates=3),
    )
    run = study.run(folder / "results")
    scenario = study.plan()[0].compiled.scenario
    host = scenario["nodes"][sender(scenario["traffic"][0])]
    seen = study.set({"probes.segments_at": host}).plan()[0]
    (folder / "flow.pcapng").write_bytes(trace(seen, "pcapng", seed=1))
    web = cwndlab.run("rfc2415", changes={"webs": 8, "ftps": 0, "iw": 1}, replicates=1)
    return {"folder": folder, "study": study, "run": run, "web": web, "cwndlab": cwndlab, "np": np} | {
        one.__name__: one for one in (Dumbbell, Flow, Link, Run, RunResult, Study)
    }


@pytest.mark.parametrize("name", [*FUNCTIONS, "cwndlab", "Samples"])
def test_the_example_of_a_docstring_runs(
    name: str, names: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if (needed := OPTIONAL.get(name.rpartition(".")[2])) is not None:
        pytest.importorskip(needed)
    monkeypatch.chdir(Path(str(names["folder"])))
    found = {"cwndlab": cwndlab, "Samples": Samples, **FUNCTIONS}[name]
    text = inspect.getdoc(found) or ""
    example = doctest.DocTestParser().get_doctest(text, dict(names), name, None, 0)
    assert example.examples, "has no example"
    assert not re.search(r"doctest: *\+SKIP", text)
    lines: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=lines.append)
    assert not lines, "".join(lines)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_has_parameters_and_results(name: str) -> None:
    found = FUNCTIONS[name]
    text = inspect.getdoc(found) or ""
    signature = inspect.signature(found)
    arguments = [one for one in signature.parameters if one not in ("self", "cls")]
    section = text.partition("Args:\n")[2].partition("\n\n")[0]
    assert not [one for one in arguments if not re.search(rf"^ *{one}: ", section, re.M)]
    assert "Any" not in re.findall(r"\w+", str(signature))


def test_what_has_no_example_exists() -> None:
    known = {name for name, _ in functions()} | {kind.__name__ for kind in classes()}
    assert sorted(WITHOUT.keys() - known) == []
