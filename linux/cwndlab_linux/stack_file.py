"""The argument of `--stack`: a profile of the kernel's TCP, or a user's TOML file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator

from cwndlab.base.errors import StudyError, nearest
from cwndlab.study.base import Strict
from cwndlab.study.document import read_toml
from cwndlab.study.files import read_text
from cwndlab.study.place import Place
from cwndlab.study.study_spec import StudySpec
from cwndlab.study.validate import validate_at

from .stack import LAWS, STACKS, Opener, Segments, Stack, default_for


def _sysctl(value: Any) -> str:
    """A sysctl as the kernel's text: 1 for true, the numbers of a list separated by spaces."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, dict):
        raise ValueError("this is a table; a sysctl is a number, a text, a list, true or false")
    return " ".join(map(_sysctl, value)) if isinstance(value, list) else str(value)


def _tcp_keys(given: dict[str, str]) -> dict[str, str]:
    made = {key.removeprefix("net.ipv4."): value for key, value in given.items()}
    for key in made:
        if not key.startswith("tcp_") or "/" in key:
            raise ValueError(f'"{key}" is no TCP sysctl; write keys like tcp_sack')
    return made


def _known_laws(given: dict[str, str]) -> dict[str, str]:
    for law in given:
        if law not in LAWS:
            raise ValueError(f'there is no window law "{law}"; {nearest(law, LAWS)}')
    return given


Sysctls = Annotated[dict[str, Annotated[str, BeforeValidator(_sysctl)]], AfterValidator(_tcp_keys)]


class HostSettings(Strict):
    """The settings of one host."""

    sysctls: Sysctls = {}
    qdisc: str = ""


class StackFile(HostSettings):
    """The settings of all hosts, and other attributes of `Stack` that differ from `based_on`."""

    based_on: Literal["linux-1998", "linux-stock", "linux-laws"] = "linux-stock"
    quick_ack: bool = False
    opener: Opener = "receiver"
    answer_carries_ack: bool = False
    segments: Segments = "trains"
    laws: Annotated[dict[str, str], AfterValidator(_known_laws)] = {}
    hosts: dict[str, HostSettings] = {}


#: Keys of a file that replace the same attributes of the profile.
_REPLACING = ("quick_ack", "opener", "answer_carries_ack", "qdisc", "segments")


def stack_for(study: StudySpec, name: str | None = None) -> Stack:
    """The stack of a study: the one named, else the study's own, else the one for its TCP profile."""
    return load(name or study.base.run.stack or default_for(study.base.tcp.profile))


def load(name: str) -> Stack:
    """A profile by name, or the stack in a TOML file; StudyError states errors with their place."""
    if name in STACKS:
        return STACKS[name]
    path = Path(name)
    if path.suffix != ".toml":
        right = f"{nearest(name, list(STACKS))} (or name a TOML file)"
        raise StudyError(f'there is no stack "{name}"', key="--stack", right=right)
    text = read_text(path, what="a stack")
    file = validate_at(Place(read_toml(text, path), path, text), StackFile)
    base = STACKS[file.based_on]
    own = [*file.sysctls, *(key for host in file.hosts.values() for key in host.sysctls)]
    given: dict[str, Any] = {key: getattr(file, key) for key in _REPLACING if key in file.model_fields_set}
    return replace(
        base,
        name=path.stem,
        about=f"{file.based_on}, changed by {path.name}",
        sysctls={**base.sysctls, **file.sysctls},
        sack_of_study=base.sack_of_study and "tcp_sack" not in file.sysctls,
        laws={**base.laws, **file.laws},
        hosts={name: host.model_dump(exclude_defaults=True) for name, host in file.hosts.items()},
        text=text,
        own=tuple(dict.fromkeys(own)),
        **given,
    )
