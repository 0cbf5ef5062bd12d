"""The commands for kernels in virtual time: what they ask for, and what they print, without a kernel."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from cwndlab.base.errors import RunError, StudyError
from cwndlab.cli.registry import command_line
from cwndlab_linux import quic_stacks
from cwndlab_linux.commands import linux, shell
from cwndlab_linux.differ import differing, study_case
from cwndlab_linux.virtual import (
    bisection,
    boot,
    build,
    doctor,
    images,
    packetdrill,
    packetdrill_program,
    recipe,
    releases,
    selftests,
    source,
    terminal,
    trials,
    under_way,
)


def invoke(*words: str) -> tuple[int, str, Any]:
    ran = CliRunner().invoke(command_line(), list(words))
    return ran.exit_code, ran.output, ran.exception


# ── build ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What is built, in place of a kernel."""
    calls: list[tuple[Any, ...]] = []

    def made(wanted: recipe.Recipe, given: Path | None, jobs: int, say: Any, *, again: bool) -> Any:
        calls.append((wanted, given, jobs, again))
        say("compiling")
        return SimpleNamespace(path=Path("/k/linux"), release="6.12.5", name="6.12.5-abc")

    monkeypatch.setattr(build, "build", made)
    monkeypatch.setattr("cwndlab.runs.executors.threads.available", lambda: 7)
    return calls


def test_the_default_series_is_built_from_debian_on_all_processors(built: list[Any]) -> None:
    code, said, _ = invoke("linux", "build")
    assert (code, said.splitlines()) == (0, ["compiling", "/k/linux: Linux 6.12.5"])
    assert built == [(recipe.Recipe(recipe.SERIES["6.12"]), None, 7, False)]


def test_a_kernel_with_settings_is_to_be_named(built: list[Any], tmp_path: Path) -> None:
    patch = tmp_path / "a.patch"
    patch.write_text("--- a/x\n+++ b/x\n")
    words = ("--kernel", "6.1", "--config", "TCP_MD5SIG=y", "--patch", str(patch), "--jobs", "2", "--again")
    _, said, _ = invoke("linux", "build", *words)
    assert said.endswith("run a study on it with --backend linux-virtual --kernel 6.12.5-abc\n")
    ((wanted, given, jobs, again),) = built
    assert wanted == recipe.Recipe(recipe.SERIES["6.1"], (patch,), (), ("TCP_MD5SIG=y",))
    assert (given, jobs, again) == (None, 2, True)


def test_a_source_is_of_the_series_that_its_makefile_names(
    built: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "version_in", lambda path: "6.12.9")
    invoke("linux", "build", "--kernel", str(tmp_path))
    assert built[0][:2] == (recipe.Recipe(recipe.SERIES["6.12"]), tmp_path)
    monkeypatch.setattr(source, "archive_of_release", lambda kernel, work, steps: work / kernel)
    invoke("linux", "build", "--kernel", "6.12.107")
    assert built[1][1].name == "6.12.107"
    assert isinstance(invoke("linux", "build", "--kernel", "2.4")[2], Exception) and len(built) == 2


@pytest.mark.parametrize(("lively", "written"), [(True, "\r\x1b[Kone\r\x1b[Ktwo\n"), (False, "one\ntwo\n")])
def test_progress_is_one_line_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lively: bool, written: str
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: lively)
    with linux._progress() as say:
        say("one")
        say("two")
    assert capsys.readouterr().err == written


# ── test, packetdrill ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Result:
    run: Any
    holds: bool
    output: str = "all of it"
    reason: str = "a reason"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Two scripts for each version of IP: `a` holds, `b` holds at its own tolerance if `holds` says so."""
    state: dict[str, Any] = {"holds": True, "digests": ["d1", "d1"], "starts": 0, "asked": []}

    def runs_of(image: Any, version: str, tolerance_us: int, only: str) -> list[Any]:
        state["asked"].append((version, tolerance_us, only))
        return [Script(f"{name}.pkt", version, tolerance_us) for name in "ab"]

    def run(image: Any, program: Any, scripts: list[Any]) -> list[Result]:
        state["starts"] += 1
        state["program"] = program
        return [
            Result(one, one.path.name == "a.pkt" or (state["holds"] and one.tolerance == 4000))
            for one in scripts
        ]

    monkeypatch.setattr(images, "find", lambda kernel: SimpleNamespace(name=f"kernel {kernel}"))
    monkeypatch.setattr(packetdrill_program, "find_packetdrill", lambda path: path or "found")
    monkeypatch.setattr(selftests, "ip_versions", lambda image: ["ipv4", "ipv6"])
    monkeypatch.setattr(selftests, "runs_of", runs_of)
    monkeypatch.setattr(packetdrill, "run", run)
    monkeypatch.setattr(packetdrill, "digest_of", lambda results: state["digests"][state["starts"] - 1])
    return state


class Script:
    """A script with its tolerance."""

    def __init__(self, name: str, version: str, tolerance: int) -> None:
        self.path, self.version, self.tolerance = Path(name), version, tolerance


def test_scripts_run_twice_at_both_tolerances_over_both_versions_of_ip(scripts: dict[str, Any]) -> None:
    code, said, _ = invoke("linux", "test", "6.12", "--only", "x")
    assert (code, said.splitlines()) == (
        0,
        [
            "repetition 1 of 2: 8 runs of scripts",
            "repetition 2 of 2: 8 runs of scripts",
            "kernel 6.12: 2 of 2 scripts hold at their own tolerance",
            "kernel 6.12: 1 of 2 scripts hold at 1 ms",
            "kernel 6.12: 2 of 2 scripts hold over IPv6 at their own tolerance",
            "kernel 6.12: 1 of 2 scripts hold over IPv6 at 1 ms",
            "digest of all output: d1, equal in all repetitions",
        ],
    )
    assert scripts["asked"] == [(ip, tolerance, "x") for ip in ("ipv4", "ipv6") for tolerance in (4000, 1000)]
    assert scripts["program"] == "found"


def test_a_script_that_fails_and_repetitions_that_differ_end_with_1(scripts: dict[str, Any]) -> None:
    scripts |= {"holds": False, "digests": ["d1"]}
    code, said, _ = invoke("linux", "test", "--repeat", "1", "--packetdrill", "/p")
    assert code == 1 and said.splitlines()[-3:-1] == ["    b.pkt: a reason", "    b.pkt over IPv6: a reason"]
    assert scripts["program"] == Path("/p")
    scripts |= {"starts": 0}
    assert "    b.pkt: all of it" in invoke("linux", "test", "--repeat", "1", "-v")[1]
    scripts |= {"holds": True, "digests": ["d1", "d2", "d1"], "starts": 0}
    code, said, _ = invoke("linux", "test", "--repeat", "3")
    assert (code, said.splitlines()[-1]) == (1, "digest of all output: d1, DIFFERENT: d2, d1")


def test_packetdrill_is_built_from_googles_repository_or_another_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def made(address: str, commit: str | None, jobs: int, say: Any) -> str:
        asked.append((address, commit, jobs))
        return "/p/packetdrill"

    monkeypatch.setattr(packetdrill_program, "build_packetdrill", made)
    code, said, _ = invoke("linux", "packetdrill", "--jobs", "3")
    assert (code, asked) == (0, [(packetdrill_program.ADDRESS, None, 3)])
    assert said.startswith("/p/packetdrill: `cwndlab packetdrill SCRIPT… --kernel 6.12`")
    invoke("linux", "packetdrill", "/mine", "--commit", "abc", "--jobs", "3")
    assert asked[1] == ("/mine", "abc", 3)


# ── list, remove, stacks ──────────────────────────────────────────────────────────────────────────────


def test_kernels_are_listed_with_what_they_were_built_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    about: dict[str, dict[str, Any]] = {
        "stock": {"congestion_controls": ["reno", "cubic"]},
        "own": {"patches": ["a.patch"], "laws": ["mine.c"], "config": ["X=y"]},
    }
    folders = [tmp_path / name for name in about]
    monkeypatch.setattr(images, "built_kernels", lambda: folders)
    monkeypatch.setattr(images, "kernel_facts", lambda folder: about[folder.name])
    monkeypatch.setattr(
        images,
        "size",
        lambda folder: {"stock": 12_400_000, "own": 13_000_000}.get(folder.name, 2_000_000_000),
    )
    monkeypatch.setattr(images, "sources_folder", lambda: tmp_path)
    monkeypatch.setattr(under_way, "builds_under_way", lambda home: ["6.1, process 5"])
    assert invoke("linux", "list")[1].splitlines() == [
        "being built: 6.1, process 5",
        "stock  12 MB  stock",
        "    congestion controls: reno cubic",
        "own  13 MB  with a.patch, mine.c, X=y",
        "    congestion controls: not known",
        "compiled source, to which laws are added: 2000 MB",
    ]
    monkeypatch.setattr(images, "sources_folder", lambda: tmp_path / "none")
    monkeypatch.setattr(images, "built_kernels", lambda: [])
    monkeypatch.setattr(under_way, "builds_under_way", lambda home: [])
    assert invoke("linux", "list")[1] == "no kernel has been built yet; `cwndlab linux build` builds one\n"
    monkeypatch.setattr(images, "remove", lambda name: 12_400_000)
    assert invoke("linux", "remove", "stock")[1] == "removed stock: 12 MB\n"


def test_stacks_are_listed_or_built(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        name: SimpleNamespace(name=name, version="1.2", laws=("cubic", "bbr"), is_built=is_built)
        for name, is_built in (("one", True), ("two", False))
    }
    done: list[str] = []
    monkeypatch.setattr(quic_stacks, "recipe", known.__getitem__)
    monkeypatch.setattr(quic_stacks, "recipes", known.values)
    monkeypatch.setattr(quic_stacks, "build", lambda stack, say: done.append(stack.name))
    lines = ["one 1.2: cubic, bbr (built)", "two 1.2: cubic, bbr (not built: cwndlab linux stacks two)"]
    assert invoke("linux", "stacks")[1].splitlines() == lines and done == []
    assert invoke("linux", "stacks", "two")[1].splitlines() == lines[1:] and done == ["two"]


# ── bisect ────────────────────────────────────────────────────────────────────────────────────────────


class Ends:
    """What a bisection looks among: notes with what it is made."""

    made: list[tuple[Any, ...]] = []

    def __init__(self, *words: Any) -> None:
        self.made.append(words)

    def first_bad(self, *words: Any) -> str:
        self.made.append(words)
        return "found"


def test_a_bisection_looks_among_commits_or_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded = SimpleNamespace(name="mine")
    monkeypatch.setattr(Ends, "made", [])
    monkeypatch.setattr(linux, "load", lambda study, set_, more: loaded)
    monkeypatch.setattr(bisection, "Commits", Ends)
    monkeypatch.setattr(releases, "Releases", Ends)
    monkeypatch.setattr(trials, "Trials", lambda *words: words)
    monkeypatch.setattr(trials, "report", lambda found, study: f"{found} for {study.name}\n\n")
    monkeypatch.setattr("cwndlab.runs.executors.threads.available", lambda: 7)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine-bisect"
    code, said, _ = invoke("linux", "bisect", "mine", "--kernels", "6.1,6.12", "--on", "goodput")
    assert (code, said) == (0, f"found for mine\nreport: {folder / 'bisect.md'}\n")
    assert (folder / "bisect.md").read_text() == "found for mine\n\n"
    (kernels, (asked,)) = Ends.made
    assert kernels == (["6.1", "6.12"], folder, 7) and asked[1:5] == (loaded, folder, "goodput", None)
    Ends.made.clear()
    words = ("--source", "/tree", "--good", "v1", "--jobs", "2", "--replicates", "3", "--log", "/log")
    assert invoke("linux", "bisect", "mine", *words, "-o", "out")[0] == 0
    (commits, (asked, good, bad, log)) = Ends.made
    assert commits == (Path("/tree"), tmp_path / "out", 2) and asked[2:5] == (tmp_path / "out", None, 3)
    assert (good, bad, log) == ("v1", "HEAD", Path("/log"))
    among = (("--source", "/tree"), ("--good", "v1"), ("--kernels", "a"))
    for wrong in ((), *among[:2], (*among[2], *among[0]), (*among[2], *among[1])):
        _, _, error = invoke("linux", "bisect", "mine", *wrong)
        assert isinstance(error, StudyError) and "a bisection needs what it looks among" in str(error)


# ── differ, shell ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def differ(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """With what `cwndlab differ` compares."""
    calls: list[Any] = []

    class Fake:
        sides = ("a", "b")

        def __init__(self, *words: Any) -> None:
            calls.append(words[:-1])

        def run(self, scenarios: int, minimize: int) -> list[Any]:
            calls.append((scenarios, minimize))
            return []

    monkeypatch.setattr(images, "find", lambda name: f"image {name}")
    monkeypatch.setattr(differing, "Differ", Fake)
    monkeypatch.setattr(differing, "page", lambda rows, sides: f"{rows} {sides}")

    def compare_study(*words: Any, **keys: Any) -> str:
        calls.append((words, keys))
        return "text"

    monkeypatch.setattr(study_case, "compare_study", compare_study)
    monkeypatch.setattr("cwndlab.cli.arguments.load", lambda study, set_: f"loaded {study}")
    return calls


def test_drawn_scenarios_are_compared_with_the_default_kernel(differ: list[Any]) -> None:
    code, said, _ = invoke("differ")
    assert (code, said) == (0, "[] ('a', 'b')\nreport: differ-1/differ.md\n")
    assert differ == [(1, ("image None",), Path("differ-1"), False, False, False, None), (20, 1)]
    differ.clear()
    options = (
        "--seed",
        "4",
        "--scenarios",
        "3",
        "--minimize",
        "0",
        "--wide",
        "--trains",
        "--simple-receiver",
    )
    invoke("differ", *options, "--kernel", "6.1", "--kernel", "7.3", "-o", "x", "--threads", "2")
    images_ = ("image 6.1", "image 7.3")
    assert differ == [(4, images_, Path("x"), True, True, True, 2), (3, 0)]


def test_a_study_is_compared_with_one_kernel(differ: list[Any]) -> None:
    code, said, _ = invoke("differ", "my/study.toml", "--kernel", "6.1", "--trains")
    assert (code, said) == (0, "text\nreport: differ-study/differ.md\n")
    ((words, keys),) = differ
    assert words == ("loaded my/study.toml", None, "image 6.1", Path("differ-study"))
    assert (keys["trains"], keys["threads"]) == (True, None)
    for more, right in (
        (("a.toml", "--kernel", "1", "--kernel", "2"), "one"),
        (("--kernel", "1") * 3, "one or two"),
    ):
        _, _, error = invoke("differ", *more)
        assert isinstance(error, StudyError) and "kernels are given" in str(error) and error.right == right


def test_a_shell_opens_at_a_time_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        pass

    one = SimpleNamespace(kernel=Kernel(), cell="cell", seed=5)
    asked: list[Any] = []
    monkeypatch.setattr("cwndlab_linux.virtual.backend.VirtualKernel", Kernel)
    monkeypatch.setattr(shell, "load", lambda study, set_, more: study)
    monkeypatch.setattr(shell, "one_cell", lambda study, options: asked.append(options) or one)
    monkeypatch.setattr(terminal, "talk", lambda *words: asked.append(words[1:5]))
    assert invoke("shell", "study", "--at", "server")[0] == 0
    assert asked[1] == ("cell", 5, "server", 0)
    assert (asked[0].backend, asked[0].stack, asked[0].kernel, asked[0].seed) == (
        "linux-virtual",
        None,
        None,
        None,
    )
    invoke(
        "shell", "study", "--at", "server", "--time", "2.5s", "--seed", "9", "--stack", "s", "--kernel", "k"
    )
    assert asked[3] == ("cell", 5, "server", 2_500_000_000)
    assert (asked[2].stack, asked[2].kernel, asked[2].seed) == ("s", "k", 9)
    for time in ("soon", "2Mbps", "3"):
        _, _, error = invoke("shell", "study", "--at", "server", "--time", time)
        assert isinstance(error, StudyError) and "--time" in str(error.key) and "is no time" in str(error)


def test_lines_come_from_a_livelywith_a_prompt_or_from_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["one\n", "", "\n"])
    stdin = SimpleNamespace(isatty=lambda: False, readline=lambda: next(lines))
    monkeypatch.setattr(shell.sys, "stdin", stdin)
    assert (shell._ask("> "), shell._ask("> "), shell._ask("> ")) == ("one", None, "")
    stdin.isatty = lambda: True
    monkeypatch.setattr("builtins.input", lambda prompt: f"after {prompt}")
    assert shell._ask("> ") == "after > "

    def ends(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ends)
    assert shell._ask("> ") is None


# ── doctor ────────────────────────────────────────────────────────────────────────────────────────────


def test_what_keeps_runs_from_virtual_time_is_said_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    image = SimpleNamespace(path="/k/linux", release="6.12.5")
    found: dict[str, Any] = {"image": image, "router": None, "build": True, "start": None, "not": None}

    def find() -> Any:
        if found["image"] is None:
            raise RunError("no kernel")
        return found["image"]

    def start(image: Any) -> list[str]:
        if found["start"]:
            raise RunError(found["start"])
        return []

    monkeypatch.setattr(doctor.images, "find", find)
    monkeypatch.setattr(doctor, "installed_router", lambda: found["router"])
    monkeypatch.setattr(doctor, "can_build", lambda: found["build"])
    monkeypatch.setattr(doctor.boot, "congestion_controls", start)
    monkeypatch.setattr(doctor.build, "reason_not", lambda: found["not"])
    check = doctor.examine()
    assert (check.name, check.works, check.detail) == ("virtual time", True, "User-Mode Linux 6.12.5")
    found["build"] = False
    assert doctor.reason_not_virtual() == doctor.NOT_BUILT
    found["router"] = Path("/nowhere/router")
    assert str(doctor.reason_not_virtual()).startswith(
        "/k/linux does not start here: /nowhere/libcwndlab_live.so is not built"
    )
    found |= {"router": None, "build": True, "start": "it ended"}
    assert doctor.reason_not_virtual() == "/k/linux does not start here: it ended"
    found["start"] = "ptrace is not permitted"
    assert str(doctor.reason_not_virtual()).endswith(
        "; allow ptrace (CAP_SYS_PTRACE in a container, kernel.yama.ptrace_scope below 3)"
    )
    found["image"] = None
    assert doctor.reason_not_virtual() == "no kernel"
    found["not"] = "make missing"
    check = doctor.examine()
    assert (check.works, check.detail) == (False, "no kernel (but first: make missing)")


def test_the_last_words_of_a_guest_name_the_function_of_a_panic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "console").write_text("a\nb\nc\nd ip 0x60000150 err\n\n")
    (tmp_path / "kernel").touch()
    listed = "60000100 T start\n60000140 t inside\n60000151 T later\n60000145 d data\n"
    monkeypatch.setattr(boot.subprocess, "run", lambda command, **keys: SimpleNamespace(stdout=listed))
    assert boot.last_words(tmp_path) == "b | c | d ip 0x60000150 err (inside)"
    assert boot.function_at(tmp_path, 0x60000151) == "later" and boot.function_at(tmp_path, 0x5) == ""
    (tmp_path / "console").write_text("only\n")
    assert boot.last_words(tmp_path) == "only"

    def missing(command: Any, **keys: Any) -> None:
        raise OSError

    monkeypatch.setattr(boot.subprocess, "run", missing)
    assert boot.function_at(tmp_path, 0x60000150) == ""


def test_commands_are_a_group() -> None:
    assert isinstance(linux.linux, typer.Typer)
    code, said, _ = invoke("linux")
    assert code == 2 and "Build kernels that run in virtual time" in said
