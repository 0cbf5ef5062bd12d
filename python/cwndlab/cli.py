"""The command line. Bad input ends with one clear message and exit code 2; a run that failed with 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from cwndlab.commands.output import echo, importing
from cwndlab.errors import CwndlabError

#: Where each command is, in the order of the help. Only the module of the command that is called is imported.
_COMMANDS = {
    "list": "studies:list_studies",
    "new": "new:new",
    "check": "check:check",
    "expand": "studies:expand",
    "run": "run:run",
    "report": "results:report",
    "compare": "results:compare",
    "export": "results:export",
    "trace": "trace:trace",
    "explore": "explore:explore",
    "explain": "explain:explain",
    "evaluate": "evaluate:evaluate",
    "search": "search:search",
    "metrics": "reference:metrics",
    "knobs": "reference:knobs",
    "queues": "reference:queues",
    "apps": "reference:apps",
    "impairments": "reference:impairments",
    "packetdrill": "packetdrill:packetdrill",
    "linux": "linux:linux",
    "doctor": "studies:doctor",
}


def app(args: Sequence[object] | None = None, **options: Any) -> Any:
    """Runs a command line, by default the process's; prints cwndlab's own errors without a traceback."""
    words = sys.argv[1:] if args is None else [str(word) for word in args]
    # Pydantic would read the metadata of every installed package to look for plugins; a command needs none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        with importing():
            called = with_commands(words[:1]) if words and words[0] in _COMMANDS else with_commands()
        return called(words, **options)
    except CwndlabError as error:
        sys.excepthook = sys.__excepthook__
        echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `cwndlab trace … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def with_commands(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """The command line with some of its commands."""
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
