"""The path between two hosts, which buffers in bandwidth-delay products and `explain` go by."""

from __future__ import annotations

import pytest

from cwndlab.plan.routes import shortest_path


def network(*ends: tuple[int, int]) -> tuple[list[dict[str, int]], list[list[int]]]:
    """Links from and to these nodes, and for each node those that leave it."""
    nodes = range(1 + max(max(pair) for pair in ends))
    leaving = [[index for index, (start, _) in enumerate(ends) if start == node] for node in nodes]
    return [{"from": start, "to": to} for start, to in ends], leaving


@pytest.mark.parametrize(
    ("ends", "path"),
    [
        ([(0, 1), (1, 2), (2, 3)], [0, 1, 2]),
        ([(0, 1), (1, 2), (2, 3), (0, 3)], [3]),  # the fewest hops, though it is written last
        ([(0, 1), (1, 3), (0, 2), (2, 3)], [0, 1]),
        ([(0, 2), (2, 3), (0, 1), (1, 3)], [0, 1]),  # of equal paths, the one of the first link
        ([(0, 1), (0, 1), (1, 3), (1, 3)], [0, 2]),
        ([(0, 1), (1, 0), (1, 2), (2, 1), (2, 3)], [0, 2, 4]),  # there is a way back at each hop
        ([(1, 0), (3, 1)], None),  # links have a direction
    ],
)
def test_a_path_has_the_fewest_hops_and_of_equal_ones_the_links_that_are_named_first(
    ends: list[tuple[int, int]], path: list[int] | None
) -> None:
    assert shortest_path(*network(*ends), 0, 3) == path


def test_a_node_reaches_itself_without_a_link() -> None:
    assert shortest_path(*network((0, 1), (1, 0)), 0, 0) == []
