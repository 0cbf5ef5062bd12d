"""`cwndlab evaluate`: what the standards ask of a congestion control or a queue, as a scorecard."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.errors import StudyError
from cwndlab.runs.progress import span

from .loading import changes_of
from .options import (
    BackendOption,
    ClusterOption,
    KernelOption,
    SeedOption,
    StoreOption,
    ThreadsOption,
    cc_names,
)
from .output import columns, echo, number_of, progress

if TYPE_CHECKING:
    from cwndlab.evaluate.scorecard import Scorecard
    from cwndlab.runs.progress import Progress


def _pack_names(incomplete: str) -> list[str]:
    """The shipped packs whose names begin with this."""
    from cwndlab.evaluate.pack import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


CcOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cc",
        metavar="NAME|[NAME=]FILE.py:CLASS",
        help="a congestion control to evaluate, of the engine or your own; may be repeated",
        autocompletion=cc_names,
    ),
]
QueueOption = Annotated[
    list[str] | None,
    typer.Option("--queue", metavar="KIND|{ kind = … }", help="a queue to evaluate; may be repeated"),
]


def evaluate(
    cc: CcOption = None,
    queue: QueueOption = None,
    pack: Annotated[
        list[str] | None,
        typer.Option(
            "--pack",
            metavar="NAME|FOLDER",
            help="default: all packs for what is evaluated",
            autocompletion=_pack_names,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="ID",
            help="only criteria whose identifiers begin with this: 5.1, 5.2-delay-added",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="change a key of every study: run.duration=10s"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./NAME-scorecard")
    ] = None,
    replicates: Annotated[
        int | None, typer.Option(help="replicates of each cell; default: the studies'")
    ] = None,
    seed: SeedOption = None,
    threads: ThreadsOption = None,
    cluster: ClusterOption = None,
    store: StoreOption = None,
    backend: BackendOption = "simulator",
    stack: Annotated[
        str | None,
        typer.Option(metavar="linux-laws|FILE", help="a kernel's TCP; default: linux-laws"),
    ] = None,
    kernel: KernelOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit with code 3 if a MUST of a document is not met")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="print errors only")] = False,
    list_: Annotated[bool, typer.Option("--list", help="list the packs and what they ask")] = False,
    json_: Annotated[bool, typer.Option("--json", help="print scorecard.json")] = False,
) -> None:
    """Evaluate congestion controls or queues by the standards' criteria, next to known ones."""
    from cwndlab.evaluate import evaluate as evaluation
    from cwndlab.evaluate import pack as packs
    from cwndlab.evaluate import subjects
    from cwndlab.runs.options import RunOptions

    if list_:
        _list(pack)
        return
    if bool(cc) == bool(queue):
        problem = "--cc and --queue need separate evaluations" if cc else "nothing to evaluate"
        right = "write --cc cubic, --cc FILE.py:CLASS, or --queue codel"
        raise StudyError(problem, key="--cc or --queue", right=right)
    on_kernel = backend != "simulator"
    wanted = [subjects.congestion_control(one, on_kernel=on_kernel) for one in cc or ()]
    wanted += [subjects.queue(one) for one in queue or ()]
    chosen = [packs.load(name) for name in pack] if pack else packs.of_kind(wanted[0].kind)
    if only:
        chosen = [one.with_criteria(only) for one in chosen]
    out = out or Path("-".join(subject.name for subject in wanted) + "-scorecard")
    options = RunOptions(
        replicates=replicates,
        seed=seed,
        threads=threads,
        cluster=cluster,
        store=store,
        backend=backend,
        stack=stack,
        kernel=kernel,
    )

    def shown(study: str) -> AbstractContextManager[Progress]:
        if not quiet:
            echo(study, err=True)
        return progress(quiet, "  ")

    began = time.monotonic()
    made = evaluation.evaluate(chosen, wanted, out, options, changes=changes_of(set_ or []), progress=shown)
    if json_:
        echo((out / "scorecard.json").read_text(encoding="utf-8"))
    elif not quiet:
        for card in made.cards:
            for subject in card.subjects:
                echo(f"{card.pack.name}, {subject}: {_tally(card, subject)}")
        echo(f"{made.performed} runs in {span(time.monotonic() - began)}")
        echo(f"scorecard: {out / 'scorecard.html'}")
    for failure in made.failures[:10]:
        echo(f"failed: {failure}", err=True)
    if made.failures:
        echo(f"error: {number_of(len(made.failures), 'run')} failed", err=True)
        raise typer.Exit(1)
    failing = [f"{row.id} ({subject})" for card in made.cards for row, subject in card.failing()]
    if strict and failing:
        echo(f"error: not met: {', '.join(failing)}", err=True)
        raise typer.Exit(3)


def _list(names: list[str] | None) -> None:
    """Prints the packs, or the criteria of those named."""
    from cwndlab.evaluate import pack as packs

    for name in names or packs.shipped():
        pack = packs.load(name)
        option = "--queue" if pack.kind == "queue" else "--cc"
        echo(f"{pack.name} ({option}): {pack.file.title}, {len(pack.file.criteria)} criteria")
        if names:
            rows = [(f"  {one.id}", f"{one.level:<7}{one.shows}") for one in pack.file.criteria]
            echo(columns(rows))


def _tally(card: Scorecard, subject: str) -> str:
    """How many thresholds a subject meets, and how many rows have none."""
    outcomes = [row.outcomes[subject] for row in card.rows if subject in row.outcomes]
    counts = [f"{outcomes.count(one)} {one.value}" for one in dict.fromkeys(outcomes)]
    without = sum(subject in row.values for row in card.rows) - len(outcomes)
    return ", ".join([*counts, f"{without} rows without a threshold"])
