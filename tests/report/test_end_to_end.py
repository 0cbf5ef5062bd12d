"""From a shipped study to its report, with the simulator; and a broken TCP that must turn cells red."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

import cwndlab
from cwndlab.stats.sample import Streams


def verdicts(folder: Path, table: str) -> list[str]:
    rows = csv.DictReader(io.StringIO((folder / "verdicts.csv").read_text()))
    return [row["verdict"] for row in rows if row["table"] == table and row["verdict"]]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rfc2416")
    cwndlab.run("rfc2416", changes={"grid": "minute", "variant": "tahoe", "iw": [1, 4]}, out=out)
    return out


def test_the_memos_printed_times_come_out_but_for_the_misprint(traced: Path) -> None:
    found = verdicts(traced, "listing")
    assert len(found) == 17
    assert found.count("source suspect") == 1
    assert found.count("agrees") == 16


def test_the_report_of_a_real_run_shows_its_parts(traced: Path) -> None:
    page = (traced / "report.html").read_text()
    for part in (
        "line by line",
        "<svg",
        "claim-normal-start-drops",
        "run again",
        "source suspect",
        "The study file",
    ):
        assert part in page


@pytest.mark.parametrize(
    "broken",
    [
        {"tcp.rto.initial": "0.5s"},  # times out before the first acknowledgment
        {"tcp.header": "40B"},
        {"tcp.dup_thresh": 5},  # retransmits two acknowledgments late
        {"tcp.initial_ssthresh_segments": 2},  # leaves slow start too early
    ],
)
def test_a_broken_tcp_turns_cells_red(tmp_path: Path, broken: dict[str, object]) -> None:
    cwndlab.run(
        "rfc2416", changes={"grid": "minute", "variant": "tahoe", "iw": [1, 4], **broken}, out=tmp_path / "o"
    )
    found = verdicts(tmp_path / "o", "listing")
    assert found.count("differs") >= 2


def test_pairing_pays_on_a_web_workload() -> None:
    run = cwndlab.run(
        "rfc2415",
        changes={
            "model": "reconstructed",
            "http": "1.0",
            "webs": 8,
            "ftps": 0,
            "iw": [1, 4],
            "variant": "base",
            "run.duration": "120s",
        },
        replicates=8,
    )
    cell = {"model": "reconstructed", "http": "1.0", "webs": 8, "ftps": 0}
    four, one = (
        run.results.sample(run.results.only_cell({**cell, "iw": iw}).id, "page_delay") for iw in (4, 1)
    )
    other_seed = replace(one, streams=Streams("paired", "another"))
    assert (four - one).estimate().half_width < (four - other_seed).estimate().half_width / 1.3


@pytest.mark.parametrize("name", ["rfc2416", "fall-floyd-1996"])
def test_a_whole_run_shows_every_part_of_the_study(tmp_path: Path, name: str) -> None:
    run = cwndlab.run(name, out=tmp_path / "o")
    page = (tmp_path / "o" / "report.html").read_text()
    assert "Not shown" not in page
    for figure in run.study.outline.figures:
        assert (tmp_path / "o" / "figures" / f"{figure.id}.svg").stat().st_size > 2000
        assert f'id="figure-{figure.id}"' in page
    for claim in run.study.claims.claims:
        assert f'id="claim-{claim.id}"' in page


def test_a_table_of_which_nothing_was_run_is_told_and_the_rest_is_shown(tmp_path: Path) -> None:
    only = {
        "model": "reconstructed",
        "http": "1.0",
        "webs": 8,
        "ftps": [0, 1],
        "iw": [1, 4],
        "variant": "base",
    }
    cwndlab.run("rfc2415", changes={**only, "run.duration": "10s"}, replicates=3, out=tmp_path / "o")
    page = (tmp_path / "o" / "report.md").read_text()
    told = "Of cells that were not run: tables "
    assert told in page and "agrees" in page
    assert told in (tmp_path / "o" / "report.html").read_text()
