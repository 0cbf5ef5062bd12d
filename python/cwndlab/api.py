"""The class `Study`, with which callers load, change, plan and run studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from cwndlab.base.errors import ArgumentError, OutputError, check_arguments
from cwndlab.base.laws import LawCode, make_law_codes
from cwndlab.base.writing import count_text, output_errors, write_atomic
from cwndlab.metrics import find_unit
from cwndlab.plan.plan import Plan, build_checked, make_plan, rebuild
from cwndlab.report.contents import REPORT
from cwndlab.results import execution
from cwndlab.results.result import RunResult
from cwndlab.results.result_folder import find_files, open_folder
from cwndlab.results.result_tables import overview
from cwndlab.runs.kernel_side import CATALOGUE
from cwndlab.study import toml
from cwndlab.study.cells import CellInfo, Cells
from cwndlab.study.document import CLAIMS, Document, document_of_text, is_short, read_document
from cwndlab.study.files import STUDY
from cwndlab.study.modify import modify
from cwndlab.study.schema import Scalar
from cwndlab.study.sections import Keys, Sections, find_laws, to_plain
from cwndlab.study.study_spec import StudySpec

if TYPE_CHECKING:
    from cwndlab import ExplorePage, Stream
    from cwndlab._core import CongestionControl
    from cwndlab.runs.run_options import FurtherOptions, RunOptions


class Study(StudySpec):
    """A study: what is simulated, what is varied, what is measured and shown.

    Make one with `Study.load("rfc2416")`, `Study.load("my/study.toml")` or `Study.build("title", …)`;
    change it with `study.set({"iw": 4, "run.duration": "10s"})`; `study.plan()` returns its cells,
    `study.run()` runs it, `study.save("my.toml")` writes it.
    """

    def __init__(self, *parts: object, **named: object) -> None:
        if not isinstance(named.get("document", next(iter(parts), None)), Document):
            raise ArgumentError('make a study by Study.load("NAME or FILE") or Study.build("TITLE", …)')
        super().__init__(*parts, **named)  # type: ignore[arg-type]  # the dataclass's fields

    def __repr__(self) -> str:
        head = f"Study {self.name}: {self.title}; {count_text(len(make_plan(self)), 'cell')}"
        return overview(head, self.axes, self.outline.quantities)

    def __dir__(self) -> list[str]:
        """The names for callers, without those that only the package uses."""
        own = (name for name in vars(Study) if not name.startswith("_"))
        return sorted({*own, "claims", "file", "folder", "name", "title"} - {"with_laws", "configure"})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            right = "; write study.set(AXIS=VALUE), or select from its results" if name == "sel" else ""
            raise AttributeError(f"Study has no `{name}`{right}", name="" if right else name, obj=self)

    @property
    def axes(self) -> dict[str, list[Scalar]]:
        """The axes of the study's cells, with their values."""
        return Cells(tuple(CellInfo(cell.id, cell.axes) for cell in make_plan(self))).axes

    @property
    def quantities(self) -> dict[str, str]:
        """The quantities, with their units."""
        by_name = {quantity.name: quantity for quantity in self.outline.quantities}
        return {name: find_unit(quantity, by_name) for name, quantity in by_name.items()}

    @classmethod
    @check_arguments
    def load(cls, name_or_path: str | Path) -> Self:
        """Loads a shipped study by its name, a study file, or a folder that holds a study.toml.

        >>> Study.load("rfc2416").axes["size"]
        ['as-traced', 'as-written']

        TCP's knobs, queues and applications are checked when the study is planned: until then, the study may
        name a congestion control that only `cc` defines.

        Args:
            name_or_path: one of `cwndlab.studies()`, or a path.

        Returns:
            The study.

        Raises:
            StudyError: there is no such study, or it is invalid; with file, line, column and key.

        """
        return build_checked(cls, read_document(name_or_path), CATALOGUE)

    @classmethod
    @check_arguments
    def build(cls, title: str, *, name: str = "study", **sections: Unpack[Sections]) -> Self:
        """Builds a study from its sections, each a model or a mapping with the keys of a study file.

        >>> from cwndlab import Dumbbell, Flow, Run, Study
        >>> network = Dumbbell(rate="50Mbps", rtt="40ms", flows=[Flow(cc="cubic"), Flow(cc="bbr1")])
        >>> study = Study.build("CUBIC against BBR", dumbbell=network, run=Run(duration="30s"))

        Models hold only values; give a section that refers to parameters or axes ("$webs") as a mapping.

        Args:
            title: the title of the study and its report.
            name: the study's name in results and messages.
            sections: `dumbbell`, `measure`, `run`, …, as in a study file.

        Returns:
            The study.

        Raises:
            StudyError: the sections do not make a study.

        """
        return cls.from_dict({"title": title, **sections}, name=name)

    @classmethod
    @check_arguments
    def from_dict(
        cls,
        raw: Keys,
        *,
        name: str = "study",
        folder: str | Path | None = None,
        claims: Sequence[Keys] = (),
    ) -> Self:
        """Builds a study from the tables of a study file; models may replace tables.

        >>> network = {"rate": "5Mbps", "rtt": "20ms", "flows": [{"cc": "reno"}]}
        >>> Study.from_dict({"title": "One", "dumbbell": network, "run": {"duration": "1s"}}).title
        'One'

        Args:
            raw: the tables of a study file.
            name: the study's name in results and messages.
            folder: the folder with the files that the study names.
            claims: the tables of a claims.toml.

        Returns:
            The study.

        Raises:
            StudyError: the tables are not a valid study.

        """
        tables = {key: to_plain(value) for key, value in raw.items()}
        file = Path(folder) / STUDY if folder is not None else None
        study = build_checked(cls, Document(name, tables, file=file, claims=tuple(claims)), CATALOGUE)
        return study.with_laws(make_law_codes(laws)) if (laws := dict(find_laws(raw))) else study

    @classmethod
    @check_arguments
    def from_toml(cls, text: str, *, name: str = "study") -> Self:
        """Builds a study from the text of a study file; checks it as `load` does.

        >>> Study.from_toml(study.to_toml()).axes == study.axes
        True

        Args:
            text: the TOML of a study file.
            name: the study's name in results and messages.

        Returns:
            The study.

        Raises:
            StudyError: the text is invalid; with line, column and key.

        """
        return build_checked(cls, document_of_text(text, name=name), CATALOGUE)

    @check_arguments
    def set(self, changes: Keys | None = None, /, **more: object) -> Self:
        """A copy of the study with axes restricted (`{"iw": 4}`, `{"iw": [1, 4]}`), other keys changed
        (`{"run.duration": "10s"}`) or whole sections replaced (`{"run": Run(duration="10s")}`). Axes,
        parameters and sections can also be keywords: `set(iw=4)`.

        >>> study.set({"run.duration": "1s"}, buffer=2).axes
        {'buffer': [2]}

        Args:
            changes: axes and dotted keys with their new values.
            more: axes, parameters and sections as keywords.

        Returns:
            A changed copy.

        Raises:
            StudyError: there is no such axis, axis value or key, or the changed study is invalid.

        """
        changes = {**(changes or {}), **more}
        # A short form can define axes, so apply its changes before those of axes.
        short = {key: value for key, value in changes.items() if is_short(key, value)}
        others = {key: value for key, value in changes.items() if not is_short(key, value)}
        study = self
        for part in (short, others) if short and others else (changes,):
            study = rebuild(study, modify(study, part))
        return study.with_laws(make_law_codes(laws)) if (laws := dict(find_laws(changes))) else study

    def with_laws(self, laws: Mapping[str, LawCode | None]) -> Self:
        """A copy of the study in which `window_law` may have these names; None for a law of the engine.

        A name that the study does not use becomes a further value of the axis that varies the window law.

        Raises:
            StudyError: no axis varies the window law.

        """
        from cwndlab.study.congestion import name_laws  # few studies have such laws

        study = rebuild(self, name_laws(self, laws))
        own = {name: law for name, law in laws.items() if law is not None}
        return replace(study, catalogue=replace(self.catalogue, laws={**self.laws, **own}))

    @check_arguments
    def configure(self, changes: Keys, laws: Mapping[str, LawCode | None]) -> Self:
        """A copy of the study with these congestion controls (`with_laws`) and changes, which may name them.

        Raises:
            StudyError: the changed study is invalid.

        """
        keys = {key: value for key, value in changes.items() if "." in key}
        axes = {key: value for key, value in changes.items() if "." not in key}
        study = self.set(keys) if keys else self
        study = study.with_laws(laws) if laws else study
        return study.set(axes) if axes else study

    def to_toml(self) -> str:
        """The study as the text of a study file.

        A loaded study keeps its text and comments, and the changes of `set` are written into them. If the
        short form cannot express a change (to a single link of a `[dumbbell]`), the text is the study written
        out in full, without comments. Congestion controls and metrics in Python are not part of the text.

        >>> study.set(buffer=2).to_toml().splitlines()[0]
        'title = "Two flows"'

        Returns:
            The text.

        Raises:
            StudyError: a restriction to some cells cannot be written as a file.

        """
        document = self.document
        if not document.changes and not document.chosen:
            return document.text if document.text is not None else toml.dumps(document.tables)
        text: str = import_module("cwndlab.apps.edit.study_text").edited_text(self)
        return text

    @check_arguments
    def save(self, path: str | Path) -> Path:
        """Writes the study to a file ("question.toml"), or to study.toml in a folder; returns the path.

        The claims and the files that the study names are copied next to it, so that `load` finds them.

        >>> study.save("two.toml").name
        'two.toml'

        Args:
            path: the file or the folder.

        Returns:
            The file.

        Raises:
            StudyError: a restriction to some cells cannot be written as a file.
            OutputError: something cannot be written, or another file is in the way of one that is copied.

        """
        path = Path(path)
        file = path if path.suffix == ".toml" else path / "study.toml"
        text = self.to_toml()
        beside = find_files(self)
        if self.file is None and self.claims.claims:
            beside[CLAIMS] = toml.dumps({"claims": to_plain(self.claims.claims)}).encode()
        for name, content in beside.items():
            target = file.parent / name
            if target.exists() and (not target.is_file() or target.read_bytes() != content):
                raise OutputError(
                    f"{target}: exists, and the study's own {name} differs; choose a new folder"
                )
        with output_errors(file):
            for name, content in beside.items():
                (file.parent / name).parent.mkdir(parents=True, exist_ok=True)
                write_atomic(file.parent / name, content)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, text.encode())
        return file

    @check_arguments
    def plan(
        self, *, replicates: int | None = None, seed: int | None = None, sensitivity: str | None = None
    ) -> Plan:
        """The plan of the study: all cells, and the number of replicates of each.

        `plan.check()` checks every cell, as `run` does.

        >>> plan = study.plan(replicates=5)
        >>> len(plan), plan.runs
        (2, 10)

        Args:
            replicates: the number of replicates of each cell; default: the study's.
            seed: the seed of all random streams; default: the study's.
            sensitivity: an axis of [sensitivity], "combinations" of these axes, or "all".

        Returns:
            The plan: a sequence of cells.

        Raises:
            StudyError: an option is out of range, there is no such sensitivity axis, or the first cell is
                invalid.

        """
        plan = make_plan(self, replicates=replicates, seed=seed, sensitivity=sensitivity)
        plan.cells[0].check()
        return plan

    @check_arguments
    def run(
        self,
        out: str | Path | None = None,
        *,
        options: RunOptions | None = None,
        changes: Keys | None = None,
        cc: Mapping[str, type[CongestionControl] | str | Path] | None = None,
        **more: Unpack[FurtherOptions],
    ) -> RunResult:
        """Runs the study; `cwndlab.run` has the same arguments.

        >>> study.run("results", replicates=3).report.name
        'report.html'

        Args:
            out: folder for records, verdicts and the report; without it, the results are only in memory.
            options: the options of the run; default: in memory, on all processors.
            changes: axes to restrict and keys to change, as in `set`.
            cc: congestion controls of your own, as in `cwndlab.run`.
            more: fields of `RunOptions` by name.

        Returns:
            The results; runs that failed are listed in `failures`.

        Raises:
            StudyError, ClusterError, OutputError: as in `cwndlab.run`.

        """
        study = self.configure(changes or {}, make_law_codes(cc or {}))
        return execution.run_study(study, options, out=out, **more)

    def explore(self) -> ExplorePage:
        """A page with a slider for each parameter and graphs that follow them, as `cwndlab explore` opens it.

        A notebook shows the page; `save` writes it.

        >>> study.explore().save("page.html").name
        'page.html'

        Returns:
            The page.

        Raises:
            StudyError: the study has congestion controls in Python.
            OutputError: this installation lacks the engine for pages.

        """
        # Imported by name: the core must not depend on applications.
        page: ExplorePage = import_module("cwndlab.apps.explore.page").explore(self)
        return page

    @check_arguments
    def stream(
        self,
        out: str | Path | None = None,
        *,
        options: RunOptions | None = None,
        changes: Keys | None = None,
        cc: Mapping[str, type[CongestionControl] | str | Path] | None = None,
        **more: Unpack[FurtherOptions],
    ) -> Stream:
        """Runs the study in the background and yields its replicates as they finish.

        >>> sorted((done.cell, done.replicate) for done in study.stream(replicates=1))
        [('buffer=0.5', 0), ('buffer=2', 0)]

        Args:
            out: folder for the results; without it, the results are only in memory.
            options: the options of the run; default: in memory, on all processors.
            changes: axes to restrict and keys to change, as in `set`.
            cc: congestion controls of your own, as in `cwndlab.run`.
            more: fields of `RunOptions` by name.

        Returns:
            An iterator. After the last replicate, its `result` is the `RunResult`; `close` stops the run.

        Raises:
            StudyError: the study or an option is wrong. Errors that end the run are raised by the iterator.

        """
        study = self.configure(changes or {}, make_law_codes(cc or {}))
        start = import_module("cwndlab.apps.notebook.stream").start
        stream: Stream = start(study, options, out=out, **more)
        return stream


@check_arguments
def open_results(folder: str | Path) -> RunResult:
    """The results in a folder that `run` wrote. The folder is neither locked nor modified.

    >>> cwndlab.open_results("results").study.title
    'Two flows'

    Args:
        folder: the argument `out` of that run.

    Returns:
        The results, as `run` returned them.

    Raises:
        OutputError: the folder has no results.

    """
    with open_folder(Path(folder), Study) as (campaign, _):
        result = execution.gather_results(campaign, Path(folder))
    result.report = Path(folder) / REPORT
    return result
