"""Evaluations of a QUIC stack's congestion control by the packs that evaluate those of TCP."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cwndlab.apps.evaluate import evaluation, pack, subjects
from cwndlab.base.errors import StudyError
from cwndlab.cli.registry import command_line

STUDY = """
title = "STUDY"
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
flows = [FLOWS]
[axes.subject]
values = ["reno"]
[run]
duration = "2s"
replicates = 3
"""
CRITERION = """
[[criteria]]
id = "STUDY"
section = "1"
level = "MUST"
asks = "Send."
study = "STUDY"
shows = "goodput"
value = "goodput"
unit = "Mbit/s"
better = "higher"
limit = "at least 0.1 Mbit/s"
requires = 'goodput[subject="$subject"] >= 0.1'
note = "For a test."
"""
HEAD = """
title = "Small"
kind = "cc"
document = "RFC 0"
url = "https://example.org/"
about = "For a test."
references = ["reno"]
"""
FLOWS = {
    "bulk": '{ cc = "$subject" }',
    "slow-reader": '{ cc = "$subject", app = { kind = "bulk", read_rate = "1Mbps" } }',
    "knobs": '{ name = "tested", cc = "$subject", tcp = { initial_ssthresh_segments = 10 } }',
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack with three studies, of which a QUIC stack can take part in one."""
    folder = tmp_path_factory.mktemp("pack")
    text = HEAD
    for name, flows in FLOWS.items():
        (folder / name).mkdir()
        study = STUDY.replace("STUDY", name).replace("FLOWS", flows)
        (folder / name / "study.toml").write_text(study, encoding="utf-8")
        text += CRITERION.replace("STUDY", name)
    (folder / "pack.toml").write_text(text, encoding="utf-8")
    return folder


def test_rows_that_a_stack_cannot_answer_say_why_and_are_counted(small: Path, tmp_path: Path) -> None:
    wanted = [subjects.from_stack("bbr3", "noq"), subjects.congestion_control("cubic")]
    made = evaluation.evaluate([pack.load(small)], wanted, tmp_path)
    assert not made.failures
    (card,) = made.cards
    rows = {row.criterion.id: row for row in card.rows}
    assert set(rows["bulk"].values) == {"noq-bbr3", "cubic", "reno"}
    assert rows["bulk"].values["noq-bbr3"].value > 0.2
    for refused in ("slow-reader", "knobs"):
        assert set(rows[refused].values) == set(rows[refused].outcomes) == {"cubic", "reno"}
    assert (card.count_unmeasured("noq-bbr3"), card.count_unmeasured("cubic")) == (2, 0)
    reasons = {name: row.refused.get("noq-bbr3", "") for name, row in rows.items()}
    assert "QUIC carries" in reasons["slow-reader"]
    assert reasons["knobs"] == "initial_ssthresh_segments of the flow tested are knobs of TCP"
    page = (tmp_path / "scorecard.md").read_text(encoding="utf-8")
    described = r"noq-bbr3: congestion control bbr3 of the QUIC stack noq-proto [\d.]+, mtu = 1500B"
    assert re.search(described, page)
    assert "not measured: QUIC carries" in page
    data = json.loads((tmp_path / "scorecard.json").read_text(encoding="utf-8"))
    assert data["packs"][0]["rows"][2]["refused"] == {"noq-bbr3": reasons["knobs"]}
    assert reasons["knobs"] in (tmp_path / "junit.xml").read_text(encoding="utf-8")


def test_the_command_runs_the_studies_that_a_stack_can_take_part_in(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    asked = ["evaluate", "--stack", "quinn", "--cc", "bbr", "--pack", str(small), "-o", str(out)]
    result = CliRunner().invoke(command_line(), asked)
    assert result.exit_code == 0
    assert "quinn-bbr: 1 met, 0 rows without a threshold, 2 not measured" in result.stdout
    assert (tmp_path / "out" / small.name / "bulk" / "report.html").is_file()
    assert not (tmp_path / "out" / small.name / "knobs").exists()


def test_what_does_not_fit_together_is_rejected(small: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="noq has no congestion control 'bbr'"):
        subjects.from_stack("bbr", "noq")
    only = pack.load(small).with_criteria(["knobs"])
    with pytest.raises(StudyError, match="no study runs with this stack: initial_ssthresh_segments"):
        evaluation.evaluate([only], [subjects.from_stack("bbr3", "noq")], tmp_path)
    options = evaluation.RunOptions(backend="linux-virtual")
    with pytest.raises(StudyError, match="a kernel does not run noq"):
        evaluation.evaluate([only], [subjects.from_stack("bbr3", "noq")], tmp_path, options)
