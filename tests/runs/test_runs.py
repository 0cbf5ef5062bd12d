"""Runs from Python: results, records, failures, sequential stopping, the output folder."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import cwndlab
from cwndlab.api import Study, open_results
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.results import result_folder as folder
from cwndlab.results.execution import report_again, run_study
from cwndlab.runs import campaign, progress
from cwndlab.runs.run_options import RunOptions
from cwndlab.stats.results import Results
from fake_core import FakeCore, replace_core
from small_study import TEXT, edited


def test_records_are_arrow_that_others_take_without_a_copy(fake_core: FakeCore) -> None:
    run = Study.from_toml(TEXT).run()
    segments = run.records["segments"]
    assert hasattr(segments, "__arrow_c_stream__")
    assert duckdb.sql("select count(*) from segments where event = 'ack'").fetchall() == [(4,)]
    one = run.sel(iw=4).records["segments"]
    again = pa.table(one)
    assert (
        again.column("time_ns").chunk(0).buffers()[1].address
        == one.column("time_ns").chunk(0).buffers()[1].address
    )
    assert set(run.records) == {"connections", "segments", "failures"}
    with pytest.raises(KeyError, match="segments"):
        run.records["segmnts"]


def test_estimates_are_a_table_with_intervals(fake_core: FakeCore) -> None:
    run = Study.from_toml(TEXT).run(replicates=12)
    rows = run.estimates.to_pylist()
    assert [row["iw"] for row in rows] == [1, 4] and rows[0]["unit"] == "kbit/s"
    assert all(row["ci_low"] < row["value"] < row["ci_high"] for row in rows)
    assert run.sel({"iw": 4}).estimate("goodput").replicates == 12
    assert "<table>" in run._repr_html_() and "goodput" in run._repr_html_()


def test_a_table_has_every_value_with_axes_in_their_own_types(fake_core: FakeCore, tmp_path: Path) -> None:
    run = Study.from_toml(TEXT).run(out=tmp_path / "out")
    table = run.values
    assert table.column_names == ["cell", "iw", "replicate", "quantity", "unit", "value"]
    assert table.schema.field("iw").type == pa.int64() and table.num_rows == 6
    values = [row["value"] for row in table.to_pylist() if row["iw"] == 4]
    assert values == list(run.results.values("iw=4", "goodput"))
    assert cwndlab.open_results(tmp_path / "out").values == table


def test_each_replicate_is_the_same_alone_as_among_others(fake_core: FakeCore) -> None:
    few, many = (Study.from_toml(TEXT).run(replicates=n).results.values("iw=1", "goodput") for n in (3, 30))
    assert np.array_equal(few, many[:3])


def test_a_scenario_is_read_once_for_all_replicates(fake_core: FakeCore) -> None:
    Study.from_toml(TEXT).run(replicates=30)
    assert fake_core.runs == 60
    assert fake_core.scenarios_read <= 4  # of two cells, the first replicate's has all probes


def test_a_failed_run_is_told_and_the_others_are_there(tmp_path: Path, fake_core: FakeCore) -> None:
    replace_core(FakeCore(broken='"segments":4'))
    run = Study.from_toml(TEXT).run(tmp_path / "out")
    assert {failure.cell for failure in run.failures} == {"iw=4"} and "panicked" in run.failures[0].reason
    assert len(run.results.values("iw=1", "goodput")) == 3
    told = (tmp_path / "out" / "report.md").read_text()
    assert "**Incomplete:** 3 of 6 runs gave no number, the first iw=4, replicate 0" in told
    replace_core(mended := FakeCore())
    assert Study.from_toml(TEXT).run(tmp_path / "out").failures == []
    assert mended.runs == 3 and "Incomplete" not in (tmp_path / "out" / "report.md").read_text()
    replace_core(FakeCore(broken="segments"))
    assert Study.from_toml(TEXT).run(tmp_path / "none").report is None


def test_sequential_stopping_runs_until_the_interval_is_narrow_and_no_further(fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    loose, tight = study.run(until=0.05), study.run(until=0.01)
    for run, bound in ((loose, 0.05), (tight, 0.01)):
        for cell in ("iw=1", "iw=4"):
            values = run.results.values(cell, "goodput")
            half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
            assert half < bound * values.mean()
    assert (
        10
        == len(loose.results.values("iw=1", "goodput"))
        < len(tight.results.values("iw=1", "goodput"))
        < 1000
    )
    again = study.run(until=0.01, threads=1)
    assert np.array_equal(again.results.values("iw=1", "goodput"), tight.results.values("iw=1", "goodput"))


def test_cells_that_need_more_replicates_are_not_finished(fake_core: FakeCore) -> None:
    """`--until` asks for more once all are there; the line said "24 of 4 cells finished"."""
    counted = []

    class Counted(progress.Shown):
        def cell_done(self) -> None:
            super().cell_done()
            counted.append(self.finished)

        def draw(self) -> None:
            pass

    run_study(Study.from_toml(TEXT), RunOptions(until=0.01), progress=Counted())
    assert len(counted) > 2 and counted[-1] == max(counted) == 2


def test_each_look_at_the_precision_doubles_the_replicates_at_most(
    fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def forecasts(_rule: object, results: Results, _tables: object) -> dict[str, int]:
        looks.append(tuple(len(results.values(cell, "goodput")) for cell in ("iw=1", "iw=4")))
        return {"iw=1": 5000, "iw=4": 13}

    monkeypatch.setattr(campaign, "replicates_by_cell", forecasts)
    Study.from_toml(edited(("seed = 7", "seed = 7\nmax_replicates = 70"))).run(until=0.01)
    assert looks == [(10, 10), (20, 13), (40, 13), (70, 13)]


def test_sequential_stopping_ends_at_the_cap(fake_core: FakeCore) -> None:
    run = Study.from_toml(edited(("seed = 7", "seed = 7\nmax_replicates = 25"))).run(until=0.0001)
    assert len(run.results.values("iw=1", "goodput")) == 25


def test_the_folder_holds_what_is_needed_to_run_again(tmp_path: Path, fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT).set({"iw": 4, "run.duration": "80ms"})
    study.run(tmp_path / "out", seed=99)
    content = json.loads((tmp_path / "out/provenance.json").read_text())
    assert content["seed"] == 99 and content["set"] == {"iw": [4]} and content["cwndlab"] == "fake-1"
    assert content["scenario"]["tcp"][0]["dup_thresh"] == 3  # a default that the study does not name
    assert content["scenario"]["links"][0]["queue"]["counts_in_service"] is True  # and one of the engine's
    assert content["cells"][0]["id"] == "iw=4"
    raw = tomllib.loads((tmp_path / "out/study.toml").read_text())
    assert raw["run"]["duration"] == "80ms"
    again = Study.load(tmp_path / "out")
    assert again.plan().cells[1].scenario == study.plan().cells[0].scenario


@pytest.mark.parametrize("kind", ["a file", "other files", "another study", "a link to nothing"])
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(
    tmp_path: Path, fake_core: FakeCore, kind: str
) -> None:
    out = tmp_path / "out"
    if kind == "a file":
        out.write_text("mine")
    elif kind == "other files":
        out.mkdir()
        (out / "thesis.tex").write_text("mine")
    elif kind == "another study":
        Study.from_toml(TEXT, name="first").run(out)
    else:
        out.symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OutputError, match=str(out)):
        Study.from_toml(TEXT, name="second").run(out)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_another_version_ran_is_reported_again(
    tmp_path: Path, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Study.from_toml(TEXT).run(tmp_path / "out")
    newer = FakeCore(version="fake-2")
    replace_core(newer)
    monkeypatch.setattr("cwndlab.runs.work.code_digest", lambda metric: "other code")
    again = open_results(tmp_path / "out")
    assert repr(again.estimates) == repr(run.estimates)
    page = report_again(tmp_path / "out").read_text(encoding="utf-8")
    assert "cwndlab fake-2 of another build; the numbers are as measured then" in page
    assert "cannot run its cells" in page
    assert newer.runs == 0
    with pytest.raises(
        OutputError, match=r"Replicate 1 of iw=1 .* another version of cwndlab made these runs"
    ):
        again.campaign.tables("iw=1", 1)


def test_what_a_version_measures_otherwise_is_named(
    tmp_path: Path, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    Study.from_toml(TEXT).run(tmp_path / "out")
    file = tmp_path / "out/provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "value_ids": {}}))  # as of 0.2
    monkeypatch.setattr("cwndlab.runs.work.code_digest", lambda metric: "other code")
    with pytest.raises(OutputError, match=r"measures goodput.* by other code, so 6 of 6 replicates"):
        open_results(tmp_path / "out")


def test_a_notebook_shows_no_markup_of_a_study(fake_core: FakeCore) -> None:
    text = edited(
        ('title = "two nodes"', 'title = "<script>x</script>"'), ("values = [1, 4]", "values = [1]")
    )
    run = Study.from_toml(text.replace('sets = "tcp.initial_window"', 'sets = "run.seed"')).run()
    assert "<script>" not in run._repr_html_() and "<script>" not in run.study._repr_html_()
    assert "&lt;script&gt;" in run._repr_html_()


def test_bad_options_are_refused(fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    for options in ({"replicates": 0}, {"threads": 0}, {"until": 2.0}, {"sensitivity": "x"}):
        with pytest.raises(StudyError):
            study.run(**options)


def test_options_come_one_by_one_or_as_one_and_unknown_ones_are_named(fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    one = cwndlab.run(study, cwndlab.RunOptions(replicates=2), seed=3)
    assert (one.plan.replicates, one.plan.seed) == (2, 3)
    with pytest.raises(TypeError, match=r'"replicate".*replicates'):
        cwndlab.run(study, replicate=2)
    with pytest.raises(StudyError, match=r'"linus".*did you mean "linux'):
        cwndlab.run(study, backend="linus")


def test_a_study_can_be_built_in_code(fake_core: FakeCore) -> None:
    raw = tomllib.loads(TEXT)
    raw["axes"]["iw"]["values"] = [10]
    claim = {"id": "some", "section": "1", "text": "something arrives", "assert": "goodput > 0"}
    study = cwndlab.Study.from_dict(raw, name="mine", claims=[claim])
    with pytest.raises(StudyError, match=r"claims\.some\.asert: unknown key.*\"assert\""):
        cwndlab.Study.from_dict(raw, claims=[{**claim, "asert": ""}])
    run = cwndlab.run(study, replicates=2)
    assert run.study.claims.claims[0].id == "some"
    assert [cell.id for cell in run.plan.cells] == ["iw=10"]
    assert "<th>iw</th>" in run.study._repr_html_()


def test_cells_that_are_the_same_run_are_run_once(fake_core: FakeCore) -> None:
    axis = '[axes.name]\nvalues = ["x", "y"]\n\n[[quantities]]'
    text = edited(
        ("[[quantities]]", axis), ("[parameters]", '[parameters]\nunused = "= 1 if name == 0 else 2"')
    )
    run = Study.from_toml(text).run()
    assert len(run.plan.cells) == 4 and fake_core.runs == 6 and run.failures == []
    assert np.array_equal(
        run.results.values("iw=1,name=x", "goodput"), run.results.values("iw=1,name=y", "goodput")
    )
    assert run.estimates.num_rows == 4


def test_a_study_without_tables_shows_all_its_numbers_and_how_to_run_it_again(
    tmp_path: Path, fake_core: FakeCore
) -> None:
    study = Study.from_toml(TEXT).set({"run.duration": "80ms"})
    run = study.run(tmp_path / "out", until=0.05, replicates=12)
    page = (tmp_path / "out/report.md").read_text()
    for cell in ("iw=1", "iw=4"):
        assert f"**{run.results.values(cell, 'goodput').mean():.3g}" in page
    assert "| iw | goodput (kbit/s) |" in page
    assert "10, until the half-width is 0.05 of each number, or the cap (Chow and Robbins 1965" in page
    assert "cwndlab run study.toml --replicates 12 --until 5% --seed 7 -o DIR" in page


def test_the_copy_of_a_changed_study_gives_the_same_runs(tmp_path: Path) -> None:
    study = Study.load("rfc2415").set({"grid": "tables_1_to_3", "webs": 8, "run.duration": "20s"})
    folder.prepare(tmp_path / "out", study).close()
    folder.begin(tmp_path / "out", study)
    copy = Study.load(tmp_path / "out" / "study.toml").set(dict(study.document.chosen))
    assert [cell.scenario for cell in copy.plan().cells] == [cell.scenario for cell in study.plan().cells]
