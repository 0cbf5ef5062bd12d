"""The view model: everything that a report shows, as text and typed parts for the templates.

Named tuples, because every run imports them: a frozen dataclass takes four times as long to define. Without
`from __future__ import annotations`, because Python compiles each annotation that is a string.
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
    """One number of a table: ours, its interval, the paper's, the difference, the verdict."""

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
    """The prediction interval: a published number inside it would be compatible."""
    claims: tuple[int, ...] = ()
    """The claims that rest on it: their numbers on the page, from 1."""
    why: "Reason | None" = None
    """What may explain the number, if it differs from the paper's."""
    bar: tuple[int, int, int, int | None] | None = None
    """The number and its interval in percent of its column's scale, and its flow's index in `PALETTE`."""
    first: str = ""
    """The value of replicate 0, if there are several replicates."""
    flow: str = ""
    """The flow that was measured; empty for other quantities."""


class Reason(NamedTuple):
    """What may explain why a number differs from the paper's: in a few words, and in sentences."""

    summary: str
    lines: tuple[str, ...]


class RowView(NamedTuple):
    """One row of a table."""

    keys: tuple[str, ...]
    numbers: tuple[NumberView, ...]


class TableView(NamedTuple):
    """A table laid out as in the paper."""

    id: str
    title: str
    about: str
    row_headings: tuple[str, ...]
    groups: tuple[tuple[str, int], ...]
    """Headings above groups of columns, each with its number of columns."""
    headings: tuple[str, ...]
    rows: tuple[RowView, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]
    has_published: bool
    figures: "tuple[Drawing, ...]" = ()
    """The figures shown next to it."""
    counts: Counts = MappingProxyType({})
    """The number of times that each verdict was given in it."""


class ListingEntry(NamedTuple):
    """Our counterpart of a published line in one variant."""

    time: str
    difference: str
    mark: Verdict | None
    note: str


class ListingRow(NamedTuple):
    """A published line and our counterparts."""

    group: str
    """The axis values of the line; empty if they are those of the line before."""
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
    """The figures shown next to it."""
    counts: Counts = MappingProxyType({})
    """The number of times that each verdict was given in it."""


class ClaimView(NamedTuple):
    """A claim: the paper's sentence, the expression that tests it, and the verdict."""

    id: str
    section: str
    text: str
    expression: str
    mark: Verdict
    detail: str
    parts: tuple[tuple[str, str], ...]
    """The numbers that it compares: their expressions and values."""
    note: str
    sensitivity: str
    numbers: int = 0
    """The number of the tables' numbers that it rests on."""
    same_cells: bool = False
    """Whether the tables show only other quantities of its cells, which then are those numbers."""
    tables: tuple[tuple[str, str], ...] = ()
    """The tables that show them: id and title."""
    conditions: tuple[tuple[Verdict, str], ...] = ()
    """The conditions that the expression joins, if several, each with its verdict."""
    where: str = ""
    """In which cells it holds and in which not, if that takes more than a line or two."""
    cause: str = ""
    """If it fails: the finding that explains it."""


class SensitivityView(NamedTuple):
    """How the results change with each choice that the paper left open, as far as `--sensitivity` ran it."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    """Choice, value, claims that hold, and how far each table moves."""
    not_run: tuple[str, ...]
    """Titles of the tables whose cells no choice ran."""


class DifferencesView(NamedTuple):
    """Explanations of numbers that differ from the paper's, which an application found."""

    reasons: Mapping[str, Mapping[tuple[int, int], Reason]] = MappingProxyType({})
    """Table -> row and column of a number that differs -> what may explain it."""
    claims: Mapping[str, str] = MappingProxyType({})
    """Claim -> under how many of the choices that the paper leaves open it holds."""
    sensitivity: SensitivityView | None = None
    explained: str = ""
    """A sentence that says how many of the numbers have an explanation."""


class Fact(NamedTuple):
    """A line about what was run."""

    name: str
    value: str


class Definition(NamedTuple):
    """A metric, and the quantities that were measured by it."""

    title: str
    """The short titles of the quantities."""
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
    #: Whether the difference's interval leaves out 0.
    differs: bool
    published: str
    #: If the numbers differ: the first event in which the traces of its cell differ, and both time budgets.
    why: str = ""
    #: The rows that the cell's heading covers; 0 if the heading of a row above covers this one.
    span: int = 1


class TwinGroup(NamedTuple):
    """The rows of one table; an empty title collects those that no table shows."""

    title: str
    rows: tuple[TwinRow, ...]
    folded: bool


class TwinView(NamedTuple):
    """A kernel's numbers next to the simulator's."""

    groups: tuple[TwinGroup, ...]
    lists: tuple[tuple[str, str, str], ...]
    first_differences: tuple[tuple[str, str, str, str], ...]
    """Cell, number of events that agree, and the first that differs: the simulator's, the kernel's."""
    about: str
    count: str  # type: ignore[assignment]
    rule: str
    agreement: str = ""
    """A sentence with the count of significant differences; empty if none is tested."""
    #: A sentence for each cell with numbers that differ: where simulator and kernel spend the time.
    budgets: tuple[str, ...] = ()
    last: bool = False
    """Whether this comparison is shown after the results, which compare the kernels if several run."""


class Simulator(NamedTuple):
    """What a page carries to run simulations."""

    engine: str
    """The WebAssembly module, compressed with gzip, in base64."""
    data: str
    """JSON with the scenarios, compressed with gzip, in base64."""
    script: str
    script_hash: str
    """SHA-256 in base64, for the page's Content-Security-Policy."""
    worker: str


class LiveView(NamedTuple):
    """The data with which a report's page runs cells, or why it can run none."""

    why_not: str = ""
    simulator: Simulator | None = None
    runnable: Mapping[str, int] = MappingProxyType({})
    """Cell -> the index of its scenario in the data."""


def fills_grid(figures: int) -> bool:
    """Whether this many figures fill two columns, so that a larger one would leave half a row empty."""
    return figures > 3 and figures % 2 == 0


class ReportView(NamedTuple):
    """A whole report."""

    title: str
    source: str
    url: str
    about: tuple[str, ...]
    counts: Counts
    claim_counts: Counts
    tables: tuple[TableView | ListingView, ...]
    figures: "tuple[Drawing, ...]"
    """The figures that belong to no table."""
    claims: tuple[ClaimView, ...]
    sensitivity: SensitivityView | None
    omitted: tuple[str, ...]
    rule: Sequence[tuple[Verdict, str]]
    claim_rule: str
    facts: tuple[Fact, ...] = ()
    definitions: tuple[Definition, ...] = ()
    missing: str = ""
    failed: str = ""
    """The connections that failed, and why."""
    twin: TwinView | None = None
    chance: str = ""
    """A sentence that says how many published numbers would be incompatible by chance."""
    means: tuple[str, ...] = ()
    """Sentences on published means of changes next to ours, and last one on their joint test."""
    explained: str = ""
    """A sentence that says how many of the numbers that differ have an explanation."""
    live: LiveView | None = None
    finding: str = ""
    """What was found, in a sentence or two."""
    undecided: str = ""
    """What the runs leave open, in a sentence."""
    ran: tuple[str, ...] = ()
    """What was run in a few words, and last the command."""
    key_figure: "Drawing | None" = None
    #: The simulator's figure next to a kernel's key figure, if one figure cannot show both.
    key_twin: "Drawing | None" = None
    readme: str = ""
    """The study's README as HTML."""
    study: str = ""
    """The text of the study file."""

    @property
    def causes(self) -> Mapping[str, Sequence[str]]:
        """The claims that fail, by the finding that explains them."""
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
        """Whether the figures fill two columns, and none is broader than a column."""
        return fills_grid(len(self.drawings)) and not any(figure.is_wide for figure in self.drawings)
