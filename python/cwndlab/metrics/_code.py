"""Digests of metrics' code: when a metric's code changes, the values of that metric alone are recomputed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cwndlab.base.captured_values import digest_of_values

from . import _declared
from ._declared import built_in

_ROOT = Path(__file__).parent.parent
#: The packages whose code turns records and a scenario into values; other packages do not change values.
_PACKAGES = ("metrics", "records")
#: The one module outside these packages whose code is part of the digest.
_NUMBERS = "base.numbers"
#: Modules left out of digests: they only register what each metric's own module declares.
_CARRIERS = ("metrics", "metrics._declared")


def code_digest(metric: str | None) -> str:
    """Digest of a metric's code; for None, of the code that all metrics share."""
    own = None if metric is None else _declared.find(metric)
    if own is None:
        return _digest(metric)
    # A function of a notebook also depends on the current values of names that other cells define.
    used = "" if own.code.whole else digest_of_values(own.measure, f"metric {own.name}")
    return f"{own.code.digest}{used} {_digest(None)}"


@cache
def _digest(metric: str | None) -> str:
    """Digest of a built-in metric's module and its imports; for None, of the code that all metrics share."""
    sources = closure(metric)
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(f"{name} {len(sources[name])}\0".encode() + sources[name])
    return digest.hexdigest()


def closure(metric: str | None) -> dict[str, bytes]:
    """The sources of a metric's module and of its imports, by module name without `cwndlab.`."""
    todo = ["metrics._measure"]
    if metric is not None:
        todo.append(built_in()[metric].measure.__module__.removeprefix("cwndlab."))
    sources: dict[str, bytes] = {}
    while todo:
        name = todo.pop()
        module = None if name in sources else _module(name)
        if module is not None:
            sources[name], imports = module
            todo += imports
    return sources


@cache
def _module(name: str) -> tuple[bytes, tuple[str, ...]] | None:
    """The source and the imports of a module of cwndlab; None if its code is not part of digests.

    Imports are names of modules without `cwndlab.`; for `from a.b import name`, "a.b" and "a.b.name".
    """
    if name in _CARRIERS or (name.split(".")[0] not in _PACKAGES and name != _NUMBERS):
        return None
    base = _ROOT.joinpath(*name.split("."))
    for path, package in ((base.with_suffix(".py"), name.rpartition(".")[0]), (base / "__init__.py", name)):
        if path.is_file():
            source = path.read_bytes()
            return source, tuple(_named(source, package))
    return None


#: An import statement: its module, and the names taken from the module. A regular expression, since parsing
#: the files would add 40 ms to each command; "\n" finds lines faster than "^".
_IMPORT = re.compile(
    rb"\n[ \t]*(?:import[ \t]+(?P<modules>[\w., \t]+)|"
    rb"from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^(\n]*))"
)
_NAME = re.compile(r"(?:^|,)\s*([\w.]+)")


def _named(source: bytes, package: str) -> Iterator[str]:
    for statement in _IMPORT.finditer(b"\n" + source):
        part = {name: (text or b"").decode() for name, text in statement.groupdict().items()}
        module, level = part["module"], len(part["dots"])
        if part["modules"]:
            names = _NAME.findall(part["modules"])
            yield from (name.removeprefix("cwndlab.") for name in names if name.startswith("cwndlab."))
            continue
        if level:
            parts = package.split(".")[: len(package.split(".")) - level + 1]
            base = ".".join([*parts, *([module] if module else [])])
        elif module == "cwndlab" or module.startswith("cwndlab."):
            base = module.removeprefix("cwndlab").removeprefix(".")
        else:
            continue
        yield base
        names = _NAME.findall(re.sub(r"#.*|[()]", "", part["names"]))
        yield from (f"{base}.{name}".removeprefix(".") for name in names)
