"""`cwndlab linux bisect`: find the commit of a kernel's source at which a measured quantity moves.

Git chooses the commits, in a separate work tree that leaves the user's unchanged. Each commit is compiled
incrementally and runs the study in virtual time. It is bad if the number differs from that of the good end.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from cwndlab.base.errors import OutputError, RunError, StudyError
from cwndlab.base.writing import write_atomic

from . import recipe, source
from .build import build
from .images import Image
from .trials import FirstBad, Trials, keep

_FOUND = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit", re.MULTILINE)
_SKIPPED = re.compile(r"only 'skip'ped commits left to test")


@dataclass
class Commits:
    """The commits of a repository, each built incrementally from the previous one."""

    #: A git repository of Linux's source.
    source: Path
    #: The folder of the work tree and of compiled files.
    folder: Path
    jobs: int
    #: The commit that was built last, which matches the files of the kept tree; None if unknown.
    _built: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.source, self.folder = self.source.resolve(), self.folder.resolve()

    def first_bad(self, trials: Trials, good: str, bad: str, log: Path | None = None) -> FirstBad:
        """The first commit after `good` at which the number differs from that of `good`.

        Args:
            trials: the trials that decide on each commit.
            good: a commit, tag or branch; so is `bad`.
            bad: a commit that has `good` among its ancestors.
            log: a log of `git bisect`, whose decisions are reused.

        Raises:
            StudyError: there is no such commit, or nothing differs between the two.
            RunError: one of the ends cannot be built or run, or only such commits are left.

        """
        first, last = self._commit(good), self._commit(bad)
        if self._git("merge-base", "--is-ancestor", first, last, check=False).returncode:
            raise StudyError(f"{good} is no ancestor of {bad}", key="--good", right="an earlier commit")
        self._work_tree(first)
        trials.begin(first, last)
        self._start(first, last, log)
        said = ""
        while (found := _FOUND.search(said)) is None:
            if _SKIPPED.search(said):
                raise RunError(f"only commits that cannot be built are left: {', '.join(trials.skipped)}")
            is_bad = trials.is_bad(self._head())
            said = self._bisect("skip" if is_bad is None else "bad" if is_bad else "good")
        write_atomic(self.folder / "git-bisect.log", self._bisect("log").encode())
        return trials.compare(found[1], self._commit(f"{found[1]}^"))

    def title(self, name: str) -> str:
        """The commit's short name and subject."""
        return f"{name[:12]} {self._git('log', '-1', '--format=%s', name).stdout.strip()}"

    def build(self, name: str) -> Image:
        """Builds the commit's kernel, incrementally from the previous one."""
        self._git("checkout", "--quiet", "--force", name, tree=True)
        series = recipe.series_of(source.version_in(self._tree), str(self.source))
        home, changed = self.folder / "kernels", None
        if self._built is not None:
            names = self._git("diff", "--name-only", "--no-renames", "-z", self._built, name).stdout
            changed = [Path(path) for path in names.split("\0") if path]
        self._built = None  # a failed build leaves unknown files
        wanted = recipe.Recipe(series)
        image = build(wanted, self._tree, self.jobs, lambda line: None, home=home, changed=changed)
        self._built = name
        return keep(image, home)

    @property
    def _tree(self) -> Path:
        return self.folder / "source"

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

    def _work_tree(self, commit: str) -> None:
        """Creates the work tree, unless it exists; OutputError if it belongs to another repository."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self._tree / ".git").exists():
            self._git("worktree", "prune")
            self._git("worktree", "add", "--quiet", "--detach", str(self._tree.resolve()), commit)
        elif self._git("cat-file", "-e", commit, tree=True, check=False).returncode:
            raise OutputError(f"{self.folder}: is of another repository; choose a new folder")

    def _start(self, good: str, bad: str, log: Path | None) -> None:
        """Starts the bisection from the beginning; stored measurements let an interrupted one catch up."""
        self._bisect("reset", check=False)
        if log is not None:
            self._bisect("replay", str(log.resolve()))
        else:
            self._bisect("start", bad, good)

    def _bisect(self, *words: str, check: bool = True) -> str:
        done = self._git("bisect", *words, tree=True, check=False)
        if check and done.returncode not in (0, 2):  # code 2: only skipped commits are left
            raise RunError(f"git bisect {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout
