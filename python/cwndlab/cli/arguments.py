"""Options and arguments that several commands share; loads the study that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cwndlab.base.errors import CwndlabError, StudyError
from cwndlab.runs.run_options import BACKENDS, RunOptions

from .output import echo

if TYPE_CHECKING:
    from cwndlab.api import Study
    from cwndlab.runs.single_run import OneCell

T = TypeVar("T")


def parse_option(text: str, parse: Callable[[str], T], option: str) -> T:
    """The parsed value of an option; a ValueError becomes a StudyError that names the option."""
    try:
        return parse(text)
    except ValueError as error:
        raise StudyError(str(error), key=option) from None


def studies(incomplete: str) -> list[str]:
    """The shipped studies whose names begin with `incomplete`, for completion in the shell."""
    from cwndlab.study.document import shipped_studies

    return [name for name in shipped_studies() if name.startswith(incomplete)]


def cc_names(incomplete: str) -> list[str]:
    """The congestion controls of the engine whose names begin with `incomplete`."""
    from cwndlab.base.laws import built_in

    return [name for name in built_in() if name.startswith(incomplete)]


def set_words(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completions of `--set`: the study's axes, parameters and keys; after "=", the values of an axis."""
    from cwndlab.api import Study
    from cwndlab.study.values import text

    try:
        # While an option lacks its value, typer has not yet parsed the arguments.
        study = Study.load(ctx.params.get("study") or next(iter(ctx.args), ""))
    except CwndlabError:
        return []
    axes, raw = study.outline.axes, study.raw
    keys = [*axes, *(["grid"] if any(grid.name for grid in study.outline.grids) else [])]
    keys += study.outline.parameters
    keys += [f"{section}.{key}" for section in ("run", "tcp", "probes") for key in raw.get(section, {})]
    words = [f"{key}=" for key in dict.fromkeys(keys)]
    words += [f"{name}={text(value)}" for name, axis in axes.items() for value in axis.names]
    words += [f"grid={grid.name}" for grid in study.outline.grids if grid.name]
    matching = [word for word in words if word.startswith(incomplete)]
    return matching if "=" in incomplete else [word for word in matching if word.endswith("=")]


StudyArgument = Annotated[
    str,
    typer.Argument(metavar="STUDY", help="a shipped study's name, or a study file", autocompletion=studies),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="restrict an axis (iw=4, iw=1,4) or change a key (run.duration=10s)",
        autocompletion=set_words,
    ),
]
#: In `--set a=1 b=2`, the option takes only the first change; the other words are arguments.
MoreSets = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", hidden=True)]
SeedOption = Annotated[
    int | None, typer.Option(min=0, help="seed of all random streams; default: the study's")
]
ThreadsOption = Annotated[int | None, typer.Option(help="default: all processors")]
ClusterOption = Annotated[
    str | None, typer.Option(metavar="URL", help="a dask scheduler, as tcp://host:8786")
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="a shared folder or s3://… store: results found there are not run again"
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(
        metavar="|".join(BACKENDS),
        autocompletion=lambda: list(BACKENDS),
        help="linux: this machine's kernel; linux-virtual: a kernel in virtual time",
    ),
]
StackOption = Annotated[
    str | None,
    typer.Option(
        metavar="linux-1998|linux-stock|linux-laws|FILE", help="the kernel's TCP; default: the study's"
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option(
        metavar="SERIES|NAME|FILE",
        help="the kernel in virtual time: 6.1, 6.12, 7.3, or a name from `linux list`; default: 6.12; "
        "`run` takes several (6.12,7.3) side by side",
    ),
]
CcOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cc",
        "--cc-crate",
        metavar="NAME|[NAME=]FILE.py:CLASS|FOLDER",
        help="a congestion control: of the engine, of your own in Python or Rust (a crate's folder), or a "
        "trained policy (FILE.onnx); what no cell uses joins the axis of such",
        autocompletion=cc_names,
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option("--metric", metavar="FILE.py", help="a file that defines metrics of your own"),
]
LimitOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="a limit of validity of runs on a kernel: max-lateness=20ms, steal=10%, …",
    ),
]


ReplicatesOption = Annotated[int | None, typer.Option(help="replicates of each cell; default: the study's")]
SensitivityOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|combinations|all",
        help="also run a sensitivity axis of the study, combinations of all axes, or both",
    ),
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="2%", help="add replicates until each 95 % interval is this narrow")
]
EventsOption = Annotated[
    int | None, typer.Option(help="most events of one run of the simulator; default: 10^9")
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-memory", metavar="SIZE", help="most memory of one run of the simulator; default: 384MiB"
    ),
]
VerifyOption = Annotated[
    bool,
    typer.Option("--verify", help="run first replicates on linux-virtual twice, and report what differs"),
]
ReplicateOption = Annotated[int, typer.Option(min=0)]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="print errors only")]


def _share(text: str) -> float:
    from cwndlab.study.units import parse_share

    value = parse_option(text, parse_share, "--until")
    if not 0 < value < 1:
        raise StudyError(f"{text} is no precision", key="--until", right="between 0% and 100%")
    return value


def _size(text: str) -> int:
    from cwndlab._core import parse_bytes

    return parse_option(text, parse_bytes, "--max-memory")


#: Field of `RunOptions` -> its command-line option.
RUN_OPTIONS: dict[str, Any] = {
    "replicates": ReplicatesOption,
    "seed": SeedOption,
    "until": UntilOption,
    "threads": ThreadsOption,
    "cluster": ClusterOption,
    "store": StoreOption,
    "sensitivity": SensitivityOption,
    "backend": BackendOption,
    "stack": StackOption,
    "kernel": KernelOption,
    "verify": VerifyOption,
    "max_events": EventsOption,
    "max_memory_bytes": MemoryOption,
}
#: Field of `RunOptions` -> the function that converts its option's text, if their types differ.
_READ: dict[str, Callable[[Any], object]] = {"until": _share, "max_memory_bytes": _size}


def takes_run_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a command: replaces its parameter `options` by options for fields of `RunOptions`.

    `names` are the fields; by default all.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(*args: object, **given: Any) -> None:
            chosen = {name: given.pop(name, None) for name in names or RUN_OPTIONS}
            read: Any = {n: _READ[n](v) if n in _READ else v for n, v in chosen.items() if v is not None}
            command(*args, options=RunOptions(**read), **given)

        own = signature(command, eval_str=True)
        parameters = []
        for parameter in own.parameters.values():
            if parameter.name != "options":
                parameters.append(parameter)
                continue
            for name in names or RUN_OPTIONS:
                kind, default = Parameter.KEYWORD_ONLY, getattr(RunOptions, name)
                parameters.append(Parameter(name, kind, default=default, annotation=RUN_OPTIONS[name]))
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        vars(called)["__signature__"] = own.replace(parameters=parameters)
        return called

    return decorate


def reject_options(ctx: typer.Context, what: str, applicable: Collection[str]) -> None:
    """StudyError for the first option given to a command that is not `applicable` to `what`."""
    for parameter in ctx.command.params:
        # `more` has the words after `--set a=1`, which are also changes of the study (`MoreSets`).
        option = "--set" if parameter.name == "more" else parameter.opts[-1]
        if not option.startswith("--") or option in applicable:
            continue
        source = ctx.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE":
            raise StudyError(f"{what} has no {option}", key=option, right=f"it takes {', '.join(applicable)}")


def parse_limits(given: list[str] | None, backend: str) -> list[str]:
    """The changes of the study for `--limit`: max-lateness=20ms becomes limits.max_lateness=20ms."""
    if given and backend == "simulator":
        raise StudyError(
            "the simulator has no limits of validity", key="--limit", right="--backend linux too"
        )
    keys = []
    for item in given or []:
        name, equals, value = item.partition("=")
        if not equals:
            raise StudyError(f"{item!r} limits nothing", key="--limit", right="as max-lateness=20ms")
        keys.append(f"limits.{name.strip().replace('-', '_')}{equals}{value}")
    return keys


def several_kernels(options: RunOptions) -> tuple[RunOptions, list[str]]:
    """The options without a list of kernels (`--kernel 6.12,7.3`), and the list as a change of the study."""
    if options.kernel is None or "," not in options.kernel:
        return options, []
    return replace(options, kernel=None), [f"run.kernel={options.kernel}"]


def parse_changes(given: Iterable[str]) -> dict[str, str]:
    """Key -> value, from texts such as "iw=4"; StudyError for a text without a key or "="."""
    wanted: dict[str, str] = {}
    for change in given:
        for piece in _split_changes(change):
            key, equals, value = piece.partition("=")
            if not equals or not key.strip():
                raise StudyError(
                    f"{piece!r} sets nothing", key="--set", right="write --set iw=4 or --set run.duration=10s"
                )
            wanted[key.strip()] = value.strip()
    return wanted


def _split_changes(change: str) -> list[str]:
    """Splits an option into changes at commas before "KEY=": "variant=sack,iw=1,4" has two changes.

    Commas inside brackets or quotes belong to a value.
    """
    pieces, begin = [], 0
    for comma in re.finditer(r",(?=\s*[A-Za-z_][\w.+-]*\s*=)", change):
        before = re.sub(r"\"[^\"]*\"|'[^']*'", "", change[begin : comma.start()])
        opened = sum(before.count(sign) for sign in "[{") - sum(before.count(sign) for sign in "]}")
        if opened <= 0 and before.count('"') == before.count("'") == 0:
            pieces.append(change[begin : comma.start()])
            begin = comma.end()
    return [*pieces, change[begin:]]


def load(
    study: str,
    changes: list[str] | None,
    more: list[str] | None = None,
    limits: Sequence[str] = (),
    cc: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
) -> Study:
    """Loads a study by name or file, with the user's own metrics and congestion controls, and changes."""
    from cwndlab.api import Study

    if metrics:
        from cwndlab.metrics import load_metrics

        for file in metrics:
            load_metrics(file)
    loaded = Study.load(study)
    laws = {}
    if cc:
        from cwndlab.study.congestion import congestion_control

        laws = dict(congestion_control(given) for given in cc)
    return loaded.configure(parse_changes([*(changes or []), *(more or []), *limits]), laws)


def one_cell(study: Study, options: RunOptions) -> OneCell:
    """The first cell of a study, checked for these options. Prints a note if there are other cells."""
    from cwndlab.results.execution import find_kernel_executor
    from cwndlab.runs.backend_check import check_backend
    from cwndlab.runs.single_run import OneCell

    plan = study.plan(seed=options.seed)
    cell = plan.cells[0]
    cell.check()
    if len(plan.cells) > 1:
        echo(f"note: {len(plan.cells)} cells match; this is {cell.id}", err=True)
    first = replace(plan, cells=(cell,))
    check_backend(first, options)
    return OneCell(cell, plan.derive_seed(cell), find_kernel_executor(options, first))
