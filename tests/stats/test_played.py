"""The null behind "by chance": predictions of unpaired runs, and our own runs in the paper's place."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import synthetic
from cwndlab.apps.reproduction.played import DRAWS, PlayedPaper
from cwndlab.base.numbers import ANY, NON_NEGATIVE, Floats, Range
from cwndlab.stats.further import Asked, predict
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results
from cwndlab.stats.tables import judge_table
from cwndlab.study.outputs import Table
from synthetic import EXACT, make_results

IWS = (1, 2, 3, 4)
GAINS = {1: 0.0, 2: 0.1, 3: 0.2, 4: 0.25}


def pairs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs of two cells that share most of their scatter, and one independent run of each at the end."""
    common = rng.normal(0.0, 0.2, n)
    own, base = (np.exp(common + rng.normal(0.0, 0.03, n)) for _ in range(2))
    further = np.exp(rng.normal(0.0, math.hypot(0.2, 0.03), 2))
    return np.append(0.8 * own, 0.8 * further[0]), np.append(base, further[1])


def predicted(asked: Asked, own: Floats, base: Floats, n: int, within: Range) -> bool:
    """Whether the runs after the first `n` lie where these say."""
    before, after = (
        [synthetic.sample(values[part], within) for values in (own, base)]
        for part in (slice(n), slice(n, None))
    )
    found = predict(asked, *before)
    return found.low <= asked.value(*after) <= found.high


@pytest.mark.parametrize("kind", ["decrease", "increase", "ratio", "difference"])
@pytest.mark.parametrize("n", [3, 10])
def test_a_change_of_unpaired_runs_lies_within_its_prediction_as_often_as_promised(kind: str, n: int) -> None:
    rng = np.random.default_rng(7)
    inside = {True: 0, False: 0}
    for _ in range(400):
        own, base = pairs(rng, n)
        for paired in inside:
            asked = Asked(kind, 1, paired)
            inside[paired] += predicted(asked, own, base, n, NON_NEGATIVE)
    assert 370 <= inside[False] <= 396
    assert inside[True] < 320, "pairs scatter too little to predict runs that share nothing"


@pytest.mark.parametrize(("within", "shift"), [(ANY, -0.9), (Range(0.0, 1e9), 0.0)])
def test_ratios_of_any_sign_and_means_of_several_runs_are_predicted_too(within: Range, shift: float) -> None:
    rng = np.random.default_rng(3)
    asked = Asked("ratio", 4)
    inside = 0
    for _ in range(400):
        own, base = rng.normal(3.0 + shift, 0.2, 14), rng.normal(2.0, 0.2, 14)
        inside += predicted(asked, own, base, 10, within)
    assert 370 <= inside <= 396


def test_too_few_or_equal_runs_predict_no_change() -> None:
    def further(own: Floats, base: Floats) -> Interval:
        return predict(Asked("decrease", 1), *(synthetic.sample(x, NON_NEGATIVE) for x in (own, base)))

    few, equal = np.array([1.0, 2.0]), np.full(10, 2.0)
    assert math.isnan(further(few, few).low)
    assert (found := further(equal, equal)).low == found.high == 0.0
    assert math.isnan(further(equal[:5], equal[:5]).low)
    assert math.isnan(further(np.full(10, np.nan), equal).value)


@pytest.mark.parametrize("paired", [True, False])
def test_a_change_from_an_exact_cell_is_predicted_by_all_runs_of_the_other(paired: bool) -> None:
    runs = np.array([1.0, 1.1, 0.9, 1.05, 0.95])
    own, base = synthetic.sample(runs, NON_NEGATIVE), synthetic.sample([2.0], NON_NEGATIVE, streams=EXACT)
    found = predict(Asked("ratio", 1, paired), own, base)
    assert found.n == 5 and found.low < 0.45 and found.high > 0.55


def web(rng: np.random.Generator, replicates: int) -> Results:
    """Delays of which each cell scatters by itself, as the paper's runs do."""
    cells = synthetic.grid(webs=[8, 16, 32], ftps=[0, 1, 2, 3], iw=list(IWS))
    data: dict[tuple[str, str], list[Any]] = {}
    for cell in cells:
        middle = (1 - GAINS[int(cell.axes["iw"])]) * (1 + int(cell.axes["ftps"]))
        data[cell.id, "delay"] = np.exp(rng.normal(math.log(middle), 0.1, replicates)).tolist()
    return make_results(cells, {"delay": "s"}, data, ranges={"delay": NON_NEGATIVE})


def as_paper(folder: Path, drawn: Results, factor: float = 1.0) -> Table:
    """One run of each cell as a paper prints it; `factor` multiplies the delays of 32 webs at IW=3 and 4."""
    lines = ["webs,ftps,iw1,iw2,iw3,iw4"]
    for webs in (8, 16, 32):
        for ftps in range(4):
            ones = []
            for iw in IWS:
                [value] = drawn.data[f"webs={webs},ftps={ftps},iw={iw}", "delay"]
                ones.append(float(str(value)) * (factor if webs == 32 and iw > 2 else 1.0))
            changes = ",".join(f"{100 * (1 - one / ones[0]):.1f}" for one in ones[1:])
            lines.append(f"{webs},{ftps},{ones[0]:.3f},{changes}")
    (folder / "t.csv").write_text("\n".join(lines))
    columns = [{"heading": "1", "quantity": "delay", "where": {"iw": 1}, "published": "iw1"}]
    columns += [
        {"heading": f"{iw}", "quantity": "delay", "where": {"iw": iw}, "published": f"iw{iw}"}
        | {"compare": "decrease(iw=1)"}
        for iw in IWS[1:]
    ]
    given = {"id": "t", "title": "T", "rows": ["webs", "ftps"], "published": "t.csv", "columns": columns}
    return Table.model_validate({**given, "mean_changes_by": ["webs"]})


def test_a_right_model_is_incompatible_as_often_as_by_chance(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    inside, means, certain = 0, 0, 0
    for _ in range(9):
        ours = web(rng, 10)
        table = judge_table(as_paper(tmp_path, web(rng, 1)), ours, tmp_path, [])
        played = PlayedPaper([table], ours)
        found, joint = played.incompatible, played.joint
        assert found is not None and joint is not None and found.judged == 48
        inside += found.low <= found.found <= found.high
        means += sum(one.compatible for one in joint.means)
        certain += joint.p < 0.05
        assert 1.0 < found.expected < 4.0
    assert inside >= 7
    assert means >= 22  # of 27
    assert certain <= 2


def test_the_range_of_few_runs_is_no_narrower_than_a_binomial_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    paper = as_paper(tmp_path, web(rng, 1))
    for n, high in ((3, 6), (4, 6)):
        ours = web(rng, n)
        found = PlayedPaper([judge_table(paper, ours, tmp_path, [])], ours).incompatible
        assert found is not None and found.judged == 48 and found.low == 0 and found.high >= high


def test_means_of_changes_find_what_single_numbers_hide(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    ours = web(rng, 10)
    table = judge_table(as_paper(tmp_path, web(rng, 1), factor=0.6), ours, tmp_path, [])
    joint = PlayedPaper([table], ours).joint
    assert joint is not None and [one.compatible for one in joint.means] == [True, True, False]
    assert joint.means[2].group == "webs: 32" and joint.means[2].numbers == 12
    assert joint.p <= 2 / (DRAWS + 1)
    assert joint.text == "Of 3 means of changes, 1 is incompatible; jointly p < 0.005."


def test_a_source_that_paired_its_runs_is_played_with_pairs(tmp_path: Path) -> None:
    """Its changes scatter less; a paper of unpaired runs is then found to be none of ours."""
    ours = synthetic.rfc2415(spread=0.2)
    text = as_paper(tmp_path, web(np.random.default_rng(1), 1)).model_dump(by_alias=True)
    text["columns"] = [{**column, "quantity": "page_delay"} for column in text["columns"]]
    table = Table.model_validate(text)
    expected = {}
    for paired in (True, False):
        results = replace(ours, labels=replace(ours.labels, source_paired=paired))
        judged = judge_table(table, results, tmp_path, [])
        expected[paired] = judged.cells[0][1].judgement
    one, other = expected[True], expected[False]
    assert one is not None and other is not None
    assert other.prediction_high - other.prediction_low > 3 * (one.prediction_high - one.prediction_low)


def test_tables_that_are_not_counted_leave_the_line_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    ours = web(rng, 10)
    spec = as_paper(tmp_path, web(rng, 1))
    both = [
        judge_table(one, ours, tmp_path, []) for one in (spec, spec.model_copy(update={"counted": False}))
    ]
    found = PlayedPaper(both, ours).incompatible
    assert found is not None and found.judged == 48
    assert PlayedPaper(both[1:], ours).incompatible is None


def test_a_percentage_is_rounded_as_the_numbers_whose_ratio_it_is(tmp_path: Path) -> None:
    spec = as_paper(tmp_path, web(np.random.default_rng(2), 1)).model_dump(by_alias=True)
    spec["columns"][1]["rounding"] = {"half_width": 0.005, "ratio_to": "iw1", "reason": "two decimals"}
    table = judge_table(Table.model_validate(spec), web(np.random.default_rng(3), 10), tmp_path, [])
    base, change = (cell.published for cell in table.cells[0][:2])
    assert base is not None and change is not None
    expected = 100 * 0.005 * (1 + (1 - change.value / 100)) / base.value
    assert change.rounding == pytest.approx(expected)
