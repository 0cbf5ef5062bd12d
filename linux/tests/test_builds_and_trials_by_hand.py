"""Steps of builds, laws in a tree, reports of bisections, and outcomes of valid runs, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cwndlab.base.errors import RunError
from cwndlab_linux import entry, quic_stacks, real_kernel
from cwndlab_linux.differ import study_case
from cwndlab_linux.differ.random_scenario import Alignment
from cwndlab_linux.real_kernel import Kernel, RunProcess
from cwndlab_linux.stack import STACKS
from cwndlab_linux.virtual import build, source, trials
from cwndlab_linux.virtual.steps import BuildSteps, environment, missing_tools, output_of
from cwndlab_linux.virtual.trials import FirstBad, report

# ── builds ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("for k in 1 2 3 4 5 6; do echo $k; done; exit 1", "2 | 3 | 4 | 5 | 6"),
        (
            "for k in 1 2 3 4; do echo x.c:$k: error: e$k; done; echo end; exit 1",
            "x.c:1: error: e1 | x.c:2: error: e2 | x.c:3: error: e3",
        ),
        ("exit 3", "sh ended with 3"),
    ],
)
def test_a_step_that_fails_quotes_its_errors_or_its_last_lines(tmp_path: Path, code: str, said: str) -> None:
    steps = BuildSteps(tmp_path / "log", lambda line: None)
    seen: list[str] = []
    steps.run(["sh", "-c", "echo one; pwd"], tmp_path, "first", seen.append)
    assert seen == ["one\n", f"{tmp_path}\n"]
    with pytest.raises(RunError) as caught:
        steps.run(["sh", "-c", code], tmp_path, "compiling")
    assert str(caught.value) == f"compiling failed: {said}; log: {tmp_path / 'log'}"
    assert (tmp_path / "log").read_text().startswith("one\n")


def test_a_build_has_a_small_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O9")
    monkeypatch.setenv("HOME", "/me")
    found = environment()
    assert found["HOME"] == "/me" and "CFLAGS" not in found
    assert (found["KBUILD_BUILD_USER"], found["LC_ALL"], found["XZ_DEFAULTS"]) == (
        "cwndlab",
        "C",
        "--threads=0",
    )
    assert output_of(["sh", "-c", "echo $LC_ALL"]) == "C\n" and output_of(["no-such-command"]) == ""
    assert missing_tools({"sh": "dash", "no-such-tool": "package", "nor-this": "other"}) == (
        "no-such-tool, nor-this missing; `apt-get install package other`"
    )


def law(folder: Path, name: str, text: str = "new") -> Any:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.c").write_text(text)
    return SimpleNamespace(path=folder / f"{name}.c", names=(name,))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree/net/ipv4"
    place.mkdir(parents=True)
    (place / "Makefile").write_text("obj-y := tcp.o\n")
    (place / "tcp_old.c").write_text(
        'static struct tcp_congestion_ops o __read_mostly = {\n\t.name = "old",\n};\n'
    )
    return tmp_path / "tree"


def test_laws_take_the_place_of_earlier_ones_in_a_tree(tree: Path, tmp_path: Path) -> None:
    said: list[str] = []
    steps = BuildSteps(tmp_path / "log", said.append)
    place = tree / "net/ipv4"
    assert build._place(tree, (law(tmp_path / "a", "one"), law(tmp_path / "a", "two")), [], steps) == [
        "one.c",
        "two.c",
    ]
    flags = "-w -Wno-all -Wno-extra"
    lines = [f"obj-y += {name}.o\nCFLAGS_REMOVE_{name}.o := {flags}\n" for name in ("one", "two")]
    assert (place / "Makefile").read_text() == f"obj-y := tcp.o\n# cwndlab's laws\n{lines[0]}{lines[1]}"
    assert said == ["added one.c, two.c"]
    (place / "two.c").touch()
    made = (place / "two.c").stat().st_mtime_ns
    assert build._place(tree, (law(tmp_path / "a", "two"),), ["one.c", "two.c"], steps) == ["two.c"]
    assert not (place / "one.c").exists() and (place / "two.c").stat().st_mtime_ns == made
    assert (place / "Makefile").read_text() == f"obj-y := tcp.o\n# cwndlab's laws\n{lines[1]}"
    assert build._place(tree, (), ["two.c"], steps) == []
    assert (place / "Makefile").read_text() == "obj-y := tcp.o\n" and not (place / "two.c").exists()


def test_a_law_or_file_that_linux_has_is_an_error(tree: Path, tmp_path: Path) -> None:
    steps = BuildSteps(tmp_path / "log", lambda line: None)
    with pytest.raises(RunError, match="Linux has a law old already; choose another name"):
        build._place(tree, (law(tmp_path / "a", "old"),), [], steps)
    (tree / "net/ipv4/mine.c").write_text("theirs")
    with pytest.raises(RunError, match=r"Linux has net/ipv4/mine\.c already; choose another name"):
        build._place(tree, (law(tmp_path / "a", "mine"),), [], steps)
    assert build._place(tree, (law(tmp_path / "a", "mine"),), ["mine.c"], steps) == ["mine.c"]


def test_only_changed_files_are_replaced_in_a_kept_tree(tree: Path, tmp_path: Path) -> None:
    said: list[str] = []
    kept = tmp_path / "kept"
    (kept / "net/ipv4").mkdir(parents=True)
    (kept / "net/ipv4/Makefile").write_text("obj-y := tcp.o\n")
    before = (kept / "net/ipv4/Makefile").stat().st_mtime_ns
    build._update(kept, tree, BuildSteps(tmp_path / "log", said.append))
    assert said == ["1 file changed since the last build of this folder"]
    assert (kept / "net/ipv4/tcp_old.c").is_file() and (
        kept / "net/ipv4/Makefile"
    ).stat().st_mtime_ns == before


def test_a_source_is_known_by_its_content_or_its_place() -> None:
    assert (
        build._origin(None, None) == "debian" and build._origin(Path("x"), "0123456789abcdef") == "0123456789"
    )
    assert build._origin(Path("/a"), None) != build._origin(Path("/b"), None)
    assert len(build._origin(Path("/a"), None)) == 10


def test_compiling_is_reported_each_25_files_with_warnings_of_laws(tmp_path: Path) -> None:
    said: list[str] = []
    asked: list[Any] = []

    class Steps:
        say = staticmethod(said.append)

        def run(self, command: list[str], folder: Path, what: str, each: Any) -> None:
            asked.append((command, folder, what))
            for k in range(50):
                each(f"  CC      f{k}.o\n")
                each("  LD      x\n")
            each("mine.c:1: warning: w\n")

    build._compile(tmp_path, 3, Steps())  # type: ignore[arg-type]
    assert said == [
        "compiling: 25 files of about 600",
        "compiling: 50 files of about 600",
        "mine.c:1: warning: w",
    ]
    flags = "KCFLAGS=-w -Wno-all -Wno-extra -ftrack-macro-expansion=0"
    assert asked == [(["make", "ARCH=um", "-j3", flags, "linux"], tmp_path, "compiling")]


def test_a_stack_is_built_once_and_installed_with_its_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    stack = next(one for one in quic_stacks.recipes() if one.builder == "go")
    built: list[str] = []

    def make(stack: Any, folder: Path) -> None:
        built.append(folder.name)
        (folder / "program").write_text("#!/bin/sh\n")

    monkeypatch.setitem(quic_stacks._BUILDERS, "go", make)
    said: list[str] = []
    assert not stack.is_built
    quic_stacks.build(stack, said.append)
    quic_stacks.build(stack, said.append)
    assert stack.is_built and len(built) == 1 and said == [f"building {stack.title} {stack.version} ..."]
    assert (stack.folder / "program").stat().st_mode & 0o777 == 0o755
    assert set(stack.files) <= {str(path.relative_to(stack.folder)) for path in stack.folder.rglob("*")}
    folder = quic_stacks.commands_folder()
    certificate, key = quic_stacks._certificate()
    program = stack.folder / "program"
    for role, files in (("server", f"{certificate} {key}"), ("client", f"{certificate}")):
        wrapper = folder / f"{stack.name}-{role}"
        assert wrapper.read_text() == f'#!/bin/sh\nexec {program} {role} "$@" {files}\n'
        assert wrapper.stat().st_mode & 0o777 == 0o755
    key.unlink()
    assert not stack.is_built
    assert not [
        path for path in stack.folder.parent.iterdir() if path.name.startswith(f"{stack.folder.name}.")
    ]


# ── bisections and differences ────────────────────────────────────────────────────────────────────────


def number(a: float, b: float, significant: bool = True) -> Any:
    return SimpleNamespace(cell="c", quantity="q", a=a, b=b, unit="Mb/s", significant=significant)


def test_a_report_has_the_steps_the_numbers_and_the_packets() -> None:
    found = FirstBad(
        "abc",
        "abc title",
        "def title",
        [number(2.0, 2.5), number(0.0, 1.0, False)],
        {"c": "differs"},
        [12.4, 30.6, 20.0],
        ["ghi"],
    )  # type: ignore[dict-item]
    assert report(found, SimpleNamespace(title="T")) == (  # type: ignore[arg-type]
        "# abc title\n\n"
        "The first kernel at which the numbers of “T” move: abc.\n"
        "The last at which they do not: def title.\n"
        "Found in 3 steps of 12 to 31 CPU s.\n\n"
        "Not built, so not tested: ghi.\n\n"
        "| cell | quantity | before | after | change | significant |\n"
        "|---|---|---:|---:|---:|---|\n"
        "| c | q | 2 Mb/s | 2.5 Mb/s | +25 % | yes |\n"
        "| c | q | 0 Mb/s | 1 Mb/s | – | no |\n\n"
        "- c: differs\n"
    )
    short = FirstBad("abc", "abc title", "def title", [], {}, [5.0], [])
    assert "Found in 1 step of 5 CPU s." in report(short, SimpleNamespace(title="T"))  # type: ignore[arg-type]
    none = FirstBad("abc", "abc title", "def title", [], {}, [], [])
    assert report(none, SimpleNamespace(title="T")).count("\n") == 5  # type: ignore[arg-type]


def test_a_kernel_is_kept_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "linux"
    path.write_text("kernel")
    monkeypatch.setattr(trials.Image, "from_folder", lambda path: path)
    kept = trials.keep(SimpleNamespace(digest="d1", path=path), tmp_path)  # type: ignore[arg-type]
    assert kept == tmp_path / "d1/linux" and kept.read_text() == "kernel"  # type: ignore[comparison-overlap, union-attr]


@pytest.mark.parametrize("trains", [False, True])
def test_a_cell_is_aligned_to_a_kernels_starts_ticks_and_draws(trains: bool) -> None:
    names = [{"name": "a", "start_ns": 1, "tcp_server": 0}, {"name": "b", "start_ns": 2, "tcp_server": 1}]
    one = {"trains": "paced", "rto": {"min_ns": 5}, "window_law": "cubic"}
    scenario = {"traffic": names, "tcp": [one, {"trains": "paced", "rto": {}, "window_law": {"bbr1": {}}}]}
    cell = SimpleNamespace(scenario=json.dumps(scenario), compiled=SimpleNamespace(scenario=scenario))
    case = study_case.StudyCase(cell, 7, trains) if trains else study_case.StudyCase(cell, 7)  # type: ignore[arg-type]
    assert case.laws == ["cubic", "bbr1"] and case.compile() == cell.scenario
    found = json.loads(case.compile(Alignment((10, 20), 99, (0, 3))))
    assert [(one["name"], one["start_ns"]) for one in found["traffic"]] == [("a", 10), ("b-3", 20)]
    assert found["tcp"][0]["rto"] == {"min_ns": 5, "timer_hz": 1000, "tick_phase_ns": 99}
    assert {one["trains"] for one in found["tcp"]} == {"linux" if trains else "paced"}


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────


def job(**changes: Any) -> Any:
    values = {"cell": "c", "key": "key", "seed": 3, "replicate": 0, "is_first": True, "keep_records": True}
    return SimpleNamespace(**values | changes)


def test_a_run_begins_with_its_job_and_has_two_minutes_more_than_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(real_kernel, "make_folder", lambda: tmp_path)
    monkeypatch.setattr(Kernel, "start", lambda self, job, content, folder: started.append(content))
    made = Kernel(STACKS["linux-laws"], real_time=False, device="packet")
    run = made.begin(job(), {"duration_ns": 5_000_000_000}, Path("/r/router"), 2)
    assert run.deadline - run.began == pytest.approx(125) and run.attempt == 2 and run.folder == tmp_path
    (content,) = started
    assert (content["seed"], content["replicate"], content["router"], content["folder"]) == (
        3,
        0,
        "/r/router",
        str(tmp_path),
    )
    assert (content["real_time"], content["device"], content["capture"]) == (False, "packet", False)
    keeping = Kernel(STACKS["linux-laws"], keep=tmp_path)
    for first in (True, False):
        keeping.begin(job(is_first=first), {"duration_ns": 1}, Path("/r"), 1)
        assert started[-1]["capture"] is first


@pytest.mark.parametrize("capture", [True, False])
def test_a_valid_run_has_its_numbers_and_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capture: bool
) -> None:
    folder, keep = tmp_path / "run", tmp_path / "kernel"
    folder.mkdir()
    result = {"processes_failed": [], "processes": [], "sysctls": {}, "summary": {"packets": 42}}
    (folder / "result.json").write_text(json.dumps(result))
    if capture:
        (folder / "capture.pcapng").write_bytes(b"packets")
    zeros: list[Any] = []
    monkeypatch.setattr(real_kernel.validity, "judge", lambda result, limits: [])
    monkeypatch.setattr(real_kernel.validity, "stamp", lambda result, scenario: {})
    monkeypatch.setattr(real_kernel, "watched_host", lambda scenario: 5)
    watched: list[Any] = []

    def tables(scenario: Any, result: Any, trace: Path, watch: int | None) -> tuple[dict[str, Any], int]:
        watched.append(watch)
        return {}, 77

    monkeypatch.setattr(real_kernel.run_records, "tables", tables)
    monkeypatch.setattr(real_kernel.run_records, "set_zero", lambda path, zero: zeros.append(zero))
    monkeypatch.setattr(real_kernel, "encode_tables", lambda made, key: f"records of {key}")
    work: Any = SimpleNamespace(measure=lambda job, kernel: {"q": float(kernel.packets)})
    scenario = {"duration_ns": 1, "traffic": []}
    for asked, records in ((job(), "records of key"), (job(keep_records=False, is_first=False), None)):
        run = RunProcess(asked, scenario, folder, SimpleNamespace(), 1, 0.0, 0.0)  # type: ignore[arg-type]
        outcome, reasons = Kernel(STACKS["linux-laws"], keep=keep)._outcome(run, work)
        assert (outcome.error, outcome.values, outcome.packets, reasons) == (None, {"q": 42.0}, 42, [])
        assert outcome.records == records
    assert watched == [5, None] and zeros == ([77, 77] if capture else [])
    assert (keep / "c.pcapng").exists() is capture
    failing: Any = SimpleNamespace(measure=lambda job, kernel: 1 // 0)
    run = RunProcess(job(), scenario, folder, SimpleNamespace(), 1, 0.0, 0.0)  # type: ignore[arg-type]
    error = Kernel(STACKS["linux-laws"])._outcome(run, failing)[0].error
    assert str(error).startswith("records: ZeroDivisionError: ")


def test_a_plan_runs_on_the_kernel_of_the_options_or_of_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    base = SimpleNamespace(run=SimpleNamespace(stack="linux-stock"), limits=real_kernel.Limits(), tcp=None)
    study = SimpleNamespace(base=base, folder=Path("/study"))
    cells = [SimpleNamespace(id="a", kernel=None), SimpleNamespace(id="b", kernel="7.3")]
    plan: Any = SimpleNamespace(study=study, cells=cells)

    def options(**changes: Any) -> Any:
        values = {"stack": None, "threads": 3, "backend": "linux-virtual", "kernel": None, "verify": True}
        return SimpleNamespace(**values | changes)

    monkeypatch.setattr(entry, "find_router", lambda: None)
    monkeypatch.setattr(entry, "find", lambda name: f"image {name}")
    both: Any = entry.executor(options(), plan)
    assert (both.image, both.others, both.folder, both.verify) == (
        "image None",
        {"b": "image 7.3"},
        Path("/study"),
        True,
    )
    one: Any = entry.executor(options(kernel="6.1"), plan)
    assert (one.image, one.others, one.at_once, one.stack.name) == ("image 6.1", {}, 3, "linux-stock")
    real: Any = entry.executor(options(backend="linux", stack="linux-1998"), plan)
    assert type(real) is Kernel and real.stack.name == "linux-1998" and not real.verify


# ── sources ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_source_says_its_version_in_its_makefile_or_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        RunError, match=r"the name must say which version it is, such as linux-6\.12\.48\.tar\.xz"
    ):
        source.version_in(Path("kernel.tar.xz"))
    assert source.version_in(Path("/x/linux-6.12.48.tar.xz")) == "6.12.48"
    assert source.version_in(Path("linux-7.3.tar.xz")) == "7.3"
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL=12\nSUBLEVEL =  5\n")
    assert source.version_of(tmp_path) == "6.12.5"
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\n")
    with pytest.raises(
        RunError, match="Makefile: no VERSION, PATCHLEVEL and SUBLEVEL; not a kernel's source"
    ):
        source.version_of(tmp_path)
