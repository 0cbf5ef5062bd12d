"""Random losses of a path next to losses that replays show to be spurious, against scipy's distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import gamma, poisson

from cwndlab.apps.fit.full_queue import QueueEstimates
from cwndlab.apps.fit.random_loss import RandomLoss


class Given:
    """A source of given gamma variates, which notes the shapes and scales asked for."""

    def __init__(self, *values: float) -> None:
        self.values = list(values)
        self.asked: list[tuple[float, float]] = []

    def gammavariate(self, shape: float, scale: float) -> float:
        self.asked.append((shape, scale))
        return self.values.pop(0) if len(self.values) > 1 else self.values[0]


def queue(losses: int, segments: int) -> QueueEstimates:
    return QueueEstimates(9e3, 9e3, losses, segments, 3, 2)


def test_the_losses_of_a_queue_are_those_that_no_full_queue_explains() -> None:
    assert RandomLoss.of_queue(queue(3, 600)) == RandomLoss(3, 600, 0.0, 0.0)
    assert RandomLoss.of_queue(queue(3, 600), (0.1, 0.2)) == RandomLoss(3, 600, 0.1, 0.2)
    assert RandomLoss.of_queue(queue(0, 0)) == RandomLoss(0, 1)
    assert (queue(3, 600).loss, queue(0, 0).loss, queue(3, 1).loss) == (0.005, 0.0, 3.0)


@pytest.mark.parametrize(("losses", "spurious", "share"), [(8, 0.002, 0.006), (8, 0.01, 0.0), (0, 0.0, 0.0)])
def test_the_share_is_that_of_the_losses_less_the_spurious_ones(
    losses: int, spurious: float, share: float
) -> None:
    assert RandomLoss(losses, 1000, spurious).share == pytest.approx(share)


@pytest.mark.parametrize("losses", [8, 9])
def test_losses_may_all_be_spurious_if_so_many_have_a_probability_of_more_than_two_and_a_half_percent(
    losses: int,
) -> None:
    """Of a mean of 4, at least 8 losses have one of 5.1 %, and at least 9 one of 2.1 %."""
    expected = float(poisson.sf(losses - 1, 4.0)) > 0.025
    assert RandomLoss(losses, 1000, 0.004).may_be_none is expected
    assert RandomLoss(losses, 1000).may_be_none is False
    assert RandomLoss(losses, 1000, 0.0, 0.01).may_be_none is False
    assert RandomLoss(0, 1000).may_be_none is True


def test_more_scatter_of_spurious_losses_explains_more() -> None:
    """With a standard deviation of half the mean, the losses are negative binomial: 14 of 5.1 %."""
    from scipy.stats import nbinom

    for losses in (8, 9, 10, 11, 12, 13, 14):
        exact = float(nbinom.sf(losses - 1, 4.0, 1 / (1 + 0.001 * 1000)))
        assert RandomLoss(losses, 1000, 0.004, 0.002).may_be_none is (exact > 0.025), losses


def test_the_nodes_of_spurious_losses_are_equally_likely() -> None:
    nodes = RandomLoss(8, 1000, 0.004, 0.002)._spurious_nodes()
    assert len(nodes) == 39
    assert nodes == pytest.approx(gamma.ppf([(k + 0.5) / 39 for k in range(39)], 4.0, scale=0.001))
    for fixed in (RandomLoss(8, 1000, 0.004), RandomLoss(8, 1000, 0.0, 0.002)):
        assert fixed._spurious_nodes().tolist() == [fixed.spurious]


@pytest.mark.parametrize("losses", [1, 40])
def test_without_spurious_losses_the_interval_is_that_of_jeffreys_prior(losses: int) -> None:
    low, high = RandomLoss(losses, 2000).interval()
    law = gamma(losses + 0.5, scale=1 / 2000)
    assert (low, high) == pytest.approx((law.ppf(0.025), law.ppf(0.975)), rel=1e-6)


@pytest.mark.parametrize("losses", [0, 8, 9, 20])
def test_with_spurious_losses_the_interval_is_that_of_what_is_left_if_there_is_any(losses: int) -> None:
    low, high = RandomLoss(losses, 1000, 0.004).interval()
    law = gamma(losses + 0.5, scale=1 / 1000)
    left = float(law.sf(0.004))
    assert high == pytest.approx(float(law.isf(0.025 * left)) - 0.004, rel=1e-4)
    least = float(law.isf(0.975 * left)) - 0.004
    assert low == (0.0 if losses <= 8 else pytest.approx(least, rel=1e-4))


def test_an_interval_averages_over_the_nodes() -> None:
    loss = RandomLoss(40, 1000, 0.004, 0.002)
    law = gamma(40.5, scale=1 / 1000)
    nodes = loss._spurious_nodes()
    for share, above in zip(loss.interval(), (0.975, 0.025), strict=True):
        assert float(np.mean(law.sf(share + nodes)) / np.mean(law.sf(nodes))) == pytest.approx(
            above, rel=1e-6
        )


def test_a_draw_is_a_gamma_variate_less_the_spurious_losses_and_never_negative() -> None:
    plain = Given(0.0125)
    assert RandomLoss(12, 1000).draw(plain) == 0.0125  # type: ignore[arg-type]
    assert plain.asked == [(12.5, 0.001)]
    assert RandomLoss(1, 1).draw(Given(3.0)) == 1.0  # type: ignore[arg-type]
    again = Given(0.003, 0.004)  # the first is less than what is spurious, the second is as much
    assert RandomLoss(12, 1000, 0.004).draw(again) == 0.0  # type: ignore[arg-type]
    assert len(again.asked) == 2
    scattered = Given(0.003, 0.002, 0.001, 0.009)  # spurious, losses, spurious, losses
    found = RandomLoss(12, 1000, 0.004, 0.002).draw(scattered)  # type: ignore[arg-type]
    assert found == pytest.approx(0.008)
    assert scattered.asked == [pytest.approx((4.0, 0.001)), (12.5, 0.001)] * 2


def test_no_losses_need_no_draw_and_a_thousand_negative_ones_end_it() -> None:
    none = Given(1.0)
    assert RandomLoss(0, 1000).draw(none) == 0.0 and none.asked == []  # type: ignore[arg-type]
    assert RandomLoss(1, 1000).draw(Given(0.5)) == 0.5  # type: ignore[arg-type]
    negative = Given(0.001)
    assert RandomLoss(1, 1000, 0.002).draw(negative) == 0.0  # type: ignore[arg-type]
    assert len(negative.asked) == 1000


@pytest.mark.parametrize(
    ("skew", "level", "managed"),
    [(3.6, 0.5, True), (3.5, 0.5, False), (3.6, 0.6, False), (0.0, math.nan, False)],
)
def test_a_queue_is_managed_if_losses_come_late_but_before_it_is_full(
    skew: float, level: float, managed: bool
) -> None:
    assert QueueEstimates(9e3, 9e3, 3, 600, 3, 2, skew, level).managed is managed
