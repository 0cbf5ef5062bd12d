"""Scorecards as JSON, and as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from cwndlab.base.writing import plain_row
from cwndlab.stats.intervals import Interval

from .scorecard import CriterionRow, Scorecard, ThresholdOutcome
from .subjects import Subject

#: The levels whose unmet thresholds are failures in JUnit.
_FAILURES = ("MUST", "SHOULD")
_SKIPPED = (ThresholdOutcome.UNDECIDED, ThresholdOutcome.NOT_APPLICABLE)


def as_data(cards: Sequence[Scorecard], subjects: Sequence[Subject], version: str) -> dict[str, Any]:
    """The content of scorecard.json: everything that the scorecards show."""
    return {
        "format": 1,
        "cwndlab": version,
        "subjects": [{"name": s.name, "kind": s.kind, "is": s.description} for s in subjects],
        "packs": [
            {
                "name": card.pack.name,
                "document": card.pack.file.document,
                "references": list(card.references),
                "rows": [_row_data(row, card) for row in card.rows],
            }
            for card in cards
        ],
    }


def _row_data(row: CriterionRow, card: Scorecard) -> dict[str, Any]:
    asked = row.criterion.model_dump(exclude={"note"})
    return {
        **asked,
        "id": row.id,
        "level": row.criterion.level or None,
        "unit": row.criterion.unit or None,
        "report": row.report,
        "missing": row.missing or None,
        "refused": dict(row.refused),
        "numbers": {
            name: {
                **_interval_data(interval),
                "outcome": row.outcomes[name].value if name in row.outcomes else None,
                "simulated": _interval_data(row.simulated[name]) if name in row.simulated else None,
                "failed_connections": row.failed.get(name),
                "where": row.where.get(name),
                "runs_to_decide": row.to_decide.get(name),
            }
            for name, interval in row.values.items()
        },
        "standings": {
            subject: {name: standing.value for name, standing in row.standings.get(subject, {}).items()}
            for subject in card.subjects
        },
    }


def _interval_data(interval: Interval) -> dict[str, object]:
    ends = {"estimate": interval.value, "ci_low": interval.low, "ci_high": interval.high}
    return plain_row({**ends, "replicates": interval.n, "method": interval.method})


def as_junit(cards: Sequence[Scorecard]) -> bytes:
    """The scorecards as JUnit XML: a suite for each pack and subject, a case for each row.

    An unmet threshold is a failure of type MUST or SHOULD. A threshold that is undecided or does not apply is
    skipped, as is a row without a number. Rows without a threshold pass, with the number in their output.
    """
    root = ElementTree.Element("testsuites", name="cwndlab evaluate")
    for card in cards:
        for subject in card.subjects:
            suite = ElementTree.SubElement(root, "testsuite", name=f"{card.pack.name}: {subject}")
            failures = skipped = 0
            for row in card.rows:
                case = ElementTree.SubElement(
                    suite, "testcase", classname=f"{card.pack.name}.{subject}", name=row.id
                )
                outcome, said = row.outcomes.get(subject), _row_text(row, subject)
                if outcome is ThresholdOutcome.NOT_MET and row.criterion.level in _FAILURES:
                    failures += 1
                    ElementTree.SubElement(case, "failure", type=row.criterion.level, message=said)
                elif outcome in _SKIPPED or subject not in row.values:
                    skipped += 1
                    ElementTree.SubElement(
                        case, "skipped", message=row.missing or row.refused.get(subject) or said
                    )
                ElementTree.SubElement(case, "system-out").text = said
            suite.attrib |= {"tests": str(len(card.rows)), "failures": str(failures), "skipped": str(skipped)}
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _row_text(row: CriterionRow, subject: str) -> str:
    """The number of a row and its outcome, in one line."""
    view = row.number(subject)
    unit = f" {row.criterion.unit}" if row.criterion.unit and subject in row.values else ""
    parts = [f"{row.criterion.shows}: {view.value}{unit}", f"({view.interval})" if view.interval else ""]
    parts += [view.mark.value if view.mark else "", view.compared, view.failed]
    return " ".join(part for part in parts if part)
