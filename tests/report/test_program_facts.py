"""What the report says of programs, and the titles of stacked bars."""

from __future__ import annotations

import pytest

import synthetic
from cwndlab.apps.diagnosis.budget_figure import COLOURS, _chart
from cwndlab.apps.twin.kernel_facts import program_facts
from cwndlab.study.outputs import Figure

PROGRAM = {
    "command": "ping b",
    "end": "client",
    "node": "a",
    "start_ns": 1_000_000_000,
    "end_ns": 3_500_000_000,
}


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "ended with 0 after 2.500 s"), (1, "ended with 1 after 2.500 s"), (None, "ran until the end")],
)
def test_a_program_ended_with_a_code_or_ran_until_the_end(code: int | None, words: str) -> None:
    (fact,) = program_facts([{"programs": [{**PROGRAM, "exit_code": code}]}])
    assert f"ping b (client, at a): {words}" in str(fact)


def test_the_most_time_that_a_run_was_charged_is_named() -> None:
    charges = [{"calls": calls, "ns": ns, "first": "clock"} for calls, ns in ((2, 1_000_000), (3, 2_500_000))]
    (fact,) = program_facts([{"charge": charge} for charge in charges])
    assert "3, charged with 2.500 ms; the first by clock" in str(fact)
    assert list(program_facts([{"charge": {"calls": 0, "ns": 0, "first": ""}}])) == []
    assert list(program_facts([])) == []


@pytest.mark.parametrize(("own", "title"), [(None, "iw"), ("initial window", "initial window")])
def test_bars_have_the_title_of_their_axis_unless_the_figure_has_its_own(own: str | None, title: str) -> None:
    spec = Figure(id="f", title="F", kind="budget", x="iw", of="page", x_title=own)
    results = synthetic.rfc2415()
    made = _chart(spec, results, "data", ["1", "2"], [next(iter(COLOURS))], "page", 1)
    assert f"'title': {title!r}" in str(made) or f"'title': ['{title}']" in str(made)
