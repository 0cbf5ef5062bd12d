"""The WebAssembly module gives the same records as the native engine, to the byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import cwndlab
from cwndlab import Study, _core
from cwndlab.study.document import shipped_studies

LIVE = Path(cwndlab.__file__).parent / "report" / "live"
MODULE = LIVE / "engine.wasm.gz"
SCRIPT = Path(__file__).with_name("digests.mjs")

pytestmark = [
    pytest.mark.skipif(
        not MODULE.exists(), reason="no WebAssembly module: rustup lacks wasm32-unknown-unknown"
    ),
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node (apt install nodejs)"),
]


def in_webassembly(asked: list[dict[str, object]]) -> list[str]:
    command = ["node", str(SCRIPT), str(MODULE), str(LIVE / "run.js")]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    digests: list[str] = json.loads(done.stdout)
    return digests


def short(scenario: str) -> str:
    """The first seconds of a scenario, with every probe on, so that every kind of record is compared."""
    content = json.loads(_core.complete_scenario(scenario))
    # A gigabit's packets of 1.5 s are more than those of most other cells together.
    slowest = min(link["rate_bps"] for link in content["links"])
    seconds = 4 if slowest < 200e6 else 1.5 if slowest < 2e9 else 0.1
    content["duration_ns"] = min(content["duration_ns"], round(seconds * 1e9))
    switches = {name: True for name, value in content["probes"].items() if isinstance(value, bool)}
    content["probes"] = {**switches, "segments_at": 0, "queues": list(range(len(content["links"])))}
    return json.dumps(content)


def test_every_shipped_study_gives_the_same_records_as_natively() -> None:
    asked, native, places = [], [], []
    for name in shipped_studies():
        plan = Study.load(name).plan()
        # The module leaves out the QUIC stacks.
        cells = [
            cell
            for cell in plan.cells
            if not any("stack" in one for one in json.loads(cell.scenario)["traffic"])
        ]
        for cell in cells[:: max(1, len(cells) // 3)][:4]:
            scenario = short(cell.scenario)
            records = _core.run(scenario, plan.seed, 0)
            assert records.packets > 0
            asked.append({"scenario": scenario, "seed": plan.seed})
            native.append(records.digest)
            places.append(f"{name} {cell.id}")
    assert dict(zip(places, in_webassembly(asked), strict=True)) == dict(zip(places, native, strict=True))


def test_the_digest_depends_on_every_record() -> None:
    plan = Study.load("rfc2416").plan()
    content = json.loads(plan.cells[0].scenario)
    digests = {_core.run(json.dumps(content), plan.seed, 0).digest}
    content["probes"]["cwnd"] = False
    digests.add(_core.run(json.dumps(content), plan.seed, 0).digest)
    content["links"][0]["delay_ns"] += 1
    digests.add(_core.run(json.dumps(content), plan.seed, 0).digest)
    assert len(digests) == 3


def test_an_invalid_scenario_is_reported_with_its_place() -> None:
    content = json.loads(Study.load("rfc2416").plan().cells[0].scenario)
    content["links"][2]["to"] = 99
    (message,) = in_webassembly([{"scenario": json.dumps(content), "seed": 1}])
    assert "links[2]" in message and "node 99 does not exist" in message
