"""Loads a study: builds it from its document, then checks what shows only in a cell.

Building finds wrong keys and names; here the first cell's model is made, its files are looked for, and the
names of traffic and links that quantities ask for are looked up in the cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cwndlab.base.errors import Findings, StudyError, nearest
from cwndlab.study import schema
from cwndlab.study.building import S, build
from cwndlab.study.congestion import UnknownLawError
from cwndlab.study.consistency import locate_outside
from cwndlab.study.document import Document
from cwndlab.study.files import resolve_inside
from cwndlab.study.study_spec import Catalogue, StudySpec
from cwndlab.study.values import label

from .direction import traces
from .plan import Cell, make_plan


def build_checked(kind: type[S], document: Document, catalogue: Catalogue) -> S:
    """The study of a document; StudyError with everything that is wrong with it."""
    study, findings, left_out = build(kind, document, catalogue)
    if not left_out & {"parameters", "axes"}:
        with findings:
            _ = study.base
            if not left_out - {"quantities"}:
                _check_files(study, findings)
            if not left_out:
                _check_names(study, findings)
        if findings.errors:
            with findings:  # what else would be found once these are corrected
                unasked = study.outline.model_copy(update={"quantities": []})
                _check_apart_from_laws(Cell("", study.first, replace(study, outline=unasked)))
    findings.report()
    return study


def _check_apart_from_laws(cell: Cell) -> None:
    """StudyError for what is wrong with a cell, except for laws that `cc` may still define."""
    try:
        cell.check()
    except StudyError as error:
        errors = (error.without_others(), *error.others)
        found = [error for error in errors if not isinstance(error, UnknownLawError)]
        if found:
            raise found[0].replace(others=found[1:]) from None


def rebuild(study: S, document: Document) -> S:
    """The study with another document, checked; cells are restricted without another check."""
    restricted = replace(study.document, chosen=document.chosen)
    known = {name: {label(value) for value in axis.names} for name, axis in study.outline.axes.items()}
    if restricted == document and all(
        label(value) in known[name]
        for name, values in document.chosen.items()
        if name in known
        for value in values
    ):
        return replace(study, document=document)
    return build_checked(type(study), document, study.catalogue)


def _check_files(study: StudySpec, findings: Findings) -> None:
    """Notes files that the first cell names and that are not there."""
    links, distributions = study.base.topology.links, study.base.distributions
    named: list[tuple[tuple[str | int, ...], str]] = [
        (("topology", "links", index, *path), trace)
        for index, link in enumerate(links)
        for path, trace in traces(link)
    ]
    named += [(("distributions", name, "file"), one.file) for name, one in distributions.items() if one.file]
    for path, name in named:
        with findings:
            try:
                resolve_inside(study.folder, name)
            except StudyError as error:
                raise locate_outside(study, error, path) from None


def _check_names(study: StudySpec, findings: Findings) -> None:
    """StudyError for the first traffic or link among the options of quantities that no cell has."""
    known: Mapping[str, set[str]] = _names_in(study.base)
    everywhere = False
    for index, quantity in enumerate(study.outline.quantities):
        for option in known.keys() & quantity.options.keys():
            asked = quantity.options[option]
            for name in asked if isinstance(asked, list) else [asked]:
                if name not in known[option] and findings.errors:
                    return  # the grids may be what is wrong, so other cells are unknown
                if name not in known[option] and not everywhere:
                    everywhere = True  # an axis may rename what the first cell has
                    for cell in make_plan(study).cells:
                        for what, more in _names_in(study.model(cell.axes)).items():
                            known[what].update(more)
                if name not in known[option]:
                    what = "traffic" if option == "traffic" else "direction of a link"
                    raise study.place.error(
                        ("quantities", index, "options", option),
                        f'there is no {what} "{name}"',
                        nearest(str(name), sorted(known[option])),
                    )


def _names_in(model: schema.Model) -> dict[str, set[str]]:
    """What the options `traffic` and `link` can name in a cell."""
    ends = [[[end] if isinstance(end, str) else end for end in link.between] for link in model.topology.links]
    pairs = [(a, b) for one, other in ends for a in one for b in other]
    return {
        "traffic": {entry.name for entry in model.traffic},
        "link": {name for a, b in pairs for name in (f"{a}>{b}", f"{b}>{a}")},
    }
