"""The page about the step from 0.2 to 0.3: an old study gets the errors that it quotes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.base.errors import StudyError

PAGE = (Path(__file__).parents[2] / "docs/evidence/migration-0.3.md").read_text(encoding="utf-8")
ERRORS = [
    row[2] for row in re.findall(r"^\| (.*?) \| (.*?) \| (.*) \|$", PAGE, flags=re.M) if "---" not in row[0]
][1:]
STUDY = """
title = "x"

[run]
duration = "2s"

[topology]
nodes = ["a", "b"]

[[topology.links]]
between = ["a", "b"]
rate = "1Mbps" # link

[[traffic]]
name = "x"
client = "a"
server = "b"
app = { kind = "bulk" }

[tcp]
profile = "linux-6" # tcp

[phases]
mild = ["0s", "1s"]

[axes.mss]
values = [500, 1000]
sets = "tcp.mss"

[[grids]]
name = "g"
axes = ["mss"] # grid

[[quantities]]
name = "a"
metric = "goodput" # quantity

[[quantities]]
name = "b"
metric = "goodput"

# more
[[tables]]
id = "t"
title = "T"
rows = ["mss"]
columns = [{ heading = "h", quantity = "a" }]
"""
FIGURE = '[[figures]]\nid = "f"\ntitle = "F"\nkind = "line"\nx = "mss"\nquantity = "a"\nwidth = "620"\n'
#: What 0.2 understood: a place of the study, and what is written there.
OLD = [
    ("# quantity", 'phase = "mild"'),
    ("# quantity", "whole_run = true"),
    ("# more", '[[quantities]]\nname = "c"\nderived = "ratio"\nof = "a"\nby = "b"'),
    ("# grid", "fix = { mss = 500 }"),
    (', quantity = "a" }', ', quantity = "a", compare = { kind = "decrease", to = { mss = 500 } } }'),
    ("# link", "loss = 0.01"),
    ("# tcp", 'congestion_control = "cubic"'),
    ('metric = "goodput" # quantity', 'metric = "throughput"'),
    ('metric = "goodput" # quantity', 'metric = "object_delays"'),
    ('metric = "goodput" # quantity', 'metric = "median_page_delay"'),
    ("# more", FIGURE),
    ("# more", '[axes.value]\nvalues = [1, 2]\nsets = "tcp.initial_window"'),
]


def test_the_study_itself_is_valid() -> None:
    assert len(Study.from_toml(STUDY).plan()) == 2


@pytest.mark.parametrize(("old", "error"), list(zip(OLD, ERRORS, strict=True)))
def test_what_an_old_study_says_is_an_error_that_the_page_quotes(old: tuple[str, str], error: str) -> None:
    place, text = old
    with pytest.raises(StudyError) as caught:
        Study.from_toml(STUDY.replace(place, f"\n{text}\n" if place.startswith("#") else text, 1)).plan()
    assert error in str(caught.value)
