"""Two result folders side by side: what moved, and whether more than chance moves it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.apps.compare.compare import compare
from cwndlab.base.errors import OutputError
from cwndlab.cli import app
from fake_core import FakeCore
from small_study import TEXT


def test_the_same_runs_do_not_differ_however_many_there_are(tmp_path: Path, fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    study.run(tmp_path / "few", replicates=5)
    study.run(tmp_path / "many", replicates=12)
    for a, b in (("few", "many"), ("many", "few"), ("few", "few")):
        found = compare(tmp_path / a, tmp_path / b)
        assert found.moved == [] and found.same == 2


def test_a_change_of_the_model_is_found_in_pairs_where_independent_runs_would_hide_it(
    tmp_path: Path, fake_core: FakeCore
) -> None:
    study = Study.from_toml(TEXT)
    faster = study.set({"topology.links.wire.rate": "1010kbps"})  # one per cent; runs scatter by four
    study.run(tmp_path / "a", replicates=12)
    faster.run(tmp_path / "b", replicates=10)
    faster.run(tmp_path / "c", replicates=12, seed=8)
    paired, independent = compare(tmp_path / "a", tmp_path / "b"), compare(tmp_path / "a", tmp_path / "c")
    assert [move.significant for move in paired.moved] == [True, True]
    assert paired.moved[0].method == "difference of means, paired t, 10 replicates"
    assert [move.significant for move in independent.moved] == [False, False]
    assert independent.moved[0].method == "difference of means, unpaired t, 12 replicates"
    width = [found.moved[0].interval.high - found.moved[0].interval.low for found in (paired, independent)]
    assert width[1] > 3 * width[0]


def test_values_have_the_digits_of_their_difference(
    tmp_path: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study.from_toml(TEXT)
    study.run(tmp_path / "a", replicates=12)
    study.set({"topology.links.wire.rate": "1010kbps"}).run(tmp_path / "b", replicates=12)
    with pytest.raises(SystemExit):
        app(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    line = capsys.readouterr().out.splitlines()[0]
    texts = re.findall(r"(\d+)\.(\d+)", line.replace("\N{MINUS SIGN}", ""))
    assert len(texts) == 4 and len({len(after) for _, after in texts}) == 1, line


def test_what_too_few_runs_leave_untested_is_said_to_be_so(
    tmp_path: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Study.from_toml(TEXT)
    study.run(tmp_path / "a", replicates=1)
    study.set({"topology.links.wire.rate": "1010kbps"}).run(tmp_path / "b", replicates=1)
    with pytest.raises(SystemExit):
        app(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    out = capsys.readouterr().out
    assert "nan" not in out and "within noise" not in out and out.count("not tested") == 2
    assert "2 differ, 0 of them significantly; 2 have too few runs for a test" in out


def test_a_comparison_is_a_page_with_both_runs_in_each_figure_and_data(
    tmp_path: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = '[[figures]]\nid = "f"\ntitle = "Goodput"\nkind = "line"\nx = "iw"\nquantity = "goodput"\n'
    study = Study.from_toml(TEXT + figure)
    study.run(tmp_path / "a", replicates=8)
    study.set({"topology.links.wire.rate": "1010kbps"}).run(tmp_path / "b", replicates=8)
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    for more in (["--html", str(tmp_path / "page.html")], ["--json"]):
        with pytest.raises(SystemExit) as caught:
            app(["compare", *folders, *more])
        assert not caught.value.code
    page = (tmp_path / "page.html").read_text()
    assert page.count("<figure") == 1 and page.count("<tr>") == 1 + 2
    assert all(f">{name}</text>" in page for name in ("a", "b"))
    data = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert (data["equal"], [move["significant"] for move in data["moved"]]) == (0, [True, True])


def test_cells_of_one_folder_only_are_told(tmp_path: Path, fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    study.run(tmp_path / "a")
    study.set({"iw": [4, 10]}).run(tmp_path / "b")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert (found.only_a, found.only_b, found.same) == (["iw=1"], ["iw=10"], 1)


def test_a_damaged_folder_is_said(tmp_path: Path, fake_core: FakeCore) -> None:
    Study.from_toml(TEXT).run(tmp_path / "a")
    pack = tmp_path / "a/store/values.pack"
    pack.write_bytes(pack.read_bytes()[:-5])
    with pytest.raises(OutputError, match="missing or damaged, so 1 of 6 replicates"):
        compare(tmp_path / "a", tmp_path / "a")
