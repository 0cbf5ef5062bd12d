"""Lays out judged tables and claims for the view model, as text with the digits to show.

Statistics are computed only in `cwndlab.stats`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from cwndlab.base.numbers import Floats
from cwndlab.stats.adjustment import ADJUSTED
from cwndlab.stats.intervals import EXACT, ITSELF, NO_INTERVAL, NOT_MEASURABLE, unseen_share
from cwndlab.stats.tables import JudgedCell, JudgedTable
from cwndlab.stats.verdict import Judgement, Verdict, decimals
from cwndlab.study.labels import Labels

from .digits import (
    align_digits,
    estimate_text,
    interval_text,
    leave_out_columns,
    number,
    percent,
    with_true_minus,
)
from .model import (
    ClaimView,
    Counts,
    ListingView,
    NumberView,
    Reason,
    RowView,
    TableView,
)
from .palette import find_colour_place

if TYPE_CHECKING:
    from cwndlab.stats.claims import JudgedClaim
    from cwndlab.study.outputs import Table


Key: TypeAlias = tuple[str, str]
"""The cell id and the quantity of a number."""
#: Labels without titles: axes and values are shown by their names.
NO_WORDS = Labels()
ALONE = "Decided on its own, but not together with all other claims."
#: `Interval.method` -> how the interval was computed, in words.
METHODS = {
    "t": "Student's t over the runs",
    "log t": "Student's t on the logarithm, so that no interval goes below 0",
    "logit t": "Student's t on the log odds ln(p/(1 − p)) of a share p, so that no interval leaves its range",
    "log t, at least Poisson": "Student's t on the logarithm, and at least that of a Poisson count",
    "paired t": "Student's t on the differences between paired runs",
    "log paired t": "Student's t on the logarithms' differences between paired runs",
    "logit paired t": "Student's t on the log odds' differences between paired runs",
    "unpaired t": "Welch's t, as of runs that share nothing (and of medians)",
    "log unpaired t": "Welch's t on the logarithms, as of runs that share nothing (and of medians)",
    "logit unpaired t": "Welch's t on the log odds, as of runs that share nothing (and of medians)",
    "order statistics": "from two of the sorted runs, whatever their distribution",
}
#: The most characters of a list of cells in a claim; longer lists are folded.
LONG = 120
#: The most columns that the note on a table's intervals names for each method.
FEW_TITLES = 4
#: The scatter that adjustment removes from means, in words.
ADJUSTMENT = "scatter that comes from what each run happened to draw, such as larger or smaller files,"


def paragraphs(text: str) -> tuple[str, ...]:
    """The paragraphs of a text."""
    return tuple(part.strip() for part in text.split("\n\n") if part.strip())


#: Matches a number of replicates: footnotes that differ only in such numbers are merged.
_REPLICATES = re.compile(r"about ([\d,]+) replicates")


class Footnotes:
    """Footnotes, numbered in the order in which they are first used; cells may share them."""

    def __init__(self) -> None:
        #: Note with "{}" for its number of replicates -> these numbers.
        self._notes: dict[str, list[int]] = {}

    def numbers(self, *texts: str) -> tuple[int, ...]:
        """The numbers of these notes, which are added if they are new; empty texts have none."""
        numbers = []
        for text in filter(None, texts):
            counts = [int(count.replace(",", "")) for count in _REPLICATES.findall(text)]
            note = _REPLICATES.sub("{}", text) if counts else text
            self._notes.setdefault(note, []).extend(counts)
            numbers.append(list(self._notes).index(note) + 1)
        return tuple(numbers)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all notes in the order of their numbers."""
        texts = []
        for note, counts in self._notes.items():
            ends = " to ".join(f"{end:,}" for end in sorted({min(counts), max(counts)})) if counts else ""
            texts.append(note.replace("{}", f"about {ends} replicates") if counts else note)
        return tuple(texts)


# ── tables and claims ────────────────────────────────────────────


def table_view(
    judged: JudgedTable,
    words: Labels = NO_WORDS,
    grounds: Sequence[Collection[Key]] = (),
    why: Mapping[tuple[int, int], Reason] = MappingProxyType({}),
    values: Callable[[str, str], Floats] | None = None,
) -> TableView:
    """Lays out a table.

    Args:
        judged: the table.
        words: the titles of axes and their values.
        grounds: for each claim, the numbers that it uses.
        why: (row, column) -> a possible explanation of the number.
        values: returns the values of a quantity in a cell, one per replicate.

    """
    judged, left_out = leave_out_columns(align_digits(judged))
    spec, notes = judged.spec, Footnotes()
    rows = tuple(
        RowView(
            tuple(words.value_title(axis, v) for axis, v in zip(spec.rows, key, strict=True)),
            tuple(
                _number_view(judged, cell, notes)._replace(
                    claims=_claims_resting_on(_key(judged, cell), grounds),
                    why=why.get((k, at)),
                    first=_first_text(cell, values(cell.cell, cell.quantity)) if values else "",
                    flow=_measured_flow(cell, words),
                )
                for at, cell in enumerate(line)
            ),
        )
        for k, (key, line) in enumerate(zip(judged.rows, judged.cells, strict=True))
    )
    has_published = any(c.published for c in judged.numbers)
    if not has_published:
        rows = _with_bars(rows, judged, words)
    if not any(
        c.estimate and c.estimate.method not in (EXACT, NOT_MEASURABLE, ITSELF) for c in judged.numbers
    ):
        rows = tuple(r._replace(numbers=tuple(n._replace(interval="") for n in r.numbers)) for r in rows)
    return TableView(
        spec.id,
        spec.title,
        spec.about or "",
        tuple(words.title(axis) for axis in spec.rows),
        tuple(_groups(spec)) if any(c.group for c in spec.columns) else (),
        tuple(c.heading for c in spec.columns),
        rows,
        notes.texts,
        (*left_out, *_remarks(judged, words)),
        has_published,
    )


def _remarks(judged: JudgedTable, words: Labels) -> Iterator[str]:
    """Yields the remarks below a table: on intervals, the paper's rounding, changes hidden by scatter."""
    methods = dict.fromkeys(c.estimate.method for c in judged.numbers if c.estimate is not None)
    random = [m for m in methods if m not in (EXACT, NOT_MEASURABLE, ITSELF)]
    if random:
        given = [m for m in random if not m.endswith(NO_INTERVAL)]
        text = _methods_text(judged, given) if given else "Too few runs for intervals."
        yield text + _adjusted(given) + _unseen(judged)
    elif EXACT in methods:
        yield "Nothing in these cells is random: every number is exact."
    roundings = (judged.spec.rounding, *(column.rounding for column in judged.spec.columns))
    for reason in dict.fromkeys(rounding.reason for rounding in roundings if rounding):
        yield "Rounding of the source: " + reason
    if unsure := _unclear_changes(judged, words):
        yield unsure


def _with_bars(rows: tuple[RowView, ...], judged: JudgedTable, words: Labels) -> tuple[RowView, ...]:
    """The rows with each interval as a bar: columns of one group and unit share a scale that begins at 0."""
    ends: dict[Hashable, list[float]] = {}
    scales: list[Hashable] = []
    for at, column in enumerate(judged.spec.columns):
        estimates = [line[at].estimate for line in judged.cells]
        intervals = [e.interval for e in estimates if e is not None and e.ci_low < e.ci_high]
        unit = next((e.unit for e in estimates if e is not None), "")
        scales.append((column.group or at, unit))
        ends.setdefault(scales[-1], [0.0]).extend(
            end for interval in intervals for end in (interval.low, interval.high)
        )
    shown_rows = []
    for row, line in zip(rows, judged.cells, strict=True):
        numbers = []
        for shown, cell, scale, column in zip(row.numbers, line, scales, judged.spec.columns, strict=True):
            low, high = min(ends[scale]), max(ends[scale])
            e = cell.estimate
            if e is not None and e.ci_low < e.ci_high:
                value, a, b = (
                    round(100 * (end - low) / (high - low)) for end in (e.value, e.ci_low, e.ci_high)
                )
                shown = shown._replace(bar=(value, a, b, find_colour_place(column.heading, words.flows)))
            numbers.append(shown)
        shown_rows.append(row._replace(numbers=tuple(numbers)))
    return tuple(shown_rows)


def _methods_text(judged: JudgedTable, given: Sequence[str]) -> str:
    """A sentence on how the table's intervals were computed; with the columns of each method if several."""
    having: dict[str, dict[str, None]] = {}
    for cell in judged.numbers:
        if cell.estimate is not None and cell.estimate.method in given:
            column = judged.column(cell)
            title = re.sub(r" \([^()]*\)$", "", column.group or column.heading)
            having.setdefault(method_text(cell.estimate.method.removesuffix(ADJUSTED)), {})[title] = None
    if len(having) == 1:
        return f"95 % intervals: {next(iter(having))}."
    named = (
        f"{text} ({', '.join(titles)})" if len(titles) <= FEW_TITLES else text
        for text, titles in having.items()
    )
    return f"95 % intervals: {'; '.join(named)}."


def method_text(method: str) -> str:
    """An `Interval.method` in words; also of a comparison, such as "ratio of means, paired t"."""
    method, adjusted = method.removesuffix(ADJUSTED), method.endswith(ADJUSTED)
    after = f", after {ADJUSTMENT} was removed" if adjusted else ""
    if method in METHODS:
        return METHODS[method] + after
    what, _, rest = method.rpartition(", ")
    return (f"{what}: {METHODS[rest]}" if rest in METHODS else method) + after


def _adjusted(methods: Sequence[str]) -> str:
    """A sentence that all or some means are adjusted; "" if none is."""
    adjusted = sum(method.endswith(ADJUSTED) for method in methods)
    if not adjusted:
        return ""
    return (
        f" From {'' if adjusted == len(methods) else 'some of '}these means, {ADJUSTMENT} was removed first."
    )


def _groups(spec: Table) -> Iterator[tuple[str, int]]:
    """Yields the headings of groups of columns, each with its number of columns; "" for no group."""
    for text, columns in itertools.groupby(spec.columns, lambda column: column.group or ""):
        count = len(list(columns))
        yield from [(text, count)] if text else [("", 1)] * count


def _claims_resting_on(number: Key, grounds: Sequence[Collection[Key]]) -> tuple[int, ...]:
    """The numbers (from 1) of the claims on the page that use a number."""
    return tuple(k for k, ground in enumerate(grounds, start=1) if number in ground)


def _key(table: JudgedTable, cell: JudgedCell) -> Key:
    return cell.cell, table.column(cell).quantity


def find_grounds(claims: Sequence[JudgedClaim], tables: Sequence[JudgedTable]) -> list[Collection[Key]]:
    """For each claim, the numbers in tables that it uses; if there are none, all numbers of its cells."""
    shown = {_key(table, cell) for table in tables for cell in table.numbers}
    grounds: list[Collection[Key]] = []
    for claim in claims:
        cells = {cell for cell, _ in claim.rests_on}
        grounds.append(claim.rests_on & shown or {key for key in shown if key[0] in cells})
    return grounds


def _unseen(judged: JudgedTable) -> str:
    """A sentence on the events that so few replicates may miss; "" for ten or more."""
    n = min(
        c.estimate.replicates
        for c in judged.numbers
        if c.estimate is not None and c.estimate.method not in (EXACT, NOT_MEASURABLE, ITSELF)
    )
    if not 1 < n < 10:
        return ""
    return f" {n} runs may miss what happens in up to {100 * unseen_share(n):.0f} % of all runs."


def _unclear_changes(judged: JudgedTable, words: Labels) -> str:
    """A sentence on the changes that the scatter of single runs can hide; "" without changes."""
    spec = judged.spec
    cells: dict[str, list[str]] = {}
    compared = 0
    for key, line in zip(judged.rows, judged.cells, strict=True):
        for cell in line:
            column, judgement = judged.column(cell), cell.judgement
            if column.compare is None or judgement is None or math.isnan(judgement.prediction_low):
                continue
            compared += 1
            none = 1.0 if column.compare.kind == "ratio" else 0.0
            if judgement.prediction_low < none < judgement.prediction_high:
                row = (words.value_title(axis, v) for axis, v in zip(spec.rows, key, strict=True))
                cells.setdefault("/".join(row), []).append(column.heading)
    if not compared:
        return ""
    rule = "Too unstable to judge by one run (95 % of single runs lie on both sides of no change)"
    if not cells:
        return f"{rule}: none of the {compared} changes."
    named = "; ".join(f"{row} ({', '.join(headings)})" for row, headings in cells.items())
    rows = "/".join(words.title(axis) for axis in spec.rows)
    return f"{rule}, {sum(map(len, cells.values()))} of {compared} changes, {rows}: {named}."


_EXPLAINED = (Verdict.COMPATIBLE, Verdict.CLOSE, Verdict.TREND)
"""Verdicts whose notes are shown at their numbers, not as footnotes."""


def _measured_flow(cell: JudgedCell, words: Labels) -> str:
    """The flow whose name ends the quantity's name, as `measure` names quantities; "" if there is none."""
    return max((flow for flow in words.flows if cell.quantity.endswith(f"_{flow}")), key=len, default="")


def _first_text(cell: JudgedCell, runs: Floats) -> str:
    """The value of replicate 0 as text; "" for a single replicate."""
    if cell.estimate is None or len(runs) < 2 or math.isnan(runs[0]):
        return ""
    return number(runs[0], cell.digits)


def _number_view(table: JudgedTable, cell: JudgedCell, notes: Footnotes) -> NumberView:
    column = table.column(cell)
    heading = f"{column.group}, {column.heading}" if column.group else column.heading
    published = with_true_minus(cell.published.text) if cell.published else ""
    if cell.corrected is not None and cell.published is not None:
        published += f" (read {number(cell.corrected, decimals(cell.published.text))})"
    if cell.estimate is None:
        mark = cell.judgement.verdict if cell.judgement else None
        return NumberView(heading, "not run" if published else "", "", published, "", mark, cell.note)
    e = cell.estimate
    judgement = cell.judgement
    own_note = judgement is not None and judgement.verdict in _EXPLAINED
    if cell.published is None and (math.isnan(e.value) or e.method == ITSELF):
        shown = "–" if e.method == ITSELF else ""
        return NumberView(heading, shown, "", "", "", None, "", cell=cell.cell)
    return NumberView(
        heading,
        estimate_text(e.interval, cell.digits),
        "" if math.isnan(e.value) else interval_text(e.interval, cell.digits),
        published,
        percent(judgement.relative_difference) if judgement else "",
        judgement.verdict if judgement else None,
        ". ".join(t for t in (cell.note, e.warning, _two_parts(judgement, cell.digits)) if t),
        notes.numbers("" if own_note else cell.note, e.warning),
        cell.cell,
        _deciding(judgement, cell.digits),
    )


_DECIDED = (*_EXPLAINED, Verdict.DIFFERS)
"""Verdicts with which the prediction interval is shown."""


def _deciding(judgement: Judgement | None, digits: int | None) -> str:
    """The interval of compatible published numbers, for verdicts in `_DECIDED`; else ""."""
    if judgement is None or judgement.verdict not in _DECIDED:
        return ""
    if not judgement.prediction_high > judgement.prediction_low:
        return ""
    low, high = (number(v, digits) for v in (judgement.prediction_low, judgement.prediction_high))
    return f"{low} … {high}"


def _two_parts(judgement: Judgement | None, digits: int | None) -> str:
    """A text on whether a number is compatible and whether it is close; "" if unknown."""
    if judgement is None or judgement.compatible is None:
        return ""
    low, high = (number(v, digits) for v in (judgement.prediction_low, judgement.prediction_high))
    runs = f" (95 % of runs: {low} … {high})" if judgement.prediction_high > judgement.prediction_low else ""
    close = {True: "close", False: "not close", None: "not shown to be close"}[judgement.close]
    compatible = "compatible" if judgement.compatible else "not compatible"
    return f"{compatible}{runs}, {close} (within {number(judgement.margin)})"


def claim_view(
    judged: JudgedClaim,
    choices: str = "",
    ground: Collection[Key] = (),
    position: int = 0,
    tables: Sequence[TableView | ListingView] = (),
    alone: Collection[str] = (),
) -> ClaimView:
    """Lays out a claim.

    Args:
        judged: the claim.
        choices: a text on how many of the paper's open choices it holds under.
        ground: the numbers in tables that it uses.
        position: the claim's number on the page, from 1.
        tables: the tables of the page.
        alone: the ids of the claims that are decided only individually, not together with all others.

    """
    parts = []
    for part in judged.parts:
        value = estimate_text(part.interval)
        if not part.interval.exact:
            value += f" ({interval_text(part.interval, None)})"
        parts.append((part.text, value))
    resting: Counter[tuple[str, str]] = Counter(
        (table.id, table.title)
        for table in tables
        if isinstance(table, TableView)
        for row in table.rows
        for number in row.numbers
        if position in number.claims
    )
    claim = judged.claim
    note = " ".join(t for t in (claim.note, f"Source suspect: {claim.suspect}" if claim.suspect else "") if t)
    return ClaimView(
        claim.id,
        f"section {claim.section}" if claim.section[:1].isdigit() else claim.section,
        claim.text,
        " ".join((claim.assert_ or "").split()),
        judged.verdict,
        " ".join(filter(None, (_detail_text(judged), ALONE if claim.id in alone else ""))),
        tuple(parts),
        note,
        choices,
        resting.total(),
        not any(key in judged.rests_on for key in ground),
        tuple(resting),
        tuple((verdict, " ".join(text.split())) for verdict, text in judged.conditions),
        judged.where if len(judged.where) > LONG else "",
        (claim.cause or "") if judged.verdict is Verdict.FAILS else "",
    )


def _detail_text(judged: JudgedClaim) -> str:
    """The cells in which a claim holds, in words; conditions and long lists of cells are only counted."""
    what = judged.tally if len(judged.where) > LONG else judged.where
    if judged.conditions:
        verdicts = Counter(verdict for verdict, _ in judged.conditions)
        some = (f"{n} {v.value if n == 1 else v.value.removesuffix('s')}" for v, n in verdicts.items())
        what = f"Of {verdicts.total()} conditions, {', '.join(some)}."
    text = judged.describe_standing(what)
    return text[:1].upper() + text[1:]


def count(verdicts: Collection[Verdict]) -> Counts:
    """The number of times that each verdict was given, in the order of `Verdict`."""
    return {verdict: n for verdict in Verdict if (n := sum(given is verdict for given in verdicts))}
