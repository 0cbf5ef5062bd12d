"""Wrong arguments of the Python functions are errors of cwndlab that say what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cwndlab
from cwndlab import (
    ArgumentError,
    CwndlabError,
    Dumbbell,
    Flow,
    Link,
    NotFoundError,
    OutputError,
    RunOptions,
    RunResult,
    Study,
)
from cwndlab.cli import app
from small_study import edited


@pytest.fixture(scope="module")
def result() -> RunResult:
    return cwndlab.run(Study.from_toml(edited()))


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no study": (lambda _: cwndlab.run(None), "name_or_path must be text or a path, not None"),
    "no option": (lambda r: cwndlab.run(r.study, replicats=2), 'did you mean "replicates"'),
    "no field": (lambda _: RunOptions(replicats=2), 'no option "replicats"; did you mean "replicates"'),
    "no option of a stream": (lambda r: r.study.stream(replicats=2), 'did you mean "replicates"'),
    "changes as options": (lambda r: cwndlab.run(r.study, {"iw": 1}), "changed by changes="),
    "set": (lambda r: cwndlab.run(r.study, set={}), "it is called `changes`"),
    "changes in a list": (lambda r: cwndlab.run(r.study, changes=[1]), "changes must be a mapping"),
    "a key that is no text": (lambda r: r.study.set({3: 3}), "changes has the key 3"),
    "tables in a list": (lambda _: Study.from_dict([1]), "raw must be a mapping"),
    "text that is none": (lambda _: Study.from_toml(3), "text must be text, not 3"),
    "too few arguments": (lambda _: Study.build(), r"Study\.build\(\): missing .* 'title'"),
    "too many arguments": (lambda _: RunOptions(1), r"RunOptions\(\): too many positional arguments"),
    "key and value": (lambda r: r.study.set("iw", 4), r"too many .*; its arguments: changes=None, \*\*more"),
    "results by number": (lambda r: r[0], "quantity must be text, not 0"),
    "chart of nothing": (lambda r: r.plot("godput"), 'no quantity "godput"; did you mean "goodput"'),
    "replicates in words": (
        lambda r: cwndlab.run(r.study, replicates="three"),
        "a whole number, not 'three'",
    ),
    "replicates as truth": (lambda r: cwndlab.run(r.study, replicates=True), "a whole number, not True"),
    "half a replicate": (lambda r: r.study.plan(replicates=1.5), "a whole number, not 1.5"),
    "negative seed": (lambda r: r.study.plan(seed=-1), r"-1 is not a seed; 0 to 2\^64 - 1"),
    "large seed": (lambda r: cwndlab.run(r.study, seed=2**70), "is not a seed"),
    "width in words": (lambda r: r.study.run(until="x"), "until must be a number, not 'x'"),
    "folder as a number": (lambda r: r.study.run(5), "out must be text or a path, not 5"),
    "folder that is none": (lambda _: cwndlab.open_results(3), "folder must be text or a path, not 3"),
    "replicate as text": (lambda r: r.records("segments", replicate="0"), "a whole number, not '0'"),
    "interval of no time": (lambda r: r.sel(iw=1).plot.share(interval=0), "^interval: .* too many intervals"),
    "no kind of object": (lambda r: r.sel(iw=1).budget("files"), 'no kind "files"; did you mean "file"'),
    "change of a model": (lambda _: setattr(Flow(), "cc", "bbr1"), "make another: Flow\\(cc='bbr1', …\\)"),
    "no table": (lambda r: r.records["flows"], 'there is no table "flows"'),
    "no cell": (lambda r: r.sel(cell="iw=9"), 'no cell "iw=9"'),
    "no figure": (lambda r: r.figure("none"), 'no figure "none"'),
    "no replicate": (lambda r: r.sel(iw=1).records("segments", replicate=3), "no replicate 3 .* has 0 to 2"),
    "no flow": (lambda r: r.sel(iw=1).explain("ftp"), 'no flow "ftp" of TCP or QUIC'),
    "no time": (lambda r: r.sel(iw=1).explain(at="soon"), '^at: "soon" is not a time'),
    "value of a model": (lambda _: Flow(cc=3), r"^Flow\.cc: 3 does not fit; it must be text"),
    "key of a model": (lambda _: Flow(ccc="cubic"), r'^Flow\.ccc: unknown key .ccc.; did you mean "cc"'),
    "model in a model": (
        lambda _: Link(between=["a", "b"], rate="1Mbps", delay=3),
        r'^Link\.delay: 3 is not a time; write .* like "3ms"',
    ),
    "second of a list": (
        lambda _: Dumbbell(rate="1Mbps", rtt="9ms", flows=[Flow(), {"c": 1}]),
        r"^Dumbbell\.flows\.2\.c: ",
    ),
    "too few": (
        lambda _: Dumbbell(rate="1Mbps", rtt="9ms", flows=[]),
        r"^Dumbbell\.flows: .* too few",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_an_error_of_cwndlab(result: RunResult, call: str) -> None:
    function, message = CALLS[call]
    with pytest.raises(CwndlabError, match=message):
        function(result)


def test_errors_name_arguments_in_python_and_options_on_the_command_line(
    result: RunResult, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[Callable[[], object], str, list[str]]] = [
        (lambda: result.study.run(replicates=0), "replicates: 0 does not fit", ["--replicates", "0"]),
        (lambda: result.study.run(max_events=0), "max_events: 0 is not", ["--max-events", "0"]),
        (lambda: cwndlab.run("rfc2416", changes={"iww": 4}), 'iww: "iww" is', ["--set", "iww=4"]),
    ]
    for call, message, words in calls:
        with pytest.raises(CwndlabError) as caught:
            call()
        assert str(caught.value).startswith(message)
        with pytest.raises(SystemExit):
            app(["run", "rfc2416", *words, "-o", "none"])
        assert f"error: {words[0]}" in capsys.readouterr().err
    command = OutputError("no results; `cwndlab run STUDY --threads 2` makes them, or --out")
    assert str(command) == "no results; `cwndlab run STUDY --threads 2` makes them, or out"


def test_errors_of_names_and_types_are_also_pythons(result: RunResult) -> None:
    with pytest.raises(KeyError) as missing:
        result.figure("none")
    assert isinstance(missing.value, NotFoundError) and not str(missing.value).startswith(("'", '"'))
    with pytest.raises(TypeError) as wrong:
        cwndlab.run(result.study, replicats=2)  # type: ignore[call-arg]
    assert isinstance(wrong.value, ArgumentError)
    with pytest.raises(AttributeError, match=r"Plan has no `sel`; write study\.set\(AXIS=VALUE\)\.plan\(\)"):
        _ = result.plan.sel  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"Plan has no `cell`$") as near:
        _ = result.plan.cell  # type: ignore[attr-defined]
    assert near.value.name == "cell"  # so that Python asks: did you mean 'cells'?
