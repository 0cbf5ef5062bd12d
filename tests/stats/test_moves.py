"""What choices that a paper left open move, number by number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import synthetic
from cwndlab.apps.reproduction.choice_effects import ChoiceOutcome, Move, claim_verdicts, effects, find_moves
from cwndlab.stats.claims import JudgedClaim
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import CellInfo, Estimate, Results, Variation
from cwndlab.stats.tables import JudgedCell, JudgedTable, Published
from cwndlab.stats.verdict import Judgement, Verdict
from cwndlab.study.outputs import Claim, Table

(CELL,) = synthetic.grid(iw=[1])
RUNS = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01]


def results(shift: float = 0.0, spread: float = 1.0) -> Results:
    runs = [1.0 + spread * (one - 1.0) + shift for one in RUNS]
    return synthetic.make_results((CELL,), {"a": "s"}, {(CELL.id, "a"): runs})


def table(published: float, verdict: Verdict = Verdict.DIFFERS, **column: Any) -> JudgedTable:
    spec = Table.model_validate(
        {"id": "t", "title": "T", "rows": ["iw"], "columns": [{"heading": "h", "quantity": "a", **column}]}
    )
    estimate = Estimate.from_interval(CELL.id, "a", "s", results().estimate(CELL.id, "a"))
    judgement = Judgement(verdict, "", 0.0, 0.0, 0.0)
    cell = JudgedCell(
        "t", (1,), 0, CELL.id, "a", estimate, Published(published, 0.01, str(published)), judgement, 2, ""
    )
    return JudgedTable(spec, ((1,),), ((cell,),))


def outcome(name: str, shift: float, verdict: Verdict = Verdict.AGREES, **more: Any) -> ChoiceOutcome:
    made = more.pop("made", None) or results(shift)
    variation = Variation("axis", name, made, cells=more.pop("cells", frozenset({CELL.id})), **more)
    return ChoiceOutcome(variation, [table(2.0, verdict)], [])


def test_a_choice_moves_a_number_if_the_interval_of_the_change_leaves_out_0() -> None:
    found = find_moves(
        table(2.0), results(), [outcome("much", 0.9), outcome("none", 0.0), outcome("more", 2.2)]
    )
    [moves] = found.values()
    assert list(found) == [(0, 0)] and (moves.tried, moves.undecided) == (3, False)
    much, more = moves.moves
    assert (much.axis, much.value, much.verdict) == ("axis", "much", Verdict.AGREES)
    assert much.change.value == pytest.approx(0.9) and much.number == pytest.approx(
        much.change.value + 1.00125
    )
    assert much.closed == pytest.approx(0.9 / (2.0 - 1.00125)) and much.nearer
    assert more.value == "more" and more.closed == pytest.approx(2.2 / (2.0 - 1.00125)) and not more.nearer
    assert moves.nearer == (much,)


@pytest.mark.parametrize(
    ("closed", "nearer"),
    [(-0.1, False), (0.0, False), (0.1, True), (1.0, True), (1.99, True), (2.0, False), (2.1, False)],
)
def test_a_number_is_nearer_if_it_ends_less_far_on_either_side(closed: float, nearer: bool) -> None:
    assert Move("a", "v", 1.0, Interval(1.0, 0.9, 1.1, 5, ""), closed, None).nearer is nearer


def test_choices_that_were_not_run_on_a_number_and_combinations_do_not_count() -> None:
    elsewhere = outcome("elsewhere", 0.9, cells=frozenset({"other"}))
    [moves] = find_moves(table(2.0), results(), [elsewhere, outcome("both", 0.9, combined=True)]).values()
    assert (moves.tried, moves.undecided, moves.moves) == (0, False, ())


def test_too_few_runs_decide_nothing() -> None:
    two = synthetic.make_results((CELL,), {"a": "s"}, {(CELL.id, "a"): [1.0, 1.1]})
    varied = synthetic.make_results((CELL,), {"a": "s"}, {(CELL.id, "a"): [1.9, 2.2]})
    [moves] = find_moves(table(2.0), two, [outcome("much", 0.0, made=varied)]).values()
    assert (moves.tried, moves.undecided, moves.moves) == (1, True, ())


def test_equal_runs_are_no_change_however_many_there_are() -> None:
    two = synthetic.make_results((CELL,), {"a": "s"}, {(CELL.id, "a"): [1.0, 1.1]})
    [moves] = find_moves(table(2.0), two, [outcome("same", 0.0, made=two)]).values()
    assert (moves.tried, moves.undecided, moves.moves) == (1, False, ())


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [(Verdict.DIFFERS, True), (Verdict.TREND, True), (Verdict.AGREES, False), (Verdict.CLOSE, False)],
)
def test_only_numbers_that_are_not_the_papers_are_explained(verdict: Verdict, shown: bool) -> None:
    assert bool(find_moves(table(2.0, verdict), results(), [outcome("much", 0.9)])) is shown


def test_quantiles_of_runs_are_not_explained() -> None:
    assert find_moves(table(2.0, runs=0.9), results(), [outcome("much", 0.9)]) == {}


def test_a_number_that_the_choices_table_lacks_has_no_verdict() -> None:
    without = outcome("much", 0.9)._replace(tables=[])
    [moves] = find_moves(table(2.0), results(), [without]).values()
    assert moves.moves[0].verdict is None


def claim(name: str, verdict: Verdict) -> JudgedClaim:
    made = Claim.model_construct(id=name)
    fields = dict.fromkeys(JudgedClaim.__annotations__, None) | {"claim": made, "verdict": verdict}
    return JudgedClaim(**fields)  # type: ignore[arg-type]


def test_claims_are_counted_by_what_holds_and_what_changes() -> None:
    base = [
        claim("a", Verdict.HOLDS),
        claim("b", Verdict.FAILS),
        claim("c", Verdict.UNDECIDED),
        claim("d", Verdict.SUSPECT),
    ]
    after = [
        claim("a", Verdict.FAILS),
        claim("b", Verdict.FAILS),
        claim("c", Verdict.HOLDS),
        claim("d", Verdict.HOLDS),
        claim("e", Verdict.SUSPECT),
    ]
    choice = Variation("axis", "1", results())
    [effect] = effects([], base, [ChoiceOutcome(choice, [], after)])
    assert (effect.choice, effect.claims_held, effect.checked) == (choice, 2, 4)
    assert effect.changed == ("a", "c", "d") and effect.shift == {}


def test_the_verdicts_of_claims_are_counted_apart_for_choices_and_combinations() -> None:
    single, both = Variation("axis", "1", results()), Variation("axis", "1", results(), combined=True)
    outcomes = [
        ChoiceOutcome(single, [], [claim("a", Verdict.HOLDS), claim("b", Verdict.SUSPECT)]),
        ChoiceOutcome(single, [], [claim("a", Verdict.HOLDS)]),
        ChoiceOutcome(both, [], [claim("a", Verdict.FAILS)]),
    ]
    assert claim_verdicts(outcomes) == {"a": (Counter({Verdict.HOLDS: 2}), Counter({Verdict.FAILS: 1}))}


def test_the_median_and_the_largest_shift_are_relative_to_the_base() -> None:
    base, moved = table(2.0), table(2.0)
    cell = moved.cells[0][0]
    assert cell.estimate is not None
    moved = moved._replace(cells=((cell._replace(estimate=cell.estimate._replace(value=0.5)),),))
    [effect] = effects([base], [], [ChoiceOutcome(Variation("axis", "1", results()), [moved], [])])
    shift = effect.shift["t"]
    assert (shift.run, shift.of) == (1, 1)
    assert shift.median == shift.largest == pytest.approx(1.0 - 0.5 / 1.00125) and not shift.differences


def test_results_of_another_cell_are_not_needed() -> None:
    more = replace(results(), cells=(CELL, CellInfo("iw=2", {"iw": 2})))
    assert find_moves(table(2.0), more, [])[0, 0].tried == 0
    assert math.isnan(more.estimate("iw=2", "a").value)
