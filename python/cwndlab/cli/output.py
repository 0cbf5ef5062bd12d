"""Output of commands on the terminal."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from cwndlab.runs.progress import Progress


def printable(text: str) -> str:
    """The text with control characters replaced, so that a study's title cannot control the terminal."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf") else "\ufffd" for c in text
    )


#: The most cells that `check` compiles: each takes milliseconds, and `check` should take seconds.
MOST_CELLS = 500


def echo(text: str = "", *, err: bool = False) -> None:
    """Prints text and a newline, without control characters."""
    typer.echo(printable(text), err=err)


def echo_json(data: object) -> None:
    """Prints data as JSON."""
    echo(json.dumps(data, indent=1, ensure_ascii=False))


def progress(quiet: bool, indent: str = "") -> AbstractContextManager[Progress]:
    """The display of a study's progress: a bar on a terminal, else occasional lines; none if `quiet`."""
    from cwndlab.runs.progress import Bar, Lines, Progress

    if quiet:
        return nullcontext(Progress())
    if sys.stderr.isatty():
        return Bar()
    return nullcontext(Lines(lambda line: echo(f"{indent}{line}", err=True)))


def estimate_text(value: float, low: float, high: float, unit: str) -> str:
    """A number with its unit as text, and with its interval if that is finite."""
    bounded = math.isfinite(low) and math.isfinite(high)
    interval = f" ({low:.4g} to {high:.4g})" if bounded else ""
    return f"{value:.4g}{interval} {unit}"


def columns(rows: list[tuple[str, str]]) -> str:
    """Lines of names, with their descriptions in a second column."""
    width = 2 + max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}{words}".rstrip() for name, words in rows)
