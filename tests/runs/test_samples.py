"""Quantities as values: selected by axes and flow, compared, computed with, drawn and exported."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_selection import lines, sweep

from cwndlab import ArgumentError, Dumbbell, Flow, NotFoundError, Run, RunResult, Study
from cwndlab.stats.expression import Evaluator

NETWORK = Dumbbell(
    rate="10Mbps", rtt="20ms", buffer=[0.5, 1, 2], loss="0.5%", flows=[Flow(cc="cubic"), Flow(cc="bbr1")]
)


@pytest.fixture(scope="module")
def study() -> Study:
    measure = ["goodput", "share", "queue_delay"]
    return Study.build("Two", dumbbell=NETWORK, measure=measure, run=Run(duration="2s", replicates=4))


@pytest.fixture(scope="module")
def run(study: Study) -> RunResult:
    return study.run()


def test_flow_is_an_axis_and_no_part_of_a_name(run: RunResult) -> None:
    share = run["share"]
    assert share.axes == {"buffer": [0.5, 1, 2], "flow": ["cubic", "bbr1"]} and share.unit == "%"
    one = share.sel(flow="bbr1", buffer=2)
    assert one.axes == {} and one.fixed == {"flow": "bbr1", "buffer": 2}
    assert one.estimate().value == run.sel(buffer=2).estimate("share_bbr1").value
    assert run["share_bbr1"].sel(buffer=2).estimate().value == one.estimate().value
    assert run.sel(buffer=2)["share"].axes == {"flow": ["cubic", "bbr1"]}
    assert run["queue_delay_mean"].axes == {"buffer": [0.5, 1, 2]}


def test_python_and_claims_compare_alike(run: RunResult) -> None:
    evaluator = Evaluator(run.results)
    found = run["goodput"].sel(flow="bbr1").compare("ratio", to={"buffer": 0.5})
    assert found.axes == {"buffer": [1, 2]}
    for buffer in (1, 2):
        words = f"ratio(goodput_bbr1[buffer={buffer}], goodput_bbr1[buffer=0.5])"
        assert found.sel(buffer=buffer).number().estimate() == evaluator.evaluate(words).interval()
    apart = run["goodput"].sel(flow="bbr1") - run["goodput"].sel(flow="cubic")
    claimed = evaluator.evaluate("goodput_bbr1 - goodput_cubic")
    assert {key: number.estimate() for key, number in apart.field.data.items()} == {
        key: claimed.interval(key) for key in claimed.data
    }


def test_a_comparison_with_another_flow_is_one_along_the_axis_flow(run: RunResult) -> None:
    found = run["goodput"].compare("difference", to={"flow": "cubic"})
    assert found.axes == {"buffer": [0.5, 1, 2], "flow": ["bbr1"]}
    other = run["goodput"].sel(flow="bbr1") - run["goodput"].sel(flow="cubic")
    assert [row["value"] for row in found.estimates] == [row["value"] for row in other.estimates]


def test_arithmetic_joins_on_the_axes_that_both_sides_have(run: RunResult) -> None:
    total = run["goodput"].sel(flow="cubic") + run["goodput"].sel(flow="bbr1")
    part = run["goodput"] / total
    assert part.axes == run["goodput"].axes and part.unit == "1"
    assert float(part.sel(flow="cubic", buffer=1).estimate().value) == pytest.approx(
        run["share"].sel(flow="cubic", buffer=1).estimate().value / 100.0, rel=0.1
    )
    assert (run["goodput"] * 1000.0).sel(flow="cubic", buffer=1).estimate().unit == "Mbit/s"


def test_a_number_may_stand_on_the_left(run: RunResult) -> None:
    share = run["share"].sel(flow="cubic", buffer=1)
    rest, half, twice = 100.0 - share, 1.0 / share, 2.0 * share
    value = share.estimate().value
    assert (rest.name, rest.axes) == ("100 - share", {})
    assert rest.estimate().value == pytest.approx(100.0 - value)
    assert half.estimate().value == pytest.approx(1.0 / value)
    assert twice.estimate().value == pytest.approx((1.0 + share).estimate().value - 1.0 + value)
    with pytest.raises(AttributeError, match=r"Samples has no `mean`; write to_xarray\(\)\.mean"):
        _ = share.mean  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda run: run["godput"], NotFoundError, 'no quantity "godput"; did you mean "goodput'),
        (lambda run: run["share"].sel(flow="reno"), NotFoundError, "axis 'flow' has no value 'reno'"),
        (lambda run: run["share"].sel(bufer=1), NotFoundError, "no axis 'bufer'; did you mean"),
        (lambda run: run["share"].compare("rato", to={"buffer": 1}), ArgumentError, 'did you mean "ratio"'),
        (lambda run: run["share"].compare("ratio", to={}), ArgumentError, "one value for each axis"),
        (lambda run: run["share"].compare("ratio", to={"buffer": [1, 2]}), ArgumentError, "one value for"),
        (
            lambda run: run["share"].estimate(),
            NotFoundError,
            r"6 numbers; select one by sel\(buffer=…, flow=…\)",
        ),
        (lambda run: run["share"].plot("bufer"), NotFoundError, 'no axis "bufer"'),
        (
            lambda run: run.sel(buffer=1)["share"].compare("ratio", to={"buffer": 1}),
            NotFoundError,
            "no other",
        ),
        (
            lambda run: run["share"].sel(buffer=[1]) - run["share"].sel(buffer=[2]),
            NotFoundError,
            "no buffer and flow in common",
        ),
        (lambda run: run.compare(run, "rato"), ArgumentError, 'did you mean "ratio"'),
    ],
)
def test_a_wrong_word_is_an_error_that_says_what_would_be_right(
    run: RunResult, call: Callable[[RunResult], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(run)


def test_two_runs_are_compared_by_their_random_numbers(run: RunResult, study: Study) -> None:
    longer = study.set({"run.duration": "3s"})
    paired, apart = (longer.run(seed=seed).compare(run, "ratio") for seed in (None, 7))
    assert paired.column_names[-2:] == ["other", "significant"] and len(paired) == 3 * 7
    assert any("paired t" in row["method"] and "unpaired" not in row["method"] for row in paired)
    assert any("unpaired t" in row["method"] for row in apart)
    assert not any(row["method"].endswith(" paired t") for row in apart)
    for row in paired:
        low, high = row["ci_low"], row["ci_high"]
        assert row["significant"] == (low > 1.0 or high < 1.0) or np.isnan(low)
    same = run.compare(run)
    assert not any(row["significant"] for row in same) and all(row["value"] == 0.0 for row in same)


def test_it_prints_and_draws(run: RunResult) -> None:
    share = run["share"].sel(flow="bbr1")
    assert repr(share).startswith("<Samples of share (%), flow = bbr1\nbuffer")
    assert "<table>" in share._repr_html_()
    chart = run["share"].plot()
    assert {row["series"] for row in chart.to_dict()["datasets"]["data"]} == {"flow = cubic", "flow = bbr1"}
    assert run.plot().to_dict()["datasets"]
    assert run["share"].sel(buffer=1).plot().to_dict()["datasets"]


def test_verdicts_and_claims_are_tables() -> None:
    claims = [{"id": "less", "section": "1", "text": "It is less.", "assert": "goodput < 100"}]
    network = {"rate": "10Mbps", "rtt": "20ms", "flows": [{"cc": "reno"}]}
    raw = {"title": "x", "dumbbell": network, "measure": ["goodput"], "run": {"duration": "1s"}}
    run = Study.from_dict(raw, claims=claims).run(replicates=3)
    assert run.claims.to_pylist()[0] | {"detail": ""} == {
        **{"claim": "less", "section": "1", "verdict": "holds", "detail": "", "text": "It is less."},
        **{"assert": "goodput < 100", "cause": None},
    }
    [number] = run.verdicts.to_pylist()
    assert number["measured"] == pytest.approx(run.estimate("goodput").value, rel=1e-8)
    assert (number["replicates"], number["published"], number["verdict"]) == (3, None, None)


def test_a_selection_of_a_quantity_takes_no_longer_among_more_cells() -> None:
    few, many = (sweep(buffers, ["cubic"])["goodput"] for buffers in (20, 400))
    for samples in (few, many):
        samples.sel(buffer=0.07).estimate()  # makes the index
    assert lines(lambda: many.sel(buffer=0.07).estimate()) < 1.2 * lines(
        lambda: few.sel(buffer=0.07).estimate()
    )


def test_frames_have_named_columns_and_types(run: RunResult) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: make .venv/.ci")
    for frame in (pandas.DataFrame(run.estimates), run["share"].to_pandas()):
        assert {"buffer", "quantity", "value"} <= set(frame.columns)
        assert frame["value"].dtype == float and frame["replicates"].dtype == int
    assert len(pandas.DataFrame(run.estimates)) == len(run.estimates)


def test_polars_takes_estimates_as_they_are(run: RunResult) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed: make .venv/.ci")
    for frame in (polars.DataFrame(run.estimates), polars.from_arrow(run.estimates.to_arrow())):
        assert frame.shape == run.estimates.table.shape and frame["value"].dtype == polars.Float64


def test_a_dataset_has_values_ends_and_runs_along_the_axes(run: RunResult) -> None:
    xarray = pytest.importorskip("xarray", reason="xarray is not installed: make .venv/.ci")
    data = run["share"].to_xarray()
    assert isinstance(data, xarray.Dataset) and data["value"].dims == ("buffer", "flow")
    assert data["runs"].dims == ("buffer", "flow", "replicate") and data["value"].attrs["units"] == "%"
    assert (
        float(data["value"].sel(buffer=1, flow="bbr1"))
        == run["share"].sel(buffer=1, flow="bbr1").estimate().value
    )
    ratio = run["share"].compare("ratio", to={"buffer": 0.5}).to_xarray()
    assert "runs" not in ratio and np.isfinite(ratio["ci_low"]).all()
