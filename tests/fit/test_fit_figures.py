"""The figures of a fit: how much of the time the capture lies among its replays."""

from __future__ import annotations

import numpy as np
import pytest

from cwndlab.apps.fit.fit_figures import draw_courses
from cwndlab.apps.fit.time_courses import PARTS, TimeCourse

ONES = np.ones(PARTS)


def course(throughput: np.ndarray) -> TimeCourse:
    return TimeCourse(throughput, 10 * ONES, 5 * ONES, 0 * ONES)


@pytest.mark.parametrize(
    ("capture", "percent"),
    [
        (2.0, 100),
        (3.0, 100),
        (1.0, 100),
        (0.99, 0),
        (3.01, 0),
        (np.where(np.arange(PARTS) < 25, 2.0, 9.0), 25),
    ],
)
def test_the_capture_lies_among_the_replays_from_the_least_to_the_largest(
    capture: float | np.ndarray, percent: int
) -> None:
    drawn = draw_courses(course(capture * ONES), [course(value * ONES) for value in (1.0, 2.5, 3.0)], 8.0)
    assert {one.id: one.about for one in drawn}["throughput"] == (
        f"the capture lies among the replays in {percent} % of the time"
    )
