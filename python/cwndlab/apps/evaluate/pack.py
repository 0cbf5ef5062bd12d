"""Packs: the criteria of a document, each with the study that measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from cwndlab.api import Study
from cwndlab.base.errors import StudyError, nearest
from cwndlab.study.base import Label, Strict
from cwndlab.study.document import read_toml
from cwndlab.study.files import read_text
from cwndlab.study.grammar import ExpressionError, parse
from cwndlab.study.place import Place
from cwndlab.study.validate import validate_at

SHIPPED = Path(__file__).parents[2] / "packs"
#: The axis, in every study of a pack, whose values are the subjects and references.
AXIS = "subject"
#: The text in an assertion that stands for the subject's name.
PLACEHOLDER = '"$subject"'

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=64)]
#: The kind of subject: a congestion control, or the queue of a bottleneck.
Kind = Literal["cc", "queue"]


class Criterion(Strict):
    """One row of a scorecard: a demand of the document, and the number that answers it."""

    id: Id = Field(description="stable: a scorecard names the row PACK/ID")
    section: str
    level: Literal["MUST", "SHOULD", "MAY", ""] = Field(
        "", description="the document's word in capitals; empty where it uses none"
    )
    asks: str = Field(min_length=1, description="what the document asks")
    study: Label = Field(description="the folder of the study that measures it")
    shows: str = Field(min_length=1, description="the number in words")
    value: str = Field(description="the number: an expression in which the axis `subject` stays open")
    unit: str = ""
    better: Literal["higher", "lower"] | None = None
    worst_over: list[Label] = Field(
        [], description="axes that stay open in `value`: the row has, and names, their worst setting"
    )
    requires: str | None = Field(
        None, description="the document's own threshold: a condition on the cells of the subject"
    )
    limit: str = Field("", description="the threshold in words")
    applies: str | None = Field(
        None,
        description="a condition on the cells of the subject without which `requires` asks nothing of it",
    )
    note: str = Field("", description="how the document's words became this number")

    @model_validator(mode="after")
    def _explained(self) -> Criterion:
        for key, condition in (("requires", self.requires), ("applies", self.applies)):
            if condition is not None and PLACEHOLDER not in condition:
                raise ValueError(f"`{key}` asks nothing of the subject; write subject={PLACEHOLDER} in it")
        if self.applies is not None and self.requires is None:
            raise ValueError("`applies` without `requires` has no effect")
        if self.requires is not None and not (self.limit and self.note):
            raise ValueError(
                "a criterion with `requires` needs a `limit`, the threshold in words, and a `note`: where it "
                "comes from"
            )
        if self.worst_over and self.better is None:
            raise ValueError("`worst_over` needs `better`: whether the higher or the lower value is worse")
        return self


class Unmeasured(Strict):
    """A demand of the document that no row measures."""

    section: str
    asks: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class PackFile(Strict):
    """The file pack.toml."""

    title: str
    kind: Kind
    document: str = Field(description="what rows cite, such as RFC 9743")
    url: str
    about: str
    references: list[Label] = Field(min_length=1, description="what every subject is shown next to")
    criteria: list[Criterion] = Field(min_length=1)
    unmeasured: list[Unmeasured] = []

    @model_validator(mode="after")
    def _distinct(self) -> PackFile:
        ids = [criterion.id for criterion in self.criteria]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"two criteria have the id {twice[0]!r}")
        return self


@dataclass(frozen=True)
class Pack:
    """A pack and its folder, which contains its studies."""

    name: str
    folder: Path
    file: PackFile

    @property
    def kind(self) -> Kind:
        """The kind of subject that the pack evaluates."""
        return self.file.kind

    @cached_property
    def studies(self) -> dict[str, Study]:
        """The studies by name, in the order of the criteria; StudyError if one lacks the axis `subject`."""
        found: dict[str, Study] = {}
        for criterion in self.file.criteria:
            if criterion.study in found:
                continue
            study = Study.load(self.folder / criterion.study / "study.toml")
            if AXIS not in study.outline.axes:
                raise StudyError(
                    f'the study "{criterion.study}" has no axis "{AXIS}"',
                    file=study.file,
                    right=f"add [axes.{AXIS}] with the references as its values",
                )
            found[criterion.study] = study
        return found

    def with_changes(self, changes: Mapping[str, Any]) -> Pack:
        """The pack with each row naming the keys that were changed in its studies."""
        if not changes:
            return self
        text = f" (changed: {', '.join(changes)})"
        named = [one.model_copy(update={"shows": one.shows + text}) for one in self.file.criteria]
        return replace(self, file=self.file.model_copy(update={"criteria": named}))

    def with_criteria(self, wanted: Sequence[str]) -> Pack:
        """The pack with only the criteria whose ids start with one of `wanted`; StudyError if none does."""
        kept = [one for one in self.file.criteria if any(one.id.startswith(name) for name in wanted)]
        if not kept:
            right = nearest(wanted[0] if wanted else "", [criterion.id for criterion in self.file.criteria])
            raise StudyError(
                f"the pack {self.name} has no criterion {', '.join(wanted)}", key="--only", right=right
            )
        return replace(self, file=self.file.model_copy(update={"criteria": kept}))


def changes_text(changes: Mapping[str, Any]) -> str:
    """Changed keys in words."""
    return ", ".join(f"{key} = {value}" for key, value in changes.items())


def shipped_packs() -> dict[str, Path]:
    """The folders of the packs that come with cwndlab, by name."""
    return {path.parent.name: path.parent for path in sorted(SHIPPED.glob("*/pack.toml"))}


def load(name_or_path: str | Path) -> Pack:
    """A shipped pack by name, or the pack in a folder with a pack.toml. StudyError if it is invalid."""
    known = shipped_packs()
    folder = known.get(str(name_or_path), Path(name_or_path))
    path = folder / "pack.toml"
    if not path.is_file():
        raise StudyError(f'there is no pack "{name_or_path}"', right=nearest(str(name_or_path), known))
    text = read_text(path, what="a pack")
    place = Place(read_toml(text, path), path, text)
    file = validate_at(place, PackFile)
    for position, criterion in enumerate(file.criteria):
        for key in ("value", "requires", "applies"):
            written = getattr(criterion, key)
            try:
                if written is not None:
                    parse(written)
            except ExpressionError as error:
                at = ("criteria", position, key)
                raise place.error(at, error.problem, error.right) from None
    return Pack(folder.name, folder, file)


def load_all(kind: Kind) -> list[Pack]:
    """All shipped packs for one kind of subject."""
    return [pack for pack in map(load, shipped_packs().values()) if pack.kind == kind]
