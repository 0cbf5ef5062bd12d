"""Congestion controls of the user's own: a class or a file becomes source text for other processes.

Every law (in Python, in Rust, or a trained policy) is sent as the text of the module that defines it. Each
process executes that text, so a digest in a run's key covers what ran: the text, the class's name, and the
user's own modules that the text imports. It does not cover installed packages or the version of Python.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard

from cwndlab._core import CongestionControl, NativeLaw, tcp_knobs

from .errors import StudyError, nearest, similar
from .law_attributes import check_attributes
from .usercode import digest_of_code, digest_of_imports, execute, read_source, stop_loading

#: A congestion control that the engine can run: a Python class, or a law in Rust.
Law = type[CongestionControl] | NativeLaw
_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
#: Suffix of files with a trained policy.
POLICY_FILE = ".onnx"
_SPEC = re.compile(r"(?:(?P<name>[^=/\\:]+)=)?(?P<file>.+?)(?::(?P<cls>[A-Za-z_]\w*))?\Z")


@dataclass(frozen=True, eq=False, repr=False)
class LawCode:
    """A congestion control as source text."""

    #: The congestion control's name in studies.
    name: str
    class_name: str
    #: The file of the source text, as errors and reports name it.
    file: str
    source: str
    uses_random: bool
    #: Digest of the user's modules that the text imports (`usercode.digest_of_imports`).
    imports: str = ""
    #: The value to which `cc` also sets the TCP knob `ecn`; empty if it does not set it.
    ecn: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles without the digest: the receiver computes its own and compares it with the scenario's."""
        own = (self.name, self.class_name, self.file, self.source, self.uses_random, self.imports, self.ecn)
        return (LawCode, own)

    @cached_property
    def digest(self) -> str:
        """Digest of the module's text, the class's name and `imports`."""
        return digest_of_code("cwndlab congestion control 1", self.class_name, self.source, self.imports)

    def describe(self) -> dict[str, Any]:
        """The congestion control's entry in provenance.json."""
        about: dict[str, Any] = {"name": self.name, "class": self.class_name, "file": self.file}
        about["digest"] = self.digest
        about |= {"uses_random": self.uses_random, "imports": self.imports}
        return about | ({"ecn": self.ecn} if self.ecn else {})

    @property
    def brings(self) -> dict[str, str]:
        """The TCP knobs that `cc` sets besides `window_law`, with their values."""
        return {"ecn": self.ecn} if self.ecn else {}

    @property
    def knob(self) -> dict[str, Any]:
        """The value of the knob `window_law` that selects this congestion control."""
        return {"external": {"code": self.digest, "random": self.uses_random}}


#: The remedy in errors about an unknown name of a congestion control.
OF_YOUR_OWN = (
    "one of your own in Python needs --cc FILE.py:CLASS, a trained policy --cc FILE.onnx, "
    "one in Rust --cc-crate FOLDER, one in C `cwndlab linux build --law FILE.c`"
)
#: A name that a kernel's congestion control can have: at most 15 characters (TCP_CA_NAME_MAX).
_KERNEL_NAME = re.compile(r"[\w+-]{1,15}\Z", re.ASCII)


def kernel_knob(name: str) -> dict[str, Any]:
    """The value of the knob `window_law` that selects a congestion control that only kernels have.

    A scenario stores it as an external law, whose 128-bit code is then the name instead of a digest.
    """
    return {"external": {"code": name.encode().ljust(16, b"\0").hex(), "random": False}}


def kernel_law(value: object) -> str | None:
    """The kernel's congestion control that a value of `window_law` selects; None if it is another kind."""
    if not isinstance(value, Mapping) or "external" not in value:
        return None
    name = bytes.fromhex(value["external"]["code"]).rstrip(b"\0").decode("ascii", "replace")
    return name if _KERNEL_NAME.match(name) else None


@cache
def built_in() -> tuple[str, ...]:
    """The names of the engine's window laws."""
    return _choices("window_law")


@cache
def _choices(name: str) -> tuple[str, ...]:
    """The words that a knob of TCP can have as its value."""
    knob = next(knob for knob in json.loads(tcp_knobs()) if knob["name"] == name)
    return tuple(word.strip() for word in knob["type"].split("|"))


def name_versions(name: str) -> str | None:
    """The remedy for a law that the engine has in versions ("write bbr1 or bbr3" for `bbr`); else None."""
    versions = [law for law in built_in() if law != name and law.rstrip("0123456789") == name]
    return f"write {' or '.join(versions)}" if versions else None


def misspelt(name: str) -> str | None:
    """The engine's window law that a misspelt name probably means; None if none is similar.

    None too if the name contains a law's name, or is part of one: `bbr` is a kernel's law.
    """
    laws = built_in()
    if any(law in name or name in law for law in laws):
        return None
    return similar(name, laws, 0.8)


def make_law_codes(controls: Mapping[str, type[CongestionControl] | str | Path]) -> dict[str, LawCode]:
    """The `LawCode` of each congestion control by name, from a class or a text that `from_file` accepts."""
    stop_loading()
    codes = {}
    for name, control in controls.items():
        codes[name] = (
            from_class(name, control) if isinstance(control, type) else from_file(f"{name}={control}")
        )
    return codes


def from_class(name: str, cls: type[CongestionControl]) -> LawCode:
    """The `LawCode` of a class. StudyError if it is no congestion control, or its source is not in a file."""
    _check(name, cls)
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not str(file).endswith(".py"):
        raise StudyError(
            f"the source of {cls.__qualname__} is not in a file, so other processes could not run it",
            key=f"cc[{name!r}]",
            right='write the class to a file and give "FILE.py:CLASS"',
        )
    return _code(name, cls, Path(file), read_source(Path(file), "--cc"))


def from_file(spec: str) -> LawCode:
    """The `LawCode` of a congestion control in [NAME=]FILE.py[:CLASS], FILE.onnx or a Rust crate's folder.

    Runs FILE.py, or a module that loads the policy or the crate. A crate is built first.
    """
    match = _SPEC.match(spec)
    file = Path(match["file"]) if match else Path(spec)
    if match is not None and file.suffix == POLICY_FILE:
        name = match["name"] or re.sub(r"[^a-z0-9_-]", "-", file.stem.lower())
        return _written(name, "Policy", file, import_module("cwndlab.apps.policy.onnx").write_module(file))
    if match is not None and file.is_dir():
        crate = import_module("cwndlab.apps.law_crate.crate")
        return _written(match["name"] or crate.default_name(file), "Law", file, crate.write_module(file))
    if match is None or file.suffix != ".py":
        right = "write FILE.py:CLASS, FILE.onnx, or the folder of a crate"
        raise StudyError(f"{spec!r} names no Python file", key="--cc", right=right)
    source = read_source(file, "--cc")
    module = execute(source, str(file), "--cc")
    laws = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, NativeLaw) or (_is_class(value) and value.__module__ == module.__name__)
    }
    class_name = match["cls"] or (next(iter(laws)) if len(laws) == 1 else None)
    if class_name not in laws:
        problem = (
            f"{file} has no congestion control {class_name}"
            if class_name
            else f"{file} has {len(laws)} classes"
        )
        right = f"write {file}:CLASS; {nearest(class_name or '', laws)}"
        raise StudyError(problem, key="--cc", right=right)
    law = laws[class_name]
    name = match["name"] or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", class_name).lower()
    if isinstance(law, NativeLaw):
        return _written(name, class_name, file, source)
    _check(name, law)
    return _code(name, law, file, source)


def _written(name: str, class_name: str, file: Path, source: str) -> LawCode:
    """The `LawCode` of a law in Rust or of a policy; `source` is the Python module that loads it."""
    code = LawCode(name, class_name, str(file), source, uses_random=False, imports=digest_of_imports(source))
    law = load(code)
    _check(name, law)
    return replace(code, uses_random=bool(law.uses_random), ecn=_form_of_ecn(name, file, law))


def load(code: LawCode) -> Law:
    """The congestion control of a `LawCode`; its source text is run once per process."""
    with _lock:
        law = _loaded.get(code.digest)
        if law is None:
            defined = getattr(execute(code.source, code.file, "--cc"), code.class_name, None)
            if not (isinstance(defined, NativeLaw) or _is_class(defined)):
                raise StudyError(
                    f"{code.file}: has no congestion control {code.class_name}", key=f"cc[{code.name!r}]"
                )
            law = _loaded[code.digest] = defined
        return law


_lock = threading.Lock()
_loaded: dict[str, Law] = {}


def _is_class(value: object) -> TypeGuard[type[CongestionControl]]:
    return isinstance(value, type) and issubclass(value, CongestionControl)


def _code(name: str, cls: type[CongestionControl], file: Path, source: str) -> LawCode:
    """The `LawCode` of a class. StudyError for a misspelt attribute, or an invalid `ecn`."""
    check_attributes(source, cls.__qualname__, str(file))
    ecn, imports = _form_of_ecn(name, file, cls), digest_of_imports(source)
    return LawCode(name, cls.__qualname__, str(file), source, bool(cls.uses_random), imports, ecn)


def _form_of_ecn(name: str, file: Path, law: Law) -> str:
    """A congestion control's `ecn`, "" if it has none. StudyError if the TCP knob `ecn` lacks this value."""
    ecn, forms = str(getattr(law, "ecn", "")), _choices("ecn")
    if ecn and ecn not in forms:
        problem = f"{file}: {name} has ecn = {ecn!r}, which is no form of ECN"
        raise StudyError(problem, key=f"cc[{name!r}]", right=nearest(ecn, forms))
    return ecn


def _check(name: str, law: object) -> None:
    key = f"cc[{name!r}]"
    if not _NAME.match(name):
        raise StudyError(f"{name!r} is not a name", key=key, right="use lower-case letters, digits, - and _")
    if name in built_in():
        raise StudyError(f"{name} is a window law of the engine", key=key, right="choose another name")
    if isinstance(law, NativeLaw):
        return
    cls = law if isinstance(law, type) else type(law)
    if not issubclass(cls, CongestionControl):
        raise StudyError(
            f"{cls.__qualname__} is not a cwndlab.CongestionControl", key=key, right="derive it from that"
        )
    if "." in cls.__qualname__:
        raise StudyError(
            f"{cls.__qualname__} is defined inside something", key=key, right="define it at the top level"
        )
    for method in ("on_ack", "on_loss"):
        if getattr(cls, method) is getattr(CongestionControl, method):
            raise StudyError(f"{cls.__qualname__} has no {method}", key=key, right=f"define {method}")
