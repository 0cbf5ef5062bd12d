"""Runs a study and hands over its results: what `cwndlab.run` and the command line call."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cwndlab import metrics
from cwndlab.errors import StudyError, nearest
from cwndlab.stats import intervals
from cwndlab.stats.results import CellInfo, Estimate, Results
from cwndlab.stats.stopping import StoppingRule
from cwndlab.study.load import Study, shipped
from cwndlab.study.plan import Plan

from . import output, store_shared
from .campaign import Campaign, Executor, Failure
from .local import Threads, available
from .options import RunOptions
from .progress import Progress, Quiet
from .provenance import provenance
from .store import FolderStore, Kept, MemoryStore, write_atomic

if TYPE_CHECKING:
    from cwndlab.live.backend import Kernel
    from cwndlab.report.beside import Beside
    from cwndlab.report.figures import Drawing
    from cwndlab.report.view import Fact
    from cwndlab.report.write import Outputs
    from cwndlab.study.outputs import AnyTable
    from cwndlab.study.schema import Source


#: The copy of a kernel's stack of one's own in a result folder.
STACK_FILE = "stack.toml"


class RecordTables(Mapping[str, pa.Table]):
    """Record tables of each cell's first replicate, as Arrow.

    ``records["segments"]`` is a pyarrow Table; it has ``__arrow_c_stream__``, so polars, pandas and DuckDB
    take it without a copy. A column `cell` names the cell; ``records.of(variant="sack")`` narrows the cells.
    """

    def __init__(self, campaign: Campaign, cells: tuple[str, ...]) -> None:
        self._campaign = campaign
        self._cells = cells
        self._made: dict[str, pa.Table] = {}

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._made:
            parts = []
            for cell in self._cells:
                tables = self._campaign.store.tables(self._campaign.key(cell, 0)) or {}
                if name in tables:
                    parts.append(output.with_cell(tables[name], cell))
            if not parts:
                raise KeyError(f'no table "{name}" was recorded; {nearest(name, list(self))}')
            self._made[name] = pa.concat_tables(parts)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        for cell in self._cells:
            names |= dict.fromkeys(self._campaign.store.tables(self._campaign.key(cell, 0)) or {})
        return iter(sorted(names))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def of(self, **axes: Any) -> RecordTables:
        """Only the cells with these axis values."""
        known = self._campaign.cells
        kept = tuple(
            cell
            for cell in self._cells
            if all(str(known[cell].axes.get(a)) == str(v) for a, v in axes.items())
        )
        if not kept:
            raise KeyError(f"no cell has {axes}; there are: {'; '.join(self._cells[:5])}")
        return RecordTables(self._campaign, kept)


@dataclass
class RunResult:
    """A study's results: `results` for statistics, `records` for packets, `estimates` for numbers."""

    study: Study
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
    #: What the store found damaged and computed again.
    damaged: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        size = f"{len(self.plan.cells)} cells, {self.plan.runs} runs"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<RunResult of {self.study.name}: {size}{failed}, seed {self.plan.seed}>"

    def estimate(self, quantity: str, **axes: Any) -> Estimate:
        """The estimate of one quantity in the one cell with these axis values."""
        cell = self.results.only(axes)
        return self._estimate(cell.id, quantity)

    def _estimate(self, cell: str, quantity: str) -> Estimate:
        values = self.results.values(cell, quantity)
        exact = self.results.is_exact(cell, quantity)
        summed = intervals.median if self.results.statistic(quantity) == "median" else intervals.mean
        return Estimate.of(cell, quantity, self.results.unit(quantity), summed(values, deterministic=exact))

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
        from cwndlab.report.figures import draw
        from cwndlab.study.units import seconds

        specs = {spec.id: spec for spec in self.study.outline.figures}
        if id_ not in specs:
            raise KeyError(f'no figure "{id_}" in {self.study.name}; {nearest(id_, specs)}')
        return draw(specs[id_], self.results, seconds)

    def _first_figure(self) -> str:
        """The first figure whose cells were run, as HTML."""
        for spec in self.study.outline.figures:
            with suppress(StudyError):
                return self.figure(spec.id)._repr_html_()
        return ""


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def run_study(
    study: Study, options: RunOptions | None = None, *, progress: Progress | None = None, **more: Any
) -> RunResult:
    """Runs a loaded study; `more` are fields of the options by their names."""
    began = datetime.now(UTC)
    options = (options or RunOptions()).but(**more)
    plan = study.plan(replicates=options.replicates, seed=options.seed, sensitivity=options.sensitivity)
    plan.check()
    check_outputs(study)
    shared = None if options.store is None else store_shared.where(options.store)
    if shared is not None:
        if options.cluster is not None and shared.startswith("memory:"):
            raise StudyError("a memory is of one process", key="--store", right="name a folder or s3://…")
        store_shared.prepare(shared)
    kernel = kernel_of(options, study)
    executor = kernel or _executor(options, shared)
    rule = _rule(study, plan, options.until)
    folder = Path(options.out) if options.out is not None else None
    kept = output.prepare(folder, study) if folder is not None else MemoryStore()
    if kernel is not None and folder is not None:
        kernel.keep = folder / "kernel"
    try:
        key = kernel.key if kernel is not None else ""
        campaign = Campaign(
            plan, kept, executor, rule, progress or Quiet(), shared=shared is not None, backend=key
        )
        campaign.run()
        result = RunResult(
            study,
            plan,
            campaign.results(),
            RecordTables(campaign, tuple(campaign.cells)),
            failures=campaign.failures,
            folder=folder,
            packets=campaign.packets,
            fetched=campaign.fetched,
            damaged=[*(kept.damaged if isinstance(kept, FolderStore) else []), *campaign.notes],
        )
        if folder is not None:
            content = provenance(
                plan,
                replicates=campaign.wanted,
                command=sys.argv,
                began=began,
                packets=campaign.packets,
                performed=campaign.performed,
                ran_on=f"Linux {kernel.release}"
                if kernel
                else options.cluster or f"{options.threads or available()} threads",
            )
            if kernel is not None:
                content |= kernel.provenance() | {"backend_key": key}
                content["stack"]["file"] = STACK_FILE if kernel.stack.text is not None else None
            content |= {
                "replicates": options.replicates,
                "sensitivity": options.sensitivity,
                "until": rule and rule.relative,
                "store": shared,
                "replicates_fetched": campaign.fetched,
                "failures": [asdict(failure) for failure in campaign.failures],
            }
            if kernel is not None and kernel.stack.text is not None:
                write_atomic(folder / STACK_FILE, kernel.stack.text.encode())
            output.write_provenance(folder, content)
            output.write_records(folder, campaign)
            if result.results.data:
                beside = simulated_beside(campaign, kept) if kernel is not None else None
                result.report = report(study, result.results, folder, content, campaign.variations(), beside)
        return result
    finally:
        if isinstance(kept, FolderStore):
            kept.close()


def _executor(options: RunOptions, shared: str | None) -> Executor:
    if options.cluster is None:
        return Threads(options.threads, shared)
    from .dask import Cluster

    return Cluster(options.cluster, shared)


def kernel_of(options: RunOptions, study: Study) -> Kernel | None:
    """Who runs on a kernel; None for the simulator."""
    if options.backend == "simulator":
        return None
    from cwndlab.live.backend import Kernel, find_router
    from cwndlab.live.stack import load

    find_router()
    chosen = load(options.stack or study.base.run.stack), options.threads, study.base.limits
    if options.backend == "linux-virtual":
        from cwndlab.live.virtual import VirtualKernel

        return VirtualKernel(*chosen)
    return Kernel(*chosen)


def _rule(study: Study, plan: Plan, until: float | None) -> StoppingRule | None:
    relative = study.base.run.until if until is None else until
    if relative is None:
        return None
    try:
        return StoppingRule(
            relative, cap=max(study.base.run.max_replicates, plan.replicates or study.base.run.replicates)
        )
    except ValueError as error:
        raise StudyError(str(error), key="--until" if until is not None else "run.until") from None


def simulated_beside(measured: Campaign, kept: Kept) -> Beside:
    """What the simulator makes of a kernel's plan; its runs are kept under keys of their own."""
    from cwndlab.live.agreement import beside

    simulated = Campaign(measured.plan.beside_a_kernel(), kept, Threads(None), measured.rule)
    simulated.run()
    return beside(simulated, measured)


def report(
    study: Study,
    results: Results,
    folder: Path,
    content: Mapping[str, Any],
    variations: Sequence[tuple[str, str, Results]] = (),
    beside: Beside | None = None,
) -> Path:
    """Writes verdicts, figures and the report from the folder's own copy of the study."""
    from cwndlab.report.write import Variation, write
    from cwndlab.study.units import seconds

    outputs, outline = replace(_outputs(study, folder), missing=_missing(content)), study.outline
    write(
        outputs,
        results,
        folder,
        facts=_facts(content),
        variations=[
            Variation(
                outline.sensitivity[axis].title or axis if axis in outline.sensitivity else axis,
                value,
                varied,
                combined=axis not in outline.sensitivity,
            )
            for axis, value, varied in variations
        ],
        beside=beside,
        seconds=seconds,
    )
    return folder / "report.html"


def _outputs(study: Study, folder: Path) -> Outputs:
    from cwndlab.report.definitions import definitions
    from cwndlab.report.write import Outputs

    outline, source = study.outline, study.outline.source
    return Outputs(
        title=study.title,
        folder=folder,
        source=_citation(source) if source is not None else "",
        url=(source.url or "") if source is not None else "",
        about=outline.about or "",
        tables=outline.tables or _plain_table(study),
        figures=outline.figures,
        marks=outline.marks,
        claims=study.claims.claims,
        definitions=definitions(outline.quantities),
    )


def _missing(content: Mapping[str, Any]) -> str:
    """What the numbers lack, in words."""
    failures = content.get("failures", [])
    if not failures:
        return ""
    first = failures[0]
    wanted = sum(cell["replicates"] for cell in content["cells"])
    said = f"{len(failures)} of {wanted} runs gave no number, the first {first['cell']}, replicate "
    return f"{said}{first['replicate']}: {first['reason']}. {first['advice']}".strip()


def _plain_table(study: Study) -> Sequence[AnyTable]:
    """All numbers of all cells, for a study that lays out no table."""
    from cwndlab.study.outputs import Column, Table

    outline = study.outline
    known = {quantity.name: quantity for quantity in outline.quantities}
    columns = [
        Column(
            heading=f"{quantity.title or quantity.name} ({metrics.unit_of(quantity, known)})",
            quantity=quantity.name,
        )
        for quantity in outline.quantities
        if not metrics.is_list(quantity, known)
    ]
    if not columns or not outline.axes or outline.grids:
        return []
    return [Table(id="measured", title="Measured", rows=list(outline.axes), columns=columns)]


def check_outputs(study: Study) -> None:
    """StudyError for a table, figure or claim that no run could show; restricted axes are no error."""
    from cwndlab.report.check import check, without_values

    whole = replace(study, chosen={})
    quantities = {quantity.name: quantity for quantity in study.outline.quantities}
    results = without_values(
        [CellInfo(cell.id, cell.axes) for cell in whole.plan().cells],
        {name: metrics.unit_of(quantity, quantities) for name, quantity in quantities.items()},
        [name for name, quantity in quantities.items() if metrics.is_list(quantity, quantities)],
        study.outline.cells,
    )
    check(_outputs(study, study.folder or Path()), results)


def _citation(source: Source) -> str:
    parts = [source.name, f"\u201c{source.title}\u201d" if source.title else "", ", ".join(source.authors)]
    return ", ".join(part for part in [*parts, str(source.year or "")] if part)


def _facts(content: Mapping[str, Any]) -> list[Fact]:
    """What was run, how long, and how to run it again."""
    from cwndlab.report.view import Fact

    replicates = [cell["replicates"] for cell in content["cells"]]
    span = (
        str(min(replicates))
        if min(replicates) == max(replicates)
        else f"{min(replicates)} to {max(replicates)}"
    )
    fetched = content.get("replicates_fetched", 0)
    if until := content.get("until"):
        span += f", until the half-width is {until:.3g} of each number, or the cap"
        span += " (Chow and Robbins 1965; Law and Kelton, 9.4.1)"
    return [
        Fact("cells", str(len(replicates))),
        Fact("replicates of each", span),
        Fact("simulated", f"{content['scenario']['duration_ns'] / 1e9:g} s a run"),
        Fact(
            "took",
            f"{content['seconds']:g} s for {content['replicates_run']} runs on {content['ran_on']}"
            + (f", {fetched} taken from {content['store']}" if fetched else ""),
        ),
        Fact(
            "version",
            f"cwndlab {content['cwndlab']}" + (f", {content['git'][:12]}" if content["git"] else ""),
        ),
        *_backend_facts(content),
        Fact("run again", _again(content)),
    ]


def _again(content: Mapping[str, Any]) -> str:
    """The command of these runs; a study of one's own is run from its copy in the result folder."""
    sets = {axis: ",".join(map(str, values)) for axis, values in content["set"].items()}
    if content["study"] in shipped():
        words = ["cwndlab", "run", str(content["study"])]
        sets |= {key: str(value) for key, value in content["changed"].items()}
    else:  # whose keys are changed already
        words = ["cwndlab", "run", "study.toml"]
    for key, value in sets.items():
        words += ["--set", f"{key}={value}"]
    if content.get("backend"):
        stack = content["stack"].get("file") or content["stack"]["name"]
        words += ["--backend", str(content["backend"]), "--stack", str(stack)]
    if content.get("replicates"):
        words += ["--replicates", str(content["replicates"])]
    if content.get("until"):
        words += ["--until", f"{100 * content['until']:.6g}%"]
    if content.get("sensitivity"):
        words += ["--sensitivity", str(content["sensitivity"])]
    return shlex.join([*words, "--seed", str(content["seed"]), "-o", "DIR"])


def _backend_facts(content: Mapping[str, Any]) -> list[Fact]:
    """What a run on the kernel ran on, and how exact it was."""
    from cwndlab.report.view import Fact

    if not content.get("backend"):
        return []
    runs = [run for run in content["kernel_runs"] if not run["invalid_because"]]
    late = [
        max((run["lateness_ns"][name] for run in runs), default=0) / 1e3
        for name in ("p50", "p99", "p999", "max")
    ]
    return [
        Fact(
            "backend",
            f"{content['backend']}: Linux {content['kernel']}, {content['stack']['name']}; "
            "what stands below is its, beside the simulator's first",
        ),
        Fact(
            "packets late (worst run)",
            "p50 {:.0f}, p99 {:.0f}, p99.9 {:.0f}, at most {:.0f} µs".format(*late),
        ),
        *(Fact("otherwise than the study", note) for note in content["differs_from_study"]),
    ]
