"""Performance envelopes of throughput and delay, and the conformance of senders.

The method of Mishra, Lim and Leong, "Understanding Speciation in QUIC Congestion Control" (IMC 2022), as in
their program. A sender runs next to a reference flow, and each interval of ten round trips gives a point
(throughput, delay). The envelope is the convex hull of the 95 % of the points nearest to the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import SHARE, Floats
from cwndlab.stats import intervals

if TYPE_CHECKING:
    from cwndlab.results.result import RunResult

#: The share of the points, those nearest to the mean, that a hull encloses.
KEPT = 0.95
#: A point this little outside a face of a hull counts as inside.
_TOLERANCE = 1e-12


class Envelope(NamedTuple):
    """The envelope of one run of a sender."""

    #: Points (Mb/s, ms) that the hull encloses, one per row.
    points: Floats
    #: The mean (Mb/s, ms) of all points.
    mean: Floats
    #: A face of the hull per row: its unit normal and its offset, as `ConvexHull.equations` of scipy.
    faces: Floats

    def holds(self, points: Floats) -> Floats:
        """Whether each point lies inside the hull."""
        inside: Floats = np.all(points @ self.faces[:, :2].T + self.faces[:, 2] <= _TOLERANCE, axis=1)
        return inside


def envelope(points: Floats) -> Envelope:
    """The envelope of points (Mb/s, ms), one per row; StudyError if they enclose no area."""
    from scipy.spatial import ConvexHull, QhullError  # takes 0.5 s to import

    mean = points.mean(axis=0)
    order = np.argsort(((points - mean) ** 2).sum(axis=1), kind="stable")
    kept = points[order[: int(len(points) * KEPT)]]
    try:
        return Envelope(kept, mean, ConvexHull(kept).equations)
    except (QhullError, ValueError):
        raise StudyError(
            f"{len(kept)} points of throughput and delay enclose no area",
            key="--rates",
            right="more intervals, in which both vary",
        ) from None


def conformance(a: Envelope, b: Envelope) -> float:
    """The share of all points that lie in the other envelope's hull: 1 if both senders behave alike."""
    inside = a.holds(b.points).sum() + b.holds(a.points).sum()
    return float(inside / (len(a.points) + len(b.points)))


@dataclass(frozen=True)
class Conformance:
    """One sender compared with the reference, over the replicates that both have."""

    sender: str
    share: intervals.Interval
    #: Difference of the means, sender minus reference.
    rate_mbps: intervals.Interval
    delay_ms: intervals.Interval

    def cells(self) -> list[str]:
        """The texts of a table row."""
        return [self.sender, *(_in_words(one) for one in (self.share, self.rate_mbps, self.delay_ms))]


def _in_words(number: intervals.Interval) -> str:
    if np.isnan(number.low):
        return f"{number.value:.2f}"
    return f"{number.value:.2f} ({number.low:.2f} … {number.high:.2f})"


def conformances(
    run: RunResult, axis: str, reference: str, rates: list[str], delays: str, only: list[str]
) -> list[Conformance]:
    """The conformance of each sender of a finished run to the reference.

    Args:
        run: a finished run, whose lists of rates have a value for each interval.
        axis: the axis of the senders.
        reference: the reference's value on that axis.
        rates: quantities of the senders' throughput, lists in Mb/s, which are added.
        delays: a quantity of the queueing delay, a list in ms of equally many samples in each interval.
        only: values of the axis; empty: all but the reference.

    Raises:
        StudyError: an unknown axis, value or quantity, or lists that do not fit.

    """
    cells = {str(cell.axes[axis]): cell.id for cell in run.results.cells if axis in cell.axes}
    for value in (reference, *only):
        if value not in cells:
            right = nearest(value, list(cells))
            raise StudyError(
                f"{axis} has no value {value!r} in these results", key="--reference", right=right
            )

    def envelopes(value: str) -> list[Envelope]:
        return [envelope(points) for points in _points(run, cells[value], rates, delays)]

    known = envelopes(reference)
    found = []
    for value in only or [value for value in cells if value != reference]:
        pairs = list(zip(envelopes(value), known, strict=False))
        shares = intervals.mean(np.array([conformance(*pair) for pair in pairs]), SHARE)
        rate, delay = np.array([a.mean - b.mean for a, b in pairs]).T
        found.append(Conformance(value, shares, intervals.mean(rate), intervals.mean(delay)))
    return found


def _points(run: RunResult, cell: str, rates: list[str], delays: str) -> list[Floats]:
    """The points (Mb/s, ms) of each replicate of a cell."""
    for name in (*rates, delays):
        if (cell, name) not in run.results.data or not run.results.is_list(name):
            known = [name for name in run.results.labels.quantities if run.results.is_list(name)]
            raise StudyError(
                f"{name!r} is no list of numbers of this run", key="--rates", right=nearest(name, known)
            )
    made = []
    for *parts, waits in zip(*(run.results.samples(cell, name) for name in (*rates, delays)), strict=True):
        rate = np.sum(parts, axis=0)
        each, over = divmod(len(waits), len(rate))
        if each == 0 or over > 1:  # The list of delays may have one more sample, at the end of the run.
            raise StudyError(
                f"{len(waits)} samples of {delays} do not fit {len(rate)} intervals",
                key="--delays",
                right="a `queue_interval` that divides the interval of the rates",
            )
        made.append(np.column_stack([rate, waits[: each * len(rate)].reshape(len(rate), each).mean(axis=1)]))
    return made
