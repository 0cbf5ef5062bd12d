"""The decorator `@metric`, which makes a function a metric, in this package or in the user's own code.

A metric of the user's own is registered when its decorator runs: in the program that runs the study, in a
file given by `--metric`, or in an installed package that names it as an entry point. A study file only names
metrics, and can run no code except that of installed packages. A metric's values are stored under a digest of
the text of the module that defines it, and of the user's own modules that this module imports.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import math
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple, TypeVar, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from cwndlab._core import record_tables
from cwndlab.base.errors import ClusterError, OutputError, StudyError, nearest
from cwndlab.base.numbers import Range
from cwndlab.base.usercode import (
    describe_error,
    digest_of_code,
    digest_of_imports,
    error_place,
    execute,
    find_source,
    read_source,
)
from cwndlab.records.window import RunView

#: The group of entry points in which installed packages name their metrics.
GROUP = "cwndlab.metrics"
OPTION = "--metric"
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
F = TypeVar("F", bound=Callable[..., float | Sequence[float] | NDArray[np.float64]])


@dataclass(frozen=True, eq=False, repr=False)
class Metric:
    """A metric: the function that measures it, and the facts stated in `@metric`."""

    name: str
    unit: str
    range: Range
    ranges: Mapping[str, Range]
    formula: str
    tables: tuple[str, ...]
    measure: Callable[..., Any]
    many: bool
    """Whether `measure` returns a list of numbers per run instead of one."""
    centred: bool
    """Whether the expectation is 0 in every cell, so that other quantities can be adjusted for the metric."""

    @property
    def title(self) -> str:
        """What the metric measures: the first paragraph of its function's docstring."""
        return " ".join(self.formula.split("\n\n", 1)[0].split()).rstrip(".")

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the metric's options: the keyword-only parameters of its function."""
        parameters = inspect.signature(self.measure).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


class MetricCode(NamedTuple):
    """A metric of the user's own as source text, which other processes can run, with its origin."""

    name: str
    file: str
    source: str
    #: Whether `source` is a whole module, which can be run, and not a function in a notebook.
    whole: bool = True
    #: Whether an installed package provides the metric.
    installed: bool = False
    #: Digest of the user's modules that the text imports (`usercode.digest_of_imports`).
    imports: str = ""

    @property
    def digest(self) -> str:
        """Digest of `source`, `name` and `imports`."""
        return digest_of_code("cwndlab metric 1", self.name, self.source, self.imports)


@dataclass(frozen=True, eq=False, repr=False)
class OwnMetric(Metric):
    """A metric of the user's own."""

    code: MetricCode


#: The user's own metrics by name. `_declared` holds the built-in ones.
_known: dict[str, OwnMetric] = {}
_declared: dict[str, Metric] = {}


@cache
def built_in() -> Mapping[str, Metric]:
    """The metrics that come with cwndlab, by name, in alphabetical order."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__package__}.{module.name}")
    return dict(sorted(_declared.items()))


def metric(
    *,
    unit: str,
    low: float = -math.inf,
    high: float = math.inf,
    count: bool = False,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    many: bool = False,
    centred: bool = False,
    tables: Sequence[str] = ("connections",),
) -> Callable[[F], F]:
    """A decorator: makes a function a metric that studies can name by the function's name.

    >>> @cwndlab.metric(unit="B", low=0, tables=["connections"])
    ... def largest_transfer(run: cwndlab.RunView, *, traffic: str | None = None) -> float:
    ...     \"\"\"Bytes that the largest connection delivered.\"\"\"
    ...     rows = run.columns("connections")
    ...     mine = np.isin(rows["traffic"], run.traffic(traffic))
    ...     return float(np.max(rows["bytes_up"][mine], initial=0))

    The function gets the run in the quantity's window and returns a number (with `many=True` a list), NaN
    where nothing can be measured. Keyword-only parameters are options; the docstring has title and formula.

    Args:
        unit: the unit of the returned values: "s", "bit/s", "B", "1", "packets", …
        low: the least possible value; intervals do not extend below it.
        high: the greatest possible value; intervals do not extend above it.
        count: whether the metric counts rare events; its variance is then at least that of a Poisson count.
        ranges: for each option that changes the range if it is true: its name and (low, high).
        many: whether the function returns a list of numbers per run instead of one number.
        centred: whether the expectation is 0 in every cell, so that `adjust_for` can name the metric.
        tables: the record tables that the function reads; their probes are switched on.

    Raises:
        StudyError: the name, a table or a parameter is wrong, a docstring is missing, or a list is returned.

    """

    def register(function: F) -> F:
        name = getattr(function, "__name__", None)
        if name is None:
            raise StudyError(f"{function!r} is not a function, so it cannot be a metric")
        stated: dict[str, Any] = {
            "name": name,
            "unit": unit,
            "range": Range(float(low), float(high), count),
            "ranges": {name: Range(float(a), float(b)) for name, (a, b) in (ranges or {}).items()},
            "formula": inspect.getdoc(function) or "",
            "tables": tuple(tables),
            "many": many,
            "centred": centred,
        }
        if function.__module__.startswith(f"{__package__}."):
            _declared[name] = Metric(**stated, measure=function)
        else:
            _check(name, function, tables, many)
            _known[name] = OwnMetric(**stated, measure=_guarded(function, many), code=_code(name, function))
        return function

    return register


class MetricFailed(Exception):  # noqa: N818 - of the user's code
    """A metric of the user's own raised an exception in a run; the message has its file, line and name."""


def _guarded(function: F, many: bool) -> F:
    """The function, wrapped so that every exception it raises becomes a `MetricFailed`."""

    @wraps(function)
    def measure(run: RunView, **options: object) -> float | Sequence[float] | NDArray[np.float64]:
        try:
            value = function(run, **options)
            if (np.ndim(value) > 0) != many:
                raise TypeError(f"it returned {value!r}, but is declared with many={many}")
            return value
        except Exception as error:
            described = f"{error_place(error)}{function.__name__}: {describe_error(error)}"
            raise MetricFailed(described) from None

    return measure  # type: ignore[return-value]


def _check(name: str, function: Callable[..., object], tables: Sequence[str], many: bool) -> None:
    key = f"metric {name}"
    if not _NAME.match(name):
        right = "use lower-case letters, digits and _"
        raise StudyError(f"{name!r} is not a name of a metric", key=key, right=right)
    if name in built_in():
        raise StudyError(f'cwndlab has a metric "{name}"', key=key, right="choose another name")
    for table in tables:
        if table not in (recorded := record_tables()):
            raise StudyError(f'there is no table "{table}"', key=key, right=nearest(table, recorded))
    signature = inspect.signature(function)
    kinds = [p.kind for p in signature.parameters.values()]
    if not kinds or any(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds[1:]):
        right = "write (run: cwndlab.RunView, *, option: type = default) -> float"
        raise StudyError("a metric takes a run, and options by keyword", key=key, right=right)
    try:
        returned = get_type_hints(function).get("return")
    except NameError as error:
        right = "import it where the function can see it, or leave the annotation out"
        raise StudyError(f"its annotations name what is not known: {error}", key=key, right=right) from None
    if not many and get_origin(returned) is list:
        raise StudyError("it returns a list", key=key, right="write @cwndlab.metric(many=True, …)")
    if not inspect.getdoc(function):
        raise StudyError("it has no docstring", key=key, right="say what it measures in the first line")


def _code(name: str, function: Callable[..., object]) -> MetricCode:
    module = sys.modules[function.__module__]
    file = str(getattr(module, "__file__", None) or "")
    if (source := find_source(module, OPTION)) is not None:
        return MetricCode(
            name, file, source, installed=name in _entry_points(), imports=digest_of_imports(source)
        )
    try:
        source = inspect.getsource(function)
        return MetricCode(name, file, source, whole=False, imports=digest_of_imports(dedent(source)))
    except (OSError, TypeError):
        raise StudyError(
            "its source cannot be found, so its values would have no key",
            key=f"metric {name}",
            right="write it to a file and import that",
        ) from None


@cache
def _entry_points() -> Mapping[str, importlib.metadata.EntryPoint]:
    return {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}


def own_names() -> list[str]:
    """The names of all metrics of the user's own, including those of installed packages."""
    return [*_known, *(name for name in _entry_points() if name not in _known)]


def find(name: str) -> OwnMetric | None:
    """The user's own metric of this name; None if there is none. Loads the installed package that has it."""
    # Entry points come last, because reading them takes long.
    if name not in _known and name not in built_in() and (point := _entry_points().get(name)) is not None:
        point.load()
        if name not in _known:
            raise StudyError(
                f'the entry point {point.value} defines no metric "{name}"',
                key=f"metric {name}",
                right=f"decorate a function {name} with @cwndlab.metric",
            )
    return _known.get(name)


def names() -> list[str]:
    """The names of all metrics, including the user's own."""
    return sorted({*built_in(), *own_names()})


def get(name: str) -> Metric:
    """The metric of this name; ValueError if there is none."""
    if (metric := find(name) or built_in().get(name)) is None:
        raise ValueError(f'there is no metric "{name}"; {nearest(name, names())}')
    return metric


def load_metrics(file: str) -> list[str]:
    """Runs a file that defines metrics, and returns their names. StudyError if it defines none."""
    path, colon, _ = file.rpartition(":")
    if colon and path.endswith(".py"):
        right = f"write {path}: all of its metrics become known"
        raise StudyError("a file of metrics is given without a name", key=OPTION, right=right)
    before = dict(_known)
    execute(read_source(Path(file), OPTION), file, OPTION)
    defined = [name for name, own in _known.items() if before.get(name) is not own]
    if not defined:
        right = "decorate a function with @cwndlab.metric(unit=…)"
        raise StudyError(f"{file} defines no metric", key=OPTION, right=right)
    return defined


def own_code(metrics: Iterable[str | None]) -> tuple[MetricCode, ...]:
    """The source code of those of these metrics that are the user's own."""
    codes = {name: own.code for name in metrics if name is not None and (own := find(name)) is not None}
    return tuple(codes.values())


def ensure_known(codes: Iterable[MetricCode]) -> None:
    """Loads the user's own metrics into this process; StudyError or ClusterError if one cannot be loaded."""
    for code in codes:
        present = find(code.name)
        if present is not None and present.code.digest == code.digest:
            continue
        if code.installed:
            raise ClusterError(f'the metric "{code.name}" is missing here, or another version is installed')
        if not code.whole:
            raise StudyError(
                "it was defined in a notebook, and other processes cannot run it",
                key=f"metric {code.name}",
                right="write it to a file and import that",
            )
        execute(code.source, code.file, OPTION)
        defined = _known.get(code.name)
        if defined is None or defined.code.digest != code.digest:
            # The text defines no such metric here, or a module that it imports differs.
            raise ClusterError(f'the metric "{code.name}" of {code.file} is not the one that was asked for')


# ── metrics in result folders ─────────────────────────────────────────────────────────────────────────────


def describe_metric(code: MetricCode) -> dict[str, object]:
    """The metric's entry in a result folder, so that the folder can be opened without the metric's code."""
    own = _known[code.name]
    limits = [None if math.isinf(bound) else bound for bound in (own.range.low, own.range.high)]
    return {
        "name": own.name,
        "unit": own.unit,
        "range": [*limits, own.range.count],
        "formula": own.formula,
        "tables": list(own.tables),
        "options": list(own.options),
        "list": own.many,
        "centred": own.centred,
        "file": code.file,
        "imports": code.imports,
    }


def reopen_metric(stated: Mapping[str, Any], source: str) -> None:
    """Registers a metric of a result folder unless this process has it; this metric cannot measure.

    OutputError if this process has a different metric of the same name.
    """
    code = MetricCode(stated["name"], stated["file"], source, imports=str(stated.get("imports", "")))
    if not _NAME.match(code.name) or code.name in built_in():
        raise OutputError(f'the results bring a metric "{code.name}" along, which is not theirs to define')
    present = find(code.name)
    if present is not None:
        if present.code.digest != code.digest:
            raise OutputError(
                f'the results have another metric "{code.name}" than this program; open them in a new one'
            )
        return

    def measure(run: RunView, **options: object) -> float:
        raise ValueError(f"metric {code.name}: opening results runs no code")

    parameters = [inspect.Parameter("run", inspect.Parameter.POSITIONAL_ONLY)]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=object)
        for name in stated["options"]
    ]
    measure.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    measure.__annotations__ = dict.fromkeys(stated["options"], object)
    low, high, count = stated["range"]
    _known[code.name] = OwnMetric(
        name=code.name,
        unit=stated["unit"],
        range=Range(-math.inf if low is None else low, math.inf if high is None else high, count),
        ranges={},
        formula=stated["formula"],
        tables=tuple(stated["tables"]),
        measure=measure,
        many=stated["list"],
        centred=stated.get("centred", False),
        code=code,
    )
