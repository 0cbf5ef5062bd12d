"""What each end of a connection on a kernel sent and received, for tests of `cwndlab-tcp`.

A file holds one end of a study in `identical`, or of a scenario of `cwndlab differ --wide`. Its first lines
are the kernel's release, the application, and the TCP settings that differ from the profile's. Each further
line is a segment at this end: the nanoseconds since the one before, `>` (sent) or `<` (received), and the
fields that differ from the one before in this direction.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from cwndlab.api import Study
from cwndlab.base.arrow_tables import decode_tables
from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.work import MeasuredRuns
from cwndlab.study.toml import dumps
from cwndlab_linux.differ.random_scenario import HZ
from cwndlab_linux.differ.sides import KernelRun, choose_segments, stack_of
from cwndlab_linux.differ.wide_scenario import draw_wide
from cwndlab_linux.stack import Stack
from cwndlab_linux.stack_file import stack_for
from cwndlab_linux.virtual.backend import VirtualKernel
from cwndlab_linux.virtual.images import Image

STUDIES = Path(__file__).with_name("identical")
FOLDER = Path(__file__).parents[2] / "crates/cwndlab-tcp/recorded"
#: How many segments of an end are kept.
KEPT = 450
#: The fields of a segment, each with its letter.
FIELDS = {
    "seq": "s",
    "len": "l",
    "ack": "a",
    "window_bytes": "w",
    "flags": "f",
    "ecn": "e",
    "ts_val": "v",
    "ts_ecr": "r",
    "mss_bytes": "m",
    "window_scale": "c",
    "sack_permitted": "p",
    "sack": "k",
}


def lines_of(rows: list[Mapping[str, Any]]) -> list[str]:
    """The lines of the segments of one end."""
    lines = []
    before: dict[bool, dict[str, str]] = {True: {}, False: {}}
    at_ns = 0
    for row in rows:
        words = [str(row["time_ns"] - at_ns), ">" if row["sent"] else "<"]
        at_ns = row["time_ns"]
        known = before[row["sent"]]
        for name, letter in FIELDS.items():
            value = row[name]
            if name == "window_scale" and value is not None:
                value += 1  # 0: without the option
            text = ",".join(map(str, value)) if isinstance(value, list) else str(int(value or 0))
            if known.get(name, "" if name == "sack" else "0") != text:
                words.append(letter + text)
            known[name] = text
        lines.append(" ".join(words))
    return lines


def profile() -> dict[str, Any]:
    """The TCP settings of the profile, as the engine takes them."""
    tables = tomllib.loads((STUDIES / "paws-old-duplicate.toml").read_text(encoding="utf-8"))
    tables["tcp"] = {"profile": "linux-6"}
    del tables["traffic"][0]["tcp"]
    (tcp,) = Study.from_toml(dumps(tables)).plan().cells[0].compiled.scenario["tcp"]
    return dict(tcp)


def changed(tcp: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The TCP settings that differ from the profile's."""
    both = {key: (value, base.get(key)) for key, value in tcp.items() if value != base.get(key)}
    return {key: changed(value, old) if key == "rto" else value for key, (value, old) in both.items()}


def case_of(name: str, *, trains: bool) -> tuple[Study, Stack]:
    """The study and the kernel's set-up: a study in `identical`, or `wide-SEED-INDEX` of `cwndlab differ`."""
    if name.startswith("wide-"):
        drawn = draw_wide(*map(int, name.split("-")[1:]), trains=trains)
        return Study.from_toml(drawn.to_toml()), stack_of(trains=trains, more=drawn.sysctls)
    study = Study.load(STUDIES / f"{name}.toml")
    stack = stack_for(study, str(STUDIES / f"{name}.stack.toml"))
    return study, replace(stack, segments=choose_segments(trains=trains))


def record(name: str, end: str, image: Image, *, trains: bool) -> str:
    """Runs a study on a kernel, and gives the file of one end."""
    study, stack = case_of(name, trains=trains)
    plan = study.set({"probes.segments_at": end}).plan()
    (cell,) = plan.cells
    kernel = VirtualKernel(stack, image=image)
    outcomes: list[Outcome] = []
    job = Job(name, name, cell.scenario, plan.derive_seed(cell), 0, keep_records=True)
    kernel.execute([job], MeasuredRuns(()), outcomes.append)
    (outcome,) = outcomes
    assert outcome.records is not None, outcome.error
    tables = decode_tables(outcome.records, name)
    rows = [row for row in tables["segments"].to_pylist() if row["event"] not in ("drop", "mark")]
    phase_ns = KernelRun((), (), kernel.stamps[name]["clock_zero_ns"]).tick_phase_ns
    (entry,) = cell.compiled.scenario["traffic"]
    tcp = deepcopy(cell.compiled.scenario["tcp"][entry[f"tcp_{end}"]])
    tcp["rto"] |= {"timer_hz": HZ, "tick_phase_ns": phase_ns}
    tcp["trains"] = "linux" if trains else tcp["trains"]
    settings = json.dumps(changed(tcp, profile()))
    head = [f"kernel {image.release}", f"app {json.dumps(entry['app'])}", f"tcp {settings}"]
    return "\n".join([*head, *lines_of(rows[:KEPT])]) + "\n"
