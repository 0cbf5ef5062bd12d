"""`cwndlab fit`: fit a study to a capture, or fit the choices of a study to published tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, parse_option, reject_options
from cwndlab.cli.output import echo, echo_json, progress

if TYPE_CHECKING:
    from cwndlab.api import Study
    from cwndlab.runs.run_options import RunOptions

    from .stated_parameters import StatedParameters

CaptureArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CAPTURE|STUDY", help="a pcap or pcapng file, made at the sender of the data; or a study"
    ),
]
OutOption = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./NAME-fit")]
FlowOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="part of a connection's addresses; default: the one with most data"),
]
CcOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="congestion control, if it is not identifiable")
]
RttOption = Annotated[str | None, typer.Option(metavar="TIME", help="the base round trip, likewise")]
BufferOption = Annotated[
    str | None, typer.Option(metavar="SIZE", help='the buffer, likewise: "1BDP", "64KiB" or "100pkt"')
]
ToOption = Annotated[
    str | None, typer.Option(metavar="published", help="fits choices of a study to its published tables")
]
OverOption = Annotated[
    str | None, typer.Option(metavar="CHOICE,…", help="sensitivity axes of the study, also as CHOICE=A|B")
]
HeldOutOption = Annotated[
    str | None, typer.Option(metavar="TABLE,…", help="tables that do not decide which choices are nearest")
]
MostOption = Annotated[
    int | None, typer.Option(min=20, help="combinations to run at most; a model of some chooses the others")
]
#: Options that apply to captures, and options that apply to studies.
_OF_CAPTURES = ("--flow", "--cc", "--rtt", "--buffer", "--json")
_OF_STUDIES = ("--to", "--over", "--held-out", "--most", "--set", "--replicates", "--store", "--cluster")


def fit(
    ctx: typer.Context,
    capture: CaptureArgument,
    out: OutOption = None,
    flow: FlowOption = None,
    cc: CcOption = None,
    rtt: RttOption = None,
    buffer: BufferOption = None,
    to: ToOption = None,
    over: OverOption = None,
    held_out: HeldOutOption = None,
    most: MostOption = None,
    set_: opt.SetOption = None,
    replicates: opt.ReplicatesOption = None,
    seed: opt.SeedOption = None,
    threads: opt.ThreadsOption = None,
    store: opt.StoreOption = None,
    cluster: opt.ClusterOption = None,
    json_: opt.JsonOption = False,
) -> None:
    """Fit a study to one TCP flow of a capture: parameters of its path and sender, with 95 % intervals.

    Writes study.toml, which `cwndlab run DIR --set cc=bbr3` runs, parameters.json and a page, fit.html.

    With --to published: run every combination of choices that the source of a study leaves open, and compare
    its tables.
    """
    from cwndlab.runs.run_options import RunOptions

    from .fitting import fit_capture

    folder = out or Path(f"{capture.name.split('.')[0]}-fit")
    common = ("--out", "--seed", "--threads")
    if to is not None:
        reject_options(ctx, "a study", (*common, *_OF_STUDIES))
        options = RunOptions(seed=seed, replicates=replicates, threads=threads, store=store, cluster=cluster)
        return _fit_study(load(str(capture), set_), to, over, held_out, most, options, folder)
    reject_options(ctx, "a capture", (*common, *_OF_CAPTURES))
    if not capture.is_file():
        right = "name a pcap or pcapng file, or fit a study --to published"
        raise StudyError(f"{capture}: there is no such file", right=right)
    stated = _stated(cc, rtt, buffer)
    found = fit_capture(capture, stated, flow=flow, seed=1 if seed is None else seed, threads=threads)
    found.write(folder)
    if json_:
        echo_json(found.fitted.model_dump())
        return
    echo(found.fitted.table())
    echo()
    echo(found.fitted.comparison())
    for warning in found.fitted.warnings:
        echo(f"warning: {warning}", err=True)
    echo()
    echo(f"the page: {folder / 'fit.html'}")
    laws = f"{found.fitted.text_of('cc')},bbr3"
    echo(f"the study: {folder / 'study.toml'}; what if: cwndlab run {folder} --set cc={laws} -o DIR")


def _fit_study(
    study: Study,
    to: str,
    over: str | None,
    held_out: str | None,
    most: int | None,
    options: RunOptions,
    folder: Path,
) -> None:
    """Fits the choices of a study to its published tables."""
    from .published import fit_published, parse_over

    if to != "published":
        raise StudyError(f"{to!r} is not known", key="--to", right="write --to published")
    if over is None:
        raise StudyError("which choices vary is missing", key="--over", right="--over CHOICE,CHOICE=A|B")
    tables = [] if held_out is None else [name.strip() for name in held_out.split(",")]
    with progress(quiet=False) as bar:
        found = fit_published(study, parse_over(study, over), tables, options, bar, most)
    found.write(folder)
    echo(found.table())
    echo()
    echo(found.conclusion())
    echo(f"all combinations: {folder / 'choices.csv'}, {folder / 'fit.md'}")


def _stated(cc: str | None, rtt: str | None, buffer: str | None) -> StatedParameters:
    """The parameters that the options state."""
    from cwndlab.study.congestion import congestion_control
    from cwndlab.study.units import parse_seconds

    from .stated_parameters import StatedParameters

    if cc is not None:
        cc, law = congestion_control(cc)
        if law is not None:
            raise StudyError("the replays run built-in congestion controls only", key="--cc")
    bdp = size = None
    if buffer is not None:
        bdp, size = parse_option(buffer, _buffer, "--buffer")
    base = None if rtt is None else parse_option(rtt, parse_seconds, "--rtt")
    return StatedParameters(cc, base, bdp, size)


def _buffer(text: str) -> tuple[float | None, float | None]:
    """A buffer in BDPs or, if given in other units, in bytes (a packet has 1500); the other is None."""
    from cwndlab._core import parse_quantity

    kind, value = parse_quantity(text)
    if kind not in ("bdp", "size", "packets"):
        raise ValueError(f"{text!r} is not a size: write 1BDP, 64KiB or 100pkt")
    if kind == "bdp":
        return float(value), None
    return None, float(value) * (1500 if kind == "packets" else 1)
