"""The results of a study: statistics, records, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from cwndlab.errors import StudyError, nearest
from cwndlab.plan.plan import Plan
from cwndlab.report.figures import Drawing, draw
from cwndlab.spec.study import StudySpec
from cwndlab.spec.values import same_value
from cwndlab.stats.results import Estimate, Results

from .campaign import Campaign, Failure
from .folder import with_cell


class RecordTables(Mapping[str, pa.Table]):
    """Record tables of each cell's first replicate, as Arrow.

    ``records["segments"]`` is a pyarrow Table; it has ``__arrow_c_stream__``, so polars, pandas and DuckDB
    take it without a copy. A column `cell` names the cell; ``records.of(variant="sack")`` narrows the cells.
    ``records("variant=sack,iw=4", replicate=3)`` gives the tables of any one run.
    """

    def __init__(
        self, cells: Mapping[str, Mapping[str, Any]], tables: Callable[[str, int], Mapping[str, pa.Table]]
    ) -> None:
        """`cells` has the axes of each cell; `tables` gives those of a cell's replicate."""
        self._cells = cells
        self._tables = tables
        self._made: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._made:
            parts = []
            for cell in self._cells:
                tables = self._tables(cell, 0)
                if name in tables:
                    parts.append(with_cell(tables[name], cell))
            if not parts:
                raise KeyError(f'no table "{name}" was recorded; {nearest(name, list(self))}')
            self._made[name] = pa.concat_tables(parts)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        for cell in self._cells:
            names |= dict.fromkeys(self._tables(cell, 0))
        return iter(sorted(names))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __call__(self, cell: str, replicate: int = 0) -> Mapping[str, pa.Table]:
        """The tables of one run. Those not kept are simulated again and are the same to the bit."""
        if cell not in self._cells:
            raise KeyError(f'no cell "{cell}"; {nearest(cell, self._cells)}')
        return self._tables(cell, replicate)

    def of(self, **axes: Any) -> RecordTables:
        """Only the cells with these axis values."""
        kept = {
            cell: known
            for cell, known in self._cells.items()
            if all(a in known and same_value(known[a], v) for a, v in axes.items())
        }
        if not kept:
            raise KeyError(f"no cell has {axes}; there are: {'; '.join(list(self._cells)[:5])}")
        return RecordTables(kept, self._tables)


@dataclass
class RunResult:
    """A study's results: `results` for statistics, `records` for packets, `estimates` for numbers."""

    study: StudySpec
    plan: Plan
    results: Results
    records: RecordTables
    #: Runs that failed; the others are there.
    failures: list[Failure] = field(default_factory=list)
    #: Where everything was written, if anywhere.
    folder: Path | None = None
    report: Path | None = None
    #: Packet-hops simulated now (not those kept from before).
    packets: int = 0
    #: Replicates that the shared store had.
    fetched: int = 0
    #: Replicates measured anew from kept records, as a metric is new or its code changed.
    measured: int = 0
    #: Replicates that ran.
    performed: int = 0
    #: What the store found damaged and computed again.
    damaged: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, campaign: Campaign, folder: Path | None = None) -> RunResult:
        """The results of a plan that was run, or opened in its folder."""
        axes = {cell.id: cell.axes for cell in campaign.plan.cells}
        return cls(
            campaign.plan.study,
            campaign.plan,
            campaign.results(),
            RecordTables(axes, campaign.tables),
            failures=campaign.failures,
            folder=folder,
            packets=campaign.packets,
            fetched=campaign.fetched,
            measured=campaign.measured,
            performed=campaign.performed,
            damaged=campaign.damaged,
        )

    def __repr__(self) -> str:
        size = f"{len(self.plan.cells)} cells, {self.plan.runs} runs"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<RunResult of {self.study.name}: {size}{failed}, seed {self.plan.seed}>"

    def estimate(self, quantity: str, **axes: Any) -> Estimate:
        """The estimate of one quantity in the one cell with these axis values."""
        cell = self.results.only(axes)
        return self._estimate(cell.id, quantity)

    def _estimate(self, cell: str, quantity: str) -> Estimate:
        interval = self.results.estimate(cell, quantity)
        return Estimate.of(cell, quantity, self.results.unit(quantity), interval)

    @property
    def estimates(self) -> pa.Table:
        """Every quantity that is a number, of every cell, with its 95 % interval: a table, one row an
        estimate.
        """
        rows: list[dict[str, Any]] = []
        lists = {name for name in self.results.units if self.results.is_list(name)}
        for cell in self.results.cells:
            for name in self.results.units:
                if name in lists or (cell.id, name) not in self.results.data:
                    continue
                estimate = self._estimate(cell.id, name)
                axes = {axis: str(value) for axis, value in cell.axes.items()}
                rows.append(
                    {
                        "cell": cell.id,
                        **axes,
                        "quantity": name,
                        "unit": estimate.unit,
                        "value": estimate.value,
                        "ci_low": estimate.ci_low,
                        "ci_high": estimate.ci_high,
                        "replicates": estimate.replicates,
                        "method": estimate.method,
                    }
                )
        columns: dict[str, None] = {}
        for row in rows:
            columns |= dict.fromkeys(row)
        return pa.table({name: [row.get(name) for row in rows] for name in columns})

    def _repr_html_(self) -> str:
        table = self.estimates
        shown = table.slice(0, 60).to_pylist()
        head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names if name != "cell")
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_short(v))}</td>" for k, v in row.items() if k != "cell") + "</tr>"
            for row in shown
        )
        more = f"<p>… {table.num_rows - len(shown)} more rows</p>" if table.num_rows > len(shown) else ""
        title = f"<h4>{escape(self.study.title)}</h4><p>{len(self.plan.cells)} cells</p>"
        return f"{title}<table><tr>{head}</tr>{body}</table>{more}{self._first_figure()}"

    def figure(self, id_: str) -> Drawing:
        """A figure of the study, drawn from these results; a notebook shows it, `svg_file` and `png()` are
        its files.
        """
        specs = {spec.id: spec for spec in self.study.outline.figures}
        if id_ not in specs:
            raise KeyError(f'no figure "{id_}" in {self.study.name}; {nearest(id_, specs)}')
        return draw(specs[id_], self.results)

    def _first_figure(self) -> str:
        """The first figure whose cells were run, as HTML."""
        for spec in self.study.outline.figures:
            with suppress(StudyError):
                return self.figure(spec.id)._repr_html_()
        return ""


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
