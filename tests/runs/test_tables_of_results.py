"""Results as tables: columns and types, what is printed, and what is reported of a damaged folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cwndlab.base.errors import ArgumentError, NotFoundError, OutputError
from cwndlab.results.result_folder import (
    MOST_REPLICATES,
    _lines,
    _traces_in,
    damage_as_error,
    read_provenance,
    read_statements,
    with_cell,
)
from cwndlab.results.result_tables import (
    PRINTED,
    ResultTables,
    axis_column,
    check_quantity,
    overview,
    table_of_words,
)
from cwndlab.results.samples import Samples, group_flows
from cwndlab.stats.results import Variation
from cwndlab.study.cells import CellInfo
from cwndlab.study.labels import Labels, QuantityInfo
from cwndlab.study.schema import Quantity
from synthetic import grid, make_results

CELLS = grid(iw=[1, 4], cc=["reno", "cubic"])
AXES: dict[str, Sequence[Any]] = {"iw": [1, 4], "cc": ["reno", "cubic"]}


def results(cells: Any = CELLS) -> Any:
    data: dict[Any, Any] = {
        (cell.id, "q"): [float(cell.axes["iw"]) + step for step in (-0.5, 0, 0.5)] for cell in cells
    }
    data |= {(cell.id, "sizes"): [[1.0, 2.0], [3.0]] for cell in cells}
    data[CELLS[0].id, "once"] = [7.0, 7.0, 7.0]
    made = make_results(cells, {"q": "ms", "once": "", "sizes": "B"}, data)
    many = dict(made.labels.quantities) | {"sizes": QuantityInfo("B", many=True)}
    return replace(made, labels=Labels(many))


TABLES = ResultTables(results(), AXES)


def test_a_table_of_estimates_has_a_row_for_each_cell_and_number() -> None:
    table = TABLES.estimates()
    assert table.column_names == [
        *("cell", "iw", "cc", "quantity", "unit", "value", "ci_low", "ci_high"),
        *("replicates", "method", "warning"),
    ]
    rows = table.to_pylist()
    assert [(row["cell"], row["quantity"], row["value"]) for row in rows] == [
        ("iw=1,cc=reno", "q", 1.0),
        ("iw=1,cc=reno", "once", 7.0),
        ("iw=1,cc=cubic", "q", 1.0),
        ("iw=4,cc=reno", "q", 4.0),
        ("iw=4,cc=cubic", "q", 4.0),
    ]
    assert rows[0]["ci_low"] < 1.0 < rows[0]["ci_high"]  # type: ignore[operator]
    assert (rows[0]["iw"], rows[0]["unit"], rows[0]["replicates"], rows[0]["method"]) == (1, "ms", 3, "t")
    assert len(table) == 5 == len(table.numbers) and table.numbers[0].quantity == "q"
    sure = ResultTables(make_results(CELLS[:1], {"q": "ms"}, {(CELLS[0].id, "q"): [1.0, 2.0, 3.5]}), AXES)
    assert sure.estimates() == sure.estimates() == sure.estimates().table and sure.estimates() != table
    with pytest.raises(NotFoundError) as error:
        table["valu"]
    assert str(error.value) == 'no column "valu"; did you mean "value"?; run["valu"] gives a quantity'
    with pytest.raises(ArgumentError, match=r"run.estimates is a table, not a method; write run.estimates"):
        table()  # type: ignore[operator]


def test_values_and_samples_have_a_row_for_each_replicate_and_object() -> None:
    values = TABLES.values().to_pylist()
    assert len(values) == 15
    assert values[1] == {
        **{"cell": "iw=1,cc=reno", "iw": 1, "cc": "reno", "replicate": 1, "quantity": "q", "unit": "ms"},
        "value": 1.0,
    }
    samples = TABLES.samples("sizes").to_pylist()
    assert [(row["replicate"], row["index"], row["value"]) for row in samples[:4]] == [
        *((0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (0, 0, 1.0))
    ]
    assert len(samples) == 12
    assert TABLES.cells().to_pydict() == {
        "cell": [cell.id for cell in CELLS],
        "iw": [1, 1, 4, 4],
        "cc": ["reno", "cubic", "reno", "cubic"],
    }


def test_numbers_are_compared_with_those_of_other_results() -> None:
    runs = [9.0 + k / 10 for k in range(9)]
    other = make_results(CELLS[:1], {"q": "ms"}, {(CELLS[0].id, "q"): runs})
    mine = make_results(CELLS, {"q": "ms"}, {(cell.id, "q"): [run - 5 for run in runs] for cell in CELLS})
    (row,) = ResultTables(mine, AXES).compared_with(other, "difference").to_pylist()
    assert (row["quantity"], row["value"], row["other"]) == (
        *("difference(q)", pytest.approx(-5.0)),
        pytest.approx(9.4),
    )
    assert row["significant"] is True
    with pytest.raises(NotFoundError, match="the runs have no number in common"):
        TABLES.compared_with(make_results((), {"q": "ms"}, {}), "difference")


def test_a_choice_has_a_row_for_each_number_of_the_cells_that_it_changes() -> None:
    variation = Variation("rto", "1s", results(), cells=frozenset({CELLS[1].id, "another"}))
    rows = TABLES.under([variation]).to_pylist()
    assert [(row["cell"], row["choice"], row["setting"], row["quantity"]) for row in rows] == [
        (CELLS[1].id, "rto", "1s", "q")
    ]


def test_a_table_prints_its_axes_and_what_is_not_empty() -> None:
    lines = repr(TABLES.estimates()).splitlines()
    assert lines[0].split() == ["iw", "cc", "quantity", "estimate", "replicates", "method"]
    assert lines[1].split()[:3] == ["1", "reno", "q"] and len(lines) == 1 + 5 + 2 + 1 - 1
    assert lines[6] == "95 % intervals in brackets." and lines[7] == "t: Student's t over the runs"
    html = TABLES.estimates()._repr_html_()
    assert html.startswith("<table><tr><th>iw</th><th>cc</th>") and html.endswith("over the runs</p>")
    assert html.count("<tr>") == 6 and html.count("<p>") == 2


@pytest.mark.parametrize("rows", [PRINTED, PRINTED + 1])
def test_sixty_rows_are_printed(rows: int) -> None:
    cells = grid(n=list(range(rows)))
    made = make_results(cells, {"q": "ms"}, {(cell.id, "q"): [1.0, 2.0] for cell in cells})
    lines = repr(ResultTables(made, {"n": list(range(rows))}).estimates()).splitlines()
    assert PRINTED == 60 and lines[60].split()[0] == "59"
    assert ("… 1 more rows" in lines) is (rows > PRINTED)


def test_without_axes_the_cell_is_printed() -> None:
    made = make_results((CellInfo("only", {}),), {"q": "ms"}, {("only", "q"): [1.0, 2.0]})
    assert repr(ResultTables(made, {}).estimates()).splitlines()[0].split()[:2] == ["cell", "quantity"]


@pytest.mark.parametrize(
    ("choices", "values", "kind", "found"),
    [
        ([1, 4], [4, None], pa.int64(), [4, None]),
        ([1, 4.5], [1, 4.5], pa.float64(), [1.0, 4.5]),
        ([True, False], [True], pa.bool_(), [True]),
        (["a"], ["a"], pa.string(), ["a"]),
        ([1, "a"], [1, None, "a"], pa.string(), ["1", None, "a"]),
        ([1, True], [1, True], pa.string(), ["1", "true"]),
    ],
)
def test_a_column_of_an_axis_has_the_type_of_all_its_values(
    choices: list[Any], values: list[Any], kind: pa.DataType, found: list[Any]
) -> None:
    column = axis_column(choices, values)
    assert (column.type, column.to_pylist()) == (kind, found)


def test_words_of_csv_files_have_their_types() -> None:
    columns = ("table", "measured", "replicates", "close", "note")
    table = table_of_words(columns, [("t", "1.5", "3", "yes", ""), ("u", "", "4", "no", "x")])
    assert table.to_pydict() == {
        "table": ["t", "u"],
        "measured": [1.5, None],
        "replicates": [3, 4],
        "close": [True, False],
        "note": [None, "x"],
    }
    empty = table_of_words(columns, [])
    assert empty.column_names == list(columns) and empty.num_rows == 0
    assert empty.schema.field("measured").type == pa.float64()


def test_a_quantity_has_one_number_for_each_run_or_many() -> None:
    made = results()
    check_quantity(made, "q", many=False)
    check_quantity(made, "sizes", many=True)
    for name, many, problem in (
        ("qq", False, 'no quantity "qq"; did you mean "q"?'),
        (
            "sizes",
            False,
            '"sizes" has a value for each of a run\'s objects, which depend on each other; '
            'run.samples("sizes") gives them',
        ),
        ("q", True, '"q" has one value for each run; run.values has them'),
    ):
        with pytest.raises((NotFoundError, ArgumentError)) as error:
            check_quantity(made, name, many=many)
        assert str(error.value) == problem


def test_an_overview_has_five_values_of_each_axis_and_the_units() -> None:
    quantities = [
        Quantity(name="goodput", metric="goodput", unit="kbit/s"),
        Quantity(name="delays", metric="queue_delay"),
        Quantity(name="jain", metric="jain_index"),
    ]
    assert overview("x", {"iw": [1, 2, 3, 4, 5], "n": list(range(6))}, quantities) == (
        "<x\nAxes:\n    iw                      1, 2, 3, 4, 5\n    n                       0, 1, 2, 3, 4, …\n"
        "Quantities:\n    goodput                 kbit/s\n"
        "    delays                  s, one for each object\n"
        "    jain                    1>"
    )
    assert overview("x", {}, []) == "<x>"


def quantity(name: str, flow: str | None) -> Quantity:
    return Quantity(name=name, metric="goodput", options={"traffic": flow} if flow else {})


def test_quantities_of_flows_are_grouped_by_the_name_without_the_flow() -> None:
    listed = [
        *(quantity("share_bbr1", "bbr1"), quantity("share_cubic", "cubic"), quantity("delay_a_b_p95", "a-b")),
        *(quantity("alone", "x"), quantity("total", None), quantity("loss", "y"), quantity("loss_z", "z")),
    ]
    assert group_flows(listed) == {
        "share": {"bbr1": "share_bbr1", "cubic": "share_cubic"},
        "delay_p95": {"a-b": "delay_a_b_p95"},
        "alone": {"x": "alone"},
        "loss": {"y": "loss"},
    }


FLOWS = {"a": "g_a", "b": "g_b"}


def samples(flows: dict[str, str] = FLOWS) -> Samples:
    cells = grid(iw=[1, 4], cc=["reno"])
    data = {
        (cell.id, name): [float(cell.axes["iw"]) * factor + step for step in (-0.1, 0.0, 0.1)]
        for cell in cells
        for name, factor in (("g_a", 1), ("g_b", 2))
    }
    return Samples.from_results(make_results(cells, {"g_a": "ms", "g_b": "ms"}, data), "g", flows)


def test_the_numbers_of_a_quantity_are_along_axes_that_vary_and_flows() -> None:
    both = samples()
    assert (both.axes, dict(both.fixed), both.unit, len(both)) == (
        *({"iw": [1, 4], "flow": ["a", "b"]}, {"cc": "reno"}),
        *("ms", 4),
    )
    one = samples({"a": "g_a"})
    assert (one.axes, dict(one.fixed)) == ({"iw": [1, 4]}, {"cc": "reno", "flow": "a"})
    assert both.sel(flow="b", iw=4).estimate().value == pytest.approx(8.0)
    assert both.sel(iw=[4]).axes == {"iw": [4], "flow": ["a", "b"]}
    assert dict(both.sel(iw=np.array(4)).fixed) == {"cc": "reno", "iw": 4}
    with pytest.raises(NotFoundError, match=r"g has 4 numbers; select one by sel\(iw=…, flow=…\)"):
        both.number()
    assert repr(both).startswith("<Samples of g (ms), cc = reno\n") and repr(both).endswith(">")


def test_numbers_are_combined_with_each_other_and_with_plain_ones() -> None:
    four = samples().sel(iw=4, flow="a")
    assert [
        (made.name, made.unit, made.estimate().value)
        for made in (four + 1, four - 1, four * 2, four / 2, 1 + four, 1 - four, 2 * four, 2 / four)
    ] == [
        ("g + 1", "ms", pytest.approx(5)),
        ("g - 1", "ms", pytest.approx(3)),
        ("g * 2", "ms", pytest.approx(8)),
        ("g / 2", "ms", pytest.approx(2)),
        ("1 + g", "ms", pytest.approx(5)),
        ("1 - g", "ms", pytest.approx(-3)),
        ("2 * g", "ms", pytest.approx(8)),
        ("2 / g", "1/ms", pytest.approx(0.5, rel=0.01)),
    ]


def test_numbers_are_compared_with_the_cell_that_is_named() -> None:
    ratio = samples().compare("ratio", to={"flow": "a"})
    assert (ratio.name, ratio.unit, ratio.axes) == ("ratio(g)", "1", {"iw": [1, 4], "flow": ["b"]})
    assert ratio.sel(iw=4).estimate().value == pytest.approx(2.0, rel=0.01)
    for kind, to, problem in (
        ("ratios", {"iw": 1}, 'there is no comparison "ratios"; did you mean "ratio"?'),
        ("ratio", {}, '`to` needs one value for each axis that it names: to={"buffer": 0.5}'),
        ("ratio", {"iw": [1, 4]}, '`to` needs one value for each axis that it names: to={"buffer": 0.5}'),
    ):
        with pytest.raises(ArgumentError) as error:
            samples().compare(kind, to=to)
        assert str(error.value) == problem
    with pytest.raises(NotFoundError, match=r"g has no other cell than that of \{'iw': 1\}"):
        samples({"a": "g_a"}).sel(iw=[1]).compare("ratio", to={"iw": 1})
    with pytest.raises(AttributeError, match=r"Samples has no `mean`; write to_xarray\(\).mean"):
        samples().mean  # noqa: B018
    with pytest.raises(AttributeError, match=r"Samples has no `other`$"):
        samples().other  # noqa: B018


def test_the_first_line_of_an_error_says_what_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as error, damage_as_error(tmp_path):
        raise ValueError("first\nsecond")
    assert (
        str(error.value) == f"{tmp_path}: holds what no run writes (ValueError: first); run the study again"
    )
    with pytest.raises(OutputError, match=r"^mine$"), damage_as_error(tmp_path):
        raise OutputError("mine")
    with pytest.raises(KeyboardInterrupt), damage_as_error(tmp_path):
        raise KeyboardInterrupt


STATED = {"study": "s", "cwndlab": "0.4", "engine": "e", "seed": 0, "cells": [{"id": "c", "replicates": 0}]}


@pytest.mark.parametrize(
    ("key", "value", "wrong"),
    [
        ("seed", 2**64 - 1, None),
        ("seed", 2**64, "seed: Input should be less than 18446744073709551616"),
        ("seed", -1, "seed: Input should be greater than or equal to 0"),
        ("replicates", MOST_REPLICATES, None),
        ("replicates", 10_000_001, "replicates: Input should be less than or equal to 10000000"),
        ("replicates", 0, None),
        ("cells", [{"id": "c", "replicates": -1}], "cells.0.replicates: Input should be greater"),
        ("study", 3, "study: Input should be a valid string"),
        ("anything", 3, None),
    ],
)
def test_what_a_folder_states_is_checked(tmp_path: Path, key: str, value: object, wrong: str | None) -> None:
    if wrong is None:
        assert read_statements(tmp_path, STATED | {key: value}).study == "s"
        return
    with pytest.raises(OutputError) as error:
        read_statements(tmp_path, STATED | {key: value})
    assert str(error.value).startswith(f"{tmp_path}: {wrong}")
    assert str(error.value).endswith("; run the study again")


def test_what_is_no_finished_folder_is_reported(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    for folder, content, problem in (
        (missing, None, f"there is no such folder; `cwndlab run STUDY -o {missing}` makes it"),
        (
            tmp_path,
            None,
            "is no result folder (no provenance.json in it); name what `cwndlab run -o` was given",
        ),
        (
            tmp_path,
            "[]",
            "is no result folder (no provenance.json in it); name what `cwndlab run -o` was given",
        ),
        (
            tmp_path,
            '{"study": "s", "unfinished": true}',
            f"the run did not come to its end; the same `cwndlab run … -o {tmp_path}` continues",
        ),
    ):
        if content is not None:
            (folder / "provenance.json").write_text(content)
        with pytest.raises(OutputError) as error:
            read_provenance(folder)
        assert str(error.value) == f"{folder}: {problem}"
    (tmp_path / "provenance.json").write_text('{"study": "s"}')
    assert read_provenance(tmp_path) == {"study": "s"}


def test_provenance_has_a_line_for_each_key_and_for_each_of_several_elements() -> None:
    content = {"a": 1, "one": [2], "two": [{"x": 1}, {"y": Path("p")}], "none": []}
    text = _lines(content)
    assert text == ('{\n "a": 1,\n "one": [2],\n "two": [\n  {"x": 1},\n  {"y": "p"}\n ],\n "none": []\n}\n')
    assert json.loads(text)["two"] == [{"x": 1}, {"y": "p"}]


def test_traces_are_found_wherever_a_study_names_them() -> None:
    raw = {"a": {"trace": "x", "b": [{"trace": "y"}, "z"]}, "trace": 3, "c": ({"trace": "w"},)}
    assert _traces_in(raw) == ["x", "y", "w"]


def test_the_cell_is_the_first_column() -> None:
    table = with_cell(pa.table({"x": [1, 2]}), "iw=1")
    assert table.to_pydict() == {"cell": ["iw=1", "iw=1"], "x": [1, 2]}
    assert with_cell(pa.table({"x": pa.array([], pa.int64())}), "c").num_rows == 0
