"""`cwndlab envelopes`: how far senders conform to a reference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cwndlab.cli.output import echo


def envelopes(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="a result folder of `run`")],
    axis: Annotated[str, typer.Option(metavar="AXIS", help="of the senders")] = "sender",
    reference: Annotated[
        str, typer.Option(metavar="VALUE", help="the sender that the others are compared with")
    ] = "linux-cubic",
    only: Annotated[str, typer.Option(metavar="VALUE,…", help="these senders; default: all")] = "",
    rates: Annotated[
        str, typer.Option(metavar="NAME,…", help="lists of the senders' throughput in Mb/s, which are added")
    ] = "stack_rates,linux_rates",
    delays: Annotated[str, typer.Option(metavar="NAME", help="a list of the queueing delay in ms")] = "waits",
) -> None:
    """Print how far senders conform to a reference with the same law, by performance envelopes."""
    from cwndlab.api import open_results

    from .envelope import conformances

    chosen = [word for word in only.split(",") if word]
    rows = conformances(open_results(folder), axis, reference, rates.split(","), delays, chosen)
    echo("| sender | conformance | throughput (Mb/s) | queueing delay (ms) |")
    echo("|---|---|---|---|")
    for row in rows:
        echo(f"| {' | '.join(row.cells())} |")
