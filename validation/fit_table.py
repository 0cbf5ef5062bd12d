"""Measure how well `cwndlab fit` recovers known paths: `python -m validation.fit_table`.

Random paths each get a transfer in the simulator (every tenth on Linux in virtual time), whose capture is
fitted. The fit is compared with the path, and the fitted study's prediction for BBR with a run of BBR on the
path. Finished rows are stored in a file; run the same command again to continue.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cwndlab.api import Study
from cwndlab.apps.captures.from_capture import read
from cwndlab.apps.fit.fit_result import CaptureFit
from cwndlab.apps.fit.fitted_study import FLOW, MODEL_ERROR
from cwndlab.apps.fit.fitting import FitRefusedError, fit_conversation
from cwndlab.apps.fit.stated_parameters import StatedParameters
from cwndlab.base.arrow_tables import read_table
from cwndlab.base.core import Records
from cwndlab.results.execution import find_kernel_executor
from cwndlab.runs.run_options import RunOptions
from cwndlab.runs.work import MeasuredRuns, run_here

from .fit_table_page import FINAL, page

ROOT = Path(__file__).parents[1]
PAGE, ROWS = ROOT / "docs/evidence/fit-accuracy.md", ROOT / "build/fit-rows.jsonl"
SECONDS = 20
#: The least packets in a buffer, and the size of a packet in bytes.
FEWEST_PACKETS, PACKET = 6, 1500
#: The congestion control to predict: in the simulator, and on Linux 6.12, which has BBR version 1.
WHAT_IF, WHAT_IF_LINUX = "bbr3", "bbr1"
#: One path of this many runs on Linux, the others in the simulator.
LINUX_EVERY = 10
LIMITS = ("network", "network", "network", "network", "network", "network", "short", "reader")


@dataclass(frozen=True)
class TruePath:
    """A path with known parameters, and the transfer over it."""

    seed: int
    rate_mbps: float
    rtt_ms: float
    #: The buffer as drawn, in BDPs; `buffer_bytes` is at least a few packets.
    buffer_bdp: float
    loss_percent: float
    cc: str
    #: "none", "datagrams" (Poisson) or "tcp", and the datagrams' share of the rate.
    cross: str
    share: float
    #: The other TCP flow's congestion control, and its base round trip as a multiple of the tested flow's.
    rival_cc: str
    rival_rtt: float
    #: The limit of the transfer: "network", "short" (100 segments) or "reader" (reads at half the rate).
    limit: str
    #: The backend that runs the transfer.
    backend: str

    @classmethod
    def drawn(cls, seed: int) -> TruePath:
        """A random path."""
        rng = random.Random(seed)
        rate, rtt = 2 * 25 ** rng.random(), 10 * 20 ** rng.random()
        buffer = 0.25 * 16 ** rng.random()
        loss, cc = rng.choice([0, 0.1]), rng.choice(["cubic", "reno", "bbr1"])
        cross = rng.choice(["none", "none", "datagrams", "tcp"])
        share, limit = rng.uniform(0.1, 0.4), rng.choice(LIMITS)
        rival, ratio = rng.choice(["cubic", "reno", "bbr1"]), 0.5 * 4 ** rng.random()
        backend = "simulator" if seed % LINUX_EVERY else "linux-virtual"
        return cls(seed, rate, rtt, buffer, loss, cc, cross, share, rival, ratio, limit, backend)

    @property
    def rate_bps(self) -> float:
        """The rate as rounded in the study."""
        return round(self.rate_mbps * 1e3) * 1e3

    @property
    def base_s(self) -> float:
        """The base round trip as rounded in the study."""
        return round(self.rtt_ms * 1e3) / 1e6

    @property
    def buffer_bytes(self) -> int:
        """The buffer as rounded in the study."""
        return max(round(self.buffer_bdp * self.bdp_bytes), FEWEST_PACKETS * PACKET)

    @property
    def bdp_bytes(self) -> float:
        """The bandwidth-delay product."""
        return self.rate_bps * self.base_s / 8

    @property
    def has_whole_packets(self) -> bool:
        """Whether the buffer is a whole number of packets, like one that is limited in packets."""
        return self.buffer_bytes % PACKET == 0

    def study(self, cc: str) -> Study:
        """The study of this transfer with a congestion control, on its path and next to its cross traffic."""
        flow: dict[str, Any] = {"name": "tested", "cc": cc, "start": "0s"}
        if self.limit == "short":
            flow["bytes"] = "145kB"
        elif self.limit == "reader":
            flow["app"] = {"kind": "bulk", "read_rate": f"{self.rate_mbps * 500:.0f}kbps"}
        flows = [flow]
        if self.cross == "datagrams":
            app = {"kind": "poisson", "rate": f"{self.share * self.rate_mbps * 1e3:.0f}kbps"}
            flows.append({"name": "cross", "start": "0s", "app": app})
        elif self.cross == "tcp":
            rtt = f"{self.rtt_ms * self.rival_rtt * 1e3:.0f}us"
            flows.append(
                {"name": "cross", "cc": self.rival_cc, "rtt": rtt, "start": {"uniform": ["0s", "5s"]}}
            )
        network = {
            "rate": f"{self.rate_mbps * 1e3:.0f}kbps",
            "rtt": f"{self.rtt_ms * 1e3:.0f}us",
            "buffer": f"{self.buffer_bytes}B",
            "flows": flows,
        }
        if self.loss_percent:
            network["loss"] = f"{self.loss_percent}%"
        tables = {
            "title": "a known path",
            "measure": ["goodput", "queue_delay"],
            "dumbbell": network,
            "run": {"duration": f"{SECONDS}s"},
            "probes": {"segments_at": "tested_sender", "queue_interval": "10ms"},
        }
        return Study.from_dict(tables)


@dataclass
class Row:
    """The result of a fit for a path."""

    path: TruePath
    #: Losses of the flow at a full queue.
    full_losses: int = 0
    reasons: tuple[str, ...] = ()
    law: str = ""
    #: Whether the fit warns that its study explains the capture only in part.
    warned: bool = False
    #: Relative errors in percent for rate and buffer; for the round trip, milliseconds.
    errors: dict[str, float] = field(default_factory=dict)
    #: Whether the draws alone cover the true value; simulated hosts are exact.
    covered: dict[str, bool] = field(default_factory=dict)
    #: Whether the full intervals, with allowances for hosts, cover the true value.
    covered_on_hosts: dict[str, bool] = field(default_factory=dict)
    #: Widths of the intervals of predictions, in percent of their median.
    widths: dict[str, float] = field(default_factory=dict)
    #: The fitted response of the cross traffic.
    response: str = ""
    cpu_s: float = 0.0


def measure(path: TruePath, *, answers: bool = True) -> Row:
    """Fits the capture of one path; with `answers`, also predicts the other congestion control."""
    seed, plan = path.seed, path.study(path.cc).plan()
    kernel = find_kernel_executor(RunOptions(backend=path.backend), plan)
    records: Records = (
        run_here(plan.cells[0].scenario, seed, 0, ())
        if kernel is None
        else kernel.record(plan.cells[0], seed, 0, MeasuredRuns(()))
    )
    row = Row(path, _full_losses(read_table(records.table("segments"))))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "capture.pcapng"
        records.write_trace(str(file), "pcapng")
        conversation = read(file)[0]
        began = time.process_time()
        stated = StatedParameters()
        for _ in range(3):  # state what the fit lacks, to measure the rest
            try:
                fit = fit_conversation(file, conversation, stated, seed=seed, threads=1)
            except FitRefusedError as refused:
                row.reasons = (*row.reasons, *refused.reasons)
                stated = _stated(path, row.reasons)
                if FINAL & set(row.reasons):
                    break
            else:
                row.cpu_s = time.process_time() - began
                row.warned = bool(fit.fitted.warnings)
                _compare(row, fit)
                if answers and path.limit == "network":
                    _what_if(row, fit)
                break
    return row


def _stated(path: TruePath, reasons: Iterable[str]) -> StatedParameters:
    return StatedParameters(
        cc=path.cc if "cc" in reasons else None,
        rtt_s=path.base_s if "rtt" in reasons else None,
        buffer_bytes=path.buffer_bytes if "buffer" in reasons else None,
    )


def _full_losses(table: Any) -> int:
    """The number of the flow's segments that a full queue dropped."""
    drops = [
        (cause, connection)
        for cause, connection in zip(
            table.column("cause").to_pylist(), table.column("connection").to_pylist(), strict=True
        )
        if cause == "full"
    ]
    return sum(connection == 0 for _, connection in drops)


def _compare(row: Row, fit: CaptureFit) -> None:
    path = row.path
    truths = {
        "rate": path.rate_bps / 1e6,
        "rtt": path.base_s * 1e3,
        "buffer": path.buffer_bytes / 1e3,
        "loss": path.loss_percent,
    }
    for one in fit.fitted.parameters:
        if one.name == "response of cross traffic":
            row.response = str(one.value or "either")
        if one.name == "cc" and not one.stated:
            row.law = str(one.value)
        if one.name not in truths or one.stated or one.low is None or one.high is None:
            continue
        truth, value = truths[one.name], float(one.value or 0.0)
        row.errors[one.name] = value - truth if one.name in ("rtt", "loss") else 100 * (value / truth - 1)
        row.covered[one.name] = one.low + one.hosts <= truth <= one.high - one.hosts
        row.covered_on_hosts[one.name] = one.low <= truth <= one.high


def _what_if(row: Row, fit: CaptureFit) -> None:
    """Compares the fitted study's prediction for another law with a run on the path itself."""
    path = row.path
    simulated = path.backend == "simulator"
    law = WHAT_IF if simulated else WHAT_IF_LINUX
    true = _answers(path.study(law), path.seed + 1, path.backend)[0]
    host = {} if simulated else {f"tcp.groups.{FLOW}.max_train_segments": 1}  # as the guest's device requires
    said = _answers(Study.from_dict(fit.study).set({"cc": law, **host}))
    for name, truth in true.items():
        values = [one[name] for one in said]
        wider = MODEL_ERROR if name == "goodput" else 0.0
        row.covered[name] = (1 - wider) * min(values) <= truth <= (1 + wider) * max(values)
        row.errors[name] = 100 * (statistics.median(values) / truth - 1) if truth else 0.0
        row.widths[name] = 100 * (max(values) - min(values)) / statistics.median(values)


def _answers(study: Study, seed: int | None = None, backend: str = "simulator") -> list[dict[str, float]]:
    """Goodput and mean queueing delay in each cell of a study."""
    values = study.run(seed=seed, backend=backend, threads=1).values.to_pylist()
    found: dict[str, dict[str, float]] = {}
    for one in values:
        if one["quantity"] in ("goodput", "goodput_tested", "goodput_flow"):
            found.setdefault(one["cell"], {})["goodput"] = one["value"]
        elif one["quantity"] == "queue_delay_mean":
            found.setdefault(one["cell"], {})["delay"] = one["value"]
    return list(found.values())


def row_of(found: dict[str, Any]) -> Row:
    """A row from its stored form."""
    return Row(**{**found, "path": TruePath(**found["path"]), "reasons": tuple(found["reasons"])})


def main() -> None:
    """Measure the rows and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, default=ROWS, help="finished rows, one a line")
    parser.add_argument("--out", type=Path, default=PAGE)
    asked = parser.parse_args()
    paths = [TruePath.drawn(asked.seed * 10_000 + k) for k in range(asked.paths)]
    rows = measure_all(paths, measure, asked.rows, asked.jobs)
    asked.out.write_text(page(rows, asked.seed), encoding="utf-8")


def measure_all(
    paths: Sequence[TruePath], measured: Callable[[TruePath], Row], kept: Path, jobs: int
) -> list[Row]:
    """A row for each path; finished rows are stored in a file and read again for the same paths."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    rows = {row.path: row for row in map(row_of, map(json.loads, lines))}
    kept.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool, kept.open("a", encoding="utf-8") as file:
        # No chunks, because a path takes between a second and a minute.
        for row in pool.map(measured, [path for path in paths if path not in rows]):
            rows[row.path] = row
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()
    return [rows[path] for path in paths]


if __name__ == "__main__":
    main()
