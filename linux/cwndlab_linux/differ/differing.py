"""Comparison of scenarios, simplification of those that differ, and the files with the results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from cwndlab import _core
from cwndlab.base.errors import OutputError, RunError
from cwndlab.base.plain_files import read_inside
from cwndlab.base.writing import csv_text, save
from cwndlab_linux.virtual.backend import VirtualKernel
from cwndlab_linux.virtual.images import Image

from .packets_at_server import COMPLETION_SHARE, SHOWN, PacketComparison, compare
from .random_scenario import Alignment, draw
from .sides import Case, KernelRun, against_simulator, on_kernel, one_on_kernel, stack_of, stack_text
from .wide_scenario import draw_wide

#: Most runs to simplify one scenario.
TRIES = 40


class DrawnScenario(Case, Protocol):
    """A random scenario; its text is what the page shows."""

    @property
    def kind(self) -> str:
        """The class of the scenario."""

    @property
    def sysctls(self) -> Mapping[str, str]:
        """Sysctls of both hosts' kernels, in addition to those of all scenarios."""

    def to_toml(self, alignment: Alignment | None = None) -> str:
        """The study file; an `alignment` to a kernel's run is for the simulator."""

    def simplify(self) -> Iterator[DrawnScenario]:
        """Scenarios that are simpler by one step, the largest steps first."""


@dataclass(frozen=True)
class Row:
    """The outcome of a scenario, as a row of the page's table."""

    index: int
    scenario: str
    #: The class of the first difference, "same" or "failed".
    kind: str
    #: The time of the first difference in seconds; None if there is none.
    at_s: float | None
    agree: int
    packets: int
    in_order: bool
    completion: float
    #: Why the run failed; "" otherwise.
    reason: str = ""
    #: The class of the scenario.
    drawn: str = ""

    @property
    def is_same(self) -> bool:
        """Whether both sides send and receive the same at the same times until the end."""
        return self.kind == "same"

    @classmethod
    def from_failure(cls, index: int, scenario: str, reason: str) -> Row:
        """The row of a run that yielded no packets."""
        return cls(index, scenario, "failed", None, 0, 0, in_order=False, completion=0.0, reason=reason)


@dataclass(frozen=True)
class Differ:
    """A comparison of the simulator, or of a second kernel, with a kernel."""

    seed: int
    #: The kernel, and optionally a second kernel that takes the simulator's place.
    kernels: tuple[Image, ...]
    out: Path
    simple_receiver: bool = False
    #: Whether to draw classes of paths and programs, instead of transfers through a bottleneck.
    wide: bool = False
    #: Whether senders pass trains of segments to their device.
    trains: bool = False
    threads: int | None = None
    #: Called with a line for each scenario.
    say: Callable[[str], None] = lambda line: None

    def run(self, scenarios: int, minimize: int) -> list[Row]:
        """The rows of `scenarios` scenarios; simplifies at most `minimize` of each class of differences.

        Results in the folder are reused. OutputError if the folder belongs to another seed, kernel or engine.
        """
        self._claim_folder()
        rows = {index: row for index in range(scenarios) if (row := self._kept_row(index)) is not None}
        missing = {f"{index:04d}": self._drawn(index) for index in range(scenarios) if index not in rows}
        first: dict[str, KernelRun | str] = {}

        def deliver(name: str, run: KernelRun | str) -> None:
            index = int(name)
            rows[index] = self._row(index, missing[name], first.pop(name, None), run)
            self.say(f"{index}: {rows[index].kind}: {rows[index].scenario}")

        for sysctls, group in _by_sysctls(missing).items():
            if len(self.kernels) == 2:
                on_kernel(self._kernel(1, dict(sysctls)), group, first.__setitem__)
            on_kernel(self._kernel(0, dict(sysctls)), group, deliver)
        found = [rows[index] for index in sorted(rows)]
        self._minimize(found, minimize)
        save_page(self.out, found, self.sides)
        return found

    @property
    def sides(self) -> tuple[str, str]:
        """The names of the two sides, the simulator or second kernel first."""
        theirs, *others = (f"Linux {image.release}" for image in self.kernels)
        return (others[0] if others else "the simulator"), theirs

    def _drawn(self, index: int) -> DrawnScenario:
        if self.wide:
            return draw_wide(self.seed, index, trains=self.trains)
        return draw(self.seed, index, simple_receiver=self.simple_receiver, trains=self.trains)

    def _kernel(self, which: int, sysctls: Mapping[str, str]) -> VirtualKernel:
        stack = stack_of(simple_receiver=self.simple_receiver, trains=self.trains, more=sysctls)
        return VirtualKernel(stack, at_once=self.threads, image=self.kernels[which])

    def _claim_folder(self) -> None:
        sides = [image.digest for image in self.kernels]
        mine = {
            "seed": self.seed,
            "simple_receiver": self.simple_receiver,
            "wide": self.wide,
            "trains": self.trains,
            "kernels": sides,
            "engine": _core.engine_digest(),
        }
        path = self.out / "differ.json"
        kept = _kept(self.out, path.name)
        if kept is not None and kept != mine:
            raise OutputError(
                f"{self.out}: has scenarios of another seed, kernel or engine; name another folder"
            )
        save(path, json.dumps(mine, indent=1))
        save(self.out / "stack.toml", stack_text(simple_receiver=self.simple_receiver, trains=self.trains))

    def _folder(self, index: int) -> Path:
        return self.out / f"{index:04d}"

    def _kept_row(self, index: int) -> Row | None:
        kept = _kept(self.out, f"{self._folder(index).name}/row.json")
        if kept is None:
            return None
        try:
            return Row(**kept)
        except TypeError:
            raise OutputError(f"{self._folder(index)}: has a row of another version; remove it") from None

    def _row(
        self, index: int, scenario: DrawnScenario, ours: KernelRun | str | None, theirs: KernelRun | str
    ) -> Row:
        folder = self._folder(index)
        save(folder / "study.toml", scenario.to_toml())
        failed = next((run for run in (theirs, ours) if isinstance(run, str)), None)
        if failed is not None:
            row = Row.from_failure(index, str(scenario), failed)
        else:
            assert isinstance(theirs, KernelRun) and not isinstance(ours, str)
            found, aligned = self._compare(scenario, ours, theirs)
            row = row_of(index, str(scenario), found, len(theirs.packets))
            if not found.is_same:
                self._save(folder, "", found, aligned)
        row = replace(row, drawn=scenario.kind)
        save(folder / "row.json", json.dumps(asdict(row), indent=1))
        return row

    def _compare(
        self, scenario: DrawnScenario, ours: KernelRun | None, theirs: KernelRun
    ) -> tuple[PacketComparison, str | None]:
        """The comparison, and the study that the simulator ran; None for two kernels."""
        if ours is not None:
            return compare(ours.packets, theirs.packets), None
        found, alignment = against_simulator(scenario, theirs)
        return found, scenario.to_toml(alignment)

    def _save(self, folder: Path, prefix: str, found: PacketComparison, aligned: str | None) -> None:
        save(folder / f"{prefix}packets.txt", listing(found, self.sides))
        if aligned is not None:
            save(folder / f"{prefix}aligned.toml", aligned)

    def _minimize(self, rows: Sequence[Row], most: int) -> None:
        """Simplifies the shortest scenarios of each class of differences."""
        count: Counter[str] = Counter()
        for row in sorted(rows, key=lambda row: row.packets):
            if row.is_same or row.kind == "failed" or count[row.kind] == most:
                continue
            count[row.kind] += 1
            if not (self._folder(row.index) / "minimal.toml").exists():
                self._minimize_one(row)

    def _minimize_one(self, row: Row) -> None:
        simplest = self._drawn(row.index)
        kernels = [self._kernel(which, simplest.sysctls) for which in range(len(self.kernels))]

        def tried(scenario: DrawnScenario) -> tuple[PacketComparison, str | None] | None:
            try:
                runs = [one_on_kernel(k, scenario) for k in kernels]
            except RunError:
                return None
            return self._compare(scenario, runs[1] if len(runs) == 2 else None, runs[0])

        shown = None
        tries = 0
        candidates = simplest.simplify()
        while tries < TRIES and (candidate := next(candidates, None)) is not None:
            tries += 1
            found = tried(candidate)
            if found is not None and found[0].kind == row.kind:
                simplest, shown = candidate, found
                candidates = simplest.simplify()
        folder = self._folder(row.index)
        if shown is not None:
            self._save(folder, "minimal-", *shown)
        save(folder / "minimal.toml", simplest.to_toml())
        self.say(f"{row.index}: {row.kind}, simplest of {tries}: {simplest}")


def row_of(index: int, scenario: str, found: PacketComparison, packets: int) -> Row:
    """The row of a comparison with a kernel's run of `packets` packets."""
    parts = [packet.time_ns for packet in (found.ours, found.theirs) if packet is not None]
    at = min(parts) / 1e9 if parts else None
    return Row(index, scenario, found.kind, at, found.agree, packets, found.in_order, found.completion)


def listing(found: PacketComparison, sides: tuple[str, str]) -> str:
    """The packets around the first difference, in the style of packetdrill scripts."""
    lines = [f"# the same on both sides: {found.agree} packets, the last of them:"]
    lines += [str(packet) for packet in found.before[-SHOWN:]]
    for side, packets in zip(sides, found.after, strict=True):
        lines += [f"# {side}:", *(str(packet) for packet in packets)]
    return "\n".join(lines) + "\n"


def counts(rows: Sequence[Row]) -> tuple[tuple[str, int], ...]:
    """How many of the scenarios that ran agree, for each degree of agreement (text, count)."""
    ran = [row for row in rows if row.kind != "failed"]
    return (
        ("the same packets, within 0.1 ms, to the end", sum(row.is_same for row in ran)),
        ("the same segments in the same order", sum(row.in_order for row in ran)),
        ("completion times within 1 %", sum(row.completion <= COMPLETION_SHARE for row in ran)),
    )


def page(rows: Sequence[Row], sides: tuple[str, str]) -> str:
    """A page in Markdown: counts, classes of differences, and each scenario that differs."""
    ours, theirs = sides
    ran = [row for row in rows if row.kind != "failed"]
    lines = [f"# {ours[0].upper()}{ours[1:]} and {theirs}", ""]
    lines += ["| scenarios | |", "|---|---|"]
    lines += [f"| {count} of {len(ran)} | {what} |" for what, count in counts(rows)]
    if failed := len(rows) - len(ran):
        lines.append(f"| {failed} | failed |")
    lines += _by_class(ran)
    kinds = Counter(row.kind for row in ran if not row.is_same).most_common()
    if kinds:
        lines += ["", "| first difference | scenarios |", "|---|---|"]
        lines += [f"| {_side_words(kind, ours)} | {count} |" for kind, count in kinds]
        lines += ["", "| | scenario | first difference | at | packets before |", "|---|---|---|---|---|"]
        lines += [
            f"| {row.index} | {row.scenario} | {_side_words(row.kind, ours)} | {row.at_s:.3f} s "
            f"| {row.agree} of {row.packets} |"
            for row in ran
            if not row.is_same
        ]
    return "\n".join(lines) + "\n"


def _by_class(ran: Sequence[Row]) -> list[str]:
    """A table by class of scenario; empty if there is only one class."""
    classes = {row.drawn: [other for other in ran if other.drawn == row.drawn] for row in ran}
    if len(classes) < 2:
        return []
    lines = ["", "| class | scenarios | same to the end | same order | within 1 % |", "|---|---|---|---|---|"]
    for drawn, rows in sorted(classes.items()):
        numbers = " | ".join(str(count) for _, count in counts(rows))
        lines.append(f"| {drawn} | {len(rows)} | {numbers} |")
    return lines


def _by_sysctls(
    scenarios: Mapping[str, DrawnScenario],
) -> dict[tuple[tuple[str, str], ...], dict[str, DrawnScenario]]:
    """The scenarios by their sysctls, since a campaign has one stack."""
    groups: dict[tuple[tuple[str, str], ...], dict[str, DrawnScenario]] = {}
    for name, scenario in scenarios.items():
        groups.setdefault(tuple(sorted(scenario.sysctls.items())), {})[name] = scenario
    return groups


def save_page(out: Path, rows: Sequence[Row], sides: tuple[str, str]) -> str:
    """Writes the page and a CSV table to a folder; returns the page."""
    text = page(rows, sides)
    save(out / "differ.csv", csv_of(rows))
    save(out / "differ.md", text)
    return text


def _side_words(kind: str, ours: str) -> str:
    return (
        kind
        if ours == "the simulator"
        else kind.replace("simulator", ours).replace("the kernel", "the other")
    )


def csv_of(rows: Sequence[Row]) -> str:
    """The rows as CSV."""
    columns = list(Row.__dataclass_fields__)
    return csv_text(columns, ([getattr(row, name) for name in columns] for row in rows))


def _kept(folder: Path, name: str) -> dict[str, Any] | None:
    """The content of a JSON file that an earlier run left; None if there is none."""
    try:
        content = json.loads(read_inside(folder, name))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise OutputError(f"{folder / name}: cannot be read: {reason}; remove it") from None
    return content if isinstance(content, dict) else {}
