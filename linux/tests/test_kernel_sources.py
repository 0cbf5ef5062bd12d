"""Which of Debian's sources a kernel is built from, and what other commands see of a build."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from cwndlab.base.errors import RunError
from cwndlab_linux.virtual import images, recipe, source
from cwndlab_linux.virtual.recipe import SERIES, Recipe
from cwndlab_linux.virtual.steps import BuildSteps
from cwndlab_linux.virtual.under_way import announce, builds_under_way

#: Debian, as far as apt tells: each call and its options go to a log.
APT_GET = """#!/bin/sh
echo "apt-get $*" >> CALLS
case "$*" in
*indextargets*) echo "Debian bookworm mirror"; echo "Debian bookworm-security security" ;;
*" download "*) for last; do :; done; touch "linux-source-$(echo $last | tr -c 'a-z0-9.\\n' _).deb" ;;
esac
"""
APT_CACHE = """#!/bin/sh
case "$*" in
*search*) echo "linux-source-6.12 - Linux"; echo "linux-source-7.3 - Linux" ;;
*madison*) cat << END
 linux-source-6.12 | 6.12.117-1 | mirror trixie/main amd64 Packages
 linux-source-6.12 | 6.12.107-1 | mirror trixie/main amd64 Packages
 linux-source-6.12 | 6.12.107-1~deb12u1 | mirror bookworm/main amd64 Packages
 linux-source-7.3 | 7.3.4-1~bpo13+1 | mirror trixie-backports/main amd64 Packages
 linux-source-7.3 | 7.4~rc7-1~exp1 | mirror experimental/main amd64 Packages
END
;;
*show*) echo "Size: 152600000"; echo "Filename: x" ;;
esac
"""
DPKG_DEB = """#!/bin/sh
mkdir -p "$3/usr/src" && touch "$3/usr/src/linux-source-6.12.tar.xz"
"""


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, BuildSteps, list[str]]:
    """A folder to download to, the steps, and what they say."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("apt-get", APT_GET), ("apt-cache", APT_CACHE), ("dpkg-deb", DPKG_DEB)):
        (tools / name).write_text(text.replace("CALLS", str(tmp_path / "calls")))
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    work, said = tmp_path / "work", list[str]()
    work.mkdir()
    return work, BuildSteps(tmp_path / "log", said.append), said


@pytest.mark.parametrize(
    ("name", "package"),
    [("6.12.107", "linux-source-6.12=6.12.107-1"), ("newest", "linux-source-7.3=7.3.4-1~bpo13+1")],
)
def test_a_release_is_downloaded_from_the_distribution_that_has_it(
    debian: tuple[Path, BuildSteps, list[str]], name: str, package: str
) -> None:
    work, steps, said = debian
    assert source.archive_of_release(name, work, steps).name == "linux-source-6.12.tar.xz"
    assert said == [f"downloading {package}, 153 MB"]
    lists = (work / "apt" / "sources.list").read_text()
    assert "deb mirror trixie-backports main\n" in lists and "deb security trixie-security main\n" in lists
    assert f"download {package}" in (work.parent / "calls").read_text()


def test_a_release_that_debian_has_not_is_an_error_with_those_it_has(
    debian: tuple[Path, BuildSteps, list[str]],
) -> None:
    work, steps, _ = debian
    with pytest.raises(
        RunError,
        match=r"no source of Linux 6\.12\.1 now; it has 6\.12\.107, 6\.12\.117, 7\.3\.4, or give your own",
    ):
        source.archive_of_release("6.12.1", work, steps)


def test_a_series_comes_from_the_machines_own_lists_where_they_have_it(
    debian: tuple[Path, BuildSteps, list[str]],
) -> None:
    work, steps, said = debian
    source.archive_of(SERIES["6.12"], work, steps)
    assert said == ["downloading linux-source-6.12, 153 MB"]
    assert (work.parent / "calls").read_text() == "apt-get -q download linux-source-6.12\n"


@pytest.mark.parametrize(
    ("name", "is_release"), [("6.12.107", True), ("newest", True), ("6.12", False), ("6.12.107-x", False)]
)
def test_a_release_has_three_numbers(name: str, is_release: bool) -> None:
    assert source.is_release(name) is is_release


def test_a_series_is_its_newest_release_and_a_release_is_found_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(images.VARIABLE, raising=False)
    digest = Recipe(SERIES["6.12"]).digest
    for age, release in enumerate(("6.12.117", "6.12.107", "6.12.95")):
        folder = images.kernels_folder() / f"{release}-{digest}"
        folder.mkdir(parents=True)
        (folder / "linux").write_bytes(f"Linux version {release}-x time-travel=inf-cpu".encode())
        os.utime(folder, (age, age))
    assert images.find("6.12").release == "6.12.117-x"
    assert images.find("6.12.107").release == "6.12.107-x"
    with pytest.raises(RunError, match=r"no kernel 6\.12\.10 .*`cwndlab linux build --kernel 6\.12\.10`"):
        images.find("6.12.10")


def test_backports_are_applied_to_what_lacks_them() -> None:
    (only,) = recipe.backports()
    assert "+++ b/arch/um/kernel/skas/syscall.c" in only.read_text()


def test_builds_are_known_with_their_step_and_what_they_wait_for(tmp_path: Path) -> None:
    home = tmp_path / "uml"
    home.mkdir()
    said: list[str] = []
    waits, ends = threading.Event(), threading.Event()

    def second() -> None:
        with announce(home, "7.3", lambda line: (said.append(line), waits.set())[0]):
            ends.wait(10)

    with announce(home, "6.12 with beta.patch", said.append) as tell:
        tell("compiling: 25 files of about 600")
        other = threading.Thread(target=second)
        other.start()
        assert waits.wait(10)
        first, waiting = builds_under_way(home)
        assert (first.process, first.kernel) == (os.getpid(), "6.12 with beta.patch")
        assert str(first).endswith(" s: compiling: 25 files of about 600")
        assert (
            waiting.step == f"waiting for another build to end: 6.12 with beta.patch, process {os.getpid()}"
        )
    ends.set()
    other.join(10)
    assert not other.is_alive() and builds_under_way(home) == []


def test_a_build_that_was_killed_is_not_under_way(tmp_path: Path) -> None:
    left = tmp_path / ".under-way-x"
    left.write_text('[1, "6.12", "compiling", 0]')
    assert builds_under_way(tmp_path) == [] and not left.exists()
