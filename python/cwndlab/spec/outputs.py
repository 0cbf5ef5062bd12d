"""What a study asks to be shown: tables, listings, figures, claims, and marks on doubtful sources.

The keys of `[[tables]]`, `[[figures]]`, `[[marks]]` and of `claims.toml`, as pydantic models. The study
schema includes them; `cwndlab.stats` judges by them and `cwndlab.report` lays them out.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from .units import Seconds

Scalar = bool | int | float | str
"""One value of an axis, as the study writes it."""

Where = dict[str, Scalar | list[Scalar]]
"""A selection of cells: axis name -> the value (or the values) wanted."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""A name that is valid in an expression."""

Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""A name that is valid in a file name or an anchor."""


class Part(BaseModel):
    """A part of a study: an unknown key is an error, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Compare(Part):
    """A quantity of a cell set against the same quantity of another cell, replicate by replicate."""

    kind: Literal["decrease", "increase", "ratio", "difference"]
    """`decrease` = 100 (1 - cell/other) %, `increase` = 100 (cell/other - 1) %, `ratio` = cell/other,
    `difference` = cell - other."""
    to: Where
    """The axes in which the other cell differs, e.g. `{ iw = 1 }`."""


class Rounding(Part):
    """How far the source's printing may move a number, where half a unit of its last digit is too little."""

    half_width: float = Field(ge=0)
    reason: str


class Margin(Part):
    """How far from the published value still counts as close: a share of it, or a distance in its unit."""

    relative: float = Field(default=0.1, gt=0)
    absolute: float | None = Field(default=None, gt=0)
    """Instead of the share, for numbers around 0."""

    def around(self, published: float, rounding: float) -> float:
        """The margin around one value, never less than its rounding."""
        return max(rounding, self.relative * abs(published) if self.absolute is None else self.absolute)

    def words(self, unit: str = "") -> str:
        """The margin of a number in this unit, in words."""
        if self.absolute is None:
            return f"{100 * self.relative:g} % of it"
        return f"{self.absolute:g} {'points' if unit == '%' else unit}".strip()


class Flag(Part):
    """A footnote to the cells whose estimate is outside of what the study takes as valid."""

    below: float | None = None
    above: float | None = None
    note: str = Field(min_length=1)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.below is None and self.above is None:
            raise ValueError("a flag needs `below` or `above`")
        return self

    def meets(self, value: float) -> bool:
        """Whether a value gets the footnote."""
        return (self.below is not None and value < self.below) or (
            self.above is not None and value > self.above
        )


class Column(Part):
    """One column of measured numbers, with the column of the published CSV that it answers."""

    heading: str
    quantity: Name
    where: Where = {}
    compare: Compare | None = None
    published: str | None = None
    """Name of the column in the table's published CSV."""
    published_scale: float = 1.0
    """The published number times this is in the quantity's unit (0.001 for ms where we measure s)."""
    rounding: Rounding | None = None
    """Instead of the table's."""
    margin: Margin | None = None
    """Instead of the quantity's or the table's."""
    compared_as: str | None = None
    """The paper compares the numbers of all columns with this word, not only those of one quantity."""
    digits: int | None = Field(default=None, ge=0, le=9)
    """Decimals shown; without it those of the published numbers, else three significant digits."""
    flag: Flag | None = None
    group: str | None = None
    """A heading over several neighbouring columns."""
    runs: float | None = Field(default=None, gt=0, lt=1)
    """Instead of the estimate this quantile of the single runs' values: how far runs scatter."""

    @model_validator(mode="after")
    def _one_reduction(self) -> Self:
        if self.runs is not None and (self.compare is not None or self.published is not None):
            raise ValueError("`runs` shows how runs scatter: nothing is compared with it, nothing published")
        return self


class Table(Part):
    """A table laid out as in the paper; rows are axes, columns are quantities (`[[tables]]`, kind `grid`)."""

    kind: Literal["grid"] = "grid"
    id: Slug
    title: str
    about: str | None = None
    rows: list[Name]
    """Axes whose values make the rows, in this order; the published CSV has columns of the same names."""
    where: Where = {}
    """Axes fixed for the whole table."""
    columns: list[Column] = Field(min_length=1)
    published: str | None = None
    """CSV file with the paper's numbers, relative to the study's folder."""
    published_runs: int = Field(default=1, ge=1)
    """How many runs the paper averaged."""
    rounding: Rounding | None = None
    margin: Margin = Margin.model_construct()
    """How far from a published value counts as close."""
    compared_within: list[str] | None = None
    """Columns of the published CSV: the paper compares the numbers of one quantity in all lines that agree in
    these, in the whole table if the list is empty. Without it the paper compares no levels, so that only
    published changes can have a trend."""


class Variant(Part):
    """One variant of a listing (for instance `as traced` and `as written`)."""

    heading: str
    where: Where
    judged: bool = True
    """Whether this variant's times get verdicts; the others are shown with their difference only."""


class Listing(Part):
    """A published packet listing next to the simulated one, line by line (`[[tables]]`, kind `listing`).

    The published CSV has the columns `time_s,event,acked_packet,sent_packets`, and one for each axis
    named in `axes`.
    """

    kind: Literal["listing"]
    id: Slug
    title: str
    about: str | None = None
    published: str
    axes: dict[str, Name] = {}
    """Column of the CSV -> the axis whose value it holds, e.g. `{ start_packets = "iw" }`."""
    where: Where = {}
    variants: list[Variant] = []
    """Several variants side by side; by default one variant with the cells in `where`."""
    rounding: Rounding | None = None


class Mark(Part):
    """A verdict given to published cells in advance, with its reason (`[[marks]]`)."""

    table: Slug
    rows: Where = {}
    columns: list[str] = []
    """Published columns meant (empty = all)."""
    lines: list[int] = []
    """For a listing: the lines meant, 1-based in the CSV without its heading."""
    verdict: Literal["source suspect", "fitted", "not judged"] = "source suspect"
    reason: str = Field(min_length=1)
    corrected: float | None = None
    """What the source most likely meant, in the published unit; shown, not judged."""


class Figure(Part):
    """One figure (`[[figures]]`)."""

    id: Slug
    title: str
    about: str | None = None
    kind: Literal["time-sequence", "line", "bar", "cdf", "ellipse", "queue", "cwnd", "budget"]
    where: Where = {}
    """Axes fixed for the whole figure."""
    panels: Name | None = None
    """One panel for each value of this axis."""
    series: list[Name] = []
    """One line (or group of bars) for each combination of these axes."""
    x: str | None = None
    """line, bar, budget: the axis along x; `index` for a quantity that is a list (one point per element).
    ellipse: the quantity along x."""
    of: Literal["page", "file", "transaction", "object", "connection"] | None = None
    """budget: whose time is shown, a page's by default; of the first replicate."""
    quantity: Name | None = None
    """line, bar, cdf: what is drawn; ellipse: the quantity along y."""
    quantities: list[Name] = []
    """line, bar: several quantities of one unit in place of one, a line (or bar) for each."""
    traffic: list[str] = []
    """budget: a bar for each of these traffic entries, in place of one for all of a cell."""
    compare: Compare | None = None
    x_title: str | None = None
    y_title: str | None = None
    start: Seconds | None = None
    until: Seconds | None = None
    """time-sequence, queue, cwnd: the part of the run that is shown, e.g. `"15s"`."""
    link: str | Annotated[int, Field(ge=0)] | None = None
    """queue: the link's name or index; without it the first link recorded."""
    connection: int | None = Field(default=None, ge=0)
    """time-sequence, cwnd: the connection's serial number; without it the first one."""
    log_x: bool = False
    """line, cdf: a logarithmic axis along x."""
    log_y: bool = False
    """line: a logarithmic axis along y; values that are not above 0 are left out."""
    width: int | None = Field(default=None, ge=100, le=2000)
    """Of one panel, in pixels; default: 620."""
    height: int | None = Field(default=None, ge=60, le=2000)
    """Of one panel, in pixels; default: 300, or 220 with more than two panels."""
    columns: int | None = Field(default=None, ge=1, le=6)
    """How many panels stand next to each other; default: 2 of 2 or 4, 3 of others, 1 if `width` is given."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.quantity is not None and self.quantities:
            raise ValueError("a figure has either `quantity` or `quantities`")
        if self.kind in ("line", "bar", "cdf", "ellipse") and not self.drawn:
            raise ValueError(f"a {self.kind} figure needs `quantity`")
        if self.kind == "ellipse" and self.x is None:
            raise ValueError("an ellipse figure needs `x` (the quantity along x)")
        if self.kind == "budget" and self.x is None:
            raise ValueError("a budget figure needs `x` (an axis)")
        if self.kind in ("line", "bar") and self.x is None:
            raise ValueError(f'a {self.kind} figure needs `x` (an axis, or "index" for a list)')
        return self

    @property
    def drawn(self) -> list[str]:
        """The quantities that are drawn."""
        if self.quantity is None:
            return self.quantities
        return [self.quantity, self.x] if self.kind == "ellipse" and self.x else [self.quantity]


#: The keys that only some kinds of figures take.
FIGURE_KEYS = {
    "x": ("line", "bar", "ellipse", "budget"),
    "of": ("budget",),
    "traffic": ("budget",),
    "quantity": ("line", "bar", "cdf", "ellipse"),
    "quantities": ("line", "bar"),
    "compare": ("line", "bar"),
    "log_x": ("line", "cdf"),
    "log_y": ("line",),
    "start": ("time-sequence", "queue", "cwnd"),
    "until": ("time-sequence", "queue", "cwnd"),
    "link": ("queue",),
    "connection": ("time-sequence", "cwnd"),
}


class Claim(Part):
    """A sentence of the paper and what it asserts (`[[claims]]` in claims.toml)."""

    id: Slug
    section: str
    text: str = Field(min_length=1)
    """The paper's sentence, word for word."""
    assert_: str | None = Field(default=None, alias="assert")
    """An expression over cells and quantities, see docs/guide/claims.md."""
    note: str | None = None
    suspect: str | None = None
    """Why the source is doubtful; the claim is evaluated and shown, but gets `source suspect`."""

    @model_validator(mode="after")
    def _checkable(self) -> Self:
        if self.assert_ is None and self.note is None:
            raise ValueError("a claim without `assert` needs a `note` that says why it is not checked")
        return self


class Claims(Part):
    """The file claims.toml."""

    claims: list[Claim] = []


def _table_kind(value: object) -> str:
    kind = value.get("kind", "grid") if isinstance(value, dict) else getattr(value, "kind", "grid")
    return str(kind)


AnyTable = Annotated[
    Annotated[Table, Tag("grid")] | Annotated[Listing, Tag("listing")], Discriminator(_table_kind)
]
"""One entry of `[[tables]]`; `kind` is `grid` unless written."""
