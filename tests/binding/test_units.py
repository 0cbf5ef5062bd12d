"""Quantities cross the border exactly, and refusals arrive as ValueError."""

import pytest

from cwndlab import _core


def test_quantities_become_integers_of_the_base_unit() -> None:
    assert _core.parse_time("50ms") == 50_000_000
    assert _core.parse_rate("1.5Mbps") == 1_500_000
    assert _core.parse_bytes("64KiB") == 65_536


@pytest.mark.parametrize("parse", [_core.parse_time, _core.parse_rate, _core.parse_bytes])
def test_a_number_without_its_unit_is_refused_with_an_example(parse) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r'"50" .* it has no unit; write a number and one of .*, like "'):
        parse("50")


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert _core.version() == version("cwndlab")
