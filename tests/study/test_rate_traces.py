"""The rate at which a link whose trace has opportunities begins: the mean over the trace."""

from __future__ import annotations

import json
from pathlib import Path

from cwndlab.api import Study
from small_study import edited


def test_a_trace_has_its_mean_rate_and_its_opportunities(tmp_path: Path) -> None:
    """Four of 1500 bytes in 30 ms: 1.6 Mbit/s."""
    (tmp_path / "cell.trace").write_text("0\n10\n10\n30\n")
    (tmp_path / "study.toml").write_text(edited(('rate = "1Mbps"', 'rate = { trace = "cell.trace" }')))
    (link, *_) = json.loads(Study.load(tmp_path / "study.toml").plan().cells[0].scenario)["links"]
    assert link["rate_bps"] == 1_600_000
    assert link["capacity"]["at_ms"] == [0, 10, 10, 30]
