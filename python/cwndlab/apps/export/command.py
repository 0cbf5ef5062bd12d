"""`cwndlab export` and `cwndlab trace`: export records of a finished run, or the packets of a new one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cwndlab.base.errors import OutputError, StudyError
from cwndlab.cli import arguments as opt
from cwndlab.cli.arguments import load, one_cell, parse_limits, takes_run_options
from cwndlab.runs.run_options import RunOptions

FORMATS = ("csv", "text", "pcapng", "ns")
FormatOption = Annotated[
    str, typer.Option("--format", metavar="|".join(FORMATS), autocompletion=lambda: list(FORMATS))
]


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a result folder of `run`")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FOLDER", help="default: DIR/records, or DIR/qlog")
    ] = None,
    qlog: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="one .sqlog file per connection: 0.3 (for qvis) or draft-14"),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="with --qlog: only the connections of this flow")
    ] = None,
) -> None:
    """Write the records of each cell's first replicate as Parquet, one file per table, or as qlog."""
    from .export import export as write
    from .export import export_qlog

    if qlog is None and flow is not None:
        raise StudyError("tables have all flows", key="--flow", right="give --qlog 0.3, too")
    if qlog is None:
        paths = write(folder, out or folder / "records")
    else:
        paths = export_qlog(folder, out or folder / "qlog", qlog, flow)
    for path in paths:
        typer.echo(path)


@takes_run_options("seed", "backend", "stack", "kernel")
def trace(
    study: opt.StudyArgument,
    more: opt.MoreSets = None,
    set_: opt.SetOption = None,
    cc: opt.CcOption = None,
    metric: opt.MetricOption = None,
    format_: FormatOption = "csv",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="default: standard output")
    ] = None,
    *,
    options: RunOptions,
    replicate: opt.ReplicateOption = 0,
    limit: opt.LimitOption = None,
) -> None:
    """Print the packets of one run, of the first cell that --set leaves, as seen at the observation point."""
    from cwndlab.apps.packets.traces import trace as make
    from cwndlab.base.writing import output_errors, write_atomic

    if format_ == "pcapng" and out is None and sys.stdout.isatty():
        right = (
            f"write -o {Path(study).stem}.pcapng, or send it to a program: … --format pcapng | tshark -r -"
        )
        raise StudyError("pcapng is binary, and the output is a terminal", key="--format", right=right)
    one = one_cell(load(study, set_, more, parse_limits(limit, options.backend), cc, metric), options)
    data = make(one.cell, format_, seed=one.seed, replicate=replicate, kernel=one.kernel)
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if out.is_dir():
        raise OutputError(f"{out}: is a folder; name a file")
    with output_errors(out):
        write_atomic(out, data)
