"""Evaluations: packs are sound, scorecards tell a bad law from a good one, and errors say what is wrong."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from cwndlab.apps.evaluate import evaluation, overview, pack, scorecard, scorecard_data, subjects
from cwndlab.apps.evaluate.scorecard import Standing, ThresholdOutcome
from cwndlab.base.errors import StudyError
from cwndlab.plan import plan
from cwndlab.plan.compile import compile_model
from cwndlab.plan.scenario import Compiled
from cwndlab.runs.progress import Progress
from cwndlab.runs.run_options import RunOptions
from cwndlab.stats.results import unmeasured_results
from cwndlab.study.schema import Model
from synthetic import make_results

LAWS = Path(__file__).parent.parent / "laws" / "stubborn.py"
STUBBORN = f"{LAWS}:Stubborn"
TIMID = f"{LAWS}:Timid"

STUDY = """
title = "small"
measure = ["goodput", "loss_rate"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
buffer = [1, 2]
flows = [{ name = "tested", cc = "$subject" }]
[axes.subject]
values = ["reno", "cubic"]
[run]
duration = "1s"
replicates = 3
[[quantities]]
name = "marks"
metric = "congestion_signals"
options = { traffic = ["tested"], signal = "marks" }
"""
PACK = """
title = "Small"
kind = "cc"
document = "RFC 0"
url = "https://example.org/"
about = "For a test."
references = ["reno", "cubic"]
[[criteria]]
id = "1-goodput"
section = "1"
asks = "Send."
study = "small"
shows = "goodput"
value = "goodput[buffer=1]"
unit = "Mbit/s"
better = "higher"
"""


def small(folder: Path, text: str = PACK) -> pack.Pack:
    """A pack with one study of one second."""
    (folder / "small").mkdir(parents=True)
    (folder / "small" / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "pack.toml").write_text(text, encoding="utf-8")
    return pack.load(folder)


@pytest.mark.parametrize("name", pack.shipped_packs())
def test_every_criterion_of_a_shipped_pack_is_answered_by_its_study(name: str) -> None:
    made = pack.load(name)
    empty = {
        study: unmeasured_results(known, {cell.id: cell.axes for cell in known.plan().cells})
        for study, known in made.studies.items()
    }
    card = scorecard.judge(made, [], empty)
    assert [row.missing for row in card.rows] == [""] * len(made.file.criteria)
    folders = {path.parent.name for path in made.folder.glob("*/study.toml")}
    assert folders == set(made.studies), "each study of a pack answers a criterion"
    for study in made.studies.values():
        names = [str(value) for value in study.outline.axes["subject"].names]
        assert names[: len(made.file.references)] == made.file.references


def test_a_number_of_runs_in_which_a_connection_failed_says_so(tmp_path: Path) -> None:
    made = small(tmp_path)
    results = made.studies["small"].run(threads=1).results
    failed = {
        cell.id: "1 connection failed: why" for cell in results.cells if cell.axes["subject"] == "cubic"
    }
    card = scorecard.judge(made, ["cubic"], {"small": replace(results, failed=failed)})
    (row,) = card.rows
    assert (row.number("cubic").failed, row.number("reno").failed) == ("1 connection failed: why", "")
    (data,) = scorecard_data.as_data([card], [], "0")["packs"][0]["rows"]
    assert data["numbers"]["cubic"]["failed_connections"] == "1 connection failed: why"
    assert "1 connection failed: why" in scorecard_data.as_junit([card]).decode()


def test_a_law_that_never_backs_off_fails_what_must_be(tmp_path: Path) -> None:
    """One that hardly sends harms nobody and has the smallest share."""
    harms = ["5.2-harm-goodput", "5.2-harm-delay", "5.2-harm-loss"]
    chosen = pack.load("rfc9743").with_criteria([*harms, "5.2-starves"])
    made = evaluation.evaluate(
        [chosen],
        [subjects.congestion_control(STUBBORN), subjects.congestion_control(TIMID)],
        tmp_path,
        changes={
            "dumbbell.rate": "10Mbps",
            "dumbbell.buffer": [1],
            "run.duration": "10s",
            "run.warmup": "4s",
        },
    )
    rows = {row.criterion.id: row for row in made.cards[0].rows}
    assert [rows[name].outcomes["stubborn"] for name in harms] == [ThresholdOutcome.NOT_MET] * 3
    assert ThresholdOutcome.NOT_MET not in [rows[name].outcomes["timid"] for name in harms]
    assert {row.id for row, _ in made.cards[0].failing()} == {f"rfc9743/{name}" for name in harms}
    assert set(rows["5.2-starves"].standings["timid"].values()) == {Standing.WORSE}
    first = [row.criterion.id for row in made.cards[0].failed_first][: len(harms)]
    assert first == [row.criterion.id for row in made.cards[0].rows if row.criterion.id in harms]
    assert rows["5.2-starves"].rank("timid") == (6, 6, 6)
    worse = [row.criterion.id for row in made.cards[0].extremes("timid")["worse"]]
    assert "5.2-starves" in worse
    keys = "dumbbell.rate, dumbbell.buffer, run.duration, run.warmup"
    assert all(row.criterion.shows.endswith(f" (changed: {keys})") for row in rows.values())
    page, markdown = ((tmp_path / f"scorecard.{kind}").read_text(encoding="utf-8") for kind in ("html", "md"))
    for text in (page, markdown):
        assert "in each of them, dumbbell.rate = 10Mbps, dumbbell.buffer = " in text
    assert json.loads((tmp_path / "scorecard.json").read_text())["changed"]["run.duration"] == "10s"
    said = f"worse than every reference in {len(worse)} of {len(rows)} rows"
    shown = [row.criterion.shows for row in made.cards[0].extremes("timid")["worse"]]
    assert f'timid is {said}: <a href="#rfc9743-{worse[0]}">{shown[0]}</a>' in page
    assert f"timid: {said} ({'; '.join(shown)})" in markdown
    assert overview.finding(made.cards, "stubborn").startswith(
        "stubborn meets none of the 3 limits that apply to it. "
    )
    said = overview.finding(made.cards, "timid").partition(" It ")[2]
    ranked = sum(overview.is_ranked(made.cards[0], row, "timid") for row in rows.values())
    better = len(made.cards[0].extremes("timid").get("better", ()))
    assert said.startswith(f"is better than every reference in {better or 'none'} of {ranked} rows")
    assert f"worse than every reference in {len(worse)}." in said and said in page
    assert overview.has_summary(made.cards[0])
    names = ["stubborn", "timid", "reno", "cubic"]
    several = overview.findings(made.cards, names)
    assert several[0].startswith("Limits not met: stubborn 3 of 3.")
    ranks = [{name: row.rank(name) for name in names} for row in rows.values() if row.rank("reno")]
    best = sum(rank["timid"][1] == 1 for rank in ranks)
    worst = sum(rank["stubborn"][0] == 6 for rank in ranks)
    assert several[1:] == [
        f"timid is most often better than all others, in {best} of {len(ranks)} rows. "
        f"stubborn is most often worse than all others, in {worst} of {len(ranks)} rows."
    ]
    of_reno = overview.against_references(made.cards[0], "timid")[0]
    assert sum(of_reno.counts.values()) == ranked and of_reno.counts[Standing.WORSE] >= len(worse)
    bars = overview.range_bars(rows["5.2-starves"])
    assert set(bars) == set(rows["5.2-starves"].values) and max(one.high for one in bars.values()) == 100
    assert all(0 <= one.low <= one.value <= one.high for one in bars.values())
    assert rows["5.2-starves-others"].rank("stubborn") == (6, 6, 6)


@pytest.mark.parametrize(
    ("standings", "found"),
    [
        ({"reno": Standing.BETTER}, None),
        ({"reno": Standing.BETTER, "cubic": Standing.BETTER}, "better"),
        ({"reno": Standing.WORSE, "cubic": Standing.WORSE}, "worse"),
        ({"reno": Standing.BETTER, "cubic": Standing.OPEN}, None),
        ({"reno": Standing.HIGHER, "cubic": Standing.HIGHER}, None),
    ],
)
def test_a_subject_is_extreme_in_a_row_if_two_references_or_more_lie_on_one_side(
    standings: dict[str, Standing], found: str | None, tmp_path: Path
) -> None:
    made = small(tmp_path)
    study = made.studies["small"]
    empty = {"small": unmeasured_results(study, {cell.id: cell.axes for cell in study.plan().cells})}
    card = scorecard.judge(made, ["mine"], empty)
    (row,) = card.rows
    card = replace(card, rows=(replace(row, standings={"mine": standings}),))
    assert list(card.extremes("mine")) == ([] if found is None else [found])
    assert card.extremes("another") == {}


def test_a_duration_that_is_none_is_an_error_with_its_option() -> None:
    with pytest.raises(StudyError, match=r'^run.duration: "abc" is not a time'):
        evaluation.studies(pack.load("rfc9743"), [], {"run.duration": "abc"})


@pytest.mark.parametrize("name", pack.shipped_packs())
def test_every_pack_can_be_run_for_a_shorter_time(name: str) -> None:
    made = pack.load(name)
    for study in evaluation.studies(made, [], {"run.duration": "10s"}).values():
        run = study.base.run
        assert (run.duration == 10 * 10**9 or study.base.phases) and run.warmup < run.duration
        study.plan().cells[0].check()


def test_a_law_that_never_backs_off_fills_a_path_that_loses_every_second_packet(tmp_path: Path) -> None:
    made = evaluation.evaluate(
        [pack.load("rfc9743").with_criteria(["5.1.1"])],
        [subjects.congestion_control(STUBBORN)],
        tmp_path,
        RunOptions(replicates=3),
        changes={"dumbbell.loss": ["50%"], "dumbbell.rate": "2Mbps"},
    )
    outcomes = made.cards[0].rows[0].outcomes
    assert outcomes["stubborn"] is ThresholdOutcome.NOT_MET
    assert outcomes["cubic"] is ThresholdOutcome.MET


def test_a_scorecard_is_written_for_people_and_for_programs(tmp_path: Path) -> None:
    made = small(tmp_path / "pack")
    out = tmp_path / "out"
    cubic = subjects.congestion_control("cubic")
    headings: list[str] = []

    def progress(heading: str) -> nullcontext[Progress]:
        headings.append(heading)
        return nullcontext(Progress())

    evaluation.evaluate([made, small(tmp_path / "other")], [cubic], out, progress=progress)
    assert headings[0] == "pack/small (study 1 of 2)"
    assert re.fullmatch(r"other/small \(study 2 of 2, about [\d.]+ (s|min) left\)", headings[1])
    data = json.loads((out / "scorecard.json").read_text(encoding="utf-8"))
    row = data["packs"][0]["rows"][0]
    assert row["id"] == "pack/1-goodput"
    assert 0 < row["numbers"]["cubic"]["ci_low"] <= row["numbers"]["cubic"]["estimate"] <= 2
    assert list(row["standings"]["cubic"]) == ["reno"]
    page = (out / "scorecard.html").read_text(encoding="utf-8")
    assert "pack/small/report.html" in page
    assert (out / "pack" / "small" / "report.html").exists()
    assert "| 1" in (out / "scorecard.md").read_text(encoding="utf-8")
    suite = ElementTree.parse(out / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")
    assert evaluation.evaluate([made], [cubic], out).performed == 0, "what was run is kept"


def test_evaluations_of_two_subjects_share_the_runs_of_their_references(tmp_path: Path) -> None:
    made, options = small(tmp_path / "pack"), RunOptions(store=tmp_path / "store", threads=1)
    first = evaluation.evaluate([made], [subjects.congestion_control("cubic")], tmp_path / "cubic", options)
    assert first.performed == 12, "of cubic and reno, at two buffers"
    second = evaluation.evaluate([made], [subjects.congestion_control("dctcp")], tmp_path / "dctcp", options)
    assert second.performed == 6, "of dctcp"
    assert second.cards[0].rows[0].values["reno"] == first.cards[0].rows[0].values["reno"]


def test_each_cell_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the checks before the first run, the runs, and the report together."""
    compiled = []

    def counting(model: Model, *more: Any) -> Compiled:
        compiled.append(model)
        return compile_model(model, *more)

    monkeypatch.setattr(plan, "compile_model", counting)
    cubic = subjects.congestion_control("cubic")
    made = evaluation.evaluate([small(tmp_path / "pack")], [cubic], tmp_path / "out")
    assert len(compiled) == len(made.runs["pack", "small"].plan.cells) == 4


def test_a_must_that_is_not_met_is_a_failure_to_junit(tmp_path: Path) -> None:
    limit = """level = "MUST"
limit = "more than 1000 Mbit/s"
requires = 'all(goodput[buffer=1, subject="$subject"] > 1000)'
note = "No flow can."
"""
    made = small(tmp_path / "pack", PACK + limit)
    evaluation.evaluate([made], [subjects.congestion_control("cubic")], tmp_path / "out")
    case = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()[0][0]
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("type") == "MUST"


@pytest.mark.parametrize("applies", ["goodput > 1000", "marks > 0"])
def test_a_limit_for_others_is_no_failure(tmp_path: Path, applies: str) -> None:
    """Nor is it met: that three runs have no mark leaves open whether others would."""
    quantity, than = applies.split(" ", 1)
    limit = f"""level = "MUST"
limit = "more than 1000 Mbit/s"
requires = 'all(goodput[buffer=1, subject="$subject"] > 1000)'
applies = 'all({quantity}[buffer=1, subject="$subject"] {than})'
note = "No flow can."
"""
    made = small(tmp_path / "pack", PACK + limit)
    done = evaluation.evaluate([made], [subjects.congestion_control("cubic")], tmp_path / "out")
    assert done.cards[0].rows[0].outcomes["cubic"] is ThresholdOutcome.NOT_APPLICABLE
    assert not done.cards[0].failing()
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


def test_what_a_study_runs_for_its_claims_is_not_on_the_scorecard(tmp_path: Path) -> None:
    made = small(tmp_path / "pack", PACK.replace('["reno", "cubic"]', '["cubic"]'))
    done = evaluation.evaluate([made], [subjects.congestion_control("cubic")], tmp_path / "out")
    assert [cell.axes["subject"] for cell in done.runs["pack", "small"].plan.cells] == [
        *["cubic"] * 2,
        *["reno"] * 2,
    ]
    assert list(done.cards[0].rows[0].values) == ["cubic"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('value = "goodput[buffer=1]"', 'value = "goodput"', "axes that stay open are subject, buffer"),
        ('value = "goodput[buffer=1]"', 'value = "godput[buffer=1]"', "did you mean"),
        ('value = "goodput[buffer=1]"', 'value = "goodput["', "criteria"),
        ('better = "higher"', 'requires = "goodput > 1"\nnote = "x"', "asks nothing of the subject"),
        (
            'better = "higher"',
            'requires = \'goodput[subject="$subject"] > 1\'\nnote = "x"',
            "needs a `limit`",
        ),
        ('better = "higher"', 'worst_over = ["buffer"]', "needs `better`"),
        ('references = ["reno", "cubic"]', 'references = ["bbr1"]', '"bbr1" is missing'),
        ('better = "higher"', 'applies = "goodput > 1"', "asks nothing of the subject"),
        ('id = "1-goodput"', 'ids = "1-goodput"', "unknown key 'ids'"),
    ],
)
def test_what_is_wrong_with_a_pack_is_told_before_the_first_run(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    with pytest.raises(StudyError) as caught:
        made = small(tmp_path / "pack", PACK.replace(old, new))
        evaluation.evaluate([made], [subjects.congestion_control("cubic")], tmp_path / "out")
    assert problem in str(caught.value)
    assert not (tmp_path / "out" / "pack").exists()


def test_a_kernel_runs_what_it_has(tmp_path: Path) -> None:
    """No laws of the simulator alone; what is left out is said before the first run."""
    kernel = RunOptions(backend="linux-virtual")
    with pytest.raises(StudyError, match="no congestion control bbr3"):
        evaluation.evaluate([small(tmp_path / "a")], [subjects.congestion_control("bbr3")], tmp_path, kernel)
    made = small(tmp_path / "b")
    study = tmp_path / "b" / "small" / "study.toml"
    other = '"$subject" }, { name = "other", cc = "bbr3" }]'
    study.write_text(study.read_text(encoding="utf-8").replace('"$subject" }]', other), encoding="utf-8")
    with pytest.raises(StudyError, match="no study runs on a kernel: the kernel has no congestion control"):
        evaluation.evaluate([made], [subjects.congestion_control("reno")], tmp_path, kernel)
    assert not (tmp_path / "b" / "store").exists()


def test_claims_about_laws_that_a_kernel_lacks_are_no_error() -> None:
    """RFC 9743's pack has claims about BBRv3, which no mainline kernel has."""
    subject = subjects.congestion_control("vegas", on_kernel=True)
    made = evaluation.studies(pack.load("rfc9743"), [subject], {}, without=["bbr3", "prague"])
    for study in made.values():
        found = {str(cell.axes["subject"]) for cell in study.plan().cells}
        assert "vegas" in found and not found & {"bbr3", "prague"}


def test_subjects_are_named_as_people_write_them() -> None:
    assert subjects.congestion_control(f"mine={STUBBORN}").name == "mine"
    assert subjects.congestion_control("ledbat++").name == "ledbat-plus-plus"
    assert subjects.queue("fq_codel").queue == {"kind": "fq_codel"}
    named = subjects.queue('slow={ kind = "pie", target = "30ms" }')
    assert (named.name, named.queue) == ("slow", {"kind": "pie", "target": "30ms"})
    with pytest.raises(StudyError, match="cubic"):
        subjects.congestion_control("cubik")
    with pytest.raises(StudyError, match="has no kind"):
        subjects.queue('{ target = "30ms" }')


def test_a_queue_is_no_subject_of_a_pack_for_congestion_controls(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="evaluates no queue"):
        evaluation.evaluate([small(tmp_path / "pack")], [subjects.queue("codel")], tmp_path / "out")


def test_the_guides_program_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/guide/evaluate.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    whole = evaluation.evaluate
    less = {"dumbbell.rate": "2Mbps", "run.duration": "4s", "run.warmup": "1s"}

    def evaluate(packs: list[pack.Pack], who: list[subjects.Subject], folder: Path) -> evaluation.Evaluation:
        return whole([packs[0].with_criteria(["5.1.2"])], who, folder, changes=less)

    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "evaluate.md", "exec"), {})
    assert (tmp_path / "out/scorecard.html").exists()


def judged(folder: Path, text: str, means: dict[str, list[float]], runs: int = 10) -> scorecard.CriterionRow:
    """The row of CUBIC and Reno, whose goodputs scatter by 0.1 around a mean for each of the two buffers."""
    made = small(folder, text)
    (known,) = made.studies.values()
    cells = unmeasured_results(known, {cell.id: cell.axes for cell in known.plan().cells}).cells
    rng = np.random.default_rng(1)
    data = {
        (cell.id, "goodput"): rng.normal(
            means[str(cell.axes["subject"])][[1, 2].index(int(str(cell.axes["buffer"])))], 0.1, runs
        ).tolist()
        for cell in cells
    }
    results = {"small": make_results(cells, {"goodput": "Mbit/s"}, data)}
    return scorecard.judge(made, ["cubic"], results).rows[0]


def test_a_row_over_an_axis_has_its_worst_value_and_says_where(tmp_path: Path) -> None:
    text = PACK.replace("goodput[buffer=1]", "goodput").replace(
        'better = "higher"', 'better = "higher"\nworst_over = ["buffer"]'
    )
    row = judged(tmp_path, text, {"cubic": [3.0, 1.0], "reno": [2.0, 4.0]})
    assert row.values["cubic"].value == pytest.approx(1.0, abs=0.1)
    assert row.values["reno"].value == pytest.approx(2.0, abs=0.1)
    assert [row.number(name).where for name in ("cubic", "reno")] == ["buffer: 2", "buffer: 1"]


LIMIT = """limit = "at least 3"
requires = 'goodput[buffer=1, subject="$subject"] >= 3'
note = "For a test."
"""


def test_an_undecided_limit_says_how_many_runs_would_decide_it(tmp_path: Path) -> None:
    """Scatter of 0.1 and a distance of 0.03: some 45 runs, by an interval of half that width."""
    row = judged(tmp_path / "few", PACK + LIMIT, {"cubic": [3.03, 1.0], "reno": [4.0, 1.0]})
    assert row.outcomes["cubic"] is ThresholdOutcome.UNDECIDED
    assert "reno" not in row.to_decide, "it is met"
    wanted = row.to_decide["cubic"]
    assert row.number("cubic").wanted.endswith("runs would decide")
    more = judged(
        tmp_path / "more", PACK + LIMIT, {"cubic": [3.03, 1.0], "reno": [4.0, 1.0]}, runs=2 * wanted
    )
    assert more.outcomes["cubic"] is ThresholdOutcome.MET


def test_a_rank_is_a_range_where_differences_are_not_sure(tmp_path: Path) -> None:
    apart = judged(tmp_path / "apart", PACK, {"cubic": [3.0, 1.0], "reno": [4.0, 1.0]})
    assert apart.number("cubic").place == "rank 2 of 2"
    alike = judged(tmp_path / "alike", PACK, {"cubic": [3.0, 1.0], "reno": [3.0, 1.0]})
    assert alike.number("cubic").place == "rank not decided"
    assert re.search(
        r"no clear difference from reno; .* runs would show one from reno", alike.number("cubic").compared
    )


#: The sections of RFC 9743 that ask something.
SECTIONS = """
5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2 5.2.1 5.2.2 5.2.3 5.3.1 5.3.2 6.1 6.2 6.3 6.4
7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 7.9 7.10 7.11
"""


def test_every_section_of_rfc_9743_has_a_row_or_a_reason() -> None:
    file = pack.load("rfc9743").file
    named = ", ".join([one.section for one in (*file.criteria, *file.unmeasured)]).split(", ")
    assert set(SECTIONS.split()) <= set(named)


def test_every_test_case_of_the_bbr_draft_has_a_row() -> None:
    rows = pack.load("bbr-draft").file.criteria
    assert {row.section for row in rows} == {f"A.{case}" for case in range(1, 23)}


def test_knobs_of_tcp_are_a_subject(tmp_path: Path) -> None:
    search = subjects.congestion_control('search={ cc = "cubic", slow_start = "search" }')
    study = evaluation.studies(small(tmp_path), [search], {})["small"]
    tcp = study.set({"subject": "search"}).plan().cells[0].compiled.scenario["tcp"]
    assert "search" in {one["slow_start"] for one in tcp}
    assert search.description == "TCP with cc = cubic, slow_start = search of the engine"
    for wrong in ('{ cc = "cubic" }', 'cubic={ cc = "reno" }', 'mine={ slow_start = "search" }'):
        with pytest.raises(StudyError, match="no name of its own, or no cc"):
            subjects.congestion_control(wrong)
    with pytest.raises(StudyError, match="is no TOML table"):
        subjects.congestion_control("mine={ cc = }")


def standing(folder: Path, own: float, better: str) -> Standing:
    """Of goodputs that scatter by 0.1 around 3 for Reno, and around a mean of its own for CUBIC."""
    made = small(folder, PACK.replace('better = "higher"', better))
    (known,) = made.studies.values()
    cells = unmeasured_results(known, {cell.id: cell.axes for cell in known.plan().cells}).cells
    rng = np.random.default_rng(1)
    means = {"cubic": own, "reno": 3.0}
    data = {
        (cell.id, "goodput"): rng.normal(means[str(cell.axes["subject"])], 0.1, 10).tolist() for cell in cells
    }
    (row,) = scorecard.judge(
        made, ["cubic"], {"small": make_results(cells, {"goodput": "Mbit/s"}, data)}
    ).rows
    return row.standings["cubic"]["reno"]


@pytest.mark.parametrize(
    ("better", "above", "below"),
    [
        ('better = "higher"', Standing.BETTER, Standing.WORSE),
        ('better = "lower"', Standing.WORSE, Standing.BETTER),
        ("", Standing.HIGHER, Standing.LOWER),
    ],
)
def test_a_sure_difference_is_named_by_what_is_better(
    better: str, above: Standing, below: Standing, tmp_path: Path
) -> None:
    assert standing(tmp_path / "above", 4.0, better) is above
    assert standing(tmp_path / "below", 2.0, better) is below
    assert standing(tmp_path / "alike", 3.0, better) is Standing.OPEN
