"""The sections of a study file as pydantic models, from which `json_schema` makes `study.schema.json`.

The models describe a study with its references ("$name", "= 2 * name", "{name}B") resolved: once for the
study as written and once for each cell. Quantities with a unit are integers in the engine's units (ns, bit/s,
bytes).
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from .added_axes import Kernel, Parameter
from .base import Drawn, Label, Open, Strict
from .changes import AnyDelay, AnyLoss, AnyRate
from .grammar import Operation, operation
from .outputs import AnyTable, Claims, Figure, Margin, Mark, Name, Scalar, Where
from .units import Share, SizeBytes, TimeNs, parse_time
from .values import label

#: Names of `outputs` that this module re-exports.
__all__ = ["Claims", "Scalar", "Where"]

# ── the simulated network and traffic ─────────────────────────────────────────────────────────────────────


class Queue(Open):
    """The queue at a link's entrance: `kind`, `limit` ("25pkt", "64KiB", "1BDP") and the kind's knobs."""

    kind: str = Field(
        "drop-tail",
        description="drop-tail, red, codel, pie, fq-codel, cake, …: `cwndlab queues` lists them",
    )
    limit: str | None = Field(
        None, description='"25pkt", "64KiB" or "1BDP" (link rate x base round-trip time)'
    )
    queue: "Queue | None" = Field(None, description="the queue behind a shaper (tbf); default: a FIFO")


class Impairment(Open):
    """Loss, delay, reordering or duplication on a link: `kind` and the kind's knobs."""

    kind: str = Field(description="bernoulli, jitter, policer, …: `cwndlab impairments` lists them")


Down = Annotated[list[TimeNs], Field(min_length=2, max_length=2, examples=[["10s", "12s"]])]


class Direction(Strict):
    """The keys that differ in one direction of a link."""

    rate: AnyRate | None = Field(None, description="a rate, or one that changes")
    delay: AnyDelay | None = Field(None, description="propagation delay")
    loss: AnyLoss | None = Field(None, description="share of packets lost at random, before the queue")
    down: list[Down] | None = Field(
        None, description="intervals in which nothing is sent and the queue fills"
    )
    header: SizeBytes | None = Field(None, description="bytes added to each packet")
    queue: Queue | None = Field(None, description="the queue at its entrance")
    impairments: list[Impairment] | None = Field(None, description="in place of the link's")


End = str | list[str]


class Link(Strict):
    """A link in both directions; the directions are called "a>b" and "b>a"."""

    name: Label | None = Field(None, description="how dotted keys name it; default: a-b")
    between: list[End] = Field(
        min_length=2, max_length=2, description="two nodes; a list of nodes makes a link each"
    )
    rate: AnyRate = Field(
        description='of each direction: "1.5Mbps", { at = { "0s" = "100Mbps", … } } or { trace = "FILE" }'
    )
    delay: AnyDelay = Field(
        0,
        description='of each direction: "20ms", { at = { "0s" = "20ms", … } } or '
        '{ trace = "FILE", interval = "10ms" }',
    )
    loss: AnyLoss | None = Field(None, description="share of packets lost at random, before the queue")
    down: list[Down] = Field([], description="intervals in which nothing is sent and the queue fills")
    header: SizeBytes = Field(0, description="bytes that the link adds to each packet")
    queue: Queue = Field(
        Queue.model_construct(kind="infinite"), description="the queue at the entrance of each direction"
    )
    impairments: list[Impairment] = Field(
        [], description="losses, delays, reordering and duplication in each direction, in this order"
    )
    forward: Direction = Field(Direction.model_construct(), description="from the first node to the second")
    reverse: Direction = Field(Direction.model_construct(), description="from the second node to the first")


class Route(Strict):
    """An explicit route, which replaces the shortest path."""

    path: list[str] = Field(min_length=2, description="the nodes passed, ends included")


class Topology(Strict):
    """Nodes and links; packets take shortest paths (in hops) except on explicit routes."""

    nodes: list[Label] = Field(min_length=2, description="names of hosts and routers")
    links: list[Link] = Field(min_length=1, description="the links between them")
    routes: list[Route] = Field([], description="in place of shortest paths")
    ecmp: bool = Field(False, description="a hash spreads connections over all shortest paths (simulator)")
    rtt: TimeNs | None = Field(
        None, description='base round-trip time for "1BDP"; default: of the longest path through the link'
    )


class App(Open):
    """An application: `kind` and the kind's knobs."""

    kind: str = Field(description="bulk, ftp, web, short-flows, …: `cwndlab apps` lists them")


class Traffic(Strict):
    """One or `count` applications between clients and servers; instance i takes the i-th node of each list,
    round robin.
    """

    name: Label = Field(description="what tables of records, metrics and messages call it")
    client: End = Field(description="the node that opens connections, or a list of nodes")
    server: End = Field(description="the node that accepts connections, or a list of nodes")
    count: Annotated[int, Field(ge=0, le=1_000_000)] = Field(1, description="how many applications run")
    app: App = Field(description="the application, and its knobs")
    tcp: str = Field("default", description="group of both ends; see [tcp.groups]")
    tcp_client: str | None = Field(None, description="group of the client's end; default: `tcp`")
    tcp_server: str | None = Field(None, description="group of the server's end; default: `tcp`")
    start: TimeNs | Drawn = Field(0, description='when it starts, or { uniform = ["0s", "1s"] }')
    stagger: TimeNs = Field(0, description="instance i starts i times this later")


class TcpGroup(Open):
    """A named group's overrides of [tcp]; if it states a profile, overrides of that profile instead."""

    profile: str | None = Field(
        None,
        description='default: the knobs of [tcp]; "quinn" and "noq" are QUIC stacks, with their own keys',
    )


class Tcp(Open):
    """The default TCP group: a profile, and overrides of its knobs."""

    profile: str = Field(
        "rfc5681", description="rfc5681, linux-6, …: `cwndlab knobs NAME` shows each knob in all profiles"
    )
    groups: dict[Label, TcpGroup] = Field({}, description="further groups by name, for [[traffic]] `tcp`")


Percent = Annotated[Share, Field(gt=0, lt=1)]


class Run(Strict):
    """How long each cell runs, and how often."""

    duration: TimeNs = Field(description="simulated time of a run")
    replicates: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1, description="runs of each cell")
    seed: Annotated[int, Field(ge=0, lt=2**64)] = Field(1, description="of all random streams")
    warmup: TimeNs = Field(
        0, description="metrics leave out what is before this time, unless asked otherwise"
    )
    until: Percent | None = Field(
        None, description="sequential stopping: half-width of the 95 % interval, relative"
    )
    max_replicates: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1000, description="where sequential stopping ends at the latest"
    )
    stack: str | None = Field(
        None,
        description="a kernel's TCP, unless --stack names another; default: linux-laws if [tcp] has the "
        "profile linux-6, else linux-1998",
    )
    network: Literal["ipv4", "ipv6"] = Field(
        "ipv4",
        description="the Internet protocol; with ipv6, headers have 60 bytes and an MSS defaults to 1440",
    )
    kernel: Kernel = Field(
        None, description="the kernel in virtual time, unless --kernel names another; a list is an axis"
    )


class Probes(Strict):
    """The optional records of a run. A probe that is off costs nothing. Probes that a metric needs are
    switched on, except `segments_at`. Connections, objects and links are always recorded.
    """

    segments_at: str | None = Field(None, description="the node at whose side segments are observed")
    queues: list[str] = Field([], description='directions of links, as "r2>receiver"')
    queue_interval: TimeNs | None = Field(None, description="sampling interval; default: at every arrival")
    connections: bool = Field(True, description="counters of each connection at the edges of windows")
    cwnd: bool = Field(False, description="each sender's window whenever it changes: table `cwnd`")
    limits: bool = Field(False, description="what limited each sender, in the simulator: table `limits`")
    states: bool = Field(
        False, description="each sender's states and expired timers: tables `states`, `timeouts`"
    )
    accecn: bool = Field(False, description="what AccECN has reported to each sender: table `accecn`")
    delays: bool = Field(False, description="the one-way delay of every packet that reaches its end")


class Limits(Strict):
    """Limits within which a run on a kernel in real time is valid; they do not apply to the simulator."""

    p99_lateness: TimeNs = Field(300_000, description="one packet in a hundred may be later than scheduled")
    p999_lateness: TimeNs = Field(5_000_000, description="one packet in a thousand may be later")
    max_lateness: TimeNs = Field(50_000_000, description="no packet may be later")
    hidden_drops: Annotated[int, Field(ge=0)] = Field(
        0, description="packets lost outside the study's queues, at each device"
    )
    cpu_share: Percent = Field(0.8, description="of one processor, used by the router")
    application_p99: TimeNs = Field(5_000_000, description="how late applications get the processor")
    application_max: TimeNs = Field(100_000_000, description="the same, at most")
    steal: Percent = Field(0.2, description="of all processors, taken by a hypervisor")


# ── the plan ──────────────────────────────────────────────────────────────────────────────────────────────


class AxisValue(Strict):
    """A named value of an axis, which sets several parameters."""

    name: Scalar = Field(description="in names of cells, selections and `--set`")
    title: str | None = Field(None, description="in reports; default: the name")
    set: dict[str, object] = Field({}, description="dotted key -> value")


class Axis(Strict):
    """Values to vary. Elsewhere in the study, "$axis" (or "= axis * 2") refers to the name of the value."""

    title: str | None = Field(None, description="in reports; default: the axis's name")
    unit: str | None = Field(None, description="of its values, in reports; `--set` converts to it")
    about: str | None = Field(None, description="a sentence for the report")
    values: list[Scalar | AxisValue] = Field(
        min_length=1, description="plain values, or tables with a name and what they set"
    )
    sets: str | list[str] | None = Field(None, description="dotted keys that take the value as it is")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        twice = sorted(name for name, times in Counter(map(label, self.names)).items() if times > 1)
        if twice:
            raise ValueError(
                f"value {twice[0]!r} stands twice; each value of an axis needs a name of its own"
            )
        return self

    @property
    def names(self) -> list[Scalar]:
        """The names of the values, in order; a plain value is its own name."""
        return [value.name if isinstance(value, AxisValue) else value for value in self.values]

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, object]]:
        """The dotted keys that each named value sets, by the value's label."""
        return {label(value.name): value.set for value in self.values if isinstance(value, AxisValue)}


class Choice(AxisValue):
    """One value of an axis in [sensitivity]: a choice that the source leaves open."""

    read: dict[Name, Name] = Field(
        {}, description="quantity -> the quantity that is read in its place: a choice of what is measured"
    )


class Sensitivity(Axis):
    """An axis for a choice that the source leaves open: run only with `--sensitivity`, around the cells of
    `where`, and reported separately.
    """

    values: list[Scalar | Choice] = Field(
        min_length=1,
        description="plain values, or tables with a name and what they set; the first is the study's own",
    )  # type: ignore[assignment]
    where: Where = Field({}, description="the cells around which it is varied: axis -> value or values")
    combined: bool = Field(True, description="whether it takes part in the combinations")

    def read(self, value: Scalar) -> Mapping[str, str]:
        """The quantities that a value replaces, each with its replacement."""
        return next((c.read for c in self.values if isinstance(c, Choice) and c.name == value), {})


class Grid(Strict):
    """One block of cells: the product of `axes`, with those of a `zip` in step, restricted by `when`."""

    name: Name | None = Field(None, description="for `--set grid=NAME`")
    axes: list[str] = Field([], description="the axes whose product makes the cells")
    zip: list[list[str]] = Field([], description="groups of axes walked in step")
    where: Where = Field(
        {}, description="axes of the grid with only some of their values; any other axis is held at one value"
    )
    when: str | None = Field(
        None, description="condition on axes and parameters, as \"ftps > 0 or http == '1.0'\""
    )
    cells: list[dict[str, Scalar]] = Field([], description="cells listed one by one, in place of axes")
    replicates: int | None = Field(
        None, ge=1, description="of these cells, in place of run.replicates (unless --replicates is given)"
    )

    @property
    def swept_axes(self) -> set[str]:
        """The axes that vary in the grid."""
        return {*self.axes, *(axis for group in self.zip for axis in group)}

    @property
    def held_axes(self) -> Mapping[str, Scalar]:
        """The axes in `where` that do not vary, each at one value; part of the cells' names."""
        held = {name: value for name, value in self.where.items() if name not in self.swept_axes}
        return {name: value for name, value in held.items() if not isinstance(value, list)}

    def restricted_values(self, axis: str) -> list[Scalar] | None:
        """The values to which the grid restricts an axis; None if it does not."""
        kept = self.where.get(axis)
        return kept if isinstance(kept, list) or kept is None else [kept]


# ── quantities measured in the records ──────────────────────────────────────────────────────────────────────


#: The key with which `set` selects grids, unless an axis or a parameter has this name.
GRID = "grid"
#: The default window of a quantity: from the end of the warm-up to the end of the run.
DEFAULT_WINDOW = "measured"
#: The window from the start of the run, warm-up included, to its end.
WHOLE_RUN = "run"


class Quantity(Strict):
    """A number (or a list) per replicate: from a metric, or derived from two quantities of the same cell.

    Comparisons between cells are stated where they are shown: `compare` in columns and figures, functions in
    claims.
    """

    name: Name = Field(description="in tables, figures, claims and results")
    title: str | None = Field(None, description="in reports; default: the name")
    about: str | None = Field(None, description="a sentence for the report")
    unit: str | None = Field(
        None, description="default: the metric's own; another one is converted (s -> ms, 1 -> %)"
    )
    metric: str | None = Field(None, description="goodput, loss_rate, …: `cwndlab metrics` lists them")
    options: dict[str, object] = Field({}, description='of the metric, as { traffic = "ftp" }')
    within: str | None = Field(
        None,
        description="reduces many samples a replicate to one: mean, median, min, max, sum, count or p95",
    )
    window: Annotated[list[str], Field(min_length=2, max_length=2)] | str | None = Field(
        None,
        description='measured from and to, as ["10s", "40s"], in a phase by its name, or in the whole "run"; '
        "default: from the warm-up to the end",
    )
    statistic: Literal["mean", "median"] = Field("mean", description="across replicates")
    margin: Margin | None = Field(
        None, description="how far from a published value counts as close; default: the table's"
    )
    adjust_for: list[Name] = Field(
        [], description="quantities of expectation 0, such as excess_bytes; means leave their effect out"
    )
    derived: str | None = Field(
        None,
        description="computed in each replicate from two quantities of the same cell: a / b, a - b, a + b, "
        "a * b, or increase(a, b), in % from a to b",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.metric is None) == (self.derived is None):
            raise ValueError("a quantity has either `metric` or `derived`")
        _ = self._operation
        if self.adjust_for and self.statistic == "median":
            raise ValueError("`adjust_for` adjusts a mean across replicates, not a median")
        if self.window is not None and self.derived is not None:
            raise ValueError("`window` belongs to the quantities that this one is derived from")
        for edge in self.window if isinstance(self.window, list) else ():
            parse_time(edge)
        if self.within is not None and not re.fullmatch(
            r"mean|median|min|max|sum|count|p\d{1,2}(\.\d+)?", self.within
        ):
            raise ValueError(
                f"{self.within!r} is no reduction; write mean, median, min, max, sum, count or p95"
            )
        return self

    @property
    def window_name(self) -> str | None:
        """The name of the quantity's window in the scenario; None for the whole run."""
        if isinstance(self.window, list):
            return f"{self.window[0]} to {self.window[1]}"
        return None if self.window == WHOLE_RUN else self.window or DEFAULT_WINDOW

    @cached_property
    def _operation(self) -> Operation | None:
        return operation(self.derived) if self.derived is not None else None

    @property
    def operation(self) -> str | None:
        """The operation of a derived quantity (ratio, increase, difference, sum, product); else None."""
        return self._operation.kind if self._operation is not None else None

    @property
    def operands(self) -> tuple[str, ...]:
        """The two quantities from which a quantity is derived; empty for a metric."""
        return self._operation[1:] if self._operation is not None else ()


class Source(Strict):
    """The publication that the study reproduces."""

    name: str = Field(description="as RFC 2415")
    title: str | None = Field(None, description="of the paper")
    authors: list[str] = Field([], description="their names")
    year: int | None = Field(None, description="of publication")
    url: str | None = Field(None, description="where it can be read")
    paired_runs: bool = Field(False, description="whether its cells shared their random numbers, run by run")
    claimed: str | None = Field(None, description="what it claims, in one sentence, for the list of reports")


class Distribution(Open):
    """A distribution that applications share by name: `kind` and its knobs, or the columns of a file."""

    kind: str = Field("empirical", description="empirical, exponential, pareto, …")
    file: str | None = Field(None, description="CSV file in the study's own folder")
    values: str | list[float] | None = Field(None, description="column of the values (or the values)")
    counts: str | list[int] | None = Field(
        None, description="column of how often each was seen (or the counts)"
    )


class Outline(Strict):
    """A study without its model: what is varied, measured and shown. These sections have no references."""

    title: str = Field(description="the study's title")
    source: Source | None = Field(None, description="what the study reproduces")
    about: str | None = Field(None, description="a paragraph for the report")
    finding: str | None = Field(
        None,
        description="what was found, in two sentences; {median(delay[iw=3]):1} shows it with one decimal. "
        "Paragraphs of cells that were not run are left out",
    )
    key_figure: str | None = Field(None, description="id of the figure shown with it; default: the first")
    parameters: dict[Name, Parameter] = Field(
        {},
        description='values by name: "$name", "= 2 * name" and "{name}B" refer to them; a list is an axis',
    )
    axes: dict[Name, Axis] = Field({}, description="what is varied, by name")
    grids: list[Grid] = Field([], description="blocks of cells; default: every combination of all axes")
    cells: dict[Name, dict[Name, Scalar]] = Field({}, description="names of cells, for claims and figures")
    sensitivity: dict[Name, Sensitivity] = Field({}, description="choices that a source leaves open, by name")
    combinations: int = Field(
        0, ge=0, le=1000, description="of all [sensitivity] axes, drawn for `--sensitivity combinations`"
    )
    quantities: list[Quantity] = Field([], description="what is measured")
    tables: list[AnyTable] = Field([], description="tables of the report")
    figures: list[Figure] = Field([], description="figures of the report")
    marks: list[Mark] = Field([], description="verdicts given to published cells in advance")


class Model(Strict):
    """The model of one cell, from which its scenario is compiled. Only here references and axes apply."""

    topology: Topology = Field(description="nodes and links")
    traffic: list[Traffic] = Field(min_length=1, description="applications between clients and servers")
    distributions: dict[Name, Distribution] = Field(
        {}, description="distributions that applications share, by name"
    )
    tcp: Tcp = Field(Tcp.model_construct(), description="the TCP of all ends, and groups with other knobs")
    run: Run = Field(description="how long and how often")
    probes: Probes = Field(Probes.model_construct(), description="what is recorded beyond what metrics need")
    limits: Limits = Field(
        Limits.model_construct(), description="outside these a run on a kernel in real time is invalid"
    )
    phases: dict[Name, Annotated[list[TimeNs], Field(min_length=2, max_length=2)]] = Field(
        {}, description='parts of the run by name, from and to: mild = ["0s", "20s"]'
    )


class StudyFile(Outline, Model):
    """All sections of a study file."""

    model_config = ConfigDict(title="Study")


MODEL_SECTIONS = tuple(Model.model_fields)
