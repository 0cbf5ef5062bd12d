"""Choices behind published numbers: a known truth is found, and a wrong model explains nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cwndlab.api import Study
from cwndlab.apps.fit import published
from cwndlab.apps.fit.choice_model import ChoiceModel, Choices, latin_hypercube, nearest_predicted
from cwndlab.apps.fit.published import fit_published, parse_over
from cwndlab.apps.fit.published_numbers import Number, block_distances, floor_of
from cwndlab.base.errors import StudyError
from cwndlab.cli.registry import command_line
from cwndlab.runs.run_options import RunOptions

TEXT = """
title = "Transfers of 60 kB"
[dumbbell]
rate = "4Mbps"
rtt = ["40ms", "80ms", "160ms"]
loss = "0.5%"
flows = [{ name = "short", cc = "reno", bytes = "60kB", start = "0s" }]
[sensitivity.window]
sets = "tcp.initial_window"
values = [1, 10]
[sensitivity.acks]
values = [{ name = "linux" }, { name = "every", set = { "tcp.ack_policy" = "every" } }]
[[quantities]]
name = "took"
metric = "completion_time"
options = { traffic = "short" }
within = "mean"
unit = "s"
[[quantities]]
name = "goodput"
metric = "goodput"
options = { traffic = "short" }
window = ["0s", "500ms"]
unit = "Mbps"
[[tables]]
id = "times"
title = "times"
rows = ["rtt"]
published = "published/times.csv"
columns = [{ heading = "s", quantity = "took", published = "s" }]
[[tables]]
id = "rates"
title = "rates"
rows = ["rtt"]
published = "published/rates.csv"
columns = [{ heading = "Mb/s", quantity = "goodput", published = "mbps" }]
[run]
duration = "10s"
replicates = 6
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Its tables are those of an initial window of ten, of one run, rounded."""
    (tmp_path / "published").mkdir()
    (tmp_path / "study.toml").write_text(TEXT)
    for name in ("times", "rates"):
        (tmp_path / f"published/{name}.csv").write_text("rtt,s,mbps\n40,,\n80,,\n160,,\n")
    truth = Study.load(tmp_path).set({"tcp.initial_window": 10}).run(seed=99, replicates=1)
    lines = ["rtt,s,mbps"]
    for rtt in (40, 80, 160):
        cell = truth.sel(rtt=rtt)
        took, rate = cell.estimate("took").value, cell.estimate("goodput").value
        lines.append(f"{rtt},{took:.2f},{rate:.3f}")
    for name in ("times", "rates"):
        (tmp_path / f"published/{name}.csv").write_text("\n".join(lines) + "\n")
    return Study.load(tmp_path)


def test_the_truth_is_the_nearest_combination_and_as_near_as_a_truth_can_be(study: Study) -> None:
    fit = fit_published(study, parse_over(study, "window,acks"), ["rates"], RunOptions(threads=1))
    assert len(fit.combinations) == 4
    assert fit.best.choices["window"] == 10
    assert fit.explains
    assert fit.best.held_out < fit.own.held_out
    assert "window=1" in fit.conclusion()
    assert "not a reproduction" in fit.conclusion()


def test_the_command_says_when_no_choice_explains_the_tables(study: Study, tmp_path: Path) -> None:
    words = ["fit", str(tmp_path), "--to", "published", "--over", "window=1,acks", "--threads", "1"]
    ran = CliRunner().invoke(command_line(), [*words, "-o", str(tmp_path / "fitted")])
    assert ran.exit_code == 0, ran.output
    assert "No combination explains the tables" in ran.output
    assert len((tmp_path / "fitted/choices.csv").read_text().splitlines()) == 3


def test_of_many_combinations_those_are_run_that_are_predicted_to_be_near(study: Study) -> None:
    over = parse_over(study, "window,acks")
    fit = fit_published(study, over, ["rates"], RunOptions(threads=1), most=3)
    assert len(fit.combinations) == 3
    assert fit.search is not None
    assert (fit.search.total, fit.search.drawn, len(fit.search.pairs)) == (4, 1, 2)
    assert "were drawn" in fit.conclusion()


def test_a_fit_with_a_store_runs_nothing_twice(study: Study, tmp_path: Path) -> None:
    words = ["fit", str(tmp_path), "--to", "published", "--over", "window,acks", "--threads", "1"]
    words += ["--store", str(tmp_path / "store"), "-o", str(tmp_path / "fitted")]
    assert CliRunner().invoke(command_line(), words).exit_code == 0
    page = (tmp_path / "fitted/fit.md").read_text()
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert CliRunner().invoke(command_line(), words).exit_code == 0
    assert {
        path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*") if path.is_file()
    } == made
    assert made and (tmp_path / "fitted/fit.md").read_text() == page


def test_combinations_run_in_parts_give_the_same(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    over = parse_over(study, "window,acks")
    whole = fit_published(study, over, [], RunOptions(threads=1))
    monkeypatch.setattr(published, "_TOGETHER", 1)
    assert fit_published(study, over, [], RunOptions(threads=1)).page() == whole.page()


def test_a_model_of_choices_predicts_what_is_additive() -> None:
    over = {"a": [1, 2, 3], "b": ["x", "y"], "c": [True, False]}

    def truth(one: Choices) -> list[float]:
        return [10.0 * float(one["a"]) + 5.0 * (one["b"] == "x"), 3.0 * (one["c"] is True) + float(one["a"])]

    drawn = latin_hypercube(over, 9, seed=1)
    model = ChoiceModel.of_runs(over, drawn, [truth(one) for one in drawn])
    others: list[Choices] = [{"a": 3, "b": "x", "c": False}, {"a": 1, "b": "y", "c": True}]
    for one, found in zip(others, model.estimates(others), strict=True):
        assert found.tolist() == pytest.approx(truth(one), abs=1.0)


def test_each_value_of_a_choice_is_run_at_its_nearest() -> None:
    over = {"a": [1, 2, 3], "b": ["x", "y"]}
    every = [{"a": a, "b": b} for a in over["a"] for b in over["b"]]
    chosen = nearest_predicted(over, every, [5.0, 4.0, 9.0, 8.0, 1.0, 2.0], 4, [])
    assert [every[k] for k in chosen] == [
        {"a": 1, "b": "y"},
        {"a": 2, "b": "y"},
        {"a": 3, "b": "x"},
        {"a": 3, "b": "y"},
    ]


@pytest.mark.parametrize(
    ("over", "problem"),
    [("windo", "window"), ("window=2", 'no value "2"'), ("acks=every|none", '"none"')],
)
def test_an_unknown_choice_is_an_error(study: Study, over: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem):
        parse_over(study, over)


def test_a_distance_counts_blocks_alike_and_scales_by_rounding_and_scatter() -> None:
    runs = np.array([10.0, 10.0, 10.0])
    near = Number("a", 10.0, 0.5, 1, 10.5, runs)
    far = Number("b", 10.0, 0.5, 1, 100.0, runs)
    found = block_distances([near, near, far], [0.0, 0.0, 0.0])
    assert found == {"a": pytest.approx(0.5), "b": 16.0}
    assert floor_of([near], [0.0]) == (0.0, 0.0)
