"""`cwndlab linux bisect` on repositories of two files, with a simulated run in place of a kernel's.

`make validate` has the kernel's own: commits of Linux's source, compiled and run in virtual time.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from cwndlab import RunResult, Study
from cwndlab.base.errors import RunError, StudyError
from cwndlab_linux.virtual import bisection, build, releases, trials
from cwndlab_linux.virtual.bisection import Commits
from cwndlab_linux.virtual.images import Image
from cwndlab_linux.virtual.recipe import SERIES, Recipe
from cwndlab_linux.virtual.releases import Releases
from cwndlab_linux.virtual.trials import FirstBad, Trials, report

TEXT = """title = "One flow"
measure = ["goodput", "loss_rate"]
[dumbbell]
rate = "10Mbps"
rtt = "20ms"
flows = [{ cc = "reno" }]
[run]
duration = "3s"
replicates = 3
"""


class OnRates:
    """The study, run in the simulator at the rate that a "kernel" consists of."""

    def __init__(self) -> None:
        self.study = Study.from_toml(TEXT)
        self.outline, self.title, self.runs = self.study.outline, self.study.title, 0

    def run(self, out: Path, *, backend: str, kernel: str, replicates: int | None) -> RunResult:
        self.runs += 1
        assert backend == "linux-virtual"
        return self.study.set({"dumbbell.rate": Path(kernel).read_text()}).run(replicates=replicates)


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(
        ["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A "kernel" is the rate in its source; "broken" does not compile."""

    def build_rate(recipe: Recipe, given: Path, jobs: int, say: object, **more: Any) -> Image:
        rate = (given / "rate").read_text()
        if rate == "broken":
            raise RunError("compiling failed: expected ';'")
        folder = more["home"] / "6.12"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "linux").write_text(rate)
        return Image(folder / "linux", "6.12", hashlib.sha256(rate.encode()).hexdigest()[:16])

    for module in (bisection, releases):
        monkeypatch.setattr(module, "build", build_rate)
        monkeypatch.setattr(module.source, "version_in", lambda folder: "6.12.1")
    monkeypatch.setattr(
        trials.Image, "from_folder", lambda path: Image(path, "6.12", path.parent.name), raising=True
    )
    monkeypatch.setattr(trials, "_first_packets", lambda a, b: {})


@pytest.fixture
def commits(tmp_path: Path, compiled: None) -> Callable[[list[str]], Path]:
    """Makes a repository with a commit for each rate."""

    def make(rates: list[str]) -> Path:
        source = tmp_path / "linux"
        source.mkdir()
        git(source, "init", "-q")
        for number, rate in enumerate(rates):
            (source / "rate").write_text(rate)
            (source / "text").write_text(f"{number}\n")
            git(source, "add", "-A")
            git(source, "commit", "-qm", f"change {number}")
            git(source, "tag", f"v{number}")
        return source

    return make


def bisect(
    source: Path, on: str | None = None, ends: tuple[str, str] | None = None
) -> tuple[FirstBad, OnRates]:
    study, last = OnRates(), len(git(source, "tag").split()) - 1
    good, bad = ends or ("v0", f"v{last}")
    kernels = Commits(source, source.parent / "out", 1)
    made = Trials(kernels, cast(Study, study), kernels.folder, on, None, lambda line: None)
    return kernels.first_bad(made, good, bad), study


def test_the_commit_at_which_a_number_moves_is_found(commits: Callable[[list[str]], Path]) -> None:
    source = commits(["10Mbps"] * 9 + ["12Mbps"] * 6)
    found, study = bisect(source)
    assert found.title == f"{found.name[:12]} change 9" and found.name == git(source, "rev-parse", "v9")
    assert found.before.endswith(" change 8") and len(found.steps_s) == 4
    assert study.runs == 2  # commits with the same kernel are not run again
    number = next(one for one in found.moved if one.quantity == "goodput")
    assert number.significant and number.b / number.a == pytest.approx(1.2, abs=0.02)
    text = report(found, study.study)
    assert text.startswith(f"# {found.title}\n") and "| goodput | " in text and "Found in 4 steps of " in text
    assert git(source, "status", "--short") == "" and not (source / ".git/BISECT_LOG").exists()


def test_a_commit_that_does_not_build_is_skipped_and_named(commits: Callable[[list[str]], Path]) -> None:
    source = commits(["10Mbps", "10Mbps", "10Mbps", "broken", "10Mbps", "12Mbps", "12Mbps"])
    found, study = bisect(source)
    title = f"{git(source, 'rev-parse', 'v3')[:12]} change 3"
    assert found.title.endswith(" change 5") and found.skipped == [title]
    assert f"Not built, so not tested: {title}" in report(found, study.study)


def test_only_broken_commits_around_the_change_is_an_error(commits: Callable[[list[str]], Path]) -> None:
    with pytest.raises(RunError, match="only commits that cannot be built are left"):
        bisect(commits(["10Mbps", "broken", "broken", "12Mbps"]))


def test_a_quantity_that_does_not_move_is_an_error(commits: Callable[[list[str]], Path]) -> None:
    source = commits(["10Mbps", "10Mbps", "12Mbps"])
    with pytest.raises(StudyError, match="between good and bad") as caught:
        bisect(source, ends=("v0", "v1"))
    assert "does not move by more than chance" in str(caught.value)
    with pytest.raises(StudyError, match=r'no quantity "goodputt".*goodput'):
        bisect(source, "goodputt")
    with pytest.raises(StudyError, match="v9"):
        bisect(source, ends=("v0", "v9"))
    with pytest.raises(StudyError, match="v2 is no ancestor of v0"):
        bisect(source, ends=("v2", "v0"))


def test_the_same_call_continues_what_was_stopped(commits: Callable[[list[str]], Path]) -> None:
    source = commits(["10Mbps"] * 4 + ["12Mbps"] * 4)
    first, _ = bisect(source)
    again, _ = bisect(source)
    assert again.name == first.name


def releases_in(folder: Path, rates: list[str], on: str | None = None) -> FirstBad:
    names = []
    for number, rate in enumerate(rates):
        source = folder / f"linux-6.12.{number}"
        source.mkdir(exist_ok=True)
        (source / "rate").write_text(rate)
        names.append(str(source))
    kernels = Releases(names, folder / "out", 1)
    study = cast(Study, OnRates())
    return kernels.first_bad(Trials(kernels, study, kernels.folder, on, None, lambda line: None))


@pytest.mark.parametrize("first", range(1, 7))
def test_the_release_at_which_a_number_moves_is_found(tmp_path: Path, compiled: None, first: int) -> None:
    found = releases_in(tmp_path, ["10Mbps"] * first + ["12Mbps"] * (7 - first))
    assert (found.title, found.before) == (f"linux-6.12.{first}", f"linux-6.12.{first - 1}")
    assert found.skipped == [] and any(one.quantity == "goodput" and one.significant for one in found.moved)


def test_a_release_that_does_not_build_is_skipped_and_named(tmp_path: Path, compiled: None) -> None:
    found = releases_in(tmp_path, ["10Mbps", "10Mbps", "broken", "12Mbps", "12Mbps"])
    assert (found.title, found.before) == ("linux-6.12.3", "linux-6.12.1")
    assert found.skipped == ["linux-6.12.2"]


def test_releases_that_cannot_be_told_apart_are_rejected(tmp_path: Path, compiled: None) -> None:
    with pytest.raises(StudyError, match="two different names or more"):
        releases_in(tmp_path, ["10Mbps"])
    kernels = Releases(["a/linux", "b/linux"], tmp_path, 1)
    with pytest.raises(StudyError, match="two different names or more"):
        kernels.first_bad(Trials(kernels, cast(Study, OnRates()), tmp_path, None, None, print))


def test_a_changed_file_takes_its_place_in_the_kept_tree(tmp_path: Path) -> None:
    folder, kept = tmp_path / "folder", tmp_path / "kept"
    for place in (folder, kept):
        (place / "net").mkdir(parents=True)
        (place / "net/a.c").write_text("old")
        (place / "net/gone.c").write_text("old")
    (folder / "net/a.c").write_text("new")
    (folder / "net/gone.c").unlink()
    build._take(folder, kept, [Path("net/a.c"), Path("net/gone.c"), Path("never.c")])
    assert (kept / "net/a.c").read_text() == "new" and not (kept / "net/gone.c").exists()


@pytest.mark.parametrize(
    ("path", "touches"), [("arch/um/kernel/time.c", True), ("net/ipv4/tcp_cubic.c", False)]
)
def test_a_change_below_our_own_patch_is_a_build_from_the_start(path: str, touches: bool) -> None:
    files: Mapping[bool, str] = {touches: path}
    assert build._touches(Recipe(SERIES["6.12"]), [Path(files[touches])]) is touches
