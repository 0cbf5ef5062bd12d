"""`cwndlab fit`: from a capture back to a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cwndlab.errors import StudyError

from . import arguments as opt
from .arguments import parse_option
from .output import echo, echo_json

if TYPE_CHECKING:
    from cwndlab.fit.fitting import StatedParameters

CaptureArgument = Annotated[
    Path, typer.Argument(metavar="CAPTURE", help="a pcap or pcapng file, made at the sender of the data")
]
OutOption = Annotated[Path | None, typer.Option("-o", "--out", metavar="DIR", help="default: ./CAPTURE-fit")]
FlowOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="part of a connection's addresses; default: the one with most data"),
]
CcOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="congestion control, if it is not identifiable"),
]
RttOption = Annotated[str | None, typer.Option(metavar="TIME", help="the base round trip, likewise")]
BufferOption = Annotated[
    str | None, typer.Option(metavar="SIZE", help='the buffer, likewise: "1BDP", "64KiB" or "100pkt"')
]


def fit(
    capture: CaptureArgument,
    out: OutOption = None,
    flow: FlowOption = None,
    cc: CcOption = None,
    rtt: RttOption = None,
    buffer: BufferOption = None,
    seed: Annotated[int, typer.Option(min=0, help="of the replays")] = 1,
    threads: opt.ThreadsOption = None,
    json_: opt.JsonOption = False,
) -> None:
    """Fit a study to one TCP flow of a capture: parameters of its path and sender, with 95 % intervals.

    Writes study.toml, which `cwndlab run DIR --set cc=bbr3` runs, parameters.json and fit.md.
    """
    from cwndlab.fit.fitting import fit_capture

    folder = out or Path(f"{capture.name.split('.')[0]}-fit")
    found = fit_capture(capture, _stated(cc, rtt, buffer), flow=flow, seed=seed, threads=threads)
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
    echo(f"the study: {folder / 'study.toml'}; what if: cwndlab run {folder} --set cc=bbr3 -o DIR")


def _stated(cc: str | None, rtt: str | None, buffer: str | None) -> StatedParameters:
    """The parameters that options state."""
    from cwndlab.fit.fitting import StatedParameters
    from cwndlab.spec.congestion import congestion_control
    from cwndlab.spec.units import parse_seconds

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
    """A buffer in multiples of the BDP, or in bytes; a packet has 1500."""
    from cwndlab._core import parse_quantity

    kind, value = parse_quantity(text)
    if kind not in ("bdp", "size", "packets"):
        raise ValueError(f"{text!r} is not a size: write 1BDP, 64KiB or 100pkt")
    if kind == "bdp":
        return float(value), None
    return None, float(value) * (1500 if kind == "packets" else 1)
