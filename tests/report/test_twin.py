"""The simulator's numbers next to a kernel's: what is listed, marked and written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import synthetic
from cwndlab.apps.diagnosis.budget_figure import BudgetKey
from cwndlab.apps.packets.trace_difference import Difference, Event
from cwndlab.apps.twin.twin import (
    RULE,
    Twin,
    TwinNumber,
    budget_key,
    budget_text,
    compare_lists,
    count_apart,
    event_text,
    pair_numbers,
    to_csv,
    view,
)
from cwndlab.report.contents import Outputs
from cwndlab.report.judge import Judged
from cwndlab.stats.intervals import Interval
from cwndlab.stats.results import Results
from cwndlab.stats.tables import judge_table
from cwndlab.stats.verdict import Verdict
from cwndlab.study.outputs import Table

NAN = math.nan
COLUMN = {"heading": "h", "quantity": "delay"}
CELLS = synthetic.grid(iw=[1, 2])


def results(shift: float = 0.0, runs: int = 8, remarks: Mapping[str, str] | None = None) -> Results:
    data: dict[tuple[str, str], Sequence[Any]] = {}
    for at, cell in enumerate(CELLS):
        data[cell.id, "delay"] = [
            1.0 + at + shift * (1 + 0.01 * (k % 2)) + 0.01 * (k % 3) for k in range(runs)
        ]
        data[cell.id, "rate"] = [10.0 + 0.1 * (k % 2) for k in range(runs)]
        data[cell.id, "each"] = [[1.0 + shift, 2.0, 4.0][: 3 - at]] * runs
        data[cell.id, "none"] = [NAN] * runs
    units = {"delay": "s", "rate": "Mbit/s", "each": "ms", "none": "s"}
    return replace(synthetic.make_results(CELLS, units, data), remarks=remarks or {})


def judged(folder: Path, made: Results) -> Judged:
    (folder / "t.csv").write_text("iw,d_s\n1,1.50\n2,2.01\n")
    spec = Table.model_validate(
        {
            "id": "t",
            "title": "T",
            "rows": ["iw"],
            "published": "t.csv",
            "columns": [COLUMN | {"published": "d_s"}],
        }
    )
    return Judged(Outputs("t", folder, tables=[spec]), made, [judge_table(spec, made, folder, [])])


@pytest.fixture
def both(tmp_path: Path) -> tuple[Results, Results, list[TwinNumber]]:
    sim, kernel = results(), results(0.5)
    return sim, kernel, pair_numbers(judged(tmp_path, sim), judged(tmp_path, kernel))


def test_numbers_of_tables_come_first_then_those_of_none(
    both: tuple[Results, Results, list[TwinNumber]],
) -> None:
    _, _, rows = both
    assert [(row.table, row.cell, row.quantity, row.unit) for row in rows] == [
        ("t", "iw=1", "delay", "s"), ("t", "iw=2", "delay", "s"),
        ("", "iw=1", "rate", "Mbit/s"), ("", "iw=2", "rate", "Mbit/s"),
    ]  # fmt: skip
    first = rows[0]
    assert first.kernel.value - first.simulator.value == pytest.approx(0.5025)
    assert first.difference.value == pytest.approx(0.5025)
    assert (first.published, first.sim_verdict, first.kernel_verdict) == ("1.50", "differs", "agrees")
    assert [row.leaves_out_0 for row in rows] == [True, True, False, False]
    assert count_apart(rows) == (2, 2), "equal runs have no interval"


def test_the_file_has_every_number_to_six_digits(both: tuple[Results, Results, list[TwinNumber]]) -> None:
    head, first, *_, last = to_csv(both[2]).splitlines()
    assert head == (
        "table,cell,quantity,unit,simulator,sim_low,sim_high,kernel,kernel_low,kernel_high,"
        "difference,difference_low,difference_high,published,sim_verdict,kernel_verdict,note"
    )
    assert (
        first.startswith("t,iw=1,delay,s,1.00875,")
        and ",0.5025,0.500266,0.504734,1.50,differs,agrees," in first
    )
    assert last.startswith(",iw=2,rate,Mbit/s,10.05,") and last.endswith(",0,,,,,,")


def shown(rows: list[TwinNumber], kernel: Results, **twin: Any) -> Any:
    key = BudgetKey("iw=1", "connection", "")
    means = {key: ({"cwnd": 0.1, "pacing": 0.1, "rto": 0.1}, {"cwnd": 0.5, "rto": 0.1})}
    spec = Table.model_validate({"id": "t", "title": "Table 1", "rows": ["iw"], "columns": [COLUMN]})
    judged = Judged(Outputs("t", Path(), tables=[spec]), kernel)
    return view(Twin(results(), **twin), rows, judged, means)


def test_a_group_has_the_rows_of_a_table_and_a_cells_heading_and_remark_once(
    both: tuple[Results, Results, list[TwinNumber]],
) -> None:
    made = results(0.5, remarks={"iw=1": "too slow"})
    page = shown(both[2] + [both[2][0]._replace(quantity="rate")], made)
    assert [(group.title, group.folded) for group in page.groups] == [
        ("Table 1", False),
        ("Numbers of no table", True),
    ]
    rows = page.groups[0].rows
    assert [(row.cell, row.quantity, row.span) for row in rows] == [
        ("iw: 1 (too slow)", "delay (s)", 1), ("iw: 2", "delay (s)", 1), ("iw: 1", "rate (s)", 1),
    ]  # fmt: skip
    first = rows[0]
    assert (first.simulator, first.kernel) == ("1.009 (1.002 … 1.016)", "1.511 (1.504 … 1.519)")
    assert (first.sim_mark, first.kernel_mark, first.published) == (Verdict.DIFFERS, Verdict.AGREES, "1.50")
    assert first.difference == "+0.5025 (0.5003 … 0.5047)" and first.differs
    assert page.count == "Of 3 intervals of differences, 3 exclude 0." and page.rule == RULE
    two = shown([both[2][0], both[2][0]._replace(quantity="rate")], made).groups[0].rows
    assert [row.span for row in two] == [2, 0]


def test_a_row_whose_numbers_differ_says_where_traces_and_times_differ(
    both: tuple[Results, Results, list[TwinNumber]],
) -> None:
    _, kernel, rows = both
    found = Difference(7, Event(1.5, "send", 8), Event(1.25, "drop", 3, 2), 0.0004, 0.002)
    page = shown(rows, kernel, first_differences={"iw=1": found}, about="to 2 ms")
    times = (
        "In the first replicate the mean connection takes 300 ms in the simulator and 600 ms on the kernel: "
        "congestion window or pacing 200 → 500."
    )
    assert page.groups[0].rows[0].why == (
        "First event that differs in the first replicate: simulator: nothing until at 1.500000 s packet 8 "
        "sent; "
        "kernel: at 1.250000 s packet 3 dropped (connection 2) "
        f"(7 events agree before, their times within 0.400 ms). {times}"
    )
    assert [row.why for row in (page.groups[0].rows[1], *page.groups[1].rows)] == ["", "", ""]
    assert page.budgets == (f"iw: 1. {times}",) and page.about == "to 2 ms"
    assert page.first_differences == (
        (
            "iw: 1",
            "7, their times within 0.400 ms",
            "nothing until at 1.500000 s packet 8 sent",
            "at 1.250000 s packet 3 dropped (connection 2)",
        ),
    )
    agree = shown(rows, kernel, first_differences={"iw=1": Difference(3, None, None, 0.0, 0.002)})
    assert (
        agree.groups[0]
        .rows[0]
        .why.startswith("The traces of the first replicates agree, so it comes from others. In")
    )
    assert agree.first_differences == (("iw: 1", "all 3, at the same times", "", ""),)
    none = shown(
        rows, kernel, first_differences={"iw=1": Difference(0, Event(0.0, "ack", 0), None, 0.0, 0.002)}
    )
    assert (
        "simulator: at 0.000000 s an ACK of no data; kernel: no more events (none agrees before)"
        in none.groups[0].rows[0].why
    )


def test_more_runs_of_the_simulator_than_of_the_kernel_are_said(tmp_path: Path) -> None:
    sim, kernel = results(runs=8), results(0.5, runs=3)
    rows = pair_numbers(judged(tmp_path, sim), judged(tmp_path, kernel))
    page = view(Twin(sim), rows, Judged(Outputs("t", tmp_path), kernel), {})
    assert page.rule == RULE + (
        " The simulator's numbers are of 8 runs; differences compare the 3 runs that the kernel has, too."
    )
    assert page.groups[0].title == "t"


def test_lists_are_compared_index_by_index_as_far_as_both_go() -> None:
    assert list(compare_lists(results(), results(0.5))) == [
        ("iw=1", "each (ms)", "3 and 3 values; kernel − simulator, first 3: mean 0.1667, from 0 to 0.5"),
        ("iw=2", "each (ms)", "2 and 2 values; kernel − simulator, first 2: mean 0.25, from 0 to 0.5"),
    ]


def number(value: float, low: float = NAN, high: float = NAN, **more: Any) -> TwinNumber:
    one = Interval(value, low, high, 5, "mean")
    return TwinNumber("", "iw=1", more.pop("quantity", "delay"), more.pop("unit", "s"), one, one, one, **more)


@pytest.mark.parametrize(
    ("row", "text", "difference"),
    [
        (number(1.23456, 1.2, 1.27), "1.235 (1.200 … 1.270)", "+1.235 (1.200 … 1.270)"),
        (number(1234.5, 1200.0, 1300.0), "1234 (1200 … 1300)", "+1234 (1200 … 1300)"),
        (number(-0.5, -1.5, 0.5), "−0.5 (−1.5 … 0.5)", "−0.5 (−1.5 … 0.5)"),
        (number(0.0), "0", "0"),
        (number(NAN), "–", "–"),
        (number(1.23456), "1.23", "+1.23"),
        (number(1.23456, published="1.2222"), "1.2346", "+1.2346"),
        (number(1.23456, published="1.2222", unit="%"), "1.23", "+1.23"),
        (number(2.0, 2.0, 2.0), "2", "+2"),
    ],
)
def test_a_number_has_the_digits_that_its_interval_or_the_paper_gives(
    row: TwinNumber, text: str, difference: str
) -> None:
    [found] = view(Twin(results()), [row], Judged(Outputs("t", Path()), results()), {}).groups[0].rows
    assert (found.simulator, found.kernel, found.difference) == (text, text, difference)


@pytest.mark.parametrize(
    ("quantity", "title"),
    [
        ("delay", "delay (s)"),
        ("decrease(delay)", "decrease in delay (s)"),
        ("ratio(delay,iw=1)", "ratio of delay (s)"),
        ("quantile(delay)", "quantile of delay (s)"),
        ("other_name", "other_name (s)"),
    ],
)
def test_a_derived_number_is_called_by_what_it_is_of(quantity: str, title: str) -> None:
    row = number(1.0, quantity=quantity, note="sent in answer: 5")
    [found] = view(Twin(results()), [row], Judged(Outputs("t", Path()), results()), {}).groups[0].rows
    assert found.quantity == f"{title}; kernel: sent in answer: 5"


def test_only_numbers_that_differ_are_explained_by_time_budgets() -> None:
    apart = number(1.0, 0.5, 1.5)
    assert budget_key(apart, {}) == BudgetKey("iw=1", "connection", "")
    assert budget_key(number(1.0, -0.5, 1.5), {}) is None
    assert budget_key(number(1.0, -0.5, 1.5, kernel_verdict="differs"), {}) is not None
    assert budget_key(number(1.0, -0.5, 1.5, sim_verdict="differs"), {}) is None


def test_times_that_differ_little_are_said_to_do_so() -> None:
    text = budget_text(BudgetKey("", "page", "web"), {"rto": 1.0, "cwnd": 1.0}, {"rto": 1.05, "pacing": 1.0})
    assert text == (
        "In the first replicate the mean page (web) takes 2000 ms in the simulator and 2050 ms on the "
        "kernel: no part differs by 5 % of it."
    )


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Event(1.0, "retransmit", 2), "at 1.000000 s packet 2 sent again"),
        (Event(1.0, "ack", 2), "at 1.000000 s ACK up to packet 2"),
        (Event(1.0, "dupack", 2, 1), "at 1.000000 s duplicate ACK of packet 2 (connection 1)"),
        (Event(1.0, "dupack", 0), "at 1.000000 s an ACK of no data"),
    ],
)
def test_events_in_words(event: Event, words: str) -> None:
    assert event_text(event) == words
