"""The pages of the gallery show what a scorecard says."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "gallery.py"


def test_a_page_has_a_column_for_each_subject_and_a_mark_for_each_limit() -> None:
    found = {"estimate": 12.345, "ci_low": 11.0, "ci_high": 13.0, "outcome": "not met", "replicates": 5}
    none = {"estimate": None, "ci_low": None, "ci_high": None, "outcome": None, "replicates": 4}
    row = {
        "id": "rfc9743/7.4-x",
        "shows": "packets lost",
        "unit": "%",
        "better": "lower",
        "limit": "none",
        "numbers": {"a": found, "b": none},
        "standings": {"a": {"b": "worse", "c": "worse"}, "b": {"a": "better"}, "c": {"a": "better"}},
    }
    scorecard = {"cwndlab": "0", "subjects": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    of = {"name": "rfc9743", "rows": [row]}
    text = runpy.run_path(str(TOOL))["page"](scorecard, of, ["- **fails**: a claim"])
    assert "| section | measured | a | b | c |" in text
    assert "| 7.4-x | packets lost (%). Limit: none | 12.3 (11 … 13) ✗ | n/a | n/a |" in text
    said = "of its limits 1 not met; surely better than all others in 0 and worse than all in 1 of 1 rows"
    assert f"- **a**: {said}." in text
    assert "4 to 5 runs" in text
    assert text.endswith("- **fails**: a claim\n")
    separation = runpy.run_path(str(TOOL))["separation"]([scorecard | {"packs": [of]}])
    assert "| a |  | 1 | 1 |" in separation and "| c | 1 | 0 |  |" in separation
    assert "| rfc9743/7.4-x | 2 of 3 | b and c |" in separation
