"""Results made up for tests of statistics and report: no run, but shaped like one."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cwndlab.apps.reproduction import differences
from cwndlab.apps.twin.kernel_twin import KernelTwin
from cwndlab.apps.twin.twin import Twin
from cwndlab.base.numbers import ANY, NON_NEGATIVE, Columns, Range
from cwndlab.report.contents import Outputs
from cwndlab.report.judge import judge
from cwndlab.report.model import Fact, LiveView, ReportView
from cwndlab.report.verdict_files import write_verdicts
from cwndlab.report.write import build_view, draw_figures, write
from cwndlab.stats.results import CellRecords, Results, Variation
from cwndlab.stats.sample import Sample, Streams
from cwndlab.study.cells import CellInfo
from cwndlab.study.labels import AxisInfo, Labels, QuantityInfo
from cwndlab.study.outputs import Scalar

EXACT = Streams("exact")


def sample(values: Any, within: Range = ANY, statistic: str = "mean", **more: Any) -> Sample:
    """Runs of a quantity with this range, paired with all others unless `streams` are given."""
    return Sample(np.asarray(values), range=within, statistic=statistic, **more)


def grid(**axes: list[Scalar]) -> tuple[CellInfo, ...]:
    """All combinations of the axes."""
    return tuple(
        CellInfo(
            ",".join(f"{k}={v}" for k, v in zip(axes, combo, strict=True)),
            dict(zip(axes, combo, strict=True)),
        )
        for combo in itertools.product(*axes.values())
    )


def segments(lines: list[tuple[float, str, int | None, list[int]]]) -> Columns:
    """The segment records of a listing: (time, event, packet acknowledged, packets sent)."""
    rows: list[tuple[int, str, int]] = []
    sent: set[int] = set()
    for time, event, acked, answer in lines:
        at = round(time * 1e9)
        if acked is not None:
            rows.append((at, event, acked))
        for packet in answer:
            rows.append((at, "retransmit" if packet in sent else "send", packet))
            sent.add(packet)
    return columns(rows)


def columns(rows: list[tuple[int, str, int]]) -> Columns:
    """Columns of the segments table from (time in ns, event, packet)."""
    return {
        "time_ns": np.array([r[0] for r in rows], dtype=np.uint64),
        "event": np.array([r[1] for r in rows]),
        "segment": np.array([r[2] for r in rows], dtype=np.int64),
        "connection": np.zeros(len(rows), dtype=np.uint32),
        "from_client": np.ones(len(rows), dtype=bool),
    }


ONE = [
    (0.0, "start", None, [1]), (1.2223, "ack", 1, [2, 3]), (2.4446, "ack", 2, [4, 5]),
    (3.2779, "ack", 3, [6, 7]), (4.1113, "ack", 4, [8, 9]), (4.9446, "ack", 5, [10, 11]),
    (5.7779, "ack", 6, [12, 13]),
    (6.6113, "dupack", 6, []), (7.4446, "dupack", 6, []), (8.2779, "dupack", 6, [7]),
]  # fmt: skip
FOUR = [
    (0.0, "start", None, [1, 2, 3, 4]), (1.2223, "ack", 1, [5, 6]), (2.0556, "ack", 2, [7, 8]),
    (2.8889, "ack", 3, [9, 10]), (3.7223, "dupack", 3, []),
    (4.5556, "dupack", 3, []), (5.3889, "dupack", 3, [4]),
]  # fmt: skip


def make_labels(
    units: Mapping[str, str],
    *,
    statistics: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    adjustments: Mapping[str, Sequence[str]] | None = None,
    centred: Collection[str] = (),
    titles: Mapping[str, str] | None = None,
    axes: Mapping[str, AxisInfo] | None = None,
    names: Mapping[str, Mapping[str, Scalar]] | None = None,
) -> Labels:
    """Quantities with these units, of which other things are known, too."""
    quantities = {
        name: QuantityInfo(
            unit,
            (titles or {}).get(name, ""),
            (ranges or {}).get(name, ANY),
            (statistics or {}).get(name, "mean"),
            (adjustments or {}).get(name, ()),
            name in centred,
        )
        for name, unit in units.items()
    }
    return Labels(quantities, axes or {}, names or {})


def make_results(
    cells: tuple[CellInfo, ...],
    units: Mapping[str, str],
    data: Mapping[tuple[str, str], Sequence[Any]],
    *,
    deterministic: Collection[str] = (),
    seeds: Mapping[str, str] | None = None,
    records: CellRecords | None = None,
    **labels: Any,
) -> Results:
    """Results of quantities with these units; `labels` are as of `make_labels`."""
    made = make_labels(units, **labels)
    kept = records or CellRecords()
    return Results(cells, made, data, deterministic=deterministic, seeds=seeds or {}, records=kept)


class Tables(CellRecords):
    """Record tables by cell and name."""

    def __init__(self, tables: Mapping[tuple[str, str], Columns]) -> None:
        self.tables = tables

    def table(self, cell: str, name: str) -> Columns:
        return self.tables[cell, name]


def report(
    outputs: Outputs,
    results: Results,
    folder: Path,
    *,
    facts: Sequence[Fact] = (),
    variations: Sequence[Variation] = (),
    twin: Twin | None = None,
    runnable: str = "",
) -> ReportView:
    """Writes a whole report of results, and returns what it shows."""
    judged = judge(outputs, results)
    kernel = KernelTwin.from_results(judged, twin) if twin is not None else None
    if kernel is None:
        drawings = draw_figures(outputs, outputs.figures, results, judged.omitted)
    else:
        drawings = list(kernel.draw())
        kernel.save(folder)
    write_verdicts(judged, folder)
    explained = differences.view(judged, variations, None)
    view = build_view(judged, drawings, explained, kernel.view() if kernel is not None else None)
    view = view._replace(facts=tuple(facts), live=LiveView(runnable) if runnable else None)
    write(view, judged, folder)
    return view


def rfc2416() -> Results:
    """The memo's own listings as if we had run them, times a little off for `as-written`."""
    cells = grid(variant=["tahoe", "reno", "sack"], iw=[1, 4], size=["as-traced", "as-written"])
    data: dict[tuple[str, str], list[Any]] = {}
    tables: dict[tuple[str, str], Columns] = {}
    for cell in cells:
        slow = 1.0 if cell.axes["size"] == "as-traced" else 1.02
        lines = [(t * slow, e, a, s) for t, e, a, s in (ONE if cell.axes["iw"] == 1 else FOUR)]
        tables[(cell.id, "segments")] = segments(lines)
        tables[(cell.id, "cwnd")] = {
            "time_ns": np.array([round(t * 1e9) for t, *_ in lines], dtype=np.uint64),
            "connection": np.zeros(len(lines), dtype=np.uint32),
            "from_client": np.ones(len(lines), dtype=bool),
            "cwnd_bytes": np.arange(1, len(lines) + 1) * 1000,
            "ssthresh_bytes": np.full(len(lines), 2**62),
        }
        tables[(cell.id, "queues")] = {
            "time_ns": tables[(cell.id, "cwnd")]["time_ns"],
            "link": np.zeros(len(lines), dtype=np.uint32),
            "packets": np.arange(len(lines)) % 4,
        }
        shift = 0.0 if cell.axes["iw"] == 1 else 0.389
        data[(cell.id, "delivery")] = [[slow * (1.2 + 0.8333 * n) - shift for n in range(60)]]
        data[(cell.id, "goodput")] = [9.1 + 0.1 * shift]
        data[(cell.id, "drops")] = [[7.0, 9.0, 11.0, 13.0] if cell.axes["iw"] == 1 else [4.0, 6.0, 8.0, 10.0]]
        data[(cell.id, "timeouts")] = [1.0]
        data[(cell.id, "first_retransmission")] = [8.278 if cell.axes["iw"] == 1 else 5.389]

    return make_results(
        cells,
        {"delivery": "s", "goodput": "kbit/s", "drops": "", "timeouts": "", "first_retransmission": "s"},
        data,
        names={
            "one": {"variant": "tahoe", "iw": 1, "size": "as-traced"},
            "four": {"variant": "tahoe", "iw": 4, "size": "as-traced"},
        },
        deterministic={cell.id for cell in cells},
        records=Tables(tables),
    )


def rfc2415(
    replicates: int = 10, decrease: Mapping[int, float] | None = None, spread: float = 0.03
) -> Results:
    """A web workload: delays fall with the initial window; replicates share their randomness."""
    gain = decrease or {1: 0.0, 2: 0.143, 3: 0.179, 4: 0.161}
    cells = grid(webs=[8, 16, 32], ftps=[0, 1, 2, 3], iw=[1, 2, 3, 4])
    rng = np.random.default_rng(2415)
    base = {8: (0.56, 1.06, 1.18, 1.26), 16: (0.64, 1.04, 1.22, 1.31), 32: (0.92, 1.19, 1.43, 1.56)}
    common = rng.normal(1.0, spread, replicates)
    data: dict[tuple[str, str], list[Any]] = {}
    for cell in cells:
        webs, ftps, iw = (int(cell.axes[a]) for a in ("webs", "ftps", "iw"))
        own = rng.normal(1.0, spread / 5, replicates)
        delay = base[webs][ftps] * (1 - gain[iw]) * common * own
        data[(cell.id, "page_delay")] = delay.tolist()
        data[(cell.id, "page_delays")] = [rng.lognormal(np.log(d), 0.5, 50).tolist() for d in delay]
        data[(cell.id, "power")] = (1.0 / delay).tolist()
    units = {"page_delay": "s", "page_delays": "s", "power": "MB/s"}
    return make_results(cells, units, data, ranges=dict.fromkeys(units, NON_NEGATIVE))
