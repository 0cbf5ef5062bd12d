"""Builds a study from its document: expands short forms, checks every key, and what the parts say of each
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from cwndlab.base.errors import Findings, KeyPath, StudyError, nearest

from . import schema
from .consistency import check_study
from .document import CLAIMS, MAX_DEPTH, Document, is_short, put_all, read_toml
from .expand import SHORT, expand
from .place import Place
from .quantities import metric_shapes
from .shorthand import NETWORKS
from .study_spec import Catalogue, StudySpec, place_in
from .validate import validate, validate_at
from .values import is_among

#: The most keys of a table, elements of a list, and tables in a list: more than a study needs, and few enough
#: for everything that is wrong with it to be found within seconds.
MAX_KEYS, MAX_ITEMS, MAX_TABLES = 1_000, 10_000, 1_000
NETWORK = (("topology", "links"), ("traffic",))
"""Lists of tables as long as others: a network of a thousand hosts has a table for each."""

#: The class of the study that is made: `StudySpec` or one derived from it.
S = TypeVar("S", bound=StudySpec)


class Built(NamedTuple, Generic[S]):
    """A study, and what is wrong with it."""

    study: S
    findings: Findings
    #: The sections that do not fit; the study is built without them.
    left_out: frozenset[str]


def build(kind: type[S], document: Document, catalogue: Catalogue) -> Built[S]:
    """The study of a document, with everything that is wrong with it apart from its cells.

    `cwndlab.plan.load` checks those, too. StudyError if nothing can be built.
    """
    findings = Findings()
    raw = dict(document.written_tables)
    place = place_in(document, raw, {})
    _check_size(raw, place)
    known = [*schema.StudyFile.model_fields, *SHORT]
    for key in [key for key in raw if key not in known]:
        findings.note(place.error((key,), f"unknown key {key!r}", nearest(key, known)))
        del raw[key]
    if findings.errors and not raw.keys() & {"topology", *NETWORKS}:
        raise findings.error()  # the network is missing because its key is misspelt
    try:
        expanded = expand(raw, metric_shapes)
    except StudyError as error:
        findings.note(place.locate(error))
        raise findings.error() from None
    for one in expanded.wrong.errors:
        findings.note(place.locate(one))
    full = _changed(expanded.raw, document)
    place = place_in(document, full, expanded.origins)
    if full is not expanded.raw:
        _check_size(full, place)
    rest = {key: value for key, value in full.items() if key not in schema.MODEL_SECTIONS}
    wrong: set[str] = set()
    try:
        outline = validate(schema.Outline, rest)
    except StudyError as error:
        findings.note(place.locate(error))
        wrong = {str(one.path[0]) for one in (error, *error.others) if one.path}
        try:  # with what is left, the model can be checked
            rest = {"title": "", **{key: value for key, value in rest.items() if key not in wrong}}
            outline = validate(schema.Outline, rest)
        except StudyError:
            raise findings.error() from None
    claims = schema.Claims()
    with findings:
        claims = _claims(document)
    study = kind(document, catalogue, full, expanded.origins, outline, claims)
    if expanded.wrong.errors:
        wrong |= {*document.networks, "measure"}
    if not wrong:
        wrong = check_study(study, findings)
    return Built(study, findings, frozenset(wrong))


def _changed(raw: dict[str, Any], document: Document) -> dict[str, Any]:
    """The full tables with the document's changes, and with the values that axes are restricted to."""
    changes = {key: value for key, value in document.changes.items() if not is_short(key, value)}
    for name, values in document.chosen.items():
        axis = raw.get("axes", {}).get(name) if isinstance(raw.get("axes"), Mapping) else None
        listed = axis.get("values") if isinstance(axis, Mapping) else None
        if isinstance(listed, list):
            known = [value.get("name") if isinstance(value, Mapping) else value for value in listed]
            new = [value for value in values if not is_among(value, known)]
            if new:
                changes[f"axes.{name}.values"] = [*changes.get(f"axes.{name}.values", listed), *new]
    return put_all(raw, changes, list(schema.StudyFile.model_fields), document.file) if changes else raw


def _claims(document: Document) -> schema.Claims:
    if isinstance(document.claims, str):
        return _claims_of(document.claims, document.folder) if document.claims else schema.Claims()
    raw = {"claims": [dict(claim) for claim in document.claims]}
    return validate_at(Place(raw, None, None), schema.Claims)


@lru_cache(maxsize=4)
def _claims_of(text: str, folder: Path | None) -> schema.Claims:
    """The claims of a text, which stays the same while a study is changed."""
    file = folder / CLAIMS if folder is not None else None
    return validate_at(Place(read_toml(text, file), file, text), schema.Claims)


def _check_size(raw: Mapping[str, Any], place: Place) -> None:
    """StudyError for tables that are nested too deeply, too long, or hold what no study has."""
    if (deep := _depth(raw)) > MAX_DEPTH:
        raise StudyError(f"tables are nested {deep} deep", file=place.file, right=f"at most {MAX_DEPTH}")
    if (unfit := _unfit(raw)) is not None:
        raise place.error(*unfit)


def _unfit(value: Any, at: KeyPath = ()) -> tuple[KeyPath, str, str] | None:
    """Where there is what no study has, what is wrong with it, and what would be right; None without."""
    if isinstance(value, date | time):  # a datetime is a date
        return at, "dates and times of day have no meaning in a study", "write it in quotes"
    if isinstance(value, int) and abs(value) >= 2**64:
        return at, "the number has more than 64 bits", "write a smaller one"
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        return at, f"there are {len(value)} keys", f"at most {MAX_KEYS:,}"
    if isinstance(value, list) and len(value) > MAX_ITEMS:
        return at, f"the list has {len(value)} elements", f"at most {MAX_ITEMS:,}"
    if isinstance(value, list) and len(value) > MAX_TABLES:
        if at == ("measure",):  # each entry makes a table
            return at, f"the list has {len(value)} measures", f"at most {MAX_TABLES:,}"
        if at not in NETWORK and any(isinstance(item, dict) for item in value):
            return at, f"the list has {len(value)} tables", f"at most {MAX_TABLES:,}"
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for key, item in items if (found := _unfit(item, (*at, key))) is not None), None)


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= MAX_DEPTH + 1:
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        deepest += 1
    return deepest
