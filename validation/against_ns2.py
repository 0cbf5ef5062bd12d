"""Comparison with ns-2.35, event by event: shipped studies, ns-2's tcpVariants, and ECN over step marking."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cwndlab import _core
from cwndlab.api import Study

from . import ecn, variants
from .events import Event, Parting, first_parting, of_segments, read_golden, sent_before_first_timeout
from .simulate import table

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "ns2"
VARIANTS = ("tahoe", "reno", "newreno", "sack", "fack")
#: Both tools print microseconds; ns-2 computes in floating point.
TOLERANCE_S = 2e-6


@dataclass(frozen=True)
class Case:
    """A cell of a study, and ns-2's event list of the same scenario."""

    golden: str
    study: str
    cell: str
    variant: str

    def ours(self) -> tuple[list[Event], float]:
        """The simulator's event list, and the end of the run in seconds."""
        study = _study(self.study)
        cell = next(cell for cell in study.plan().cells if cell.id == self.cell)
        segments = table(_core.run(cell.scenario, study.plan().seed, 0), "segments")
        return of_segments(segments), _duration_s(self.study)

    def theirs(self) -> list[Event]:
        """ns-2's event list."""
        return read_golden(GOLDEN / f"{self.golden}.txt")


@dataclass(frozen=True)
class Explained:
    """A known difference from ns-2 and its cause, from ns2_differences.toml."""

    kind: str
    """`order` or `time`."""
    theirs: str
    """ns-2's event at the difference."""
    cause: str


@dataclass(frozen=True)
class Outcome:
    """The comparison of a case."""

    case: Case
    events: int
    parting: Parting | None
    first_timeout_s: float
    """The time of ns-2's first timeout; infinite if there is none."""
    explained: Explained | None

    @property
    def parted_before_first_timeout(self) -> bool:
        """Whether the lists differ before ns-2's first retransmission timeout."""
        if self.parting is None:
            return False
        at = min(e.time_s for e in (self.parting.ours, self.parting.theirs) if e is not None)
        return at < self.first_timeout_s

    @property
    def passed(self) -> bool:
        """Whether the lists agree, or differ exactly as ns2_differences.toml states."""
        if self.parting is None or self.explained is None:
            return self.parting is None and self.explained is None
        return (self.explained.kind, self.explained.theirs) == (self.parting.kind, str(self.parting.theirs))

    def to_json(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {
            "group": "ns-2.35, event by event",
            "check": self.case.golden,
            "cell": self.case.cell,
            "events": self.events,
            "first_timeout_s": None if self.first_timeout_s == float("inf") else self.first_timeout_s,
            "parts": self.parting.kind if self.parting else None,
            "at_event": self.parting.index + 1 if self.parting else None,
            "ours": str(self.parting.ours) if self.parting else None,
            "theirs": str(self.parting.theirs) if self.parting else None,
            "cause": self.explained.cause if self.explained else None,
            "passed": self.passed,
        }


@cache
def _study(name: str) -> Study:
    ours = {"ecn-steps": ecn.steps, "tcp-variants": variants.study}
    return ours[name]() if name in ours else Study.load(name)


@cache
def _duration_s(name: str) -> float:
    return {"rfc2416": 60.0, "fall-floyd-1996": 6.0, "ecn-steps": 6.0, "tcp-variants": 6.0}[name]


def cases() -> Iterator[Case]:
    """Every golden file, with the cell that reproduces it."""
    for variant in VARIANTS:
        for size, windows in (("as-traced", (1, 2, 3, 4, 10)), ("as-written", (1, 4))):
            packet_bytes = 1000 if size == "as-traced" else 1024
            for window in windows:
                golden = f"rfc2416-{variant}-iw{window}-{packet_bytes}B"
                yield Case(golden, "rfc2416", f"variant={variant},iw={window},size={size}", variant)
    for variant in VARIANTS:
        for lost in (1, 2, 3, 4):
            golden = f"fall-floyd-{variant}-{lost}drops"
            yield Case(golden, "fall-floyd-1996", f"variant={variant},lost={lost}", variant)
            golden = f"tcp-variants-{variant}-{lost}drops"
            yield Case(golden, "tcp-variants", f"variant={variant},lost={lost}", variant)
    for variant, limit in [*((variant, 4) for variant in VARIANTS if variant != "fack"), ("reno", 1000)]:
        golden = f"ecn-steps-{variant}-limit{limit}"
        yield Case(golden, "ecn-steps", f"variant={variant},limit={limit}", variant)


@cache
def explanations() -> dict[str, Explained]:
    """The known differences by golden file."""
    data = tomllib.loads((HERE / "ns2_differences.toml").read_text())
    causes: dict[str, str] = data.get("causes", {})
    return {
        golden: Explained(entry["kind"], entry["theirs"], causes[entry["cause"]].strip())
        for golden, entry in data.get("partings", {}).items()
    }


def compare(case: Case) -> Outcome:
    """Runs a case and finds its first difference from ns-2."""
    ours, end_s = case.ours()
    theirs = case.theirs()
    return Outcome(
        case=case,
        events=len(theirs),
        parting=first_parting(ours, theirs, TOLERANCE_S, end_s),
        first_timeout_s=sent_before_first_timeout(theirs),
        explained=explanations().get(case.golden),
    )
