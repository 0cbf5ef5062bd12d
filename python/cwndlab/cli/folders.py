"""What is done with finished runs: `cwndlab report`, `export` and `compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import output_errors, plain_row, write_atomic

from .arguments import JsonOption
from .output import echo, echo_json

if TYPE_CHECKING:
    from cwndlab.stats.difference import DatasetComparison, NumberDifference


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a result folder of `run`")],
    pdf: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also print it, with bookmarks; needs Chromium")
    ] = None,
    pictures: Annotated[
        bool,
        typer.Option("--pictures", help="also write the figures as PDF and PNG, for papers and slides"),
    ] = False,
) -> None:
    """Rewrite the report of a finished run."""
    from cwndlab.results.execution import report_again

    page = report_again(folder, pictures=pictures)
    echo(f"report: {page}")
    if pdf is not None:
        from cwndlab.report.pdf import print_pdf

        echo(f"PDF: {print_pdf(page, pdf)}")


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
    from cwndlab.results.export import export as write
    from cwndlab.results.export import export_qlog

    if qlog is None and flow is not None:
        raise StudyError("tables have all flows", key="--flow", right="give --qlog 0.3, too")
    if qlog is None:
        paths = write(folder, out or folder / "records")
    else:
        paths = export_qlog(folder, out or folder / "qlog", qlog, flow)
    for path in paths:
        typer.echo(path)


def compare(
    a: Annotated[Path, typer.Argument(metavar="DIR_A", help="a result folder of `run`")],
    b: Annotated[Path, typer.Argument(metavar="DIR_B", help="another one")],
    traces: Annotated[
        bool,
        typer.Option(
            "--trace", help="show the first event in which the traces (of folders, or CSV files) differ"
        ),
    ] = False,
    tolerance: Annotated[str, typer.Option(help="how far the times of a trace may differ")] = "2ms",
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write a page with both runs in each figure")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Show which estimates moved between two runs, and whether significantly."""
    if traces and (html is not None or json_):
        right = "leave out --html and --json"
        raise StudyError("traces are compared in text only", key="--trace", right=right)
    if traces:
        from cwndlab.results.compare import compare_traces
        from cwndlab.study.units import parse_time

        try:
            tolerance_s = parse_time(tolerance) / 1e9
        except ValueError as error:
            raise StudyError(str(error), key="--tolerance") from None
        for cell, difference in compare_traces(a, b, tolerance_s).items():
            echo(f"{cell}: {difference}" if cell else str(difference))
        return
    if html is not None:
        from cwndlab.results.compare import compare_page

        page = compare_page(a, b)
        with output_errors(html):
            write_atomic(html, page.encode())
        echo(f"comparison: {html}")
        return
    from cwndlab.results.compare import compare as make

    found = make(a, b)
    if json_:
        moved = [plain_row(move.to_dict()) for move in found.moved]
        data = {"equal": found.same, "moved": moved, "only_a": found.only_a, "only_b": found.only_b}
        echo_json(data)
        return
    for move in found.moved:
        echo(_moved(move))
    for folder, cells in ((a, found.only_a), (b, found.only_b)):
        if cells:
            echo(f"only in {folder}: {len(cells)} cells, as {cells[0]}")
    echo(_summary(found))


def _moved(move: NumberDifference) -> str:
    """What differs, and by how much."""
    sign = "moved" if move.significant else "within noise" if move.tested else "not tested"
    low, high = move.found.low, move.found.high
    between = "" if math.isnan(low) else f"difference {low:.3g} to {high:.3g}, "
    values = f"{move.a:.6g} → {move.b:.6g} {move.unit}"
    return f"{sign:<13}{move.cell}  {move.quantity}: {values}  ({between}{move.method})"


def _summary(found: DatasetComparison) -> str:
    """How much differs, and what chance alone would do."""
    significant = sum(move.significant for move in found.moved)
    tests = sum(move.tested for move in found.moved)
    chance = f" (by chance alone about {0.05 * tests:.2g} would)" if tests > 1 else ""
    untested = len(found.moved) - tests
    left = f"; {untested} have too few runs for a test" if untested else ""
    return (
        f"{found.same} numbers are equal, {len(found.moved)} differ, {significant} of them significantly"
        f"{chance}{left}"
    )
