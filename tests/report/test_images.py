"""`make images`, on a short run of the README's study."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "images.py"


def test_the_moving_picture_of_the_readme_has_each_flow_and_the_queue() -> None:
    images = runpy.run_path(str(TOOL))
    short = {"run.duration": "2s", "run.warmup": "1s", "run.replicates": 1, "buffer": 2}
    svg = images["over_time"](images["question"]().set(short).run(), buffer=2)
    moved = re.findall(r'<g clip-path="url\(#shown\)" class="line">(.*?)</g>', svg)
    assert [one.count("<path") for one in moved] == [2, 1], "two flows' windows and a queue"
    assert all(f">{name}</text>" in svg for name in ("cubic", "bbr1", "cwnd (kB)", "queue (packets)"))
    assert 'id="shown"' in images["moving"](svg)
