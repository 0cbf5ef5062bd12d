"""Comparison of the outcomes of packetdrill scripts on the endpoint and on a kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from cwndlab.runs.kernel_side import kernels

from .packetdrill_scripts import ScriptOutcome

#: Fields that packetdrill compares but the simulator ignores, with the reason.
_NOT_COMPARED = {
    "tcp_psh": "the simulator does not compare PSH, which depends on how segments leave in trains"
}


class KernelOutcome(Protocol):
    """The outcome of one script on a kernel."""

    @property
    def holds(self) -> bool:
        """Whether every line holds."""

    @property
    def line(self) -> int | None:
        """The first line that fails; None if none does or packetdrill names none."""

    @property
    def was_run(self) -> bool:
        """Whether the kernel determined the outcome, not packetdrill itself or a command in the script."""

    @property
    def reason(self) -> str:
        """Why the script fails, and the packet that was sent instead."""


@dataclass(frozen=True)
class TwoOutcomes:
    """The outcomes of one script on the endpoint and on the kernel."""

    endpoint: ScriptOutcome
    kernel: KernelOutcome

    @property
    def verdict(self) -> str:
        """The result of the comparison."""
        if self.endpoint.unsupported:
            return "not supported by the simulator"
        if not self.kernel.was_run:
            return "not run on the kernel"
        if self.endpoint.passed and self.kernel.holds:
            return "held by both"
        same = self.endpoint.failed and not self.kernel.holds and self.endpoint.line == self.kernel.line
        return "failed by both in the same line" if same else "different"

    def _why(self) -> str | None:
        """The reason for a difference, if the outcomes show it; else None."""
        if not self.kernel.was_run:
            return "packetdrill stopped before the kernel was asked"
        if self.endpoint.unsupported:
            return "the simulator rejects what it does not model, in place of ignoring it"
        if self.endpoint.passed and not self.kernel.holds:
            return next((why for field, why in _NOT_COMPARED.items() if field in self.kernel.reason), None)
        return None

    def lines(self, kernel: str) -> Iterator[str]:
        """The verdict, the failing lines, both outcomes, and the endpoint's last events, as lines of text."""
        yield f"{self.endpoint.path}: {self.verdict}"
        text = self.endpoint.path.read_text(encoding="utf-8").splitlines()
        failing = {self.endpoint.line, None if self.kernel.holds else self.kernel.line} - {None}
        for number in sorted(number for number in failing if number is not None and number <= len(text)):
            yield f"    line {number}: {text[number - 1].strip()}"
        verb = "does not support" if self.endpoint.unsupported else "fails at"
        found = f"{verb} line {self.endpoint.line}: {self.endpoint.message}"
        yield f"    simulator: {'holds' if self.endpoint.passed else found}"
        verb = "fails" if self.kernel.was_run else "is not run"
        yield f"    Linux {kernel}: {'holds' if self.kernel.holds else f'{verb}: {self.kernel.reason}'}"
        if why := self._why():
            yield f"    why: {why}"
        if self.endpoint.failed:
            yield "    before it, in the simulator:"
            yield from (f"        {event}" for event in self.endpoint.before)


def on_kernel(
    outcomes: Sequence[ScriptOutcome], kernel: str, packetdrill: Path | None, tolerance_us: int | None
) -> tuple[str, list[TwoOutcomes], str]:
    """The kernel's name, each script's outcomes, and the digest of packetdrill's output.

    RunError if there is no such kernel, or packetdrill is not installed.
    """
    kernels()  # Raises an error that says how to install the kernels.
    run_scripts = import_module("cwndlab_linux.virtual.packetdrill").run_scripts
    name, found, digest = run_scripts([one.path for one in outcomes], kernel, packetdrill, tolerance_us)
    return name, [TwoOutcomes(*pair) for pair in zip(outcomes, found, strict=True)], digest


def count(both: Sequence[TwoOutcomes]) -> str:
    """How many scripts have each verdict, in one line."""
    counts = Counter(comparison.verdict for comparison in both)
    return ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))
