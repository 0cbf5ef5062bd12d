"""Judges claims: sentences of a paper, each written as an expression over the cells of a study."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cwndlab.base.errors import StudyError
from cwndlab.study.document import CLAIMS
from cwndlab.study.grammar import ExpressionError, parse

from . import field
from .expression import Evaluator, every
from .verdict import Verdict

if TYPE_CHECKING:
    from cwndlab.study.labels import Labels
    from cwndlab.study.outputs import Claim, Scalar

    from .field import Field, Key
    from .intervals import Interval
    from .results import Results

SHOWN = 4
"""The most groups of cells that a claim's detail names; cells of further groups are only counted."""


@dataclass(frozen=True)
class ClaimPart:
    """A number in a comparison of a claim: its text in the expression, and its interval."""

    text: str
    interval: Interval


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict, and the numbers and cells behind the verdict."""

    claim: Claim
    verdict: Verdict
    parts: tuple[ClaimPart, ...] = ()
    where: str = ""
    """The cells in which the claim holds, fails and is undecided, as a sentence."""
    tally: str = ""
    """The numbers of cells in which the claim holds, fails and is undecided, as a sentence."""
    rests_on: frozenset[tuple[str, str]] = frozenset()
    """The numbers in the claim's expression, each as (cell id, quantity)."""
    conditions: tuple[tuple[Verdict, str], ...] = ()
    """The conditions that the outermost `and` or `or` joins, each with its verdict; else empty."""
    as_it_stands: Verdict | None = None
    """The verdict of a suspect claim if it were not marked as suspect; None for other claims."""
    comparisons: int = 0
    """The number of the claim's comparisons of random numbers, each of which may be wrong by chance."""

    @property
    def detail(self) -> str:
        """The conditions or cells on which the verdict depends, in one line."""
        verdicts = "; ".join(f"{verdict.value}: {text}" for verdict, text in self.conditions)
        return self.describe_standing(f"{verdicts}." if verdicts else self.where)

    def describe_standing(self, what: str) -> str:
        """The text `what`; for a suspect claim, after the verdict that it would have otherwise."""
        stands = f"{self.as_it_stands.value} as it stands." if self.as_it_stands else ""
        return " ".join(filter(None, (stands, what)))


def check_values(claims: Sequence[Claim], results: Results) -> None:
    """Raises the StudyError that `judge_claim` would raise, without judging the claims."""
    evaluator = Evaluator(results)
    for claim in claims:
        if claim.assert_ is not None:
            try:
                _condition(parse(claim.assert_), evaluator)
            except ExpressionError as error:
                raise _locate(claim, error) from None


def _locate(claim: Claim, error: ExpressionError) -> StudyError:
    around = (claim.assert_ or "").replace("\n", " ")[max(0, error.column - 1) :][:24]
    return StudyError(
        f"{error.problem} (column {error.column}, {f'at {around!r}' if around else 'at the end'})",
        file=CLAIMS,
        key=f"claims.{claim.id}.assert",
        right=error.right,
    )


def judge_claim(claim: Claim, evaluator: Evaluator) -> JudgedClaim:
    """Evaluates a claim; a StudyError names the claim and the column in its expression.

    Claims judged by the same evaluator share its cache of selected cells.
    """
    if claim.assert_ is None:
        return JudgedClaim(claim, Verdict.SUSPECT if claim.suspect else Verdict.NOT_CHECKED)
    evaluator.restart()
    try:
        tree = parse(claim.assert_)
        whole = field.reduce(_condition(tree, evaluator), every, None)
        text = claim.assert_.replace("\n", " ")
        conditions = _conditions(tree, text, evaluator)
        tally, where = ("", "") if conditions else _describe_cells(tree, evaluator)
        parts = _parts(tree, text, evaluator)
    except ExpressionError as error:
        raise _locate(claim, error) from None
    verdict = _VERDICTS[field.as_truth(whole)]
    judged = JudgedClaim(
        claim,
        verdict,
        parts,
        where,
        tally,
        frozenset(evaluator.used),
        conditions,
        comparisons=evaluator.comparisons,
    )
    return replace(judged, verdict=Verdict.SUSPECT, as_it_stands=verdict) if claim.suspect else judged


def truth_of_claim(claim: Claim, evaluator: Evaluator) -> bool | None:
    """Whether a claim without errors holds at the evaluator's confidence level; None if undecided."""
    evaluator.restart()
    return field.as_truth(field.reduce(_condition(parse(claim.assert_ or ""), evaluator), every, None))


def _condition(tree: ast.expr, evaluator: Evaluator) -> Field:
    """The truth of a claim's condition in each cell."""
    value = evaluator.value(tree)
    if not value.condition:
        raise ExpressionError("the claim gives a number, not a condition", 1, "compare it with something")
    return value


_VERDICTS = {True: Verdict.HOLDS, False: Verdict.FAILS, None: Verdict.UNDECIDED}


def _inner(tree: ast.expr) -> ast.expr:
    """The condition inside an outermost all(), any(), count() or share(); else the expression itself."""
    node = tree
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
        node = node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("all", "any", "count", "share"):
            return node.args[0]
    return tree


def _conditions(tree: ast.expr, text: str, evaluator: Evaluator) -> tuple[tuple[Verdict, str], ...]:
    """The conditions joined by the outermost `and` or `or`, each with its verdict."""
    if not isinstance(tree, ast.BoolOp):
        return ()
    wholes = ((node, field.reduce(evaluator.value(node), every, None)) for node in tree.values)
    return tuple(
        (_VERDICTS[field.as_truth(whole)], text[node.col_offset : node.end_col_offset])
        for node, whole in wholes
    )


def _describe_cells(tree: ast.expr, evaluator: Evaluator) -> tuple[str, str]:
    """The numbers of cells in which the claim holds, fails and is undecided; then again with their names."""
    value = evaluator.value(_inner(tree))
    if not value.condition or len(value.data) < 2:
        return "", ""
    answers: dict[bool | None, list[Key]] = {True: [], False: [], None: []}
    for key in value.data:
        answers[field.as_truth(value, key)].append(key)
    tally = where = f"Holds in {len(answers[True])} of {len(value.data)}"
    for answer, word in ((False, "fails"), (None, "undecided")):
        if keys := answers[answer]:
            count = f", {word} in {len(keys)}"
            tally += count
            where += f"{count} ({_name_cells(value, keys, evaluator.results.labels)})"
    return f"{tally}.", f"{where}."


def _name_cells(value: Field, keys: Sequence[Key], labels: Labels) -> str:
    """Cells in words; cells that differ only in the last axis are named together."""
    *axes, last = value.axes
    groups: dict[Key, list[Scalar]] = {}
    for key in keys:
        groups.setdefault(key[:-1], []).append(key[-1])
    named = [
        ", ".join(
            filter(
                None,
                (
                    labels.settings(dict(zip(axes, key, strict=True))),
                    labels.setting(last, *at),
                ),
            )
        )
        for key, at in list(groups.items())[:SHOWN]
    ]
    rest = sum(map(len, list(groups.values())[SHOWN:]))
    return "; ".join(named) + (f"; and {rest} more" if rest else "")


def _parts(tree: ast.expr, text: str, evaluator: Evaluator) -> tuple[ClaimPart, ...]:
    """The single numbers that the claim's comparisons compare, without constants, lists and signed terms."""
    parts = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        for side in (node.left, *node.comparators):
            if isinstance(side, ast.Constant | ast.List) or isinstance(side, ast.UnaryOp):
                continue
            value = evaluator.value(side)
            if not value.axes:
                parts.append(ClaimPart(text[side.col_offset : side.end_col_offset], value.interval()))
    return tuple(parts)
