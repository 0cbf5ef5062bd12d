"""packetdrill scripts run against the laboratory's endpoint in virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from cwndlab import _core
from cwndlab.base.errors import CwndlabError


@dataclass(frozen=True)
class ScriptOutcome:
    """The outcome of one script."""

    path: Path
    #: The first line that fails; None if the script holds.
    line: int | None = None
    message: str = ""
    #: Whether the failing line uses an unsupported feature; otherwise, the endpoint contradicts it.
    unsupported: bool = False
    #: The last events before that line, oldest first.
    before: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every line holds."""
        return self.line is None

    @property
    def failed(self) -> bool:
        """Whether the endpoint contradicts a line."""
        return not self.passed and not self.unsupported

    def __str__(self) -> str:
        if self.passed:
            return f"{self.path}: ok"
        events = self.before if self.failed else ()
        return "\n    ".join([f"{self.path}:{self.line}: {self.message}", *events])


def run_script(
    path: Path,
    profile: str = "linux-6",
    *,
    hz: int | None = None,
    tolerance_us: int | None = None,
    ignore_windows: bool = False,
) -> ScriptOutcome:
    """Run one script with a TCP profile; its own commands and socket options change the profile's knobs.

    `hz` is the clock of timers (linux-6: 1000, as scripts were written on kernels). `tolerance_us` replaces
    the script's tolerance for the times of events, in microseconds. `ignore_windows` disables the comparison
    of advertised windows.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CwndlabError(f"{path} cannot be read as a script: {error}") from None
    try:
        failure = _core.packetdrill(text, profile, hz, tolerance_us, ignore_windows)
    except ValueError as error:
        raise CwndlabError(str(error)) from None
    if failure is None:
        return ScriptOutcome(path)
    line, message, unsupported, before = failure
    return ScriptOutcome(path, line, message, unsupported, tuple(before))


def find_scripts(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the given scripts; for a directory, all `*.pkt` files in it, recursively and sorted."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        scripts = sorted(path.rglob("*.pkt"))
        if not scripts:
            raise CwndlabError(f"{path} has no scripts (*.pkt)")
        yield from scripts


def summary(outcomes: Sequence[ScriptOutcome]) -> str:
    """Count the scripts that passed, failed or are not supported, in one line."""
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    return f"{passed} passed, {failed} failed, {len(outcomes) - passed - failed} not supported"


def markdown(outcomes: Sequence[ScriptOutcome], root: Path) -> str:
    """Tabulate outcomes by folder below `root`, all failures, and why scripts are not supported."""
    lines = ["| folder | holds | fails | not supported | of |", "|---|---|---|---|---|"]
    by_folder = sorted(outcomes, key=lambda outcome: (_folder(outcome, root), outcome.path))
    for folder, group in groupby(by_folder, key=lambda outcome: _folder(outcome, root)):
        lines.append(_count_row(folder, list(group)))
    lines.append(_count_row("all", outcomes))
    failed = [outcome for outcome in by_folder if outcome.failed]
    if failed:
        lines += ["", "| script that fails | line | found |", "|---|---|---|"]
        lines += [
            f"| {_name(outcome, root)} | {outcome.line} | {_cell(outcome.message)} |" for outcome in failed
        ]
    reasons = Counter(
        (_folder(outcome, root), _reason(outcome)) for outcome in by_folder if outcome.unsupported
    )
    if reasons:
        lines += ["", "| folder | not supported | scripts |", "|---|---|---|"]
        lines += [
            f"| {folder} | {_cell(reason)} | {count} |" for (folder, reason), count in sorted(reasons.items())
        ]
    return "\n".join(lines)


def _name(outcome: ScriptOutcome, root: Path) -> str:
    return (outcome.path.relative_to(root) if outcome.path.is_relative_to(root) else outcome.path).as_posix()


def _folder(outcome: ScriptOutcome, root: Path) -> str:
    return _name(outcome, root).rpartition("/")[0].partition("/")[0] or "."


def _count_row(folder: str, outcomes: Sequence[ScriptOutcome]) -> str:
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    return f"| {folder} | {passed} | {failed} | {len(outcomes) - passed - failed} | {len(outcomes)} |"


def _reason(outcome: ScriptOutcome) -> str:
    """Name the unsupported feature, without the list of supported ones."""
    message = outcome.message
    for end in ("; it has ", "; there are ", ", only ", ": only "):
        message = message.partition(end)[0]
    return message.removesuffix(" is not supported").removesuffix(" are not supported")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
