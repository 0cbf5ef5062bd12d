"""`cwndlab compare`: which numbers moved between two finished runs, or where their traces differ."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.base.errors import StudyError
from cwndlab.base.writing import count_text, output_errors, plain_row, write_atomic
from cwndlab.cli.arguments import JsonOption
from cwndlab.cli.output import echo, echo_json

if TYPE_CHECKING:
    from cwndlab.stats.difference import DatasetComparison, NumberDifference


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
        from cwndlab.study.units import parse_time

        from .compare import compare_traces

        try:
            tolerance_s = parse_time(tolerance) / 1e9
        except ValueError as error:
            raise StudyError(str(error), key="--tolerance") from None
        for cell, difference in compare_traces(a, b, tolerance_s).items():
            echo(f"{cell}: {difference}" if cell else str(difference))
        return
    if html is not None:
        from .compare import compare_page

        page = compare_page(a, b)
        with output_errors(html):
            write_atomic(html, page.encode())
        echo(f"comparison: {html}")
        return
    from .compare import compare as make

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
            echo(f"only in {folder}: {count_text(len(cells), 'cell')}, as {cells[0]}")
    echo(_summary(found))


def _moved(move: NumberDifference) -> str:
    """A line for a number that differs: its values, and the interval of the difference."""
    from cwndlab.report.digits import interval_text, number
    from cwndlab.stats.verdict import decimals

    sign = "moved" if move.significant else "within noise" if move.tested else "not tested"
    values, between = f"{move.a:.6g} → {move.b:.6g}", ""
    if not math.isnan(move.interval.low):
        ends = interval_text(move.interval, None)
        between = f"difference {ends.replace(' … ', ' to ')}, "
        if "e" not in ends:
            digits = min(decimals(end) for end in ends.split(" … "))
            values = f"{number(move.a, digits)} → {number(move.b, digits)}"
    return f"{sign:<13}{move.cell}  {move.quantity}: {values} {move.unit}  ({between}{move.method})"


def _summary(found: DatasetComparison) -> str:
    """How many numbers are equal and how many differ, with the number expected to differ by chance."""
    significant = sum(move.significant for move in found.moved)
    tests = sum(move.tested for move in found.moved)
    chance = f" (by chance alone about {0.05 * tests:.2g} would)" if tests > 1 else ""
    untested = len(found.moved) - tests
    left = f"; {untested} have too few runs for a test" if untested else ""
    return (
        f"{count_text(found.same, 'number')} {'is' if found.same == 1 else 'are'} equal, "
        f"{len(found.moved)} differ, {significant} of them significantly"
        f"{chance}{left}"
    )
