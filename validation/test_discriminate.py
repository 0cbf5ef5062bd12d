"""Deliberately wrong models get worse verdicts, so verdicts are meaningful."""

from __future__ import annotations

from functools import cache

import pytest

from cwndlab.stats.verdict import Verdict

from .discriminate import BEGIN, END, MEMOS, PAGE, RIGHT, Changes, Outcome, outcome

OF = {memo.study: memo for memo in MEMOS}
FEW: dict[str, Changes] = {
    # 18 of 48 cells, with 30 numbers that can be judged
    "rfc2415": {"grid": "tables_4_and_5", "webs": [8, 16], "ftps": [0, 2, 3], "iw": [1, 2, 3]},
    "rfc2416": OF["rfc2416"].cells,
    # the fairness indices and gains at two of five values
    "rfc2884": {**OF["rfc2884"].cells, "max_p": [0.1, 0.2]},
}


@cache
def of(study: str, model: str) -> Outcome:
    """The outcome of one model with few cells and runs; tests share it."""
    return outcome(OF[study], model, 5 if study == "rfc2415" else 3, FEW[study])


def wrong(study: str) -> list[str]:
    """The titles of the wrong models."""
    return [model for model in OF[study].models if model != RIGHT]


@pytest.mark.parametrize("model", wrong("rfc2416"))
def test_a_wrong_model_meets_fewer_lines_of_the_listings(model: str) -> None:
    """At least five of 16 lines differ."""
    assert of("rfc2416", RIGHT).verdicts[Verdict.DIFFERS] == 0
    assert of("rfc2416", model).verdicts[Verdict.DIFFERS] >= 5


@pytest.mark.parametrize("model", wrong("rfc2415"))
def test_more_numbers_of_a_wrong_model_are_incompatible(model: str) -> None:
    """The right model has at most as many incompatible numbers as chance explains, the wrong one more."""
    ours, theirs = of("rfc2415", RIGHT).incompatible, of("rfc2415", model).incompatible
    assert ours is not None and theirs is not None
    assert ours.found <= ours.high < theirs.found


@pytest.mark.parametrize("model", ["Linux 6", "max_th of 30 packets, not 90"])
def test_a_wrong_model_misses_more_of_rfc_2884_s_numbers(model: str) -> None:
    """The wrong model has at least two more incompatible numbers."""
    ours, theirs = of("rfc2884", RIGHT).incompatible, of("rfc2884", model).incompatible
    assert ours is not None and theirs is not None and ours.judged == theirs.judged
    assert theirs.found >= ours.found + 2


def test_the_guide_has_the_table_of_every_model() -> None:
    """The page has a row for every model of the last `make discriminate`."""
    shown = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    for memo in MEMOS:
        assert memo.title in shown
        for model in memo.models:
            assert f"| {model} |" in shown
