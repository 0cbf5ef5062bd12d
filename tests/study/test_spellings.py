"""Spellings that a study file had once: the error says what to write instead."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.study.grammar import Compare, comparison

STUDY = """
title = "x"

[run]
duration = "1s"

[topology]
nodes = ["a", "b"]

[[topology.links]]
between = ["a", "b"]
rate = "1Mbps"
{link}

[[traffic]]
name = "x"
client = "a"
server = "b"
app = {{ kind = "bulk" }}

[axes.mss]
values = [500, 1000]
sets = "tcp.mss"

[[quantities]]
name = "rate"
metric = "goodput"

[[tables]]
id = "t"
title = "T"
rows = ["mss"]
columns = [{{ heading = "h", quantity = "rate"{column} }}]
"""


def study(*, link: str = "", column: str = "") -> Study:
    return Study.from_toml(STUDY.format(link=link, column=column))


def error(*, link: str = "", column: str = "") -> str:
    with pytest.raises(StudyError) as caught:
        study(link=link, column=column)
    return str(caught.value)


def test_a_comparison_is_a_function_of_the_axes_in_which_the_other_cell_differs() -> None:
    assert comparison("decrease(iw=1)") == Compare("decrease", {"iw": 1})
    assert comparison("ratio(cc='cubic', loss=0.1, on=True)").to == {"cc": "cubic", "loss": 0.1, "on": True}
    table = study(column=', compare = "ratio(mss=500)"').outline.tables[0]
    assert table.model_dump(mode="json")["columns"][0]["compare"] == "ratio(mss=500)"


@pytest.mark.parametrize("wrong", ["decrease", "decrease(1)", "fall(iw=1)", "ratio(iw=x)", "a / b", "("])
def test_any_other_expression_is_no_comparison(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"decrease\(iw=1\)"):
        comparison(wrong)


def test_a_comparison_in_a_table_leads_to_the_expression() -> None:
    found = error(column=', compare = { kind = "ratio", to = { mss = 500 } }')
    assert 'write compare = "ratio(mss=500)"' in found and "tables.t.columns.1.compare" in found


def test_a_comparison_names_axes_and_values_of_the_study() -> None:
    assert "axis mss has no value 7" in error(column=', compare = "ratio(mss=7)"')
    assert 'did you mean "mss"' in error(column=', compare = "ratio(ms=500)"')


def test_a_loss_is_a_percentage_as_everywhere() -> None:
    assert 'write "1%"' in error(link="loss = 0.01")
    assert 'write "2%"' in error(link='loss = { at = { "0s" = 0.02 } }')
    impairments = study(link='loss = "1%"').plan().cells[0].compiled.scenario["links"][0]["impairments"]
    assert impairments == [{"kind": "bernoulli", "p": 0.01}]


def test_an_axis_cannot_be_called_as_a_column_of_the_results() -> None:
    text = STUDY.format(link="", column="").replace("[axes.mss]", "[axes.cell]").replace('"mss"', '"cell"')
    with pytest.raises(StudyError, match='have a column "cell" of their own; give the axis another name'):
        Study.from_toml(text)
    with pytest.raises(StudyError, match='have a column "value" of their own'):
        Study.from_toml(text.replace("[axes.cell]", "[sensitivity.value]").replace('["cell"]', "[]"))


def test_a_window_beyond_the_run_says_what_to_write() -> None:
    text = STUDY.format(link="", column="") + '\n[phases]\nlate = ["0s", "8.3s"]\n'
    with pytest.raises(StudyError, match=r'ends at 8.3 s, and the run at 1 s; write run.duration = "8.3s"'):
        Study.from_toml(text)
