"""Scripts in packetdrill's syntax, run against the laboratory's own endpoint in virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cwndlab import _core
from cwndlab.errors import CwndlabError


@dataclass(frozen=True)
class Outcome:
    """What became of one script."""

    path: Path
    #: the first line that fails; None if the script holds
    line: int | None = None
    message: str = ""
    #: whether that line asks for what is not supported, rather than being contradicted by the endpoint
    unsupported: bool = False

    @property
    def passed(self) -> bool:
        """Whether every line holds."""
        return self.line is None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if not self.passed else f"{self.path}: ok"


def run_script(
    path: Path, profile: str = "linux-6", *, hz: int | None = None, tolerance_us: int | None = None
) -> Outcome:
    """Run one script with a TCP profile; its own commands and socket options change the profile's knobs.

    `hz` is the clock of timers (linux-6: 1000, as scripts were written on kernels), `tolerance_us` how far
    events may be off, in microseconds, in place of what the script says.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CwndlabError(f"{path} cannot be read as a script: {error}") from None
    try:
        failure = _core.packetdrill(text, profile, hz, tolerance_us)
    except ValueError as error:
        raise CwndlabError(str(error)) from None
    return Outcome(path) if failure is None else Outcome(path, *failure)
