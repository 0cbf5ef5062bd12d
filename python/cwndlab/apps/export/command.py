"""`cwndlab export`: the records of a finished run as Parquet, or as qlog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cwndlab.base.errors import StudyError


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
