"""The live part of a report: the engine as WebAssembly and the cells' scenarios, for the page to run."""

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

#: On the page's own thread, each after those it uses; the others run in its Worker.
GRAPH_SCRIPTS = ("axes.js", "plot.js", "panel.js", "graphs.js")
PAGE_SCRIPTS = {"page.js": ("reading.js",)}
WORKER_SCRIPTS = ("run.js", "worker.js")


class RunnableCell(NamedTuple):
    """What a page needs to simulate a cell again."""

    title: str
    scenario: str
    """Its JSON."""
    replicates: int
    digest: str
    """Of all records of replicate 0."""
    diagnosis: Diagnosis | None = None
    """What kept the senders of replicate 0 from sending, if that is shown."""


def embed(module: bytes, seed: int, cells: Mapping[str, RunnableCell]) -> LiveView:
    """The live part of a page, which can run cells of a study again; `module` is the compressed engine."""
    if not cells:
        return LiveView("No cell of its tables is short enough to run on a page.")
    content = {"seed": str(seed), **_share_sections(cells)}
    places = {name: place for place, name in enumerate(sorted(cells))}
    return LiveView(simulator=simulator(module, content, "page.js"), runnable=places)


def simulator(module: bytes, content: Mapping[str, Any], last: str) -> Simulator:
    """What a page carries: the compressed module, the content that its script reads, and the script.

    `last` is the part of the script that is the page's own. Without a module, the page's server makes the
    runs.
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
    """A page's script, in one function so that nothing of it is global; `last` is the part of its own."""
    return '"use strict";{\n' + "".join(map(_read, (*GRAPH_SCRIPTS, *PAGE_SCRIPTS.get(last, ()), last))) + "}"


def _read(name: str) -> str:
    return (_LIVE / name).read_text(encoding="utf-8")


def engine_module(engine: str) -> bytes | str:
    """The compressed module, or why there is none of this engine (its digest)."""
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
    """The cells, with each section that several scenarios share written once."""
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
