"""The view model: everything that a report shows, as text and typed parts, before any template.

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
    """What else is known of the cell: where single runs lie, why it has this verdict."""
    footnotes: tuple[int, ...] = ()
    cell: str = ""
    """Id of the study's cell; empty if the number does not belong to one."""
    deciding: str = ""
    """The interval of single runs, in which a published number would be compatible."""
    claims: tuple[int, ...] = ()
    """The claims that rest on it: their numbers on the page, from 1."""
    why: "Reason | None" = None
    """What may explain the number, if it differs from the paper's."""
    bar: tuple[int, int, int, int | None] | None = None
    """The number and its interval in percent of its column's scale, and the place of its flow's colour."""
    first: str = ""
    """What replicate 0 gave, if that is another number."""
    flow: str = ""
    """The flow that was measured, if it was one."""


class Reason(NamedTuple):
    """What may explain a number that is not the paper's: in a few words, and in sentences."""

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
    """Headings over columns, and over how many each."""
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
    """The axis values of the line, shown where they change."""
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
    """A sentence of the paper, what it was taken to assert, and how that ended."""

    id: str
    section: str
    text: str
    expression: str
    mark: Verdict
    detail: str
    parts: tuple[tuple[str, str], ...]
    """The numbers that it compares: their texts and values."""
    note: str
    sensitivity: str
    numbers: int = 0
    """The number of the tables' numbers that it rests on."""
    same_cells: bool = False
    """Whether those are other numbers of the same cells."""
    tables: tuple[tuple[str, str], ...] = ()
    """The tables that show them: id and title."""
    conditions: tuple[tuple[Verdict, str], ...] = ()
    """The parts of an expression that is several conditions."""
    where: str = ""
    """In which cells it holds and in which not, if that takes more than a line or two."""
    cause: str = ""
    """If it fails: the finding that explains it."""


class SensitivityView(NamedTuple):
    """Choices the paper left open, one at a time, run on demand."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    """Choice, value, claims that hold, and how far each table moves."""
    not_run: tuple[str, ...]
    """Titles of the tables of which no choice ran a cell."""


class DifferencesView(NamedTuple):
    """What an application says about numbers that are not the paper's."""

    reasons: Mapping[str, Mapping[tuple[int, int], Reason]] = MappingProxyType({})
    """Table -> row and column of such a number -> what may explain it."""
    claims: Mapping[str, str] = MappingProxyType({})
    """Claim -> under how many of the choices that the paper leaves open it holds."""
    sensitivity: SensitivityView | None = None
    explained: str = ""
    """A sentence that says how many of the numbers have an explanation."""


class Fact(NamedTuple):
    """A line of what was run."""

    name: str
    value: str


class Definition(NamedTuple):
    """A metric, and the quantities that were measured by it."""

    title: str
    """What these are called, in short."""
    metric: str
    text: tuple[str, ...]
    quantities: tuple[str, ...]


class TwinRow(NamedTuple):
    """A row as shown."""

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
    """Cell, how many events of the traces agree, and the first that differs on both sides."""
    about: str
    count: str  # type: ignore[assignment]
    rule: str
    agreement: str = ""
    """A sentence with the count of significant differences; empty if none is tested."""
    #: A sentence for each cell with numbers that differ: where both sides spend the time.
    budgets: tuple[str, ...] = ()
    last: bool = False
    """Whether it comes after the results: where several kernels run, these are the question."""


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
    """What lets a report run its cells; or why it cannot."""

    why_not: str = ""
    simulator: Simulator | None = None
    runnable: Mapping[str, int] = MappingProxyType({})
    """Cell -> its place among those in the data."""


def fills_grid(figures: int) -> bool:
    """Whether so many figures fill two columns: one that is larger would leave half a row empty."""
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
    """Published means of changes next to ours, which are tested first, and last what all give together."""
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
    #: The simulator's next to a kernel's key figure, where one figure cannot show both.
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
        """Whether the figures fill two columns, none of which is broader than a column."""
        return fills_grid(len(self.drawings)) and not any(figure.is_wide for figure in self.drawings)
