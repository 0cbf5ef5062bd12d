"""What `measure` writes out: a quantity in the unit of the measure's table, and formulas as they are read."""

from __future__ import annotations

import pytest

from cwndlab.api import Study
from cwndlab.study.grammar import COMPARISONS, operation
from cwndlab.study.measures import MEASURES

QUESTION = """
title = "a dumbbell"
measure = ["{name}"]

[dumbbell]
rate = "5Mbps"
rtt = "40ms"
buffer = 1
flows = [{{ cc = "cubic", bytes = "1MB" }}]

[run]
duration = "2s"
replicates = 1
"""
#: The numbers of each measure in the order of its columns, and their unit.
WRITTEN = {
    "goodput": (1, "Mbit/s"),
    "share": (1, "%"),
    "loss_rate": (1, "%"),
    "datagram_loss": (1, "%"),
    "queue_delay": (3, "ms"),
    "completion_time": (4, "s"),
    "round_trip": (1, "ms"),
    "utilization": (1, "%"),
    "drop_rate": (1, "%"),
    "one_way_delay": (3, "ms"),
    "delay_variation": (3, "ms"),
    "jain_index": (1, None),
}


def test_every_measure_is_looked_at() -> None:
    assert set(WRITTEN) == set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_is_written_in_its_unit(name: str) -> None:
    quantities = Study.from_toml(QUESTION.format(name=name)).outline.quantities
    count, unit = WRITTEN[name]
    assert [quantity.unit for quantity in quantities] == [unit] * count


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *(("a + b", "sum"), ("a - b", "difference"), ("a * b", "product"), ("a / b", "ratio")),
        ("increase(b, a)", "increase"),
    ],
)
def test_an_operation_is_read_with_its_operands(text: str, kind: str) -> None:
    assert operation(text) == (kind, "a", "b")


def test_a_comparison_is_one_of_four() -> None:
    assert set(COMPARISONS) == {"decrease", "increase", "ratio", "difference"}
