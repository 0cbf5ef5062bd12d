"""`Study`: load one, change it, plan it, run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from cwndlab.laws import LawCode
from cwndlab.metrics._study import MeasuredStudy
from cwndlab.plan.plan import Plan, make_plan
from cwndlab.runs.result import RunResult
from cwndlab.runs.run import run_study
from cwndlab.spec import load as spec
from cwndlab.spec.laws import with_laws


class Study(MeasuredStudy):
    """A study: what is simulated, what is varied, what is asked and shown.

    Make one with `Study.load("rfc2416")`, `Study.load("my/study.toml")` or `Study.from_dict({...})`;
    change one with `study.set({"iw": 4, "run.duration": "10s"})`; `study.plan()` gives its cells,
    `study.run()` runs it.
    """

    @classmethod
    def load(cls, name_or_path: str | Path) -> Self:
        """A shipped study by its name, or a file, or a folder that holds a study.toml."""
        return spec.load(cls, name_or_path)

    @classmethod
    def from_dict(
        cls,
        raw: Mapping[str, Any],
        *,
        name: str = "study",
        folder: str | Path | None = None,
        claims: Sequence[Mapping[str, Any]] = (),
    ) -> Self:
        """A study built in code, with the keys of a study file.

        `folder` is where the files that it names are; `claims` has the tables of a claims.toml.
        """
        return spec.from_dict(cls, raw, name=name, folder=folder, claims=claims)

    @classmethod
    def from_toml(cls, text: str, *, name: str = "study") -> Self:
        """A study from the text of a study file."""
        return spec.from_toml(cls, text, name=name)

    def set(self, changes: Mapping[str, Any]) -> Self:
        """The study with axes restricted (`{"iw": 4}`, `{"iw": [1, 4]}`) or other keys changed
        (`{"run.duration": "10s"}`).
        """
        return spec.changed(self, changes)

    def configured(self, changes: Mapping[str, Any], controls: Sequence[LawCode] = ()) -> Self:
        """The study with congestion controls of the user's own and changes, which may use their names."""
        keys = {key: value for key, value in changes.items() if "." in key}
        axes = {key: value for key, value in changes.items() if "." not in key}
        study = self.set(keys) if keys else self
        if controls:
            study = with_laws(study, {control.name: control for control in controls})
        return study.set(axes) if axes else study

    def plan(
        self, *, replicates: int | None = None, seed: int | None = None, sensitivity: str | None = None
    ) -> Plan:
        """The plan: every cell, compiled, and how many replicates of each."""
        return make_plan(self, replicates=replicates, seed=seed, sensitivity=sensitivity)

    def run(self, out: str | Path | None = None, **options: Any) -> RunResult:
        """Runs the study; the options are those of `cwndlab.run`."""
        return run_study(self, out=out, **options)
