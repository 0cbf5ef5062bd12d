"""Estimates and warnings of `check`, with trial runs written by hand, and the parts of laws in Rust."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cwndlab.apps.check import command, estimate, study_warnings
from cwndlab.apps.law_crate import crate
from cwndlab.base.errors import RunError, StudyError
from cwndlab.cli import app


class OverBudgetError(Exception):
    """What the engine raises at a limit."""

    def __init__(self, simulated_ns: int) -> None:
        super().__init__("over")
        self.simulated_ns = simulated_ns


def cell(name: str, seconds: float = 100.0, bits: float = 1e12) -> Any:
    scenario = {"duration_ns": int(seconds * 1e9), "bits": bits}
    compiled = SimpleNamespace(scenario=scenario, json=json.dumps({"cell": name}))
    return SimpleNamespace(id=name, compiled=compiled, deterministic=False)


def plan(*cells: Any, runs: int = 1, laws: Any = ()) -> Any:
    study = SimpleNamespace(laws=dict(enumerate(laws)))
    return SimpleNamespace(
        cells=cells, study=study, seed=5, runs=runs, count_requested=lambda one: runs, counted_once=0
    )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Trial runs: each takes 2 s, and ends as `outcomes` says; what was asked of them."""
    made = SimpleNamespace(asked=[], outcomes=[], now=0.0)

    def run_here(scenario: str, seed: int, replicate: int, laws: Any, **limits: Any) -> None:
        made.asked.append((json.loads(scenario), seed, replicate, limits))
        made.now += 2.0
        outcome = made.outcomes.pop(0) if made.outcomes else None
        if isinstance(outcome, int):
            raise OverBudgetError(outcome)
        if outcome is not None:
            raise outcome

    monkeypatch.setattr(estimate, "run_here", run_here)
    monkeypatch.setattr(estimate, "BudgetError", OverBudgetError)
    monkeypatch.setattr(estimate, "default_budget", lambda: (10_000_000, 100_000_000))
    monkeypatch.setattr(estimate, "most_bits", lambda scenario: scenario["bits"])
    monkeypatch.setattr(estimate.time, "perf_counter", lambda: made.now)
    return made


@pytest.mark.parametrize(("at_once", "seconds"), [(1, 60.0), (3, 20.0), (4, 15.0), (9, 15.0)])
def test_runs_in_real_time_take_their_durations(at_once: int, seconds: float) -> None:
    assert estimate.real_seconds(plan(cell("a", 10.0), cell("b", 20.0), runs=2), at_once) == seconds


def test_up_to_three_cells_are_tried_for_a_fiftieth_of_their_time_or_a_second(engine: Any) -> None:
    cells = [cell(name, 500.0) for name in "abcdefg"]
    assert estimate.estimate_seconds(plan(*cells, runs=7)) == pytest.approx(2.0 * 50 * 7)
    assert [one["bits"] for one, *_ in engine.asked] == [1e12] * 3
    assert {one["duration_ns"] for one, *_ in engine.asked} == {10_000_000_000}
    assert engine.asked[0][1:] == (5, 0, {"max_events": 2_000_000, "max_seconds": 1.0})
    engine.asked.clear()
    assert estimate.estimate_seconds(plan(cell("a", 20.0))) == pytest.approx(2.0 * 20)
    assert estimate.estimate_seconds(plan(cell("a", 0.5))) == pytest.approx(2.0)
    assert [one["duration_ns"] for one, *_ in engine.asked] == [1_000_000_000, 500_000_000]


def test_a_trial_that_meets_its_limit_is_scaled_from_where_it_got(engine: Any) -> None:
    engine.outcomes = [500_000_000, None]
    assert estimate.estimate_seconds(plan(cell("a"), cell("b"), runs=3)) == pytest.approx((400 + 100) / 2 * 3)
    for outcome, text in ((0, "a: over"), (RunError("it failed"), "a: it failed")):
        engine.outcomes = [outcome]
        with pytest.raises(RunError, match=text):
            estimate.estimate_seconds(plan(cell("a")))


def test_a_cell_that_needs_more_events_than_its_budget_is_named(engine: Any) -> None:
    """2 million events reach 10 s, so 100 s need 20 million, and 10 million reach 50 s."""
    engine.outcomes = [10_000_000_000]
    text = estimate.excess_of_budget(plan(cell("a", bits=3e10), cell("b", bits=4e10)))
    assert text.startswith(
        "b is likely to need 2.0e+07 events, more than --max-events (1.0e+07), and to fail after some 50 s "
        "of 100 s; "
    )
    assert engine.asked == [({"cell": "b"}, 5, 0, {"max_events": 2_000_000})]


def test_memory_is_extrapolated_from_a_twentieth_and_a_tenth(engine: Any) -> None:
    """5 MB at 1 s and 10 MB at 2 s: 500 MB at 100 s, and 100 MB at 20 s."""
    engine.outcomes = [30_000_000_000, 1_000_000_000, 2_000_000_000]
    text = estimate.excess_of_budget(plan(cell("a")))
    assert text.startswith(
        "a is likely to need 500 MB of memory, more than --max-memory (100 MB), and to fail after some 20 s "
    )
    limits = [limit for *_, limit in engine.asked]
    assert limits[1:] == [
        {"max_events": 2_000_000, "max_memory_bytes": 5_000_000},
        {"max_events": 2_000_000, "max_memory_bytes": 10_000_000},
    ]
    engine.outcomes = [30_000_000_000, 1_000_000_000, 2_000_000_000]
    assert estimate.excess_of_budget(plan(cell("a")), max_memory_bytes=1_000_000).startswith("a is likely")
    engine.asked.clear()
    engine.outcomes = [1_000_000_000]
    few = estimate.excess_of_budget(plan(cell("a", 1.5)), max_events=2_000_000)
    assert few.startswith("a is likely to need 3.0e+06 events, more than --max-events (2.0e+06)")


@pytest.mark.parametrize(
    ("outcomes", "bits", "more"),
    [
        ([None], 1e12, {}),
        ([RunError("x")], 1e12, {}),
        ([0], 1e12, {}),
        ([10_000_000_000], 1.99e10, {}),
        ([20_000_000_000, None, None], 1e12, {}),  # 10 million events are just enough
        ([30_000_000_000, 1_000_000_000, None], 1e12, {}),
        ([30_000_000_000, 2_000_000_000, 2_000_000_000], 1e12, {}),
        ([30_000_000_000, 1_000_000_000, 30_000_000_000], 1e12, {}),
        ([30_000_000_000, 10_000_000_000, 15_000_000_000], 1e12, {"seconds": 105.0}),
        ([1_000_000_000, 500_000_000, None], 1e12, {"max_events": 1_999_999}),
    ],
)
def test_a_cell_that_stays_within_its_budget_is_not_named(
    outcomes: list[Any], bits: float, more: dict[str, Any], engine: Any
) -> None:
    engine.outcomes = outcomes
    seconds = more.pop("seconds", 100.0)
    assert estimate.excess_of_budget(plan(cell("a", seconds, bits)), **more) == ""


def test_a_law_of_ones_own_is_not_tried(engine: Any) -> None:
    assert estimate.excess_of_budget(plan(cell("a"), laws=["law"])) == "" and engine.asked == []


def warned(*scenarios: dict[str, Any]) -> list[str]:
    cells = [
        SimpleNamespace(id=f"c{k}", compiled=SimpleNamespace(scenario=one)) for k, one in enumerate(scenarios)
    ]
    return study_warnings.study_warnings(cast(Any, SimpleNamespace(cells=cells)))


def scenario(queue: dict[str, Any], *tcp: dict[str, Any]) -> dict[str, Any]:
    return {"links": [{"name": "neck", "queue": queue}], "tcp": list(tcp) or [{"mss": 1460}]}


def test_a_queue_that_holds_less_than_a_packet_is_named_once() -> None:
    holds = "the queue of neck holds 1499 bytes, less than a packet of 1500"
    text = f"{holds}: packets that would wait are dropped"
    short = scenario({"limit": 1499, "unit": "bytes"})
    assert warned(short, short) == [text]
    assert warned(short, scenario({"limit": 1500, "unit": "bytes"}), short) == [
        f"{text} (in 2 of 3 cells, the first: c0)"
    ]
    assert warned(scenario({"limit_bytes": 1499})) == [text]
    for queue in ({"limit": 1, "unit": "packets"}, {"limit_bytes": 1500}, {}, {"limit": 5}):
        assert warned(scenario(queue)) == []
    larger = scenario({"limit": 1500, "unit": "bytes"}, {"mss": 536}, {"mss": 1461, "header_bytes": 40}, {})
    assert "a packet of 1501" in warned(larger)[0]


def test_a_law_without_the_ecn_that_it_needs_is_named() -> None:
    own = study_warnings.default_ecn("dctcp")
    assert own is not None
    for mode in ("off", "accept", "rfc3168", "rfc3168-ect1"):
        (text,) = warned(scenario({}, {"window_law": "dctcp", "ecn": mode}))
        assert text.startswith(f'dctcp has ecn = "{mode}" in place of its own "{own}": ')
    assert warned(scenario({}, {"window_law": "dctcp", "ecn": own})) == []
    assert warned(scenario({}, {"window_law": "reno", "ecn": "off"}, {})) == []


@pytest.mark.parametrize(("once", "words"), [(0, ""), (1, "in 1 of 2 cells,"), (2, "in this study,")])
def test_cells_in_which_nothing_is_random_are_counted(once: int, words: str) -> None:
    made = SimpleNamespace(counted_once=once, cells=["a", "b"])
    text = study_warnings.same_replicates(cast(Any, made))
    assert text == "" if not once else text.startswith(f"nothing is random {words}")


@pytest.mark.parametrize(
    ("values", "text"), [(set(), ""), ({3}, "3"), ({1, 5, 3}, "1 to 5"), ({0.5, 2.0}, "0.5 to 2")]
)
def test_a_range_of_numbers(values: set[float], text: str) -> None:
    assert command._range(values) == text


# ── laws in Rust ──────────────────────────────────────────────────────────────────────────────────────────


def manifest(folder: Path, text: str) -> Path:
    (folder / "Cargo.toml").write_text(text, encoding="utf-8")
    return folder


STATED = "[package.metadata.cwndlab]\n"


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("", {"uses_random": False, "ecn": ""}),
        (STATED + 'ecn = "l4s"', {"uses_random": False, "ecn": "l4s"}),
        (STATED + "uses_random = true", {"uses_random": True, "ecn": ""}),
    ],
)
def test_a_crate_states_its_laws_attributes(text: str, stated: dict[str, object], tmp_path: Path) -> None:
    folder = manifest(tmp_path, f'[package]\nname = "mine"\n{text}')
    assert crate._stated(folder, crate._manifest(folder)) == stated
    assert crate.default_name(folder) == "mine"


@pytest.mark.parametrize(
    ("text", "problem", "right"),
    [
        (STATED + "uses_randm = true", "has uses_randm, which no law has", 'did you mean "uses_random"?'),
        (STATED + 'uses_random = "yes"', "uses_random is 'yes'", "uses_random = true, ecn"),
        (STATED + 'ecn = "l4s"\nx = 1', "has x, which no law has", "known: uses_random, ecn"),
    ],
)
def test_attributes_that_no_law_has_are_errors(text: str, problem: str, right: str, tmp_path: Path) -> None:
    folder = manifest(tmp_path, f'[package]\nname = "mine"\n{text}')
    with pytest.raises(StudyError, match=problem) as caught:
        crate._stated(folder, crate._manifest(folder))
    assert caught.value.key == "--cc-crate" and str(caught.value.right).startswith(right)


@pytest.mark.parametrize(
    "text", ["[package", "[package]\nversion = 1", "[package]\nname = 5", "package = 3", "a = 1"]
)
def test_a_folder_without_a_manifest_of_a_package_is_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read"):
        crate._manifest(tmp_path)
    with pytest.raises(StudyError, match=r"Cargo\.toml: ") as caught:
        crate._manifest(manifest(tmp_path, text))
    assert ("it has no [package] with a name" in str(caught.value)) is (text != "[package")


def test_a_crate_is_unpacked_with_the_engine_of_this_installation(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": 'cwndlab-tcp = { path = "../x/crates/cwndlab-tcp" }\nb = { path = "../b" }\n',
        "src/lib.rs": '"../crates/cwndlab-tcp"',
        "../../b/Cargo.toml": 'c = "C:\\\\x\\\\cwndlab-net"',
    }
    folder = crate._unpack("mine", files, tmp_path)
    assert folder == tmp_path / "crates" / "crates" / "mine"
    root = json.dumps(str(crate.ROOT / "crates" / "cwndlab-tcp"))
    text = (folder / "Cargo.toml").read_text()
    assert f"cwndlab-tcp = {{ path = {root} }}" in text and 'b = { path = "../b" }' in text
    assert (folder / "src/lib.rs").read_text() == '"../crates/cwndlab-tcp"'
    net = json.dumps(str(crate.ROOT / "crates" / "cwndlab-net"))
    assert (tmp_path / "crates/b/Cargo.toml").read_text() == f"c = {net}"


def test_the_library_of_a_law_depends_on_all_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = crate._kept({"a": "1", "b": "2"})
    assert one == crate._kept({"b": "2", "a": "1"}) and one != crate._kept({"a": "1", "b": "3"})
    assert one.parent == tmp_path / "cwndlab" / "laws" and re.fullmatch(r"[0-9a-f]{32}\.so", one.name)
    monkeypatch.setattr(crate, "engine_digest", lambda: "other")
    assert one != crate._kept({"a": "1", "b": "2"})


def test_a_file_is_written_only_if_its_text_is_new(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert crate._write_if_new(file, "1") and not crate._write_if_new(file, "1")
    assert crate._write_if_new(file, "2") and file.read_text() == "2"
    assert crate._lines("a\n'b'") == "        'a\\n'\n        \"'b'\"\n"
    assert crate._lines("") == "        ''\n"


def test_the_inputs_of_a_law_are_those_outside_of_the_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(crate, "ROOT", tmp_path / "engine")
    names = ["engine/crates/x.rs", "wrapper/lib.rs", "my law/src/lib.rs", "other/a.rs", "my law/Cargo.toml"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    listed = " ".join(str(tmp_path / name).replace(" ", "\\ ") for name in [*names[:4], "gone"])
    found = set(crate._inputs(f"{tmp_path}/law.so: {listed}\n", tmp_path / "wrapper"))
    assert found == {tmp_path / name for name in names[2:]}


def failure(*said: str) -> StudyError:
    return crate._failure(Path("law"), list(said))


def test_what_cargo_says_is_shown_up_to_forty_lines() -> None:
    made = failure("   Compiling x\n", "error[E1]: wrong\n --> a\n\n", "warning: w\n\n", "error: more\n")
    said = "error[E1]: wrong\n --> a\nerror: more"
    assert made.problem == f"cargo cannot build the law in law:\n{said}"
    assert str(made.right).startswith("what the compiler says")
    assert failure("nothing found\n").problem.endswith(":\nnothing found")
    long = failure("error: " + "x\n" * 60)
    assert len(long.problem.splitlines()) == 1 + crate.MOST_LINES == 41
    assert str(failure("error: no function `new` in law\n").right).startswith("pub fn new(seed: u64)")


def test_a_crate_of_another_copy_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crate, "ROOT", Path("/own"))
    for one, two in (("/own/crates/cwndlab-tcp", "/other"), ("/other", "/own/crates/cwndlab-tcp")):
        said = f"packages cwndlab-tcp v1 ({one}) and cwndlab-tcp v1 ({two}) are different"
        made = failure(said)
        assert made.problem.startswith("the crate depends on /other, which is another copy")
        assert made.right == 'path = "/own/crates/cwndlab-tcp"'


@pytest.mark.parametrize(("cells", "words"), [(8, "3 min"), (2, "12 min")])
def test_of_a_large_plan_the_time_is_estimated_from_some_of_its_cells(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cells: int,
    words: str,
) -> None:
    """A trial says 12 minutes for the cells that are tried; four processors share all eight."""
    (tmp_path / "study.toml").write_text(
        'title = "t"\nmeasure = ["goodput"]\n[dumbbell]\nrate = "5Mbps"\nrtt = "20ms"\n'
        'buffer = [1, 2, 3, 4, 5, 6, 7, 8]\nflows = [{ cc = "reno" }]\n[run]\nduration = "2s"\n'
    )
    tried: list[int] = []

    def seconds(plan: Any) -> float:
        tried.append(len(plan.cells))
        return 720.0

    monkeypatch.setattr(command, "MOST_CELLS", cells)
    monkeypatch.setattr(estimate, "estimate_seconds", seconds)
    monkeypatch.setattr("cwndlab.runs.executors.threads.available", lambda: 4)
    app(["check", str(tmp_path / "study.toml")], standalone_mode=False)
    assert tried == [cells]
    assert f"estimated: {words} on 4 threads" in capsys.readouterr().out
