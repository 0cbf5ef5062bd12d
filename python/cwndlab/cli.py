"""The command line. Bad input ends with one clear message and exit code 2; a run that failed with 1."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from cwndlab.commands import reference, results
from cwndlab.commands.check import check
from cwndlab.commands.evaluate import evaluate
from cwndlab.commands.explain import explain
from cwndlab.commands.explore import explore
from cwndlab.commands.linux import linux
from cwndlab.commands.loading import load
from cwndlab.commands.new import new
from cwndlab.commands.options import JsonOption, MoreSets, SetOption, StudyArgument
from cwndlab.commands.output import columns, echo
from cwndlab.commands.packetdrill import packetdrill
from cwndlab.commands.run import run
from cwndlab.commands.search import search
from cwndlab.commands.trace import trace
from cwndlab.errors import CwndlabError


class _App(typer.Typer):
    """Prints cwndlab's own errors without a traceback."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except CwndlabError as error:
            sys.excepthook = sys.__excepthook__
            echo(f"error: {error}", err=True)
            sys.exit(error.exit_code)
        except BrokenPipeError:  # `cwndlab trace … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)


app = _App(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="A laboratory for TCP: turns a study file into a report with figures and verdicts.",
)


def _version(asked: bool) -> None:
    if asked:
        from cwndlab import __version__

        echo(f"cwndlab {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="print the version")
    ] = False,
) -> None:
    """A laboratory for TCP: turns a study file into a report with figures and verdicts."""


def list_studies(json_: JsonOption = False) -> None:
    """List the shipped studies."""
    from cwndlab.spec.load import titles

    found = titles()
    if json_:
        echo(json.dumps([{"name": n, "title": t} for n, t in found.items()], indent=1, ensure_ascii=False))
    else:
        echo(columns(list(found.items())))


def expand(study: StudyArgument, more: MoreSets = None, set_: SetOption = None) -> None:
    """Print a study with its short forms (`dumbbell`, `parking_lot`, `measure`) written out."""
    from cwndlab.spec.toml import dumps

    echo(dumps(load(study, set_, more).raw).rstrip("\n"))


def doctor() -> None:
    """Report what is installed and works, and what each extra would add."""
    from cwndlab.runs.doctor import examine

    good = True
    for item in examine():
        good = good and (item.works or not item.required)
        echo(f"{'ok ' if item.works else 'no ' if item.required else '–  '} {item.name}: {item.detail}")
    if not good:
        raise typer.Exit(1)


app.command("list")(list_studies)
app.command()(new)
app.command()(check)
app.command()(expand)
app.command()(run)
app.command()(results.report)
app.command()(results.compare)
app.command()(results.export)
app.command()(trace)
app.command()(explore)
app.command()(explain)
app.command()(evaluate)
app.command()(search)
app.command()(reference.metrics)
app.command()(reference.knobs)
app.command()(reference.queues)
app.command()(reference.apps)
app.command()(reference.impairments)
app.command()(packetdrill)
app.add_typer(linux, name="linux")
app.command()(doctor)
