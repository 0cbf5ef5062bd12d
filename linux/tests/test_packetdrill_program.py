"""packetdrill is built from a folder, an archive or a repository. The source is a stand-in of a few lines."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cwndlab.base.errors import RunError
from cwndlab.cli.registry import command_line
from cwndlab_linux.virtual import images, packetdrill_program
from cwndlab_linux.virtual.packetdrill import ScriptRun, run
from cwndlab_linux.virtual.packetdrill_program import build_packetdrill, built_packetdrill, find_packetdrill

#: Prints its usage as packetdrill does, and what `NAME` is.
PROGRAM = '#include <stdio.h>\nint main(void) { puts("script_path NAME"); return 1; }\n'
#: Warnings are errors in packetdrill's own flags.
MAKEFILE = "CFLAGS = -Wall -Werror\npacketdrill: packetdrill.c code.c\n\t$(CC) $(CFLAGS) -o $@ $^\n"
#: As the line of packetdrill that `packetdrill.patch` takes out, with its surroundings.
CODE = """struct _tcp_info;
struct code_state;
void write_symbols(struct code_state *code) { int unused; }
void assert(int holds);

static inline void write_tcp_info(struct code_state *code,
\t\t\t\t   const struct _tcp_info *info,
\t\t\t\t   int len)
{
\tassert(len >= sizeof(struct _tcp_info));

\twrite_symbols(code);

}
"""


def write_source(folder: Path, name: str) -> Path:
    """A folder like that of packetdrill's program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "packetdrill.c").write_text(PROGRAM.replace("NAME", name))
    (folder / "code.c").write_text(CODE)
    (folder / "Makefile.Linux").write_text(MAKEFILE)
    return folder


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's cache of the test's own; skips where nothing can be built."""
    if reason := packetdrill_program.missing_tools(packetdrill_program.TOOLS | {"git": "git"}):
        pytest.skip(reason)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def printed(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("below", ["", "gtests/net/packetdrill"])
def test_it_is_built_from_a_folder_or_an_archive_of_it(tmp_path: Path, below: str) -> None:
    write_source(tmp_path / "source" / below, "folder")
    said: list[str] = []
    program = build_packetdrill(str(tmp_path / "source"), None, 2, said.append)
    assert program == built_packetdrill() == find_packetdrill(None)
    assert printed(program) == "script_path folder\n" and "flex, bison" in said[0]
    write_source(tmp_path / "packetdrill-1" / "gtests/net/packetdrill", "archive")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "packetdrill-1", "packetdrill-1")
    assert printed(build_packetdrill(str(tmp_path / "a.tar.gz"), None, 1, print)) == "script_path archive\n"


@pytest.mark.parametrize("address", ["file://{}", "{}"])
def test_of_a_repository_the_pinned_commit_is_built_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    work, bare = tmp_path / "work", tmp_path / "bare"
    for name in ("first", "second"):
        write_source(work / "gtests/net/packetdrill", name)
        git(tmp_path, "init", "--quiet", "work")
        git(work, "add", ".")
        git(work, "commit", "--quiet", "--message", name)
    git(tmp_path, "clone", "--quiet", "--bare", "work", "bare")
    first, second = git(work, "rev-list", "--reverse", "HEAD").split()
    monkeypatch.setattr(packetdrill_program, "COMMIT", first)
    said: list[str] = []
    source = address.format(bare)
    assert printed(build_packetdrill(source, None, 1, said.append)) == "script_path first\n"
    assert f"compiling commit {first[:12]}" in said
    assert printed(build_packetdrill(source, second, 1, print)) == "script_path second\n"
    with pytest.raises(RunError, match="choosing commit nothing failed"):
        build_packetdrill(source, "nothing", 1, print)


def test_a_build_that_fails_says_why_and_leaves_what_was_built_before(tmp_path: Path) -> None:
    source = write_source(tmp_path / "source", "before")
    build_packetdrill(str(source), None, 1, print)
    (source / "packetdrill.c").write_text("int main(void) { return wrong; }\n")
    with pytest.raises(RunError, match=r"compiling failed: .*wrong.* undeclared.*log: "):
        build_packetdrill(str(source), None, 1, print)
    (source / "packetdrill.c").write_text("int main(void) { return 1; }\n")
    with pytest.raises(RunError, match="does not start"):
        build_packetdrill(str(source), None, 1, print)
    assert printed(built_packetdrill()) == "script_path before\n"
    assert sorted(path.name for path in built_packetdrill().parent.iterdir()) == ["build.log", "packetdrill"]


def test_what_is_no_source_is_an_error_that_says_what_is_wanted(tmp_path: Path) -> None:
    for source, commit, problem in (
        (
            str(tmp_path),
            None,
            r"no packetdrill source; gtests/net/packetdrill/packetdrill\.c is wanted in it",
        ),
        (str(tmp_path / "none"), None, "no such folder or archive, and no address of a git repository"),
        (str(tmp_path), "abc", "commit: .* is no address of a git repository; it is built as it is"),
        (f"file://{tmp_path}/none", None, "fetching failed.*name a folder or an archive"),
    ):
        with pytest.raises(RunError, match=problem):
            build_packetdrill(source, commit, 1, print)
    assert not built_packetdrill().exists()


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        RunError, match=r"packetdrill cannot be built here: .*bison.* missing; `apt-get install"
    ):
        build_packetdrill(str(tmp_path), None, 1, print)


def test_the_program_is_the_given_one_then_the_built_one_then_that_in_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(RunError, match=r"no packetdrill at .*nowhere; `cwndlab linux packetdrill` builds it"):
        find_packetdrill(tmp_path / "nowhere")
    in_path, built = tmp_path / "packetdrill", built_packetdrill()
    built.parent.mkdir(parents=True)
    for path in (in_path, built):
        path.touch(0o755)
    assert find_packetdrill(in_path) == in_path and find_packetdrill(None) == built
    built.unlink()
    assert find_packetdrill(None) == in_path


def test_the_command_names_what_it_built(tmp_path: Path) -> None:
    words = ["linux", "packetdrill", str(write_source(tmp_path / "source", "command")), "--jobs", "1"]
    done = CliRunner().invoke(command_line(words), words)
    assert done.exit_code == 0 and done.stdout.startswith(f"{built_packetdrill()}: ")


#: Prints its scheduling class, and by how many ns its timers may be late.
STAND_IN = """#!{python} -IS
import ctypes, os
print(os.sched_getscheduler(0), ctypes.CDLL(None).prctl(30))
"""


@pytest.mark.usefixtures("virtual")
def test_a_script_leaves_the_real_time_class_in_which_it_would_starve_the_kernels_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the kernel is in the user's cache
    program, script = tmp_path / "program", tmp_path / "a.pkt"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    script.touch()
    (result,) = run(images.find(), program, [ScriptRun(script)])
    assert result.holds and result.output == f"{os.SCHED_OTHER} 1\n"
