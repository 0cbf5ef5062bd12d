"""Choices of `--sensitivity`, files next to a study, and what is made for `measure`, one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cwndlab import metrics
from cwndlab.api import Study
from cwndlab.base.errors import KeyPath, StudyError
from cwndlab.study import files
from cwndlab.study.choices import (
    Wanted,
    combined_axes,
    describe_choices,
    draw,
    is_selected,
    parse_choices,
    variations_around,
)
from cwndlab.study.consistency import locate_outside
from cwndlab.study.grammar import ExpressionError, parse
from cwndlab.study.place import _present
from small_study import TEXT

CHOICES = """
[sensitivity.aa]
sets = "topology.links.wire.delay"
values = ["1ms", "50ms"]
where = { iw = 4 }
[sensitivity.recovery]
sets = "tcp.recovery"
values = ["reno", "tahoe", "new-reno"]
[sensitivity.own]
sets = "run.warmup"
values = ["0s", "1ms"]
combined = false
"""


def study(combinations: int = 0, text: str = TEXT) -> Study:
    return Study.from_toml((f"combinations = {combinations}\n" if combinations else "") + text + CHOICES)


def test_one_axis_all_or_combinations_are_chosen() -> None:
    made = study()
    assert parse_choices(made, None) == Wanted()
    assert parse_choices(made, "aa") == Wanted(("aa",)) and Wanted(("aa",)).variations == 0
    assert parse_choices(made, "own") == Wanted(("own",))
    every = parse_choices(made, "all")
    assert every.axes == ("aa", "recovery", "own") and every.combinations == draw(made)
    with pytest.raises(StudyError, match='there is no sensitivity axis "combinations"') as caught:
        parse_choices(made, "combinations")
    assert (caught.value.key, caught.value.right) == ("--sensitivity", "known: aa, recovery, own, all")
    with pytest.raises(StudyError, match="the study has no sensitivity axes") as caught:
        parse_choices(Study.from_toml(TEXT), "all")
    assert caught.value.right == "give it [sensitivity]"


def test_combinations_have_each_value_of_an_axis_equally_often() -> None:
    made = study(7)
    drawn = parse_choices(made, "combinations")
    assert drawn.axes == () and drawn.variations == 7 and drawn.combinations == draw(made)
    assert list(combined_axes(made)) == ["aa", "recovery"]
    assert {tuple(one) for one in drawn.combinations} == {("aa", "recovery")}
    counts = {name: Counter(one[name] for one in drawn.combinations) for name in ("aa", "recovery")}
    assert sorted(counts["aa"].values()) == [3, 4] and sorted(counts["recovery"].values()) == [2, 2, 3]
    other = study(7, TEXT.replace("seed = 7", "seed = 8"))
    assert draw(other) != draw(made)
    with pytest.raises(StudyError) as caught:
        parse_choices(made, "x")
    assert caught.value.right == "known: aa, recovery, own, all, combinations"


def test_a_cell_is_varied_only_where_an_axis_applies() -> None:
    made = study(3)
    asked = Wanted(("aa", "recovery"), ({"aa": "1ms"}, {"recovery": "reno"}))
    one = list(variations_around(made, {"iw": 1}, asked))
    assert one == [
        *(("recovery", {"recovery": value}) for value in ("reno", "tahoe", "new-reno")),
        ("combinations", {"recovery": "reno"}),
    ]
    four = list(variations_around(made, {"iw": 4}, Wanted(("aa",), ({"aa": "50ms"},))))
    assert four == [("aa", {"aa": "1ms"}), ("aa", {"aa": "50ms"}), ("combinations", {"aa": "50ms"})]


def test_choices_are_described_by_what_differs_from_the_studys_own() -> None:
    made = study()
    assert describe_choices(made, {"aa": "1ms", "recovery": "reno"}) == "nothing changed"
    assert describe_choices(made, {"aa": "50ms", "recovery": "tahoe"}) == "aa=50ms, recovery=tahoe"


@pytest.mark.parametrize(
    ("where", "selected"),
    [({}, True), ({"iw": 4}, True), ({"iw": "4"}, True), ({"iw": [1, 4.0]}, True), ({"iw": 1}, False),
     ({"iw": 4, "n": 1}, False), ({"iw": []}, False)],
)  # fmt: skip
def test_a_cell_is_selected_if_it_has_all_axes_with_one_of_the_values(
    where: dict[str, object], selected: bool
) -> None:
    assert is_selected({"iw": 4, "cc": "reno"}, where) is selected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a.csv", ""), ("./sub/../a.csv", "outside"), ("sub/b.csv", ""), (".", "outside"), ("", "outside"),
        ("..", "outside"), ("sub/..", "outside"), ("/etc/passwd", "outside"), ("a\0b", "outside"),
        ("link", "outside"), ("Figures/a.csv", "where a run writes"),
        ("report.html", "where a run writes"), ("sub/figures/a.csv", ""),
    ],
)  # fmt: skip
def test_a_study_reads_only_files_next_to_it(name: str, problem: str, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    if problem:
        with pytest.raises(StudyError, match=problem):
            files.resolve_inside(folder, name)
        return
    assert files.resolve_inside(folder, name) == folder / name
    with pytest.raises(StudyError, match="a study built in code has no folder"):
        files.resolve_inside(None, name)


def test_a_file_that_is_gone_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="the file cannot be read: No such file or directory") as caught:
        files.read_copy(tmp_path, tmp_path / "a.csv")
    assert caught.value.file == str(tmp_path / "a.csv")
    with pytest.raises(StudyError, match="the file cannot be read: its folder was changed"):
        files.read_copy(tmp_path, tmp_path.parent / "a.csv")
    with pytest.raises(StudyError, match="there is no such file") as caught:
        files.read_csv(tmp_path, "b.csv")


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ('a,b\n"x"y,2\n', "this is not CSV", None),
        ("\n\n", "the file is empty", None),
        ("a,b\n1,2\n1,2,3\n", "3 fields where the heading has 2", 3),
        ("a,b\n1,2,3,4\n", "4 fields where the heading has 2", 2),
    ],
)
def test_what_is_no_table_is_an_error_at_its_line(
    text: str, problem: str, line: int | None, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=problem) as caught:
        files.read_csv(tmp_path, "t.csv")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "t.csv"), line)
    study = Study.from_toml(TEXT)
    placed = locate_outside(study, caught.value, ("axes", "iw"))
    if line is not None:
        assert placed is caught.value
    else:
        assert placed is not caught.value and placed.key == "axes.iw"


def test_short_lines_are_filled_up_and_columns_are_numbers_on_demand(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(" a , b\n\n1, x \n2\n", encoding="utf-8")
    table = files.read_csv(tmp_path, "t.csv")
    assert table.columns == ["a", "b"] and table.lines == [{"a": "1", "b": "x"}, {"a": "2", "b": ""}]
    assert table.numbers("a", int) == [1, 2] and table.numbers("a", float) == [1.0, 2.0]
    with pytest.raises(ValueError, match="x"):
        table.numbers("b", float)
    assert files.read_csv(tmp_path, "t.csv") is table
    (tmp_path / "t.csv").write_text("a\n33\n", encoding="utf-8")
    assert files.read_csv(tmp_path, "t.csv").columns == ["a"]


SHORT = """
title = "t"
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = ["20ms", "40ms"]
flows = [{ cc = "reno" }]
[run]
duration = "1s"
"""


def shown(more: str = "") -> tuple[list[str], list[str]]:
    """The tables and figures of a study that measures goodput."""
    outline = Study.from_toml(SHORT + more).outline
    return [table.id for table in outline.tables], [figure.id for figure in outline.figures]


def test_tables_and_figures_are_made_unless_the_study_has_its_own() -> None:
    tables, figures = shown()
    assert len(tables) == len(figures) == 1
    column = '[[tables.columns]]\nheading = "h"\nquantity = "goodput"\n'
    own = f'[[tables]]\nid = "own"\ntitle = "Own"\nrows = ["rtt"]\n{column}'
    assert shown(own) == (["own"], figures)
    line = '[[figures]]\nid = "own"\ntitle = "Own"\nkind = "{}"\nx = "rtt"\nquantity = "goodput"\n'
    for kind in ("line", "bar"):
        assert shown(line.format(kind)) == (tables, ["own"])
    over_time = '[[figures]]\nid = "time"\ntitle = "T"\nkind = "over-time"\nwhere = { rtt = 20 }\n'
    assert shown(over_time) == (tables, [*figures, "time"])
    assert shown(over_time + line.format("line")) == (tables, ["time", "own"])


@pytest.mark.parametrize("axis", ["[axes]\nx = 3", '[axes.x]\nsets = "run.warmup"', '[axes.x]\nvalues = "a"'])
def test_an_axis_that_is_none_is_reported_and_no_crash(axis: str) -> None:
    with pytest.raises(StudyError, match="axes"):
        Study.from_toml(SHORT + axis + "\n")


@pytest.mark.parametrize(("name", "accepted"), [("gap", True), ("goodput", False), ("twice", False)])
def test_only_quantities_whose_expectation_is_0_adjust_others(name: str, accepted: bool) -> None:
    quantities = f"""
[[quantities]]
name = "delay"
unit = "s"
metric = "completion_time"
within = "mean"
adjust_for = ["{name}"]
[[quantities]]
name = "gap"
unit = "B"
metric = "drawn_bytes"
[[quantities]]
name = "twice"
unit = "kbit/s"
derived = "goodput + goodput"
"""
    centred = [one for one in metrics.names() if metrics.get(one).centred]
    text = TEXT + quantities.replace("drawn_bytes", centred[0])
    if accepted:
        Study.from_toml(text)
        return
    with pytest.raises(StudyError, match=f'the expectation of "{name}" is not known to be 0') as caught:
        Study.from_toml(text)
    assert caught.value.right == f"name a quantity of the metric {', '.join(centred)}"


def test_an_error_in_an_expression_has_its_column_and_what_would_be_right() -> None:
    assert str(ExpressionError("bad", 3)) == "column 3: bad"
    assert str(ExpressionError("bad", 3, "good")) == "column 3: bad; good"


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("a ]", 3, r"a \] without its \["),
        ("1 + a[b", 6, r"a \[ without its \]"),
        ("x" * 2001, 2000, "longer than 2000"),
        ("a is b", 1, "Is is no comparison here"),
        ("1 + (lambda: 2)", 6, "'lambda: 2' is not allowed"),
        ("a @ b", 1, "'a @ b' is not allowed"),
        ("1 +", 4, "invalid syntax"),
        ("-" * 41 + "1", 1, "nested deeper than 40"),
    ],
)
def test_what_is_no_expression_is_an_error_at_its_column(text: str, column: int, problem: str) -> None:
    with pytest.raises(ExpressionError, match=problem) as caught:
        parse(text)
    assert caught.value.column == column


def test_the_longest_and_the_deepest_expression_are_read() -> None:
    assert parse("-" * 38 + "1") is not None
    assert parse("x" * 2000) is not None


@pytest.mark.parametrize(
    ("path", "present"),
    [
        (("a", "b", 1, "c"), ("a", "b", 1, "c")), (("a", "b", 2), ("a", "b")), (("a", "b", "c"), ("a", "b")),
        (("a", "x", 0), ("a",)), (("a", 0), ("a",)), (("x",), ()), (("t", 0), ("t",)), ((), ()),
        (("a", "b", 1, "c", "d"), ("a", "b", 1, "c")),
    ],
)  # fmt: skip
def test_the_place_of_a_key_is_that_of_the_nearest_one_there_is(path: KeyPath, present: KeyPath) -> None:
    assert _present({"a": {"b": [0, {"c": 1}]}, "t": "text"}, path) == present
