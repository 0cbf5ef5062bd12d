"""Quantities as a study writes them and how they are written back; windows of time; models in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from cwndlab import Flow, Run
from cwndlab.api import Study
from cwndlab.base.errors import ArgumentError, StudyError
from cwndlab.study import schema, units
from small_study import edited


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_time, "1.5ms", 1_500_000),
        (units.parse_rate, "1.5Mbps", 1_500_000),
        (units.parse_zero_rate, "0 Mbps", 0),
        (units.parse_zero_rate, "00bps", 0),
        (units.parse_zero_rate, "10bps", 10),
        (units.parse_bytes, "2KiB", 2048),
        (units.parse_share, "2%", 0.02),
        (units.parse_seconds, "15s", 15.0),
        (units.parse_seconds, 0, 0.0),
        (units.parse_seconds, 1.5, 1.5),
    ],
)
def test_a_value_is_read(parse: Callable[[object], float], text: object, value: float) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "wrong", "says"),
    [
        (units.parse_time, 50, '50 is not a time; write a number and its unit in quotes, like "50ms"'),
        (units.parse_rate, 5, '5 is not a rate; write a number and its unit in quotes, like "1.5Mbps"'),
        (units.parse_rate, "0bps", "a rate must be above 0bps"),
        (units.parse_bytes, 5, '5 is not a size; write a number and its unit in quotes, like "1460B"'),
        (units.parse_share, 0.02, '0.02 is not a valid percentage; write it in quotes, like "2%"'),
        (units.parse_share, "2ms", "'2ms' is not a valid percentage; write it in quotes, like \"2%\""),
        (units.parse_seconds, -1, '-1 is not a time of the run; write for instance "15s"'),
        (units.parse_seconds, float("inf"), 'inf is not a time of the run; write for instance "15s"'),
        (units.parse_seconds, True, 'True is not a time; write a number and its unit in quotes, like "50ms"'),
    ],
)
def test_what_is_no_value_is_rejected_with_what_would_be_right(
    parse: Callable[[object], float], wrong: object, says: str
) -> None:
    with pytest.raises(ValueError) as found:
        parse(wrong)
    assert str(found.value) == says


def test_the_nearest_unit_is_suggested_if_one_is_near() -> None:
    with pytest.raises(ValueError, match=r'; did you mean "Mbps"\?$'):
        units.parse_rate("5Mpbs")
    with pytest.raises(ValueError, match="one of bps"):
        units.parse_rate("5parsecs")


def test_an_argument_that_is_no_time_is_named() -> None:
    assert units.seconds("at", "20ms") == 0.02
    with pytest.raises(StudyError, match="-2 is not a time of the run") as found:
        units.seconds("at", -2)
    assert found.value.key == "at"


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (units.time_text, 0, "0s"),
        (units.time_text, 1_500_000_000, "1.5s"),
        (units.time_text, 1_000_000, "1ms"),
        (units.time_text, 999_000, "999us"),
        (units.time_text, 1_000_100, "1000.1us"),
        (units.time_text, 1_000_001, "1000.001us"),
        (units.time_text, 7, "7ns"),
        (units.rate_text, 1_544_000, "1.544Mbps"),
        (units.rate_text, 10_000_000_000, "10Gbps"),
        (units.rate_text, 999, "999bps"),
        (units.rate_text, 0, "0bps"),
        (units.size_text, 3_000_000, "3MB"),
        (units.size_text, 1_500, "1500B"),
        (units.size_text, 0, "0B"),
        (units.share_text, 0.02, "2%"),
        (units.share_text, 1 / 3, "33.3333333333%"),
    ],
)
def test_a_value_is_written_in_the_largest_unit_that_keeps_three_decimals(
    write: Callable[[float], str], value: float, text: str
) -> None:
    assert write(value) == text


def windows(*changes: tuple[str, str]) -> dict[str, list[int]]:
    study = Study.from_toml(edited(*changes))
    found = study.plan().cells[0].compiled.scenario["windows"]
    assert isinstance(found, dict)
    return {name: list(edges) for name, edges in found.items()}


def test_windows_are_the_run_after_its_warm_up_phases_and_those_of_quantities() -> None:
    assert list(windows().values()) == [[0, 50_000_000]]
    found = windows(
        ('duration = "50ms"', 'duration = "50ms"\nwarmup = "10ms"'),
        ("[probes]", '[phases]\nearly = ["0s", "20ms"]\n\n[probes]'),
        ('unit = "kbit/s"', 'unit = "kbit/s"\nwindow = ["20ms", "50ms"]'),
    )
    assert sorted(found.values()) == [[0, 20_000_000], [10_000_000, 50_000_000], [20_000_000, 50_000_000]]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('duration = "50ms"', 'duration = "0s"', "a run of no time shows nothing"),
        ('duration = "50ms"', 'duration = "50ms"\nwarmup = "50ms"', "the warm-up is as long as the run"),
        ("[probes]", '[phases]\nearly = ["2ms", "2ms"]\n\n[probes]', "this window ends before it begins"),
        (
            "[probes]",
            '[phases]\nearly = ["0s", "51ms"]\n\n[probes]',
            "this window ends at 0.051 s, and the run at 0.05 s",
        ),
        ('unit = "kbit/s"', 'unit = "kbit/s"\nwindow = "late"', 'there is no phase "late"'),
    ],
)
def test_a_window_that_does_not_fit_into_the_run_is_rejected(old: str, new: str, says: str) -> None:
    with pytest.raises(StudyError) as found:
        windows((old, new))
    assert says in str(found.value)


@pytest.mark.parametrize("name", [schema.DEFAULT_WINDOW, schema.WHOLE_RUN])
def test_a_phase_has_a_name_of_its_own(name: str) -> None:
    with pytest.raises(StudyError, match=f'a phase cannot be called "{name}"'):
        windows(("[probes]", f'[phases]\n"{name}" = ["0s", "1ms"]\n\n[probes]'))


def test_the_window_of_a_phase_may_end_with_the_run() -> None:
    assert [0, 50_000_000] in windows(("[probes]", '[phases]\nall = ["0s", "50ms"]\n\n[probes]')).values()


def test_a_model_shows_what_was_given_and_cannot_be_changed() -> None:
    run = Run(duration="10s")
    assert repr(run) == str(run) == "Run(duration='10s')"
    with pytest.raises(ArgumentError) as found:
        run.duration = 5
    assert str(found.value) == "duration of a Run cannot be changed; make another: Run(duration=5, …)"
    assert "duration" in dir(run) and "model_config" not in dir(Run) and "renamed" not in dir(Run)
    assert not any(name.startswith("_") for name in dir(Run))


def test_only_the_first_keys_of_a_model_need_no_name() -> None:
    assert Flow("cubic").cc == "cubic"
    kinds = [parameter.kind for parameter in inspect.signature(Flow).parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(ArgumentError, match=r"Run takes its keys by name: .*duration=…"):
        Run("10s")  # type: ignore[misc]


def test_a_value_that_does_not_fit_is_named_by_class_and_key() -> None:
    with pytest.raises(StudyError) as found:
        Run(duration=10)  # type: ignore[arg-type]
    right = 'write a number and its unit in quotes, like "10s"'
    assert str(found.value) == f"Run.duration: 10 is not a time; {right}"
