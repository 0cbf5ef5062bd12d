"""Subjects: the congestion controls or queues to evaluate, and how they enter a pack's studies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.laws import LawCode, built_in
from cwndlab.plan.plan import rebuild
from cwndlab.study import stacks
from cwndlab.study.congestion import NAMES
from cwndlab.study.congestion import congestion_control as spec_of

from .pack import AXIS, Kind

#: Options of QUIC stacks in evaluations: the packet size of TCP, and a stream window that no study fills.
OF_STACKS = {"mtu": "1500B", "stream_window": "16MiB"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_+-]*\Z")


@dataclass(frozen=True)
class Subject:
    """A congestion control or queue to evaluate."""

    kind: Kind
    name: str
    #: The user's own congestion control.
    law: LawCode | None = None
    #: The kernel's name of a congestion control that only the kernel has.
    kernel: str | None = None
    #: The keys of the TCP group that selects a QUIC stack: profile, congestion control, and options.
    stack: dict[str, str] | None = None
    #: The keys of a queue.
    queue: dict[str, Any] | None = None
    #: TCP knobs that define the congestion control, including `cc`.
    knobs: dict[str, Any] | None = None

    @property
    def description(self) -> str:
        """A description of the subject for the scorecard."""
        if self.law is not None:
            return f"{self.law.class_name} of {self.law.file}, digest {self.law.digest}"
        if self.kernel is not None:
            return f"congestion control {self.kernel} of the kernel; the simulator has none of this name"
        if self.stack is not None:
            version = _core.stack_versions()[self.stack["profile"]]
            options = ", ".join(f"{key} = {self.stack[key]}" for key in OF_STACKS)
            return f"congestion control {self.stack['cc']} of the QUIC stack {version}, {options}"
        if self.knobs is not None:
            settings = ", ".join(f"{key} = {value}" for key, value in self.knobs.items())
            return f"TCP with {settings} of the engine"
        if self.queue is not None:
            knobs = {key: value for key, value in self.queue.items() if key != "kind"}
            settings = ", ".join(f"{key} = {value}" for key, value in knobs.items())
            return f"queue {self.queue['kind']}, {settings or 'with its defaults'}"
        return f"congestion control {self.name} of the engine"


def congestion_control(given: str, *, on_kernel: bool = False) -> Subject:
    """The subject that `--cc` names: a congestion control, or `NAME={ cc = "cubic", slow_start = "search" }`.

    On a kernel, the name of one of the kernel's congestion controls is allowed, too. StudyError for other
    names.
    """
    if "{" in given:
        name, knobs = _named_table(given, "--cc", '{ cc = "cubic", slow_start = "search" }')
        if not name or name in built_in() or "cc" not in knobs:
            right = 'write NAME={ cc = "cubic", … }, with a name that the engine does not have'
            raise StudyError(f"{given!r} has no name of its own, or no cc", key="--cc", right=right)
        return Subject("cc", name, knobs=knobs)
    if on_kernel and _NAME.match(given) and NAMES.get(given, given) not in built_in():
        return Subject("cc", given, kernel=given)
    name, law = spec_of(given)
    return Subject("cc", name, law=law)


def from_stack(given: str, stack: str) -> Subject:
    """The subject for a congestion control of a QUIC stack. StudyError if the stack has none of this name."""
    known = stacks.congestion_controls(stack)
    if given not in known:
        problem = f"{stack} has no congestion control {given!r}"
        raise StudyError(problem, key="--cc", right=nearest(given, known))
    return Subject("cc", f"{stack}-{given}", stack={"profile": stack, "cc": given, **OF_STACKS})


def refusal(study: Study, subject: Subject) -> str | None:
    """Why a study cannot have a QUIC stack as a subject; None if it can."""
    for name in _groups(study):
        if knobs := [key for key in study.raw["tcp"]["groups"][name] if key not in ("cc", "profile")]:
            return f"{', '.join(knobs)} of the flow {name} are knobs of TCP"
    try:
        for cell in with_subjects(study, [subject], []).set({AXIS: subject.name}).plan().cells:
            cell.check()
    except StudyError as error:
        return error.problem
    return None


def queue(given: str) -> Subject:
    """The subject for a queue: `KIND` or `[NAME=]{ kind = "pie", target = "5ms" }`. StudyError otherwise."""
    example = '{ kind = "pie", target = "5ms" }'
    name, table = _named_table(given, "--queue", example) if "{" in given else ("", {"kind": given})
    kind = table.get("kind")
    if not isinstance(kind, str):
        raise StudyError(f"{given!r} has no kind", key="--queue", right=example)
    return Subject("queue", _checked_name(name or kind.replace("_", "-"), "--queue"), queue=table)


def _named_table(given: str, key: str, example: str) -> tuple[str, dict[str, Any]]:
    """The name, which may be empty, and the table in `[NAME=]{ … }`."""
    before, brace, rest = given.partition("{")
    try:
        table = tomllib.loads(f"it = {brace}{rest}")["it"]
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{brace + rest!r} is no TOML table: {error}", key=key, right=example) from None
    name = before.strip().removesuffix("=").strip()
    return (_checked_name(name, key) if before.strip() else ""), table


def _checked_name(name: str, key: str) -> str:
    if not _NAME.match(name):
        raise StudyError(f"{name!r} is not a name", key=key, right="lower-case letters, digits, - and _")
    return name


def with_subjects(
    study: Study, subjects: Sequence[Subject], references: Sequence[str], without: Collection[str] = ()
) -> Study:
    """The study with these subjects on its axis `subject`.

    The references follow, then the other values that the study declares for its claims. The cells of values
    in `without` are omitted, and claims about them are not checked.
    """
    declared = {_name(value): value for value in study.raw["axes"][AXIS]["values"]}
    if missing := [name for name in references if name not in declared]:
        right = nearest(missing[0], declared)
        raise study.place.error(("axes", AXIS, "values"), f'the reference "{missing[0]}" is missing', right)
    first = next(iter(declared.values()))
    own = {subject.kernel for subject in subjects if subject.kernel is not None}
    if own:
        study = replace(study, catalogue=replace(study.catalogue, kernel_laws=lambda: own))
    values = [_value(subject, declared, first, _groups(study)) for subject in subjects]
    names = [subject.name for subject in subjects]
    others = [name for name in dict.fromkeys((*references, *declared)) if name not in names]
    values += [declared[name] for name in others]
    made = rebuild(study, study.document.change({f"axes.{AXIS}.values": values}))
    if without:
        made = made.set({AXIS: [name for name in (*names, *others) if name not in without]})
    return made.with_laws({subject.name: subject.law for subject in subjects if subject.law is not None})


def _groups(study: Study) -> list[str]:
    """The TCP groups whose congestion control is the subject."""
    groups = study.raw.get("tcp", {}).get("groups", {})
    return [name for name, group in groups.items() if group.get("cc") == f"${AXIS}"]


def _value(subject: Subject, declared: dict[str, Any], first: Any, groups: Sequence[str]) -> Any:
    """The value of the axis `subject` that selects a subject, in these TCP groups."""
    if subject.stack is not None:
        return {"name": subject.name, "set": {f"tcp.groups.{group}": subject.stack for group in groups}}
    if subject.knobs is not None:
        knobs = subject.knobs.items()
        settings = {f"tcp.groups.{group}.{key}": value for group in groups for key, value in knobs}
        return {"name": subject.name, "set": settings}
    if subject.queue is None:
        return subject.name
    if set(subject.queue) == {"kind"} and subject.name in declared:
        return declared[subject.name]
    settings = {}
    for key, table in first["set"].items():
        limit = {"limit": table["limit"]} if "limit" in table else {}
        settings[key] = {**limit, **subject.queue}
    return {"name": subject.name, "set": settings}


def _name(value: Any) -> str:
    return str(value["name"] if isinstance(value, dict) else value)
