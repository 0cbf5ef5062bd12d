"""Queues of the simulator next to those of a kernel with its random numbers, packet by packet.

`cwndlab linux build --config NET_SCH_FQ_PIE=y --patch linux/tests/queues/random.patch` builds one;
CWNDLAB_QUEUES_KERNEL names it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

QUEUES = Path(__file__).parent / "queues"
ROOT = Path(__file__).parents[2]
KERNEL = os.environ.get("CWNDLAB_QUEUES_KERNEL")
sys.path.insert(0, str(QUEUES))


@pytest.fixture(scope="module")
def replay() -> Path:
    if KERNEL is None or shutil.which("cargo") is None:
        pytest.skip("needs cargo, and CWNDLAB_QUEUES_KERNEL, a kernel with random.patch")
    command = ["cargo", "build", "--quiet", "--release", "-p", "cwndlab-net", "--example", "replay"]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target/release/examples/replay"


@pytest.mark.parametrize("kind", ["tbf", "fq-pie", "cake"])
def test_nine_of_ten_scenarios_are_identical_to_the_kernel(kind: str, replay: Path) -> None:
    import compare
    from scenarios import scenario

    drawn = [scenario(seed, kind) for seed in range(20)]
    theirs = compare.of_kernel(Path(str(KERNEL)), drawn)
    ours = compare.of_simulator(replay, drawn, theirs)
    different = [
        compare.first_difference(found["left"], own) for found, own in zip(theirs, ours, strict=True)
    ]
    assert sum(difference is None for difference in different) >= 18, different
    assert any(len(found["left"]) < len(found["sent"]) for found in theirs), "some packets are dropped"
