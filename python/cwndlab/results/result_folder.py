"""The result folder: creates, checks and opens it, and writes all its files except the report."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cwndlab import _core
from cwndlab.base.errors import CwndlabError, OutputError
from cwndlab.base.laws import LawCode
from cwndlab.base.plain_files import read_inside, unlink_inside, write_inside
from cwndlab.base.writing import output_errors
from cwndlab.metrics import MetricCode, describe_metric, reopen_metric
from cwndlab.plan.plan import Plan, build_checked, make_plan, rebuild
from cwndlab.report.contents import MAX_README, README, REPORT
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.executors.threads import Threads
from cwndlab.runs.kernel_side import CATALOGUE
from cwndlab.runs.store.folder_store import FolderStore
from cwndlab.study import toml
from cwndlab.study.document import CLAIMS, document_of_text
from cwndlab.study.files import MAX_BYTES, STUDY, read_copy, resolve_inside
from cwndlab.study.modify import modify
from cwndlab.study.study_spec import StudySpec

_MARK = "provenance.json"
_PACKAGE = Path(__file__).parent.parent
#: Key of provenance.json -> the subfolder with the sources of the user's own code.
_SOURCES = {"congestion_controls": "congestion_controls", "metrics": "own_metrics"}


def prepare(folder: Path, study: StudySpec) -> FolderStore:
    """The store of a folder that is new, empty or has results of the same study; OutputError otherwise."""
    with output_errors(folder):
        if folder.is_symlink() and not folder.exists():
            raise OutputError(f"{folder}: is a link that leads nowhere; choose another folder")
        if folder.exists():
            if not folder.is_dir():
                raise OutputError(f"{folder}: exists and is not a folder; choose another name")
            if (folder / "store").is_dir():
                _same_study(folder, study)
            elif any(folder.iterdir()):
                raise OutputError(f"{folder}: exists and holds other files; choose a new or an empty folder")
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"{folder}: cannot be written; choose another folder")
    store = FolderStore(folder / "store")
    with output_errors(folder):
        for left in folder.glob("*.tmp-*"):  # left by a run that was killed while writing
            if not left.is_dir() or left.is_symlink():
                unlink_inside(folder, left.name)
    return store


def begin(folder: Path, study: StudySpec) -> None:
    """Writes the study into the folder, and a provenance.json that marks its results as unfinished."""
    with output_errors(folder):
        write_inside(folder, STUDY, study_text(study).encode())
        _copy_beside(study, folder)
        write_inside(
            folder,
            _MARK,
            json.dumps({"study": study.name, "title": study.title, "unfinished": True}).encode(),
        )


def inputs(campaign: Campaign, folder: Path) -> str:
    """Digest of all inputs of results and report: keys of runs and values, the study's files, and cwndlab's
    code (its files' sizes and modification times).
    """
    study = campaign.plan.study
    rule = campaign.rule
    parts = [
        study_text(study),
        study.claims.model_dump_json(),
        str(study.document.chosen),
        str(rule),
        *(f"{cell} {campaign.key(cell, 0)} {wanted}" for cell, wanted in campaign.wanted.items()),
        *(f"{name} {key}" for name, key in campaign.work.ids.items()),
    ]
    digest = hashlib.sha256("\0".join(parts).encode())
    with output_errors(folder):
        for name, content in find_files(study).items():
            digest.update(f"\0{name}\0".encode() + content)
    for at, below, files in os.walk(_PACKAGE):
        below[:] = sorted(set(below) - {"__pycache__"})
        for file in sorted(files):
            about = os.stat(f"{at}/{file}")  # noqa: PTH116 - with a Path, 1.5 times as long
            digest.update(f"\0{at}/{file} {about.st_size} {about.st_mtime_ns}".encode())
    return digest.hexdigest()


def has_report_for(folder: Path, digest: str) -> bool:
    """Whether the folder has the finished report for the inputs with this digest."""
    try:
        finished = json.loads(read_inside(folder, _MARK)).get("inputs")
    except (OSError, ValueError, AttributeError):
        return False
    return bool(finished == digest and (folder / REPORT).is_file())


def _same_study(folder: Path, study: StudySpec) -> None:
    try:
        mark = json.loads(read_inside(folder, _MARK))
        kept_name, title = mark["study"], mark.get("title", study.title)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    kept, mine = (kept_name, study.name) if kept_name != study.name else (title, study.title)
    if kept != mine:
        raise OutputError(
            f'{folder}: holds results of the study "{kept}", not of "{mine}"; choose another folder'
        )


def study_text(study: StudySpec) -> str:
    """The text of the study as run: its file's text, or generated TOML if it was changed or has no file."""
    document = study.document
    if document.text is not None and not document.changes:
        return document.text
    changes = "".join(f"# {key} = {value!r}\n" for key, value in document.changes.items())
    return (f"# As run, changed by:\n{changes}\n" if changes else "") + toml.dumps(study.raw)


def find_files(study: StudySpec) -> dict[str, bytes]:
    """The contents of the claims and of the files that a study names, by path relative to its folder."""
    if study.folder is None:
        return {}
    names = [table.published for table in study.outline.tables if table.published is not None]
    names += [item.file for item in study.base.distributions.values() if item.file is not None]
    # A sensitivity choice that is not run may name a missing file.
    names += [trace for trace in _traces_in(study.raw) if (study.folder / trace).is_file()]
    names += [CLAIMS] if (study.folder / CLAIMS).is_file() else []
    contents = {name: read_copy(study.folder, resolve_inside(study.folder, name)) for name in names}
    for name in (README, "published/SOURCE.md"):
        with suppress(OSError):  # optional files
            contents[name] = read_inside(study.folder, name, MAX_README)
    return contents


def _traces_in(value: object) -> list[str]:
    """The names of the trace files in a part of a study's tables."""
    if isinstance(value, Mapping):
        own = value.get("trace")
        inside = [name for part in value.values() for name in _traces_in(part)]
        return [own, *inside] if isinstance(own, str) else inside
    return [name for part in value for name in _traces_in(part)] if isinstance(value, list | tuple) else []


def _copy_beside(study: StudySpec, folder: Path) -> None:
    """Copies the claims and the files that the study names, so that the study can be run from the folder."""
    if study.folder is None or study.folder.resolve() == folder.resolve():
        return
    for name, content in find_files(study).items():
        write_inside(folder, name, content)


def write_provenance(folder: Path, content: Mapping[str, Any]) -> None:
    """Writes provenance.json atomically."""
    with output_errors(folder):
        write_inside(folder, _MARK, _lines(content).encode())


def _lines(content: Mapping[str, Any]) -> str:
    """JSON with one line for each key and list element; `indent` is thirty times slower."""
    lines = []
    for key, value in content.items():
        parts = [json.dumps(item, default=str) for item in value] if isinstance(value, list) else []
        text = "[\n  " + ",\n  ".join(parts) + "\n ]" if len(parts) > 1 else json.dumps(value, default=str)
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def stacks(plan: Plan) -> dict[str, Any]:
    """The entry of provenance.json on the QUIC stacks that the plan uses: crate and version of each."""
    used = {name for cell in plan.cells for name in cell.compiled.stacks}
    versions = _core.stack_versions()
    return {"stacks": {name: versions[name] for name in sorted(used)}} if used else {}


def kernel_laws(plan: Plan) -> dict[str, Any]:
    """The entry of provenance.json on congestion controls that only kernels have."""
    laws = dict.fromkeys(law for cell in plan.cells for law in cell.compiled.kernel_laws)
    return {"kernel_laws": list(laws)} if laws else {}


def keep_code(folder: Path, laws: Collection[LawCode], metrics: Collection[MetricCode]) -> dict[str, Any]:
    """Copies the sources of the user's own code, and returns their entries for provenance.json."""
    kept = {}
    for key, codes in (("congestion_controls", laws), ("metrics", metrics)):
        sources = folder / _SOURCES[key]
        if codes:
            with output_errors(folder):
                for code in codes:
                    write_inside(folder, f"{sources.name}/{code.name}.py", code.source.encode())
            about = [
                code.describe() if isinstance(code, LawCode) else describe_metric(code) for code in codes
            ]
            kept[key] = [{**stated, "copy": f"{sources.name}/{stated['name']}.py"} for stated in about]
    return kept


def _kept_code(folder: Path, content: Mapping[str, Any], key: str) -> Iterator[tuple[Any, str]]:
    """Yields the entries of provenance.json on the user's own code, each with its source. Runs none of it."""
    for item in content.get(key, []):
        with output_errors(folder):
            file = Path(f"{item['name']}.py").name
            yield item, read_inside(folder, f"{_SOURCES[key]}/{file}").decode("utf-8")


def read_provenance(folder: Path) -> dict[str, Any]:
    """The content of a result folder's provenance.json; OutputError if it is missing or marked unfinished."""
    if not folder.exists():
        raise OutputError(f"{folder}: there is no such folder; `cwndlab run STUDY -o {folder}` makes it")
    try:
        content: dict[str, Any] = json.loads(read_inside(folder, _MARK))
        content["study"]
    except (OSError, ValueError, KeyError, TypeError):
        raise OutputError(
            f"{folder}: is no result folder (no {_MARK} in it); name what `cwndlab run -o` was given"
        ) from None
    if content.get("unfinished"):
        raise OutputError(
            f"{folder}: the run did not come to its end; the same `cwndlab run … -o {folder}` continues"
        )
    return content


def with_cell(table: pa.Table, cell: str) -> pa.Table:
    """The table with a first column `cell` that has this id in all rows."""
    label = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows, pa.int32()), pa.array([cell]))
    return table.add_column(0, pa.field("cell", label.type), label)


@contextmanager
def open_folder(folder: Path, kind: type[StudySpec] = StudySpec) -> Iterator[tuple[Campaign, dict[str, Any]]]:
    """Opens a result folder. Yields its campaign, whose study has the type `kind`, and its provenance.

    OutputError if content of the folder is missing or damaged.
    """
    with damage_as_error(folder), FolderStore(folder / "store", read_only=True) as store:
        content = read_provenance(folder)
        yield _load(folder, kind, store, content), content


def _load(folder: Path, kind: type[StudySpec], store: FolderStore, content: Mapping[str, Any]) -> Campaign:
    stated = read_statements(folder / _MARK, content)
    counts = {cell.id: cell.replicates if cell.requested is None else cell.requested for cell in stated.cells}
    for item, source in _kept_code(folder, content, "metrics"):
        reopen_metric(item, source)
    laws = {
        item["name"]: LawCode(
            *(item["name"], item["class"], item["file"], source, item["uses_random"]),
            item.get("imports", ""),
            item.get("ecn", ""),
        )
        for item, source in _kept_code(folder, content, "congestion_controls")
    }
    # Use the list in the folder, because this machine may lack the kernels.
    catalogue = replace(CATALOGUE, kernel_laws=partial(frozenset, stated.kernel_laws))
    text, claims = (_own_text(folder, name) for name in (STUDY, CLAIMS))
    if text is None:
        raise OutputError(f"{folder}: has no {STUDY}; run the study again")
    document = document_of_text(text, name=content["study"], file=folder / STUDY)
    document = replace(document, claims=claims or "")
    study = build_checked(kind, document, catalogue)
    study = replace(study, catalogue=replace(catalogue, laws=laws))
    study = rebuild(study, modify(study, content.get("set", {})))
    sensitivity = content.get("sensitivity")
    plan = make_plan(
        study, replicates=content.get("replicates"), seed=content["seed"], sensitivity=sensitivity
    )
    return _complete_campaign(folder, plan, store, counts, content)


def _own_text(folder: Path, name: str) -> str | None:
    """The text of a file in a result folder; None if it is missing, OutputError if it is unreadable."""
    try:
        return read_inside(folder, name, MAX_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise OutputError(f"{folder / name}: cannot be read: {reason}; run the study again") from None


def _complete_campaign(
    folder: Path, plan: Plan, store: FolderStore, counts: Mapping[str, int], content: Mapping[str, Any]
) -> Campaign:
    """The campaign of a result folder; OutputError if the folder lacks values."""
    of_kernel = content.get("backend_keys", {})
    campaign = Campaign(
        plan,
        store,
        Threads(1),
        backend=content.get("backend_key", ""),
        backends={cell.id: of_kernel[cell.kernel] for cell in plan.cells if cell.kernel in of_kernel},
        runs_laws=False,
        engine=content["engine"],
        ids=content.get("value_ids", {}),
    )
    campaign.wanted |= {cell: counts[cell] for cell in campaign.wanted if cell in counts}
    runs: dict[str, int] = {}  # by key, so that cells that share runs count once
    for cell, n in campaign.wanted.items():
        runs[campaign.key(cell, 0)] = max(n, runs.get(campaign.key(cell, 0), 0))
    lacking = max(0, sum(runs.values()) - len(store))
    if not lacking:  # enough runs are stored; check that no wanted run is missing
        lacking = sum(
            not campaign.has_replicate(cell, k) for cell, n in campaign.wanted.items() for k in range(n)
        )
    if lacking:
        raise OutputError(
            f"{folder}: {_why_lacking(campaign, content)}, so {lacking} of {sum(campaign.wanted.values())} "
            "replicates have no values; "
            f"`cwndlab run {folder / 'study.toml'} -o {folder}` makes what is missing"
        )
    return campaign


def _why_lacking(campaign: Campaign, content: Mapping[str, Any]) -> str:
    """The reason why a folder lacks values: changed metrics, cells that compile differently, or damage."""
    stored = (
        campaign.store.values(key)
        for cell in campaign.wanted
        if (key := campaign.key(cell, 0)) in campaign.store
    )
    kept = next(stored, None)
    version = f"{_core.version()} (the runs are of {content.get('cwndlab')})"
    if kept is None:
        return f"runs are damaged, or cwndlab {version} compiles this study to other ones"
    if changed := [name for name, id_ in campaign.ids.items() if id_ not in kept]:
        return f"cwndlab {version} measures {', '.join(changed)} by other code"
    return "runs are missing or damaged"


#: The largest number of replicates that a provenance.json may state.
MOST_REPLICATES = 10_000_000
_Count = Annotated[int, Field(ge=0, le=MOST_REPLICATES)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)


class StatedCell(_Part):
    """A cell in provenance.json, with its numbers of replicates."""

    id: str
    replicates: _Count
    #: The number of requested replicates, including failed ones; None before version 0.4.
    requested: _Count | None = None


class StatedMetric(_Part):
    """A metric of the user's own in provenance.json, without its code."""

    name: str
    unit: str
    range: Annotated[list[float | int | bool | None], Field(min_length=3, max_length=3)]
    formula: str
    tables: list[str]
    options: list[str]
    list_: bool = Field(alias="list")
    file: str


class StatedLaw(_Part):
    """A congestion control of the user's own in provenance.json, without its code."""

    name: str
    class_: str = Field(alias="class")
    file: str
    uses_random: bool


class Stated(_Part):
    """The keys of provenance.json that are read; the other keys are for information only."""

    study: str
    cwndlab: str
    engine: str
    value_ids: dict[str, str] = {}
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    replicates: _Count | None = None
    sensitivity: str | None = None
    backend_key: str = ""
    backend_keys: dict[str, str] = {}
    kernel_laws: list[str] = []
    set_: dict[str, Any] = Field(default={}, alias="set")
    cells: list[StatedCell]
    metrics: list[StatedMetric] = []
    congestion_controls: list[StatedLaw] = []


def read_statements(file: Path, content: object) -> Stated:
    """The checked content of a provenance.json; OutputError with the first key that is invalid."""
    try:
        return Stated.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise OutputError(f"{file}: {key}: {first['msg']}; run the study again") from None


@contextmanager
def damage_as_error(folder: Path) -> Iterator[None]:
    """Turns exceptions from damaged content of a result folder into an OutputError."""
    try:
        yield
    except CwndlabError:
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RecursionError,
        OSError,
        pa.ArrowException,
    ) as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise OutputError(f"{folder}: holds what no run writes ({what}); run the study again") from None
