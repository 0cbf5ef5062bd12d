"""`cwndlab linux bisect`: the commit of a kernel's source at which a measured quantity moves.

Git chooses the commits, in a work tree of its own that leaves the user's as it is. Each one is compiled into
the objects of the one before, runs the study in virtual time, and is bad if the number differs from that of
the good end. Runs in virtual time repeat exactly, so a commit that changes nothing gives the same packets.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cwndlab.api import Study
from cwndlab.apps.packets.trace_difference import Difference, events_of_table, first_difference
from cwndlab.base.arrow_tables import FIRST_SEGMENTS
from cwndlab.base.errors import OutputError, RunError, StudyError, nearest
from cwndlab.base.writing import number_of, write_atomic
from cwndlab.results.result import RunResult
from cwndlab.stats.difference import NumberDifference, compare_datasets

from . import recipe, source
from .build import build
from .images import Image
from .steps import cpu_s

#: Decides by the packets of first replicates in place of a quantity.
PACKETS = "packets"
#: Times of packets in virtual time are exact.
TOLERANCE_S = 1e-9
_FOUND = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit", re.MULTILINE)
_SKIPPED = re.compile(r"only 'skip'ped commits left to test")


class MeasuredCommit(NamedTuple):
    """One commit: its results, and what they cost."""

    result: RunResult
    cpu_s: float


class FirstBad(NamedTuple):
    """Where a bisection ended."""

    commit: str
    subject: str
    #: What moved from the commit before it.
    moved: list[NumberDifference]
    #: The first packet that differs, by cell.
    packets: Mapping[str, Difference]
    steps: int
    #: Commits that could not be built.
    skipped: list[str]


@dataclass
class Bisection:
    """Looks for the commit. What is finished is kept in `folder`, and the same call continues."""

    study: Study
    #: A git repository of Linux's source.
    source: Path
    folder: Path
    #: A quantity of the study, or `PACKETS`; None: the one that moves most between the ends.
    on: str | None
    replicates: int | None
    jobs: int
    say: Callable[[str], None]
    _measured: dict[str, MeasuredCommit] = field(default_factory=dict, repr=False)
    _by_kernel: dict[str, RunResult] = field(default_factory=dict, repr=False)
    #: The commit that was built last, whose files the kept tree has.
    _built: str | None = field(default=None, repr=False)

    def run(self, good: str, bad: str, log: Path | None = None) -> FirstBad:
        """The first commit after `good` at which the number differs from that of `good`.

        Args:
            good: a commit, tag or branch; so is `bad`.
            bad: a commit that has `good` among its ancestors.
            log: of `git bisect`, whose decisions are taken over.

        Raises:
            StudyError: there is no such commit, or nothing differs between the two.
            RunError: one of the ends cannot be built or run, or only such commits are left.

        """
        first, last = self._commit(good), self._commit(bad)
        if self._git("merge-base", "--is-ancestor", first, last, check=False).returncode:
            raise StudyError(f"{good} is no ancestor of {bad}", key="--good", right="an earlier commit")
        self._work_tree(first)
        reference, end = self._measure(first), self._measure(last)
        watched = self._watched(reference, end)
        self._start(first, last, log)
        said, steps, skipped = "", 0, list[str]()
        while (found := _FOUND.search(said)) is None:
            if _SKIPPED.search(said):
                raise RunError(f"only commits that cannot be built are left: {', '.join(skipped)}")
            commit = self._head()
            try:
                one = self._measure(commit)
            except RunError as error:
                self.say(f"skipped {self._title(commit)}: {error}")
                skipped.append(commit)
                said = self._bisect("skip")
                continue
            steps += 1
            is_bad = self._differs(reference.result, one.result, watched)
            word = "bad" if is_bad else "good"
            self.say(f"{word}: {self._title(commit)} ({one.cpu_s:.0f} CPU s)")
            said = self._bisect(word)
        before = self._measure(self._commit(f"{found[1]}^"))
        after = self._measure(found[1])
        write_atomic(self.folder / "git-bisect.log", self._bisect("log").encode())
        moved = compare_datasets(before.result.results, after.result.results).moved
        packets = _first_packets(before.result, after.result)
        return FirstBad(found[1], self._subject(found[1]), moved, packets, steps, skipped)

    # ── one commit ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _tree(self) -> Path:
        return self.folder / "source"

    def _measure(self, commit: str) -> MeasuredCommit:
        """The results of a commit; those of an equal kernel where only text or other files changed."""
        if commit not in self._measured:
            before = cpu_s() + time.process_time()
            self.say(f"building {self._title(commit)}")
            image = self._build(commit)
            result = self._by_kernel.get(image.digest)
            if result is None:
                result = self.study.run(
                    self.folder / commit[:12],
                    backend="linux-virtual",
                    kernel=str(image.path),
                    replicates=self.replicates,
                )
                if result.failures:
                    failed = number_of(len(result.failures), "run")
                    raise RunError(f"{failed} failed, the first: {result.failures[0].reason}")
                self._by_kernel[image.digest] = result
            spent = cpu_s() + time.process_time() - before
            self._measured[commit] = MeasuredCommit(result, spent)
        return self._measured[commit]

    def _build(self, commit: str) -> Image:
        """The commit's kernel, compiled into what the one before left."""
        self._git("checkout", "--quiet", "--force", commit, tree=True)
        series = recipe.series_of(source.version_in(self._tree), str(self.source))
        home, changed = self.folder / "kernels", None
        if self._built is not None:
            names = self._git("diff", "--name-only", "--no-renames", "-z", self._built, commit).stdout
            changed = [Path(name) for name in names.split("\0") if name]
        self._built = None  # a build that fails leaves files that are not known
        wanted = recipe.Recipe(series)
        image = build(wanted, self._tree, self.jobs, lambda line: None, home=home, changed=changed)
        self._built = commit
        kept = home / image.digest / "linux"
        kept.parent.mkdir(exist_ok=True)
        shutil.copy2(image.path, kept)  # the next build takes the other's place
        return Image.from_folder(kept)

    # ── what decides ──────────────────────────────────────────────────────────────────────────────────────

    def _watched(self, good: MeasuredCommit, bad: MeasuredCommit) -> tuple[str, str] | None:
        """The cell and the quantity that decide; None for packets. StudyError if they do not differ."""
        quantities = [one.name for one in self.study.outline.quantities]
        if self.on == PACKETS:
            if not _packets_differ(good.result, bad.result):
                raise StudyError("good and bad send the same packets", key="--on", right="other commits")
            return None
        if self.on is not None and self.on not in quantities:
            raise StudyError(
                f'there is no quantity "{self.on}"',
                key="--on",
                right=nearest(self.on, [*quantities, PACKETS]),
            )
        numbers = compare_datasets(good.result.results, bad.result.results).moved
        sure = [one for one in numbers if one.significant and self.on in (None, one.quantity)]
        if not sure:
            raise StudyError(
                f"between good and bad {self.on or 'no number'} does not move by more than chance",
                key="--replicates" if numbers else "--on",
                right="more replicates, or `--on packets` for the first packet that differs",
            )
        one = sure[0]
        self.say(f"watched: {one.quantity} of {one.cell}, {one.a:.6g} to {one.b:.6g} {one.unit}")
        return one.cell, one.quantity

    @staticmethod
    def _differs(reference: RunResult, result: RunResult, watched: tuple[str, str] | None) -> bool:
        if watched is None:
            return _packets_differ(reference, result)
        found = compare_datasets(reference.results, result.results).numbers
        return any(one.significant for one in found if (one.cell, one.quantity) == watched)

    # ── git ───────────────────────────────────────────────────────────────────────────────────────────────

    def _git(self, *words: str, check: bool = True, tree: bool = False) -> subprocess.CompletedProcess[str]:
        place = self._tree if tree else self.source
        done = subprocess.run(["git", *words], cwd=place, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RunError(f"git {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def _commit(self, name: str) -> str:
        found = self._git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
        if found.returncode:
            raise StudyError(f"{self.source} has no commit {name}", right="a commit, a tag or a branch")
        return found.stdout.strip()

    def _head(self) -> str:
        return self._git("rev-parse", "HEAD", tree=True).stdout.strip()

    def _subject(self, commit: str) -> str:
        return self._git("log", "-1", "--format=%s", commit).stdout.strip()

    def _title(self, commit: str) -> str:
        return f"{commit[:12]} {self._subject(commit)}"

    def _work_tree(self, commit: str) -> None:
        """The folder in which commits are checked out."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self._tree / ".git").exists():
            self._git("worktree", "prune")
            self._git("worktree", "add", "--quiet", "--detach", str(self._tree.resolve()), commit)
        elif self._git("cat-file", "-e", commit, tree=True, check=False).returncode:
            raise OutputError(f"{self.folder}: is of another repository; choose a new folder")

    def _start(self, good: str, bad: str, log: Path | None) -> None:
        """Begins again: what was measured is kept, so that an interrupted bisection is soon where it was."""
        self._bisect("reset", check=False)
        if log is not None:
            self._bisect("replay", str(log.resolve()))
        else:
            self._bisect("start", bad, good)

    def _bisect(self, *words: str, check: bool = True) -> str:
        done = self._git("bisect", *words, tree=True, check=False)
        if check and done.returncode not in (0, 2):  # 2: only skipped commits are left
            raise RunError(f"git bisect {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout


def _packets_differ(a: RunResult, b: RunResult) -> bool:
    return any(one.a is not None or one.b is not None for one in _first_packets(a, b).values())


def _first_packets(a: RunResult, b: RunResult) -> dict[str, Difference]:
    """The first packet that differs between the first replicates of each cell."""
    found = {}
    for cell in a.campaign.cells:
        tables = (one.campaign.tables(cell)[FIRST_SEGMENTS] for one in (a, b))
        left, right = map(events_of_table, tables)
        found[cell] = first_difference(left, right, TOLERANCE_S)
    return found


def report(found: FirstBad, study: Study) -> str:
    """The answer in Markdown: the commit, what moved, and the first packet that differs."""
    lines = [f"# {found.commit[:12]} {found.subject}", ""]
    lines += [
        f"The first commit at which the numbers of “{study.title}” move: {found.commit}. "
        f"Found in {number_of(found.steps, 'step')}.",
        "",
    ]
    if found.skipped:
        lines += [f"Not built, so not tested: {', '.join(commit[:12] for commit in found.skipped)}.", ""]
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
