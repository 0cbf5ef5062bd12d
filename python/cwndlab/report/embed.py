"""The live part of a report: the engine as WebAssembly and the cells' scenarios, for the page to run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

from cwndlab.core import core

from .model import LiveView, Simulator

if TYPE_CHECKING:
    from cwndlab.diagnosis.diagnosis import Diagnosis
    from cwndlab.diagnosis.words import Explanation

#: A cell with more packet-hops is not offered: its reader would wait for ten seconds and more.
MAX_HOPS = 40_000_000

#: Packet-hops of the longest cell that is explained, and of all cells of a report that are.
MAX_EXPLAINED, EXPLAINED = 20_000, 100_000

#: On the page's own thread, each after those it uses; the others run in its Worker.
GRAPH_SCRIPTS = ("axes.js", "plot.js", "panel.js", "graphs.js")
PAGE_SCRIPTS = {"page.js": ("reading.js",)}
WORKER_SCRIPTS = ("run.js", "worker.js")


Explain: TypeAlias = "Callable[[str], Diagnosis | None]"
"""What kept the senders of a cell's replicate 0 from sending; None if that is not known."""


@dataclass(frozen=True, eq=False, repr=False)
class Runnable:
    """What a page needs to run the cells of a study again."""

    scenarios: Mapping[str, str]
    """JSON of each cell."""
    replicates: Mapping[str, int]
    seed: int
    engine: str
    """Digest of the engine that ran them."""
    digest: Callable[[str], tuple[str, int]]
    """Digest of all records of a cell's replicate 0, "" if it is not known, and its packet-hops."""
    title: Callable[[str], str] = str
    """What a cell is called."""
    explain: Explain = field(default=lambda cell: None)


def embed(runnable: Runnable, shown: Collection[str]) -> LiveView:
    """The live part for the cells that the tables show."""
    module = engine_module(runnable.engine)
    if isinstance(module, str):
        return LiveView(why_not=module)
    known, waits = {}, {}
    left = EXPLAINED
    for name in runnable.scenarios:
        if name in shown:
            digest, hops = runnable.digest(name)
            if digest and hops <= MAX_HOPS:
                known[name] = digest
            if digest and hops <= min(MAX_EXPLAINED, left) and (found := runnable.explain(name)) is not None:
                waits[name] = [_wait(one) for one in found.waits]
                left -= hops
    if not known:
        return LiveView(why_not="No cell of its tables is short enough to run on a page.")
    content = {"seed": str(runnable.seed), **_pooled(runnable, known, waits)}
    return LiveView(
        simulator=simulator(module, content, "page.js"),
        runnable={name: place for place, name in enumerate(sorted(known))},
    )


def simulator(module: bytes, content: Mapping[str, Any], last: str) -> Simulator:
    """What a page carries: the compressed module, the content that its script reads, and the script.

    `last` is the part of the script that is the page's own.
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
    return resources.files("cwndlab.report").joinpath("live", name).read_text(encoding="utf-8")


def engine_module(engine: str) -> bytes | str:
    """The compressed module, or why there is none of this engine (its digest)."""
    folder = resources.files("cwndlab.report").joinpath("live")
    module = folder.joinpath("engine.wasm.gz")
    if not module.is_file():
        return (
            "This cwndlab was built without the Rust target wasm32-unknown-unknown, so the page cannot run "
            "its cells; `make setup` says how to install it."
        )
    if folder.joinpath("engine.txt").read_text().strip() != engine or core().engine_digest() != engine:
        return (
            "Another version of the engine made these runs, or pages have an older one (`make setup` renews "
            "it), so the page cannot run its cells."
        )
    return module.read_bytes()


def _wait(found: Explanation) -> dict[str, Any]:
    """A wait as the page reads it."""
    return {
        "connection": found.serial,
        "start": found.start_s,
        "end": found.end_s,
        "text": found.summary,
        "steps": [(step.time_ns / 1e9, step.text) for step in found.steps],
    }


def _pooled(
    runnable: Runnable, digests: Mapping[str, str], waits: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """The cells, with each section that several scenarios share written once."""
    places: dict[str, int] = {}
    cells = {}
    for name, digest in digests.items():
        scenario = json.loads(runnable.scenarios[name])
        sections = {key: places.setdefault(_json(value), len(places)) for key, value in scenario.items()}
        cells[name] = {
            "title": runnable.title(name),
            "sections": sections,
            "replicates": runnable.replicates.get(name, 1),
            "digest": digest,
        }
        if name in waits:
            cells[name]["waits"] = waits[name]
    return {"cells": cells, "sections": [json.loads(section) for section in places]}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
