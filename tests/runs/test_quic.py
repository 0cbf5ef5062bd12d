"""Runs with QUIC stacks: equal bytes on every number of threads, what records say, and what is rejected."""

from __future__ import annotations

import math

import pytest

from cwndlab.api import Study
from cwndlab.apps.diagnosis.from_outside import OutsideSummary
from cwndlab.apps.explore.controls import derive_study
from cwndlab.apps.explore.page import page
from cwndlab.base.errors import StudyError
from cwndlab.results.result import RunResult

STUDY = """\
title = "QUIC next to TCP"
measure = [
    "goodput", "loss_rate", "queue_delay", "fast_retransmits", "timeouts", "windows_with_drops",
    "triple_duplicate_acks", "one_way_delay",
]

[dumbbell]
rate = "10Mbps"
rtt = "40ms"
flows = [{ cc = "cubic" }, { stack = "quinn", cc = "bbr" }, { stack = "noq", cc = "bbr3" }]

[run]
duration = "8s"
warmup = "2s"
replicates = 4

[probes]
cwnd = true
segments_at = "left"
"""


@pytest.fixture(scope="module")
def study() -> Study:
    return Study.from_toml(STUDY)


@pytest.fixture(scope="module")
def run(study: Study, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return study.run(tmp_path_factory.mktemp("quic") / "run", threads=1)


def test_runs_are_the_same_on_one_and_two_threads(study: Study, run: RunResult) -> None:
    again = study.run(threads=2)
    assert again.campaign.digest(run.campaign.plan.cells[0].id) == run.campaign.digest(
        run.campaign.plan.cells[0].id
    )
    for replicate in (0, 3):
        for table in ("connections", "cwnd", "links", "queues"):
            first, second = (done.records(table, replicate=replicate) for done in (run, again))
            assert first.num_rows > 0
            assert first.equals(second), table
    assert not run.records("cwnd").equals(run.records("cwnd", replicate=3))


DATAGRAMS = """\
title = "Datagrams over UDP and over QUIC"
measure = ["goodput", "datagram_loss", "loss_rate", "one_way_delay"]

[dumbbell]
rate = "3Mbps"
rtt = "40ms"
loss = "1%"
flows = [
    { name = "udp", app = { kind = "cbr", rate = "600kbps", packet = "500B" } },
    { name = "quinn", stack = "quinn", app = { kind = "cbr", rate = "600kbps", packet = "500B" } },
    { name = "noq", stack = "noq", app = { kind = "cbr", rate = "600kbps", packet = "500B" } },
]

[run]
duration = "12s"
warmup = "2s"
replicates = 2
"""


def test_datagrams_over_quic_are_measured_as_those_over_udp() -> None:
    study = Study.from_toml(DATAGRAMS)
    runs = [study.run(threads=threads) for threads in (1, 2)]
    (cell,) = runs[0].campaign.plan.cells
    assert runs[0].campaign.digest(cell.id) == runs[1].campaign.digest(cell.id)
    for table in ("connections", "objects", "delays"):
        assert runs[0].records(table, replicate=1).equals(runs[1].records(table, replicate=1)), table
    rows = runs[0].values.to_pylist()
    values = {row["quantity"]: row["value"] for row in rows if row["replicate"] == 0}
    for flow in ("udp", "quinn", "noq"):
        assert 0.53 < values[f"goodput_{flow}"] < 0.57, flow  # 472 of 500 bytes, less losses
        assert 0.2 < values[f"datagram_loss_{flow}"] < 3, flow
        assert 20 < values[f"one_way_delay_{flow}_mean"] < 80, flow
    # The objects of a datagram flow are its datagrams, and those that arrived have a delay.
    objects = [row for row in runs[0].records("objects").to_pylist() if row["flow"] == "quinn"]
    delays = [row for row in runs[0].records("delays").to_pylist() if row["flow"] == "quinn"]
    arrived = [row for row in objects if row["finished"]]
    assert {row["bytes"] for row in arrived} == {472}
    assert [row["end_ns"] - row["start_ns"] for row in arrived] == [row["delay_ns"] for row in delays]
    lost = [row["index"] for row in objects if not row["finished"]]
    assert sorted(row["index"] for row in objects) == list(range(len(objects)))
    assert 0 < len(lost) < 0.03 * len(objects)


def test_probe_timeouts_are_rows_of_their_own() -> None:
    text = STUDY.replace('rtt = "40ms"', 'rtt = "40ms"\ndown = [["4s", "5s"]]')
    run = Study.from_toml(text).set({"probes.states": True, "run.replicates": 1}).run()
    found = run.records("timeouts").to_pylist()
    counted = {row["connection"]: row["timeouts"] for row in run.records("connections").to_pylist()}
    for connection in (1, 2):
        mine = [row for row in found if row["connection"] == connection]
        assert {row["timer"] for row in mine} == {"probe"}
        assert len(mine) == counted[connection] >= 2
        assert all(row["set_ns"] < row["time_ns"] for row in mine)
        assert [row["backoffs"] for row in mine if row["from_client"] and row["time_ns"] < 5e9][:2] == [1, 2]
    assert set(run.records("states").column("connection").to_pylist()) == {0}


def test_the_report_names_the_stacks_and_their_versions(run: RunResult) -> None:
    assert run.folder is not None
    text = (run.folder / "report.md").read_text()
    assert "cubic, quinn bbr and noq bbr3" in text
    assert "| QUIC stack noq | noq-proto 1.4.0 |" in text
    assert "QUIC stacks do not run on a page" in (run.folder / "report.html").read_text()


def test_each_sender_has_windows_and_losses(run: RunResult) -> None:
    windows = run.records("cwnd")
    assert set(windows.column("connection").to_pylist()) == {0, 1, 2}
    assert all(windows.column("from_client").to_pylist())
    for row in run.records("connections").to_pylist():
        assert row["bytes_up"] > 100_000
        assert 0 <= row["drops"] - row["retransmits"] <= 60, row  # not yet noticed at the end


def test_what_stacks_do_not_report_is_not_measured_rather_than_0(run: RunResult) -> None:
    values = {row["quantity"]: row["value"] for row in run.values.to_pylist()}
    assert math.isnan(values["fast_retransmits_noq_bbr3"])
    assert not math.isnan(values["fast_retransmits_cubic"])
    assert not math.isnan(values["timeouts_noq_bbr3"])
    for metric in ("windows_with_drops", "triple_duplicate_acks"):
        assert math.isnan(values[f"{metric}_noq_bbr3"])
        assert not math.isnan(values[f"{metric}_cubic"])


def test_delays_are_those_of_data(run: RunResult) -> None:
    values = {row["quantity"]: row["value"] for row in run.values.to_pylist()}
    delays = [values[f"one_way_delay_{flow}_mean"] for flow in ("cubic", "quinn_bbr", "noq_bbr3")]
    # All data waits in one queue and crosses the path in 20 ms; ACKs, which wait in none, do not count.
    assert delays == pytest.approx([20 + values["queue_delay_mean"]] * 3, rel=0.04)


def test_what_can_be_seen_of_a_stack_is_explained(run: RunResult) -> None:
    found = run.explain("noq_bbr3", at=3.0)
    (summary,) = found.summaries
    (row,) = [row for row in run.records("connections").to_pylist() if row["flow"] == "noq_bbr3"]
    assert isinstance(summary, OutsideSummary)
    assert (summary.acknowledged_bytes, summary.retransmitted) == (row["bytes_up"], row["retransmits"])
    assert (summary.dropped, summary.probe_timeouts) == (row["drops"], row["timeouts"])
    assert summary.rtt_s is not None and summary.full_window_share is not None and summary.pause_s is not None
    assert 0.04 < summary.rtt_s[0] <= summary.rtt_s[1] < 0.2
    assert 0 < summary.full_window_share < 1
    text = str(found)
    assert "noq does not name what keeps it from sending; causes follow from its window and packets" in text
    (wait,) = found.waits
    assert wait.start_s <= 3.0 <= wait.end_s and wait.cause == "recovery"
    assert found.to_dict()["waits_known"] is True
    # Without a name, a TCP flow comes first.
    assert run.explain().waits_known


def test_what_only_tcp_has_is_rejected_with_the_reason(study: Study, run: RunResult) -> None:
    with pytest.raises(StudyError, match="a kernel does not run quinn"):
        study.run(backend="linux-virtual")
    with pytest.raises(StudyError, match="pages of controls do not run quinn"):
        page(derive_study(study))
