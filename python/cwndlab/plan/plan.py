"""The plan of a study: its compiled cells, their replicates, and the checks that need cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cwndlab import _core
from cwndlab._core import ScenarioRefused
from cwndlab.base.engine_kinds import is_program, nearest_queue
from cwndlab.base.errors import Findings, KeyPath, StudyError, nearest, problem_at
from cwndlab.base.writing import count_text
from cwndlab.study import schema
from cwndlab.study.building import S, build
from cwndlab.study.choices import parse_choices, variations_around
from cwndlab.study.congestion import UnknownLawError
from cwndlab.study.consistency import locate_outside
from cwndlab.study.document import Document, is_short
from cwndlab.study.files import resolve_inside
from cwndlab.study.study_spec import Catalogue, StudySpec, assignments
from cwndlab.study.values import label, text

from .compile import compile_model
from .direction import traces
from .grids import count_cells, expand_grids
from .probes import find_simulator_only
from .scenario import Compiled, core_error, origin

#: The largest number of cells of a study; checked before the grids are expanded.
MAX_CELLS = 100_000
#: The largest number of runs of a study.
MAX_RUNS = 20_000_000


class CompiledCell(NamedTuple):
    """A cell's model, and the scenario compiled from it."""

    model: schema.Model
    compiled: Compiled


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell of a study: one combination of axis values."""

    id: str
    axes: Mapping[str, schema.Scalar]
    study: StudySpec = field(repr=False)
    #: For a cell that `--sensitivity` adds: its sensitivity axis, or "combinations". `axes` then includes the
    #: values of the sensitivity axes.
    sensitivity: str | None = None
    #: The number of replicates that the cell's grid requests instead of the study's.
    own_replicates: int | None = None

    @cached_property
    def _built(self) -> CompiledCell:
        study = self.study
        return study.with_model(
            self.axes,
            lambda model: CompiledCell(
                model,
                compile_model(model, study.folder, study.outline.quantities, study.catalogue),
            ),
        )

    @cached_property
    def compiled(self) -> Compiled:
        """The cell's scenario with the origins of its parts."""
        return self._built.compiled

    @property
    def choices(self) -> Mapping[str, schema.Scalar]:
        """The cell's values of sensitivity axes."""
        return {name: value for name, value in self.axes.items() if name in self.study.outline.sensitivity}

    @property
    def replicates(self) -> int:
        """The number of replicates that the cell's grid requests; else `run.replicates` of its model."""
        return self.own_replicates or self._built.model.run.replicates

    @property
    def seed_offset(self) -> int:
        """The cell's seed minus the study's: an axis may set `run.seed`, so that cells are not paired."""
        return self._built.model.run.seed - self.study.base.run.seed

    @property
    def kernel(self) -> str | None:
        """The kernel that the study names for the cell; None for the backend's default."""
        return self._built.model.run.kernel

    @cached_property
    def scenario(self) -> str:
        """The scenario as JSON for the engine."""
        return self.compiled.json

    @cached_property
    def completed_scenario(self) -> str:
        """The scenario as JSON, completed by the engine with every default."""
        return _core.complete_scenario(self.scenario)

    @property
    def deterministic(self) -> bool:
        """Whether nothing in the cell is random, so that all its replicates would be equal."""
        return self.compiled.deterministic

    def check(self) -> None:
        """StudyError if the cell does not compile, or the engine rejects its scenario.

        >>> study.plan()[0].check()
        """
        try:
            _ = self.completed_scenario
        except ScenarioRefused as error:
            raise self.study.locate_refusal(core_error(self.compiled, error), self.axes) from None


#: Names that callers may try on a plan, with the replacement to suggest.
_INSTEAD = {
    "sel": "study.set(AXIS=VALUE).plan()",
    "replicates_of": "plan.count_replicates(CELL)",
    "requested_of": "plan.count_requested(CELL)",
    "seed_of": "plan.derive_seed(CELL)",
}
#: The largest number of cells that `repr` of a plan lists.
SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """All cells of a study, and the number of replicates of each."""

    study: StudySpec = field(repr=False)
    cells: tuple[Cell, ...]
    seed: int
    #: The number of replicates of every cell, instead of the study's numbers.
    replicates: int | None = None

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def __getitem__(self, index: int) -> Cell:
        return self.cells[index]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            right = f"; write {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise AttributeError(f"Plan has no `{name}`{right}", name="" if right else name, obj=self)

    def __repr__(self) -> str:
        lines = [f"<Plan of {self.study.name}: {count_text(len(self.cells), 'cell')}, seed {self.seed}"]
        shown = [
            (cell.id, count_text(self.count_requested(cell), "replicate")) for cell in self.cells[:SHOWN]
        ]
        lines += [f"    {name}: {replicates}" for name, replicates in shown]
        lines += [f"    … {len(self.cells) - SHOWN} more"] if len(self.cells) > SHOWN else []
        return "\n".join(lines) + ">"

    def _repr_html_(self) -> str:
        from html import escape  # only notebooks need it

        return f"<pre>{escape(repr(self))}</pre>"

    @property
    def runs(self) -> int:
        """The number of runs of all cells, without those that sequential stopping may add."""
        return sum(self.count_replicates(cell) for cell in self.cells)

    def count_replicates(self, cell: Cell) -> int:
        """The number of replicates of a cell that the simulator runs: 1 if nothing in the cell is random."""
        return 1 if cell.deterministic else self.count_requested(cell)

    def derive_seed(self, cell: Cell) -> int:
        """The seed of a cell's runs: the plan's seed plus the cell's `seed_offset`."""
        return (self.seed + cell.seed_offset) % 2**64

    def count_requested(self, cell: Cell) -> int:
        """The number of replicates requested for a cell; a kernel runs all, as its runs always differ."""
        return self.replicates or cell.replicates

    @property
    def counted_once(self) -> int:
        """The number of cells that run once despite more requested replicates, since nothing is random."""
        return sum(cell.deterministic and self.count_requested(cell) > 1 for cell in self.cells)

    def evenly_spaced(self, most: int) -> Plan:
        """The plan with at most `most` of its cells, evenly spaced."""
        count = len(self.cells)
        if count <= most:
            return self
        return replace(self, cells=tuple(self.cells[k * (count - 1) // (most - 1)] for k in range(most)))

    def check_cells(self) -> None:
        """StudyError for the first cell that the engine cannot run."""
        for cell in self.cells:
            cell.check()

    def check(self) -> None:
        """Checks all cells; StudyError also for a congestion control of the user's own that no cell uses.

        >>> study.plan().check()
        """
        self.check_cells()
        used = {digest for cell in self.cells for digest in cell.compiled.laws}
        for name, law in self.study.laws.items():
            if law.digest not in used:
                raise StudyError(
                    "no cell of this run uses this congestion control",
                    key=f"--cc {name}",
                    right=f'write window_law = "{name}" in the study, or --set tcp.window_law={name}',
                )

    @property
    def needs_kernel(self) -> bool:
        """Whether only a kernel can run the plan, because of a program or a kernel's queue."""
        return any(self._parts_of_kernel())

    def _parts_of_kernel(self) -> Iterator[tuple[str, KeyPath, str]]:
        """Yields each part that only a kernel can run: its kind, its path, and a remedy ("" for programs)."""
        for cell in self.cells:
            scenario, origins = cell.compiled.scenario, cell.compiled.origins
            for index, entry in enumerate(scenario["traffic"]):
                if is_program(entry["app"]):
                    yield "programs", (*origins.get(f"traffic.{index}", ()), "app"), ""
            for index, link in enumerate(scenario["links"]):
                if (nearest := nearest_queue(link["queue"])) is not None:
                    own = f'; queue = "{nearest}" is the nearest of its own'
                    yield "queues of a kernel", origins[f"links.{index}.queue"], own

    def check_parts(self, backend: str) -> None:
        """StudyError for the first program or kernel's queue that this backend cannot run."""
        who = "the simulator" if backend == "simulator" else f"--backend {backend}"
        for what, path, own in self._parts_of_kernel():
            if what == "programs" or backend == "simulator":
                right = f"run the study with --backend linux-virtual{own}"
                raise self.study.place.error(path, f"{who} runs no {what}", right)

    def check_kernel(self) -> None:
        """StudyError for the first part that only the simulator supports: ECMP, a QUIC stack, or a metric."""
        for cell in self.cells:
            if cell.compiled.scenario.get("ecmp"):
                at = origin(cell.compiled, ["topology", "ecmp"])
                raise cell.study.locate_refusal(
                    problem_at(at, "the router of a kernel's studies takes one path", "run the simulator"),
                    cell.axes,
                )
            for stack, index in cell.compiled.stacks.items():
                at = (*origin(cell.compiled, ["traffic", str(index), "stack"]), "profile")
                problem = problem_at(at, f"a kernel does not run {stack}", "run the simulator")
                raise cell.study.locate_refusal(problem, cell.axes)
        error = find_simulator_only(self.study.outline.quantities)
        if error is not None:
            raise self.study.place.locate(error)


def make_plan(
    study: StudySpec,
    *,
    replicates: int | None = None,
    seed: int | None = None,
    sensitivity: str | None = None,
) -> Plan:
    """The plan of a study: expands the grids after checking the number of cells.

    `sensitivity` is an axis of [sensitivity], "combinations" or "all"; its cells come last. `replicates`
    applies to every cell and overrides the grids.
    """
    run = study.base.run
    if replicates is not None and replicates < 1:
        raise StudyError(f"{replicates} does not fit", key="--replicates", right="it must be at least 1")
    if seed is not None and not 0 <= seed < 2**64:
        raise StudyError(f"{seed} is not a seed", key="--seed", right="0 to 2^64 - 1")
    asked = parse_choices(study, sensitivity)
    total, where = count_cells(study, asked)
    if total > MAX_CELLS:
        error = StudyError(
            f"the sweep has {total:,} cells ({where})",
            right=f"at most {MAX_CELLS:,}; leave out values, make several smaller [[grids]], or zip axes",
        )
        raise study.place.locate(error, ("grids",) if study.outline.grids else ("axes",))
    each = replicates or run.replicates
    if total * each > MAX_RUNS:
        error = StudyError(
            f"{total:,} cells of {each:,} replicates are too many runs", right=f"at most {MAX_RUNS:,}"
        )
        raise study.place.locate(error, ("run", "replicates"))
    cells: dict[str, Cell] = {}
    for axes, own in expand_grids(study):
        cell = Cell(cell_id(axes), axes, study, own_replicates=own)
        before = cells.setdefault(cell.id, cell)
        # A cell in several grids gets the largest number of replicates.
        if cell.own_replicates != before.own_replicates and cell.replicates > before.replicates:
            cells[cell.id] = cell
    if not cells:
        raise study.place.locate(
            StudyError("no cell is left", right="no combination fulfils `when`"), ("grids",)
        )
    _check_effects(study, cells.values())
    for cell in list(cells.values()):
        for name, choices in variations_around(study, cell.axes, asked):
            axes = {**cell.axes, **choices}
            variation = Cell(cell_id(axes), axes, study, name, cell.own_replicates)
            cells[variation.id] = variation
    return Plan(study, tuple(cells.values()), run.seed if seed is None else seed, replicates)


def _check_effects(study: StudySpec, cells: Collection[Cell]) -> None:
    """StudyError for a changed key that has no effect, because an axis sets it in every cell."""
    changes = study.document.changes
    for key, value in changes.items():
        if is_short(key, value):  # such a change may itself make the axis, as `run.kernel` does
            continue
        setters = (next(_axes_that_set(key, study, cell.axes), None) for cell in cells)
        axis = next(setters, None)
        added = f"axes.{axis}" in changes  # the caller added the axis for this key, as a search does
        if axis is not None and not added and all(setters):
            raise StudyError(
                f"this has no effect, as the axis {axis} sets the key in every cell that is run",
                file=study.file,
                key=f"--set {key}",
                right=f"change what [axes.{axis}] sets, in a copy of the study file",
            )


def _axes_that_set(key: str, study: StudySpec, axes: Mapping[str, schema.Scalar]) -> Iterator[str]:
    """Yields the axes whose values in a cell set this key, or a table that contains the key."""
    for name, value in axes.items():
        keys = (target for target, _ in assignments(study.outline.axes[name], value))
        if any(f"{key}.".startswith(f"{target}.") for target in keys):
            yield name


def cell_id(axes: Mapping[str, schema.Scalar]) -> str:
    """The id of a cell: "variant=tahoe,iw=4", or "base" if it has no axes."""
    return ",".join(f"{name}={text(value)}" for name, value in axes.items()) or "base"


# ── the checks of a study that need its cells ─────────────────────────────────────────────────────────────


def build_checked(kind: type[S], document: Document, catalogue: Catalogue) -> S:
    """Builds the study of a document and checks it; StudyError with all errors."""
    study, findings, left_out = build(kind, document, catalogue)
    if not left_out & {"parameters", "axes"}:
        with findings:
            _ = study.base
            if not left_out - {"quantities"}:
                _check_files(study, findings)
            if not left_out:
                _check_names(study, findings)
        if findings.errors:
            with findings:  # checks the first cell too, so that one message reports its errors as well
                unasked = study.outline.model_copy(update={"quantities": []})
                _check_apart_from_laws(Cell("", study.first, replace(study, outline=unasked)))
    findings.report()
    return study


def _check_apart_from_laws(cell: Cell) -> None:
    """StudyError with all errors of a cell except unknown laws, which `cc` may still define."""
    try:
        cell.check()
    except StudyError as error:
        errors = (error.without_others(), *error.others)
        others = [error for error in errors if not isinstance(error, UnknownLawError)]
        if others:
            raise others[0].replace(others=others[1:]) from None


def rebuild(study: S, document: Document) -> S:
    """The study with another document. Not checked again if only axes are restricted to existing values."""
    restricted = replace(study.document, chosen=document.chosen)
    labels = {name: {label(value) for value in axis.names} for name, axis in study.outline.axes.items()}
    if restricted == document and all(
        label(value) in labels[name]
        for name, values in document.chosen.items()
        if name in labels
        for value in values
    ):
        return replace(study, document=document)
    return build_checked(type(study), document, study.catalogue)


def _check_files(study: StudySpec, findings: Findings) -> None:
    """Adds an error for each missing file that the first cell names."""
    links, distributions = study.base.topology.links, study.base.distributions
    named: list[tuple[tuple[str | int, ...], str]] = [
        (("topology", "links", index, *path), trace)
        for index, link in enumerate(links)
        for path, trace in traces(link)
    ]
    named += [
        (("distributions", name, "file"), shared.file)
        for name, shared in distributions.items()
        if shared.file
    ]
    for path, name in named:
        with findings:
            try:
                resolve_inside(study.folder, name)
            except StudyError as error:
                raise locate_outside(study, error, path) from None


def _check_names(study: StudySpec, findings: Findings) -> None:
    """StudyError for the first quantity whose option `traffic` or `link` has a name that no cell has."""
    names: Mapping[str, set[str]] = _names_in(study.base)
    everywhere = False
    for index, quantity in enumerate(study.outline.quantities):
        for option in names.keys() & quantity.options.keys():
            asked = quantity.options[option]
            for name in asked if isinstance(asked, list) else [asked]:
                if name not in names[option] and findings.errors:
                    return  # the other cells may not expand, so whether they have the name is unknown
                if name not in names[option] and not everywhere:
                    everywhere = True  # an axis may change the names in other cells
                    for cell in make_plan(study).cells:
                        for what, more in _names_in(study.model(cell.axes)).items():
                            names[what].update(more)
                if name not in names[option]:
                    what = "traffic" if option == "traffic" else "direction of a link"
                    raise study.place.error(
                        ("quantities", index, "options", option),
                        f'there is no {what} "{name}"',
                        nearest(str(name), sorted(names[option])),
                    )


def _names_in(model: schema.Model) -> dict[str, set[str]]:
    """The names that the options `traffic` and `link` can have in a cell."""
    ends = [[[end] if isinstance(end, str) else end for end in link.between] for link in model.topology.links]
    pairs = [(a, b) for left, other in ends for a in left for b in other]
    return {
        "traffic": {entry.name for entry in model.traffic},
        "link": {name for a, b in pairs for name in (f"{a}>{b}", f"{b}>{a}")},
    }
