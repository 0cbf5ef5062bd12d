"""A metric measures one window of a run, whatever it is: held by every metric on runs of the engine."""

from __future__ import annotations

import gc
import json
import weakref
from functools import cache
from typing import Any

import numpy as np
import pytest

from cwndlab import _core, metrics
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.records.run_view import WholeRun
from cwndlab.records.window import RunView
from cwndlab.results.execution import find_windows
from small_study import TEXT, edited

S = 1_000_000_000
BUSY = """
title = "all kinds of traffic"
[topology]
nodes = ["client", "r1", "r2", "server"]
[[topology.links]]
between = ["client", "r1"]
rate = "10Mbps"
delay = "1ms"
[[topology.links]]
between = ["r1", "r2"]
rate = "1.5Mbps"
delay = "20ms"
queue = { kind = "red", limit = "30pkt", min_th = 3, max_th = 9, max_p = 0.1, w_q = 0.02, ecn = true }
[[topology.links]]
between = ["r2", "server"]
rate = "10Mbps"
delay = "1ms"
[tcp]
profile = "rfc5681"
[tcp.groups.ecn]
ecn = "rfc3168"
[[traffic]]
name = "bulk"
client = "client"
server = "server"
tcp = "ecn"
app = { kind = "bulk", from = "server" }
[[traffic]]
name = "files"
client = "client"
server = "server"
count = 2
app = { kind = "ftp", file_bytes = "20kB" }
[[traffic]]
name = "crr"
client = "client"
server = "server"
app = { kind = "crr", request_bytes = "200B", response_bytes = "3kB" }
[[traffic]]
name = "web"
client = "client"
server = "server"
count = 2
[traffic.app]
kind = "web"
protocol = "http/1.1"
clock = "syn"
inline_trigger = "whole-primary"
object_bytes = "6kB"
request_bytes = "300B"
inline_objects = 3
think_s = { kind = "exponential", mean = 0.3 }
record_objects = true
[run]
duration = "20s"
[phases]
early = ["0s", "8s"]
late = ["8s", "20s"]
[probes]
segments_at = "server"
queues = ["r2>r1"]
queue_interval = "20ms"
cwnd = true
delays = true
[[quantities]]
name = "rates"
metric = "goodput_series"
options = { interval = 3.0 }
"""
REQUIRED: dict[str, dict[str, Any]] = {
    **{
        name: {"link": "r2>r1"}
        for name in ("drop_rate", "link_utilization", "queue_delay", "queue_length", "red_region")
    },
    "congestion_signals": {"traffic": ["bulk", "files"]},
    "flow_throughput": {"traffic": "bulk"},
    "round_trip": {"traffic": "bulk"},
    "mathis_constant": {"traffic": "bulk", "by": "losses"},
    "largest_window": {"traffic": "bulk"},
    "share": {"traffic": "bulk"},
    "window_halvings": {"traffic": "bulk"},
    **{
        name: {"traffic": "bulk", "interval": 3.0}
        for name in ("rate_variation", "rate_variation_scales", "largest_rate_cut", "largest_rate_rise")
    },
    "halving_time": {"traffic": "bulk", "since": 9.0, "interval": 3.0},
    "convergence_time": {"traffic": ["bulk"], "interval": 3.0},
    "synchronization": {"span": 0.2},
    "goodput_series": {"traffic": "bulk", "interval": 3.0},
    "time_spent": {"part": "queueing", "kind": "file"},
}
#: Metrics that count or add up, so that adjoining windows add up too.
ADDITIVE = {"congestion_signals", "connections", "fast_retransmits", "retransmits", "timeouts", "transferred"}
LISTS = {"dropped_packets", "queue_delay", "queue_length", "retransmission_times"}


@cache
def run(**changes: int) -> WholeRun:
    scenario = {**Study.from_toml(BUSY).plan().cells[0].compiled.scenario, **changes}
    if changes:
        end = scenario["duration_ns"]
        windows = scenario["windows"].items()
        scenario["windows"] = {name: [w[0], min(w[1], end)] for name, w in windows if w[0] < end}
    return WholeRun(_core.run(json.dumps(scenario), 3, 0), scenario)


def measure(name: str, full: WholeRun, start_ns: int, end_ns: int) -> Any:
    view = RunView(full, start_ns, end_ns)
    result = metrics.get(name).measure(view, **REQUIRED.get(name, {}))
    if isinstance(result, np.ndarray):
        return result.tolist()
    return result if isinstance(result, list) else float(result)


@pytest.mark.parametrize("name", metrics.names())
def test_a_window_from_the_start_gives_what_a_run_gives_that_ends_there(name: str) -> None:
    shorter = run(duration_ns=8 * S - 1)
    wanted = measure(name, shorter, 0, 8 * S - 1)
    assert measure(name, run(), 0, 8 * S) == pytest.approx(wanted, rel=1e-6, nan_ok=True)
    assert wanted != pytest.approx(measure(name, run(), 0, 20 * S), rel=1e-9) or name in (
        # of the first retransmission, which is in both; no connection ends in 20 s
        *("retransmission_time", "timeout_time", "timeout_wait", "connection_durations"),
        "largest_window",  # that of slow start
        # all sizes are fixed, and no packet is lost at random
        *("excess_bytes", "excess_losses"),
    )


@pytest.mark.parametrize("name", metrics.names())
def test_a_metric_returns_a_list_if_it_declares_many_numbers(name: str) -> None:
    returned = metrics.get(name).measure(RunView(run(), 0, 20 * S), **REQUIRED.get(name, {}))
    assert isinstance(returned, list | np.ndarray) is metrics.get(name).many


@pytest.mark.parametrize("name", sorted(ADDITIVE | LISTS))
def test_counts_of_adjoining_windows_add_up(name: str) -> None:
    early, late = measure(name, run(), 0, 8 * S), measure(name, run(), 8 * S, 20 * S)
    assert late
    assert early + late == measure(name, run(), 0, 20 * S)


def test_queues_links_and_senders_are_of_the_window() -> None:
    for name in ("link_utilization", "red_region", "goodput", "round_trip"):
        early, late, whole = (
            measure(name, run(), start * S, end * S) for start, end in ((0, 8), (8, 20), (0, 20))
        )
        assert min(early, late) < whole < max(early, late), name


def test_a_quantity_is_measured_in_its_window_or_phase() -> None:
    text = BUSY.replace('duration = "20s"', 'duration = "20s"\nwarmup = "5s"')
    for name, key in (
        ("default", ""),
        ("window", 'window = ["8s", "20s"]'),
        ("phase", 'window = "late"'),
        ("whole", 'window = "run"'),
    ):
        text += f'[[quantities]]\nname = "{name}"\nmetric = "goodput"\nunit = "Mbps"\n{key}\n'
    study = Study.from_toml(text)
    cell = study.plan().cells[0]
    view = WholeRun(_core.run(cell.scenario, 3, 0), cell.compiled.scenario)
    found = metrics.Measurer(study.outline.quantities).measure(view)
    spans = {"default": (5, 20), "window": (8, 20), "phase": (8, 20), "whole": (0, 20)}
    for name, (start, end) in spans.items():
        assert found[name] == pytest.approx(measure("goodput", view, start * S, end * S) / 1e6)
    assert found["default"] != found["phase"] != found["whole"]


def test_counters_that_a_run_did_not_keep_are_no_numbers() -> None:
    with pytest.raises(KeyError, match="kept no counters at 7 s"):
        measure("goodput", run(), 7 * S, 20 * S)


@pytest.mark.parametrize(
    ("key", "problem", "right"),
    [
        ('window = ["10s", "40s"]', "this window ends at 40 s", 'write run.duration = "40s" or more'),
        ('window = ["20ms", "10ms"]', "before it begins", ""),
        ('window = ["20", "10ms"]', "it has no unit", ""),
        ('window = "late"', 'there is no phase "late"', ""),
        ('phase = "late"', "there is no key 'phase' any more", 'write window = "late"'),
        ("whole_run = true", "there is no key 'whole_run' any more", 'write window = "run"'),
    ],
)
def test_a_window_that_does_not_fit_is_found_with_its_line(key: str, problem: str, right: str) -> None:
    text = TEXT + key + "\n"
    with pytest.raises(StudyError) as caught:
        Study.from_toml(text)
    assert problem in str(caught.value) and right in str(caught.value)
    assert caught.value.line is not None and caught.value.line > text.splitlines().index("[[quantities]]")


def test_a_phase_that_ends_after_the_run_is_an_error() -> None:
    with pytest.raises(StudyError, match=r"phases.late.*this window ends at 1 s"):
        Study.from_toml(TEXT.replace("[probes]", '[phases]\nlate = ["10ms", "1s"]\n[probes]'))


def test_results_know_the_window_of_each_quantity() -> None:
    more = '\n[[quantities]]\nname = "late"\nmetric = "goodput"\nwindow = ["20ms", "40ms"]\n'
    more += '\n[[quantities]]\nname = "gain"\nderived = "late / goodput"\n'
    text = edited(("replicates = 3", 'replicates = 1\nwarmup = "10ms"'), ('unit = "kbit/s"\n', more))
    run = Study.from_toml(text).run()
    windows = find_windows(run.campaign, run.results)
    asked = [windows.get((run.results.cells[0].id, name)) for name in ("goodput", "late", "gain")]
    assert asked == [(0.01, 0.05), (0.02, 0.04), None]


def test_a_quantity_may_come_before_those_that_it_is_derived_from() -> None:
    text = (
        BUSY
        + """
[[quantities]]
name = "share"
derived = "twice / goodput"
[[quantities]]
name = "twice"
derived = "goodput + goodput"
[[quantities]]
name = "goodput"
metric = "goodput"
"""
    )
    study = Study.from_toml(text)
    cell = study.plan().cells[0]
    view = WholeRun(_core.run(cell.scenario, 3, 0), cell.compiled.scenario)
    found = metrics.Measurer(study.outline.quantities).measure(view)
    assert found["goodput"] == measure("goodput", view, 0, 20 * S)
    assert found["share"] == 2.0


def test_the_records_of_a_measured_run_are_freed_at_once() -> None:
    study = Study.from_toml(BUSY + '[[quantities]]\nname = "goodput"\nmetric = "goodput"\n')
    cell = study.plan().cells[0]
    view = WholeRun(_core.run(cell.scenario, 3, 0), cell.compiled.scenario)
    gc.disable()
    try:
        freed = weakref.ref(view)
        metrics.Measurer(study.outline.quantities).measure(view)
        del view
        assert freed() is None
    finally:
        gc.enable()
