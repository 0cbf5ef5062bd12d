"""Wrong arguments of the Python functions are errors of cwndlab that say what would be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cwndlab
from cwndlab import Dumbbell, Flow, Link, RunResult, Study
from cwndlab.errors import ArgumentError, CwndlabError, NotFoundError
from small_study import edited


@pytest.fixture(scope="module")
def result() -> RunResult:
    return cwndlab.run(Study.from_toml(edited()))


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no study": (lambda _: cwndlab.run(None), "a shipped name or a file, not NoneType"),
    "no option": (lambda r: cwndlab.run(r.study, replicats=2), 'did you mean "replicates"'),
    "set": (lambda r: cwndlab.run(r.study, set={}), "it is called `changes`"),
    "changes in a list": (lambda r: cwndlab.run(r.study, changes=[1]), "changes must be a mapping"),
    "a key that is no text": (lambda r: r.study.set({3: 3}), "changes has the key 3"),
    "tables in a list": (lambda _: Study.from_dict([1]), "raw must be a mapping"),
    "text that is none": (lambda _: Study.from_toml(3), "the text of a study is needed, not int"),
    "replicates in words": (
        lambda r: cwndlab.run(r.study, replicates="three"),
        "a whole number, not 'three'",
    ),
    "half a replicate": (lambda r: r.study.plan(replicates=1.5), "a whole number, not 1.5"),
    "folder that is none": (lambda _: cwndlab.open_results(3), "results are in a folder, not int"),
    "no table": (lambda r: r.records["flows"], 'there is no table "flows"'),
    "no cell": (lambda r: r.sel(cell="iw=9"), 'no cell "iw=9"'),
    "no figure": (lambda r: r.figure("none"), 'no figure "none"'),
    "no replicate": (lambda r: r.sel(iw=1).records("segments", replicate=99), "there is no replicate 99"),
    "no flow": (lambda r: r.sel(iw=1).explain("ftp"), 'no TCP flow "ftp"'),
    "no time": (lambda r: r.sel(iw=1).explain(at="soon"), '^at: "soon" is not a time'),
    "value of a model": (lambda _: Flow(cc=3), r"^Flow\.cc: 3 does not fit; it must be text"),
    "key of a model": (lambda _: Flow(ccc="cubic"), r'^Flow\.ccc: unknown key .ccc.; did you mean "cc"'),
    "model in a model": (
        lambda _: Link(between=["a", "b"], rate="1Mbps", delay=3),
        r'^Link\.delay: 3 is not a time; write .* like "50ms"',
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


def test_errors_of_names_and_types_are_also_pythons(result: RunResult) -> None:
    with pytest.raises(KeyError) as missing:
        result.figure("none")
    assert isinstance(missing.value, NotFoundError) and not str(missing.value).startswith(("'", '"'))
    with pytest.raises(TypeError) as wrong:
        cwndlab.run(result.study, replicats=2)  # type: ignore[call-arg]
    assert isinstance(wrong.value, ArgumentError)
