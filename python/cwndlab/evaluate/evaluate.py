"""Runs packs for their subjects and writes the scorecard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cwndlab import __version__
from cwndlab.backends.linux.stack import load as load_stack
from cwndlab.errors import StudyError
from cwndlab.files import save
from cwndlab.plan.plan import Plan
from cwndlab.report import render
from cwndlab.report.check import unmeasured
from cwndlab.report.model import Fact
from cwndlab.runs.options import RunOptions
from cwndlab.runs.progress import Progress
from cwndlab.runs.result import RunResult
from cwndlab.runs.run import checked_plan, run_plan
from cwndlab.spec.units import parse_time
from cwndlab.study import Study

from . import kernel
from .pack import Pack
from .scorecard import Scorecard, judge
from .subjects import Subject, with_subjects
from .view import as_data, as_junit, pack_view

RULE = (
    "A row has a mark where the document itself states a limit: met, not met, undecided if the 95 % "
    "intervals do not decide, or does not apply. The other rows have no limit. They show the number, its "
    "rank by estimate among all that were run, and the references from which it differs at 95 %."
)


@dataclass(frozen=True)
class Evaluation:
    """What came of an evaluation."""

    cards: tuple[Scorecard, ...]
    subjects: tuple[Subject, ...]
    #: By pack and study.
    runs: dict[tuple[str, str], RunResult] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def failures(self) -> list[str]:
        """Runs that failed, in words."""
        return [
            f"{pack}/{study}: {failure.cell}, replicate {failure.replicate}: {failure.reason}"
            for (pack, study), run in self.runs.items()
            for failure in run.failures
        ]

    @property
    def performed(self) -> int:
        """Replicates that ran now."""
        return sum(run.performed for run in self.runs.values())


def studies(
    pack: Pack, subjects: Sequence[Subject], changes: Mapping[str, Any], without: Collection[str] = ()
) -> dict[str, Study]:
    """The studies of a pack, changed, with the subjects in their place, and without some of the references.

    StudyError if the subjects are of another kind.
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
        name: with_subjects(_with_changes(study, changes), subjects, references, without)
        for name, study in pack.studies.items()
    }


def _with_changes(study: Study, changes: Mapping[str, Any]) -> Study:
    """The study with these changes. A shorter run has a shorter warm-up; one with phases keeps its length."""
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
    """Runs every study of the packs and writes `scorecard.html`, `.md`, `.json` and `junit.xml` to `out`.

    The report of each study is in `out/PACK/STUDY`. What is there from an earlier evaluation is not run
    again. `changes` sets keys of every study, as `{"run.duration": "10s"}`. `progress` gives, for the name of
    a study, what reports its progress. A kernel runs the studies of which it has every part, and the
    simulator's numbers are set next to its own. StudyError for what does not fit together; it comes before
    the first run.
    """
    began = time.monotonic()
    options = options or RunOptions()
    if options.backend != "simulator":
        out.mkdir(parents=True, exist_ok=True)
        options = replace(options, stack=kernel.stack_for(options.stack, _of_kernel(subjects), out))
    names = [subject.name for subject in subjects]
    planned = []
    for pack in packs:
        prepared = _prepare(pack, subjects, changes or {}, options)
        empty = {
            name: unmeasured(plan.study, {cell.id: cell.axes for cell in plan.cells})
            for name, plan in prepared.plans.items()
        }
        judge(prepared.pack, names, empty, skipped=prepared.skipped)
        planned.append(prepared)
    if not any(prepared.plans for prepared in planned):
        reason = next(why for prepared in planned for why in prepared.skipped.values())
        raise StudyError(f"no study runs on a kernel: {reason}", key="--backend", right="--backend simulator")
    runs: dict[tuple[str, str], RunResult] = {}
    cards = []
    for prepared in planned:
        pack, plans = prepared.pack, prepared.plans
        for name, plan in plans.items():
            folder = out / pack.name / name
            folder.parent.mkdir(parents=True, exist_ok=True)
            with progress(f"{pack.name}/{name}") as shown:
                runs[pack.name, name] = run_plan(plan, replace(options, out=folder), progress=shown)
        made = {name: runs[pack.name, name] for name in plans}
        results = {name: run.results for name, run in made.items()}
        simulated = {name: run.simulated for name, run in made.items() if run.simulated is not None}
        cards.append(
            judge(
                pack,
                names,
                results,
                skipped=prepared.skipped,
                simulated=simulated,
                kernel_only=[subject.name for subject in subjects if subject.kernel is not None],
            )
        )
    evaluation = Evaluation(tuple(cards), tuple(subjects), runs, out)
    _write(evaluation, out, options, time.monotonic() - began)
    return evaluation


def _of_kernel(subjects: Sequence[Subject]) -> str | None:
    """The subject that only the kernel has; StudyError if there are several."""
    found = [subject.kernel for subject in subjects if subject.kernel is not None]
    if len(found) > 1:
        problem = f"{' and '.join(found)} exist only in the kernel, and one evaluation takes one such"
        raise StudyError(problem, key="--cc", right="evaluate them one after another")
    return found[0] if found else None


@dataclass(frozen=True)
class _Prepared:
    """A pack whose studies are ready to run."""

    pack: Pack
    plans: Mapping[str, Plan]
    #: Studies that the backend cannot run, and why.
    skipped: Mapping[str, str]


def _prepare(
    pack: Pack, subjects: Sequence[Subject], changes: Mapping[str, Any], options: RunOptions
) -> _Prepared:
    """The plans of a pack's studies, checked; for a kernel without the references that it lacks."""
    if options.backend == "simulator":
        made = studies(pack, subjects, changes)
        return _Prepared(pack, {name: checked_plan(study, options) for name, study in made.items()}, {})
    stack = load_stack(str(options.stack))
    for subject in subjects:
        if subject.law is not None:
            right = "leave it out, or run the simulator"
            raise StudyError("a kernel runs no congestion control in Python", key="--cc", right=right)
        if subject.kind == "cc" and subject.kernel is None and kernel.lacks(stack, subject.name):
            raise StudyError(
                f"the kernel has no congestion control {subject.name}",
                key="--cc",
                right="--backend simulator",
            )
    lacking = [name for name in pack.file.references if pack.kind == "cc" and kernel.lacks(stack, name)]
    left = [name for name in pack.file.references if name not in lacking]
    pack = replace(pack, file=pack.file.model_copy(update={"references": left}))
    plans, skipped = {}, {}
    for name, study in studies(pack, subjects, changes, without=lacking).items():
        plan = checked_plan(study, replace(options, backend="simulator", stack=None, kernel=None))
        reason = kernel.refusal(plan, stack)
        if reason is None:
            plans[name] = plan
        else:
            skipped[name] = reason
    return _Prepared(pack, plans, skipped)


def _write(evaluation: Evaluation, out: Path, options: RunOptions, seconds: float) -> None:
    data = as_data(evaluation.cards, evaluation.subjects, __version__)
    save(out / "scorecard.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    save(out / "junit.xml", as_junit(evaluation.cards))
    content = {
        "subjects": evaluation.subjects,
        "packs": [pack_view(card) for card in evaluation.cards],
        "rule": RULE,
        "facts": _facts(evaluation, options, seconds),
    }
    save(out / "scorecard.html", render.scorecard_html(**content))
    save(out / "scorecard.md", render.scorecard_markdown(**content))


def _facts(evaluation: Evaluation, options: RunOptions, seconds: float) -> list[Fact]:
    wanted = sum(run.plan.runs for run in evaluation.runs.values())
    facts = [
        Fact("cwndlab", __version__),
        Fact("backend", options.backend),
        Fact("runs", f"{wanted}, of which {evaluation.performed} ran now, in {seconds:.0f} s"),
    ]
    if evaluation.failures:
        facts.append(Fact("failed", f"{len(evaluation.failures)} runs, the first: {evaluation.failures[0]}"))
    return facts
