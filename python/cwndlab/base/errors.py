"""Errors of cwndlab. Each says what is wrong, where, and what would be right.

The command line prints them without a traceback.
"""

from __future__ import annotations

import inspect
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial, wraps
from numbers import Integral, Real
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

#: Keys and indices that lead to a value in the tables of a study.
KeyPath: TypeAlias = tuple[str | int, ...]


#: Matches an option in a message (its name is group 1), or a quoted command, whose options stay as they are.
_OPTION = re.compile(r"`[^`]*`|(?<![\w-])--(?:set )?([a-z]+(?:-[a-z]+)*)")


class CwndlabError(Exception):
    """Base of all errors that the caller can correct.

    `text` names options as on the command line, which prints it. `str` names them as arguments in Python:
    `max_events` for `--max-events`, and only the key for `--set KEY`.
    """

    exit_code = 2

    def __str__(self) -> str:
        return _OPTION.sub(lambda match: match[1].replace("-", "_") if match[1] else match[0], self.text)

    @property
    def text(self) -> str:
        """The message, with options named as on the command line."""
        return Exception.__str__(self)


@dataclass(eq=False, repr=False)
class StudyError(CwndlabError):
    """A problem of a study: what is wrong, where, and what would be right."""

    #: The description of what is wrong, without a place.
    problem: str
    _: KW_ONLY
    #: The file that contains the problem, if any.
    file: Path | str | None = None
    #: The dotted key, for instance ``topology.links.modem.rate``.
    key: str | None = None
    #: Line and column of the key in the file, 1-based, if it could be found.
    line: int | None = None
    column: int | None = None
    #: The remedy: what to write or do instead.
    right: str | None = None
    #: The path of the problem in the study's tables, from which `cwndlab.study.place` derives `file`, `key`,
    #: `line` and `column`.
    path: KeyPath | None = None
    #: Further problems of the same study.
    others: Sequence[StudyError] = ()

    def __post_init__(self) -> None:
        self.file = str(self.file) if self.file is not None else None
        self.others = tuple(self.others)
        super().__init__(self._text())

    def _text(self) -> str:
        place = ""
        if self.file:
            numbers = [str(number) for number in (self.line, self.column) if number is not None]
            place = ":".join([str(self.file), *numbers]) + ": "
        if key := self.key or ".".join(map(str, self.path or ())):
            place += f"{key}: "
        own = place + self.problem + (f"; {self.right}" if self.right else "")
        return "\n".join([own, *(other.text for other in self.others)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles all attributes, so that an error of another process arrives complete."""
        return (partial(type(self), **{field.name: getattr(self, field.name) for field in fields(self)}), ())

    def replace(self, **changes: object) -> StudyError:
        """A copy of the error with these attributes changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def without_others(self) -> StudyError:
        """A copy of the error without `others`."""
        return self.replace(others=())

    def with_place(self, *, file: Path | str | None, line: int | None, key: str | None = None) -> StudyError:
        """A copy of the error in which file, line and key are set where the error has none."""
        own_line = self.line if self.line is not None else line
        return replace(self, file=self.file or file, key=self.key or key, line=own_line)


def problem_at(path: KeyPath, problem: str, right: str | None = None) -> StudyError:
    """An error at a path in a study's tables."""
    return StudyError(problem, right=right, path=path)


class ArgumentError(CwndlabError, TypeError):
    """An argument of a Python function whose name or type is wrong."""


class OptionError(StudyError, ValueError):
    """An option of a run whose value is not possible."""


class NotFoundError(CwndlabError, KeyError):
    """A name that is not among the results or records."""


#: For each type name in annotations of parameters: its name in messages, and the type of accepted values.
_TYPES: Mapping[str, tuple[str, type]] = {
    "str": ("text", str),
    "int": ("a whole number", Integral),
    "float": ("a number", Real),
    "bool": ("True or False", bool),
    "Path": ("a path", Path),
    "Mapping": ("a mapping of keys to values", Mapping),
    "Keys": ("a mapping of keys to values", Mapping),
    "None": ("", type(None)),
}


def check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a public function: an argument with a wrong name or type raises ArgumentError.

    Methods that work on selected cells are often called with an axis's value as an argument. The error then
    shows how to select cells first, by the pattern in `SELECTED` of the method's class.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **options)
        except TypeError as error:
            raise ArgumentError(_misfit(function, args, options, [*signature.parameters], error)) from None
        for name, value in bound.arguments.items():
            _check_type(name, signature.parameters[name], value)
        return function(*args, **options)

    return call


def check_constructor(cls: type[C]) -> type[C]:
    """Decorates a public class: its constructor checks arguments as in `check_arguments`."""
    setattr(cls, "__init__", check_arguments(getattr(cls, "__init__")))  # noqa: B009, B010 - mypy forbids the rest
    return cls


def _misfit(
    function: Callable[..., object],
    args: Sequence[object],
    options: Mapping[str, object],
    allowed: Sequence[str],
    error: TypeError,
) -> str:
    """The message for a call with wrong arguments; it suggests a replacement for the first unknown one."""
    name = function.__name__
    wrong = {key: value for key, value in options.items() if key not in allowed}
    if not wrong:
        parameters = inspect.signature(function).parameters.values()
        taken = [
            str(parameter.replace(annotation=parameter.empty))
            for parameter in parameters
            if parameter.name != "self"
        ]
        called = function.__qualname__.removesuffix(".__init__")
        return f"{called}(): {error}; its arguments: {', '.join(taken)}"
    first, right = next(iter(wrong)), nearest(next(iter(wrong)), [key for key in allowed if key != "self"])
    selected = getattr(args[0], "SELECTED", None) if args else None
    if selected is not None and not right.startswith("did you mean"):
        axes = ", ".join(f'"{key}": {value!r}' for key, value in wrong.items())
        right = f"select cells first: {selected.format(f'{{{axes}}}')}.{name}(…)"
    named = "there is no option" if name == "__init__" else f"{name}() has no argument"
    return f'{named} "{first}"; {right}'


def _check_type(name: str, parameter: inspect.Parameter, value: object) -> None:
    """ArgumentError if a value has none of a parameter's types. Types that `_TYPES` lacks are not checked."""
    parts = re.sub(r"\[.*\]", "", str(parameter.annotation)).split(" | ")
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or not {*parts} <= {*_TYPES}:
        return
    types = tuple(_TYPES[part][1] for part in parts)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        right = " or ".join(dict.fromkeys(_TYPES[part][0] for part in parts if part != "None"))
        raise ArgumentError(f"{name} must be {right}, not {reprlib.repr(value)}")
    for key in value if isinstance(value, Mapping) else ():
        if not isinstance(key, str):
            raise ArgumentError(f"{name} has the key {key!r}, which is not text")


class OutputError(CwndlabError):
    """An output folder or file that cannot be used: it exists, is not writable, or the disk is full."""


class RunError(CwndlabError):
    """A run that failed although its study is valid. The exit code, 1, differs from that of a StudyError."""

    exit_code = 1


class ExtraError(CwndlabError):
    """An optional package that is not installed.

    >>> str(ExtraError("cwndlab search", "scipy", "search"))
    "cwndlab search needs scipy: pip install 'cwndlab[search]'"
    """

    def __init__(self, user: str, package: str, extra: str) -> None:
        super().__init__(f"{user} needs {package}: {install(extra)}")


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'cwndlab[{extra}]'"


class ClusterError(CwndlabError):
    """A cluster that cannot be reached, or was lost."""


def nearest(name: str, choices: Iterable[str], *, limit: int = 12) -> str:
    """The remedy for an unknown name: a similar one of `choices`, or the first `limit` if none is similar.

    >>> nearest("topolgy", ["topology", "traffic"])
    'did you mean "topology"?'
    """
    options = [str(choice) for choice in choices]
    if isinstance(choices, set | frozenset):
        options.sort()  # the order of a set differs between processes; that of the message must not
    if (close := similar(name, options)) is not None:
        return f'did you mean "{close}"?'
    if not options:
        return "none is defined"
    shown = ", ".join(options[:limit]) + (", …" if len(options) > limit else "")
    return f"known: {shown}"


def similar(name: str, choices: Iterable[str], least: float = 0.6) -> str | None:
    """The choice most similar to a name; None if no similarity (0 to 1) reaches `least`."""
    import difflib  # needed only for misspelt names

    return next(iter(difflib.get_close_matches(str(name), list(choices), n=1, cutoff=least)), None)


#: The largest number of errors that one message reports.
MOST = 30


class Findings:
    """Collects errors: a StudyError raised in a `with` block is added, and the code after the block runs."""

    def __init__(self) -> None:
        self.errors: list[StudyError] = []
        self._places: set[object] = set()
        self._texts: set[str] = set()

    def __enter__(self) -> Findings:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, StudyError):
            return False
        self.note(error)
        return True

    def note(self, error: StudyError) -> None:
        """Adds an error and its `others`; of several errors at the same key only the first is added."""
        for single in (error, *error.others):
            alone = single.without_others()
            text, place = str(alone), (single.file, single.key, single.line, single.column, single.path)
            if (place in self._places) if single.key or single.path else (text in self._texts):
                continue
            self._texts.add(text)
            self._places.add(place)
            self.errors.append(alone)

    def error(self) -> StudyError:
        """All errors as one StudyError, in the order of their lines; there must be at least one error."""
        errors = {str(error): error for error in self.errors}.values()
        first, *others = sorted(errors, key=lambda e: (e.line is None, e.line or 0, e.column or 0))
        if len(others) >= MOST:
            kept = others[: MOST - 2]
            others = [*kept, StudyError(f"and {len(others) - len(kept)} more errors")]
        return first.replace(others=others)

    def report(self) -> None:
        """Raises all errors as one, if there are any."""
        if self.errors:
            raise self.error()
