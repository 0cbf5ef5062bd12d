"""A digest of what a function in a notebook uses from other cells: constants, functions and classes."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType

import numpy as np

from .errors import StudyError

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def digest_of_values(function: Callable[..., object], key: str) -> str:
    """A digest of the current values of all names that a function uses from outside; "" if it uses none.

    StudyError, with the key `key`, if a value's type has no digest.
    """
    digest, seen = hashlib.sha256(), set[int]()
    count = 0
    for text in _texts(function, key, seen):
        digest.update(f"{len(text)}\0{text}".encode())
        count += 1
    return digest.hexdigest() if count else ""


def _texts(function: object, key: str, seen: set[int]) -> Iterator[str]:
    """Yields "NAME VALUE" for each name that a function uses from outside, directly or indirectly."""
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: cell.cell_contents for name, cell in cells}
    values: Mapping[str, object] = {**function.__globals__, **closed}
    for name in sorted(set(_names(function.__code__)) & values.keys()):
        value = values[name]
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            yield f"{name} {_source(name, value, key)}"
            yield from _texts(value, key, seen)
        elif isinstance(value, type) and value.__module__ == function.__module__:
            yield from _texts_of_class(name, value, key, seen)
        elif isinstance(value, ModuleType):
            yield f"{name} module {value.__name__}"
        elif getattr(value, "__module__", None) and hasattr(value, "__qualname__"):
            yield f"{name} {value.__module__}.{value.__qualname__}"
        else:
            yield f"{name} {_value_text(name, value, key)}"


def _texts_of_class(name: str, value: type, key: str, seen: set[int]) -> Iterator[str]:
    """Yields "NAME VALUE" for a class, its bases and constants, and the names that their methods use."""
    for base in value.__mro__:
        if base.__module__ != value.__module__:
            yield f"{name} {base.__module__}.{base.__qualname__}"
            continue
        yield f"{name} {_source(name, base, key)}"
        for attribute, member in vars(base).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if isinstance(function, FunctionType):
                yield from _texts(function, key, seen)
            elif not attribute.startswith("__") and isinstance(member, (*_PLAIN, list, tuple, dict, set)):
                yield f"{name}.{attribute} {_value_text(name, member, key)}"


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function's code, and the functions defined in it, may look up outside."""
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _value_text(name: str, value: object, key: str) -> str:
    """A text that identifies a value; StudyError at `key` for a type that has no such text."""
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray) and value.dtype != np.dtype(object):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, np.generic):
        return f"{value.dtype} {value!r}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} {[_value_text(name, part, key) for part in value]}"
    if isinstance(value, set | frozenset):
        return f"set {sorted(_value_text(name, part, key) for part in value)}"
    if isinstance(value, dict):
        pairs = [(_value_text(name, k, key), _value_text(name, v, key)) for k, v in value.items()]
        return f"dict {pairs}"
    raise StudyError(
        f'it uses "{name}", a {type(value).__name__}, of which no key can be made',
        key=key,
        right="make it inside the function, or write the metric to a file and import that",
    )


def _source(name: str, value: Callable[..., object], key: str) -> str:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        raise StudyError(
            f'it uses "{name}", whose source cannot be found',
            key=key,
            right="write it to a file and import that",
        ) from None
