"""The models of RFC 2415 are those of the study."""

from __future__ import annotations

from cwndlab.api import Study

from .models import authors, models


def test_the_model_of_the_authors_code_is_also_a_sensitivity_value() -> None:
    """`--sensitivity page_model` and the axis `model` define the same model."""
    raw = Study.load("rfc2415").raw["sensitivity"]["page_model"]["values"]
    [found] = [value for value in raw if value["name"] == "authors"]
    assert found["set"] == authors()


def test_the_script_s_values_are_those_of_the_sensitivity_axes() -> None:
    """The script's delays, maximum window and RED are those of the study's sensitivity axes."""
    axes = Study.load("rfc2415").raw["sensitivity"]
    values = [
        value["set"]
        for name in ("delays", "window", "queue")
        for value in axes[name]["values"]
        if "set" in value
    ]
    assert values == [models()[f"`reconstructed`, {title}"] for title in _TITLES]


_TITLES = (
    "delays of the script (25, 25, 1 ms)",
    "maximum window of 26 packets",
    "maximum window of 52 packets",
    "RED 4/17, weight 1/16",
)
