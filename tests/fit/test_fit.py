"""Fits find the path behind a capture, or say what it does not show; the fitted study answers what if."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cwndlab.api import Study
from cwndlab.apps.captures.deliveries import Deliveries
from cwndlab.apps.captures.flow_packets import of_conversation, of_segments
from cwndlab.apps.captures.from_capture import read
from cwndlab.apps.fit.fit_result import CaptureFit, Compared, Parameter
from cwndlab.apps.fit.fitted_study import PathParameters, Present
from cwndlab.apps.fit.fitting import FitRefusedError, about_study, fit_capture
from cwndlab.apps.fit.path_estimates import PathEstimates, estimate_path
from cwndlab.apps.fit.random_loss import RandomLoss
from cwndlab.apps.fit.refusals import of_path
from cwndlab.apps.fit.replays import Region
from cwndlab.apps.fit.sender_estimates import estimate_sender
from cwndlab.apps.fit.stated_parameters import StatedParameters
from cwndlab.apps.packets.traces import trace
from cwndlab.cli.registry import command_line
from cwndlab.runs.single_run import simulate_tables

TESTED: dict[str, Any] = {"name": "tested", "cc": "cubic", "start": "0s"}
#: 39 kB, 26 packets.
NETWORK: dict[str, Any] = {"rate": "8Mbps", "rtt": "30ms", "buffer": 1.3, "flows": [TESTED]}


def study(seconds: int = 8, at: str = "tested_sender", **network: Any) -> Study:
    tables = {
        "title": "a path",
        "dumbbell": {**NETWORK, **network},
        "run": {"duration": f"{seconds}s"},
        "probes": {"segments_at": at},
    }
    return Study.from_dict(tables)


def capture(folder: Path, **changes: Any) -> Path:
    file = folder / "capture.pcapng"
    file.write_bytes(trace(study(**changes).plan().cells[0], "pcapng", seed=7))
    return file


def estimated(**changes: Any) -> PathEstimates:
    cell = study(**changes).plan().cells[0]
    return estimate_path(Deliveries(of_segments(simulate_tables(cell.scenario, 7, 0, ())["segments"], 0)))


def found(fit: CaptureFit) -> dict[str, Parameter]:
    return {one.name: one for one in fit.fitted.parameters}


def draws_in(fit: CaptureFit) -> list[dict[str, Any]]:
    return list(fit.study["axes"]["draw"]["values"])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> CaptureFit:
    return fit_capture(capture(tmp_path_factory.mktemp("fit")), threads=1)


@pytest.mark.parametrize(("name", "truth"), [("rate", 8.0), ("rtt", 30.0), ("buffer", 39.0), ("loss", 0.0)])
def test_the_intervals_of_a_known_path_contain_it(fitted: CaptureFit, name: str, truth: float) -> None:
    one = found(fitted)[name]
    assert one.low is not None
    assert one.high is not None
    beyond = one.resolution or 0.0
    assert one.low - beyond <= truth <= one.high + beyond
    assert one.high - one.low < 0.2 * max(truth, 1.0)


def test_the_sender_is_found(fitted: CaptureFit) -> None:
    parameters = found(fitted)
    assert [parameters[name].value for name in ("cc", "mss", "initial window", "pacing")] == [
        "cubic",
        1448,
        10,
        "no",
    ]


def test_the_capture_lies_among_its_replays(fitted: CaptureFit) -> None:
    assert sum(one.inside for one in fitted.fitted.compared) >= 3
    assert fitted.fitted.warnings == []


def test_the_fitted_study_runs_with_another_law_over_its_draws(fitted: CaptureFit) -> None:
    cells = Study.from_dict(fitted.study).set({"cc": "bbr3", "draw": ["1", "2"]}).plan()
    assert len(cells) == 2
    assert len({cells.derive_seed(cell) for cell in cells}) == 2
    assert all("bbr3" in json.dumps(cell.compiled.scenario["tcp"]) for cell in cells)
    result = Study.from_dict(fitted.study).set({"cc": "bbr3", "draw": ["1", "2", "3"]}).run()
    assert all(7.0 < result.sel(draw=draw).estimate("goodput").value < 8.0 for draw in ("1", "2", "3"))


def test_several_laws_over_the_draws_have_a_finding_each(fitted: CaptureFit, tmp_path: Path) -> None:
    study = Study.from_dict(fitted.study).set({"cc": "cubic,bbr3", "draw": ["1", "2"]})
    assert len(study.plan()) == 4
    study.run(out=tmp_path / "both")
    said = (tmp_path / "both/report.md").read_text()
    for law in ("cubic", "bbr3"):
        assert f"cc: {law}. Over the draws of the path the goodput of the flow is 7." in said


@pytest.mark.parametrize("cc", ["cubic", "reno"])
@pytest.mark.parametrize("stated", [None, 39_000.0])
def test_behind_codel_there_is_no_fit_whatever_is_stated(
    tmp_path: Path, cc: str, stated: float | None
) -> None:
    flow = {**TESTED, "cc": cc}
    file = capture(tmp_path, rate="20Mbps", rtt="40ms", queue="codel", flows=[flow], seconds=20)
    with pytest.raises(FitRefusedError, match="active queue management") as refused:
        fit_capture(file, StatedParameters(cc=cc, buffer_bytes=stated), threads=1)
    assert refused.value.reasons == ("queue",)


@pytest.mark.parametrize("queue", ["codel", "fq-codel", "dualpi2"])
def test_bbr_behind_active_queue_management_has_no_fit_whatever_is_stated(tmp_path: Path, queue: str) -> None:
    flow = {**TESTED, "cc": "bbr1"}
    file = capture(tmp_path, rate="4Mbps", rtt="16ms", queue=queue, buffer="60pkt", flows=[flow], seconds=20)
    with pytest.raises(FitRefusedError, match="active queue management") as refused:
        fit_capture(file, StatedParameters(cc="bbr1", buffer_bytes=15_000), threads=1)
    assert refused.value.reasons == ("queue",)


@pytest.mark.parametrize("loss", ["0%", "0.1%", "1%"])
def test_random_losses_are_no_queue_management(loss: str) -> None:
    path = estimated(loss=loss, seconds=20)
    assert not path.queue.managed
    assert "queue" not in [one.reason for one in of_path(path)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"flows": [{**TESTED, "bytes": "100kB"}]}, "too-short"),
        ({"flows": [{**TESTED, "app": {"kind": "bulk", "read_rate": "2Mbps"}}]}, "held-back"),
        (
            {
                **{"rate": "27Mbps", "rtt": "74ms", "buffer": 0.44, "loss": "0.1%", "seconds": 12},
                "flows": [{**TESTED, "app": {"kind": "bulk", "read_rate": "13Mbps"}}],
            },
            "held-back",
        ),
        ({"flows": [{**TESTED, "cc": "bbr1"}], "buffer": 4}, "buffer"),
        ({"flows": [{**TESTED, "cc": "bbr3"}]}, "cc"),
        ({"at": "tested_receiver"}, "place"),
        ({"loss": "0.5%", "buffer": 4}, "buffer"),
    ],
    ids=["short", "reader", "reader at times", "no loss", "law", "receiver", "random loss"],
)
def test_what_a_capture_does_not_show_is_an_error_that_says_what_would(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(FitRefusedError, match=r"capture|state it") as refused:
        fit_capture(capture(tmp_path, **changes), threads=1)
    assert reason in refused.value.reasons


def test_a_stated_buffer_takes_the_place_of_one_that_was_never_full(tmp_path: Path) -> None:
    file = capture(tmp_path, flows=[{**TESTED, "cc": "bbr1"}], buffer=4, seconds=12)
    fit = fit_capture(file, StatedParameters(buffer_bytes=60_700), threads=1)
    assert found(fit)["buffer"].stated
    assert found(fit)["buffer"].value == pytest.approx(60.7)
    limits = {one["set"]["topology.links.bottleneck.forward"]["queue"]["limit"] for one in draws_in(fit)}
    assert limits == {"60700B"}
    assert found(fit)["cc"].value == "bbr1"


def test_datagrams_in_the_queue_are_not_taken_for_a_slower_link() -> None:
    cross = {"name": "cross", "start": "0s", "app": {"kind": "poisson", "rate": "2Mbps"}}
    path = estimated(flows=[TESTED, cross])
    assert path.rate_bps == pytest.approx(8e6, rel=0.01)
    assert path.cross == pytest.approx(0.25, abs=0.03)
    assert path.queue.buffer_bytes == pytest.approx(39e3, rel=0.1)


def fit_next_to(folder: Path, cross: dict[str, Any]) -> CaptureFit:
    """The fit of a capture next to other traffic."""
    other = {"name": "other", "start": "0s", **cross}
    file = capture(folder, rate="4Mbps", flows=[TESTED, other], seconds=12)
    return fit_capture(file, StatedParameters(cc="cubic", buffer_bdp=1.3), threads=1)


def test_another_tcp_flow_is_told_from_datagrams_and_is_part_of_the_study(tmp_path: Path) -> None:
    fit = fit_next_to(tmp_path, {"cc": "cubic", "start": "2s"})
    assert found(fit)["response of cross traffic"].value == "as TCP"
    assert fit.fitted.warnings == []
    tested = Study.from_dict(fit.study).set({"cc": "bbr3", "draw": ["1", "2", "3", "4", "5"]})
    result = tested.run()
    assert min(result.sel(draw=str(k)).estimate("goodput_flow").value for k in range(1, 6)) < 3.0


def test_datagrams_are_told_from_another_tcp_flow(tmp_path: Path) -> None:
    fit = fit_next_to(tmp_path, {"app": {"kind": "poisson", "rate": "1Mbps"}})
    assert found(fit)["response of cross traffic"].value == "none"
    assert "rival" not in json.dumps(fit.study)


def test_losses_are_judged_by_a_stated_buffer() -> None:
    cell = study(loss="0.1%", buffer=4, seconds=20, rate="20Mbps", rtt="20ms").plan().cells[0]
    packets = of_segments(simulate_tables(cell.scenario, 7, 0, ())["segments"], 0)
    unknown = estimate_path(Deliveries(packets)).queue
    stated = estimate_path(Deliveries(packets), StatedParameters(buffer_bdp=0.5)).queue
    assert stated.buffer_bytes == pytest.approx(25e3, rel=0.01)
    assert stated.other_segments < unknown.other_segments


def test_acknowledgments_in_bunches_show_no_rate() -> None:
    cell = study().plan().cells[0]
    packets = of_segments(simulate_tables(cell.scenario, 7, 0, ())["segments"], 0)
    late = np.sort(packets.ack_s + np.random.default_rng(1).uniform(0, 0.002, len(packets.ack_s)))
    bunches = np.ceil(packets.ack_s / 0.008) * 0.008 + np.arange(len(packets.ack_s)) * 1e-6
    for times in (late, bunches):
        path = estimate_path(Deliveries(replace(packets, ack_s=times)))
        assert [one.reason for one in of_path(path)] == ["rate"]
    assert "rate" not in [one.reason for one in of_path(estimate_path(Deliveries(packets)))]


def test_slow_start_over_a_long_path_is_not_taken_for_a_probe_of_bbr(tmp_path: Path) -> None:
    changes = {"flows": [{**TESTED, "cc": "bbr3"}], "rtt": "800ms", "rate": "20Mbps", "seconds": 30}
    packets = of_conversation(read(capture(tmp_path, **changes))[0])
    path = estimate_path(Deliveries(packets))
    sender = estimate_sender(Deliveries(packets), path.rate_bps, path.base_s)
    assert sender.paced
    assert sender.law == ""


def test_losses_that_replays_make_without_any_random_ones_are_no_random_losses() -> None:
    assert RandomLoss(4, 1000, spurious=0.004).interval()[0] == 0.0
    assert RandomLoss(40, 1000, spurious=0.004).share == pytest.approx(0.036)
    low, high = RandomLoss(40, 1000, spurious=0.004).interval()
    assert 0.02 < low < 0.036 < high < 0.055
    rng = random.Random(1)
    assert all(0 < RandomLoss(4, 1000, spurious=0.004).draw(rng) < 0.02 for _ in range(20))


def test_replays_that_do_not_show_the_buffer_are_no_draws(tmp_path: Path) -> None:
    fit = fit_capture(capture(tmp_path, loss="0.1%"), threads=1)  # 7 of the first 39 do not
    forward = [one["set"]["topology.links.bottleneck.forward"] for one in draws_in(fit)]
    limits = [int(one["queue"]["limit"].removesuffix("B")) for one in forward]
    most = Counter(limit for limit in limits if limit % 1500).most_common(1)[0][1]
    assert most <= 3, "those had the middle error"


def test_errors_of_replays_are_measured_from_the_path_that_their_study_has() -> None:
    middle = PathParameters(2_000_000.4, 0.0300013, 39_000.4)
    path = Region.of_estimates(middle, RandomLoss(0, 1000), 1500).draw(random.Random(1))
    rate = path.sets(Present(datagrams=False, tcp=False, never="9s"))["topology.links.bottleneck.rate"]
    assert path.rate_bps == pytest.approx(1e6 * float(rate.removesuffix("Mbps")), rel=1e-12)
    assert path.base_s == pytest.approx(1e-3 * float(path.rtt.removesuffix("ms")), rel=1e-12)
    assert path.buffer_bytes == float(path.buffer.removesuffix("B"))


def test_a_queue_that_is_limited_in_packets_is_covered_and_known_to_a_packet(tmp_path: Path) -> None:
    flow = {**TESTED, "cc": "reno"}
    file = capture(tmp_path, rate="4Mbps", rtt="60ms", buffer="15000B", seconds=12, flows=[flow])
    fit = fit_capture(file, threads=1)
    assert found(fit)["buffer"].low == pytest.approx(15.0)
    limits = [one["set"]["topology.links.bottleneck.forward"]["queue"]["limit"] for one in draws_in(fit)]
    holds = Counter(int(limit.removesuffix("B")) // 1500 for limit in limits)
    assert holds[10] >= 35, "replays of other base round trips have errors of up to a packet"


def test_replays_do_not_scatter_by_rates_of_their_own(tmp_path: Path) -> None:
    flow = {**TESTED, "cc": "reno"}
    file = capture(tmp_path, rate="8Mbps", rtt="22ms", buffer=0.42, loss="0.1%", seconds=20, flows=[flow])
    one = found(fit_capture(file, threads=1))["rtt"]
    assert one.low is not None
    assert one.high is not None
    assert one.high - one.low - 2 * one.hosts < 1e-3, "3 % of the rate would be 3e-3 ms of an acknowledgment"


def test_half_of_the_replays_have_a_queue_that_is_limited_in_packets() -> None:
    region = Region.of_estimates(PathParameters(2e6, 0.03, 39_000.0), RandomLoss(0, 1000), 1500)
    rng = random.Random(1)
    limits = [region.draw(rng).buffer_bytes for _ in range(400)]
    assert 160 < sum(limit % 1500 == 0 for limit in limits) < 240


def test_a_study_that_does_not_explain_its_capture_says_so(fitted: CaptureFit) -> None:
    far = Compared(name="throughput (Mbit/s)", capture=1.0, low=5.0, median=5.5, high=6.0)
    assert "Warning" not in about_study(fitted.fitted)
    own = fitted.fitted.compared[0]
    assert f"throughput (Mbit/s) {own.capture:.4g}, round trip" in about_study(fitted.fitted)
    assert "Warning: the replays do not show the capture's throughput" in about_study(
        fitted.fitted.model_copy(update={"compared": [far]})
    )


def test_a_server_that_sends_is_fitted_like_a_client(tmp_path: Path) -> None:
    ends = {"client": "tested_receiver", "server": "tested_sender", "app.from": "server"}
    sends = study().set({f"traffic.tested.{key}": value for key, value in ends.items()})
    file = tmp_path / "capture.pcapng"
    file.write_bytes(trace(sends.plan().cells[0], "pcapng", seed=7))
    packets = of_conversation(read(file)[0])
    assert packets.handshake_s == pytest.approx(0.03, abs=5e-4)
    path = estimate_path(Deliveries(packets))
    assert path.rate_bps == pytest.approx(8e6, rel=1e-3)
    assert path.queue.buffer_bytes == pytest.approx(39e3, rel=0.1)


def test_random_losses_are_not_taken_for_a_full_queue() -> None:
    path = estimated(loss="0.5%", seconds=20)
    assert path.queue.loss == pytest.approx(0.005, rel=0.4)
    assert path.queue.full_episodes < path.queue.episodes / 2


def test_the_command_writes_a_study_and_what_it_rests_on(tmp_path: Path) -> None:
    out = tmp_path / "fitted"
    ran = CliRunner().invoke(
        command_line(), ["fit", str(capture(tmp_path)), "-o", str(out), "--threads", "1"]
    )
    assert ran.exit_code == 0, ran.output
    assert "95 % interval" in ran.output
    names = [one["name"] for one in json.loads((out / "parameters.json").read_text())["parameters"]]
    assert names[:4] == ["rate", "rtt", "buffer", "loss"]
    page = (out / "fit.html").read_text()
    assert "The capture and its replays" in page and page.count("<figure>") == 4
    assert len(Study.load(out).plan()) == 39


def test_the_course_of_a_flow_over_time_adds_up_to_the_whole(fitted: CaptureFit) -> None:
    numbers = {one.name: one.capture for one in fitted.fitted.compared}
    own = fitted.capture
    assert own.throughput_mbps.mean() == pytest.approx(numbers["throughput (Mbit/s)"], rel=0.01)
    base = next(one.value for one in fitted.fitted.parameters if one.name == "rtt")
    assert isinstance(base, float) and np.nanmin(own.round_trip_ms) > 0.99 * base
    # What is in flight has been sent within the last round trip.
    high = np.nanmax(own.round_trip_ms) * 1e-3 * own.throughput_mbps.max() / 8e-3
    assert 0 < own.in_flight_kb.max() < 1.2 * high
    assert (np.diff(own.retransmitted) >= 0).all() and own.retransmitted[-1] > 0
    assert len(fitted.replays) == fitted.fitted.draws
