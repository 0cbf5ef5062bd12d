"""Results as tables and datasets: the same columns for any selection, and what a selection may be."""

from __future__ import annotations

import copy

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from cwndlab import ArgumentError, CwndlabError, NotFoundError, RunResult, Study, StudyError
from fake_core import FakeCore, replace_core
from small_study import edited

#: Two grids whose cells have different axes; `rate` has a unit, `size` numbers and texts.
STUDY = edited(
    (
        "[axes.iw]",
        """[axes.rate]
unit = "Mbps"
values = [
    { name = 10, set = { "topology.links.wire.rate" = "10Mbps" } },
    { name = 2.5, set = { "topology.links.wire.rate" = "2.5Mbps" } },
]

[axes.iw]""",
    ),
    (
        "[[quantities]]",
        """[axes.flows]
sets = "traffic.bulk.count"
values = [2, 3]

[axes.size]
values = [
    { name = 1, set = { "run.duration" = "50ms" } },
    { name = "all", set = { "run.duration" = "60ms" } },
]

[[grids]]
axes = ["rate", "iw", "flows"]

[[grids]]
axes = ["size", "flows"]

[[quantities]]""",
    ),
)


@pytest.fixture
def run(fake_core: FakeCore) -> RunResult:
    return Study.from_toml(STUDY, name="mine").run()


def test_every_table_begins_with_the_cell_and_all_axes_in_the_study_s_order(run: RunResult) -> None:
    axes = ["rate", "iw", "flows", "size"]
    for table in (run.cells, run.estimates, run.values):
        assert table.column_names[:5] == ["cell", *axes]
    assert run.cells.num_rows == 12 and run.cells.column("size").null_count == 8


def test_estimates_print_as_a_table(run: RunResult) -> None:
    one = run.sel(rate=2.5, iw=4)
    shown = [line.split("  ") for line in str(one.estimates).splitlines()]
    assert [len(line) for line in str(run.estimates).splitlines()] and len(shown) == 5
    assert str(one.estimates).endswith(
        "log t: Student's t on the logarithm, so that no interval goes below 0"
    )
    assert [word.strip() for word in shown[0] if word] == [
        *("rate", "iw", "flows", "quantity", "estimate", "replicates", "method")
    ]
    estimate = one.sel(flows=3).estimate("goodput")
    assert f"goodput   {estimate}  3" in str(one.estimates) and f"<td>{estimate}</td>" in run._repr_html_()
    assert "\n… " not in str(run.estimates)
    assert str(run.sel(flows=2).estimates).count("\n") == 8


def test_printed_estimates_are_arrow_to_everyone_who_reads_it(run: RunResult) -> None:
    estimates = run.estimates
    table = pa.table(estimates)
    assert table == estimates.table and len(estimates) == table.num_rows == 12
    assert estimates.to_pylist() == table.to_pylist() and estimates["value"] == table["value"]
    assert duckdb.sql("select count(*) from estimates where flows = 2").fetchall() == [(6,)]
    assert copy.deepcopy(estimates) == estimates


def test_a_selection_changes_neither_the_columns_nor_their_types(run: RunResult) -> None:
    for selected in (run.sel(rate=10), run.sel(size="all"), run.sel(size=1)):
        assert selected.estimates.schema == run.estimates.schema
        assert selected.values.schema == run.values.schema
    types = {field.name: field.type for field in run.sel(rate=10).cells.schema}
    assert types == {"cell": pa.string(), "rate": pa.float64(), "iw": pa.int64()} | {
        "flows": pa.int64(),
        "size": pa.string(),
    }


def test_estimates_say_what_is_doubtful_about_an_interval(run: RunResult) -> None:
    assert run.estimates.column_names[5:] == [
        *("quantity", "unit", "value", "ci_low", "ci_high", "replicates", "method", "warning")
    ]


@pytest.mark.parametrize(
    "wanted",
    [
        *(10, 10.0, "10", "10.0", "10Mbps", "10000kbps", np.int64(10), np.float64(10), [10], (10,), {10}),
        *(
            range(10, 11),
            np.array([10]),
            np.array(10),
            slice(5, None),
            slice("9Mbps", "10Mbps"),
            slice(10, 10),
        ),
        *(iter([10]), {10: None}.keys(), pa.scalar(10), pa.array([10])),
    ],
)
def test_a_value_of_an_axis_can_be_selected_however_it_is_written(run: RunResult, wanted: object) -> None:
    assert run.sel(rate=wanted).axes["rate"] == [10]


@pytest.mark.parametrize("wanted", [10, 10.0, "10", "10Mbps", np.array([10]), {10}, slice(5, None)])
def test_set_takes_the_values_that_a_selection_takes(wanted: object) -> None:
    study = Study.from_toml(STUDY).set({"rate": wanted})
    assert {cell.axes["rate"] for cell in study.plan().cells if "rate" in cell.axes} == {10}


def test_arrays_of_pandas_and_xarray_select_as_lists_do(run: RunResult) -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed: make .venv/.ci")
    data = run.sel(size=None).to_xarray()
    assert run.sel(rate=data["rate"][0]).axes["rate"] == [10]
    assert run.sel(rate=data["rate"]).axes["rate"] == [10, 2.5]
    assert run.sel(rate=data.indexes["rate"]).axes["rate"] == [10, 2.5]
    assert isinstance(data, xarray.Dataset)


def test_none_selects_the_cells_without_an_axis(run: RunResult) -> None:
    assert run.sel(size=None).axes == {"rate": [10, 2.5], "iw": [1, 4], "flows": [2, 3]}
    assert run.sel(rate=None, flows=2).cells.num_rows == 2


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"rate": "10kbps"}, "axis 'rate' has no value '10kbps'"),
        ({"rate": slice(20, 30)}, "no cell has"),
        ({"rate": slice(1, 20, 2)}, "a slice has numbers as its ends, and no step"),
        ({"rate": slice("a", None)}, "a slice has numbers as its ends"),
        ({"rte": 10}, "no axis 'rte'; did you mean \"rate\""),
    ],
)
def test_what_no_cell_has_is_an_error_that_says_so(
    run: RunResult, wanted: dict[str, object], message: str
) -> None:
    with pytest.raises(NotFoundError, match=message):
        run.sel(wanted)
    with pytest.raises(ArgumentError, match="axes must be a mapping of keys to values, not 'rate'"):
        run.sel("rate")  # type: ignore[arg-type]


def test_plan_and_failures_are_those_of_the_selected_cells(fake_core: FakeCore) -> None:
    replace_core(FakeCore(broken='"segments":4'))
    run = Study.from_toml(edited()).run()
    assert len(run.failures) == 3 and run.sel(iw=1).failures == []
    one = run.sel(iw=4)
    assert [cell.id for cell in one.plan.cells] == ["iw=4"] and len(one.failures) == 3


def test_results_cannot_be_changed_by_what_they_hand_out(run: RunResult) -> None:
    before = run.estimates
    run.axes["rate"].append(99)
    run.axes.clear()
    run.quantities.clear()
    assert run.axes["rate"] == [10, 2.5] and run.quantities == {"goodput": "kbit/s"}
    assert run.estimates == before


def test_results_of_runs_that_all_failed_have_their_columns_and_name_the_failure(
    fake_core: FakeCore,
) -> None:
    replace_core(FakeCore(broken="segments"))
    run = Study.from_toml(edited()).run()
    assert run.estimates.num_rows == 0 and run.estimates.column_names[:3] == ["cell", "iw", "quantity"]
    html = run._repr_html_()
    assert "<tr></tr>" not in html and "6 of 6 runs failed, the first iw=1, replicate 0: the engine" in html


def test_a_dataset_of_cells_with_different_axes_has_them_along_the_cells(run: RunResult) -> None:
    pytest.importorskip("xarray", reason="xarray is not installed: make .venv/.ci")
    data = run.to_xarray()
    assert data["goodput"].dims == ("cell", "replicate")
    assert data.coords["flows"].dims == ("cell",) and data.coords["flows"].values.tolist() == [2, 3] * 6
    assert np.isnan(data.coords["rate"].values).sum() == 4 and data.coords["rate"].attrs["units"] == "Mbps"
    assert data.groupby("iw").mean()["goodput"].sizes["iw"] == 2
    assert data.attrs["study"] == "mine" and data.attrs["title"] == "two nodes" and data.attrs["seed"] == 7


def test_a_dataset_can_be_written_and_read(run: RunResult, tmp_path: object) -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed: make .venv/.ci")
    pytest.importorskip("scipy", reason="scipy is not installed: make .venv/.ci")
    file = f"{tmp_path}/data.nc"
    for data in (run.to_xarray(), run.sel(size=None).to_xarray()):
        data.to_netcdf(file, engine="scipy")
        assert np.array_equal(xarray.load_dataset(file, engine="scipy")["goodput"], data["goodput"])


def test_an_estimate_is_of_one_number_for_each_run(fake_core: FakeCore) -> None:
    added = '[[quantities]]\nname = "sizes"\nmetric = "completion_time"\noptions = { kind = "page" }\n'
    study = Study.from_toml(edited(("[[quantities]]", added + "\n[[quantities]]")))
    replace_core(FakeCore(broken="segments"))  # known of the quantity, not of its values
    run = study.run().sel(iw=1)
    with pytest.raises(ArgumentError, match=r'"sizes" has a value for each .*; run\.samples\("sizes"\)'):
        run.estimate("sizes")
    with pytest.raises(ArgumentError, match=r'"goodput" has one value for each run; run\.values'):
        run.samples("goodput")
    assert run.samples("sizes").column_names == [
        *("cell", "iw", "replicate", "index", "quantity", "unit", "value")
    ]


def test_a_wrong_name_of_a_quantity_is_found_before_anything_else(run: RunResult) -> None:
    for call in (run.estimate, run.samples):
        with pytest.raises(NotFoundError, match='no quantity "godput"; did you mean "goodput"'):
            call("godput")


def test_an_axis_cannot_be_called_as_a_quantity_or_a_column(fake_core: FakeCore) -> None:
    with pytest.raises(StudyError, match='a quantity is called "iw", too'):
        Study.from_toml(edited(('name = "goodput"', 'name = "iw"')))
    for column in ("index", "warning"):
        with pytest.raises(CwndlabError, match=f'tables of results have a column "{column}"'):
            Study.from_toml(edited(("[axes.iw]", f"[axes.{column}]")))


def test_an_estimate_is_printed_with_its_unit_and_interval(run: RunResult) -> None:
    estimate = run.sel(cell="rate=10,iw=1,flows=2").estimate("goodput")
    assert (
        str(estimate._replace(value=23.34, unit="%", ci_low=19.26, ci_high=27.7)) == "23.34 % [19.26, 27.7]"
    )
    assert str(estimate._replace(value=2.0, unit="1", ci_low=float("nan"))) == "2"
    assert str(estimate._replace(value=2.0, unit="s", ci_low=2.0, ci_high=2.0)) == "2 s"
    assert str(estimate._replace(value=float("nan"), method="not measurable")) == "not measurable"


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("dims", "RunResult has no `dims`; write run.to_xarray().dims"),
        (
            "goodput",
            'RunResult has no `goodput`; write run["goodput"]',
        ),
        ("nothing", "RunResult has no `nothing`"),
    ],
)
def test_what_an_xarray_dataset_has_is_named_where_it_is(run: RunResult, name: str, right: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(run, name)
    assert str(caught.value) == right


def test_a_study_says_how_its_cells_are_selected() -> None:
    with pytest.raises(AttributeError, match=r"Study has no `sel`; write study.set\(AXIS=VALUE\)"):
        _ = Study.from_toml(STUDY).sel  # type: ignore[attr-defined]


def test_a_plan_is_a_sequence_of_cells(run: RunResult) -> None:
    assert run.plan[0] is run.plan.cells[0] and run.plan[-1] is list(run.plan)[-1]


def test_plots_name_their_charts(run: RunResult) -> None:
    assert repr(run.plot) == "<Plots of single runs: cwnd(), queue(), sequence(), share()>"


def test_estimates_under_each_choice_of_sensitivity_are_a_table() -> None:
    study = Study.from_toml("""
        title = "Reno with two ACK policies"
        measure = ["goodput"]
        dumbbell = { rate = "2Mbps", rtt = ["20ms", "40ms"], flows = [{ cc = "reno" }] }
        run = { duration = "2s", replicates = 3 }
        [sensitivity.initial]
        title = "initial window"
        sets = "tcp.initial_window"
        values = [1, 4]
    """)
    run = study.run(sensitivity="initial")
    found = run.sensitivity.to_pylist()
    assert {row["choice"] for row in found} == {"initial window"}
    assert [(row["rtt"], row["setting"]) for row in found] == [(20, "1"), (40, "1"), (20, "4"), (40, "4")]
    alone = study.set({"tcp.initial_window": 1}).run().sel(rtt=40).estimate("goodput")
    assert found[1]["value"] == alone.value and found[1]["value"] < run.sel(rtt=40).estimate("goodput").value
    assert run.sel(rtt=40).sensitivity["value"].to_pylist() == [found[1]["value"], found[3]["value"]]
    assert "initial window" in str(run.sensitivity) and len(study.run().sensitivity) == 0
