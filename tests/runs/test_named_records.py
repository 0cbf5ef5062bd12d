"""Records of single runs by name, and the charts made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cwndlab import Dumbbell, Flow, Run, RunResult, Study


@pytest.fixture(scope="module")
def run() -> RunResult:
    flows = [Flow(cc="cubic", count=2, start="0s"), Flow(cc="bbr1", start="0s")]
    network = Dumbbell(rate="5Mbps", rtt="20ms", buffer=[0.5, 1], flows=flows)
    study = Study.build(
        "three flows", measure=["share"], dumbbell=network, run=Run(duration="2s", replicates=2)
    )
    return study.run()


def data(chart: Any) -> list[dict[str, Any]]:
    (rows,) = chart.to_dict()["datasets"].values()
    assert rows
    return list(rows)


def test_a_table_of_one_run_has_names_in_place_of_indices(run: RunResult) -> None:
    connections = run.records("connections", buffer=1)
    assert connections.column("flow").to_pylist() == ["cubic.0", "cubic.1", "bbr1"]
    links = run.records("links", cell="buffer=1").column("link").to_pylist()
    assert links[0] == "left>right" and "bbr1_sender>left" in links


def test_what_was_not_recorded_is_simulated_again_with_its_probe(run: RunResult) -> None:
    assert run.records.tables("buffer=1")["cwnd"].num_rows == 0
    table = run.records("cwnd", buffer=1, replicate=1)
    assert set(table.column("flow").to_pylist()) == {"cubic.0", "cubic.1", "bbr1"}
    sent = run.records("connections", buffer=1, replicate=1).column("segments_sent").to_pylist()
    segments = run.records("segments", buffer=1, replicate=1)
    own = np.asarray(segments.column("flow").to_pylist()) == "cubic.0"
    out = own & segments.column("sent").to_numpy() & (segments.column("event").to_numpy() != "drop")
    assert 0 < out.sum() <= sent[0]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cell": "buffer=7"}, 'no cell "buffer=7"; did you mean'),
        ({}, "2 cells fit; name one by cell= or by axes, as buffer=0.5"),
        ({"buffer": 3}, "no cell has {'buffer': 3}"),
    ],
)
def test_a_cell_that_is_not_one_is_an_error(run: RunResult, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(KeyError) as caught:
        run.records("links", **asked)
    assert message in str(caught.value)


def test_cwnd_draws_each_connection_of_the_flow(run: RunResult) -> None:
    rows = data(run.plot.cwnd("cubic", buffer=1))
    assert {row["flow"] for row in rows} == {"cubic.0", "cubic.1"}
    table = run.records("cwnd", buffer=1)
    mine = np.asarray(table.column("flow").to_pylist()) == "cubic.1"
    mine &= table.column("from_client").to_numpy()
    largest = table.column("cwnd_bytes").to_numpy()[mine].max() / 1000
    assert max(row["y"] for row in rows if row["flow"] == "cubic.1") == largest
    with pytest.raises(KeyError, match='no flow "cubi"; did you mean "cubic"'):
        run.plot.cwnd("cubi", buffer=1)


def test_queue_draws_the_bottleneck_or_the_link_that_is_named(run: RunResult) -> None:
    limit = 5e6 * 0.020 / 8 / 1500
    assert 1 < max(row["y"] for row in data(run.plot.queue(buffer=1))) <= limit + 1
    assert {row["link"] for row in data(run.plot.queue("right>left", buffer=1))} == {"right>left"}
    with pytest.raises(KeyError, match='no direction "left>righ"'):
        run.plot.queue("left>righ", buffer=1)


def test_sequence_draws_the_flow_as_its_sender_sees_it(run: RunResult) -> None:
    rows = data(run.plot.sequence("bbr1", until="1s", buffer=1))
    assert {"send", "ack"} <= {row["event"] for row in rows}
    assert max(row["time"] for row in rows) <= 1.0


def test_shares_of_an_interval_add_up_to_all(run: RunResult) -> None:
    rows = data(run.plot.share(interval="500ms", buffer=1))
    assert {row["flow"] for row in rows} == {"cubic", "bbr1"}
    for time in (0.0, 0.5, 1.0, 1.5):
        assert sum(row["share"] for row in rows if row["time"] == time) == pytest.approx(100)
    table = run.records("connections", buffer=1)
    delivered = dict(zip(table.column("flow").to_pylist(), table.column("bytes_up").to_pylist(), strict=True))
    whole = {row["flow"]: row["share"] for row in data(run.plot.share(interval="2s", buffer=1))}
    assert whole["bbr1"] == pytest.approx(100 * delivered["bbr1"] / sum(delivered.values()))


def test_a_figure_of_the_study_is_a_chart_with_its_data(run: RunResult) -> None:
    spec = run.study.outline.figures[0]
    rows = data(run.chart(spec.id))
    assert {row["x"] for row in rows} == {0.5, 1.0}
    assert len(rows) == 4
