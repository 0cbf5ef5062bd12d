"""No stored number outlives its engine, scenario or metric; what is still right is not run again."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_store import content

import cwndlab
from cwndlab.api import Study, open_results
from cwndlab.apps.shared_store import shared_store as shared
from cwndlab.base.errors import ClusterError
from cwndlab.metrics import _code, built_in
from cwndlab.results.execution import run_study
from cwndlab.runs.store.folder_store import FolderStore
from cwndlab.runs.store.provenance import Commit, git_hash
from cwndlab.runs.work import WORTH_KEEPING, MeasuredRuns
from fake_core import FakeCore
from small_study import TEXT

TWO = TEXT + '\n[[quantities]]\nname = "again"\nmetric = "retransmits"\n'


@pytest.fixture
def change(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gives a metric other code, as far as its digest tells."""

    def changed(metric: str) -> None:
        before = _code.code_digest
        monkeypatch.setattr(
            "cwndlab.runs.work.code_digest", lambda name: before(name) + "x" * (name == metric)
        )

    return changed


def test_a_metrics_digest_covers_all_that_makes_its_numbers() -> None:
    modules = _code.closure("link_utilization")
    assert {"metrics.throughput", "metrics._measure", "metrics._rows", "records.window"} <= set(modules)


def test_the_key_of_a_metric_is_a_handful_of_files() -> None:
    """An edit of a docstring elsewhere leaves every stored value as it is."""
    assert max(len(_code.closure(metric)) for metric in built_in()) <= 6


def test_a_repeated_run_writes_its_report_only_if_something_changed(
    tmp_path: Path, fake_core: FakeCore
) -> None:
    (tmp_path / "study.toml").write_text(TEXT)
    out = tmp_path / "out"

    def written(**options: int) -> int:
        result = run_study(Study.load(tmp_path / "study.toml"), out=out, **options)
        assert result.report == out / "report.html"
        return (out / "report.html").stat().st_mtime_ns

    first = written()
    assert written() == first and fake_core.runs == 6
    (tmp_path / "README.md").write_text("# What it shows\n\nIt grows.\n")
    second = written()
    assert second > first and "It grows." in (out / "report.html").read_text() and fake_core.runs == 6
    third = written(replicates=2)
    assert third > second and fake_core.runs == 6
    (out / "report.html").unlink()
    assert written(replicates=2) > third


@pytest.mark.parametrize("place", ["folder", "store", "both"])
def test_a_changed_metric_is_measured_from_kept_records_and_nothing_runs(
    tmp_path: Path, fake_core: FakeCore, change: Callable[[str], None], place: str
) -> None:
    study = Study.from_toml(TWO)
    options = {
        "folder": {"out": tmp_path / "out"},
        "store": {"store": tmp_path / "shared", "out": tmp_path / "first"},
        "both": {"store": tmp_path / "shared", "out": tmp_path / "out"},
    }[place]
    before = run_study(study, **options)
    assert fake_core.runs == 6 and before.campaign.performed == 6
    change("goodput")
    if place == "store":
        options["out"] = tmp_path / "second"
    after = run_study(study, **options)
    assert fake_core.runs == 6 and after.campaign.performed == 0 and after.campaign.measured == 6
    assert after.results.data == before.results.data


def test_only_the_changed_metric_is_measured_again(
    tmp_path: Path, fake_core: FakeCore, change: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, out = Study.from_toml(TWO), tmp_path / "out"
    run_study(study, out=out)
    calls = {"goodput": 0, "retransmits": 0}
    for name in calls:
        metric = built_in()[name]

        def counted(*args: object, _name: str = name, _do: Callable[..., object] = metric.measure) -> object:
            calls[_name] += 1
            return _do(*args)

        monkeypatch.setattr(counted, "__signature__", inspect.signature(metric.measure), raising=False)
        monkeypatch.setitem(built_in(), name, dataclasses.replace(metric, measure=counted))
    change("retransmits")
    run_study(study, out=out)
    assert calls == {"goodput": 0, "retransmits": 6}


def test_a_new_quantity_runs_nothing_if_its_tables_are_kept(tmp_path: Path, fake_core: FakeCore) -> None:
    run_study(Study.from_toml(TEXT), out=tmp_path / "out")
    result = run_study(Study.from_toml(TWO), out=tmp_path / "out")
    assert fake_core.runs == 6 and result.campaign.measured == 6
    assert list(result.results.values("iw=4", "again")) == [2, 2, 2]
    fresh = run_study(Study.from_toml(TWO), out=tmp_path / "fresh")
    assert content(tmp_path / "out") == content(tmp_path / "fresh") and fresh.campaign.performed == 6


@pytest.mark.parametrize("options", [{}, {"store": "shared"}])
def test_short_runs_after_the_first_are_simulated_again_for_a_new_quantity(
    tmp_path: Path, fake_core: FakeCore, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fake_core.packets = WORTH_KEEPING - 1
    run_study(Study.from_toml(TEXT), out="out", **options)
    assert len(list(Path(options.get("store", "out/store/records")).glob("*/*.arrows"))) == 2
    result = run_study(Study.from_toml(TWO), out="out", **options)
    assert (fake_core.runs, result.campaign.measured, result.campaign.performed) == (6 + 4, 2, 4)
    assert list(result.results.values("iw=4", "again")) == [2, 2, 2]


def test_a_default_that_changes_in_the_engine_changes_the_key(tmp_path: Path, fake_core: FakeCore) -> None:
    run_study(Study.from_toml(TEXT), out=tmp_path / "out")
    complete = fake_core.complete_scenario
    fake_core.complete_scenario = lambda text: complete(text) + " "  # type: ignore[method-assign]
    assert run_study(Study.from_toml(TEXT), out=tmp_path / "out").campaign.performed == 6


@pytest.mark.parametrize("place", ["store/records", "shared"])
def test_swapped_records_are_found_and_mended(tmp_path: Path, fake_core: FakeCore, place: str) -> None:
    study, out, store = Study.from_toml(TEXT), tmp_path / "out", tmp_path / "shared"
    run_study(study, out=out, store=store)
    whole = content(out)
    base = out / "store/records" if place == "store/records" else store
    first, second = sorted(base.glob("*/*.arrows"))[:2]
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    target = out if place == "store/records" else tmp_path / "other"
    result = run_study(study, out=target, store=None if place == "store/records" else store)
    assert sum("does not fit its checksum" in line for line in result.campaign.damaged) == 2
    assert content(target) == whole and first.read_bytes() == one and second.read_bytes() == two


def test_results_open_while_another_process_holds_the_lock(tmp_path: Path, fake_core: FakeCore) -> None:
    out = tmp_path / "out"
    ran = run_study(Study.from_toml(TEXT), out=out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    with FolderStore(out / "store"):
        opened = open_results(out)
    assert opened.results.data == ran.results.data
    assert opened.records["connections"].equals(ran.records["connections"])
    after = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.name != "lock"}
    assert after == {path: time for path, time in before.items() if path.name != "lock"}


def test_records_of_any_replicate_are_those_of_the_run_itself(tmp_path: Path) -> None:
    lossy = Study.from_toml(TEXT.replace("50ms", "20s")).run(tmp_path / "lossy")
    again = lossy.campaign.tables("iw=4", replicate=2)
    kept = open_results(tmp_path / "lossy").campaign.tables("iw=4", replicate=2)
    assert again.keys() == kept.keys() and all(kept[name].equals(table) for name, table in again.items())
    with pytest.raises(KeyError, match="no cell"):
        lossy.sel(cell="iw=5")
    assert not again["segments"].equals(lossy.campaign.tables("iw=4")["segments"])
    assert goodput_of(again["connections"]) == pytest.approx(lossy.results.values("iw=4", "goodput")[2])


def goodput_of(connections: object) -> float:
    """Sum of what was delivered in 20 s, kbit/s."""
    return 8 * sum(connections["bytes_up"].to_pylist()) / 20 / 1e3  # type: ignore[index]


def test_a_worker_with_another_engine_or_other_metrics_refuses(
    fake_core: FakeCore, change: Callable[[str], None]
) -> None:
    work = MeasuredRuns(tuple(Study.from_toml(TWO).outline.quantities))
    work.check()
    change("retransmits")
    with pytest.raises(ClusterError, match="other metric code for again"):
        work.check()
    fake_core._version = "fake-2"
    with pytest.raises(ClusterError, match="another engine"):
        work.check()


def test_a_metrics_digest_covers_its_own_module_and_no_other_topic() -> None:
    before = {name: _code.code_digest(name) for name in ("red_region", "retransmits")}
    shared_file = Path(_code.__file__).with_name("queue.py")
    original = Path.read_bytes

    def edited_bytes(path: Path) -> bytes:
        return original(path) + (b"# edited\n" if path == shared_file else b"")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", edited_bytes)
        for kept in (_code._digest, _code._module):
            kept.cache_clear()
        after = {name: _code.code_digest(name) for name in before}
    for kept in (_code._digest, _code._module):
        kept.cache_clear()
    assert after["red_region"] != before["red_region"] and after["retransmits"] == before["retransmits"]


def test_urls_are_shown_without_credentials() -> None:
    assert shared.without_credentials("s3://key:secret@bucket/prefix?token=x") == "s3://bucket/prefix"
    assert shared.without_credentials("/shared/replicates") == "/shared/replicates"


def test_provenance_holds_no_credentials(
    tmp_path: Path, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'cwndlab[store]'")
    url = f"file://user:secret@{tmp_path}/shared"
    monkeypatch.setattr(sys, "argv", ["cwndlab", "run", "study.toml", "--store", url])
    monkeypatch.setattr(shared, "_open", lambda place: shared.FolderObjects(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    shared.open_store.cache_clear()
    run_study(Study.from_toml(TEXT), out=tmp_path / "out", store=url)
    content = json.loads((tmp_path / "out/provenance.json").read_text())
    assert content["store"] == f"file://{tmp_path}/shared"
    written = "".join(path.read_text() for path in (tmp_path / "out").glob("*.*") if path.suffix != ".pack")
    assert "secret" not in written


def test_the_commit_found_in_the_background_is_that_of_the_source_tree() -> None:
    assert Commit().wait() == git_hash()


def test_a_modified_work_tree_is_shown(tmp_path: Path) -> None:
    (tmp_path / "crates/cwndlab-engine").mkdir(parents=True)
    source, note = tmp_path / "crates/cwndlab-engine/lib.rs", tmp_path / "note.txt"
    source.write_text("before")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    commit = git_hash(tmp_path)
    assert commit is not None and len(commit) == 40
    note.write_text("no source")
    assert git_hash(tmp_path) == commit
    source.with_name("new.rs").write_text("a new source")
    assert git_hash(tmp_path) == commit + "+"
    source.with_name("new.rs").unlink()
    source.write_text("after")
    assert git_hash(tmp_path) == commit + "+"


def test_the_engines_digest_is_baked_in() -> None:
    digest = cwndlab._core.engine_digest()
    assert len(digest) == 32 and int(digest, 16)


def test_the_engines_digest_follows_every_source_and_the_compiler(tmp_path: Path) -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    built = sorted(
        target.glob("*/build/cwndlab-python-*/build-script-build"), key=lambda p: p.stat().st_mtime
    )
    if not built:
        pytest.skip("the core was not built here")

    def digest(root: Path, compiler: str = "/bin/echo") -> str:
        environment = os.environ | {
            "CARGO_MANIFEST_DIR": str(root / "crates/cwndlab-python"),
            "RUSTC": compiler,
        }
        said = subprocess.run([built[-1]], env=environment, capture_output=True, text=True, check=True).stdout
        return said.rpartition("CWNDLAB_ENGINE_DIGEST=")[2].strip()

    digests = []
    for name, constant in (("a", "0.5"), ("b", "0.5"), ("c", "0.7")):
        for crate in ("cwndlab-python", "cwndlab-tcp"):
            (tmp_path / name / "crates" / crate / "src").mkdir(parents=True)
            (tmp_path / name / "crates" / crate / "Cargo.toml").write_text("")
        law = tmp_path / name / "crates/cwndlab-tcp/src/reno.rs"
        law.write_text(f"const BETA: f64 = {constant};")
        digests.append(digest(tmp_path / name))
    assert digests[0] == digests[1] != digests[2]
    assert digest(tmp_path / "a", "/bin/true") != digests[0]
    law.with_name("new.rs").touch()
    assert digest(tmp_path / "c") != digests[2]
