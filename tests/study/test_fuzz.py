"""Whatever a study file holds, loading and compiling end in a study or in a StudyError, nothing else."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study import toml
from cwndlab.study.expr import evaluate
from cwndlab.study.place import find_place
from fuzzing import Answers, tries
from small_study import TEXT

QUICK = tries(200)

WORDS = (
    "a|b|$webs|$webz|= webs * 2|= 1/0|{webs}B|{|$|=|1Mbps|-5ms|25pkt|1BDP|99999999999999999999h|tcp.rto|tcp||"
    "topology.links.wire.rate|traffic.bulk.count|drop-tail|red|bulk|../x|/etc/passwd|\x00|é|1e9|NaN|100%"
)
words = st.sampled_from(WORDS.split("|"))
scalars = st.one_of(words, st.integers(), st.floats(), st.booleans(), st.text(max_size=5))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths(item, (*at, index))
    return found


#: The short form of a study, with sections to which it adds.
SHORT = """
title = "a dumbbell"
measure = ["share", "queue_delay"]
[dumbbell]
rate = "5Mbps"
rtt = ["20ms", "30ms"]
queue = ["drop-tail", { kind = "codel" }]
flows = [{ cc = "cubic", count = [1, 2] }, { bytes = "10kB", start = { uniform = ["0s", "10ms"] }, tcp = {} }]
[tcp]
groups = {}
[run]
duration = "50ms"
[axes.iw]
values = [1, 4]
sets = "tcp.initial_window"
[[quantities]]
name = "goodput"
metric = "goodput"
"""
BASES = {text: paths(tomllib.loads(text)) for text in (TEXT, SHORT)}


@QUICK
@given(
    st.sampled_from([TEXT, SHORT]).flatmap(
        lambda text: st.tuples(
            st.just(text),
            st.lists(
                st.tuples(
                    st.sampled_from(BASES[text]), st.sampled_from(["put", "drop", "add"]), words, values
                ),
                max_size=3,
            ),
        )
    )
)
def test_a_study_with_anything_in_any_place_loads_or_is_refused(
    made: tuple[str, list[tuple[Any, str, str, Any]]],
) -> None:
    text, edits = made
    raw = tomllib.loads(text)
    for path, action, key, value in edits:
        here: Any = raw
        try:
            for step in path[:-1]:
                here = here[step]
            if action == "put":
                here[path[-1]] = value
            elif action == "drop":
                del here[path[-1]]
            else:
                here[path[-1]][key] = value
        except (KeyError, IndexError, TypeError):
            continue
    try:
        Study.from_dict(raw).plan().check()
    except StudyError as error:
        assert str(error)


def test_any_text_loads_or_is_refused() -> None:
    answers = Answers()

    @QUICK
    @given(st.sampled_from(["", f"{TEXT}# ", f"{SHORT}# "]), st.text(max_size=200))
    def load(before: str, text: str) -> None:
        with answers.counted(StudyError):
            Study.from_toml(before + text)

    load()
    answers.check(accepted=0.1, rejected=0.2)


def test_a_damaged_file_loads_or_is_refused() -> None:
    answers = Answers()
    harmless = st.sampled_from(["", " ", "\n", "# ", "0", "1"])

    @QUICK
    @given(
        st.integers(0, len(TEXT) - 1),
        st.one_of(st.integers(0, 1), st.integers(0, 30)),
        st.one_of(harmless, st.text(max_size=8)),
    )
    def load(start: int, length: int, text: str) -> None:
        with answers.counted(StudyError):
            Study.from_toml(TEXT[:start] + text + TEXT[start + length :]).plan().check()

    load()
    answers.check(accepted=0.05, rejected=0.2)


#: Keys that a study can set, each with values of which some fit.
SETTABLE = {
    "iw": st.one_of(st.integers(0, 20), st.lists(st.integers(1, 20), max_size=3)),
    "webs": st.integers(-1, 20),
    "run.seed": st.integers(),
    "tcp.initial_window": st.one_of(words, st.integers(0, 20)),
    "tcp.rto.min": st.integers(0, 10_000).map("{}ms".format),
    "topology.links.wire.rate": st.one_of(words, st.integers(0, 100).map("{}Mbps".format)),
    "probes.cwnd": st.one_of(scalars, st.booleans()),
}
one_setting = st.sampled_from([*SETTABLE]).flatmap(
    lambda key: st.fixed_dictionaries({key: SETTABLE[key]}),
)
anything = st.dictionaries(
    st.one_of(words, st.sampled_from([*SETTABLE])),
    st.one_of(scalars, st.lists(scalars, max_size=3)),
    max_size=3,
)


def test_any_set_changes_the_study_or_is_refused() -> None:
    answers = Answers()
    plain = Study.from_toml(TEXT)

    @QUICK
    @given(st.one_of(anything, one_setting, st.fixed_dictionaries({}, optional=SETTABLE)))
    def change(changes: dict[str, Any]) -> None:
        with answers.counted(StudyError):
            plain.set(changes).plan().check()

    change()
    answers.check(accepted=0.05, rejected=0.2)


PIECES = (
    "a|b|x|1|2.5|'x'|true|+|-|*|/|//|%|**|==|<|in|not|and|or|if|else|(|)|[|]|,|min(|int(|round(|abs(|open(|."
)
operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "==", "and"])
valued = st.recursive(
    st.sampled_from(["a", "1", "2.5", "0", "a * 2"]),
    lambda inner: st.builds("{}{} {} {})".format, st.sampled_from(["(", "abs("]), inner, operators, inner),
    max_leaves=4,
)


def test_no_expression_does_anything_but_compute() -> None:
    answers = Answers()

    @QUICK
    @given(
        st.one_of(
            st.text(max_size=60),
            st.lists(st.sampled_from(PIECES.split("|")), max_size=8).map(" ".join),
            valued,
        )
    )
    def compute(text: str) -> None:
        with answers.counted(StudyError):
            assert isinstance(evaluate(text, {"a": 1, "b": "x"}), int | float | str | list)

    compute()
    answers.check(accepted=0.1, rejected=0.2)


@QUICK
@given(st.text(max_size=200), st.lists(st.one_of(st.text(max_size=5), st.integers(0, 3)), max_size=4))
def test_finding_a_line_never_fails(text: str, path: list[Any]) -> None:
    place = find_place(text, tuple(path))
    assert place is None or (1 <= place[0] <= text.count("\n") + 1 and place[1] >= 1)


keys = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=5)
tables = st.dictionaries(
    keys,
    st.recursive(
        st.one_of(
            st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans(), st.text(max_size=8)
        ),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
        max_leaves=8,
    ),
    max_size=4,
)


@QUICK
@given(tables)
def test_written_toml_reads_back_the_same(raw: dict[str, Any]) -> None:
    assert tomllib.loads(toml.dumps(raw)) == raw
