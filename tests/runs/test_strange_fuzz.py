"""Whatever lies in a stranger's folder: nothing outside is written or shown, and nothing takes long."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab import Study
from cwndlab.api import open_results
from cwndlab.apps.compare.compare import compare
from cwndlab.apps.export.export import export
from cwndlab.base.errors import CwndlabError
from cwndlab.results.execution import report_again
from fuzzing import tries

STUDY = """
title = "a stranger's"
[topology]
nodes = ["a", "b"]
[[topology.links]]
name = "wire"
between = ["a", "b"]
rate = "1Mbps"
delay = { trace = "delays/path.txt", interval = "5ms" }
queue = { kind = "drop-tail", limit = "25pkt" }
[[traffic]]
name = "bulk"
client = "a"
server = "b"
app = { kind = "short-flows", flow_bytes = { kind = "named", name = "sizes" }, arrival_rate = 50.0 }
[distributions.sizes]
file = "sizes.csv"
values = "bytes"
counts = "count"
[tcp]
profile = "rfc5681"
[run]
duration = "50ms"
replicates = 2
[axes.iw]
sets = "tcp.initial_window"
values = [1, 4]
[[quantities]]
name = "goodput"
metric = "goodput"
"""
CLAIMS = """
[[claims]]
id = "larger"
section = "Abstract"
text = "A larger window is faster."
assert = "goodput[iw=4] > goodput[iw=1]"
"""
SECRET = "TOPSECRET"
#: Names that may be in such a folder, besides those that are.
MORE = ("README.md", "figures", "figures/x.svg", "published", "published/SOURCE.md", "kernel", "stack.toml")
MORE += ("tables", "tables/connections.parquet", "own_metrics", "store/records", "x.tmp-1", "report.pdf")
#: No input may take longer.
LIMIT_S = 20


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A study with its files, and its results."""
    made = tmp_path_factory.mktemp("strange")
    study = made / "study"
    (study / "delays").mkdir(parents=True)
    (study / "study.toml").write_text(STUDY)
    (study / "claims.toml").write_text(CLAIMS)
    (study / "sizes.csv").write_text("bytes,count\n1000,1\n2000,3\n")
    (study / "delays/path.txt").write_text("5\n7\n")
    (study / "README.md").write_text("About it.")
    Study.load(study).run(made / "results")
    return study, made / "results"


def link_to_file(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "secret")


def link_to_folder(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def link_to_nothing(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "nothing")


def link_to_device(path: Path, outside: Path) -> None:
    path.symlink_to("/dev/zero")


def link_to_itself(path: Path, outside: Path) -> None:
    path.symlink_to(path.name)


def link_to_a_copy(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "copy" / path.name)


def pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def empty_file(path: Path, outside: Path) -> None:
    path.touch()


def empty_folder(path: Path, outside: Path) -> None:
    path.mkdir()


def huge_file(path: Path, outside: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


def nothing(path: Path, outside: Path) -> None:
    pass


KINDS = (link_to_file, link_to_folder, link_to_nothing, link_to_device, link_to_itself, link_to_a_copy)
KINDS += (pipe, empty_file, empty_folder, huge_file, nothing)


def load(study: Path, results: Path) -> None:
    Study.load(study).plan().check()


def save(study: Path, results: Path) -> None:
    Study.load(study).save(results.parent / "saved")


def run(study: Path, results: Path) -> None:
    Study.load(study).run(results)


def run_anew(study: Path, results: Path) -> None:
    Study.load(study).run(results.parent / "new")


def look(study: Path, results: Path) -> None:
    made = open_results(results)
    assert made.results.data
    made.records("connections")


def report(study: Path, results: Path) -> None:
    report_again(results)


def write_tables(study: Path, results: Path) -> None:
    export(results, results / "tables")


def compare_both(study: Path, results: Path) -> None:
    compare(results, results)


STEPS = (load, save, run, run_anew, look, report, write_tables, compare_both)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """TimeoutError if it takes longer."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def state(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


def shown(folder: Path) -> Iterator[Path]:
    """Plain files with the secret."""
    for at, _, names in os.walk(folder):
        for path in (Path(at, name) for name in names):
            if not path.is_symlink() and path.is_file() and path.stat().st_size < 1 << 28:
                if SECRET.encode() in path.read_bytes():
                    yield path


counts: Counter[str] = Counter()
choices = st.tuples(st.booleans(), st.integers(0, 10**6), st.sampled_from(KINDS))


@tries(40)
@given(changes=st.lists(choices, min_size=1, max_size=3), step=st.sampled_from(STEPS))
def check(
    folders: tuple[Path, Path],
    top: Path,
    changes: list[tuple[bool, int, Callable[[Path, Path], None]]],
    step: Callable[[Path, Path], None],
) -> None:
    shutil.rmtree(top, ignore_errors=True)
    outside, work = top / "outside", top / "work"
    outside.mkdir(parents=True)
    shutil.copytree(folders[1], outside / "copy")
    (outside / "secret").write_text(SECRET)
    (outside / "x.tmp-9").write_text(SECRET)
    ours = [Path(shutil.copytree(folder, work / folder.name)) for folder in folders]
    for in_results, which, kind in changes:
        folder = ours[in_results]
        names = sorted({p.relative_to(folder).as_posix() for p in folder.rglob("*")} | {*MORE})
        path = folder / names[which % len(names)]
        if not path.parent.is_dir() or not path.parent.resolve().is_relative_to(work):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        kind(path, outside)
    before = state(outside)
    counts["tried"] += 1
    try:
        with at_most(LIMIT_S):
            step(*ours)
        counts["accepted"] += 1
    except CwndlabError as error:
        assert SECRET not in str(error)
    assert state(outside) == before
    assert not list(shown(work))


def test_nothing_outside_a_strangers_folder_is_touched(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(folders, tmp_path / "top")
    assert counts["accepted"] >= 0.3 * counts["tried"], f"too few inputs are accepted: {counts}"
