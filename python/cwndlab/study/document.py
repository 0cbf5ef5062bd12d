"""A study as written: the text or the tables of its file, its claims, and later changes."""

from __future__ import annotations

import copy
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from cwndlab.base.errors import StudyError, nearest

from .added_axes import KERNELS
from .files import SHIPPED, STUDY, read_text, resolve_below
from .resolve import put, steps
from .schema import Scalar
from .shorthand import NETWORKS

#: The name of the file with a study's claims, in the study's folder.
CLAIMS = "claims.toml"
#: The deepest nesting of tables and the most parts of a dotted key, which bound the time for reading.
MAX_DEPTH = 30
#: The most characters of a study file.
MAX_TEXT = 1_000_000
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{MAX_DEPTH + 1}}}", re.ASCII)


@dataclass(frozen=True)
class Document:
    """A study as written, with later changes; everything else about a study is derived from this."""

    name: str
    #: The tables of the file, or those built in code; never modified.
    tables: Mapping[str, Any] = field(repr=False, hash=False)
    #: The text of the file; None for a study built in code.
    text: str | None = field(default=None, repr=False)
    file: Path | None = None
    #: The claims: the text of claims.toml, or tables given in code.
    claims: str | Sequence[Mapping[str, Any]] = field(default="", repr=False, hash=False)
    #: Changed keys, in the order of the changes: dotted key -> value. A key of a short form changes the
    #: tables as written; any other key changes the expanded tables.
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    #: The values to which axes (and names to which grids) are restricted: only these cells are run.
    chosen: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict, hash=False)

    @property
    def folder(self) -> Path | None:
        """The folder of the files that the study names; None for a study built in code."""
        return self.file.parent if self.file is not None else None

    @property
    def networks(self) -> list[str]:
        """The sections that describe a network in short form, of which a valid study has at most one."""
        return [name for name in NETWORKS if name in self.tables]

    @cached_property
    def written_tables(self) -> Mapping[str, Any]:
        """The tables as written, with the changes that apply to short forms (`is_short`).

        StudyError if a changed key does not exist.
        """
        short = {key: value for key, value in self.changes.items() if is_short(key, value)}
        sections = [*self.networks, "run", "parameters"]
        return put_all(self.tables, short, sections, self.file) if short else self.tables

    def change(self, changes: Mapping[str, Any]) -> Document:
        """The document with further changes; a new change of a key replaces an earlier one."""
        kept = {key: value for key, value in self.changes.items() if key not in changes}
        return replace(self, changes={**kept, **changes})

    def with_sections(self, sections: Mapping[str, Any]) -> Document:
        """The document with whole sections replaced, without earlier changes of them and without a text."""
        kept = {key: value for key, value in self.changes.items() if key.partition(".")[0] not in sections}
        return replace(self, tables={**self.tables, **sections}, changes=kept, text=None)


def is_short(key: str, value: object) -> bool:
    """Whether a change applies to a short form: a network, a list of kernels, or a parameter's list."""
    section = key.partition(".")[0]
    return key == KERNELS or section in NETWORKS or (section == "parameters" and isinstance(value, list))


def put_all(
    tables: Mapping[str, Any], changes: Mapping[str, Any], sections: Sequence[str], file: Path | None
) -> dict[str, Any]:
    """A copy of the tables with these dotted keys changed; StudyError for a key that does not exist."""
    changed = copy.deepcopy(dict(tables))
    for key, value in changes.items():
        try:
            put(changed, steps(changed, key, sections) if "." in key else (key,), value)
        except StudyError as error:
            raise error.with_place(file=file, line=None, key=f"--set {key}") from None
    return changed


def shipped_studies() -> dict[str, Path]:
    """The studies that come with cwndlab: name -> file."""
    return {path.parent.name: path for path in sorted(SHIPPED.glob(f"*/{STUDY}"))}


def titles() -> dict[str, str]:
    """The titles of the shipped studies, by name."""
    read = {
        name: read_toml(read_text(file, what="a study file"), file)
        for name, file in shipped_studies().items()
    }
    return {name: str(raw["title"]) for name, raw in read.items()}


def read_document(name_or_path: str | Path) -> Document:
    """The document of a shipped study (by name), a file, or a folder with a study.toml.

    The named file may be a symbolic link. A file in a folder must not link to a place outside it.
    """
    file = _find_file(name_or_path)
    if file == Path(name_or_path):
        text = read_text(file, what="a study file")
    else:
        text = _text_in(file.parent, file.name, "a study file")
    claims_file = file.parent / CLAIMS
    return Document(
        name=file.parent.name if file.name == STUDY and file.parent.name else file.stem,
        tables=read_toml(text, file),
        text=text,
        file=file,
        claims=_text_in(file.parent, CLAIMS, "the claims") if os.path.lexists(claims_file) else "",
    )


def _text_in(folder: Path, name: str, what: str) -> str:
    """The text of a file in a folder; StudyError if it links to a place outside the folder."""
    root, path = resolve_below(folder, name)
    return read_text(path, what=what, root=root)


def _find_file(name_or_path: str | Path) -> Path:
    """The file of a study given by name or path; StudyError if there is none."""
    shipped, written = shipped_studies(), str(name_or_path)
    if written in shipped:
        return shipped[written]
    if not written or "\0" in written:
        raise StudyError("a study is a shipped name or a file", right=nearest("", shipped))
    if "\n" in written:
        raise StudyError(
            "this is the text of a study, not its name or file", right="load it by Study.from_toml(text)"
        )
    file = Path(name_or_path)
    try:
        if file.is_dir():
            return file / STUDY
        exists = file.exists()
    except OSError as error:  # the name is too long
        raise StudyError(f"a study is a shipped name or a file: {error.strerror}") from None
    if not exists:
        looks_like_path = file.suffix == ".toml" or len(file.parts) > 1
        right = None if looks_like_path else nearest(written, shipped)
        raise StudyError(f'there is no study "{written}"', right=right)
    return file


def document_of_text(text: str, *, name: str = "study", file: Path | None = None) -> Document:
    """The document of a study file's text; `file` is the path that errors name."""
    return Document(name, read_toml(text, file), text, file)


def read_toml(text: str, file: Path | None) -> dict[str, Any]:
    """The tables of a TOML text; StudyError with the line if it is invalid."""
    if len(text) > MAX_TEXT:
        raise StudyError(f"the text has {len(text):,} characters", file=file, right=f"at most {MAX_TEXT:,}")
    if (deep := _DEEP_KEY.search(text)) is not None:
        at = text.count("\n", 0, deep.start()) + 1
        raise StudyError(f"a key has more than {MAX_DEPTH} parts", file=file, line=at)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(r" \(at line (\d+), column (\d+)\)", message)
        line = int(place[1]) if place else (text.count("\n") + 1 if "end of document" in message else None)
        plain = message.replace(place[0], f" at column {place[2]}") if place else message
        raise StudyError(f"this is not TOML: {plain[:1].lower()}{plain[1:]}", file=file, line=line) from None
    except (RecursionError, ValueError, OverflowError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise StudyError(f"this is not TOML: {reason}", file=file) from None
