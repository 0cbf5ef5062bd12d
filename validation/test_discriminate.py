"""Deliberately wrong models fail by the verdicts, so that a number in a report means something."""

from __future__ import annotations

import pytest

from cwndlab.stats.verdict import Verdict

from .discriminate import BEGIN, END, MEMOS, PAGE, RIGHT, Memo, Outcome, outcome

RFC2415, RFC2416, RFC2884 = MEMOS
FEW = {"grid": "tables_4_and_5", "webs": [8, 16], "ftps": [0, 2, 3], "iw": [1, 2]}
"""Twelve cells of 48, with 20 numbers that can be judged."""


def wrong(memo: Memo) -> list[str]:
    """The models with an error."""
    return [model for model in memo.models if model != RIGHT]


def of(memo: Memo, model: str) -> Outcome:
    """One model, on few cells of the large study."""
    if memo is RFC2415:
        return outcome(memo, model, 3, FEW)
    return outcome(memo, model, None)


@pytest.fixture(scope="module")
def right() -> Outcome:
    """The study's own model of RFC 2415."""
    return of(RFC2415, RIGHT)


@pytest.mark.parametrize("model", wrong(RFC2416))
def test_a_wrong_model_meets_fewer_lines_of_the_listings(model: str) -> None:
    """At least five of 16 differ."""
    assert of(RFC2416, RIGHT).verdicts[Verdict.DIFFERS] == 0
    assert of(RFC2416, model).verdicts[Verdict.DIFFERS] >= 5


@pytest.mark.parametrize("model", wrong(RFC2415))
def test_more_numbers_of_a_wrong_model_are_incompatible(model: str, right: Outcome) -> None:
    """Right and wrong lie on either side of what chance explains."""
    ours, theirs = right.incompatible, of(RFC2415, model).incompatible
    assert ours is not None and theirs is not None
    assert ours.found <= ours.high
    assert theirs.found > theirs.high


@pytest.mark.parametrize("model", ["Linux 6", "max_th of 30 packets, not 90"])
def test_a_wrong_model_misses_more_of_rfc_2884_s_numbers(model: str) -> None:
    """Of the fairness indices and gains at max_p 0.1 and 0.2, on three runs."""
    few = {**RFC2884.cells, "max_p": [0.1, 0.2]}
    ours = outcome(RFC2884, RIGHT, 3, few).incompatible
    theirs = outcome(RFC2884, model, 3, few).incompatible
    assert ours is not None and theirs is not None and ours.judged == theirs.judged
    assert theirs.found >= ours.found + 2


def test_the_guide_has_the_table_of_every_model() -> None:
    """Its numbers are those of the last `make discriminate`."""
    shown = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    for memo in MEMOS:
        assert memo.title in shown
        for model in memo.models:
            assert f"| {model} |" in shown
