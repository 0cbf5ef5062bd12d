"""Whole runs on the real engine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_store import content

from cwndlab.api import Study
from small_study import TEXT, edited


def test_one_and_two_threads_give_the_same_bytes(tmp_path: Path) -> None:
    study = Study.from_toml(edited(("replicates = 3", "replicates = 40"), ('"50ms"', '"400ms"')))
    one = study.run(tmp_path / "one", threads=1)
    study.run(tmp_path / "two", threads=2)
    assert one.failures == [] and one.campaign.packets > 1000
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_probes_that_no_quantity_reads_change_no_number() -> None:
    probes = ('segments_at = "a"', 'segments_at = "a"\ncwnd = true\nqueues = ["a>b"]')
    lossy = (('"50ms"', '"2s"'), ("p = 0.01", "p = 0.1"))  # so lossy that the link is not full all the time
    rich = Study.from_toml(edited(probes, *lossy)).run()
    reading = (
        "[[quantities]]",
        '[[quantities]]\nname = "t"\nmetric = "retransmission_time"\n\n[[quantities]]',
    )
    segments = Study.from_toml(edited(probes, reading, *lossy)).run()
    plain = Study.from_toml(edited(('segments_at = "a"\n', ""), *lossy)).run()
    for cell in ("iw=1", "iw=4"):
        expected = plain.results.values(cell, "goodput")
        assert len(set(expected)) == 3
        assert np.array_equal(rich.results.values(cell, "goodput"), expected)
        assert np.array_equal(segments.results.values(cell, "goodput"), expected)
    assert {"segments", "cwnd", "queues"} <= set(rich.records)


def test_more_flows_share_one_bottleneck_and_do_not_exceed_it() -> None:
    run = Study.from_toml(edited(('"50ms"', '"10s"'), ("p = 0.01", "p = 0.0"))).run()
    for cell in ("iw=1", "iw=4"):
        goodput = run.results.values(cell, "goodput")[0]
        assert 800 < goodput < 1000 * 1460 / 1500  # kbit/s on 1 Mbit/s, 40 bytes of header each segment


def test_the_whole_table_of_a_study_in_memory_has_every_cell() -> None:
    run = Study.from_toml(TEXT).run()
    cells = run.records["connections"].column("cell").unique().to_pylist()
    assert cells == [cell.id for cell in run.plan.cells]


def test_two_hundred_cells_killed_and_resumed_end_in_the_bytes_of_a_plain_run(tmp_path: Path) -> None:
    losses = ", ".join(f"{i / 20000}" for i in range(100))
    axis = f"[axes.p]\nvalues = [{losses}]\n\n[[quantities]]"
    text = edited(("p = 0.01", 'p = "$p"'), ("[[quantities]]", axis), ("replicates = 3", "replicates = 4"))
    (tmp_path / "study.toml").write_text(text)
    study, out = Study.load(tmp_path / "study.toml"), tmp_path / "out"
    assert len(study.plan().cells) == 200
    command = [sys.executable, "-m", "cwndlab", "run", str(tmp_path / "study.toml"), "-o", str(out)]
    counted = [0]
    for sign in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while process.poll() is None and _lines(out) < counted[-1] + 120:
            time.sleep(0.01)
        process.send_signal(sign)
        process.communicate(timeout=60)
        assert process.returncode == (-9 if sign == signal.SIGKILL else 130)
        counted.append(_lines(out))
    assert counted == sorted(counted) and 360 <= counted[-1] < 800
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plain = study.run(tmp_path / "plain")
    assert plain.failures == [] and len(plain.estimates) == 200
    assert content(out) == content(tmp_path / "plain")
    provenance = json.loads((out / "provenance.json").read_text())
    # Without losses every replicate is the same, so the two cells of p = 0 run once.
    assert provenance["replicates_run"] == 800 - 6 - counted[-1]


def _lines(out: Path) -> int:
    """Replicates that a run under way, or stopped, has kept."""
    return sum(path.read_bytes().count(b"\n") for path in (out / "store").glob("journal-*.log"))


def test_a_notebook_shows_table_and_figure_of_a_run_in_memory(tmp_path: Path) -> None:
    figure = """
[[figures]]
id = "by_window"
title = "Goodput <b>"
kind = "line"
x = "iw"
quantity = "goodput"

"""
    run = Study.from_toml(edited(("[[quantities]]", figure + "[[quantities]]"))).run()
    shown = run._repr_html_()
    assert "<table>" in shown and "<svg" in shown and "Goodput &lt;b&gt;" in shown and "<b>" not in shown
    assert run.figure("by_window").png().startswith(b"\x89PNG")
    with pytest.raises(KeyError, match="by_window"):
        run.figure("by_windw")
    assert "<svg" not in Study.from_toml(TEXT).run()._repr_html_()
