"""`cwndlab evaluate`: a scorecard of a congestion control or a queue by the criteria of standards."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import count_text
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import cc_names, parse_changes, takes_run_options
from cwndlab.cli.output import columns, echo, progress
from cwndlab.runs.progress import Progress, span
from cwndlab.runs.run_options import RunOptions

if TYPE_CHECKING:
    from .evaluation import Evaluation
    from .subjects import Subject


def _pack_names(incomplete: str) -> list[str]:
    """The names of shipped packs that start with `incomplete`."""
    from .pack import shipped_packs

    return [name for name in shipped_packs() if name.startswith(incomplete)]


CcOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cc",
        "--cc-crate",
        metavar="NAME|[NAME=]FILE.py:CLASS|FOLDER",
        help="a congestion control to evaluate: of the engine, of your own in Python or Rust (a crate's "
        "folder), a trained policy (FILE.onnx), or "
        'knobs of TCP: NAME={ cc = "cubic", … }; may be repeated',
        autocompletion=cc_names,
    ),
]
QueueOption = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="KIND|{ kind = … }", help="a queue to evaluate; may be repeated"),
]


PackOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pack",
        metavar="NAME|FOLDER",
        help="default: all packs for what is evaluated",
        autocompletion=_pack_names,
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="ID", help="only criteria whose identifiers begin with this: 5.1, 5.2-harm-delay"
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="change a key of every study: run.duration=10s"),
]
OutOption = Annotated[
    Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./NAME-scorecard")
]
StackOption = Annotated[
    str | None,
    typer.Option(
        metavar="quinn|noq|linux-laws|FILE",
        help="the QUIC stack that has the congestion controls; or a kernel's TCP, default: linux-laws",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="exit with code 3 if a MUST of a document is not met")
]
ListOption = Annotated[bool, typer.Option("--list", help="list the packs and what they ask")]
JsonOption = Annotated[bool, typer.Option("--json", help="print scorecard.json")]


@takes_run_options("replicates", "seed", "threads", "cluster", "store", "backend")
def evaluate(
    cc: CcOption = None,
    queue: QueueOption = None,
    pack: PackOption = None,
    only: OnlyOption = None,
    set_: SetOption = None,
    out: OutOption = None,
    *,
    options: RunOptions,
    stack: StackOption = None,
    kernel: opt.KernelOption = None,
    strict: StrictOption = False,
    quiet: opt.QuietOption = False,
    list_: ListOption = False,
    json_: JsonOption = False,
) -> None:
    """Evaluate congestion controls or queues by the standards' criteria, next to known ones."""
    from . import evaluation
    from . import pack as packs

    if list_:
        _list(pack)
        return
    if bool(cc) == bool(queue):
        problem = "--cc and --queue need separate evaluations" if cc else "nothing to evaluate"
        right = "write --cc cubic, --cc FILE.py:CLASS, or --queue codel"
        raise StudyError(problem, key="--cc or --queue", right=right)
    on_kernel = options.backend != "simulator"
    wanted, stack = _subjects(cc or [], queue or [], stack, on_kernel=on_kernel)
    options = replace(options, stack=stack, kernel=kernel)
    chosen = [packs.load(name) for name in pack] if pack else packs.load_all(wanted[0].kind)
    if only:
        chosen = [one.with_criteria(only) for one in chosen]
    out = out or Path("-".join(subject.name for subject in wanted) + "-scorecard")
    began = time.monotonic()
    made = evaluation.evaluate(
        chosen, wanted, out, options, changes=parse_changes(set_ or []), progress=partial(_progress, quiet)
    )
    if json_:
        echo((out / "scorecard.json").read_text(encoding="utf-8"))
    elif not quiet:
        _show(made, time.monotonic() - began)
    _end(made, strict)


def _subjects(
    laws: list[str], queues: list[str], stack: str | None, *, on_kernel: bool
) -> tuple[list[Subject], str | None]:
    """The subjects to evaluate, and the kernel's stack; a QUIC stack is part of the subjects instead."""
    from cwndlab.study import stacks

    from . import subjects

    if stack is None or stack not in stacks.names():
        made = [subjects.congestion_control(law, on_kernel=on_kernel) for law in laws]
        return made + [subjects.queue(queue) for queue in queues], stack
    if queues:
        raise StudyError(f"{stack} has no queues", key="--stack", right="leave it out")
    return [subjects.from_stack(law, stack) for law in laws], None


def _progress(quiet: bool, study: str) -> AbstractContextManager[Progress]:
    """Prints a study's name and shows the progress of its runs below."""
    if not quiet:
        echo(study, err=True)
    return progress(quiet, "  ")


def _show(made: Evaluation, seconds: float) -> None:
    """Prints how many thresholds each subject meets, and how many rows have no threshold."""
    for card in made.cards:
        for subject in card.subjects:
            counts = card.counts(subject)
            parts = [f"{count} {outcome.value}" for outcome, count in counts.items()]
            without = sum(subject in row.values for row in card.rows) - sum(counts.values())
            parts.append(f"{count_text(without, 'row')} without a threshold")
            if unmeasured := card.count_unmeasured(subject):
                parts.append(f"{unmeasured} not measured")
            echo(f"{card.pack.name}, {subject}: {', '.join(parts)}")
    echo(f"{count_text(made.performed, 'run')} in {span(seconds)}")
    echo(f"scorecard: {made.folder / 'scorecard.html'}")


def _end(made: Evaluation, strict: bool) -> None:
    """Exits with code 1 if runs failed, or, if `strict`, with code 3 if a MUST is not met."""
    for failure in made.failures[:10]:
        echo(f"failed: {failure}", err=True)
    if made.failures:
        echo(f"error: {count_text(len(made.failures), 'run')} failed", err=True)
        raise typer.Exit(1)
    failing = [f"{row.id} ({subject})" for card in made.cards for row, subject in card.failing()]
    if strict and failing:
        echo(f"error: not met: {', '.join(failing)}", err=True)
        raise typer.Exit(3)


def _list(names: list[str] | None) -> None:
    """Prints the packs, or the criteria of the packs named."""
    from . import pack as packs

    for name in names or packs.shipped_packs():
        pack = packs.load(name)
        option = "--queue" if pack.kind == "queue" else "--cc"
        echo(f"{pack.name} ({option}): {pack.file.title}, {len(pack.file.criteria)} criteria")
        if names:
            rows = [(f"  {one.id}", f"{one.level:<7}{one.shows}") for one in pack.file.criteria]
            echo(columns(rows))
