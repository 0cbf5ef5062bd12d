"""The results of a study: statistics, records, figures.

Modules that draw or explain are imported when they are used, because most runs never need them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from cwndlab import _core
from cwndlab.base.errors import ArgumentError, NotFoundError, check_arguments, nearest
from cwndlab.base.writing import count_text
from cwndlab.stats.results import Estimate, Results, Variation
from cwndlab.study.grammar import COMPARISONS
from cwndlab.study.units import seconds

from .records import RecordTables
from .result_tables import Estimates, ResultTables, check_quantity, failures_text, overview, table_of_words
from .samples import OF_XARRAY, Samples, group_flows
from .selection import select_cells
from .study_figures import StudyFigures

if TYPE_CHECKING:
    import altair as alt
    import xarray

    from cwndlab import Diagnosis, Discrepancy, PageWidget, Plots
    from cwndlab.plan.plan import Plan
    from cwndlab.report.figures import Drawing
    from cwndlab.report.judge import Judged
    from cwndlab.runs.campaign import Campaign, Failure
    from cwndlab.study.schema import Scalar
    from cwndlab.study.study_spec import StudySpec


#: Attributes of `RunResult` in earlier versions, with the remedy for each.
_FORMER = {
    "table": "every value is in the table `values`",
    "keys": "write list(run), or run.quantities for their units",
    "save": "study.run(FOLDER) keeps a run as it is made",
    "to_pandas": "write run.estimates.to_pandas() or run.values.to_pandas()",
}


@dataclass(eq=False, repr=False)
class RunResult:
    """A study's results: numbers in `estimates` and `values`, packets in `records`; `sel` selects cells."""

    SELECTED: ClassVar[str] = "run.sel({})"

    plan: Plan
    results: Results
    records: RecordTables
    #: The campaign of the runs, with the numbers of replicates that it ran and that were already stored.
    campaign: Campaign
    #: The runs that failed; the results are those of the other runs.
    failures: list[Failure]
    #: The results with each choice of `--sensitivity` that was run.
    variations: list[Variation]
    #: The result folder; None if the results are only in memory.
    folder: Path | None = None
    report: Path | None = None
    #: For a kernel's results, the simulator's results of the same plan, for the report; else None.
    simulated: Results | None = None
    #: The results of all cells if `sel` selected some; else None.
    of_all_cells: Results | None = None

    @property
    def study(self) -> StudySpec:
        """The study that was run."""
        return self.plan.study

    def __repr__(self) -> str:
        size = f"{count_text(len(self.results.cells), 'cell')}, {count_text(self.plan.runs, 'run')}"
        if self.of_all_cells is not None:
            size = f"{len(self.results.cells)} of {len(self.of_all_cells.cells)} cells"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        head = f"RunResult of {self.study.name}: {size}{failed}, seed {self.plan.seed}"
        return overview(head, self.axes, self.study.outline.quantities)

    @property
    def axes(self) -> dict[str, list[Scalar]]:
        """The axes of the selected cells, with their values."""
        return {name: list(values) for name, values in self.results.axes.items()}

    @property
    def quantities(self) -> dict[str, str]:
        """The quantities, with their units."""
        return {name: info.unit for name, info in self.results.labels.quantities.items()}

    @property
    def cells(self) -> pa.Table:
        """The selected cells: column `cell` (the id, as in tables of records) and a column for each axis."""
        return self._tables.cells()

    @check_arguments
    def sel(self, axes: Mapping[str, object] | None = None, /, **more: object) -> RunResult:
        """The results of the cells with these values of axes, like `sel` in xarray.

        >>> run.sel(buffer=2).axes
        {'buffer': [2]}

        Args:
            axes: for each axis a value as in `study.set` (10, "10Mbps"), several values in a list or an
                array, or a range of numbers, `slice(1, 4)`. None selects the cells without the axis.
            more: axes as keywords; `cell` selects by the ids of cells.

        Returns:
            The results of only these cells; `axes` has the remaining values.

        Raises:
            NotFoundError: there is no such axis, or no cell with these values.

        """
        cells = select_cells(self.results, {**(axes or {}), **more})
        names = {cell.id for cell in cells}
        return replace(
            self,
            results=self.results.restrict(cells),
            plan=replace(self.plan, cells=tuple(self.campaign.cells[cell.id] for cell in cells)),
            failures=[failure for failure in self.failures if failure.cell in names],
            records=RecordTables([cell.id for cell in cells], self.campaign),
            of_all_cells=self.of_all_cells or self.results,
        )

    @property
    def _tables(self) -> ResultTables:
        axes = (self.of_all_cells or self.results).axes
        return ResultTables(self.results, {name: self.study.outline.axes[name].names for name in axes})

    @check_arguments
    def estimate(self, quantity: str) -> Estimate:
        """The estimate of one quantity in the only selected cell.

        >>> share = run.sel(buffer=2).estimate("share_bbr1")
        >>> share.unit, share.ci_low <= share.value <= share.ci_high
        ('%', True)

        Args:
            quantity: one of `quantities`, with one number for each run.

        Returns:
            Value and 95 % interval in the quantity's `unit`; the ends are NaN if there is no interval.

        Raises:
            NotFoundError: there is no such quantity, or several cells are selected.
            ArgumentError: the quantity has many values for each run; `samples` returns them.

        """
        check_quantity(self.results, quantity, many=False)
        return ResultTables(self.results, {}).estimate(self.records.only_cell(), quantity)

    @property
    def estimates(self) -> Estimates:
        """A row for each selected cell and quantity with one number per run, with its 95 % interval.

        Columns: `cell`, the axes in their own types, `quantity`, `unit`, `value`, `ci_low`, `ci_high`,
        `replicates`, `method`, `warning` (why the interval may be too narrow).

        >>> len(run.estimates) == len(run.cells) * len(run.quantities)
        True
        """
        return self._tables.estimates()

    @property
    def sensitivity(self) -> Estimates:
        """The estimates with each choice of `--sensitivity` that was run; `choice` and `setting` name it.

        There are rows only for selected cells that a choice changes; for other cells, see `estimates`.
        """
        return self._tables.under(self.variations)

    @property
    def values(self) -> pa.Table:
        """The value of each quantity with one number per run: a row for each selected cell and replicate.

        Columns: `cell`, the axes in their own types, `replicate` (from 0), `quantity`, `unit`, `value` (NaN
        if it could not be measured).

        >>> run.values.column_names
        ['cell', 'buffer', 'replicate', 'quantity', 'unit', 'value']
        """
        return self._tables.values()

    @check_arguments
    def samples(self, quantity: str) -> pa.Table:
        """The values of a list quantity, one for each page, packet or other object, in each selected cell.

        >>> web.samples("page_delays").column_names[-5:]
        ['replicate', 'index', 'quantity', 'unit', 'value']

        Args:
            quantity: one of `quantities`, with many values for each run.

        Returns:
            Columns `cell`, the axes, `replicate`, `index` (from 0, in the order of the objects), `quantity`,
            `unit`, `value`.

        Raises:
            NotFoundError: there is no such quantity.
            ArgumentError: the quantity is one number for each run, which `values` has.

        """
        check_quantity(self.results, quantity, many=True)
        return self._tables.samples(quantity)

    @check_arguments
    def __getitem__(self, quantity: str) -> Samples:
        """One quantity of the selected cells, for selections, comparisons and arithmetic.

        >>> run["share"].sel(flow="bbr1").compare("ratio", to={"buffer": 0.5}).axes
        {'buffer': [2]}

        Args:
            quantity: the quantity's name. For quantities measured for each flow ("share_bbr1"), the name
                without the flow ("share"): `flow` is then an axis.

        Returns:
            The numbers, one for each cell and flow.

        Raises:
            NotFoundError: there is no such quantity.
            ArgumentError: the quantity has many values for each run; `samples` returns them.

        """
        flows = group_flows(self.study.outline.quantities).get(quantity, {})
        if not flows and quantity not in self.quantities:
            raise NotFoundError(f'no quantity "{quantity}"; {nearest(quantity, list(self))}')
        for name in flows.values() or [quantity]:
            check_quantity(self.results, name, many=False)
        return Samples.from_results(self.results, quantity, flows)

    def __iter__(self) -> Iterator[str]:
        """Yields the names that `run[NAME]` accepts; quantities measured for each flow share one name."""
        groups = group_flows(self.study.outline.quantities)
        names = {own: name for name, flows in groups.items() for own in flows.values()}
        infos = self.results.labels.quantities
        return iter(dict.fromkeys(names.get(own, own) for own, labels in infos.items() if not labels.many))

    def __contains__(self, quantity: object) -> bool:
        """Whether `run[quantity]` exists."""
        return quantity in (*self, *self.quantities)

    def compare(self, other: RunResult, kind: str = "difference") -> Estimates:
        """Every number compared with that of the same cell in another run.

        Runs with the same seed are compared in pairs, like cells of one run.

        >>> longer = study.set({"run.duration": "3s"}).run()
        >>> longer.compare(run, "ratio")["significant"].type
        DataType(bool)

        Args:
            other: the run to compare with, for instance of a changed study or another version.
            kind: "difference", "ratio", "increase" or "decrease", as in `Samples.compare`.

        Returns:
            A row for each cell and quantity that both have, as in `estimates`. `other` is the other run's
            number, `significant` whether the interval of the difference excludes 0.

        Raises:
            ArgumentError: there is no such comparison.
            NotFoundError: the runs have no number in common.

        """
        if kind not in COMPARISONS:
            raise ArgumentError(f'there is no comparison "{kind}"; {nearest(kind, COMPARISONS)}')
        return self._tables.compared_with(other.results, kind)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            right = f"; {_FORMER[name]}" if name in _FORMER else ""
            if name in OF_XARRAY:
                right = f"; write run.to_xarray().{name}"
            elif "results" in self.__dict__ and name in self.results.labels.quantities:
                right = f'; write run["{name}"]'
            raise AttributeError(f"RunResult has no `{name}`{right}", name="" if right else name, obj=self)

    def to_xarray(self) -> xarray.Dataset:
        """All values as an xarray Dataset: a variable for each quantity with one number per run.

        The dimensions are the study's axes and `replicate`; values of combinations that were not run or could
        not be measured are NaN. If cells have different axes, the dimension `cell` takes their place, and the
        axes are coordinates along it. Attributes: `units` and `long_name` of variables, `title`, `study`,
        `seed` and `cwndlab_version` of the dataset.

        >>> dict(run.to_xarray()["share_bbr1"].sizes)
        {'buffer': 2, 'replicate': 3}

        Raises:
            ExtraError: xarray is not installed.

        """
        study = {"title": self.study.title, "study": self.study.name, "seed": self.plan.seed}
        return self._tables.dataset({**study, "cwndlab_version": _core.version()})

    def widget(self) -> PageWidget:
        """The report as a widget for a notebook, in which cells can be simulated.

        >>> run.widget()  # doctest: +ELLIPSIS
        <...>

        Raises:
            OutputError: the run wrote no report (no folder was given), or it cannot be read.
            ExtraError: anywidget is not installed.

        """
        widget_of_file = import_module("cwndlab.apps.notebook.widget").widget_of_file
        widget: PageWidget = widget_of_file(self.study.title, self.report)
        return widget

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        title = f"<h4>{escape(self.study.title)}</h4><p>{count_text(len(self.results.cells), 'cell')}</p>"
        failed = f"<p>{escape(failures_text(self.failures, self.plan.runs))}</p>" if self.failures else ""
        drawn = self._figures.first(self.figure)
        return f"{title}{failed}{self.estimates._repr_html_()}{drawn._repr_html_() if drawn else ''}"

    @check_arguments
    def budget(self, kind: str | None = None, flow: str | None = None, *, replicate: int = 0) -> pa.Table:
        """The time budgets of a run of the selected cell: where objects and connections spent their time.

        >>> run.sel(buffer=2).budget("connection", "bbr1").column_names
        ['flow', 'kind', 'index', 'start_ns', 'end_ns', 'part', 'spent_ns']

        Args:
            kind: "page", "file", "transaction", "object" (finished ones) or "connection"; default: all.
            flow: the traffic's name in the study, or one instance of it ("web.1"); default: all.
            replicate: the replicate's number, from 0.

        Returns:
            A row for each part that took time: `flow`, `kind`, `index` (of a connection its serial number),
            `start_ns`, `end_ns`, `part`, `spent_ns`. The parts add up to `end_ns - start_ns`.

        Raises:
            NotFoundError: there is no such flow, or several cells are selected.
            OutputError: the run cannot be simulated again.

        """
        budgets = import_module("cwndlab.apps.diagnosis.time_budgets").budget_of_flow
        table: pa.Table = budgets(self.records, kind, flow, replicate)
        return table

    @check_arguments
    def explain(
        self,
        flow: str | None = None,
        *,
        at: str | float | None = None,
        longest: int = 5,
        replicate: int = 0,
    ) -> Diagnosis:
        """Explains what limited a sender at a moment and why, or the longest waits of a flow.

        QUIC stacks do not report why they wait; for them, the diagnosis has only a summary.

        >>> [*run.sel(buffer=2).explain("cubic", longest=1).to_dict()]
        ['cause', 'waits_known', 'connections', 'waited_s', 'waits', 'notes']

        Args:
            flow: the traffic's name in the study, or one instance of it ("web.1"); default: the first.
            at: the moment, as "14.4s" or in seconds; default: the longest waits.
            longest: the number of waits, without `at`.
            replicate: the replicate's number, from 0.

        Returns:
            The diagnosis: `print` shows it in sentences; `waits`, `waited_s`, `cause` and `to_dict()` are for
            programs.

        Raises:
            NotFoundError: there is no such flow, or several cells are selected.
            OutputError: the run cannot be simulated again.

        """
        moment = None if at is None else seconds("at", at)
        chosen = self.records.only_cell()
        # Imported by name: the core must not depend on applications.
        explain = import_module("cwndlab.apps.diagnosis.explanation").explain_run
        diagnosis: Diagnosis = explain(self.campaign, chosen, replicate, flow, moment, longest)
        return diagnosis

    @property
    def claims(self) -> pa.Table:
        """The verdict on each claim of the study, judged only by the selected cells.

        Columns: `claim`, `section`, `verdict` ("holds", "fails", "undecided", …), `detail`, `text`, `assert`,
        `cause`.
        """
        from cwndlab.report.verdict_files import CLAIM_COLUMNS, claim_rows

        return table_of_words(CLAIM_COLUMNS, claim_rows(self._judge(self.results)))

    @property
    def verdicts(self) -> pa.Table:
        """Each number of the study's tables next to the published number, with its verdict.

        The columns are those of verdicts.csv in a result folder (docs/guide/verdicts.md).
        """
        from cwndlab.report.verdict_files import CSV_COLUMNS, verdict_rows

        return table_of_words(CSV_COLUMNS, verdict_rows(self._judge(self.results)))

    def _judge(self, results: Results) -> Judged:
        from cwndlab.report.contents import collect_outputs
        from cwndlab.report.judge import judge

        return judge(collect_outputs(self.study, self.folder or self.study.folder or Path()), results)

    @check_arguments
    def discrepancies(self, *, budgets: bool = False) -> list[Discrepancy]:
        """The published numbers that are not reproduced, or only in their trend (docs/guide/differences.md).

        Each lists the choices of `--sensitivity` that move our number: by how much, and whether closer to the
        published value. `print` shows it in sentences; `to_dict()` is for programs.

        >>> run.discrepancies()  # a study without published numbers has none
        []

        Args:
            budgets: whether to simulate two runs for each number again, and compare time budgets of objects.

        """
        find = import_module("cwndlab.apps.reproduction.differences").discrepancies_of_cells
        judged = self._judge(self.of_all_cells or self.results)
        cells = {cell.id for cell in self.results.cells}
        discrepancies: list[Discrepancy]
        discrepancies = find(judged, self.variations, cells, self.campaign if budgets else None)
        return discrepancies

    @check_arguments
    def figure(self, id_: str) -> Drawing:
        """A figure of the study, drawn from these results.

        A notebook shows it; `svg_file` and `png()` are its files.

        >>> run.figure("shares").figure
        'shares'

        Args:
            id_: the figure's id in the study.

        Raises:
            NotFoundError: the study has no figure of this id.
            StudyError: nothing was measured for the figure.

        """
        return self._figures.drawing(id_)

    @check_arguments
    def chart(self, id_: str) -> alt.TopLevelMixin:
        """A figure of the study as an Altair chart, to zoom, restyle or save. Its data are in `.datasets`.

        >>> run.chart("shares").to_dict()["$schema"]  # doctest: +ELLIPSIS
        'https://vega.github.io/schema/vega-lite/...'

        Args:
            id_: the figure's id in the study.

        Raises:
            NotFoundError: the study has no figure of this id.
            StudyError: none of the figure's cells was run.

        """
        return self._figures.chart(id_)

    def _draw(self, quantity: str | None) -> alt.TopLevelMixin:
        chart = self._figures.first(self.chart) if quantity is None else self[quantity].plot()
        if chart is None:
            raise NotFoundError('the study has no figure of these cells; write run.plot("QUANTITY")')
        return chart

    @property
    def _figures(self) -> StudyFigures:
        return StudyFigures(self.campaign, self.results)

    @property
    def plot(self) -> Plots:
        """Altair charts: `run.plot()` draws the study's first figure; methods such as
        `run.sel(iw=4).plot.cwnd("cubic")` and `sequence` draw single runs.
        """
        plots: Plots = import_module("cwndlab.apps.notebook.plot").Plots(self.records, self._draw)
        return plots
