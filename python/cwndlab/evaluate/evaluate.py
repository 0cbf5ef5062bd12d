"""Runs packs for their subjects and writes the scorecard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cwndlab import __version__
from cwndlab.errors import StudyError
from cwndlab.report import render
from cwndlab.report.model import Fact
from cwndlab.report.study import unmeasured
from cwndlab.report.write import save
from cwndlab.runs.options import RunOptions
from cwndlab.runs.progress import Progress, Quiet
from cwndlab.runs.result import RunResult
from cwndlab.runs.run import checked_plan, run_plan
from cwndlab.study import Study

from .pack import Pack
from .scorecard import Scorecard, judge
from .subjects import Subject, with_subjects
from .view import as_data, as_junit, pack_view

RULE = (
    "A row with a mark has a limit that the document itself states: met, not met, or undecided where the "
    "95 % intervals leave a doubt. The other rows have none. They show the number, its rank by the "
    "estimate among all that were run, and from which references it differs at 95 %."
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


def studies(pack: Pack, subjects: Sequence[Subject], changes: Mapping[str, Any]) -> dict[str, Study]:
    """The studies of a pack, changed, with the subjects in their place. StudyError if they are of another
    kind.
    """
    for subject in subjects:
        if subject.kind != pack.kind:
            right = "--queue" if pack.kind == "queue" else "--cc"
            raise StudyError(f'the pack "{pack.name}" evaluates no {subject.kind}', key="--pack", right=right)
    names = [subject.name for subject in subjects]
    if twice := [name for name in names if names.count(name) > 1]:
        raise StudyError(f"two subjects are called {twice[0]}", right="name one of them: NAME=…")
    references = pack.file.references
    return {
        name: with_subjects(study.set(changes) if changes else study, subjects, references)
        for name, study in pack.studies.items()
    }


def evaluate(
    packs: Sequence[Pack],
    subjects: Sequence[Subject],
    out: Path,
    options: RunOptions | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    progress: Callable[[str], AbstractContextManager[Progress]] = lambda study: nullcontext(Quiet()),
) -> Evaluation:
    """Runs every study of the packs and writes `scorecard.html`, `.md`, `.json` and `junit.xml` to `out`.

    The report of each study is in `out/PACK/STUDY`. What is there from an earlier evaluation is not run
    again. `changes` sets keys of every study, as `{"run.duration": "10s"}`. `progress` gives, for the name of
    a study, what is told as it runs. StudyError for what does not fit together; it comes before the first
    run.
    """
    began = time.monotonic()
    options = options or RunOptions()
    planned = []
    for pack in packs:
        made = studies(pack, subjects, changes or {})
        plans = {name: checked_plan(study, options) for name, study in made.items()}
        empty = {name: unmeasured(plan.study, plan.cells) for name, plan in plans.items()}
        judge(pack, [subject.name for subject in subjects], empty)
        planned.append((pack, plans))
    runs: dict[tuple[str, str], RunResult] = {}
    cards = []
    for pack, plans in planned:
        for name, plan in plans.items():
            folder = out / pack.name / name
            folder.parent.mkdir(parents=True, exist_ok=True)
            with progress(f"{pack.name}/{name}") as shown:
                runs[pack.name, name] = run_plan(plan, replace(options, out=folder), progress=shown)
        results = {name: runs[pack.name, name].results for name in plans}
        cards.append(judge(pack, [subject.name for subject in subjects], results))
    evaluation = Evaluation(tuple(cards), tuple(subjects), runs, out)
    _write(evaluation, out, options, time.monotonic() - began)
    return evaluation


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
