"""Runs the studies of packs for their subjects and writes the scorecard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cwndlab import __version__
from cwndlab.api import Study
from cwndlab.base.errors import RunError, StudyError
from cwndlab.base.laws import kernel_law
from cwndlab.base.writing import count_text, save
from cwndlab.plan.plan import Cell, Plan
from cwndlab.plan.scenario import most_bits
from cwndlab.report import render
from cwndlab.report.model import Fact
from cwndlab.results.execution import checked_plan, run_plan, sound_plan
from cwndlab.results.result import RunResult
from cwndlab.runs.kernel_side import KernelStack, kernels
from cwndlab.runs.progress import Progress, span
from cwndlab.runs.run_options import RunOptions
from cwndlab.stats.results import unmeasured_results
from cwndlab.study.knobs import alternative_name
from cwndlab.study.units import parse_time

from .overview import LOOKS, against_references, findings, has_summary, range_bars
from .pack import Pack, changes_text
from .scorecard import Scorecard, judge
from .scorecard_data import as_data, as_junit
from .subjects import Subject, refusal, with_subjects

RULE = (
    "A row has a mark where the document itself states a limit: met, not met, undecided if the 95 % "
    "intervals do not decide, or does not apply. The other rows have no limit. They show the number, the "
    "others from which it differs at 95 %, and its rank: a range where that leaves several places open. "
    "Numbers of runs that would decide are estimates from the runs at hand. Criteria that are not met come "
    "first, then those that are undecided."
)


@dataclass(frozen=True)
class Evaluation:
    """The scorecards and runs of an evaluation."""

    cards: tuple[Scorecard, ...]
    subjects: tuple[Subject, ...]
    #: The results by (pack, study).
    runs: Mapping[tuple[str, str], RunResult]
    folder: Path
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The keys that were changed in every study."""

    @property
    def failures(self) -> list[str]:
        """A text for each run that failed."""
        return [
            f"{pack}/{study}: {failure.cell}, replicate {failure.replicate}: {failure.reason}"
            for (pack, study), run in self.runs.items()
            for failure in run.failures
        ]

    @property
    def performed(self) -> int:
        """The number of replicates that this evaluation ran; stored ones do not count."""
        return sum(run.campaign.performed for run in self.runs.values())


def studies(
    pack: Pack,
    subjects: Sequence[Subject],
    changes: Mapping[str, Any],
    without: Collection[str] = (),
    refused: Mapping[str, Collection[str]] | None = None,
) -> dict[str, Study]:
    """The pack's studies by name, with changed keys, with the subjects, and without references in `without`.

    `refused` has the subjects that a study cannot have, by study. StudyError for subjects of another kind.
    """
    for subject in subjects:
        if subject.kind != pack.kind:
            right = "--queue" if pack.kind == "queue" else "--cc"
            raise StudyError(f'the pack "{pack.name}" evaluates no {subject.kind}', key="--pack", right=right)
    names = [subject.name for subject in subjects]
    if twice := [name for name in names if names.count(name) > 1]:
        raise StudyError(f"two subjects have the name {twice[0]}", right="give one another name: NAME=…")
    references = pack.file.references
    return {
        name: with_subjects(
            _with_changes(study, changes),
            [subject for subject in subjects if subject.name not in (refused or {}).get(name, ())],
            references,
            without,
        )
        for name, study in pack.studies.items()
    }


def _with_changes(study: Study, changes: Mapping[str, Any]) -> Study:
    """The study with changed keys; a shorter duration scales the warm-up, unless the study has phases."""
    if "run.duration" in changes and "run.warmup" not in changes:
        run = study.base.run
        try:
            duration = parse_time(changes["run.duration"])
        except ValueError as error:
            raise StudyError(str(error), key="--set run.duration") from None
        if study.base.phases:
            changes = {key: value for key, value in changes.items() if key != "run.duration"}
        elif duration < run.duration:
            changes = {**changes, "run.warmup": f"{run.warmup * duration // run.duration}ns"}
    return study.set(changes) if changes else study


def evaluate(
    packs: Sequence[Pack],
    subjects: Sequence[Subject],
    out: Path,
    options: RunOptions | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    progress: Callable[[str], AbstractContextManager[Progress]] = lambda study: nullcontext(Progress()),
) -> Evaluation:
    """Runs every study of the packs; writes `scorecard.html`, `.md`, `.json` and `junit.xml` to `out`.

    The report of each study goes to `out/PACK/STUDY`; stored results are reused. A kernel runs only the
    studies whose parts it supports; the simulator's results are shown next to the kernel's. `changes` sets
    keys of every study, as `{"run.duration": "10s"}`. `progress` returns a context that shows the progress of
    the named study. StudyError, before the first run, if arguments do not fit together.
    """
    began = time.monotonic()
    options = options or RunOptions()
    if options.backend != "simulator":
        out.mkdir(parents=True, exist_ok=True)
        options = replace(options, stack=options.stack or STACK)
    names = [subject.name for subject in subjects]
    changes = changes or {}
    prepared = [_prepare(pack.with_changes(changes), subjects, changes, options) for pack in packs]
    for one in prepared:
        empty = {
            name: unmeasured_results(plan.study, {cell.id: cell.axes for cell in plan.cells})
            for name, plan in one.plans.items()
        }
        judge(one.pack, names, empty, skipped=one.skipped, refused=one.refused, lacking=one.lacking)
    if not any(preparation.plans for preparation in prepared):
        raise _nothing_to_run(prepared, options)
    runs: dict[tuple[str, str], RunResult] = {}
    cards = []
    whole = _Whole([plan for preparation in prepared for plan in preparation.plans.values()])
    for one in prepared:
        made: dict[str, RunResult] = {}
        for name, plan in one.plans.items():
            folder = out / one.pack.name / name
            folder.parent.mkdir(parents=True, exist_ok=True)
            with progress(f"{one.pack.name}/{name} ({whole})") as shown:
                made[name] = run_plan(plan, replace(options, out=folder), progress=shown)
            runs[one.pack.name, name] = made[name]
            whole.finish(plan, made[name].campaign.performed)
        cards.append(_judge(one, subjects, made, out, options))
    evaluation = Evaluation(tuple(cards), tuple(subjects), runs, out, changes)
    _write(evaluation, out, options, time.monotonic() - began)
    return evaluation


def _judge(
    one: _Prepared, subjects: Sequence[Subject], made: Mapping[str, RunResult], out: Path, options: RunOptions
) -> Scorecard:
    """The scorecard of a pack that has run. Runs references that the kernel lacks in the simulator."""
    beside = {
        name: run_plan(plan, replace(options, out=out / one.pack.name / name / "references", **SIMULATOR))
        for name, plan in one.beside.items()
    }
    return judge(
        one.pack,
        [subject.name for subject in subjects],
        {name: run.results for name, run in made.items()},
        skipped=one.skipped,
        refused=one.refused,
        simulated={name: run.simulated for name, run in made.items() if run.simulated is not None},
        kernel_only=[subject.name for subject in subjects if subject.kernel is not None],
        beside={name: run.results for name, run in beside.items()},
        lacking=one.lacking,
    )


def _nothing_to_run(prepared: Sequence[_Prepared], options: RunOptions) -> StudyError:
    """The error for an evaluation in which no study runs; it states the first study's reason."""
    reason = next(why for preparation in prepared for why in preparation.skipped.values())
    if options.backend == "simulator":
        return StudyError(
            f"no study runs with this stack: {reason}", key="--stack", right="choose other criteria"
        )
    return StudyError(f"no study runs on a kernel: {reason}", key="--backend", right="--backend simulator")


class _Whole:
    """The overall progress as text; studies are weighted by the bits that their bottlenecks can send."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._count, self._finished = len(plans), 0
        self._left = sum(map(_most_sent, plans))
        self._ran = self._seconds = 0.0
        self._began = time.monotonic()

    def finish(self, plan: Plan, performed: int) -> None:
        """Counts a study as finished; if it ran now, its speed is used to estimate the remaining time."""
        sent, now = _most_sent(plan), time.monotonic()
        self._finished += 1
        self._left -= sent
        if performed:
            self._ran += sent * performed / plan.runs
            self._seconds += now - self._began
        self._began = now

    def __str__(self) -> str:
        left = f", about {span(self._left * self._seconds / self._ran)} left" if self._ran else ""
        return f"study {self._finished + 1} of {self._count}{left}"


def _most_sent(plan: Plan) -> float:
    """The bits that the bottlenecks can send in all runs of a plan."""
    return sum(plan.count_replicates(cell) * most_bits(cell.compiled.scenario) for cell in plan.cells)


@dataclass(frozen=True)
class _Prepared:
    """A pack whose studies are ready to run."""

    pack: Pack
    plans: Mapping[str, Plan]
    #: The studies that the backend cannot run, with the reasons.
    skipped: Mapping[str, str]
    #: For each study, the subjects that it cannot have, with the reasons.
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: References that the kernel lacks, and plans that measure all references in the simulator.
    lacking: Sequence[str] = ()
    beside: Mapping[str, Plan] = field(default_factory=dict)


def _prepare(
    pack: Pack, subjects: Sequence[Subject], changes: Mapping[str, Any], options: RunOptions
) -> _Prepared:
    """The checked plans of a pack's studies, also in the simulator if the kernel lacks a reference's law."""
    if options.backend == "simulator":
        return _prepare_simulator(pack, subjects, changes, options)
    stack, offered = kernels().load_stack(str(options.stack)), _offered(options)
    for subject in subjects:
        if subject.stack is not None:
            problem = f"a kernel does not run {subject.stack['profile']}"
            raise StudyError(problem, key="--stack", right="run the simulator")
        if subject.law is not None:
            right = "leave it out, or run the simulator"
            raise StudyError("a kernel runs no congestion control in Python or Rust", key="--cc", right=right)
        if subject.kind == "cc" and _lacks(stack, subject, offered):
            raise StudyError(
                f"the kernel has no congestion control {subject.name}",
                key="--cc",
                right=f"known: {', '.join(offered)}" if offered else "--backend simulator",
            )
    lacking = [name for name in pack.file.references if pack.kind == "cc" and lacks_law(stack, name, offered)]
    left = [name for name in pack.file.references if name not in lacking]
    on_kernel = replace(pack, file=pack.file.model_copy(update={"references": left}))
    plans, skipped = {}, {}
    for name, study in studies(on_kernel, subjects, changes, without=lacking).items():
        plan = sound_plan(study, options)
        reason = reason_not_to_run(plan, stack, offered)
        if reason is None:
            plans[name] = plan
        else:
            skipped[name] = reason
    simulator = replace(options, **SIMULATOR)
    beside = {
        name: checked_plan(study, simulator)
        for name, study in studies(pack, [], changes).items()
        if lacking and name in plans
    }
    return _Prepared(pack, plans, skipped, lacking=lacking, beside=beside)


def _prepare_simulator(
    pack: Pack, subjects: Sequence[Subject], changes: Mapping[str, Any], options: RunOptions
) -> _Prepared:
    """The checked plans of a pack's studies for the simulator; studies omit QUIC stacks they cannot have."""
    plans: dict[str, Plan] = {}
    skipped: dict[str, str] = {}
    refused: dict[str, dict[str, str]] = {}
    on_stacks = [subject for subject in subjects if subject.stack is not None]
    bases = studies(pack, [], changes) if on_stacks else {}
    for name, study in bases.items():
        reasons = {subject.name: refusal(study, subject) for subject in on_stacks}
        refused[name] = {who: reason for who, reason in reasons.items() if reason is not None}
        if len(refused[name]) == len(subjects):
            skipped[name] = next(iter(refused[name].values()))
    for name, study in studies(pack, subjects, changes, refused=refused).items():
        if name not in skipped:
            plans[name] = checked_plan(study, options)
    return _Prepared(pack, plans, skipped, refused)


def _lacks(stack: KernelStack, subject: Subject, offered: Collection[str]) -> bool:
    """Whether a kernel lacks the subject's congestion control."""
    if subject.kernel is not None:
        return bool(offered) and subject.kernel not in offered
    return lacks_law(stack, subject.name, offered)


def _write(evaluation: Evaluation, out: Path, options: RunOptions, seconds: float) -> None:
    changed = {key: str(value) for key, value in evaluation.changes.items()}
    data = as_data(evaluation.cards, evaluation.subjects, __version__) | {"changed": changed}
    save(out / "scorecard.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    save(out / "junit.xml", as_junit(evaluation.cards))
    content: dict[str, Any] = {
        "subjects": evaluation.subjects,
        "cards": evaluation.cards,
        "numbers": lambda row, names: [row.number(name) for name in names],
        "findings": findings(evaluation.cards, [subject.name for subject in evaluation.subjects]),
        "against_references": against_references,
        "has_summary": has_summary,
        "looks": LOOKS,
        "range_bars": range_bars,
        "rule": RULE,
        "changed": changes_text(evaluation.changes),
        "facts": _facts(evaluation, options, seconds),
    }
    save(out / "scorecard.html", render.page("scorecard.html", **content))
    save(out / "scorecard.md", render.markdown("scorecard.md", **content))


def _facts(evaluation: Evaluation, options: RunOptions, seconds: float) -> list[Fact]:
    wanted = sum(run.plan.runs for run in evaluation.runs.values())
    facts = [
        *(Fact(subject.name, subject.description) for subject in evaluation.subjects),
        Fact("cwndlab", __version__),
        Fact("backend", options.backend),
        *([Fact("changed", changes_text(evaluation.changes))] if evaluation.changes else []),
        Fact("runs", f"{wanted}, of which {evaluation.performed} ran now, in {seconds:.0f} s"),
    ]
    if evaluation.failures:
        facts.append(
            Fact(
                "failed",
                f"{count_text(len(evaluation.failures), 'run')}, the first: {evaluation.failures[0]}",
            )
        )
    return facts


#: The TCP configuration of kernels in evaluations, unless `--stack` names another.
STACK = "linux-laws"
#: Run options that replace those of a kernel when the simulator runs.
SIMULATOR: dict[str, Any] = {"backend": "simulator", "stack": None, "kernel": None}
#: Names of congestion controls that no mainline kernel has.
NOT_MAINLINE = ("bbr3", "prague")


def _offered(options: RunOptions) -> Collection[str]:
    """The congestion controls of the kernel; empty if unknown before the kernel runs."""
    if options.backend != "linux-virtual":
        return ()
    try:
        return kernels().find(options.kernel).congestion_controls
    except RunError:
        return ()


def lacks_law(stack: KernelStack, law: str, offered: Collection[str]) -> bool:
    """Whether a kernel with this configuration lacks the congestion control of an engine's window law."""
    own = stack.laws.get(law)
    return own is None or (own not in offered if offered else own in NOT_MAINLINE)


def reason_not_to_run(plan: Plan, stack: KernelStack, offered: Collection[str]) -> str | None:
    """Why a kernel with this configuration cannot run all cells of a plan; None if it can."""
    try:
        plan.check_kernel()
    except StudyError as error:
        return error.problem
    missing = sorted({law for cell in plan.cells for law in _laws(cell) if lacks_law(stack, law, offered)})
    return f"the kernel has no congestion control {', '.join(missing)}" if missing else None


def _laws(cell: Cell) -> set[str]:
    scenario = cell.compiled.scenario
    groups = {entry[end] for entry in scenario["traffic"] for end in ("tcp_client", "tcp_server")}
    laws = [scenario["tcp"][group]["window_law"] for group in groups]
    return {alternative_name(law) for law in laws if kernel_law(law) is None}
