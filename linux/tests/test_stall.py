"""The stall of BBR that a search on a kernel found, in the page's own study: simulator and kernel agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cwndlab import Study

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "bbr-stall.md"


def goodput_after(law: str, **options: str) -> float:
    """Mb/s from half a second after the slow phase on, at the worst point."""
    blocks = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (text,) = [block for block in blocks if "[axes.law]" in block]
    text = re.sub(r"(?<=\[axes.law\]\n)values = .*", f'values = ["{law}"]', text)
    worst = {"parameters.slow": 317, "parameters.rtt": 100, "parameters.buffer": 0.12}
    return Study.from_toml(text).set(worst).run(**options).estimate("goodput_after").value


def test_bbr_takes_a_slow_link_for_a_policer_and_cubic_does_not() -> None:
    assert goodput_after("bbr1") == pytest.approx(0.31, abs=0.03)
    assert goodput_after("cubic") > 1.5


@pytest.mark.usefixtures("virtual")
def test_linux_stalls_so_too() -> None:
    found = goodput_after("bbr", backend="linux-virtual", stack="linux-laws")
    assert found == pytest.approx(0.31, abs=0.03)
