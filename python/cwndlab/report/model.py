"""The view model: the contents of a report as text and typed parts, for the templates.

These are named tuples because every run imports them: a frozen dataclass takes four times as long to define.
There is no `from __future__ import annotations`, because Python compiles each annotation that is a string.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from cwndlab.stats.verdict import Verdict

if TYPE_CHECKING:
    from .figures import Drawing

#: The number of times that each verdict was given, in the order of `Verdict`.
Counts: TypeAlias = Mapping[Verdict, int]


class NumberView(NamedTuple):
    """One number of a table as text: the measured and the published number, their difference, the verdict."""

    heading: str
    measured: str
    interval: str
    published: str
    relative: str
    mark: Verdict | None
    note: str
    """Remarks on the cell, such as the reason for the verdict and the interval of single runs."""
    footnotes: tuple[int, ...] = ()
    cell: str = ""
    """Id of the study's cell; empty if the number does not belong to one."""
    deciding: str = ""
    """The prediction interval as text: published numbers inside it are compatible."""
    claims: tuple[int, ...] = ()
    """The numbers (from 1) of the claims on the page that use this number."""
    why: "Reason | None" = None
    """A possible explanation if the number differs from the paper's."""
    bar: tuple[int, int, int, int | None] | None = None
    """The value and the interval's ends, in percent of the column's scale, and the flow's `PALETTE` index."""
    first: str = ""
    """The value of replicate 0; "" for a single replicate."""
    flow: str = ""
    """The flow that was measured; "" for other quantities."""


class Reason(NamedTuple):
    """A possible explanation of a number that differs from the paper's: a summary, and sentences."""

    summary: str
    lines: tuple[str, ...]


class RowView(NamedTuple):
    """One row of a table."""

    keys: tuple[str, ...]
    numbers: tuple[NumberView, ...]


class TableView(NamedTuple):
    """The view of a table that is laid out as in the paper."""

    id: str
    title: str
    about: str
    row_headings: tuple[str, ...]
    groups: tuple[tuple[str, int], ...]
    """The headings above groups of columns, each with the number of its columns."""
    headings: tuple[str, ...]
    rows: tuple[RowView, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]
    has_published: bool
    figures: "tuple[Drawing, ...]" = ()
    """The figures shown next to the table."""
    counts: Counts = MappingProxyType({})
    """The number of times that each verdict was given in the table."""


class ListingEntry(NamedTuple):
    """The simulated counterpart of a published line in one variant of a listing."""

    time: str
    difference: str
    mark: Verdict | None
    note: str


class ListingRow(NamedTuple):
    """A published line with its counterparts in all variants."""

    group: str
    """The axis values of the line; "" if they equal those of the previous line."""
    time: str
    event: str
    entries: tuple[ListingEntry, ...]


class ListingView(NamedTuple):
    """A published packet listing next to the simulated one."""

    id: str
    title: str
    about: str
    variants: tuple[str, ...]
    rows: tuple[ListingRow, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]
    figures: "tuple[Drawing, ...]" = ()
    """The figures shown next to the listing."""
    counts: Counts = MappingProxyType({})
    """The number of times that each verdict was given in the listing."""


class ClaimView(NamedTuple):
    """A claim: the paper's sentence, the expression that tests it, and the verdict."""

    id: str
    section: str
    text: str
    expression: str
    mark: Verdict
    detail: str
    parts: tuple[tuple[str, str], ...]
    """The numbers that the claim compares, as pairs of expression and value."""
    note: str
    sensitivity: str
    numbers: int = 0
    """The number of numbers in the tables that the claim uses."""
    same_cells: bool = False
    """Whether no table shows a number that the claim uses; then `numbers` counts all of the claim's cells."""
    tables: tuple[tuple[str, str], ...] = ()
    """The tables that show the numbers which the claim uses, as pairs of id and title."""
    conditions: tuple[tuple[Verdict, str], ...] = ()
    """The conditions that the expression joins, each with its verdict; empty for a single condition."""
    where: str = ""
    """The cells in which the claim holds and fails, if the list is long; else ""."""
    cause: str = ""
    """The finding that explains why the claim fails; "" if it does not fail."""


class SensitivityView(NamedTuple):
    """The results under each choice that the paper leaves open, as far as `--sensitivity` ran it."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    """Choice, value, claims that hold, and the change of each table."""
    not_run: tuple[str, ...]
    """Titles of the tables whose cells were not run with any choice."""


class DifferencesView(NamedTuple):
    """Explanations, found by an application, of numbers that differ from the paper's."""

    reasons: Mapping[str, Mapping[tuple[int, int], Reason]] = MappingProxyType({})
    """Table id -> (row, column) of a number that differs -> its possible explanation."""
    claims: Mapping[str, str] = MappingProxyType({})
    """Claim id -> a sentence on the paper's open choices under which the claim holds."""
    sensitivity: SensitivityView | None = None
    explained: str = ""
    """A sentence on how many of the numbers that differ have an explanation."""


class Fact(NamedTuple):
    """A named fact about the run."""

    name: str
    value: str


class Definition(NamedTuple):
    """A metric and the quantities measured with it."""

    title: str
    """The titles of the metric's quantities, shortened."""
    metric: str
    text: tuple[str, ...]
    quantities: tuple[str, ...]


class TwinRow(NamedTuple):
    """One quantity of one cell, in the simulator and on the kernel."""

    cell: str
    quantity: str
    simulator: str
    sim_mark: Verdict | None
    kernel: str
    kernel_mark: Verdict | None
    difference: str
    #: Whether the interval of the difference excludes 0.
    differs: bool
    published: str
    #: The first event in which the traces of the cell differ, and both time budgets; "" if the numbers agree.
    why: str = ""
    #: The number of rows that the cell's heading spans; 0 if an earlier row's heading spans this row.
    span: int = 1


class TwinGroup(NamedTuple):
    """The rows of one table; numbers that no table shows are in a group without title."""

    title: str
    rows: tuple[TwinRow, ...]
    folded: bool


class TwinView(NamedTuple):
    """A kernel's numbers next to the simulator's."""

    groups: tuple[TwinGroup, ...]
    lists: tuple[tuple[str, str, str], ...]
    first_differences: tuple[tuple[str, str, str, str], ...]
    """Cell, number of equal events, and the first event that differs: the simulator's, the kernel's."""
    about: str
    count: str  # type: ignore[assignment]
    rule: str
    agreement: str = ""
    """A sentence with the number of significant differences; "" if none was tested."""
    #: For each cell with numbers that differ, a sentence that compares the time budgets.
    budgets: tuple[str, ...] = ()
    last: bool = False
    """Whether the page shows the comparison after the results, which then compare several kernels."""


class Simulator(NamedTuple):
    """The engine and data with which a page runs simulations."""

    engine: str
    """The WebAssembly module, compressed with gzip, as base64."""
    data: str
    """The scenarios as JSON, compressed with gzip, as base64."""
    script: str
    script_hash: str
    """The script's SHA-256 as base64, for the page's Content-Security-Policy."""
    worker: str


class LiveView(NamedTuple):
    """The data with which a report's page simulates cells, or the reason why it cannot."""

    why_not: str = ""
    simulator: Simulator | None = None
    runnable: Mapping[str, int] = MappingProxyType({})
    """Cell id -> the index of its scenario in the data."""


def fills_grid(figures: int) -> bool:
    """Whether this many figures fill two columns, so that a wide figure would leave a gap."""
    return figures > 3 and figures % 2 == 0


class ReportView(NamedTuple):
    """The view of a whole report."""

    title: str
    source: str
    url: str
    about: tuple[str, ...]
    counts: Counts
    claim_counts: Counts
    tables: tuple[TableView | ListingView, ...]
    figures: "tuple[Drawing, ...]"
    """The figures that are not shown next to a table."""
    claims: tuple[ClaimView, ...]
    sensitivity: SensitivityView | None
    omitted: tuple[str, ...]
    rule: Sequence[tuple[Verdict, str]]
    claim_rule: str
    facts: tuple[Fact, ...] = ()
    definitions: tuple[Definition, ...] = ()
    missing: str = ""
    failed: str = ""
    """A text on the connections that failed, and why; "" if none failed."""
    twin: TwinView | None = None
    chance: str = ""
    """A sentence on how many published numbers would be incompatible by chance."""
    means: tuple[str, ...] = ()
    """Sentences that compare published means of changes with ours; the last one tests them together."""
    explained: str = ""
    """A sentence on how many of the numbers that differ have an explanation."""
    live: LiveView | None = None
    finding: str = ""
    """The result of the study, in a sentence or two."""
    undecided: str = ""
    """A sentence on what the runs leave open."""
    ran: tuple[str, ...] = ()
    """The run in a few words; the last entry is the command."""
    key_figure: "Drawing | None" = None
    #: The simulator's figure next to the kernel's key figure, if a single figure cannot show both.
    key_twin: "Drawing | None" = None
    readme: str = ""
    """The study's README as HTML."""
    study: str = ""
    """The text of the study file."""

    @property
    def causes(self) -> Mapping[str, Sequence[str]]:
        """Finding -> the ids of the failed claims that it explains."""
        causes: dict[str, list[str]] = {}
        for claim in self.claims:
            if claim.cause:
                causes.setdefault(claim.cause, []).append(claim.id)
        return causes

    @property
    def drawings(self) -> "tuple[Drawing, ...]":
        """All figures, in the order of the page."""
        key = tuple(figure for figure in (self.key_figure, self.key_twin) if figure is not None)
        return (*key, *(figure for table in self.tables for figure in table.figures), *self.figures)

    @property
    def fills_grid(self) -> bool:
        """Whether the figures fill two columns, and none is wider than a column."""
        return fills_grid(len(self.drawings)) and not any(figure.is_wide for figure in self.drawings)
