"""Objects that are shared cannot be changed; large ones are not compared or printed by their values."""

from __future__ import annotations

from dataclass_kinds import kinds


def test_only_numbers_and_results_are_compared_by_what_they_are() -> None:
    stats = kinds("stats")
    assert {name: words for name, words in stats.items() if words != "equals shows"} == {
        "Derived": "shows",
        "Results": "",
        "Sample": "shows",
    }
    assert len(stats) >= 9


def test_papers_that_are_played_are_compared_by_what_they_are() -> None:
    reproduction = kinds("apps.reproduction")
    assert {name: words for name, words in reproduction.items() if words != "equals shows"} == {
        "_Number": "shows",
        "PlayedPaper": "shows",
    }
    assert {"Discrepancy", "Line", "PublishedLine"} <= reproduction.keys()
