"""Packets at the server, their first difference, and the page of a comparison, by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from cwndlab.base.errors import OutputError, RunError
from cwndlab_linux.differ import differing, sides
from cwndlab_linux.differ.differing import Differ, Row, csv_of, listing, page, row_of
from cwndlab_linux.differ.packets_at_server import ServerPacket, compare, packets_of
from cwndlab_linux.differ.random_scenario import Alignment
from cwndlab_linux.differ.sides import KernelRun

MS = 1_000_000
FIN, PSH, ACK = 1, 8, 16
EMPTY: tuple[int, ...] = ()


def data(ms: float, seq: int, transfer: int = 0, length: int = 1000) -> ServerPacket:
    return ServerPacket(round(ms * MS), transfer, True, seq, length, 1, ACK, 500, EMPTY)


def ack(ms: float, number: int, transfer: int = 0, sack: tuple[int, ...] = EMPTY) -> ServerPacket:
    return ServerPacket(round(ms * MS), transfer, False, 1, 0, number, ACK, 700, sack)


RUN = (data(0, 1), data(1, 1001), ack(20, 1001), ack(21, 2001))


def test_a_packet_is_written_as_in_a_script() -> None:
    assert str(data(1234.5678, 1001)) == "1.234568 > . 1001:2001(1000) ack 1 win 500"
    assert str(ack(5, 77, sack=(3, 4, 8, 9))) == "0.005000 < . 1:1(0) ack 77 win 700 sack 3:4 8:9"
    assert str(data(0, 1)._replace(flags=PSH | ACK)).startswith("0.000000 > P. 1:")
    assert str(data(0, 1)._replace(flags=PSH)).startswith("0.000000 > P 1:")
    assert str(data(0, 1)._replace(flags=FIN)).startswith("0.000000 >  1:")


def test_a_packet_is_known_by_its_range_or_without_data_by_what_it_acknowledges() -> None:
    assert data(0, 1).key == (True, 1, 1000) == data(9, 1)._replace(ack=5, sack=(1, 2)).key
    assert ack(0, 7, sack=(8, 9)).key == (False, 7, (8, 9)) != ack(0, 7).key


@pytest.mark.parametrize(
    ("ours", "kind", "agree"),
    [
        (RUN, "same", 4),
        ((*RUN[:3], ack(21.1, 2001)), "same", 4),
        ((*RUN[:3], ack(21.2, 2001)), "the same acknowledged at another time", 3),
        ((data(0, 1), data(1.2, 1001), *RUN[2:]), "the same sent at another time", 1),
        ((*RUN[:2], data(2, 2001), *RUN[2:]), "the simulator sends first", 2),
        ((*RUN[:2], data(2, 1), *RUN[2:]), "the simulator retransmits first", 2),
        ((*RUN[:2], data(2, 1, transfer=1), *RUN[2:]), "the simulator sends first", 2),
        ((RUN[0], *RUN[2:]), "the kernel sends first", 1),
        ((*RUN[:2], ack(19, 500), *RUN[2:]), "an ACK of the simulator's receiver only", 2),
        (RUN[:3], "an ACK of the kernel's receiver only", 3),
        ((*RUN[:2], ack(20, 1001, sack=(5, 6)), RUN[3]), "an ACK of the simulator's receiver only", 2),
    ],
)
def test_the_first_difference_has_a_kind(ours: tuple[ServerPacket, ...], kind: str, agree: int) -> None:
    found = compare(ours, RUN)
    assert (found.kind, found.agree, found.is_same) == (kind, agree, kind == "same")


def test_the_same_retransmission_counts_before_the_difference_only() -> None:
    later = (*RUN, data(30, 1))
    assert compare(later, RUN).kind == "the simulator retransmits first"
    assert compare(RUN, later).kind == "the kernel retransmits first"


def test_of_several_transfers_the_first_difference_counts() -> None:
    other = [data(2, 1, transfer=1), ack(22, 1001, transfer=1)]
    late = [other[0], ack(30, 1001, transfer=1)]
    found = compare([*RUN[:3], *other], [*RUN, *late])
    assert (found.ours, found.theirs) == (None, RUN[3])
    assert found.after == ((other[1],), (RUN[3], late[1]))
    assert not compare([*RUN, *late], [*RUN, *other]).is_same


def test_six_packets_are_shown_from_the_difference_on() -> None:
    more = [data(100 + k, 5001 + 1000 * k) for k in range(9)]
    found = compare([*RUN, *more], RUN)
    assert found.after == (tuple(more[:6]), ())
    assert found.before == RUN


def test_order_is_of_what_the_server_sends_on_each_connection() -> None:
    swapped = (RUN[1], RUN[0], *RUN[2:])
    assert not compare(swapped, RUN).in_order and compare((*RUN[:3], ack(99, 5)), RUN).in_order
    assert compare((data(0, 1), data(0.5, 1, 1)), (data(0, 1, 1), data(0.5, 1))).in_order


@pytest.mark.parametrize(
    ("ours", "share"),
    [
        (RUN, 0.0),
        ((*RUN[:3], ack(24.15, 2001)), 0.15),
        ((*RUN[:3], ack(21, 2003)), 0.0),  # a FIN may be without an answer
        ((*RUN[:3], ack(21, 2004)), math.inf),
        ((*RUN[:3], ack(21, 1998)), math.inf),
        ((*RUN, ack(99, 2001)), 0.0),  # it completed before
        (RUN[:2], math.inf),
    ],
)
def test_completion_is_compared_with_the_duration_of_the_kernels_transfer(
    ours: tuple[ServerPacket, ...], share: float
) -> None:
    assert compare(ours, RUN).completion == pytest.approx(share)


def test_completion_is_the_worst_of_the_transfers_and_counts_data_that_arrived() -> None:
    sent = ServerPacket(40 * MS, 1, False, 1, 500, 1, ACK, 9, EMPTY)
    late = sent._replace(time_ns=44 * MS)
    request = data(20, 1, transfer=1)
    assert compare([*RUN, request, late], [*RUN, request, sent]).completion == pytest.approx(4 / 20)
    assert compare([], []).completion == 0 and compare([], []).is_same


def tables(rows: list[tuple[Any, ...]]) -> tuple[pa.Table, pa.Table]:
    names = ("time_ns", "event", "connection", "sent", "seq", "len", "ack", "flags", "window_bytes", "sack")
    columns = list(zip(*rows, strict=True))
    segments = pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})
    return segments, pa.table({"connection": [4, 9], "traffic": [1, 0]})


def test_packets_are_without_the_handshake_drops_and_second_acknowledgments_of_a_fin() -> None:
    found = packets_of(
        *tables(
            [
                (1, "send", 4, False, 0, 0, 0, 2, 10, []),  # SYN
                (2, "send", 4, True, 0, 0, 0, 18, 11, []),
                (3, "receive", 4, False, 1, 0, 1, 16, 12, [7, 8]),
                (4, "drop", 4, True, 1, 900, 1, 16, 13, []),
                (4, "mark", 4, True, 1, 900, 1, 16, 13, []),
                (5, "send", 4, True, 1, 900, 1, 24, 13, []),
                (6, "receive", 9, False, 1, 0, 901, 16, 14, []),
                (7, "receive", 4, False, 1, 0, 902, 16, 15, []),
                (8, "receive", 4, False, 1, 0, 902, 17, 16, []),  # its FIN, which acknowledges nothing more
                (9, "receive", 9, False, 1, 0, 902, 17, 17, []),
                (10, "send", 4, True, 901, 0, 1, 17, 18, []),
                (11, "send", 4, True, 901, 0, 2, 16, 18, []),
                (12, "receive", 4, False, 1, 30, 902, 17, 19, []),
                (13, "receive", 4, False, 1, 0, 902, 16, 19, []),
            ]
        )
    )
    assert [(one.time_ns, one.transfer) for one in found] == [
        (3, 1), (5, 1), (6, 0), (7, 1), (9, 0), (11, 1), (12, 1), (13, 1)
    ]  # fmt: skip
    assert found[0] == ServerPacket(3, 1, False, 1, 0, 1, 16, 12, (7, 8))


def row(index: int = 0, kind: str = "same", **changes: Any) -> Row:
    made = Row(index, f"path {index}", kind, 0.5, 5, 9, in_order=True, completion=0.0, drawn="a")
    return replace(made, **changes)


SIDES = ("the simulator", "Linux 6.12.5")


def test_a_row_has_the_time_of_the_earlier_packet() -> None:
    found = compare((*RUN[:2], data(2.5, 2001), *RUN[2:]), RUN)
    assert row_of(3, "a path", found, 4) == Row(
        3, "a path", "the simulator sends first", 0.0025, 2, 4, False, 0.0
    )
    assert row_of(3, "a path", compare(RUN, RUN), 4).at_s is None
    failed = Row.from_failure(3, "a path", "why")
    assert failed == Row(3, "a path", "failed", None, 0, 0, False, 0.0, "why", "")


def test_a_page_counts_degrees_of_agreement_and_lists_what_differs() -> None:
    rows = [
        row(0),
        row(1, "the kernel sends first", completion=0.01),
        row(2, "the simulator sends first", in_order=False, completion=0.011, at_s=1.23456),
        row(3, "the kernel sends first", completion=0.5),
        Row.from_failure(4, "path 4", "why"),
    ]
    assert page(rows, SIDES) == (
        "# The simulator and Linux 6.12.5\n"
        "\n| scenarios | |\n|---|---|\n"
        "| 1 of 4 | the same packets, within 0.1 ms, to the end |\n"
        "| 3 of 4 | the same segments in the same order |\n"
        "| 2 of 4 | completion times within 1 % |\n"
        "| 1 | failed |\n"
        "\n| first difference | scenarios |\n|---|---|\n"
        "| the kernel sends first | 2 |\n"
        "| the simulator sends first | 1 |\n"
        "\n| | scenario | first difference | at | packets before |\n|---|---|---|---|---|\n"
        "| 1 | path 1 | the kernel sends first | 0.500 s | 5 of 9 |\n"
        "| 2 | path 2 | the simulator sends first | 1.235 s | 5 of 9 |\n"
        "| 3 | path 3 | the kernel sends first | 0.500 s | 5 of 9 |\n"
    )
    assert page([row(0)], SIDES).endswith("| 1 of 1 | completion times within 1 % |\n")


def test_two_kernels_are_named_in_place_of_the_simulator() -> None:
    text = page(
        [row(0, "the kernel sends first"), row(1, "an ACK of the simulator's receiver only")],
        ("Linux 7.3", "Linux 6.12"),
    )
    assert text.startswith("# Linux 7.3 and Linux 6.12\n")
    assert (
        "| the other sends first | 1 |" in text and "| an ACK of the Linux 7.3's receiver only | 1 |" in text
    )


def test_classes_are_counted_in_the_order_of_their_names() -> None:
    rows = [row(0, drawn="b"), row(1, "the kernel sends first", drawn="a", in_order=False), row(2, drawn="b")]
    lines = page(rows, SIDES).splitlines()
    at = lines.index("| class | scenarios | same to the end | same order | within 1 % |")
    assert lines[at + 1 : at + 5] == [
        "|---|---|---|---|---|",
        "| a | 1 | 0 | 0 | 1 |",
        "| b | 2 | 2 | 2 | 2 |",
        "",
    ]
    assert csv_of(rows[:1]).splitlines() == [
        "index,scenario,kind,at_s,agree,packets,in_order,completion,reason,drawn",
        "0,path 0,same,0.5,5,9,True,0.0,,b",
    ]


def test_a_listing_has_six_packets_before_and_those_of_both_sides_after_the_difference() -> None:
    many = [data(k, 1 + 1000 * k) for k in range(8)]
    lines = listing(compare(many[:7], many), SIDES).splitlines()
    assert lines[0] == "# the same on both sides: 7 packets, the last of them:"
    assert lines[1:7] == [str(packet) for packet in many[1:7]]
    assert lines[7:] == ["# the simulator:", "# Linux 6.12.5:", str(many[7])]


def test_the_phase_of_ticks_is_that_of_jiffies_modulo_the_wheel() -> None:
    """Ticks are counted from five minutes before zero; the coarsest wheel turns every 2^18 ms."""
    wheel = (1 << 18) * MS
    assert KernelRun((), (), 300 * 10**9 + 7).tick_phase_ns == 7
    assert KernelRun((), (), 300 * 10**9 + 7 + wheel).tick_phase_ns == 7
    assert KernelRun((), (), 0).tick_phase_ns == 2 * wheel - 300 * 10**9


class Drawn:
    """A scenario whose simpler ones have fewer steps left."""

    seed, laws, kind = 7, ("bbr1", "cubic", "bbr1"), "a class"

    def __init__(self, left: int = 3, sysctls: dict[str, str] | None = None) -> None:
        self.left, self.sysctls = left, sysctls or {}

    def compile(self, alignment: Alignment | None = None) -> str:
        return json.dumps(alignment and alignment.draws)

    def to_toml(self, alignment: Alignment | None = None) -> str:
        return f"left = {self.left}\n"

    def simplify(self) -> Any:
        yield from (Drawn(left) for left in range(self.left - 1, -1, -1))

    def __str__(self) -> str:
        return f"{self.left} left"


@pytest.mark.parametrize("wanted", [(0, 0, 0), (3, 0, 0), (0, 0, 255), (2, 0, 5)])
def test_names_of_transfers_with_bbr_are_varied_until_both_sides_agree(
    monkeypatch: pytest.MonkeyPatch, wanted: tuple[int, ...]
) -> None:
    """Each transfer of BBR sends at another time unless it has its number; the second has no random phase."""
    tried = []

    def simulate(text: str, seed: int) -> tuple[ServerPacket, ...]:
        assert seed == 7
        draws = json.loads(text)
        tried.append(tuple(draws))
        return tuple(data(10 * k + (draws[k] != wanted[k]), 1, transfer=k) for k in (0, 1, 2))

    monkeypatch.setattr(sides, "simulate", simulate)
    theirs = KernelRun(tuple(data(10 * k, 1, transfer=k) for k in (0, 1, 2)), (1, 2, 3), 300 * 10**9 + 5)
    found, alignment = sides.against_simulator(Drawn(), theirs)  # type: ignore[arg-type]
    assert found.is_same and alignment == Alignment((1, 2, 3), 5, wanted)
    assert all(draws[1] == 0 for draws in tried)
    if wanted == (0, 0, 0):
        assert tried == [wanted]


def test_a_difference_that_no_name_removes_stays_with_the_first_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def simulate(text: str, seed: int) -> tuple[ServerPacket, ...]:
        tried.append(tuple(json.loads(text)))
        return (data(5, 1, transfer=2),)

    monkeypatch.setattr(sides, "simulate", simulate)
    found, alignment = sides.against_simulator(Drawn(), KernelRun((data(9, 1, transfer=2),), (1, 2, 3), 0))  # type: ignore[arg-type]
    assert not found.is_same and len(tried) == 1 + 2 * 256
    assert {draws[0] for draws in tried[1:257]} == {0}, "the transfer that differs is renamed first"
    assert alignment.draws == (0, 0, 0)


class FakeKernel:
    """A kernel whose runs are given by name."""

    def __init__(self, outcomes: dict[str, Any]) -> None:
        self.outcomes, self.jobs, self.stamps = outcomes, [], {}

    def execute(self, jobs: Any, measured: Any, done: Any) -> None:
        for job in jobs:
            self.jobs.append(job)
            self.stamps[job.key] = {"clock_zero_ns": 42}
            done(self.outcomes[job.key](job))


def test_a_run_that_fails_or_lacks_a_transfer_is_delivered_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def outcome(error: str | None, records: object) -> Any:
        return lambda job: SimpleNamespace(job=job, error=error, records=records)

    segments, _ = tables([(5, "send", 9, True, 1, 900, 1, 16, 10, [])])
    connections = pa.table({"connection": [9, 4, 5, 6], "traffic": [0, 1, 2, 0], "start_ns": [3, 8, 9, 99]})
    read = {"all": connections, "few": connections.slice(0, 2)}
    monkeypatch.setattr(
        sides, "decode_tables", lambda records, name: {"segments": segments, "connections": read[name]}
    )
    outcomes = {"all": (None, b""), "few": (None, b""), "bad": ("why", None), "none": (None, None)}
    made = FakeKernel({name: outcome(*of) for name, of in outcomes.items()})
    found: dict[str, Any] = {}
    sides.on_kernel(made, {name: Drawn() for name in made.outcomes}, found.__setitem__)  # type: ignore[arg-type, misc]
    assert found["all"] == KernelRun((ServerPacket(5, 0, True, 1, 900, 1, 16, 10, ()),), (3, 8, 9), 42)
    assert (found["few"], found["bad"], found["none"]) == (
        "a transfer did not open its connection",
        "why",
        "no records",
    )
    job = made.jobs[0]
    assert (job.key, job.seed, job.replicate, job.keep_records) == ("all", 7, 0, True)
    with pytest.raises(RunError, match="3 left: why"):
        sides.one_on_kernel(FakeKernel({"run": outcome("why", None)}), Drawn())  # type: ignore[arg-type]


def differ(folder: Path, images: int = 1, **changes: Any) -> Differ:
    kernels = tuple(SimpleNamespace(release=f"6.{12 + k}", digest=f"d{k}") for k in range(images))
    return Differ(1, kernels, folder, **changes)  # type: ignore[arg-type]


def test_a_folder_belongs_to_a_seed_its_options_and_the_kernels(tmp_path: Path) -> None:
    differ(tmp_path)._claim_folder()
    differ(tmp_path)._claim_folder()
    content = json.loads((tmp_path / "differ.json").read_text())
    assert {key: content[key] for key in ("seed", "simple_receiver", "wide", "trains", "kernels")} == {
        "seed": 1, "simple_receiver": False, "wide": False, "trains": False, "kernels": ["d0"]
    }  # fmt: skip
    options = ({"seed": 2}, {"simple_receiver": True}, {"wide": True}, {"trains": True})
    for other in (differ(tmp_path, 2), *(replace(differ(tmp_path), **one) for one in options)):
        with pytest.raises(OutputError, match="name another folder"):
            other._claim_folder()
    assert (tmp_path / "stack.toml").is_file()
    assert differ(tmp_path).sides == (SIDES[0], "Linux 6.12")
    assert differ(tmp_path, 2).sides == ("Linux 6.13", "Linux 6.12")


def test_a_row_that_is_kept_is_read_and_a_damaged_one_is_an_error(tmp_path: Path) -> None:
    made = differ(tmp_path)
    assert made._kept_row(3) is None
    folder = tmp_path / "0003"
    folder.mkdir()
    (folder / "row.json").write_text(json.dumps(vars(row(3))))
    assert made._kept_row(3) == row(3)
    (folder / "row.json").write_text('{"other": 1}')
    with pytest.raises(OutputError, match="0003: has a row of another version; remove it"):
        made._kept_row(3)
    (folder / "row.json").write_text("not JSON")
    with pytest.raises(OutputError, match=r"row\.json: cannot be read: it is not JSON; remove it"):
        made._kept_row(3)


def test_a_scenario_is_kept_with_its_packets_only_if_it_differs(tmp_path: Path) -> None:
    """Two kernels are compared with each other, and nothing is aligned."""
    made = differ(tmp_path, 2)
    theirs = KernelRun(RUN, (0,), 0)
    same = made._row(0, Drawn(), theirs, theirs)  # type: ignore[arg-type]
    assert (same.kind, same.packets, same.drawn, same.scenario) == ("same", 4, "a class", "3 left")
    assert sorted(path.name for path in (tmp_path / "0000").iterdir()) == ["row.json", "study.toml"]
    other = made._row(1, Drawn(), KernelRun(RUN[:3], (0,), 0), theirs)  # type: ignore[arg-type]
    assert other.kind == "an ACK of the kernel's receiver only"
    assert sorted(path.name for path in (tmp_path / "0001").iterdir()) == [
        "packets.txt",
        "row.json",
        "study.toml",
    ]
    for runs in ((theirs, "why"), ("why", theirs), (None, "why")):
        failed = made._row(2, Drawn(), *runs)  # type: ignore[arg-type]
        assert (failed.kind, failed.reason, failed.drawn) == ("failed", "why", "a class")
    assert made._kept_row(1) == other


def test_the_shortest_scenarios_of_each_kind_are_made_simpler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        row(0),
        row(1, "x", packets=30),
        row(2, "x", packets=10),
        row(3, "x", packets=20),
        row(4, "y", packets=99),
    ]
    rows.append(Row.from_failure(5, "path 5", "why"))
    done: list[int] = []
    monkeypatch.setattr(Differ, "_minimize_one", lambda self, row: done.append(row.index))
    differ(tmp_path)._minimize(rows, 2)
    assert done == [2, 3, 4]
    (tmp_path / "0002").mkdir()
    (tmp_path / "0002/minimal.toml").touch()
    done.clear()
    differ(tmp_path)._minimize(rows, 1)
    assert done == [4]
    differ(tmp_path)._minimize(rows, 0)
    assert done == [4]


def test_a_scenario_is_made_simpler_as_long_as_it_differs_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those with at least one step left differ so; the run with two left fails."""
    said: list[str] = []
    made = differ(tmp_path, 2, say=said.append)
    monkeypatch.setattr(Differ, "_drawn", lambda self, index: Drawn(3))
    monkeypatch.setattr(Differ, "_kernel", lambda self, which, sysctls: which)

    def run(which: int, scenario: Drawn) -> KernelRun:
        if scenario.left == 2:
            raise RunError("failed")
        return KernelRun(RUN[:3] if which == 1 and scenario.left else RUN, (0,), 0)

    monkeypatch.setattr(differing, "one_on_kernel", run)
    made._minimize_one(row(6, "an ACK of the kernel's receiver only"))
    assert (tmp_path / "0006/minimal.toml").read_text() == "left = 1\n"
    assert (tmp_path / "0006/minimal-packets.txt").is_file()
    assert said == ["6: an ACK of the kernel's receiver only, simplest of 3: 1 left"]
    monkeypatch.setattr(differing, "TRIES", 1)
    made._minimize_one(row(7, "an ACK of the kernel's receiver only"))
    assert (tmp_path / "0007/minimal.toml").read_text() == "left = 3\n"
    assert said[1].endswith("simplest of 1: 3 left") and not (tmp_path / "0007/minimal-packets.txt").exists()


def test_scenarios_run_by_the_sysctls_that_they_share() -> None:
    scenarios = {
        "a": Drawn(sysctls={"x": "1", "b": "2"}),
        "b": Drawn(),
        "c": Drawn(sysctls={"b": "2", "x": "1"}),
    }
    found = differing._by_sysctls(scenarios)  # type: ignore[arg-type]
    assert {key: [*group] for key, group in found.items()} == {
        (("b", "2"), ("x", "1")): ["a", "c"],
        (): ["b"],
    }
