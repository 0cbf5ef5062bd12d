"""Simulator, kernel and published value beside each other; here two simulators: no kernel is needed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cwndlab.live.agreement import write
from cwndlab.report.write import Outputs
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.local import Threads
from cwndlab.runs.store import MemoryStore
from cwndlab.study.load import Study


def test_published_numbers_stand_beside_both_and_the_first_differing_event_is_told(tmp_path: Path) -> None:
    study = Study.load("rfc2416").set({"variant": "tahoe", "iw": [1, 4], "run.duration": "12s"})
    other = study.set({"tcp.dup_thresh": 4})
    made = []
    for each in (study, other):
        campaign = Campaign(each.plan(), MemoryStore(), Threads(1))
        campaign.run()
        made.append(campaign)
    outline = study.outline
    assert study.folder is not None
    outputs = Outputs("", study.folder, tables=outline.tables, marks=outline.marks)
    write(tmp_path, outputs, *made)
    with (tmp_path / "agreement.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    cell = "variant=tahoe,iw=1,size=as-traced"
    lines = {row["quantity"]: row for row in rows if row["table"] == "listing" and row["cell"] == cell}
    second = lines["time of line 2: ack 1"]
    assert second["published"] == "1.222" and float(second["simulator"]) == pytest.approx(1.222, abs=1e-3)
    assert (second["sim_verdict"], second["kernel_verdict"], second["difference"]) == (
        "agrees",
        "agrees",
        "0",
    )
    assert lines["time of line 10: dupack 6"]["kernel_verdict"] == "differs"  # nothing is sent again there
    numbers = [row for row in rows if row["quantity"] == "first_retransmission" and row["cell"] == cell]
    assert len(numbers) == 1 and float(numbers[0]["difference"]) > 0.5
    text = (tmp_path / "agreement.md").read_text()
    assert f"- {cell}: after " in text and "retransmit 7 |" in text
