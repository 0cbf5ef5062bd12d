"""Claims: what the language says, what it refuses, and how sure a verdict must be."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synthetic
from cwndlab.base.errors import StudyError
from cwndlab.report.wording import claim_view
from cwndlab.stats.claims import JudgedClaim, check_values, judge_claim
from cwndlab.stats.expression import Evaluator
from cwndlab.stats.results import Results
from cwndlab.stats.sample import Sample
from cwndlab.stats.verdict import Verdict
from cwndlab.study.labels import AxisInfo
from cwndlab.study.outputs import Claim

WEB = synthetic.rfc2415()
TRACE = synthetic.rfc2416()
SMALL = dataclasses.replace(WEB, cells=WEB.cells[:8])


def claim(expression: str | None, **more: Any) -> Claim:
    return Claim.model_validate(
        {"id": "c", "section": "3", "text": "It is so.", "assert": expression, "note": "why", **more}
    )


def judge_claims(claims: list[Claim], results: Results) -> list[JudgedClaim]:
    evaluator = Evaluator(results)
    return [judge_claim(one, evaluator) for one in claims]


def verdict(expression: str, results: Results = WEB) -> Verdict:
    return judge_claims([claim(expression)], results)[0].verdict


@pytest.mark.parametrize(
    "expression",
    [
        "page_delay[iw=3, webs=16, ftps=0] < page_delay[iw=1, webs=16, ftps=0]",
        "all(page_delay[iw=3] < page_delay[iw=1])",
        "all(decrease(page_delay[iw=1], page_delay[iw=[2, 3, 4]]) > 10)",
        "count(decrease(page_delay[iw=1], page_delay[iw=3]) > 15) == 12",
        "share(page_delay[webs=8] < 10) == 1",
        "not any(page_delay[iw=2] > page_delay[iw=1])",
        "0.8 < ratio(page_delay[iw=3, webs=8, ftps=0], page_delay[iw=1, webs=8, ftps=0]) < 0.9",
        "max(page_delay[iw=1]) > 1 and min(page_delay[iw=1]) < 1",
        "increase(power[iw=1, webs=8, ftps=0], power[iw=3, webs=8, ftps=0]) > 15",
        "abs(-1) == 1 and 2 * 3 - 1 == 5 and 1 / 4 == 0.25",
        "all(mean(page_delay[iw=1], over=ftps) > 0.5)",
        "size(page_delay[iw=1]) == 12",
        "all(estimate(page_delay) > low(page_delay)) and all(high(page_delay) > low(page_delay))",
        "median(page_delay[iw=1]) < quantile(page_delay[iw=1], 0.9)",
    ],
)
def test_what_is_so_holds_and_its_contrary_fails(expression: str) -> None:
    assert verdict(expression) is Verdict.HOLDS
    assert verdict(f"not ({expression})") is Verdict.FAILS


@pytest.mark.parametrize(
    "expression",
    [
        "take(drops[one], 4) == [7, 9, 11, 13]",
        "drops[four] == [4, 6, 8, 10]",
        "not (drops[four] == [4, 6, 8, 11])",
        "not (drops[four] == [4, 6, 8])",
        "drops[four, index=0] == 4",
        "drops[four, index=1] - drops[four, index=0] == 2",
        "all(drops[four, index=[0, 2]] > 3)",
        "first_retransmission[variant=tahoe, iw=1, size='as-traced'] == 8.278",
        'all(delivery[iw=1, size="as-traced"] - delivery[iw=4, size="as-traced"] == 0.389)',
        "share(delivery[iw=4] < delivery[iw=1]) > 0.9",
        "all(shift(delivery[one], 3) < delivery[one])",
        "size(take(delivery[one], -5)) == 5",
    ],
)
def test_lists_are_compared_whole_and_element_by_element(expression: str) -> None:
    assert verdict(expression, TRACE) is Verdict.HOLDS


def test_lists_that_came_out_empty_or_short_are_no_error() -> None:
    cells = synthetic.grid(variant=["a", "b"])
    drops = {("variant=a", "drops"): [[7.0, 9.0]], ("variant=b", "drops"): [[]]}
    results = synthetic.make_results(cells, {"drops": ""}, drops, deterministic={cell.id for cell in cells})
    assert verdict("drops[variant=a] == [7, 9]", results) is Verdict.HOLDS
    assert verdict("drops[variant=b] == []", results) is Verdict.HOLDS
    assert verdict("drops[variant=b] == [7]", results) is Verdict.FAILS
    assert verdict("all(take(drops, 1) == [7])", results) is Verdict.FAILS
    assert verdict("drops[variant=b, index=3] > 0", results) is Verdict.UNDECIDED
    assert verdict("all(drops[variant=b] > 0)", results) is Verdict.UNDECIDED
    assert verdict("size(drops[variant=b]) == 0", results) is Verdict.HOLDS


def test_the_last_of_a_list_are_those_of_each_cells_own_list() -> None:
    cells = synthetic.grid(iw=[1, 2], cc=["reno", "cubic"])
    lists = [[1.0, 2.0, 3.0], [4.0, 5.0], [6.0, 7.0, 8.0, 9.0], [1.0]]
    data = {(cell.id, "times"): [list(values)] for cell, values in zip(cells, lists, strict=True)}
    results = synthetic.make_results(cells, {"times": "s"}, data, deterministic={cell.id for cell in cells})
    for cell, values in zip(cells, lists, strict=True):
        where = ", ".join(f'{axis}="{v}"' if axis == "cc" else f"{axis}={v}" for axis, v in cell.axes.items())
        for k in (-1, -2, 1, 2):
            total = sum(values[k:] if k < 0 else values[:k])
            assert verdict(f"sum(take(times[{where}], {k})) == {total}", results) is Verdict.HOLDS
    assert verdict("count(take(times, -1) > 0) == 4 and sum(take(times, -2)) == 32", results) is Verdict.HOLDS


def test_a_claim_inside_the_noise_is_undecided() -> None:
    rng = np.random.default_rng(1)
    cells = synthetic.grid(iw=[1, 2])
    data = {(c.id, "delay"): rng.normal(1.0, 0.1, 10).tolist() for c in cells}
    noise = synthetic.make_results(cells, {"delay": "s"}, data)
    assert verdict("delay[iw=1] < delay[iw=2]", noise) is Verdict.UNDECIDED
    assert verdict("delay[iw=1] < 0.5 or delay[iw=1] < delay[iw=2]", noise) is Verdict.UNDECIDED
    assert verdict("delay[iw=1] > 0.5 or delay[iw=1] < delay[iw=2]", noise) is Verdict.HOLDS
    assert verdict("delay[iw=1] == delay[iw=2]", noise) is Verdict.UNDECIDED
    assert verdict("delay[iw=1] == 5", noise) is Verdict.FAILS


def test_many_noisy_cells_together_decide_nothing() -> None:
    rng = np.random.default_rng(4)
    cells = synthetic.grid(k=list(range(30)))
    data = {(c.id, "delay"): rng.normal(1.0, 0.1, 10).tolist() for c in cells}
    noise = synthetic.make_results(cells, {"delay": "s"}, data)
    # Some sample mean lies above and some below 1 in nearly every resample; no single cell is sure of it.
    assert verdict("any(delay > 1.09)", noise) is not Verdict.HOLDS
    assert verdict("all(delay < 1.09)", noise) is not Verdict.FAILS
    assert verdict("all(delay > 0.8)", noise) is Verdict.HOLDS
    assert verdict("count(delay > 1) > 25", noise) in (Verdict.FAILS, Verdict.UNDECIDED)
    assert verdict("count(delay > 1) >= 0 and share(delay > 0.8) == 1", noise) is Verdict.HOLDS
    with pytest.raises(StudyError, match="plain numbers"):
        verdict("count(delay > 1) > delay[k=1]", noise)


def test_the_detail_of_a_claim_in_parts_tells_each_part() -> None:
    judged = judge_claims([claim("all(page_delay > 0) and max(page_delay) < 1")], WEB)[0]
    assert judged.detail == "holds: all(page_delay > 0); fails: max(page_delay) < 1."


def test_pairing_decides_what_independent_runs_could_not() -> None:
    rng = np.random.default_rng(2)
    load = rng.normal(1.0, 0.3, 10)
    cells = synthetic.grid(iw=[1, 2])
    paired = {(c.id, "delay"): (load * (1.0 if c.axes["iw"] == 1 else 0.97)).tolist() for c in cells}
    assert (
        verdict("delay[iw=2] < delay[iw=1]", synthetic.make_results(cells, {"delay": "s"}, paired))
        is Verdict.HOLDS
    )
    shuffled = dict(paired)
    shuffled[("iw=2", "delay")] = rng.permutation(paired[("iw=2", "delay")]).tolist()
    assert (
        verdict("delay[iw=2] < delay[iw=1]", synthetic.make_results(cells, {"delay": "s"}, shuffled))
        is Verdict.UNDECIDED
    )


def test_the_scatter_of_single_runs_is_compared_with_its_uncertainty() -> None:
    rng = np.random.default_rng(5)
    cells = synthetic.grid(noise=["low", "high"])
    data = {
        (c.id, "delay"): rng.normal(1.0, 0.02 if k == 0 else 0.2, 20).tolist() for k, c in enumerate(cells)
    }
    both = synthetic.make_results(cells, {"delay": "s"}, data)
    runs = np.array(data[cells[0].id, "delay"])
    share = float(np.std(runs, ddof=1) / np.mean(runs))
    assert (
        verdict(f"abs(estimate(scatter(delay[noise='low'])) - {share:.9f}) < 0.000001", both) is Verdict.HOLDS
    )
    assert verdict("scatter(delay[noise='high']) > 3 * scatter(delay[noise='low'])", both) is Verdict.HOLDS
    assert verdict("scatter(delay[noise='low']) < 0.019", both) is Verdict.UNDECIDED
    few = synthetic.make_results(cells, {"delay": "s"}, {key: values[:2] for key, values in data.items()})
    assert verdict("scatter(delay[noise='high']) > 0.01", few) is Verdict.UNDECIDED


def test_a_true_claim_is_rarely_called_false() -> None:
    rng = np.random.default_rng(3)
    cells = synthetic.grid(iw=[1, 2])
    wrong = decided = 0
    for _ in range(300):
        data = {
            (c.id, "delay"): rng.normal(1.0 if c.axes["iw"] == 1 else 0.99, 0.03, 10).tolist() for c in cells
        }
        came_out = verdict("delay[iw=2] < delay[iw=1]", synthetic.make_results(cells, {"delay": "s"}, data))
        wrong += came_out is Verdict.FAILS
        decided += came_out is Verdict.HOLDS
    assert wrong / 300 <= 0.02
    assert decided > 0


def test_one_random_replicate_or_a_missing_value_decides_nothing() -> None:
    cells = synthetic.grid(iw=[1, 2])
    one = synthetic.make_results(cells, {"d": "s"}, {("iw=1", "d"): [1.0], ("iw=2", "d"): [2.0]})
    assert verdict("d[iw=1] < d[iw=2]", one) is Verdict.UNDECIDED
    missing = synthetic.make_results(cells, {"d": "s"}, {("iw=1", "d"): [1.0, 1.1, 1.2]})
    assert verdict("d[iw=1] < d[iw=2]", missing) is Verdict.UNDECIDED


def test_a_suspect_source_keeps_its_verdict_whatever_comes_out() -> None:
    judged = judge_claims([claim("all(page_delay > 0)", suspect="it contradicts itself")], WEB)[0]
    assert judged.verdict is Verdict.SUSPECT
    assert judged.detail.startswith("holds as it stands")


def test_a_sentence_that_cannot_be_checked_says_why() -> None:
    assert judge_claims([claim(None)], WEB)[0].verdict is Verdict.NOT_CHECKED
    with pytest.raises(StudyError, match="needs a `note`"):
        Claim(id="c", section="1", text="t")


def test_cells_that_differ_in_the_last_axis_alone_are_named_together_and_few_of_many() -> None:
    axes = {"webs": AxisInfo("web clients"), "iw": AxisInfo(unit="packets")}
    words = dataclasses.replace(WEB, labels=dataclasses.replace(WEB.labels, axes=axes))
    none = judge_claims([claim("all(page_delay[ftps=[0, 1], iw=[1, 3, 4]] > 1e6)")], words)[0]
    assert none.detail.startswith(
        "Holds in 0 of 18, fails in 18 (web clients: 8, ftps: 0, iw: 1, 3 and 4 packets; web clients: 8, "
    )
    assert none.detail.endswith("iw: 1, 3 and 4 packets; and 6 more).")
    view = claim_view(none)
    assert (view.detail, view.where) == ("Holds in 0 of 18, fails in 18.", none.where)
    few = claim_view(judge_claims([claim("all(page_delay[webs=8, ftps=0, iw=[1, 3]] > 1e6)")], words)[0])
    assert few.detail.startswith("Holds in 0 of 2, fails in 2 (iw: 1 and 3 packets)") and few.where == ""


def test_the_detail_names_the_cells_that_fail() -> None:
    judged = judge_claims([claim("all(page_delay < 1.4)")], WEB)[0]
    assert judged.verdict is Verdict.FAILS
    assert "webs: 32, ftps: 3, iw: 1" in judged.detail
    parts = judge_claims([claim("max(page_delay) < 1.4")], WEB)[0].parts
    assert parts[0].text == "max(page_delay)"
    assert parts[0].interval.low < parts[0].interval.value < parts[0].interval.high


@pytest.mark.parametrize(
    ("expression", "column", "says"),
    [
        ("page_dely[iw=1] < 2", 1, 'did you mean "page_delay"'),
        ("1 < page_delay[iv=1]", 5, "known: webs, ftps, iw"),
        ("page_delay[iw=7] < 2", 1, "has no value 7"),
        ("page_delay[iw=1] <", 19, "invalid syntax"),
        ("page_delay[iw=1", 11, "without its ]"),
        ("max(page_delay[iw=1]", 4, "never closed"),
        ("page_delay[iw=']'] < 2", 1, "has no value"),
        ("page_delay] < 1", 11, "without its"),
        ("page_delay[iw=1]", 1, "a number, not a condition"),
        ("all(page_delay)", 5, "a condition is needed"),
        ("1 + (page_delay < 2) < 3", 6, "a number is needed"),
        ("__import__('os').system('x') < 1", 1, "not allowed"),
        ("page_delay.__class__ < 1", 1, "not allowed"),
        ("(lambda: 1)() < 1", 1, "not allowed"),
        ("2 ** 1000 < 1", 1, "not allowed"),
        ("[x for x in [1]] == [1]", 1, "not allowed"),
        ("1e999 < 1", 1, "not a number"),
        ("'a' < 1", 1, "not allowed"),
        ("page_delay[**1] < 1", 14, ""),
        ("page_delay[other] < 1", 12, "name of a cell"),
        ("quantile(page_delay, 2) < 1", 22, "between 0 and 1"),
        ("shift(page_delay, 1) < 1", 1, "list quantity"),
        ("mean(page_delay, over=size) < 1", 1, "cannot reduce over 'size': open axes are webs, ftps, iw"),
        ("mean(page_delay[iw=1], over=iw) < 1", 1, "cannot reduce over 'iw': open axes are webs, ftps"),
        ("mean(1, over=iw) < 1", 1, "cannot reduce over 'iw': open axes are none"),
        ("abs(1, 2) < 1", 1, "takes 1 value"),
        ("1 < mean(page_delay, by=iw)", 5, "mean takes no 'by'"),
        ("1 < mean(page_delay, over=1)", 5, "mean takes no 'over'"),
        ("1 in [1]", 1, "no comparison"),
        ("[1] < [2]", 1, "compared by =="),
        ("1 is 1", 1, "no comparison"),
        ("page_delay[index=-1] == 1", 18, "from 0"),
        ("page_delay == [1]", 1, "only a list quantity"),
        ("(" * 60 + "1" + ")" * 60 + "+" + "-" * 60 + "1 < 2", 1, "nested deeper"),
        ("1 < " + "1" * 3000, 2000, "longer than"),
        # errors of a part that is not the first
        ("1 < True", 5, "not a number"),
        ("1 < 2 + (1 < 2)", 10, "a number is needed"),
        ("not 1", 5, "a condition is needed"),
        ("1 < 2 and 3", 11, "a condition is needed"),
        ("drops == [1, page_delay]", 1, "no quantity"),
        ("[1] == [1, page_delay[iw=1]]", 12, "plain numbers only"),
        ("[1] == [page_delay[iw=1, webs=8, ftps=0]]", 9, "plain numbers only"),
        ("1 < ~1", 5, "only -, + and not"),
        ("1 == 1 and 1 in [1]", 12, "no comparison"),
        ("1 == 1 and [1] >= [2]", 12, "compared by =="),
        ("1 < abs(1, 2)", 5, "abs takes 1 value"),
        ("1 < ratio(1)", 5, "ratio takes 2 value"),
        ("1 < min()", 5, "min takes 1 value"),
        ("1 < size(count(page_delay < 1))", 10, "size takes no count"),
        ("1 < quantile(page_delay, -0.1)", 26, "between 0 and 1"),
        ("1 < take(page_delay, 1)", 5, "list quantity"),
        ("1 < take(page_delays, 1.5)", 5, "whole number"),
        ("1 < 2 < page_dely", 9, "no quantity or function"),
        ("1 < page_delay[iw=a.b]", 19, "not allowed"),
        ("1 < page_delay[iw=-'a']", 19, "a value of an axis"),
        ("1 < page_delays[index=1.5]", 23, "from 0"),
        ("1 < page_delays[index=[0, -1]]", 23, "from 0"),
        ("1 < page_delay[iw=[1, 7]]", 5, "has no value 7"),
        ("1 < count(page_delay < 1) + page_delay[iw=1]", 5, "a count stands next to plain numbers"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(expression: str, column: int, says: str) -> None:
    with pytest.raises(StudyError) as raised:
        judge_claims([claim(expression)], WEB)
    assert raised.value.key == "claims.c.assert"
    assert says in str(raised.value)
    rest = expression[column - 1 :][:24]
    assert f"(column {column}, {f'at {rest!r}' if rest else 'at the end'})" in str(raised.value)


@pytest.mark.parametrize("before", ["", "(", "((", "1 < 2 and (", "1  < 2 and ("])
@pytest.mark.parametrize(
    ("expression", "column", "says"),
    [
        ("page_dely < 1", 1, "no quantity"),
        ("1 < (2 < 3)", 6, "a number is needed"),
        ("not 1", 5, "a condition is needed"),
        ("[1] == [page_delay]", 9, "plain numbers only"),
        ("1 < ~1", 5, "only -, + and not"),
        ("1 in [1]", 1, "no comparison"),
        ("[1] < [2]", 1, "compared by =="),
        ("1 < abs(1, 2)", 5, "abs takes 1 value"),
        ("1 < mean(1, by=iw)", 5, "mean takes no 'by'"),
        ("1 < size(count(page_delay < 1))", 10, "size takes no count"),
        ("1 < quantile(page_delay, 2)", 26, "between 0 and 1"),
        ("1 < take(page_delay, 1)", 5, "list quantity"),
        ("1 < page_delay[other]", 16, "name of a cell"),
        ("1 < page_delays[index=-1]", 23, "from 0"),
        ("1 < page_delay[iw=7]", 5, "has no value 7"),
        ("1 < True", 5, "not a number"),
    ],
)
def test_the_place_of_an_error_moves_with_what_is_written_before_it(
    before: str, expression: str, column: int, says: str
) -> None:
    with pytest.raises(StudyError, match=re.escape(f"(column {column + len(before)},")) as raised:
        judge_claims([claim(before + expression + ")" * before.count("("))], WEB)
    assert says in str(raised.value)


def test_syntax_is_checked_without_a_run() -> None:
    check_values([claim("all(page_delay[iw=1] < 2)")], WEB)
    with pytest.raises(StudyError, match=r"claims\.c\.assert"):
        check_values([claim("all(page_delay[iw=1] <)")], WEB)


def test_nothing_in_a_claim_can_execute() -> None:
    for expression in (
        "open('/etc/passwd') < 1",
        "exec('1') < 1",
        "page_delay[iw=__import__('os')] < 1",
        "f'{1}' < 1",
        "(y := 1) < 2",
        "page_delay[iw=[x for x in ()]] < 1",
    ):
        with pytest.raises(StudyError):
            judge_claims([claim(expression)], WEB)


WORDS = (
    "page_delay power page_delays [ ] ( ) iw = webs == < > + - * / , 1 2 8 0.5 all any count share not and "
    "or min mean quantile take shift decrease index over ** lambda if else for in is . : 'a' { } @ # \\"
).split()

LEAVES = st.sampled_from(
    [
        "1",
        "0",
        "-2.5",
        "[1, 2]",
        "page_delay",
        "page_delays",
        "power[iw=1]",
        "page_delay[webs=8, ftps=[0, 1]]",
        "page_delays[iw=1, index=0]",
        "page_delays[index=[0, 3]]",
        "take(page_delays[iw=1], 3)",
        "page_delay[iw=9]",
    ]
)
FORMS = st.sampled_from(
    [
        "{0} < {1}",
        "{0} == {1}",
        "{0} != {1}",
        "{0} >= {1} > {0}",
        "{0} + {1}",
        "{0} / {1}",
        "not {0}",
        "-{0}",
        "{0} and {1}",
        "{0} or {1}",
        "all({0})",
        "any({0}, over=iw)",
        "count({0}) > 2",
        "share({0})",
        "min({0}, {1})",
        "max({0}, over=index)",
        "mean({0})",
        "median({0})",
        "sum({0})",
        "abs({0})",
        "decrease({0}, {1})",
        "size({0})",
        "ratio({0}, {1})",
        "low({0})",
        "estimate({0})",
        "quantile({0}, 0.5)",
        "shift({0}, 2)",
        "take({0}, {1})",
    ]
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda part: st.tuples(FORMS, part, part).map(lambda t: "(" + t[0].format(t[1], t[2]) + ")"),
    max_leaves=6,
)


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | EXPRESSIONS | st.text(max_size=40))
@settings(max_examples=600, deadline=None)
def test_no_expression_does_more_than_fail_with_its_place(expression: str) -> None:
    try:
        judge_claims([claim(expression)], SMALL)
    except StudyError as error:
        assert error.key == "claims.c.assert"
        assert "column" in str(error)


def test_claims_with_the_same_words_rest_on_the_same_numbers() -> None:
    words = "page_delay[iw=3, webs=16, ftps=0] < page_delay[iw=1, webs=16, ftps=0]"
    first, other, again = judge_claims([claim(words), claim("min(page_delay) > 0"), claim(words)], WEB)
    assert len(first.rests_on) == 2
    assert (again.rests_on, again.verdict) == (first.rests_on, first.verdict)
    assert len(other.rests_on) > 2


def test_claims_on_the_same_cells_select_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    estimated: list[tuple[str, str]] = []
    own = Results.sample

    def counted(self: Results, cell: str, quantity: str) -> Sample:
        estimated.append((cell, quantity))
        return own(self, cell, quantity)

    monkeypatch.setattr(Results, "sample", counted)
    judge_claims([claim("all(page_delay > 0)"), claim("max(page_delay) < 1.4")], WEB)
    assert len(estimated) == len(set(estimated)) == len(WEB.cells)


def test_brackets_in_a_comment_are_left_alone() -> None:
    assert verdict("all(page_delay[iw=1] > 0)  # ] of [") is Verdict.HOLDS
