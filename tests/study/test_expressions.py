"""Expressions of parameters: Python's arithmetic, within bounds, and nothing else."""

from __future__ import annotations

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study.expr import evaluate, names_in

NAMES = {"webs": 8, "share": 0.25, "kind": "red", "many": [1, 4]}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "webs + 3",
            "webs - 3",
            "3 - webs",
            "webs * share",
            "webs / 3",
            "webs // 3",
            "-webs // 3",
            "webs % 3",
        ),
        *("-webs", "- -webs", "2 * (webs + 1) - 3", "webs == 8", "webs != 8", "webs < 8", "webs <= 8"),
        *("webs > 8", "webs >= 8", "1 < webs < 9", "1 < webs < 8", "9 < webs < 10", "1 < 2 < 3 < 3"),
        *("webs in many", "4 in many", "4 not in many", "kind in ['red', 'codel']", "kind == 'red'"),
        *(
            "not webs > 3",
            "webs > 3 and kind == 'red'",
            "webs > 3 and kind == 'blue'",
            "webs < 3 or share < 1",
        ),
        *("webs < 3 or share > 1", "1 if webs > 3 else 2", "1 if webs < 3 else 2", "min(webs, 3, 5)"),
        *(
            "max(many)",
            "abs(-webs)",
            "int(7.9)",
            "float(webs)",
            "round(2.567, 2)",
            "round(2.567)",
            "round(1567, -2)",
        ),
        *("round(0.5)", "round(1.5)", "[webs, 2 * webs]", "9223372036854775808", "-9223372036854775808"),
        *("9223372036854775807 + 1", "round(1.25, 20)"),
    ],
)
def test_an_expression_has_pythons_value_and_type(text: str) -> None:
    wanted = eval(
        text,
        {"__builtins__": {}},
        {**NAMES, **dict(min=min, max=max, abs=abs, int=int, float=float, round=round)},
    )
    found = evaluate(text, NAMES)
    assert found == wanted and type(found) is type(wanted)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("false or not false", True), ("true and false", False)]
)
def test_truth_is_written_as_in_toml(text: str, value: bool) -> None:
    assert evaluate(text, NAMES) is value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *[(f"webs {op} 0", "divides by zero") for op in ("/", "//", "%")],
        ("9223372036854775808 + 1", "a number leaves 64 bits"),
        ("-9223372036854775808 - 1", "a number leaves 64 bits"),
        ("4294967296 * 4294967296", "a number leaves 64 bits"),
        ("abs(0 - 9223372036854775808 - 1)", "a number leaves 64 bits"),
        ("round(1.5, 21)", "at most 20 digits"),
        ("round(1.5, -21)", "at most 20 digits"),
        ("round(1.5, 0.5)", "at most 20 digits"),
        ("round(1, 2, 3)", "at most 20 digits"),
        ("kind + 1", "arithmetic is for numbers"),
        ("1 + kind", "arithmetic is for numbers"),
        ("many * 2", "arithmetic is for numbers"),
        ("-kind", "cannot be computed"),
        ("kind < 1", "cannot be computed"),
        ("min()", "cannot be computed"),
        ("int(kind)", "cannot be computed"),
        ("web", "'web' is neither a parameter nor an axis"),
        ("webs is 8", "no comparison here"),
        ("webs ** 2", "not allowed"),
        ("eval('1')", "not allowed"),
        ("min(1, key=abs)", "not allowed"),
        ("webs +", "is no expression"),
    ],
)
def test_what_cannot_be_computed_is_an_error_that_says_why(text: str, says: str) -> None:
    with pytest.raises(StudyError) as found:
        evaluate(text, NAMES)
    assert says in str(found.value)


def test_names_of_functions_and_words_are_no_parameters() -> None:
    assert names_in(" max(webs, 2) if share < 1 and true else min(other) ") == {"webs", "share", "other"}
    assert names_in("1 < 2") == set()
