"""A congestion control in C that others wrote is compiled into a kernel and fills a link, twice the same.

`CWNDLAB_LAW` names its file, adapted to Linux 6.12 if need be (docs/guide/law-in-c.md), and
`CWNDLAB_LAW_PATCH` a patch for the kernel that it needs, if any. The first build with a patch compiles all of
Linux.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import cwndlab
from cwndlab_linux.virtual import build, recipe

LAW = os.environ.get("CWNDLAB_LAW", "")
PATCH = os.environ.get("CWNDLAB_LAW_PATCH", "")
STUDY = """
title = "A law of others"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
buffer = "2BDP"
flows = [{{ cc = "{name}" }}]
[run]
duration = "10s"
warmup = "4s"
replicates = 1
kernel = "{kernel}"
"""


@pytest.mark.usefixtures("virtual")
def test_a_law_of_others_fills_a_link(tmp_path: Path) -> None:
    if not LAW:
        pytest.skip("CWNDLAB_LAW names no congestion control in C")
    law = recipe.Law.from_file(Path(LAW))
    patches = (Path(PATCH),) if PATCH else ()
    made = recipe.Recipe(recipe.SERIES[recipe.DEFAULT], patches=patches, laws=(law,))
    image = build.build(made, None, os.cpu_count() or 1, print)
    study = cwndlab.Study.from_toml(STUDY.format(name=law.names[0], kernel=image.name))
    kept = []
    for name in ("one", "two"):
        result: Any = cwndlab.run(study, out=tmp_path / name, backend="linux-virtual", stack="linux-laws")
        assert result.failures == []
        kept.append({path.name: path.read_bytes() for path in (tmp_path / name).glob("store/records/*/*")})
        ((goodput,),) = result.results.data.values()
        assert 5 < float(goodput) < 10
    assert kept[0] and kept[0] == kept[1]
