"""The simulator agrees with closed-form laws within their tolerances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from . import ecn, laws, web
from .row import Row

#: Each table. `make validate` runs all rows of the longest ones: CUBIC's two at a loss rate of 1e-5, whose
#: hundred epochs have ten million packets each, and the other two thirds of the cells with web traffic.
TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    "slow start": laws.slow_start,
    "periodic loss": laws.periodic_loss,
    "random loss": laws.random_loss,
    "cubic": partial(laws.cubic, rarest=1e-4),
    "web traffic": partial(web.rows, every=3),
    "web traffic of the authors' TCP": partial(web.bay_rows, every=3),
    "ecn": ecn.rows,
}


@pytest.mark.parametrize("table", TABLES)
def test_law_holds_within_its_tolerance(table: str) -> None:
    """All rows of the law's table pass."""
    outside = [row.cells() for row in TABLES[table]() if not row.passed]
    assert not outside


def test_closed_form_refuses_a_window_that_fills_the_round_trip() -> None:
    """In that case, packets no longer come in rounds."""
    with pytest.raises(ValueError, match="fills the round trip"):
        laws.slow_start_s(1000, 10, 10e6, 0.05)


def test_slow_start_by_hand() -> None:
    """Seven packets from an initial window of one take two round trips and four packet times."""
    packet_s, ack_s = 1e-3, 4e-5
    assert laws.slow_start_s(7, 1, 8e6, 0.1) == pytest.approx(
        2 * (0.2 + packet_s + ack_s) + 4 * packet_s + 0.1
    )


def test_pftk_by_hand() -> None:
    """At p = 0.01, RTT 0.1 s, RTO 1 s: 0.1 sqrt(0.02/3) + min(1, 3 sqrt(0.03/8)) 0.01 (1.0032) s/packet."""
    assert laws.pftk_packets_per_s(0.01, 0.1, 1.0) == pytest.approx(1 / (0.0081650 + 0.0018430), rel=1e-4)
