"""The outputs that a study defines: tables, listings, figures, claims, and marks on doubtful sources.

These are the keys of `[[tables]]`, `[[figures]]`, `[[marks]]` and of `claims.toml`, as pydantic models. The
study schema includes them; `cwndlab.stats` judges by them and `cwndlab.report` lays them out.
"""

from typing import Annotated, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    PlainSerializer,
    PlainValidator,
    Tag,
    WithJsonSchema,
    model_validator,
)

from .base import Strict
from .grammar import Compare, comparison
from .units import Seconds

Scalar = bool | int | float | str
"""One value of an axis in a study file."""

Where = dict[str, Scalar | list[Scalar]]
"""A selection of cells: axis name -> the wanted value, or values."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""A name that is valid in an expression."""

Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""A name that is valid in a file name or an anchor."""


Comparison = Annotated[
    Compare,
    PlainValidator(comparison, json_schema_input_type=str),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "examples": ["decrease(iw=1)"]}),
]
"""A comparison with another cell, written as an expression."""


class Rounding(Strict):
    """The rounding error of a printed number, if half a unit of its last digit is too little."""

    half_width: float = Field(
        ge=0, description="how far the printed number may be from the source's own, in the printed unit"
    )
    ratio_to: str | None = Field(
        None,
        description="published column with the base of a printed percentage: `half_width` is then that of "
        "the two numbers whose ratio it is",
    )
    reason: str = Field(description="why it is more than half a unit of the last digit")

    def half_width_at(self, printed: float, base: float | None) -> float:
        """The rounding of a printed number; `base` is the base of a percentage (`ratio_to`), if any."""
        if base is None:
            return self.half_width
        return 100.0 * self.half_width * (1.0 + abs(1.0 - printed / 100.0)) / abs(base)


class Margin(Strict):
    """The distance from a published value that counts as close: a share of the value, or absolute."""

    relative: float = Field(default=0.1, gt=0, description="as a share of the published value")
    absolute: float | None = Field(
        default=None, gt=0, description="instead of the share, for numbers around 0"
    )

    def half_width_at(self, published: float, rounding: float) -> float:
        """The margin around one value: never less than the value's rounding."""
        return max(rounding, self.relative * abs(published) if self.absolute is None else self.absolute)

    def describe(self, unit: str = "") -> str:
        """The margin of a number with this unit, in words."""
        if self.absolute is None:
            return f"{100 * self.relative:g} % of it"
        return f"{self.absolute:g} {'points' if unit == '%' else unit}".strip()


class Flag(Strict):
    """A footnote for the cells whose estimate is outside the range that the study considers valid."""

    below: float | None = Field(None, description="values below this get the note")
    above: float | None = Field(None, description="values above this get the note")
    note: str = Field(min_length=1, description="the footnote")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.below is None and self.above is None:
            raise ValueError("a flag needs `below` or `above`")
        return self

    def meets(self, value: float) -> bool:
        """Whether a value requires the footnote."""
        return (self.below is not None and value < self.below) or (
            self.above is not None and value > self.above
        )


class Column(Strict):
    """One column of measured numbers, with the published column to compare with."""

    heading: str = Field(description="over the column")
    quantity: Name = Field(description="the quantity that is shown")
    where: Where = Field({}, description="axes fixed for this column")
    compare: Comparison | None = Field(
        None,
        description='shows decrease, increase, ratio or difference from another cell, as "decrease(iw=1)"',
    )
    published: str | None = Field(None, description="name of the column in the table's published CSV")
    published_scale: float = Field(
        1.0,
        description="the published number times this is in the quantity's unit (0.001 for ms, if that is s)",
    )
    rounding: Rounding | None = Field(None, description="instead of the table's")
    margin: Margin | None = Field(None, description="instead of the quantity's or the table's")
    compared_as: str | None = Field(
        None,
        description="the paper compares all columns with the same word here, not only those of one quantity",
    )
    digits: int | None = Field(
        default=None,
        ge=0,
        le=9,
        description="decimals shown; default: those of the published numbers, else three significant digits",
    )
    flag: Flag | None = Field(None, description="a footnote to values outside of a range")
    group: str | None = Field(None, description="a heading over several neighbouring columns")
    runs: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="instead of the estimate this quantile of the single runs' values: how far runs scatter",
    )

    @model_validator(mode="after")
    def _one_reduction(self) -> Self:
        if self.runs is not None and (self.compare is not None or self.published is not None):
            raise ValueError("`runs` shows how runs scatter: nothing is compared with it, nothing published")
        return self


class Table(Strict):
    """A table laid out as in the paper: axes make the rows, quantities the columns (kind `grid`)."""

    kind: Literal["grid"] = Field("grid", description="a table of numbers, or a published packet listing")
    id: Slug = Field(description="its name in file names, anchors and [[marks]]")
    title: str = Field(description="over the table")
    about: str | None = Field(None, description="a paragraph under the table")
    rows: list[Name] = Field(
        description="axes whose values make the rows, in this order; columns of the CSV have the same names"
    )
    where: Where = Field({}, description="axes fixed for the whole table")
    columns: list[Column] = Field(min_length=1, description="one for each number shown")
    published: str | None = Field(
        None, description="CSV file with the paper's numbers, relative to the study's folder"
    )
    published_runs: int = Field(default=1, ge=1, description="how many runs the paper averaged")
    rounding: Rounding | None = Field(
        None, description="of its published numbers, where half a unit of the last digit is too little"
    )
    margin: Margin = Field(
        Margin.model_construct(), description="how far from a published value counts as close"
    )
    compared_within: list[str] | None = Field(
        None,
        description="columns of the CSV: the paper compares the numbers of a quantity in lines that agree in "
        "these (empty: in all lines). Without it only published changes can have a trend",
    )
    counted: bool = Field(
        True, description="whether its numbers are among those that the line of incompatible numbers counts"
    )
    mean_changes_by: list[str] | None = Field(
        None,
        description="axes of the rows: the published changes (columns with `compare`) of lines that agree "
        "in these are averaged, and the means tested before single numbers",
    )


class Variant(Strict):
    """One variant of a listing (for instance `as traced` and `as written`)."""

    heading: str = Field(description="over the variant's columns")
    where: Where = Field(description="axes fixed for this variant")
    judged: bool = Field(
        True,
        description="whether its times get verdicts; else only their difference is shown",
    )


class Listing(Strict):
    """A published packet listing next to the simulated one, line by line (kind `listing`).

    The published CSV has the columns `time_s,event,acked_packet,sent_packets`, and one column for each axis
    named in `axes`.
    """

    kind: Literal["listing"] = Field(description="a published packet listing")
    id: Slug = Field(description="its name in file names, anchors and [[marks]]")
    title: str = Field(description="over the listing")
    about: str | None = Field(None, description="a paragraph under the listing")
    published: str = Field(
        description="CSV file with the columns time_s,event,acked_packet,sent_packets and one for each axis"
    )
    axes: dict[str, Name] = Field(
        {}, description='column of the CSV -> the axis whose value it holds, e.g. `{ start_packets = "iw" }`'
    )
    where: Where = Field({}, description="axes fixed for the whole listing")
    variants: list[Variant] = Field(
        [], description="several variants side by side; by default one variant with the cells in `where`"
    )
    rounding: Rounding | None = Field(None, description="of its published times")


class Mark(Strict):
    """A verdict that the study gives to published cells in advance, with its reason (`[[marks]]`)."""

    table: Slug = Field(description="id of the table or listing")
    rows: dict[str, Scalar | list[Scalar]] = Field(
        {}, description="the rows meant: axis -> value (empty: all)"
    )
    columns: list[str] = Field([], description="published columns meant (empty = all)")
    lines: list[int] = Field(
        [], description="for a listing: the lines meant, 1-based in the CSV without its heading"
    )
    verdict: Literal["source suspect", "fitted", "not judged"] = Field(
        "source suspect", description="the verdict that the cells get"
    )
    reason: str = Field(min_length=1, description="why")
    corrected: float | None = Field(
        None, description="what the source most likely meant, in the published unit; shown, not judged"
    )


PANEL_QUANTITY = "quantity"
"""The value of a figure's `panels` that makes a panel for each quantity."""


class Figure(Strict):
    """One figure of the report (`[[figures]]`)."""

    id: Slug = Field(description="its name in file names and anchors")
    title: str = Field(description="over the figure")
    about: str | None = Field(None, description="a paragraph under the figure")
    kind: Literal[
        "time-sequence", "line", "bar", "cdf", "ellipse", "queue", "cwnd", "budget", "over-time"
    ] = Field(
        description="what is drawn; over-time: shares, windows and the queue of one cell's first replicate"
    )
    where: Where = Field({}, description="axes fixed for the whole figure")
    panels: Name | None = Field(
        None, description="one panel for each value of this axis, or `quantity`: for each of `quantities`"
    )
    series: list[Name] = Field(
        [], description="one line (or group of bars) for each combination of these axes"
    )
    x: str | None = Field(
        None,
        description="line, bar, budget: the axis along x, or `index` for the elements of a list; "
        "ellipse: the quantity along x",
    )
    of: Literal["page", "file", "transaction", "object", "connection"] | None = Field(
        None, description="budget: whose time is shown, a page's by default; of the first replicate"
    )
    quantity: Name | None = Field(
        None, description="line, bar, cdf: what is drawn; ellipse: the quantity along y"
    )
    quantities: list[Name] = Field(
        [], description="line, bar: several quantities of one unit in place of one, a line (or bar) for each"
    )
    traffic: list[str] = Field(
        [], description="budget: a bar for each of these traffic entries, in place of one for all of a cell"
    )
    compare: Comparison | None = Field(
        None, description='line, bar: draws a comparison with another cell, as "decrease(iw=1)"'
    )
    x_title: str | None = Field(None, description="along x; default: the axis and its unit")
    y_title: str | None = Field(None, description="along y; default: the quantity and its unit")
    start: Seconds | None = Field(
        None,
        description="time-sequence, queue, cwnd, over-time: the part of the run that is shown begins here, "
        'as "10s"',
    )
    until: Seconds | None = Field(None, description='and ends here, as "15s"')
    link: str | Annotated[int, Field(ge=0)] | None = Field(
        None, description="queue: the link's name or index; without it the first link recorded"
    )
    connection: int | None = Field(
        default=None,
        ge=0,
        description="time-sequence, cwnd: the connection's serial number; without it the first one",
    )
    log_x: bool = Field(False, description="line, cdf: a logarithmic axis along x")
    log_y: bool = Field(
        False, description="line: a logarithmic axis along y; values that are not above 0 are left out"
    )
    width: int | None = Field(
        default=None, ge=100, le=2000, description="of one panel, in pixels; default: 510"
    )
    height: int | None = Field(
        default=None,
        ge=60,
        le=2000,
        description="of one panel, in pixels; default: 290, or 220 with more than two panels",
    )
    columns: int | None = Field(
        default=None,
        ge=1,
        le=6,
        description="panels next to each other; default: 2 of 2 or 4, 3 of others, 1 if `width` is given",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.quantity is not None and self.quantities:
            raise ValueError("a figure has either `quantity` or `quantities`")
        if self.kind in ("line", "bar", "cdf", "ellipse") and not self.drawn_quantities:
            raise ValueError(f"a {self.kind} figure needs `quantity`")
        if self.panels == PANEL_QUANTITY and not self.quantities:
            raise ValueError(f'panels = "{PANEL_QUANTITY}" needs `quantities`')
        if self.kind == "ellipse" and self.x is None:
            raise ValueError("an ellipse figure needs `x` (the quantity along x)")
        if self.kind == "budget" and self.x is None:
            raise ValueError("a budget figure needs `x` (an axis)")
        if self.kind in ("line", "bar") and self.x is None:
            raise ValueError(f'a {self.kind} figure needs `x` (an axis, or "index" for a list)')
        return self

    @property
    def panel_axis(self) -> str | None:
        """The axis whose values make the panels; None without panels, or with a panel for each quantity."""
        return None if self.panels == PANEL_QUANTITY else self.panels

    @property
    def drawn_quantities(self) -> list[str]:
        """The names of the drawn quantities; for an ellipse, the one along y comes first."""
        if self.quantity is None:
            return self.quantities
        return [self.quantity, self.x] if self.kind == "ellipse" and self.x else [self.quantity]


#: The keys that only some kinds of figures accept, with these kinds.
FIGURE_KEYS = {
    "x": ("line", "bar", "ellipse", "budget"),
    "of": ("budget",),
    "traffic": ("budget",),
    "quantity": ("line", "bar", "cdf", "ellipse"),
    "quantities": ("line", "bar"),
    "compare": ("line", "bar"),
    "log_x": ("line", "cdf"),
    "log_y": ("line",),
    "start": ("time-sequence", "queue", "cwnd", "over-time"),
    "until": ("time-sequence", "queue", "cwnd", "over-time"),
    "link": ("queue",),
    "connection": ("time-sequence", "cwnd"),
}


class Claim(Strict):
    """A sentence of the paper, with the expression that tests it (`[[claims]]` in claims.toml)."""

    id: Slug = Field(description="its name in reports and messages")
    section: str = Field(description="of the source")
    text: str = Field(min_length=1, description="the paper's sentence, word for word")
    assert_: str | None = Field(
        default=None,
        alias="assert",
        description="an expression over cells and quantities, see docs/guide/claims.md",
    )
    note: str | None = Field(None, description="what the assertion covers, or why there is none")
    suspect: str | None = Field(
        None,
        description="why the source is doubtful; the claim is evaluated and shown, but gets `source suspect`",
    )
    cause: str | None = Field(
        None, description="if it fails: the finding that explains it, in the same words for all such claims"
    )

    @model_validator(mode="after")
    def _checkable(self) -> Self:
        if self.assert_ is None and self.note is None:
            raise ValueError("a claim without `assert` needs a `note` that says why it is not checked")
        return self


class Claims(Strict):
    """The content of the file claims.toml."""

    claims: list[Claim] = Field([], description="the sentences of the source that are tested")


def _table_kind(value: object) -> str:
    kind = value.get("kind", "grid") if isinstance(value, dict) else getattr(value, "kind", "grid")
    return str(kind)


AnyTable = Annotated[
    Annotated[Table, Tag("grid")] | Annotated[Listing, Tag("listing")], Discriminator(_table_kind)
]
"""An entry of `[[tables]]`; `kind` is `grid` by default."""
