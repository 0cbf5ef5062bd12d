"""The probability that several verdicts are all right: each is seldom wrong, but a report has many.

A comparison is decided at 95 %, so by chance it is decided wrongly in at most 2.5 % of all cases. Verdicts of
a report depend on many comparisons. A verdict is firm if it is decided even when the 5 % is divided among all
comparisons: in 95 % of all reports, all firm verdicts are right, however the comparisons depend on each other
(Bonferroni's inequality).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cwndlab.base.writing import count_text

from .claims import JudgedClaim, truth_of_claim
from .distributions import LEVEL
from .expression import Evaluator
from .verdict import Verdict

if TYPE_CHECKING:
    from .results import Results

WRONG = (1.0 - LEVEL) / 2.0
"""The largest share of comparisons that chance decides wrongly."""


class Family(NamedTuple):
    """A group of verdicts that are reported together, with the numbers for its chance of error."""

    decided: int
    """The number of verdicts that comparisons of random numbers decide, either way."""
    comparisons: int
    """The number of comparisons behind all verdicts, including undecided ones."""
    firm: int
    """The number of decided verdicts that stay decided if the 5 % is divided among all comparisons."""

    def text(self, what: str) -> str:
        """The chance of error as sentences, "" if no verdict is decided; `what` is the noun: "claims"."""
        if not self.decided:
            return ""
        up_to = self.comparisons * WRONG
        single = self.decided == 1
        decided = (
            f"{self.decided} {what.removesuffix('s') if single else what} {'is' if single else 'are'} decided"
        )
        firm = (
            ("It stays" if self.firm else "It does not stay")
            if single
            else f"{self.firm} of the {self.decided} stay"
        )
        return (
            f"{decided}; all {what} rest on {count_text(self.comparisons, 'comparison')} of "
            f"random numbers. By chance, up to {100 * WRONG:g} % of these ({up_to:.1f}) are decided wrongly. "
            f"{firm} decided if all comparisons together are to err in at most {100 * (1 - LEVEL):.0f} % of "
            "all reports."
        )


def joint_level(comparisons: int) -> float:
    """The confidence level of each comparison so that all are right in 95 % of reports."""
    return 1.0 - (1.0 - LEVEL) / max(1, comparisons)


def claims_alone(claims: Sequence[JudgedClaim], results: Results) -> tuple[Family, frozenset[str]]:
    """The family of a report's claims, and the ids of the decided claims that are not `firm`."""
    comparisons = sum(judged.comparisons for judged in claims)
    decided = [
        judged for judged in claims if judged.comparisons and judged.verdict in (Verdict.HOLDS, Verdict.FAILS)
    ]
    strict = Evaluator(results, level=joint_level(comparisons))
    alone = frozenset(judged.claim.id for judged in decided if truth_of_claim(judged.claim, strict) is None)
    return Family(len(decided), comparisons, len(decided) - len(alone)), alone
