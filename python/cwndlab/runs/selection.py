"""Axes are selected in one place, `run.sel`; methods say so where they were given axes until 0.2."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from cwndlab.errors import ArgumentError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def without_axes(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """A method that says what to write for values of axes among its arguments."""
    code = method.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(method)
    def checked(*args: _P.args, **options: _P.kwargs) -> _R:
        axes = {name: value for name, value in options.items() if name not in known}
        if axes:
            shown = ", ".join(f'"{name}": {value!r}' for name, value in axes.items())
            raise ArgumentError(
                f"{method.__name__}() has no argument {next(iter(axes))}; select cells first: "
                f"run.sel({{{shown}}}).{method.__name__}(…)"
            )
        return method(*args, **options)

    return checked
