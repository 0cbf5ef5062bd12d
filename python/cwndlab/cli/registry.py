"""The commands of the command line, and their registration with typer."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from cwndlab.base.errors import ExtraError

from .output import echo

_APPS, _LINUX = "cwndlab.apps", "cwndlab_linux"
#: Command -> its module and function, in the order of the help. Only that module is imported.
_COMMANDS = {
    "list": f"{_APPS}.reference.command:list_studies",
    "new": f"{_APPS}.new.command:new",
    "check": f"{_APPS}.check.command:check",
    "expand": f"{_APPS}.check.command:expand",
    "run": "cwndlab.cli.run:run",
    "report": f"{_APPS}.rewrite.command:report",
    "compare": f"{_APPS}.compare.command:compare",
    "check-change": f"{_APPS}.check_change.command:check_change",
    "export": f"{_APPS}.export.command:export",
    "trace": f"{_APPS}.export.command:trace",
    "shell": f"{_LINUX}.commands.shell:shell",
    "explore": f"{_APPS}.explore.command:explore",
    "explain": f"{_APPS}.captures.command:explain",
    "envelopes": f"{_APPS}.envelopes.command:envelopes",
    "evaluate": f"{_APPS}.evaluate.command:evaluate",
    "search": f"{_APPS}.search.command:search",
    "fit": f"{_APPS}.fit.command:fit",
    "differ": f"{_LINUX}.commands.differ:differ",
    "metrics": f"{_APPS}.reference.command:metrics",
    "knobs": f"{_APPS}.reference.command:knobs",
    "queues": f"{_APPS}.reference.command:queues",
    "apps": f"{_APPS}.reference.command:apps",
    "impairments": f"{_APPS}.reference.command:impairments",
    "packetdrill": f"{_APPS}.packetdrill.command:packetdrill",
    "linux": f"{_LINUX}.commands.linux:linux",
    "doctor": f"{_APPS}.doctor.command:doctor",
}


def _installed(home: str) -> bool:
    """Whether the package of a command is installed. Reading all entry points would add 40 ms to `--help`."""
    return not home.startswith(_LINUX) or find_spec(_LINUX) is not None


def command_line(words: Sequence[str] = ()) -> typer.Typer:
    """The command line with all commands, or only with the command that the first word names."""
    called = words[0] if words else None
    if called in _COMMANDS and not _installed(_COMMANDS[called]):
        raise ExtraError(f"cwndlab {called}", "cwndlab-linux", "linux")
    homes = {called: _COMMANDS[called]} if called in _COMMANDS else _COMMANDS
    application = typer.Typer(
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        help="A laboratory for TCP: turns a study file into a report with figures and verdicts.",
    )
    application.callback()(_main)
    for name, home in homes.items():
        if not _installed(home):
            continue
        module, _, function = home.partition(":")
        command = getattr(import_module(module), function)
        if isinstance(command, typer.Typer):
            application.add_typer(command, name=name)
        else:
            application.command(name)(command)
    return application


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
