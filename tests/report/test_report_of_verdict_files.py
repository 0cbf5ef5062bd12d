"""The files with verdicts, read back: counts, summaries, and what is left of a damaged one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.report.verdict_files import count_verdicts, read_incompatible, read_rows, read_summary
from cwndlab.stats.verdict import Verdict


def test_verdicts_of_a_file_are_counted_with_their_claims(tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    file.write_text('claim,verdict,text\na,holds,"x\ny"\nb,fails,\nc,holds,\n')
    assert count_verdicts(file) == (
        {Verdict.HOLDS: 2, Verdict.FAILS: 1},
        {"holds": ["a", "c"], "fails": ["b"]},
    )
    assert read_rows(file)[0] == {"claim": "a", "verdict": "holds", "text": "x\ny"}
    assert count_verdicts(tmp_path / "none.csv") == ({}, {})


@pytest.mark.parametrize("content", [b"\xff", b"", b"claim\n"])
def test_a_file_without_rows_counts_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "v.csv").write_bytes(content)
    assert count_verdicts(tmp_path / "v.csv") == ({}, {}) and read_rows(tmp_path / "v.csv") == []


@pytest.mark.parametrize(
    ("content", "read"), [('{"finding": "x"}', {"finding": "x"}), ("[1]", {}), ("{", {}), (None, {})]
)
def test_a_summary_that_cannot_be_read_is_empty(
    tmp_path: Path, content: str | None, read: dict[str, str]
) -> None:
    if content is not None:
        (tmp_path / "summary.json").write_text(content)
    assert read_summary(tmp_path) == read
    assert read_incompatible(read) is None and read_incompatible({"incompatible": None}) is None
    assert read_incompatible({"incompatible": {"bogus": 1}}) is None
