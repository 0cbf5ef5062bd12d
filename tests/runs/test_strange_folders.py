"""A result folder may be a stranger's: nothing is read or written through its links, pipes and devices."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import cwndlab
from cwndlab.api import Study
from cwndlab.apps.gallery.index import write_index
from cwndlab.apps.shared_store.shared_store import FolderObjects
from cwndlab.base.captured_values import digest_of_values
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.base.plain_files import open_plain, read_inside, write_inside
from cwndlab.report.contents import MAX_README, read_readme
from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.store import folder_store
from cwndlab.runs.store.folder_store import FolderStore
from cwndlab.study import files
from cwndlab_linux.real_kernel import _read_stamp

TEXT = """
title = "%s"
measure = ["goodput"]
[dumbbell]
rate = "10Mbps"
rtt = "20ms"
buffer = [1, 2]
flows = [{ cc = "reno" }]
[run]
duration = "1s"
replicates = %d
"""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    out = tmp_path / "results"
    Study.from_toml(TEXT % ("a", 3)).run(out)
    return out


@pytest.mark.parametrize("name", ["report.md", "report.html", "verdicts.csv", "provenance.json"])
def test_a_link_in_place_of_a_file_is_replaced_and_its_target_kept(
    results: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / "profile"
    target.write_text("export A=1")
    content = (results / name).read_bytes()
    (results / name).unlink()
    if name == "provenance.json":  # which is read, too
        (results / name).symlink_to(target)
        with pytest.raises(OutputError, match="is no result folder"):
            cwndlab.open_results(results)
        (results / name).unlink()
        (results / name).write_bytes(content)
    else:
        (results / name).symlink_to(target)
        again(results)
        assert not (results / name).is_symlink()
    assert target.read_text() == "export A=1"


def again(results: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cwndlab", "report", str(results)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_a_folder_of_figures_that_is_a_link_is_an_error(results: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for figure in (results / "figures").iterdir():
        figure.unlink()
    (results / "figures").rmdir()
    (results / "figures").symlink_to(elsewhere)
    with pytest.raises(AssertionError, match="is a link or a file where a folder belongs"):
        again(results)
    assert not list(elsewhere.iterdir())


def test_a_store_that_is_a_link_is_an_error(results: Path, tmp_path: Path) -> None:
    (results / "store").rename(tmp_path / "store")
    (results / "store").symlink_to(tmp_path / "store")
    with pytest.raises(OutputError, match="is a link"):
        Study.from_toml(TEXT % ("a", 4)).run(results)


def test_a_readme_is_read_only_from_a_plain_small_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("TOPSECRET")
    readme = tmp_path / "README.md"
    readme.symlink_to(tmp_path / "key")
    assert read_readme(tmp_path) == ""
    readme.unlink()
    os.mkfifo(readme)
    assert read_readme(tmp_path) == ""
    readme.unlink()
    readme.symlink_to("/dev/zero")
    assert read_readme(tmp_path) == ""
    readme.unlink()
    readme.write_text("a" * (MAX_README + 1))
    assert read_readme(tmp_path) == ""
    readme.write_text("text")
    assert read_readme(tmp_path) == "text"


def test_nothing_is_read_or_written_outside_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out").symlink_to(tmp_path)
    for name in ("../x", "/tmp/x", "out/x", ""):
        with pytest.raises(OSError, match=r"outside|link|Not a directory|symbolic"):
            write_inside(tmp_path / "in", name, b"x")
        with pytest.raises(OSError, match=r"outside|link|Not a directory|symbolic"):
            read_inside(tmp_path / "in", name)
    assert not (tmp_path / "x").exists()
    write_inside(tmp_path / "in", "a/b/c", b"x")
    assert read_inside(tmp_path / "in", "a/b/c") == b"x"
    with pytest.raises(OSError, match="is larger"):
        read_inside(tmp_path / "in", "a/b/c", limit=0)
    assert not list(tmp_path.rglob("*.tmp-*"))


def test_a_journal_that_is_a_link_is_not_appended_to(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("a")
    (tmp_path / "journal-1.log").symlink_to(tmp_path / "profile")
    with pytest.raises(OSError, match="symbolic"):
        open_plain(tmp_path / "journal-1.log", "ab")


def test_another_study_does_not_take_over_a_folder(results: Path) -> None:
    with pytest.raises(OutputError, match='holds results of the study "a", not of "b"'):
        Study.from_toml(TEXT % ("b", 3)).run(results)
    Study.from_toml(TEXT % ("a", 4)).run(results)


def test_a_reader_sees_what_a_writer_folds_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = FolderStore(tmp_path)
    writer.add(Outcome(Job("a" * 40, "c", "{}", 1, 0, True), {"q": 1.0}, 1, None))
    index = FolderStore._index

    def slow(self: FolderStore, path: Path) -> None:
        monkeypatch.setattr(FolderStore, "_index", index)
        writer.finish()
        index(self, path)

    monkeypatch.setattr(FolderStore, "_index", slow)
    with writer, FolderStore(tmp_path, read_only=True) as reader:
        assert reader.values("a" * 40) == {"q": 1.0}


def test_without_locks_no_run_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folder_store, "_lock", refuse)
    with pytest.raises(OutputError, match="has no locks"):
        FolderStore(tmp_path)


def test_a_stream_that_nobody_holds_stops_and_lets_others_write(tmp_path: Path) -> None:
    study = Study.from_toml(TEXT % ("a", 5000))
    stream = study.stream(out=tmp_path / "o", threads=1)
    next(iter(stream))
    with pytest.raises(OutputError, match="another run is writing"):
        FolderStore(tmp_path / "o" / "store")
    del stream
    gc.collect()
    until = time.monotonic() + 30
    while any(thread.name == "study" for thread in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.05)
    with FolderStore(tmp_path / "o" / "store") as store:
        assert 0 < len(store) < 5000


FACTOR = 2
TABLE = {"a": [1, 2]}
HANDLE = object()


def helper() -> int:
    return FACTOR


def test_a_key_of_a_cell_has_the_values_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    def direct() -> int:
        return FACTOR

    def by_helper() -> int:
        return helper()

    def nested() -> list[int]:
        return [x * TABLE["a"][0] for x in (1, 2)]

    before = [digest_of_values(function, "m") for function in (direct, by_helper, nested)]
    assert before == [digest_of_values(function, "m") for function in (direct, by_helper, nested)]
    monkeypatch.setitem(globals(), "FACTOR", 5)
    monkeypatch.setitem(globals(), "TABLE", {"a": [2, 2]})
    after = [digest_of_values(function, "m") for function in (direct, by_helper, nested)]
    assert all(a != b for a, b in zip(before, after, strict=True))


class Base:
    @property
    def inherited(self) -> int:
        return FACTOR

    @classmethod
    def of_class(cls) -> int:
        return FACTOR


class Child(Base):
    pass


def test_a_key_of_a_class_has_its_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    def uses() -> int:
        return Child().inherited

    before = digest_of_values(uses, "m")
    assert before == digest_of_values(uses, "m")
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert digest_of_values(uses, "m") != before
    second = digest_of_values(uses, "m")
    monkeypatch.setitem(
        globals(), "Child", type("Child", (Base,), {"__module__": Child.__module__, "LIMIT": 3})
    )
    assert digest_of_values(uses, "m") != second


def test_a_value_without_a_key_is_refused() -> None:
    def uses() -> object:
        return HANDLE

    with pytest.raises(StudyError, match='it uses "HANDLE", a object, of which no key can be made'):
        digest_of_values(uses, "m")


@pytest.mark.parametrize(
    ("kind", "write"), [("a CSV file", "sizes.csv"), ("a packet-delivery trace", "line.down")]
)
def test_a_file_that_becomes_a_link_after_its_check_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, write: str
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "secret").write_text("1,2\n3,4\n")
    file = tmp_path / "study" / write
    file.write_text("a,b\n1,2\n")
    root, path = files.resolve_below(tmp_path / "study", write)
    file.unlink()
    file.symlink_to(tmp_path / "secret")
    with pytest.raises(StudyError, match="cannot be read"):
        files.read_text(path, what=kind, root=root)
    assert files.read_text(file, what=kind) == "1,2\n3,4\n"  # the user names it


def test_claims_and_a_study_that_lead_out_of_their_folder_are_errors(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "own.toml").write_text(TEXT % ("a", 3))
    (folder / "study.toml").symlink_to(tmp_path / "own.toml")
    with pytest.raises(StudyError, match="outside the study's folder"):
        Study.load(folder)
    assert Study.load(folder / "study.toml").title == "a"  # the user names it
    (tmp_path / "own-claims.toml").write_text("TOPSECRET")
    (folder / "claims.toml").symlink_to(tmp_path / "own-claims.toml")
    with pytest.raises(StudyError, match="outside the study's folder") as caught:
        Study.load(folder / "study.toml")
    assert "TOPSECRET" not in str(caught.value)


@pytest.mark.parametrize("name", ["study.toml", "provenance.json", "report.html", "claims.toml"])
def test_a_pipe_in_a_result_folder_holds_no_run(results: Path, name: str) -> None:
    (results / name).unlink(missing_ok=True)
    os.mkfifo(results / name)
    words = [sys.executable, "-m", "cwndlab", "report", str(results)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == (0 if name == "report.html" else 2), done.stderr
    assert "Traceback" not in done.stderr
    Study.from_toml(TEXT % ("a", 4)).run(results)  # replaces it, or does not need it


def test_records_behind_a_link_are_neither_written_nor_removed(results: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (results / "store" / "records").rename(elsewhere)
    (elsewhere / "00").mkdir(exist_ok=True)
    (elsewhere / "00" / "mine.tmp-1").touch()
    before = sorted(elsewhere.rglob("*"))
    (results / "store" / "records").mkdir()
    for part in elsewhere.iterdir():
        (results / "store" / "records" / part.name).symlink_to(part)
    with pytest.raises(OutputError, match="a link or a file where a folder belongs"):
        Study.from_toml(TEXT % ("a", 4)).run(results)
    assert sorted(elsewhere.rglob("*")) == before


def test_a_figure_that_is_a_link_is_no_picture_of_the_index(results: Path, tmp_path: Path) -> None:
    for figure in (results / "figures").iterdir():
        figure.unlink()
        figure.symlink_to(tmp_path / "nothing.svg")
    assert "figures/" not in write_index(tmp_path).read_text()


def test_a_small_file_is_read_without_reserving_the_limit(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    assert read_inside(tmp_path, "small", limit=1 << 50) == b"x"


def test_a_report_that_is_a_link_is_no_widget(results: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("TOPSECRET")
    (results / "report.html").unlink()
    (results / "report.html").symlink_to(tmp_path / "key")
    with pytest.raises(OutputError, match="cannot be read"):
        cwndlab.open_results(results).widget()


def test_a_pipe_in_a_shared_store_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    with pytest.raises(OSError, match="no plain file"):
        FolderObjects(tmp_path).get(["x"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cell": 1, "replicate": 0, "differs_from_study": []}',
        '{"cell": "a", "replicate": 0}',
    ],
)
def test_what_no_run_on_a_kernel_left_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "a.json").write_text(text)
    with pytest.raises(OutputError, match=r"a\.json: is not what a run on a kernel leaves there"):
        _read_stamp(tmp_path / "kernel" / "a.json")
