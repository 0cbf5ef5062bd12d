"""Whole runs on the real engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from test_store import content

from cwndlab.study.load import Study
from small_study import TEXT, edited


def test_one_and_two_threads_give_the_same_bytes(tmp_path: Path) -> None:
    study = Study.from_toml(edited(("replicates = 3", "replicates = 40"), ('"50ms"', '"400ms"')))
    one = study.run(tmp_path / "one", threads=1)
    study.run(tmp_path / "two", threads=2)
    assert one.failures == [] and one.packets > 1000
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
