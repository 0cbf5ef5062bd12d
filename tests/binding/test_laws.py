"""Congestion controls in Python, run by the core: the calls they get, and what becomes of their errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cwndlab import AckReport, CongestionControl, LossEvent, _core
from cwndlab.api import Study
from cwndlab.base.errors import StudyError
from cwndlab.base.laws import from_file, load

DIGEST = "0123456789abcdef" * 2
Make = Callable[..., dict[str, Any]]


def law(file: str) -> type[CongestionControl]:
    """The only law in a file of tests/laws."""
    return load(from_file(f"tested={Path(__file__).parent.parent / 'laws' / file}"))


def external(*, random: bool = False) -> dict[str, Any]:
    return {"external": {"code": DIGEST, "random": random}}


def trace(
    scenario: dict[str, Any], control: type[CongestionControl] | None = None
) -> tuple[list[dict[str, Any]], int]:
    """The packets and windows of a run, and how many timeouts it had."""
    records = _core.run(json.dumps(scenario), 3, 0, laws=None if control is None else {DIGEST: control})
    rows = [row for name in ("segments", "cwnd") for row in pa.table(records[name]).to_pylist()]
    return rows, sum(pa.table(records["connections"]).column("timeouts").to_pylist())


class Steady(CongestionControl):
    """A constant window of ten segments."""

    def on_start(self, now_s: float, mss: int, /) -> None:
        self.cwnd_bytes = 10.0 * mss

    def on_ack(self, ack: AckReport, /) -> None:
        self.cwnd_bytes = 10.0 * ack.mss

    def on_loss(self, event: LossEvent, /) -> None:
        self.cwnd_bytes = 10.0 * event.mss


@pytest.mark.parametrize(
    ("profile", "knobs"),
    [
        ("rfc5681", {}),
        ("rfc5681", {"recovery": "sack"}),
        ("rfc5681", {"recovery": "tahoe", "sack": False}),
        ("linux-6", {"slow_start": "standard", "reduce_from": "flight-size", "pacing": False}),
        ("linux-6", {"slow_start": "standard", "reduce_from": "flight-size"}),
    ],
)
def test_reno_in_python_sends_what_reno_in_rust_sends_to_the_byte(
    scenario: Make, profile: str, knobs: dict[str, Any]
) -> None:
    """Three flows, over random losses, recoveries, timeouts and ECN-free queues."""
    made = scenario(profile, **knobs, window_law="reno")
    made["links"][1]["impairments"] = [{"kind": "bernoulli", "p": 0.2}]
    made["traffic"] = [{**made["traffic"][0], "name": f"flow {i}", "start_ns": i * 10**8} for i in range(3)]
    rust, timeouts = trace(made)
    made["tcp"][0]["window_law"] = external()
    assert trace(made, law("reno_in_python.py")) == (rust, timeouts)
    assert timeouts > 10  # of the same data, too


def test_the_manual_s_law_keeps_the_queue_short(scenario: Make) -> None:
    def dropped(window_law: Any, **laws: type[CongestionControl]) -> int:
        records = _core.run(json.dumps(scenario(window_law=window_law)), 1, 0, laws=laws)
        return records.summary["dropped"]

    assert dropped("reno") > 0
    assert dropped(external(), **{DIGEST: law("few.py")}) == 0


L4S = """
title = "An L4S law in Python"
measure = ["queue_delay"]
[dumbbell]
rate = "10Mbps"
rtt = "20ms"
queue = "dualpi2"
flows = [{ name = "tested", cc = "scalable" }]
[run]
duration = "5s"
warmup = "2s"
replicates = 1
[[quantities]]
name = "marks"
metric = "congestion_signals"
options = { traffic = ["tested"], signal = "marks" }
[[quantities]]
name = "utilization"
metric = "link_utilization"
options = { link = "left>right" }
"""


def test_a_law_brings_its_form_of_ecn_and_a_study_may_replace_it() -> None:
    """With ECT(1) and AccECN, a scalable response keeps DualPI2's queue near its threshold of 1 ms."""
    cc = {"scalable": f"{Path(__file__).parent.parent / 'laws/scalable.py'}:Scalable"}
    run = Study.from_toml(L4S).run(cc=cc)
    marks, delay, use = (run[name].estimate().value for name in ("marks", "queue_delay_mean", "utilization"))
    assert marks > 100 and delay < 2 and use > 0.8
    without = Study.from_toml(L4S).set(
        {"dumbbell.flows": [{"cc": "scalable", "name": "tested", "tcp": {"ecn": "off"}}]}
    )
    assert without.run(cc=cc)["marks"].estimate().value == 0


def test_a_law_acts_when_its_timer_expires(scenario: Make) -> None:
    """At 0.5 s, and then each 100 ms up to 1 s."""
    calls: list[float] = []

    class Timed(Steady):
        def on_start(self, now_s: float, mss: int, /) -> None:
            assert self.timer_s is None
            self.timer_s = 0.5

        def on_timer(self, now_s: float, /) -> None:
            assert self.timer_s is None
            calls.append(now_s)
            self.cwnd_bytes += 1000
            if now_s < 1:
                self.timer_s = now_s + 0.1

    trace(scenario(window_law=external()), Timed)
    assert calls[::2] == calls[1::2] == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], abs=1e-8)  # both ends


def test_a_timer_that_is_not_later_than_now_ends_the_run(scenario: Make) -> None:
    class Late(Steady):
        def on_ack(self, ack: AckReport, /) -> None:
            self.timer_s = ack.now_s

    with pytest.raises(_core.LawFailed, match=r"the timer is set to .* s; it must be later than now"):
        trace(scenario(window_law=external()), Late)
    with pytest.raises(ValueError, match="timer_s must be a time or None, not NaN"):
        Late().timer_s = float("nan")


def test_a_form_of_ecn_that_is_none_is_an_error(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "laws/scalable.py").read_text(encoding="utf-8")
    (tmp_path / "wrong.py").write_text(text.replace("accecn-ect1", "accecn-ect2"), encoding="utf-8")
    with pytest.raises(StudyError, match=r"has ecn = 'accecn-ect2', which is no form of ECN.*accecn-ect1"):
        from_file(str(tmp_path / "wrong.py"))


def test_an_exception_ends_the_run_and_names_file_line_flow_and_simulated_time(scenario: Make) -> None:
    class Broken(Steady):
        def on_ack(self, ack: AckReport, /) -> None:
            if ack.now_s > 1:
                raise KeyError("rtt")

    line = Broken.on_ack.__code__.co_firstlineno + 2
    with pytest.raises(_core.LawFailed) as caught:
        trace(scenario(window_law=external()), Broken)
    text = str(caught.value)
    assert f"{__file__}:{line}: Broken.on_ack: KeyError: 'rtt'" in text
    assert "flow transfer, connection 0, client, 1." in text


def test_a_value_that_is_no_window_is_an_error_where_it_is_assigned(scenario: Make) -> None:
    class NotANumber(Steady):
        def on_loss(self, event: LossEvent, /) -> None:
            self.cwnd_bytes = float("nan")

    line = NotANumber.on_loss.__code__.co_firstlineno + 1
    made = scenario(window_law=external())
    made["links"][1]["impairments"] = [{"kind": "bernoulli", "p": 0.05}]
    with pytest.raises(_core.LawFailed, match=rf":{line}: NotANumber.on_loss: ValueError: cwnd_bytes"):
        trace(made, NotANumber)


def test_ctrl_c_in_a_law_is_not_its_error(scenario: Make) -> None:
    class Interrupted(Steady):
        def on_ack(self, ack: AckReport, /) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trace(scenario(window_law=external()), Interrupted)


def test_a_law_that_is_not_given_is_named(scenario: Make) -> None:
    made = json.dumps(scenario(window_law=external()))
    with pytest.raises(_core.LawFailed, match=DIGEST):
        _core.run(made, 1, 0)
    with pytest.raises(_core.LawFailed, match="was not given"):
        _core.run(made, 1, 0, laws={"f" * 32: Steady})
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        _core.run(made, 1, 0, laws={"short": Steady})


def test_random_numbers_are_seeded_by_replicate_and_flow(scenario: Make) -> None:
    drawn: list[float] = []

    class Random(Steady):
        uses_random = True

        def on_start(self, now_s: float, mss: int, /) -> None:
            drawn.append(self.random.random())
            super().on_start(now_s, mss)

    made = json.dumps(scenario(window_law=external(random=True)))
    for replicate in (0, 0, 1):
        _core.run(made, 5, replicate, laws={DIGEST: Random})
    client, server, again, _, other, _ = drawn
    assert client == again and len({client, server, other}) == 3


def test_random_numbers_must_be_declared(scenario: Make) -> None:
    class Undeclared(Steady):
        def on_start(self, now_s: float, mss: int, /) -> None:
            self.random.random()

    with pytest.raises(_core.LawFailed, match="uses_random = True"):
        trace(scenario(window_law=external()), Undeclared)


def test_a_stated_pacing_rate_is_the_rate_at_which_data_leaves(scenario: Make) -> None:
    class Paced(Steady):
        def on_start(self, now_s: float, mss: int, /) -> None:
            self.pacing_rate_bps = 400_000.0

    class Seen(Paced):
        def on_ack(self, ack: AckReport, /) -> None:
            pass  # the window stays at 10 segments: 1.5 Mbit/s without pacing

    records = _core.run(json.dumps(scenario(window_law=external())), 1, 0, laws={DIGEST: Seen})
    seen = pa.table(records["segments"]).to_pylist()
    sent = [row for row in seen if row["len"] > 0]
    spent = (sent[-1]["time_ns"] - sent[0]["time_ns"]) / 1e9
    assert sum(row["len"] for row in sent[:-1]) * 8 / spent == pytest.approx(400_000, rel=0.05)


def test_a_report_has_what_the_ack_told(scenario: Make) -> None:
    reports: list[AckReport] = []

    class Watching(Steady):
        def on_ack(self, ack: AckReport, /) -> None:
            reports.append(ack)

    made = scenario("linux-6", window_law=external())
    made["links"][1]["impairments"] = [{"kind": "drop-nth", "packets": [40]}]
    trace(made, Watching)
    assert sum(ack.acked_bytes for ack in reports) == 300_000
    assert sum(ack.delivered_bytes for ack in reports) == 300_000
    assert any(ack.in_recovery and ack.sacked_bytes and not ack.growth_bytes for ack in reports)
    rtts = [ack.rtt_s for ack in reports if ack.rtt_s is not None]
    assert min(rtts) > 0.082 and [ack.now_s for ack in reports] == sorted(ack.now_s for ack in reports)
    rates = [ack.rate.rate_bps for ack in reports if ack.rate is not None]
    assert 0 < max(rate for rate in rates if rate is not None) < 1.6e6
    assert sys.getsizeof(reports[0]) < 1000 and "acked_bytes=" in repr(reports[0])
