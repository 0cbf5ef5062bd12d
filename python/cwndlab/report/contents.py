"""The contents of a report, as the study defines them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cwndlab import metrics
from cwndlab.base.errors import StudyError
from cwndlab.base.plain_files import read_inside
from cwndlab.base.writing import with_unit
from cwndlab.stats.results import Results
from cwndlab.stats.tables import JudgedCell
from cwndlab.study.cells import was_not_run
from cwndlab.study.labels import Labels
from cwndlab.study.outputs import AnyTable, Claim, Column, Figure, Listing, Mark, Table
from cwndlab.study.study_spec import StudySpec

from .digits import number
from .model import ListingView

if TYPE_CHECKING:
    from cwndlab.stats.expression import Evaluator
    from cwndlab.stats.field import Field, Key
    from cwndlab.study.schema import Quantity, Source

#: The largest README that is shown, in bytes.
MAX_README = 1_000_000
README = "README.md"
#: The file name of the report's page in a result folder.
REPORT = "report.html"


@dataclass(frozen=True, eq=False, repr=False)
class Outputs:
    """The outputs of a study: its tables, figures and claims, with titles and texts."""

    title: str
    folder: Path
    """The folder of the study's published numbers."""
    source: str = ""
    url: str = ""
    about: str = ""
    readme: str = ""
    """The text of the study's README, as Markdown."""
    claimed: str = ""
    """The claim of the paper in one sentence."""
    finding: str = ""
    """The finding, with expressions in braces that stand for numbers."""
    key_figure: str = ""
    """Id of the figure shown with the finding; "" for the first figure."""
    tables: Sequence[AnyTable] = ()
    figures: Sequence[Figure] = ()
    marks: Sequence[Mark] = ()
    claims: Sequence[Claim] = ()
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    """The study's quantities by name."""
    choices: int = 0
    """The number of sensitivity axes in the study."""


def collect_outputs(study: StudySpec, folder: Path) -> Outputs:
    """The outputs of a study; `folder` has the published numbers."""
    outline, source = study.outline, study.outline.source
    return Outputs(
        title=study.title,
        folder=folder,
        source=_citation(source) if source is not None else "",
        url=(source.url or "") if source is not None else "",
        about=outline.about or "",
        claimed=(source.claimed or "") if source is not None else "",
        readme=read_readme(folder),
        finding=outline.finding or "",
        key_figure=outline.key_figure or "",
        tables=outline.tables or _plain_table(study),
        figures=outline.figures,
        marks=outline.marks,
        claims=study.claims.claims,
        quantities={quantity.name: quantity for quantity in outline.quantities},
        choices=len(outline.sensitivity),
    )


class JudgedLines(Protocol):
    """A published packet listing, compared with the traces of runs by an application."""

    @property
    def id(self) -> str:
        """The listing's id in the study."""

    @property
    def cells(self) -> Sequence[Sequence[JudgedCell]]:
        """One row for each published line; each row has the line's time in every variant."""

    def view(self, words: Labels) -> ListingView:
        """The listing in the view model; `words` has the titles of axes and values."""


def compare_listing(spec: Listing, results: Results, outputs: Outputs) -> JudgedLines:
    """Compares a published packet listing with the traces of runs."""
    judge_listing = import_module("cwndlab.apps.reproduction.listing").judge_listing
    judged: JudgedLines = judge_listing(spec, results, outputs.folder, outputs.marks)
    return judged


def read_readme(folder: Path) -> str:
    """The text of the README in a study's folder; "" if it cannot be read, or is a symbolic link."""
    try:
        return read_inside(folder, README, MAX_README).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _plain_table(study: StudySpec) -> Sequence[AnyTable]:
    """A table of all numbers of all cells, for a study that defines no tables."""
    outline = study.outline
    quantities = {quantity.name: quantity for quantity in outline.quantities}
    columns = [
        Column(
            heading=with_unit(quantity.title or quantity.name, metrics.find_unit(quantity, quantities)),
            quantity=quantity.name,
        )
        for quantity in outline.quantities
        if not metrics.is_list(quantity, quantities)
    ]
    if not columns or outline.grids:  # cells of different grids may have different axes
        return []
    return [Table(id="measured", title="Measured", rows=list(outline.axes), columns=columns)]


def _citation(source: Source) -> str:
    parts = [source.name, f"\u201c{source.title}\u201d" if source.title else "", ", ".join(source.authors)]
    return ", ".join(part for part in [*parts, str(source.year or "")] if part)


_PLACE = re.compile(r"\{([^{}]*)\}")
KEY = "finding"


def finding_text(template: str, results: Results) -> str:
    """A finding with its expressions in braces replaced by their values.

    `{median(x[iw=1]):1}` shows the value of `median(x[iw=1])` with one decimal. If an expression has a number
    for each value of an axis, the text is repeated for each value. Paragraphs on cells that were not run are
    left out if others remain.

    Raises:
        StudyError: an expression is wrong, has values over several axes, or no paragraph's cells were run.

    """
    shown: list[str] = []
    missing: StudyError | None = None
    for paragraph in re.split(r"\n\s*\n", template):
        try:
            shown.append(_paragraph_text(paragraph, results))
        except StudyError as error:
            if not was_not_run(error):
                raise
            missing = missing or error
    if missing is not None and not any(shown):
        raise missing
    return " ".join(filter(None, shown))


def _paragraph_text(template: str, results: Results) -> str:
    """The text of one paragraph of a finding, with its expressions replaced by their values."""
    if not template:
        return ""
    from cwndlab.stats.expression import Evaluator  # few studies have a finding

    evaluator = Evaluator(results)
    places = {match[0]: _field(match, evaluator) for match in _PLACE.finditer(template)}
    open_axes = list(dict.fromkeys(axis for selected in places.values() for axis in selected.axes))
    if len(open_axes) > 1:
        problem = f"not a single number, but one for each value of {' and '.join(open_axes)}"
        raise StudyError(problem, key=KEY, right="reduce it, as median(…)")

    def text(key: Key) -> str:
        def value(match: re.Match[str]) -> str:
            field = places[match[0]]
            return number(field.interval(key if field.axes else ()).value, _split(match[1])[1])

        return " ".join(_PLACE.sub(value, template).split())

    if not open_axes:
        return text(())
    (axis,) = open_axes
    keys = dict.fromkeys(key for selected in places.values() if selected.axes for key in selected.data)
    if len(keys) == 1:
        return text(*keys)
    return " ".join(f"{results.labels.setting(axis, *key)}. {text(key)}" for key in keys)


def _field(match: re.Match[str], evaluator: Evaluator) -> Field:
    """The value of an expression in braces; StudyError if it is invalid, or a condition."""
    from cwndlab.study.grammar import ExpressionError

    try:
        field = evaluator.evaluate(_split(match[1])[0])
        if field.condition:
            raise ExpressionError("not a number", 1, "a condition is a claim")
    except ExpressionError as error:
        raise StudyError(f"{error.problem} in {match[0]}", key=KEY, right=error.right) from error
    return field


def _split(inside: str) -> tuple[str, int | None]:
    """The expression in braces, and the decimals stated after its last colon; None if none are stated."""
    expression, colon, digits = inside.rpartition(":")
    return (expression, int(digits)) if colon and digits.isdecimal() else (inside, None)
