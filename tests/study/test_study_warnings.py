"""What is valid and probably not meant is printed as a warning, and ordinary studies have none."""

from __future__ import annotations

import pytest

from cwndlab import CongestionControl
from cwndlab.api import Study
from cwndlab.apps.check.study_warnings import study_warnings
from cwndlab.base.errors import StudyError
from cwndlab.base.law_attributes import check_attributes

TEXT = """
title = "x"
measure = ["goodput"]
[dumbbell]
rate = "1Mbps"
rtt = "10ms"
buffer = [%s]
flows = [{ cc = "%s"%s }]
[run]
duration = "1s"
"""


def warnings(buffer: str = "4", law: str = "cubic", more: str = "") -> list[str]:
    return study_warnings(Study.from_toml(TEXT % (buffer, law, more)).plan())


def test_a_queue_that_holds_less_than_a_packet() -> None:
    (text,) = warnings("1, 2")
    assert text.startswith("the queue of left>right holds 1250 bytes, less than a packet of 1500")
    assert text.endswith("(in 1 of 2 cells, the first: buffer=1)")
    assert warnings("2") == []


def test_a_law_without_its_own_ecn() -> None:
    (text,) = warnings(law="dctcp", more=', tcp = { ecn = "rfc3168" }')
    assert text.startswith('dctcp has ecn = "rfc3168" in place of its own "dctcp"')
    assert warnings(law="dctcp") == warnings(law="prague") == []


@pytest.mark.parametrize(
    ("body", "attribute"),
    [
        ("self.cwnd = 50 * ack.mss", "cwnd"),
        ("self.cwnd += 1", "cwnd"),
        ("self.cwnd_segments = 10", "cwnd_segments"),
        ("self.cwnd_byte = 10", "cwnd_byte"),
        ("self.cwnd_bytes = 1; self.pacing_rate = 10", "pacing_rate"),
        ("self.ssthresh = 10", "ssthresh"),
        ("self.cwnd = 2; self.cwnd_bytes = self.cwnd * ack.mss", None),
        ("self.count = 1; self.cwnd_bytes += 1", None),
    ],
)
def test_an_attribute_that_the_connection_does_not_have(body: str, attribute: str | None) -> None:
    source = f"class Mine(Base):\n    def on_ack(self, ack):\n        {body}\n"
    if attribute is None:
        check_attributes(source, "Mine", "mine.py")
        return
    with pytest.raises(StudyError, match=rf"mine.py:3: sets self\.{attribute}, which has no effect"):
        check_attributes(source, "Mine", "mine.py")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("use_slow_start = False", "uses_slow_start"),
        ("own_recovery: bool = True", "owns_recovery"),
        ("def on_acks(self, ack): ...", "on_ack"),
        ("ecn = 'l4s'", None),
        ("gain = 2", None),
    ],
)
def test_an_attribute_of_a_class_that_the_engine_does_not_read(line: str, meant: str | None) -> None:
    source = f"class Mine(Base):\n    {line}\n"
    if meant is None:
        check_attributes(source, "Mine", "mine.py")
        return
    with pytest.raises(StudyError, match=f"mine.py:2: .* write {meant}"):
        check_attributes(source, "Mine", "mine.py")


class Wrong(CongestionControl):
    def on_ack(self, ack: object) -> None:
        self.cwnd = 1448

    def on_loss(self, event: object) -> None:
        self.cwnd = 1448


def test_a_study_with_such_a_law_is_an_error() -> None:
    study = Study.from_toml(TEXT % ("4", "cubic", ""))
    with pytest.raises(StudyError, match=r"write self\.cwnd_bytes"):
        study.run(cc={"wrong": Wrong})
