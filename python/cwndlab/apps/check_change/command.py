"""`cwndlab check-change`: fail a pipeline if a change moves the numbers of studies."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import OutputError, StudyError
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, takes_run_options
from cwndlab.cli.output import echo
from cwndlab.runs.run_options import RunOptions

if TYPE_CHECKING:
    from cwndlab.api import Study
    from cwndlab.stats.results import Results

    from .moved_numbers import Change

#: The exit code if a number moved; `run --strict` uses the same code for a failed claim.
MOVED = 3

BaselineOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|REVISION",
        help="before the change: a result folder of `run` or of this command, or a git revision",
    ),
]
BaselineKernelOption = Annotated[
    str | None, typer.Option(metavar="SERIES|NAME|FILE", help="the kernel before the change")
]
BaselineSetOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="a key of the study before the change")
]
MarginOption = Annotated[
    str, typer.Option(metavar="PERCENT", help="by how much a number may move, relative to before")
]
OnOption = Annotated[
    list[str] | None, typer.Option(metavar="QUANTITY", help="only this quantity; may be repeated")
]


@takes_run_options()
def check_change(
    studies: Annotated[list[str], typer.Argument(metavar="STUDY...", help="names or files")],
    baseline: BaselineOption = None,
    baseline_kernel: BaselineKernelOption = None,
    baseline_set: BaselineSetOption = None,
    margin: MarginOption = "0%",
    on: OnOption = None,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="results before and after, by study")
    ] = Path("check-change-out"),
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the summary to a file, too")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="write a JUnit file")] = None,
    set_: opt.SetOption = None,
    cc: opt.CcOption = None,
    metric: opt.MetricOption = None,
    *,
    options: RunOptions,
) -> None:
    """Run studies before and after a change; exit with 3 if a number moves by more than a margin."""
    from cwndlab.base.writing import save

    from . import moved_numbers

    if baseline is None and baseline_kernel is None and not baseline_set:
        raise StudyError(
            "nothing says what was before the change",
            key="--baseline",
            right="name a result folder or a git revision; or give --baseline-kernel or --baseline-set",
        )
    share, here = _share(margin), Path.cwd()
    earlier = replace(options, kernel=baseline_kernel or options.kernel)
    kept = Path(baseline) if baseline is not None and Path(baseline).is_dir() else None
    changed = [*(set_ or []), *(baseline_set or [])]
    before: dict[str, Results] = {}
    with _at(None if kept else baseline):
        for name in studies:
            study = load(name, set_ if kept else changed, cc=cc, metrics=metric)
            place = (here / out / study.name / "before").resolve()
            before[name] = _kept(kept, study.name) if kept else _run(study, place, earlier)
    found: list[Change] = []
    for name in studies:
        study = load(name, set_, cc=cc, metrics=metric)
        after = _run(study, out / study.name / "after", options)
        found += moved_numbers.find_changes(study.name, before[name], after, share, on or ())
    text = moved_numbers.markdown(found, share)
    echo(text.rstrip())
    if markdown is not None:
        save(markdown, text)
    if junit is not None:
        save(junit, moved_numbers.junit(found, share))
    if any(change.kind is moved_numbers.ChangeKind.MOVED for change in found):
        raise typer.Exit(MOVED)


def _share(margin: str) -> float:
    try:
        share = float(margin.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < float("inf"):
        raise StudyError(f'"{margin}" is no percentage', key="--margin", right='write "1%"')
    return share


@contextmanager
def _at(revision: str | None) -> Iterator[None]:
    """Changes into the files of a git revision for the `with` block; stays here without one."""
    if revision is None:
        yield
        return
    from .revision import in_revision

    with in_revision(revision) as commit:
        echo(f"before: {commit[:12]}", err=True)
        yield


def _run(study: "Study", folder: Path, options: RunOptions) -> "Results":
    """The results of a study, kept in `folder`; OutputError if a run failed."""
    result = study.run(folder, options=options)
    if result.failures:
        first = result.failures[0]
        raise OutputError(f"{study.name}: a run failed, so nothing is compared: {first.cell}: {first.reason}")
    return result.results


def _kept(folder: Path, name: str) -> "Results":
    """The results of a study from a result folder of `run`, or by its name from one of this command."""
    from cwndlab import open_results

    for place in (folder / name / "after", folder / name):
        if (place / "provenance.json").exists():
            return open_results(place).results
    return open_results(folder).results
