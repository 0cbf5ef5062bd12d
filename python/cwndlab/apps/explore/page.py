"""The HTML page of a study's controls: one file that runs the study offline or on its server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import urlencode

from cwndlab import _core, metrics
from cwndlab.apps.live import embed
from cwndlab.apps.notebook.widget import ExplorePage
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.report import render
from cwndlab.report.contents import read_readme
from cwndlab.report.wording import paragraphs
from cwndlab.study import stacks, toml
from cwndlab.study.study_spec import StudySpec
from cwndlab.study.values import as_list, text

from .controls import Control, Explored, derive_study
from .table import SettingTable

GROUPS = {"study": "What the study varies", "network": "Network", "tcp": "TCP", "parameter": "Parameters"}


Look: TypeAlias = str | Sequence[Mapping[str, Any]]
"""What to look for in a graph: a text, or a list of `text`s with conditions (`when`), except for the last."""


def explore(study: StudySpec) -> ExplorePage:
    """The page of a study, as `Study.explore` returns it."""
    return ExplorePage(study.title, page(derive_study(study)))


def page(
    derived: Explored,
    tries: Sequence[Mapping[str, Any]] = (),
    look: Mapping[str, Look] = MappingProxyType({}),
    index: str = "",
    *,
    served: bool = False,
) -> str:
    """The page of a study's controls, as HTML.

    Args:
        derived: the study and its controls.
        tries: suggestions: `text`, the values to `set`, and those of a second setting (`compare`).
        look: what to look for in some graphs, by their names in graphs.js; they come first. Of several texts,
            the first whose condition `when` (values of controls) is true is shown.
        index: address of the lessons' index page; "" if the page is no lesson.
        served: whether a server runs the study, as it must for laws in Python.

    Raises:
        OutputError: this cwndlab was built without the engine for pages.
        StudyError: the study has congestion controls in Python, which need a server, or a QUIC stack.

    """
    if derived.study.laws and not served:
        raise StudyError(
            "congestion controls in Python run in this process, not in a page of its own",
            key="--cc",
            right="leave out -o: `cwndlab explore` serves the page and runs them",
        )
    quic = [
        group.profile for group in derived.study.base.tcp.groups.values() if group.profile in stacks.names()
    ]
    if quic:
        raise StudyError(
            f"pages of controls do not run {quic[0]}", right="leave out the flows with a QUIC stack"
        )
    module = b"" if served else embed.engine_module(_core.engine_digest())
    if isinstance(module, str):
        raise OutputError(module)
    found, tables = derived.tables()
    about, folder = found.study.outline.about or "", found.study.folder
    carried = embed.simulator(module, content(found, tables, look), "explore.js")
    made = render.page(
        "explore.html",
        css=render.style("explore"),
        title=found.study.title,
        about=paragraphs(about),
        readme=render.readme_html(read_readme(folder) if folder is not None else ""),
        tries=[(str(one["text"]), address(one.get("set", {}), one.get("compare"))) for one in tries],
        groups=_groups(found.controls),
        left_out=found.left_out,
        index=index,
        simulator=carried,
    )
    return made.decode()


def address(values: Mapping[str, Any], compare: Mapping[str, Any] | None = None) -> str:
    """The fragment of a page's address that sets its controls; `compare` sets those of a second setting."""
    given = {name: text(value) for name, value in values.items()}
    if compare is not None:
        given |= {"vs.": ""} | {f"vs.{name}": text(value) for name, value in compare.items()}
    return "#" + urlencode(given)


def _groups(controls: Sequence[Control]) -> list[tuple[str, bool, list[Control]]]:
    """The groups of controls: heading, whether the group is open, and its controls."""
    made = []
    for group, title in GROUPS.items():
        if mine := [control for control in controls if control.group == group]:
            made.append((title, len(controls) <= 12 or group != "parameter", mine))
    return made


def content(found: Explored, tables: Sequence[SettingTable], look: Mapping[str, Look]) -> dict[str, Any]:
    """The data that the page's script reads: controls, scenarios, and the study as a file."""
    pool: dict[str, int] = {"": 0}
    rows = [[[pool.setdefault(value, len(pool)) for value in row] for row in table.rows] for table in tables]
    study = found.study
    file = {key: value for key, value in study.document.tables.items() if key != "grids"}
    return {
        "name": study.name,
        "seed": str(study.base.run.seed),
        "controls": [
            {
                "name": control.name,
                "title": control.title,
                "unit": control.unit,
                "ordered": control.ordered,
                "base": control.base,
                "stops": [{"value": stop.value, "title": stop.title} for stop in control.stops],
            }
            for control in found.controls
        ],
        "base": found.scenario(found.base),
        "tables": [
            {"controls": table.controls, "places": table.places, "rows": mine}
            for table, mine in zip(tables, rows, strict=True)
        ],
        "pool": [None, *(json.loads(value) for value in list(pool)[1:])],
        "axes": dict(found.axes),
        "order": list(study.outline.axes),
        "study": toml.dumps(file),
        "columns": _columns(study),
        "look": [(graph, cases_of(given)) for graph, given in look.items()],
    }


def cases_of(given: Look) -> list[tuple[dict[str, list[str]], str]]:
    """The texts for a graph, each with the values of controls for which it is shown."""
    if isinstance(given, str):
        return [({}, given)]
    return [
        (
            {
                name: [text(value) for value in as_list(values)]
                for name, values in entry.get("when", {}).items()
            },
            entry["text"],
        )
        for entry in given
    ]


def _columns(study: StudySpec) -> str:
    """Table columns for every number that the study measures, as TOML."""
    known = {quantity.name: quantity for quantity in study.outline.quantities}
    lines = [
        toml.line("", {"heading": f"{q.title or q.name} ({metrics.find_unit(q, known)})", "quantity": q.name})
        for q in study.outline.quantities
        if not metrics.is_list(q, known)
    ]
    return "".join(f"  {line.partition(' = ')[2]},\n" for line in lines)
