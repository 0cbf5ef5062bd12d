"""A cell's scenario for the engine, and the origin of its parts in the study."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cwndlab._core import ScenarioRefused
from cwndlab.base.engine_kinds import (
    DETERMINISTIC_QUEUES,
    SCRIPTED,
    UNIT_SUFFIX,
    draws,
    is_unresponsive,
    required_keys,
    sends_from_client,
)
from cwndlab.base.errors import Findings, KeyPath, NotFoundError, StudyError, nearest, problem_at
from cwndlab.base.laws import kernel_law
from cwndlab.base.writing import join_words
from cwndlab.records.run_view import bottleneck, flow_name, snapshot_times

KERNEL_SNAPSHOT_NS = 1_000_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Compiled:
    """A cell's scenario, and the paths of the study's keys from which its parts come."""

    scenario: dict[str, Any]
    #: Part of the scenario ("links.4") -> path of the study's key, to locate errors that the engine reports.
    origins: dict[str, KeyPath] = field(default_factory=dict)

    @cached_property
    def json(self) -> str:
        """The scenario as JSON; equal scenarios give equal text."""
        return json.dumps(self.scenario, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def is_finite(self) -> bool:
        """Whether JSON can hold all numbers of the scenario."""
        try:
            return bool(self.json)
        except ValueError:
            return False

    @cached_property
    def deterministic(self) -> bool:
        """Whether nothing in the scenario is random, so that all replicates would be equal."""
        links = self.scenario["links"]
        return (
            all(_is_certain(link["queue"]) for link in links)
            and all(_is_scripted(impairment) for link in links for impairment in link["impairments"])
            and all(_is_fixed(entry["app"]) for entry in self.scenario["traffic"])
            and not any(law["random"] for law in self._laws)
            and not self.stacks
        )

    @property
    def laws(self) -> list[str]:
        """Digests of the congestion controls in the scenario that the engine does not contain."""
        return [str(law["code"]) for law in self._laws]

    @property
    def stacks(self) -> dict[str, int]:
        """The scenario's QUIC stacks, each with the index of its first traffic entry."""
        stacks: dict[str, int] = {}
        for index, entry in enumerate(self.scenario["traffic"]):
            if "stack" in entry:
                stacks.setdefault(str(entry["stack"]["stack"]), index)
        return stacks

    @property
    def kernel_laws(self) -> dict[str, int]:
        """The scenario's kernel-only congestion controls, each with the index of its first TCP."""
        laws = [kernel_law(config["window_law"]) for config in self.scenario["tcp"]]
        return {name: laws.index(name) for name in laws if name is not None}

    @property
    def _laws(self) -> list[Mapping[str, Any]]:
        laws = [config["window_law"] for config in self.scenario["tcp"]]
        return [law["external"] for law in laws if isinstance(law, Mapping) and "external" in law]


def _is_certain(queue: Mapping[str, Any]) -> bool:
    """Whether a queue, including any queue inside it, draws no random numbers."""
    return queue["kind"] in DETERMINISTIC_QUEUES and ("queue" not in queue or _is_certain(queue["queue"]))


def _is_scripted(impairment: Mapping[str, Any]) -> bool:
    """Whether an impairment is not random: it follows a script, or loses no packets."""
    return impairment["kind"] in SCRIPTED or (
        impairment["kind"] == "bernoulli" and impairment.get("p") == 0.0
    )


def _is_fixed(app: Mapping[str, Any]) -> bool:
    return not draws(app) and all(
        value.get("kind") == "fixed"
        for value in app.values()
        if isinstance(value, Mapping) and "kind" in value
    )


def origin(compiled: Compiled, place: Sequence[str]) -> KeyPath:
    """The path of the study's key from which a part of the scenario comes; empty if there is none."""
    for length in range(len(place), 0, -1):
        origin = compiled.origins.get(".".join(place[:length]))
        if origin is not None:
            return (*origin, *(int(step) if step.isdigit() else step for step in place[length:]))
    return ()


def not_finite(value: Any) -> list[str]:
    """The path of the first number that JSON cannot represent (NaN, infinity); empty if there is none."""
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for step, item in items:
        if isinstance(item, float) and not math.isfinite(item):
            return [str(step)]
        if isinstance(item, list | dict) and (deeper := not_finite(item)):
            return [str(step), *deeper]
    return []


def most_bits(scenario: Mapping[str, Any]) -> float:
    """The bits that the slowest link of a scenario can send during the run."""
    links = scenario["links"]
    return float(scenario["duration_ns"] / 1e9 * links[bottleneck(links)]["rate_bps"])


def red_unit(queue: Mapping[str, Any]) -> str:
    """The unit of RED's thresholds and average: of a queue, or of its first class with RED."""
    for inner in (queue, *(part.get("queue", {}) for part in queue.get("classes", ()))):
        if inner.get("kind") == "red":
            return str(inner.get("unit", "packets"))
    return "packets"


def kernel_snapshot_times(scenario: Mapping[str, Any]) -> list[int]:
    """The times (ns) of a kernel run's snapshots: whole seconds, and the edges of the scenario's windows."""
    grid = range(KERNEL_SNAPSHOT_NS, int(scenario["duration_ns"]), KERNEL_SNAPSHOT_NS)
    return sorted({*snapshot_times(scenario), *grid})


def kernel_run(completed: str) -> str:
    """The parts of a completed scenario that affect a run on a kernel, as JSON.

    Such a run takes real time, so it must serve later quantities, too: it always records connections, and
    counters at each whole second. The probe `connections` and window edges at whole seconds are left out.
    """
    scenario = json.loads(completed)
    scenario["windows"] = [at for at in snapshot_times(scenario) if at % KERNEL_SNAPSHOT_NS]
    scenario["probes"].pop("connections", None)
    return json.dumps(scenario, sort_keys=True)


def watched_host(scenario: Mapping[str, Any]) -> int:
    """The host observed by default: the sender of the first traffic entry."""
    return sender(scenario["traffic"][0])


def indices_of_flow(names: Sequence[str], flow: str | None, kinds: str = "") -> list[int]:
    """The indices of a flow's instances among these names; None for all flows.

    `flow` is a flow's name in the study, or an instance's name. NotFoundError with the nearest name if there
    is none; `kinds` describes the flows in its message (" of TCP").
    """
    indices = [k for k, name in enumerate(names) if flow in (None, name, flow_name(name))]
    if not indices:
        flows = dict.fromkeys([*map(flow_name, names), *names])
        which = f'no flow "{flow}"{kinds}; {nearest(str(flow), flows)}'
        raise NotFoundError(which if flows else f"there is no flow{kinds}")
    return indices


def has_connections(entry: Mapping[str, Any]) -> bool:
    """Whether a traffic entry uses TCP or QUIC; datagrams over UDP have no connections."""
    return "stack" in entry or not is_unresponsive(entry["app"])


def sender(entry: Mapping[str, Any]) -> int:
    """The host that sends most data of a traffic entry."""
    return int(entry["client" if sends_from_client(entry["app"]) else "server"])


_UNITS = {
    "ns": 'a time with its unit, like "20ms"',
    "s": 'a time with its unit, like "20ms"',
    "bytes": 'a size with its unit, like "500B"',
    "bps": 'a rate with its unit, like "10Mbps"',
}


def core_error(compiled: Compiled, refused: ScenarioRefused) -> StudyError:
    """A StudyError with the engine's reasons for rejecting a scenario, each at the study's key."""
    findings = Findings()
    for path, problem, unknown in refused.refusals:
        at = tuple(step if isinstance(step, int) else _plain(step) for step in origin(compiled, path))
        right = None
        if unknown is not None:
            is_key, name, names = unknown
            keys, given = [_plain(name) for name in names], _plain(name)
            if given in keys:  # the key is known, but its value lacks the unit
                suffix = UNIT_SUFFIX.search(names[keys.index(given)])
                problem, right = "the value does not fit", suffix and f"write {_UNITS[suffix[1]]}"
            else:
                problem = f"unknown {'key' if is_key else 'name'} {given!r}"
                right = nearest(given, keys)
        elif problem.startswith("missing field"):
            problem = _missing_keys(compiled, path) or problem
        findings.note(problem_at(at, problem, right))
    return findings.error()


def _missing_keys(compiled: Compiled, path: Sequence[str]) -> str:
    """A sentence with all keys that a table lacks (the engine names only one); "" if they are unknown."""
    table: Any = compiled.scenario
    for step in path:
        table = table[int(step)] if isinstance(table, list) else table.get(step, {})
    required = required_keys(str(table.get("kind"))) if isinstance(table, Mapping) else ()
    missing = [f"`{_plain(key)}`" for key in required if key not in table]
    return f"{table['kind']} needs {join_words(missing)}" if missing else ""


def _plain(step: str) -> str:
    """The engine's name of a key without its unit suffix, as in a study."""
    return UNIT_SUFFIX.sub("", step)
