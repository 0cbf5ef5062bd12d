"""What was run, in the words of a report: facts, the line at its head, and the command that runs it again."""

from __future__ import annotations

from typing import Any

import pytest

from cwndlab.report.methods import (
    _command_again,
    definitions,
    describe_run,
    facts,
    formulas_as_text,
    missing_runs,
    tex_as_text,
    with_builds,
)
from cwndlab.study.schema import Quantity
from synthetic import NON_NEGATIVE, grid, make_results

CONTENT: dict[str, Any] = {
    "study": "mine",
    "cells": [{"cell": "a", "replicates": 5}],
    "scenario": {"duration_ns": 1_500_000_000},
    "seconds": 1.5,
    "replicates_run": 5,
    "ran_on": "2 threads",
    "store": "/kept",
    "cwndlab": "0.4.0",
    "git": None,
    "set": {},
    "changed": {},
    "seed": 7,
}


def content(**more: Any) -> dict[str, Any]:
    return CONTENT | more


def stated(**more: Any) -> dict[str, str]:
    """The facts by their names."""
    found = facts(content(**more))
    assert len({fact.name for fact in found}) == len(found)
    return {fact.name: fact.value for fact in found}


def test_the_facts_of_a_plain_run() -> None:
    assert stated() == {
        "cells": "1",
        "replicates of each": "5",
        "simulated": "1.5 s a run",
        "took": "1.5 s for 5 runs on 2 threads",
        "version": "cwndlab 0.4.0",
        "run again": "cwndlab run study.toml --seed 7 -o DIR",
    }


def test_cells_with_other_numbers_of_replicates_have_a_span() -> None:
    cells = [{"cell": "a", "replicates": 3}, {"cell": "b", "replicates": 5}]
    assert stated(cells=cells)["cells"] == "2: combinations of the values that vary"
    assert stated(cells=cells)["replicates of each"] == "3 to 5"
    short = [{"cell": "a", "replicates": 3, "requested": 10}, {"cell": "b", "replicates": 5}]
    assert stated(cells=short)["replicates of each"] == "3 to 5 of 5 to 10 requested"
    alike = [{"cell": "a", "replicates": 3, "requested": 3}]
    assert stated(cells=alike)["replicates of each"] == "3"
    assert stated(until=0.0512)["replicates of each"] == (
        "5, until the half-width is 0.0512 of each number, or the cap (Chow and Robbins 1965)"
    )


def test_what_a_run_took_counts_what_came_from_a_store() -> None:
    assert stated(replicates_run=1, replicates_fetched=4)["took"] == (
        "1.5 s for 1 run on 2 threads, 4 taken from /kept"
    )
    assert stated(replicates_fetched=0)["took"].endswith("on 2 threads")


@pytest.mark.parametrize(
    ("git", "version"),
    [
        ("0123456789abcdef", "cwndlab 0.4.0, commit 0123456789ab"),
        ("0123456789abcdef+", "cwndlab 0.4.0, commit 0123456789ab with uncommitted changes"),
        ("0123+", "cwndlab 0.4.0, commit 0123 with uncommitted changes"),
        ("", "cwndlab 0.4.0"),
    ],
)
def test_the_version_has_its_commit(git: str, version: str) -> None:
    assert stated(git=git)["version"] == version


def test_what_else_was_used_has_a_line_each() -> None:
    own = {"name": "mine", "class": "Mine", "file": "a.py", "digest": "12ab", "copy": "cc/mine.py"}
    lines = stated(stacks={"quiche": "0.22"}, congestion_controls=[own], reported_by="0.5.0")
    assert lines["page written by"] == "cwndlab 0.5.0 of another build; the numbers are as measured then"
    assert lines["QUIC stack quiche"] == "0.22"
    assert lines["congestion control mine"] == "class Mine of a.py, digest 12ab; its text is cc/mine.py"
    assert list(lines) == [
        *("cells", "replicates of each", "simulated", "took", "version", "page written by"),
        *("QUIC stack quiche", "congestion control mine", "run again"),
    ]


@pytest.mark.parametrize(
    ("more", "command"),
    [
        ({"set": {"iw": [1, 4], "cc": ["a"]}}, "study.toml --set iw=1,4 --set cc=a --seed 7"),
        # Your own study has the changed keys in its copy, a shipped one has not.
        ({"changed": {"tcp.profile": "rfc5681"}}, "study.toml --seed 7"),
        (
            {"study": "rfc2414", "changed": {"tcp.x": 1, "axes.cc.values": 2}} | {"study": "rfc2415"},
            "rfc2415 --set tcp.x=1 --seed 7",
        ),
        ({"study": "rfc2415", "changed": {"run.kernel": "7.3"}}, "rfc2415 --kernel 7.3 --seed 7"),
        (
            {"congestion_controls": [{"name": "m", "copy": "cc/m.py", "class": "M"}]},
            "study.toml --cc m=cc/m.py:M --seed 7",
        ),
        (
            {"backend": "linux", "stack": {"name": "v6", "file": None}, "kernel_option": ["6.12", "7.3"]},
            "study.toml --backend linux --stack v6 --kernel 6.12,7.3 --seed 7",
        ),
        (
            {"backend": "linux", "stack": {"name": "v6", "file": "stack.toml"}, "kernel_option": "6.12"},
            "study.toml --backend linux --stack stack.toml --kernel 6.12 --seed 7",
        ),
        (
            {"replicates": 9, "until": 0.05, "sensitivity": "all"},
            "study.toml --replicates 9 --until 5% --sensitivity all --seed 7",
        ),
        ({"until": 0.0123456}, "study.toml --until 1.23456% --seed 7"),
        ({"replicates": None, "until": None, "sensitivity": None}, "study.toml --seed 7"),
    ],
)
def test_the_command_repeats_all_that_was_asked_for(more: dict[str, Any], command: str) -> None:
    assert _command_again(content(**more)) == f"cwndlab run {command} -o DIR"


def test_the_line_at_the_head_counts_cells_and_runs() -> None:
    assert describe_run(content()) == (
        "1 cell, 5 runs of 1.5 s",
        "95 % intervals",
        "cwndlab run study.toml --seed 7",
    )
    one = [{"cell": name, "replicates": 1} for name in "ab"]
    assert describe_run(content(cells=one)) == (
        "2 cells, 1 run each of 1.5 s",
        "cwndlab run study.toml --seed 7",
    )
    many = [{"cell": "a", "replicates": 1}, {"cell": "b", "replicates": 2}]
    assert describe_run(content(cells=many))[:2] == ("2 cells, 1 to 2 runs each of 1.5 s", "95 % intervals")


def test_a_kernels_run_names_its_releases_once_and_its_stack() -> None:
    kernel = "6.12 (build a, gcc 12), 7.3 (build b), 6.12 (build c)"
    named = content(backend="linux-virtual", kernel=kernel, stack={"name": "v6"})
    assert describe_run(named)[1] == "Linux 6.12, 7.3, stack v6"
    told = content(backend="linux", kernel="6.12", stack={"name": "v6", "about": "IPv6 in full"})
    assert describe_run(told)[1] == "Linux 6.12, IPv6 in full"


def test_builds_are_named_only_in_virtual_time() -> None:
    assert with_builds({"backend": "linux-virtual"}, "6.12 (ab)") == "6.12 (build ab)"
    assert with_builds({"backend": "linux"}, "6.12 (ab)") == with_builds({}, "6.12 (ab)") == "6.12 (ab)"


def test_runs_without_numbers_are_counted_and_the_first_is_named() -> None:
    failure = {"cell": "iw=1", "replicate": 3, "reason": "no memory", "advice": "take less"}
    cells = [{"cell": "iw=1", "replicates": 4, "requested": 5}, {"cell": "iw=2", "replicates": 5}]
    assert missing_runs({"cells": cells}) == "" == missing_runs({"cells": cells, "failures": []})
    assert missing_runs({"cells": cells, "failures": [failure, {**failure, "cell": "iw=2"}]}) == (
        "2 of 10 runs gave no number, the first iw=1, replicate 3: no memory. take less"
    )
    assert missing_runs({"cells": cells, "failures": [{**failure, "advice": ""}]}).endswith("no memory.")


def defined(quantities: list[Quantity], windows: dict[tuple[str, str], tuple[float, float]]) -> Any:
    cells = grid(iw=[1, 2])
    units = {quantity.name: "s" for quantity in quantities}
    data = {(cell.id, name): [1.0, 2.0] for cell in cells for name in units}
    return definitions(
        quantities, make_results(cells, units, data, ranges=dict.fromkeys(units, NON_NEGATIVE)), windows
    )


def test_quantities_are_defined_by_metric_with_their_options_and_windows() -> None:
    quantities = [
        Quantity(name="page_delay", metric="median_delay", options={"traffic": "web", "kind": "page"}),
        Quantity(
            name="late", title="delay, late", metric="median_delay", within="p95", about="Of the last pages."
        ),
        Quantity(name="goodput", title="goodput, web", metric="goodput", unit="kbit/s"),
    ]
    delays, goodput = defined(quantities, {("iw=1", "late"): (1.0, 2.5), ("iw=2", "late"): (1.0, 2.5)})
    assert (delays.title, delays.metric) == ("Page delay; delay", "median_delay")
    assert delays.quantities == (
        "page delay (s): traffic = web, kind = page",
        "delay, late (s): p95 of each run, measured from 1 s to 2.5 s. Of the last pages.",
    )
    assert (goodput.title, goodput.quantities) == ("Goodput", ("goodput, web (kbit/s)",))


def test_derived_quantities_come_last_together() -> None:
    quantities = [
        Quantity(name="a", metric="goodput", unit="kbit/s"),
        Quantity(name="both", derived="a / a"),
        Quantity(name="gain", title="gain of a", derived="a - a"),
    ]
    _, derived = defined(quantities, {})
    assert (derived.title, derived.metric) == ("Both; gain of a", "derived")
    assert derived.text == ("Computed from two quantities of the same run.",)
    assert derived.quantities == ("both: a / a, run by run", "gain of a: a - a, run by run")


@pytest.mark.parametrize(
    ("tex", "line"),
    [
        (r"\alpha \cdot \beta", "α · β"),
        (r"x \, y \; z \! w", "x y z w"),
        (r"a\ b", "a b"),
        (r"\tilde{x} + \hat y", "x\u0303 + y\u0302"),
        (r"x_{n+1}^{2}", "xₙ₊₁²"),
        (r"x^{ab}", "x^ab"),
        (r"x^{a b/2}", "x^(ab/2)"),
        (r"x_q", "x_q"),
        (r"x_{\text{two words}}", "x_twowords"),
        (r"x^{\text{a b}}", "x^(a b)"),
        (r"2 \frac{a}{b}", "2 (a / b)"),
        (r"\frac{a}{b} c", "(a / b) c"),
        (r"\frac{a}{b c}", "a / (b c)"),
        (r"(\frac{a}{b})", "(a / b)"),
        (r"1 + \frac{a}{b}, c", "1 + a / b, c"),
        (r"\frac{a - 1}{b}", "(a - 1) / b"),
        (r"\frac ab", "a / b"),
        (r"\{", "{"),
    ],
)
def test_signs_of_a_formula(tex: str, line: str) -> None:
    assert tex_as_text(tex) == line


def test_formulas_in_a_text_may_have_three_kinds_of_marks() -> None:
    assert formulas_as_text(r"$$x^2$$ and \(y_1\) or \[z\]") == "x² and y₁ or z"
    assert formulas_as_text("no formula, 5 $") == "no formula, 5 $"
