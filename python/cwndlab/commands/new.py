"""`cwndlab new`: a commented study to start from, or a congestion control in Python or in C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cwndlab.errors import OutputError, StudyError
from cwndlab.files import write_atomic, writing

from .new_law import write_cc, write_law_c
from .output import echo

STUDY = """\
# Check it:  cwndlab check {file}
# Run it:    cwndlab run {file}         (the report is written to {out}/report.html)
title = "{title}: CUBIC against Reno"

# What is measured, for each group of flows or at the bottleneck. `cwndlab metrics` lists all metrics.
measure = ["goodput", "share", "loss_rate", "queue_delay"]

# One bottleneck with senders on its left and receivers on its right.
[dumbbell]
rate = "20Mbps"
rtt = "40ms"           # base round-trip time, without queues
buffer = [0.5, 1, 2]   # multiples of rate x rtt; a list in place of a value is an axis
queue = "drop-tail"    # `cwndlab queues` lists the others
flows = [
    {{ cc = "cubic" }},  # also: count = 2, rtt = "80ms", bytes = "1MB", start = "5s"
    {{ cc = "reno" }},   # flows start at a random time in the first second unless `start` is given
]

# The TCP of all flows: a profile, and knobs that differ from it. `cwndlab knobs` lists them.
[tcp]
profile = "linux-6"

[run]
duration = "20s"
warmup = "5s"          # metrics leave out what is before
replicates = 5         # more of them make intervals narrower
seed = 1

# `cwndlab expand {file}` prints what this stands for, as a study to continue with: any topology, traffic,
# tables, figures, and claims.
"""


def write_study(name: str) -> Path:
    """Writes NAME.toml (or NAME, if it ends so); OutputError if it exists."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    with writing(path):
        if path.exists():
            raise OutputError(f"{path}: exists already; choose another name")
        out = path.with_suffix("").name + "-out"
        text = STUDY.format(file=path, out=out, title=path.with_suffix("").name)
        write_atomic(path, text.encode())
    return path


#: What `new` makes, by its name; a study unless named.
KINDS: dict[str, Callable[[str], Path]] = {"study": write_study, "cc": write_cc, "law-c": write_law_c}


def new(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[cc|law-c] NAME",
            help="of a study (writes NAME.toml); after cc, of a congestion control in Python (a folder); "
            "after law-c, of one in C for a kernel (NAME.c)",
        ),
    ],
) -> None:
    """Create a commented study to start from; `new cc NAME` and `new law-c NAME`: a congestion control."""
    if words in (["cc"], ["law-c"]):
        right = f"write for instance cwndlab new {words[0]} mine"
        raise StudyError("the congestion control has no name", right=right)
    kind, name = ("study", words[0]) if len(words) == 1 else (words[0], words[1])
    if len(words) > 2 or kind not in KINDS or not name.strip():
        raise StudyError(
            f'"{" ".join(words)}" is not one name', right="write for instance cwndlab new buffers"
        )
    echo(f"wrote {KINDS[kind](name)}")
