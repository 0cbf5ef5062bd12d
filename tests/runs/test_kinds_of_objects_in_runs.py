"""Objects that are shared cannot be changed; large ones are not compared or printed by their values."""

from __future__ import annotations

import pytest

from dataclass_kinds import kinds


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        (
            "runs",
            {
                "Campaign": "changes",
                "_KeptRecords": "equals shows",
                "Job": "",
                "Threads": "",
                "RunOptions": "equals shows",
                "OneCell": "equals shows",
                "MeasuredRuns": "",
            },
        ),
        ("results", {"RunResult": "changes", "ResultTables": "equals shows", "Samples": ""}),
        ("base", {"StudyError": "changes", "LawCode": "", "Range": "equals shows"}),
    ],
)
def test_only_these_can_be_changed_or_are_compared_and_printed_by_value(
    package: str, expected: dict[str, str]
) -> None:
    assert kinds(package) == expected
