"""What tables say of numbers that a model was chosen by, and predictions of numbers that are no means."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import synthetic
from cwndlab.base.numbers import NON_NEGATIVE
from cwndlab.stats import intervals
from cwndlab.stats.further import Asked, predict
from cwndlab.stats.jackknife import jackknife_values
from cwndlab.stats.tables import JudgedCell, derived_unit, judge_table
from cwndlab.study.outputs import Mark, Table
from synthetic import EXACT, sample

HEAD = "webs,ftps,level,change\n"


def fitted(folder: Path, level: str, change: str, verdict: str = "fitted") -> tuple[JudgedCell, ...]:
    """The two numbers of the first row, marked: a level, and a decrease in per cent."""
    (folder / "t.csv").write_text(f"{HEAD}8,0,{level},{change}\n")
    columns = [
        {"heading": "level", "quantity": "page_delay", "where": {"iw": 1}, "published": "level"},
        {
            **{"heading": "change", "quantity": "page_delay", "where": {"iw": 3}, "published": "change"},
            "compare": "decrease(iw=1)",
        },
    ]
    table = Table.model_validate(
        {"id": "t1", "title": "T", "rows": ["webs", "ftps"], "published": "t.csv", "columns": columns}
    )
    mark = Mark(table="t1", rows={"webs": 8}, verdict=verdict, reason="It chose the model")
    return judge_table(table, synthetic.rfc2415(), folder, [mark]).cells[0]


@pytest.mark.parametrize(
    ("level", "change", "level_says", "change_says"),
    [
        ("0.5", "10", "above", "above"),
        ("0.7", "30", "below", "below"),
    ],
)
def test_a_fitted_number_says_how_far_it_is_off_and_on_which_side(
    tmp_path: Path, level: str, change: str, level_says: str, change_says: str
) -> None:
    """A level in per cent of the published one, a change in points."""
    a, b = fitted(tmp_path, level, change)
    assert a.estimate is not None and b.estimate is not None
    off = abs(100 * (a.estimate.value / float(level) - 1))
    assert f"It chose the model. The fit is {off:.1f} % {level_says} the published value" in a.note
    points = abs(b.estimate.value - float(change))
    assert f"The fit is {points:.1f} {change_says} the published value and would be" in b.note
    assert a.judgement is not None and a.judgement.marked and a.judgement.in_headline


def test_a_fit_of_a_published_0_has_no_per_cent_and_other_marks_describe_no_fit(tmp_path: Path) -> None:
    a, _ = fitted(tmp_path, "0", "10")
    assert "It chose the model. The fit would be “differs”" in a.note
    a, _ = fitted(tmp_path, "0.5", "10", "not judged")
    assert a.note == "It chose the model"


def test_a_comparison_has_the_unit_of_its_kind() -> None:
    def unit(kind: str | None, of: str) -> str:
        column = (
            None
            if kind is None
            else Table.model_validate(
                {
                    "id": "t",
                    "title": "T",
                    "rows": ["a"],
                    "columns": [{"heading": "h", "quantity": "q", "compare": f"{kind}(a=1)"}],
                }
            )
            .columns[0]
            .compare
        )
        return derived_unit(column, of)

    assert [unit(kind, "s") for kind in (None, "difference", "ratio", "decrease", "increase")] == [
        "s",
        "s",
        "",
        "%",
        "%",
    ]
    assert [unit(kind, "1") for kind in (None, "difference", "ratio", "decrease")] == ["", "", "", "%"]


RUNS = np.array([3.0, 5.0, 4.5, 9.0, 2.0, 7.0, 1.0, 6.0, 8.5])


@pytest.mark.parametrize("runs", [1, 2, 20])
def test_several_further_runs_of_a_median_are_predicted_by_the_error_of_the_median(runs: int) -> None:
    predicted = predict(Asked(None, runs), sample(RUNS, statistic="median"), None)
    n = len(RUNS)
    if runs == 1:  # one further run scatters as the runs do
        half = float(stats.t.ppf(0.975, n - 1)) * float(np.std(RUNS, ddof=1)) * math.sqrt(1 + 1 / n)
        middle = float(np.mean(RUNS))
    else:
        # The ends of the median's interval are the 2nd and the 8th of 9 values, with a level of 96.1 %.
        level = float(stats.binom.cdf(7, n, 0.5) - stats.binom.cdf(1, n, 0.5))
        error = (8.5 - 2.0) / (2 * float(stats.t.ppf(0.5 + level / 2, n - 1)))
        half = float(stats.t.ppf(0.975, n - 1)) * error * math.sqrt(1 + n / runs)
        middle = float(np.median(RUNS))
    assert (predicted.low, predicted.high) == pytest.approx((middle - half, middle + half))
    plain = intervals.prediction(RUNS, runs, samples=jackknife_values(RUNS, "median") if runs > 1 else None)
    assert (predicted.low, predicted.high) == (plain.low, plain.high)


@pytest.mark.parametrize("runs", [1, 4])
def test_a_paired_source_is_predicted_by_the_changes_of_our_pairs(runs: int) -> None:
    a, b = sample(RUNS + 3.0, NON_NEGATIVE), sample(RUNS * 1.5 + np.arange(9.0) / 9, NON_NEGATIVE)
    predicted = predict(Asked("difference", runs, paired=True), a, b)
    changes = a.runs - b.runs
    half = float(stats.t.ppf(0.975, 8)) * float(np.std(changes, ddof=1)) * math.sqrt(1 / 9 + 1 / runs)
    middle = float(np.mean(changes))
    assert (predicted.low, predicted.high) == pytest.approx((middle - half, middle + half))


def test_exact_cells_are_predicted_exactly_if_both_are() -> None:
    exact = sample([4.0], streams=EXACT)
    found = predict(Asked("ratio", 1), exact, sample([2.0], streams=EXACT))
    assert (found.value, found.low, found.high, found.exact) == (2.0, 2.0, 2.0, True)
    alone = predict(Asked(None, 3), exact, None)
    assert (alone.value, alone.low, alone.exact) == (4.0, 4.0, True)
    mixed = predict(Asked("difference", 1), exact, sample(RUNS))
    assert not mixed.exact and mixed.low < mixed.value < mixed.high
