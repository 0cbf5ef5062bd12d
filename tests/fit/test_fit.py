"""Fits find the path behind a capture, or say what it does not show; the fitted study answers what if."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cwndlab.commands.registry import command_line
from cwndlab.diagnosis.from_capture import read
from cwndlab.fit.deliveries import Deliveries
from cwndlab.fit.fit_result import CaptureFit, Parameter
from cwndlab.fit.fitting import FitRefusedError, StatedParameters, fit_capture
from cwndlab.fit.flow_packets import of_conversation, of_segments
from cwndlab.fit.path_estimates import PathEstimates, estimate_path
from cwndlab.runs.single_run import simulate_tables, trace
from cwndlab.study import Study

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


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> CaptureFit:
    return fit_capture(capture(tmp_path_factory.mktemp("fit")), threads=1)


@pytest.mark.parametrize(("name", "truth"), [("rate", 8.0), ("rtt", 30.0), ("buffer", 39.0), ("loss", 0.0)])
def test_the_intervals_of_a_known_path_contain_it(fitted: CaptureFit, name: str, truth: float) -> None:
    one = found(fitted)[name]
    assert one.low is not None
    assert one.high is not None
    assert one.low <= truth <= one.high
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
    assert len({cells.seed_of(cell) for cell in cells}) == 2
    assert all("bbr3" in json.dumps(cell.compiled.scenario["tcp"]) for cell in cells)
    result = Study.from_dict(fitted.study).set({"cc": "bbr3", "draw": ["1", "2", "3"]}).run()
    assert all(7.0 < result.sel(draw=draw).estimate("goodput").value < 8.0 for draw in ("1", "2", "3"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"flows": [{**TESTED, "bytes": "100kB"}]}, "too-short"),
        ({"flows": [{**TESTED, "app": {"kind": "bulk", "read_rate": "2Mbps"}}]}, "held-back"),
        ({"flows": [{**TESTED, "cc": "bbr1"}], "buffer": 4}, "buffer"),
        ({"flows": [{**TESTED, "cc": "bbr3"}]}, "cc"),
        ({"at": "tested_receiver"}, "receiver"),
        ({"loss": "0.5%", "buffer": 4}, "buffer"),
    ],
    ids=["short", "reader", "no loss", "law", "receiver", "random loss"],
)
def test_what_a_capture_does_not_show_is_an_error_that_says_what_would(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(FitRefusedError, match=r"capture|state it") as refused:
        fit_capture(capture(tmp_path, **changes), threads=1)
    assert reason in refused.value.reasons


def test_a_stated_buffer_takes_the_place_of_one_that_was_never_full(tmp_path: Path) -> None:
    file = capture(tmp_path, flows=[{**TESTED, "cc": "bbr1"}], buffer=4, seconds=12)
    fit = fit_capture(file, StatedParameters(buffer_bdp=2.0), threads=1)
    assert found(fit)["buffer"].stated
    assert found(fit)["buffer"].value == pytest.approx(60, rel=0.01)
    assert found(fit)["cc"].value == "bbr1"


def test_datagrams_in_the_queue_are_not_taken_for_a_slower_link() -> None:
    cross = {"name": "cross", "start": "0s", "app": {"kind": "poisson", "rate": "2Mbps"}}
    path = estimated(flows=[TESTED, cross])
    assert path.rate_bps == pytest.approx(8e6, rel=0.01)
    assert path.cross == pytest.approx(0.25, abs=0.03)
    assert path.queue.buffer_bytes == pytest.approx(39e3, rel=0.1)


def test_a_server_that_sends_is_fitted_like_a_client(tmp_path: Path) -> None:
    sends = {"name": "tested", "cc": "cubic", "start": "0s", "app": {"kind": "bulk", "from": "server"}}
    packets = of_conversation(read(capture(tmp_path, flows=[sends]))[0])
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
    assert "## The capture next to replays" in (out / "fit.md").read_text()
    assert len(Study.load(out).plan()) == 39
