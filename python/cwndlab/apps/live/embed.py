"""The live part of a report: the engine as WebAssembly, and the scenarios that the page can run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cwndlab import _core, report
from cwndlab.report.model import LiveView, Simulator

if TYPE_CHECKING:
    from cwndlab import Diagnosis

_LIVE = Path(report.__file__).parent / "live"

#: Scripts of the page's main thread, each after those that it uses; the others run in its Worker.
GRAPH_SCRIPTS = ("axes.js", "plot.js", "panel.js", "graphs.js")
PAGE_SCRIPTS = {"page.js": ("reading.js",)}
WORKER_SCRIPTS = ("run.js", "worker.js")


class RunnableCell(NamedTuple):
    """The data with which a page simulates a cell again."""

    title: str
    scenario: str
    """The scenario as JSON."""
    replicates: int
    digest: str
    """Digest of all records of replicate 0."""
    diagnosis: Diagnosis | None = None
    """The diagnosis of replicate 0; None if it is not shown."""


def embed(module: bytes, seed: int, cells: Mapping[str, RunnableCell]) -> LiveView:
    """The live part of a page; `module` is the compressed engine."""
    if not cells:
        return LiveView("No cell of its tables is short enough to run on a page.")
    content = {"seed": str(seed), **_share_sections(cells)}
    places = {name: place for place, name in enumerate(sorted(cells))}
    return LiveView(simulator=simulator(module, content, "page.js"), runnable=places)


def simulator(module: bytes, content: Mapping[str, Any], last: str) -> Simulator:
    """The data and scripts that a page embeds, with `last` as the file name of the page's own script.

    `module` is the compressed engine, empty if the page's server makes the runs; `content` is what scripts
    read.
    """
    text = script(last)
    return Simulator(
        engine=base64.b64encode(module).decode(),
        data=base64.b64encode(gzip.compress(_json(content).encode(), 9, mtime=0)).decode(),
        script=text,
        script_hash=base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        worker="".join(map(_read, WORKER_SCRIPTS)),
    )


@lru_cache(maxsize=2)
def script(last: str) -> str:
    """A page's script, wrapped in one block so that nothing is global; `last` is the page's own part."""
    return '"use strict";{\n' + "".join(map(_read, (*GRAPH_SCRIPTS, *PAGE_SCRIPTS.get(last, ()), last))) + "}"


def _read(name: str) -> str:
    return (_LIVE / name).read_text(encoding="utf-8")


def engine_module(engine: str) -> bytes | str:
    """The compressed engine for pages, or a text on why there is none with this digest."""
    module = _LIVE / "engine.wasm.gz"
    if not module.is_file():
        return (
            "This cwndlab was built without the Rust target wasm32-unknown-unknown, so the page cannot run "
            "its cells; `make setup` says how to install it."
        )
    if (_LIVE / "engine.txt").read_text().strip() != engine or _core.engine_digest() != engine:
        return (
            "Another version of the engine made these runs, or pages have an older one (`make setup` renews "
            "it), so the page cannot run its cells."
        )
    return module.read_bytes()


def _share_sections(runnable: Mapping[str, RunnableCell]) -> dict[str, Any]:
    """The cells as JSON data, in which each section that several scenarios share is stored once."""
    places: dict[str, int] = {}
    cells: dict[str, dict[str, Any]] = {}
    for name, cell in runnable.items():
        scenario = json.loads(cell.scenario)
        sections = {key: places.setdefault(_json(value), len(places)) for key, value in scenario.items()}
        cells[name] = {
            "title": cell.title,
            "sections": sections,
            "replicates": cell.replicates,
            "digest": cell.digest,
        }
        if cell.diagnosis is not None:
            cells[name]["waits"] = [
                {
                    "connection": wait.serial,
                    "start": wait.start_s,
                    "end": wait.end_s,
                    "text": wait.summary,
                    "steps": [(step.time_ns / 1e9, step.text) for step in wait.steps],
                }
                for wait in cell.diagnosis.waits
            ]
    return {"cells": cells, "sections": [json.loads(section) for section in places]}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
