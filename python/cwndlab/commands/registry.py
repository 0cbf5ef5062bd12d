"""The commands of the command line, and how typer gets them."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from .output import echo

#: Where each command is, in the order of the help. Only the module of the command that is called is imported.
_COMMANDS = {
    "list": "studies:list_studies",
    "new": "new:new",
    "check": "check:check",
    "expand": "studies:expand",
    "run": "run:run",
    "report": "folders:report",
    "compare": "folders:compare",
    "export": "folders:export",
    "trace": "trace:trace",
    "shell": "shell:shell",
    "explore": "explore:explore",
    "explain": "explain:explain",
    "evaluate": "evaluate:evaluate",
    "search": "search:search",
    "fit": "fit:fit",
    "differ": "differ:differ",
    "metrics": "reference:metrics",
    "knobs": "reference:knobs",
    "queues": "reference:queues",
    "apps": "reference:apps",
    "impairments": "reference:impairments",
    "packetdrill": "packetdrill:packetdrill",
    "linux": "linux:linux",
    "doctor": "studies:doctor",
}


def command_line(words: Sequence[str] = ()) -> typer.Typer:
    """The command line, with all commands or only the one that the words call."""
    names = words[:1] if words and words[0] in _COMMANDS else _COMMANDS
    made = typer.Typer(
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        help="A laboratory for TCP: turns a study file into a report with figures and verdicts.",
    )
    made.callback()(_main)
    for name in names:
        module, _, function = _COMMANDS[name].partition(":")
        command = getattr(import_module(f"cwndlab.commands.{module}"), function)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name)(command)
    return made


def _version(asked: bool) -> None:
    if asked:
        from cwndlab import __version__

        echo(f"cwndlab {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="print the version")
    ] = False,
) -> None:
    """A laboratory for TCP: turns a study file into a report with figures and verdicts."""
