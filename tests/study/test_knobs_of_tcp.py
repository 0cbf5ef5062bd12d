"""Knobs of TCP, queues and applications: how values with units are read, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.base.errors import StudyError
from cwndlab.study import knobs
from cwndlab.study.knobs import Choices, convert_to_base_units, plain_name, quantity

TEMPLATE: dict[str, Any] = {
    "sack": True,
    "mss_bytes": 1460,
    "rto": {"min_ns": 5, "max_ns": 9},
    "name": "a",
    "delack_ns": 3,
    "limit_segments": 4,
    "window_law": "reno",
    "tlp": {"a": 1},
    "nested": {"delayed": {"x": 1}},
    "initial_window": {"segments": 3},
}
CHOICES = Choices({"window_law": {"reno": None, "cubic": {"c": 0.4, "fast": True}}}, {"tlp": {"a": 7}})


def tcp(given: dict[str, Any], template: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the given knobs change."""
    start = template or TEMPLATE
    made = knobs.tcp(start, given, ("tcp",), CHOICES)
    return {key: value for key, value in made.items() if key not in start or start[key] != value}


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"sack": False}, {"sack": False}),
        ({"name": "b"}, {"name": "b"}),
        ({"delack": "5ms"}, {"delack_ns": 5_000_000}),
        ({"delack_ns": "5ms"}, {"delack_ns": 5_000_000}),
        ({"mss": "1000B"}, {"mss_bytes": 1000}),
        ({"mss_bytes": "5pkt"}, {"mss_bytes": 5}),
        ({"limit": "6pkt"}, {"limit_segments": 6}),
        ({"rto": {"min": "1s"}}, {"rto": {"min_ns": 10**9, "max_ns": 9}}),
        ({"nested": {"delayed": {"y": "5ms"}}}, {"nested": {"delayed": {"y_ns": 5_000_000}}}),
        ({"window_law": "cubic"}, {"window_law": {"cubic": {"c": 0.4, "fast": True}}}),
        ({"window_law": {"cubic": {"c": 0.5}}}, {"window_law": {"cubic": {"c": 0.5, "fast": True}}}),
        ({"window_law": {"reno": {}}}, {}),
        ({"tlp": False}, {"tlp": None}),
        ({"tlp": True}, {}),
        ({"tlp": {"a": 2}}, {"tlp": {"a": 2}}),
        ({"initial_window": 4}, {"initial_window": {"segments": 4}}),
        ({"initial_window": "1pkt"}, {"initial_window": {"segments": 1}}),
        ({"initial_window": "64KiB"}, {"initial_window": {"bytes": 65536}}),
        ({"initial_window": "rfc6928"}, {"initial_window": "rfc6928"}),
        ({"initial_window": {"segments": 9}}, {"initial_window": {"segments": 9}}),
    ],
)
def test_a_knob_has_the_value_that_was_written(given: dict[str, Any], changed: dict[str, Any]) -> None:
    assert tcp(given) == changed


def test_an_alternative_keeps_its_knobs_if_it_is_the_profiles_and_a_switch_has_those_of_the_profile() -> None:
    cubic = TEMPLATE | {"window_law": {"cubic": {"c": 0.7, "fast": True}}}
    assert tcp({"window_law": {"cubic": {"fast": False}}}, cubic) == {
        "window_law": {"cubic": {"c": 0.7, "fast": False}}
    }
    assert tcp({"tlp": True}, TEMPLATE | {"tlp": None}) == {"tlp": {"a": 7}}


BOTH = 'write one name, window_law = "cubic", or window_law = { cubic = { … } }'
WINDOW = 'a number of segments, "64KiB", or a rule such as "rfc6928"'


@pytest.mark.parametrize(
    ("given", "path", "problem", "right"),
    [
        ({"sack": 1}, "sack", "1 does not fit", "this knob is true or false"),
        ({"sack": "on"}, "sack", "'on' does not fit", "this knob is true or false"),
        ({"mss_bytes": True}, "mss_bytes", "True does not fit", "this knob is a whole number"),
        ({"mss_bytes": "x"}, "mss_bytes", "'x' does not fit", "this knob is a whole number"),
        ({"name": True}, "name", "True does not fit", "this knob is a name"),
        ({"rto": True}, "rto", "True does not fit", "this knob is a table"),
        *(
            (
                {"delack": value},
                "delack",
                "this knob is a time",
                'write it with its unit in quotes, like "200ms"',
            )
            for value in (5, "5B", "2%")
        ),
        ({"mss": 9}, "mss", "this knob is a size", 'write it with its unit in quotes, like "1460B"'),
        (
            {"limit": 3},
            "limit",
            "this knob is a number of packets",
            'write it with its unit in quotes, like "25pkt"',
        ),
        (
            {"delack_ns": "5pkt"},
            "delack_ns",
            "'5pkt' is a number of packets, which this knob is not",
            "it is a whole number",
        ),
        ({"name": "5ms"}, "name", "'5ms' is a time, which this knob is not", "it is a name"),
        ({"rto": {"mni": "1s"}}, "rto.mni", "there is no TCP knob 'mni'", 'did you mean "min"?'),
        ({"tlp": {"b": 5}}, "tlp.b", "there is no TCP knob 'b'", "known: a"),
        ({"tlp": 3}, "tlp", "3 does not fit", "this knob is true, false or a table of its knobs"),
        ({"window_law": {"cubic": {}, "reno": {}}}, "window_law", "it names both cubic and reno", BOTH),
        ({"window_law": 3}, "window_law", "3 does not fit", BOTH),
        ({"window_law": {}}, "window_law", "{} does not fit", BOTH),
        (
            {"window_law": {"cubic": 3}},
            "window_law.cubic",
            "3 does not fit",
            "this is a table of knobs { … }",
        ),
        (
            {"window_law": {"reno": {"x": 1}}},
            "window_law.reno.x",
            'there is no TCP knob "x" here',
            "reno has no knobs",
        ),
        ({"initial_window": True}, "initial_window", "True is no window", WINDOW),
        ({"initial_window": "5ms"}, "initial_window", "'5ms' is no window", WINDOW),
        (
            {"initial_window": "0pkt"},
            "initial_window",
            "a window of '0pkt' sends nothing",
            "it must be at least 1",
        ),
        ({"f_rto": True}, "f_rto", "the knob 'f_rto' has another place", "write recovery.rack.f_rto = …"),
        (
            {"rto": {"one_way": True}},
            "rto.one_way",
            "the knob 'one_way' has another place",
            'write rto.samples = "one-way-delay" or "round-trip"',
        ),
    ],
)
def test_a_wrong_knob_is_reported_with_its_place(
    given: dict[str, Any], path: str, problem: str, right: str
) -> None:
    with pytest.raises(StudyError) as error:
        tcp(given)
    assert error.value.path == ("tcp", *path.split("."))
    assert (error.value.problem, error.value.right) == (problem, right)


def test_an_unknown_law_may_be_one_of_your_own_and_another_unknown_word_not() -> None:
    with pytest.raises(StudyError) as law:
        tcp({"window_law": "cubik"})
    assert law.value.problem == 'there is no window_law "cubik"'
    assert str(law.value.right).startswith('did you mean "cubic"?; one of your own in Python needs --cc')
    other = Choices({"recovery": {"sack": None, "rack": {"a": 1}}}).with_words("recovery", ["none"])
    assert knobs.tcp({"recovery": "sack"}, {"recovery": "none"}, (), other) == {"recovery": "none"}
    with pytest.raises(StudyError) as word:
        knobs.tcp({"recovery": "sack"}, {"recovery": "rak"}, (), other)
    assert (word.value.problem, word.value.right) == ('there is no recovery "rak"', 'did you mean "rack"?')


def test_all_wrong_knobs_are_reported_and_forty_names_are_listed() -> None:
    with pytest.raises(StudyError) as error:
        tcp({"sack": 1, "name": "b", "mss": 1})
    assert [one.path for one in (error.value, *error.value.others)] == [("tcp", "sack"), ("tcp", "mss")]
    for names in (40, 41):
        with pytest.raises(StudyError) as error:
            knobs.tcp({f"{k:02}_ns": 1 for k in range(names)}, {"bogus": 1}, ("tcp",))
        listed = str(error.value.right).removeprefix("known: ")
        assert (
            listed.removesuffix(", …").count(", ") == 39
            and listed.startswith("00, 01")
            and ("…" in listed) is (names > 40)
        )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("50%", ("share", 0.5)),
        ("100%", ("share", 1.0)),
        ("5ms", ("time", 5_000_000)),
        (" 1.5 Mbps ", ("rate", 1_500_000)),
        ("3pkt", ("packets", 3)),
        ("codel", None),
        ("2 BDP x", None),
    ],
)
def test_a_text_with_a_unit_is_a_quantity(text: str, found: tuple[str, float] | None) -> None:
    assert quantity(text, ()) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("101%", "'101%' is not a valid percentage; write at most 100%"),
        ("2BDP", "'2BDP' fits only the limit of a queue"),
    ],
)
def test_a_quantity_that_fits_nowhere_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(StudyError) as error:
        quantity(text, ("a", "b"))
    assert (error.value.path, error.value.problem) == (("a", "b"), problem)


def test_knobs_of_queues_have_the_engines_names_and_units() -> None:
    assert convert_to_base_units(
        {
            "target": "5ms",
            "limit": "25pkt",
            "max_p": "10%",
            "bytes": "1kB",
            "burst": "2kB",
            "rate": "1Mbps",
            "at": ["1ms", "2ms"],
            "sizes": ["1kB", "2kB"],
            "mixed": ["1ms", "5pkt"],
            "plain": [1, "x"],
            "queue": {"interval": "100ms"},
            "classes": [{"quantum": "1kB"}, 7],
            "ecn": True,
            "word": "x",
        },
        (),
    ) == {
        "target_ns": 5_000_000,
        "limit": 25,
        "max_p": 0.1,
        "bytes": 1000,
        "burst_bytes": 2000,
        "rate_bps": 1_000_000,
        "at_ns": [1_000_000, 2_000_000],
        "sizes": [1000, 2000],
        "mixed": [1_000_000, 5],
        "plain": [1, "x"],
        "queue": {"interval_ns": 100_000_000},
        "classes": [{"quantum_bytes": 1000}, 7],
        "ecn": True,
        "word": "x",
    }
    with pytest.raises(StudyError) as error:
        convert_to_base_units({"classes": [{"quantum": "5 miles"}]}, ("queue",))
    assert error.value.path == ("queue", "classes", 0, "quantum")


def test_knobs_of_applications_are_distributions() -> None:
    assert knobs.app(
        {
            "kind": "web",
            "think_s": 2,
            "file_bytes": 10,
            "think": "500ms",
            "size_s": "2s",
            "object": "1kB",
            "bytes": "1kB",
            "rate": "1Mbps",
            "count": 3,
            "flag_s": True,
            "gap_ns": "5ms",
            "segments": "4pkt",
            "wait": {"kind": "exponential", "mean": "300ms", "count": 2, "on": True},
            "body": {"kind": "fixed", "value": "2kB"},
            "at_s": {"kind": "uniform", "low": 0, "high": "1s"},
            "other": {"a": "5ms"},
        },
        (),
    ) == {
        "kind": "web",
        "think_s": {"kind": "fixed", "value": 0.5},
        "file_bytes": {"kind": "fixed", "value": 10.0},
        "size_s": {"kind": "fixed", "value": 2.0},
        "object_bytes": {"kind": "fixed", "value": 1000.0},
        "bytes": 1000,
        "rate_bps": 1_000_000,
        "count": 3,
        "flag_s": True,
        "gap_ns": 5_000_000,
        "segments": 4,
        "wait_s": {"kind": "exponential", "mean": 0.3, "count": 2.0, "on": True},
        "body_bytes": {"kind": "fixed", "value": 2000.0},
        "at_s": {"kind": "uniform", "low": 0.0, "high": 1.0},
        "other": {"a": "5ms"},
    }
    with pytest.raises(StudyError) as error:
        knobs.app({"wait": {"kind": "uniform", "low": "1s", "high": "2kB"}}, ("app",))
    assert error.value.path == ("app", "wait")
    assert error.value.problem == "this distribution mixes size and time"


def test_the_unit_is_no_part_of_a_plain_name() -> None:
    assert [plain_name(key) for key in ("min_ns", "rate_bps", "mss_bytes", "limit_segments", "sack")] == [
        *("min", "rate", "mss", "limit", "sack")
    ]
