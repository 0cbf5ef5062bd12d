"""What a study found, in a sentence or two: its own words with measured numbers, or how its claims ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cwndlab.errors import StudyError
from cwndlab.stats.verdict import Verdict

from .view import number

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.stats.results import Results

_PLACE = re.compile(r"\{([^{}]*)\}")
KEY = "finding"


def finding_text(template: str, results: Results) -> str:
    """A finding with its expressions in braces replaced by their values.

    `{median(x[iw=1]):1}` shows the value of `median(x[iw=1])` with one decimal.

    Raises:
        StudyError: an expression is wrong, gives no single number, or asks for cells that were not run.

    """
    if not template:
        return ""
    from cwndlab.spec.grammar import ExpressionError
    from cwndlab.stats.expression import Evaluator  # few studies have a finding

    evaluator = Evaluator(results)

    def value(match: re.Match[str]) -> str:
        expression, colon, digits = match[1].rpartition(":")
        if not colon or not digits.isdecimal():
            expression, digits = match[1], ""
        try:
            found = evaluator.evaluate(expression)
            if found.axes or found.condition:
                raise ExpressionError("not a single number", 1, "reduce it, as median(…)")
        except ExpressionError as error:
            raise StudyError(f"{error.problem} in {match[0]}", key=KEY, right=error.right) from error
        return number(found.interval().value, int(digits) if digits else None)

    return " ".join(_PLACE.sub(value, template).split())


def count_claims(claims: Sequence[JudgedClaim]) -> str:
    """How the claims ended, with the names of those that failed; empty if none could be checked."""
    checked = [c for c in claims if c.verdict in (Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED)]
    if not checked:
        return ""
    failed = [c.claim.id for c in checked if c.verdict is Verdict.FAILS]
    held = sum(c.verdict is Verdict.HOLDS for c in checked)
    text = f"{held} of the {len(checked)} claims that could be checked hold{'s' * (held == 1)}"
    return text + (f"; {', '.join(failed)} fail{'s' * (len(failed) == 1)}." if failed else ".")
