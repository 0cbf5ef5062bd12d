"""What `cwndlab evaluate` runs and prints, on the simulator and on kernels, and the time that is left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner
from written_rows import GROUPS, around, card, criterion, row

from cwndlab.api import Study
from cwndlab.apps.evaluate import command, evaluation, pack, subjects
from cwndlab.apps.evaluate.scorecard import Standing, ThresholdOutcome
from cwndlab.base.errors import RunError, StudyError
from cwndlab.cli.registry import command_line
from cwndlab.runs.run_options import RunOptions

LAW = Path(__file__).parents[1] / "laws/stubborn.py"


def evaluated(**failures: Any) -> evaluation.Evaluation:
    """An evaluation of two packs: of 7 and 4 runs, of which 3 and 0 ran now."""
    must = criterion("must", level="MUST")
    met, missed = ThresholdOutcome.MET, ThresholdOutcome.NOT_MET
    values = {"a": around(1), "b": around(2)}
    alike = {"a": {"b": Standing.OPEN}, "b": {"a": Standing.OPEN}}
    first = card(
        row({"a": met, "b": missed}, alike, values, must),
        row({"a": met}, alike, values),
        row({}, alike, values),
        row(missing="not run"),
        subjects=("a", "b"),
        name="first",
    )
    second = card(row({}, {}, {"a": around(1)}), row({}, {}, {"a": around(1)}), name="second")

    def run(runs: int, performed: int, *failed: Any) -> Any:
        campaign = SimpleNamespace(performed=performed)
        return SimpleNamespace(failures=list(failed), plan=SimpleNamespace(runs=runs), campaign=campaign)

    failed = [SimpleNamespace(cell="c", replicate=k, reason="why") for k in range(failures.get("failed", 0))]
    runs = {("first", "s"): run(7, 3, *failed), ("second", "t"): run(4, 0)}
    made = tuple(map(subjects.congestion_control, ("cubic", "reno")))
    changes = failures.get("changes", {})
    return evaluation.Evaluation((first, second), made, cast(Any, runs), Path("out"), changes)


def test_the_command_prints_how_many_limits_each_subject_meets(capsys: pytest.CaptureFixture[str]) -> None:
    command._show(evaluated(), 125.0)
    assert capsys.readouterr().out.splitlines() == [
        "first, a: 2 met, 1 row without a threshold, 1 not measured",
        "first, b: 1 not met, 2 rows without a threshold, 1 not measured",
        "second, a: 2 rows without a threshold",
        "3 runs in 2 min",
        f"scorecard: {Path('out/scorecard.html')}",
    ]


def ends(made: evaluation.Evaluation, *, strict: bool) -> int:
    try:
        command._end(made, strict)
    except typer.Exit as end:
        return end.exit_code
    return 0


def test_the_command_ends_with_1_for_failed_runs_and_with_3_for_a_must_that_is_not_met(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ends(evaluated(), strict=False) == 0
    assert ends(evaluated(), strict=True) == 3
    assert capsys.readouterr().err == "error: not met: p/must (b)\n"
    assert ends(replace(evaluated(), cards=evaluated().cards[1:]), strict=True) == 0
    assert ends(evaluated(failed=12), strict=True) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        *(f"failed: first/s: c, replicate {k}: why" for k in range(10)),
        "error: 12 runs failed",
    ]


def test_references_that_a_kernel_lacks_are_simulated_into_a_folder_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[Any] = []

    def run_plan(plan: str, options: RunOptions) -> Any:
        ran.append((plan, options.out, options.backend, options.stack, options.kernel))
        return SimpleNamespace(results=f"numbers of {plan}")

    monkeypatch.setattr(evaluation, "run_plan", run_plan)
    monkeypatch.setattr(evaluation, "judge", lambda *given, **more: (given, more))
    one = evaluation._Prepared(card().pack, {}, {"x": "why"}, {"y": {}}, ["bbr3"], cast(Any, {"s": "plan"}))
    runs = {"s": SimpleNamespace(results=1, simulated=2), "t": SimpleNamespace(results=3, simulated=None)}
    wanted = [subjects.Subject("cc", "vegas", kernel="vegas"), subjects.Subject("cc", "reno")]
    options = RunOptions(backend="linux-virtual", stack="linux-laws", kernel="6.12")
    given, more = cast(Any, evaluation._judge(one, wanted, cast(Any, runs), Path("out"), options))
    assert ran == [("plan", Path("out/p/s/references"), "simulator", None, None)]
    assert given == (one.pack, ["vegas", "reno"], {"s": 1, "t": 3})
    assert more == {
        "skipped": {"x": "why"}, "refused": {"y": {}}, "simulated": {"s": 2}, "kernel_only": ["vegas"],
        "beside": {"s": "numbers of plan"}, "lacking": ["bbr3"],
    }  # fmt: skip


def test_an_evaluation_in_which_no_study_runs_says_why() -> None:
    one = evaluation._Prepared(card().pack, {}, {"x": "why", "y": "not"})
    for backend, key in (("simulator", "--stack"), ("linux-virtual", "--backend"), ("linux", "--backend")):
        error = evaluation._nothing_to_run([one], RunOptions(backend=backend))
        assert error.key == key and error.problem.endswith(": why")


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        (subjects.from_stack("cubic", "quinn"), "a kernel does not run quinn"),
        (
            subjects.congestion_control(f"mine={LAW}:Stubborn"),
            "a kernel runs no congestion control in Python",
        ),
        (subjects.Subject("cc", "bbr3"), "the kernel has no congestion control bbr3"),
        (subjects.Subject("cc", "vegas", kernel="vegas"), "the kernel has no congestion control vegas"),
    ],
)
def test_what_a_kernel_does_not_run_is_refused_after_other_subjects(
    subject: subjects.Subject, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks = SimpleNamespace(load_stack=lambda name: _Stack())
    monkeypatch.setattr(evaluation, "kernels", lambda: stacks)
    monkeypatch.setattr(evaluation, "_offered", lambda _: ("cubic", "bbr"))
    options = RunOptions(backend="linux-virtual", stack="linux-laws")
    with pytest.raises(StudyError, match=problem) as caught:
        evaluation._prepare(pack.load("l4s"), [subjects.Subject("cc", "cubic"), subject], {}, options)
    rights = {"--stack": "run the simulator", "--cc": caught.value.right}
    assert caught.value.right == rights[str(caught.value.key)]
    if "has no" in problem:
        assert caught.value.right == "known: cubic, bbr"


def test_the_facts_of_a_scorecard_count_the_runs() -> None:
    facts = dict(evaluation._facts(evaluated(), RunOptions(), 12.4))
    assert facts["runs"] == "11, of which 3 ran now, in 12 s"
    assert facts["backend"] == "simulator" and facts["cubic"] == "congestion control cubic of the engine"
    assert not {"changed", "failed"} & set(facts)
    facts = dict(evaluation._facts(evaluated(failed=2, changes={"x": 1}), RunOptions(), 0.0))
    assert (facts["changed"], facts["failed"]) == ("x = 1", "2 runs, the first: first/s: c, replicate 0: why")


def test_the_list_of_packs_has_their_options_and_on_request_their_criteria(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command._list(None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(pack.shipped_packs())
    queue = pack.load("l4s-queue")
    head = f"l4s-queue (--queue): {queue.file.title}, {len(queue.file.criteria)} criteria"
    assert head in lines and any(line.startswith("rfc9743 (--cc): ") for line in lines)
    command._list(["l4s-queue"])
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == head and len(rest) == len(queue.file.criteria)
    width = 4 + max(len(one.id) for one in queue.file.criteria)
    for line, one in zip(rest, queue.file.criteria, strict=True):
        assert line == f"{'  ' + one.id:<{width}}{one.level:<7}{one.shows}"


def test_the_subjects_of_a_stack_are_its_own_and_have_no_queues() -> None:
    made, stack = command._subjects(["cubic"], [], "quinn", on_kernel=False)
    assert ([one.name for one in made], stack) == (["quinn-cubic"], None)
    made, stack = command._subjects(["cubic", "vegas"], [], "linux-laws", on_kernel=True)
    assert ([one.name for one in made], stack) == (["cubic", "vegas"], "linux-laws")
    made, stack = command._subjects([], ["codel"], None, on_kernel=False)
    assert ([one.kind for one in made], stack) == (["queue"], None)
    with pytest.raises(StudyError, match="quinn has no queues"):
        command._subjects([], ["codel"], "quinn", on_kernel=False)


class _Stack:
    """A kernel's configuration that has two laws of the engine, one of them under another name."""

    laws = {"cubic": "cubic", "bbr1": "bbr", "bbr3": "bbr3"}
    text = None


@pytest.mark.parametrize(
    ("law", "offered", "lacks"),
    [
        ("cubic", (), False), ("bbr1", (), False), ("bbr3", (), True), ("vegas", (), True),
        ("cubic", ("cubic",), False), ("bbr1", ("cubic",), True), ("bbr1", ("bbr",), False),
        ("bbr3", ("bbr3",), False),
    ],
)  # fmt: skip
def test_a_kernel_lacks_what_it_does_not_offer_or_what_mainline_does_not_have(
    law: str, offered: tuple[str, ...], lacks: bool
) -> None:
    assert evaluation.lacks_law(_Stack(), law, offered) is lacks
    own = subjects.Subject("cc", law, kernel=law)
    assert evaluation._lacks(_Stack(), own, offered) is (bool(offered) and law not in offered)
    assert evaluation._lacks(_Stack(), subjects.Subject("cc", law), offered) is lacks


def test_the_time_that_is_left_is_estimated_from_the_bits_that_were_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(evaluation.time, "monotonic", lambda: now[0])
    # the first study sends 2 Mbit/s for 2 s in 3 runs of 2 cells, the second twice as much
    small = Study.from_toml(GROUPS)
    first = small.set({"run.replicates": 3}).plan()
    second = small.set({"run.replicates": 6}).plan()
    assert (evaluation._most_sent(first), evaluation._most_sent(second)) == (24e6, 48e6)
    whole = evaluation._Whole([first, second, second])
    assert str(whole) == "study 1 of 3"
    now[0] = 110.0
    whole.finish(first, 3)  # half of its 6 runs, in 10 s
    assert str(whole) == "study 2 of 3, about 80 s left"
    now[0] = 150.0
    whole.finish(second, 0)  # all were there already
    assert str(whole) == "study 3 of 3, about 40 s left"
    now[0] = 190.0
    whole.finish(second, 12)
    assert str(whole) == "study 4 of 3, about 0.1 s left"


def test_the_command_evaluates_what_it_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def evaluate(packs: Any, wanted: Any, out: Path, options: RunOptions, **more: Any) -> Any:
        asked.append(
            (
                [(one.name, len(one.file.criteria)) for one in packs],
                [one.name for one in wanted],
                out,
                (options.backend, options.stack, options.kernel, options.replicates),
                more["changes"],
            )
        )
        out.mkdir(exist_ok=True)
        (out / "scorecard.json").write_text('{"format": 1}', encoding="utf-8")
        with more["progress"]("a study"):
            return evaluated()

    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Any:
        return CliRunner().invoke(command_line(), ["evaluate", *words])

    result = run("--queue", "codel", "--queue", "pie", "--set", "run.duration=9s")
    assert result.exit_code == 0 and result.stderr == "a study\n"
    assert result.stdout.startswith("first, a: 2 met") and "scorecard: out" in result.stdout
    (packs, names, out, options, changes) = asked.pop()
    assert [name for name, _ in packs] == ["l4s-queue", "rfc7928"]
    assert (names, out, changes) == (["codel", "pie"], Path("codel-pie-scorecard"), {"run.duration": "9s"})
    assert options == ("simulator", None, None, None)
    result = run("--cc", "vegas", "--backend", "linux-virtual", "--kernel", "6.12", "--pack", "l4s",
                 "--replicates", "3", "-o", "x", "--json", "--strict")  # fmt: skip
    assert (result.exit_code, result.stdout) == (3, '{"format": 1}\n')
    assert asked.pop()[1:4] == (["vegas"], Path("x"), ("linux-virtual", None, "6.12", 3))
    assert run("--cc", "cubic", "--pack", "l4s", "--quiet").stdout == ""
    ((only, _),) = asked.pop()[0]
    assert only == "l4s"
    first = pack.load("l4s").file.criteria[0].id
    run("--cc", "cubic", "--pack", "l4s", "--only", first)
    assert asked.pop()[0] == [("l4s", 1)]
    for words, problem in (
        ((), "nothing to evaluate"),
        (("--cc", "cubic", "--queue", "pie"), "--cc and --queue need separate evaluations"),
    ):
        with pytest.raises(StudyError) as caught:
            raise cast(Any, run(*words).exception)
        assert caught.value.problem == problem and caught.value.key == "--cc or --queue"
    assert run("--list").stdout.count("criteria\n") == len(pack.shipped_packs()) and not asked


def test_a_scorecard_is_written_with_its_changes_and_without_escapes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pack.Pack, "studies", {"small": None})
    made = evaluated(changes={"run.duration": "9 µs"})
    evaluation._write(made, tmp_path, RunOptions(), 1.0)
    text = (tmp_path / "scorecard.json").read_text(encoding="utf-8")
    assert text.startswith('{\n "format": 1,\n "cwndlab": ')
    assert text.endswith(' "changed": {\n  "run.duration": "9 µs"\n }\n}\n')
    for name in ("scorecard.html", "scorecard.md"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert "run.duration = 9 µs" in page
        assert ("first/small/report.html" in page) is (name == "scorecard.html")
    assert b'<testsuite name="first: a"' in (tmp_path / "junit.xml").read_bytes()


def test_only_a_kernel_in_virtual_time_says_what_it_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    image = SimpleNamespace(congestion_controls=("cubic", "bbr"))
    asked: list[object] = []

    def find(name: object) -> Any:
        asked.append(name)
        if name == "none":
            raise RunError("there is no such kernel")
        return image

    monkeypatch.setattr(evaluation, "kernels", lambda: SimpleNamespace(find=find))
    for backend in ("linux", "simulator"):
        assert evaluation._offered(RunOptions(backend=backend)) == () and asked == []
    virtual = RunOptions(backend="linux-virtual", kernel="6.12")
    assert evaluation._offered(virtual) == ("cubic", "bbr") and asked == ["6.12"]
    assert evaluation._offered(replace(virtual, kernel="none")) == ()


def test_a_plan_is_left_out_if_a_kernel_cannot_run_it_or_lacks_a_law() -> None:
    def cell(*laws: str) -> Any:
        tcp = [{"window_law": law} for law in laws]
        traffic = [{"tcp_client": k, "tcp_server": 0} for k in range(len(laws))]
        return SimpleNamespace(compiled=SimpleNamespace(scenario={"tcp": tcp, "traffic": traffic}))

    def refuse() -> None:
        raise StudyError("it has CAKE", right="no")

    def reason(check: Any, *cells: Any) -> str | None:
        plan = SimpleNamespace(check_kernel=check, cells=cells)
        return evaluation.reason_not_to_run(cast(Any, plan), _Stack(), ())

    assert reason(lambda: None, cell("cubic", "bbr1"), cell("bbr1")) is None
    assert reason(refuse, cell("cubic")) == "it has CAKE"
    lacking = reason(lambda: None, cell("cubic", "reno"), cell("cubic", "bbr3"), cell("dctcp", "bbr3"))
    assert lacking == "the kernel has no congestion control bbr3, dctcp, reno"


def test_a_folder_is_made_for_a_kernel_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Any] = []

    def prepare(chosen: Any, wanted: Any, changes: Any, options: RunOptions) -> Any:
        seen.append((options.backend, options.stack, changes))
        raise StudyError("as far as this", right="no")

    monkeypatch.setattr(evaluation, "_prepare", prepare)
    out = tmp_path / "a" / "b"
    for options in (
        RunOptions(), RunOptions(backend="linux-virtual"), RunOptions(backend="linux-virtual", stack="x"),
    ):  # fmt: skip
        with pytest.raises(StudyError, match="as far as this"):
            evaluation.evaluate([card().pack], [], out, options)
        assert out.exists() is (options.backend != "simulator")
    assert seen == [("simulator", None, {}), ("linux-virtual", "linux-laws", {}), ("linux-virtual", "x", {})]
