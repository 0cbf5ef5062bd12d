"""The trials of a bisection: run the study on each kernel, and compare a number with that of the good end.

Runs in virtual time are reproducible, so a change without effect gives the same packets.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from cwndlab.api import Study
from cwndlab.apps.packets.trace_difference import Difference, events_of_table, first_difference
from cwndlab.base.arrow_tables import FIRST_SEGMENTS
from cwndlab.base.errors import RunError, StudyError, nearest
from cwndlab.base.writing import count_text
from cwndlab.results.result import RunResult
from cwndlab.stats.difference import NumberDifference, compare_datasets

from .images import Image
from .steps import cpu_s

#: Compares the packets of first replicates instead of a quantity.
PACKETS = "packets"
#: Times of packets in virtual time are exact.
TOLERANCE_S = 1e-9


class FirstBad(NamedTuple):
    """The result of a bisection."""

    #: The first bad kernel: a commit or a release.
    name: str
    #: The kernel's title.
    title: str
    #: The title of the kernel before it.
    before: str
    #: The numbers that moved from the kernel before it.
    moved: list[NumberDifference]
    #: The first packet that differs, by cell.
    packets: Mapping[str, Difference]
    #: CPU time of each step in seconds.
    steps_s: list[float]
    #: Titles of the kernels that could not be built.
    skipped: list[str]


class BisectedKernels(Protocol):
    """The kernels that a bisection searches, by name."""

    def build(self, name: str) -> Image:
        """Builds a kernel; RunError if that fails."""

    def title(self, name: str) -> str:
        """The kernel's title, whose first word is unique."""


@dataclass
class Trials:
    """Builds kernels and runs the study once on each. Results are kept in `folder`."""

    kernels: BisectedKernels
    study: Study
    folder: Path
    #: A quantity of the study, or `PACKETS`; None: the quantity that moves most between the ends.
    on: str | None
    replicates: int | None
    say: Callable[[str], None]
    steps_s: list[float] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    _watched: tuple[str, str] | None = None
    _good: RunResult | None = None
    _measured: dict[str, tuple[RunResult, float]] = field(default_factory=dict, repr=False)
    _by_kernel: dict[str, RunResult] = field(default_factory=dict, repr=False)

    def begin(self, good: str, bad: str) -> None:
        """Measures both ends; StudyError if the deciding quantity does not differ between them."""
        self._good = self.measure(good)
        self._watched = self._choose(self._good, self.measure(bad))

    def is_bad(self, name: str) -> bool | None:
        """Whether a kernel's number differs from the good end's; None if it cannot be built or run."""
        assert self._good is not None, "begin() first"
        try:
            result = self.measure(name)
        except RunError as error:
            self.say(f"skipped {self.kernels.title(name)}: {error}")
            self.skipped.append(self.kernels.title(name))
            return None
        if self._watched is None:
            bad = _packets_differ(self._good, result)
        else:
            found = compare_datasets(self._good.results, result.results).numbers
            bad = any(one.significant for one in found if (one.cell, one.quantity) == self._watched)
        spent = self._measured[name][1]
        self.say(f"{'bad' if bad else 'good'}: {self.kernels.title(name)} ({spent:.0f} CPU s)")
        self.steps_s.append(spent)
        return bad

    def compare(self, name: str, before: str) -> FirstBad:
        """The result: the first bad kernel, compared with the one before it."""
        a, b = self.measure(before), self.measure(name)
        moved = compare_datasets(a.results, b.results).moved
        packets = _first_packets(a, b)
        titles = self.kernels.title(name), self.kernels.title(before)
        return FirstBad(name, *titles, moved, packets, self.steps_s, self.skipped)

    def measure(self, name: str) -> RunResult:
        """The results of a kernel; those of an identical kernel are reused."""
        if name not in self._measured:
            before = cpu_s() + time.process_time()
            self.say(f"building {self.kernels.title(name)}")
            image = self.kernels.build(name)
            result = self._by_kernel.get(image.digest)
            if result is None:
                result = self.study.run(
                    self.folder / Path(self.kernels.title(name).split()[0]).name,
                    backend="linux-virtual",
                    kernel=str(image.path),
                    replicates=self.replicates,
                )
                if result.failures:
                    failed = count_text(len(result.failures), "run")
                    raise RunError(f"{failed} failed, the first: {result.failures[0].reason}")
                self._by_kernel[image.digest] = result
            self._measured[name] = result, cpu_s() + time.process_time() - before
        return self._measured[name][0]

    def _choose(self, good: RunResult, bad: RunResult) -> tuple[str, str] | None:
        """The cell and the quantity that decide; None for packets."""
        quantities = [quantity.name for quantity in self.study.outline.quantities]
        if self.on == PACKETS:
            if not _packets_differ(good, bad):
                raise StudyError("good and bad send the same packets", key="--on", right="other ends")
            return None
        if self.on is not None and self.on not in quantities:
            raise StudyError(
                f'there is no quantity "{self.on}"',
                key="--on",
                right=nearest(self.on, [*quantities, PACKETS]),
            )
        numbers = compare_datasets(good.results, bad.results).moved
        sure = [number for number in numbers if number.significant and self.on in (None, number.quantity)]
        if not sure:
            raise StudyError(
                f"between good and bad {self.on or 'no number'} does not move by more than chance",
                key="--replicates" if numbers else "--on",
                right="more replicates, or `--on packets` for the first packet that differs",
            )
        one = sure[0]
        change = f" ({100 * (one.b / one.a - 1):+.3g} %)" if one.a else ""
        self.say(f"watched: {one.quantity} of {one.cell}, {one.a:.6g} to {one.b:.6g} {one.unit}{change}")
        return one.cell, one.quantity


def keep(image: Image, home: Path) -> Image:
    """Copies a kernel so that the next build in `home` does not replace it."""
    kept = home / image.digest / "linux"
    kept.parent.mkdir(exist_ok=True)
    shutil.copy2(image.path, kept)
    return Image.from_folder(kept)


def _packets_differ(a: RunResult, b: RunResult) -> bool:
    return any(packets.a is not None or packets.b is not None for packets in _first_packets(a, b).values())


def _first_packets(a: RunResult, b: RunResult) -> dict[str, Difference]:
    """The first packet that differs between the first replicates, by cell."""
    found = {}
    for cell in a.campaign.cells:
        tables = (run.campaign.tables(cell)[FIRST_SEGMENTS] for run in (a, b))
        left, right = map(events_of_table, tables)
        found[cell] = first_difference(left, right, TOLERANCE_S)
    return found


def report(found: FirstBad, study: Study) -> str:
    """The result in Markdown: the kernel, the numbers that moved, and the first packet that differs."""
    lines = [f"# {found.title}", ""]
    lines.append(f"The first kernel at which the numbers of “{study.title}” move: {found.name}.")
    lines.append(f"The last at which they do not: {found.before}.")
    if found.steps_s:
        ends = dict.fromkeys(f"{seconds:.0f}" for seconds in (min(found.steps_s), max(found.steps_s)))
        lines.append(f"Found in {count_text(len(found.steps_s), 'step')} of {' to '.join(ends)} CPU s.")
    lines.append("")
    if found.skipped:
        lines += [f"Not built, so not tested: {', '.join(found.skipped)}.", ""]
    if found.moved:
        lines += [
            "| cell | quantity | before | after | change | significant |",
            "|---|---|---:|---:|---:|---|",
        ]
        for one in found.moved:
            change = f"{100 * (one.b / one.a - 1):+.3g} %" if one.a else "–"
            numbers = f"{one.a:.6g} {one.unit} | {one.b:.6g} {one.unit} | {change}"
            lines.append(
                f"| {one.cell} | {one.quantity} | {numbers} | {'yes' if one.significant else 'no'} |"
            )
        lines.append("")
    lines += [f"- {cell}: {difference}" for cell, difference in found.packets.items()]
    return "\n".join(lines) + "\n"
