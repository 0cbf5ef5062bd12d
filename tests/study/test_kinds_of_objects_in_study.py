"""Objects that are shared cannot be changed; large ones are not compared or printed by their values."""

from __future__ import annotations

import pytest

from dataclass_kinds import kinds


@pytest.mark.parametrize(
    ("package", "expected"),
    [
        (
            "study",
            {
                "Cells": "",
                "Document": "equals shows",
                "Csv": "",
                "Labels": "equals shows",
                "Expanded": "changes",
                "StudySpec": "equals shows",
                "Catalogue": "equals shows",
            },
        ),
    ],
)
def test_only_these_can_be_changed_or_are_compared_and_printed_by_value(
    package: str, expected: dict[str, str]
) -> None:
    assert kinds(package) == expected
