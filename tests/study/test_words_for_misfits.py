"""What is reported of a value that does not fit its key, on models that are small enough to check."""

from __future__ import annotations

import copy
from typing import Any, Literal

import pytest
from pydantic import Field

from cwndlab.base.errors import StudyError
from cwndlab.study.base import Strict
from cwndlab.study.validate import _path_in, _with_unit, leave_out, validate


class Inner(Strict):
    kind: Literal["inner"] = "inner"
    size: int = Field(1, ge=1, le=9)


class Other(Strict):
    kind: Literal["other"]
    flag: bool = Field(description="whether it is on")


class Keys(Strict):
    count: int = Field(1, ge=1, le=9)
    share: float = Field(0.5, gt=0, lt=1)
    on: bool = False
    name: str = Field("a", pattern=r"^[a-z]+$")
    words: list[str] = Field(["a"], min_length=1, max_length=2)
    table: dict[str, int] = {}
    one: Literal["red", "blue"] = "red"
    part: Inner | Other | None = None
    parts: list[Inner] = []
    rate: str = "1Mbps"
    mixed: int | str | list[int] = 1


class Required(Strict):
    need: int = Field(examples=[3])
    told: str = Field(description="what it is")
    bare: int


def misfits(model: type[Strict], given: Any) -> list[tuple[str, str, str | None]]:
    """The path, the problem and the remedy of each error."""
    with pytest.raises(StudyError) as caught:
        validate(model, given)
    return [
        (".".join(map(str, error.path or ())), error.problem, error.right)
        for error in (caught.value, *caught.value.others)
    ]


NAMES = "letters, digits and _ ; nodes, links and traffic may have - and +"
SEVERAL = "it must be a whole number, text in quotes or a list [ … ]"
ALL = "known: count, share, on, name, words, table, one, part, parts, rate, mixed"


@pytest.mark.parametrize(
    ("given", "path", "problem", "right"),
    [
        ({"count": 0}, "count", "0 does not fit", "it must be at least 1"),
        ({"count": 10}, "count", "10 does not fit", "it must be at most 9"),
        ({"count": "x"}, "count", "'x' does not fit", "it must be a whole number"),
        ({"count": 1.5}, "count", "1.5 does not fit", "it must be a whole number"),
        ({"count": True}, "count", "True does not fit", "it must be a whole number"),
        ({"count": None}, "count", "nothing does not fit", "it must be a whole number"),
        ({"count": b"x"}, "count", "a bytes does not fit", "it must be a whole number"),
        ({"share": 0.0}, "share", "0.0 does not fit", "it must be above 0"),
        ({"share": 1.0}, "share", "1.0 does not fit", "it must be below 1"),
        ({"share": "x"}, "share", "'x' does not fit", "it must be a number"),
        ({"on": 1}, "on", "1 does not fit", "it must be true or false"),
        ({"name": "A"}, "name", "'A' is no name here", NAMES),
        ({"name": "A" * 58}, "name", f"'{'A' * 58}' is no name here", NAMES),
        ({"name": "A" * 59}, "name", f"'{'A' * 56}… is no name here", NAMES),
        ({"name": 3}, "name", "3 does not fit", "it must be text in quotes"),
        ({"words": []}, "words", "there are too few values", "it needs at least 1"),
        ({"words": ["a", "b", "c"]}, "words", "there are too many values", "it takes at most 2"),
        ({"words": "a"}, "words", "'a' does not fit", "it must be a list [ … ]"),
        ({"words": ["a", 3]}, "words.1", "3 does not fit", "it must be text in quotes"),
        ({"table": []}, "table", "a list does not fit", "it must be a table { … }"),
        ({"table": {"a": "x"}}, "table.a", "'x' does not fit", "it must be a whole number"),
        ({"one": "rad"}, "one", "'rad' does not fit", 'did you mean "red"?'),
        ({"one": 3}, "one", "3 does not fit", "known: red, blue"),
        ({"part": 3}, "part", "3 does not fit", "it must be a table { … }"),
        ({"rate": 5}, "rate", "5 does not fit", 'it must be text in quotes, with its unit, like "5Mbps"'),
        (
            {"rate": 9999},
            "rate",
            "9999 does not fit",
            'it must be text in quotes, with its unit, like "9999Mbps"',
        ),
        ({"rate": 10000}, "rate", "10000 does not fit", "it must be text in quotes"),
        ({"rate": True}, "rate", "True does not fit", "it must be text in quotes"),
        ({"rate": [1]}, "rate", "a list does not fit", "it must be text in quotes"),
        ({"mixed": 1.5}, "mixed", "1.5 does not fit", SEVERAL),
        ({"mixed": {"a": 1}}, "mixed", "a table does not fit", SEVERAL),
        ({"bogus": 1}, "bogus", "unknown key 'bogus'", ALL),
        ({"cont": 1}, "cont", "unknown key 'cont'", 'did you mean "count"?'),
    ],
)
def test_a_misfit_has_a_path_a_problem_and_a_remedy(
    given: dict[str, Any], path: str, problem: str, right: str
) -> None:
    assert misfits(Keys, given) == [(path, problem, right)]


def test_a_missing_key_has_an_example_or_says_what_it_is() -> None:
    assert misfits(Required, {}) == [
        ("need", "this key is missing", 'write for instance need = "3"'),
        ("told", "this key is missing", "it says: what it is"),
        ("bare", "this key is missing", None),
    ]
    # A misspelt key explains all that are missing next to it.
    assert misfits(Required, {"ned": 1}) == [("ned", "unknown key 'ned'", 'did you mean "need"?')]


def test_unknown_keys_come_first_and_errors_that_follow_from_them_not_at_all() -> None:
    assert misfits(Keys, {"count": 0, "share": 0.0, "bogus": 1}) == [
        ("bogus", "unknown key 'bogus'", ALL),
        ("count", "0 does not fit", "it must be at least 1"),
        ("share", "0.0 does not fit", "it must be above 0"),
    ]
    assert misfits(Keys, {"parts": [{"size": 0}, {"size": 3, "siz": 2}]}) == [
        ("parts.1.siz", "unknown key 'siz'", 'did you mean "size"?'),
        ("parts.0.size", "0 does not fit", "it must be at least 1"),
    ]
    assert misfits(Keys, {"part": {"kind": "other", "flg": True}})[0] == (
        "part.flg",
        "unknown key 'flg'",
        'did you mean "flag"?',
    )
    assert misfits(Keys, {"part": {"kind": "other"}})[0] == (
        "part.flag",
        "this key is missing",
        "it says: whether it is on",
    )


@pytest.mark.parametrize(
    ("key", "given", "example"),
    [
        ("rtt", 40, "40ms"),
        ("loss", 0.5, "0.5%"),
        ("limit", -9999, "-9999pkt"),
        ("rate", 10_000, None),
        ("rate", -10_000, None),
        ("start", True, None),
        ("bytes", "5", None),
        ("other", 5, None),
    ],
)
def test_a_small_number_gets_the_unit_of_its_key(key: str, given: object, example: str | None) -> None:
    assert _with_unit(("a", key), given) == example
    assert _with_unit((), given) is None


def test_the_tags_of_unions_are_no_part_of_a_path() -> None:
    def path(data: Any, *location: str | int, kind: str = "int_type") -> tuple[str | int, ...]:
        detail: Any = {"loc": location, "type": kind}
        return _path_in(data, detail)

    data = {"a": [{"x": 1}, 2], "b": {"missing": 3}}
    assert path(data, "a", "Inner", 0, "x") == ("a", 0, "x")
    assert path(data, "a", 2) == ("a",) and path(data, "a", -1) == ("a",) and path(data, "a", 1) == ("a", 1)
    assert path(data, "b", "y", kind="missing") == ("b", "y")
    assert path(data, "b", "y", "z", kind="missing") == ("b", "z")
    assert path(data, "b", "y") == ("b",)
    assert path(data, "b", 0, kind="missing") == ("b",)


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ((), {"rate": 5, "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}], "t": {"x": 1, "duration": 2}}),
        (
            ("rate",),
            {"rate": "1Mbps", "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}], "t": {"x": 1, "duration": 2}},
        ),
        (("flows",), {"rate": 5, "flows": [{}], "t": {"x": 1, "duration": 2}}),
        (("flows", 0), {"rate": 5, "flows": [{}, {"cc": 4}], "t": {"x": 1, "duration": 2}}),
        (("flows", 0, "cc"), {"rate": 5, "flows": [{"rtt": 1}, {"cc": 4}], "t": {"x": 1, "duration": 2}}),
        (
            ("flows", 0, "rtt"),
            {"rate": 5, "flows": [{"cc": 3, "rtt": "1ms"}, {"cc": 4}], "t": {"x": 1, "duration": 2}},
        ),
        (("flows", 2, "cc"), {"rate": 5, "flows": [{}], "t": {"x": 1, "duration": 2}}),
        (("t", "x"), {"rate": 5, "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}], "t": {"duration": 2}}),
        (
            ("t", "duration"),
            {"rate": 5, "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}], "t": {"x": 1, "duration": "1h"}},
        ),
        (("t",), {"rate": 5, "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}]}),
        (("none", "x"), {"rate": 5, "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}], "t": {"x": 1, "duration": 2}}),
    ],
)
def test_a_wrong_key_is_left_out_or_gets_a_value_that_fits(path: tuple[str | int, ...], left: Any) -> None:
    given = {"rate": 5, "flows": [{"cc": 3, "rtt": 1}, {"cc": 4}], "t": {"x": 1, "duration": 2}}
    leave_out(given, path)
    assert given == left


def test_what_stands_in_for_a_wrong_list_is_new_each_time() -> None:
    given: dict[str, Any] = {"flows": 3}
    leave_out(given, ("flows",))
    before = copy.deepcopy(given)
    given["flows"][0]["cc"] = 1
    other: dict[str, Any] = {"flows": 3}
    leave_out(other, ("flows",))
    assert other == before == {"flows": [{}]}


def test_a_part_of_a_study_prints_as_it_is_made() -> None:
    made = Keys(part=Inner(size=3), parts=[Inner(size=4), Inner()], words=["b"], count=1)
    assert repr(made) == str(made)
    assert repr(made) == "Keys(count=1, words=['b'], part=Inner(size=3), parts=[Inner(size=4), Inner()])"
