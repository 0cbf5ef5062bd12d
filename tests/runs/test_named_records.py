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
    connections = run.sel(buffer=1).records["connections"]
    assert connections.column("flow").to_pylist() == ["cubic.0", "cubic.1", "bbr1"]
    links = run.sel(cell="buffer=1").records["links"].column("link").to_pylist()
    assert links[0] == "left>right" and "bbr1_sender>left" in links


def test_what_was_not_recorded_is_simulated_again_with_its_probe(run: RunResult) -> None:
    assert run.campaign.tables("buffer=1")["cwnd"].num_rows == 0
    table = run.sel(buffer=1).records("cwnd", replicate=1)
    assert set(table.column("flow").to_pylist()) == {"cubic.0", "cubic.1", "bbr1"}
    sent = run.sel(buffer=1).records("connections", replicate=1).column("segments_sent").to_pylist()
    segments = run.sel(buffer=1).records("segments", replicate=1)
    own = np.asarray(segments.column("flow").to_pylist()) == "cubic.0"
    out = own & segments.column("sent").to_numpy() & (segments.column("event").to_numpy() != "drop")
    assert 0 < out.sum() <= sent[0]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cell": "buffer=7"}, 'no cell "buffer=7"; did you mean'),
        ({}, "2 cells are selected; select one by axes, run.sel({AXIS: VALUE, …}), or by"),
        ({"buffer": 3}, "axis 'buffer' has no value 3"),
        ({"bufer": 1}, "no axis 'bufer'; did you mean \"buffer\""),
    ],
)
def test_a_cell_that_is_not_one_is_an_error(run: RunResult, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(KeyError) as caught:
        run.sel(asked).plot.queue()
    assert message in str(caught.value)


def test_axes_given_to_a_method_say_what_to_write(run: RunResult) -> None:
    for method, place in ((run.estimate, ""), (run.plot.cwnd, "plot."), (run.explain, ""), (run.budget, "")):
        with pytest.raises(TypeError) as caught:
            method("goodput", buffer=1)  # type: ignore[operator]
        assert f'select cells first: run.sel({{"buffer": 1}}).{place}{method.__name__}(…)' in str(
            caught.value
        )
    with pytest.raises(TypeError, match='budget\\(\\) has no argument "knd"; did you mean "kind"'):
        run.budget(knd="page")  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="every value is in the table `values`"):
        run.table()  # type: ignore[attr-defined]
    with pytest.raises(KeyError, match=r'no column "goodput"; .*; run\["goodput"\] gives'):
        run.estimates["goodput"]
    with pytest.raises(TypeError, match=r"is a table, not a method; write run\.estimates"):
        run.estimates("goodput")  # type: ignore[operator]


def test_selected_results_are_those_of_fewer_cells(run: RunResult) -> None:
    one = run.sel({"buffer": 1})
    assert one.axes == {"buffer": [1]} and one.estimates.num_rows == run.estimates.num_rows // 2
    wanted = [row["value"] for row in run.estimates.to_pylist() if row["buffer"] == 1]
    assert one.estimates.column("value").to_pylist() == wanted
    assert run.sel(buffer=[0.5, 1]).values == run.values
    assert run.records["links"].column("cell").unique().to_pylist() == ["buffer=0.5", "buffer=1"]
    both = [row for row in run.records["links"].to_pylist() if row["cell"] == "buffer=1"]
    assert both == one.records["links"].to_pylist()


def test_results_show_what_they_hold(run: RunResult) -> None:
    text = repr(run)
    assert "2 cells" in text and "buffer" in text and "0.5, 1" in text
    assert "connections" in repr(run.records) and "3 rows" in repr(run.sel(buffer=1).records)


def test_asking_whether_a_table_was_recorded_simulates_nothing(
    run: RunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run.records.source, "simulate_again", lambda *_: pytest.fail("simulated"))
    for name in ("connections", "cwnd", "budget", "nothing"):
        assert (name in run.records) == (name in list(run.records)) == (name == "connections")


def test_a_flow_that_is_not_there_names_each_flow_once(run: RunResult) -> None:
    with pytest.raises(KeyError, match=r"known: cubic, bbr1, cubic\.0, cubic\.1$"):
        run.sel(buffer=1).budget("connection", "nope")


def test_cwnd_draws_each_connection_of_the_flow(run: RunResult) -> None:
    rows = data(run.sel(buffer=1).plot.cwnd("cubic"))
    assert {row["flow"] for row in rows} == {"cubic.0", "cubic.1"}
    table = run.sel(buffer=1).records["cwnd"]
    mine = np.asarray(table.column("flow").to_pylist()) == "cubic.1"
    mine &= table.column("from_client").to_numpy()
    largest = table.column("cwnd_bytes").to_numpy()[mine].max() / 1000
    assert max(row["y"] for row in rows if row["flow"] == "cubic.1") == largest
    with pytest.raises(KeyError, match='no flow "cubi"; did you mean "cubic"'):
        run.sel(buffer=1).plot.cwnd("cubi")


def test_queue_draws_the_bottleneck_or_the_link_that_is_named(run: RunResult) -> None:
    limit = 5e6 * 0.020 / 8 / 1500
    assert 1 < max(row["y"] for row in data(run.sel(buffer=1).plot.queue())) <= limit + 1
    assert {row["link"] for row in data(run.sel(buffer=1).plot.queue("right>left"))} == {"right>left"}
    with pytest.raises(KeyError, match='no direction "left>righ"'):
        run.sel(buffer=1).plot.queue("left>righ")


def test_sequence_draws_the_flow_as_its_sender_sees_it(run: RunResult) -> None:
    rows = data(run.sel(buffer=1).plot.sequence("bbr1", until="1s"))
    assert {"send", "ack"} <= {row["event"] for row in rows}
    assert max(row["time"] for row in rows) <= 1.0


def test_shares_of_an_interval_add_up_to_all(run: RunResult) -> None:
    rows = data(run.sel(buffer=1).plot.share(interval="500ms"))
    assert {row["flow"] for row in rows} == {"cubic", "bbr1"}
    for time in (0.0, 0.5, 1.0, 1.5):
        assert sum(row["share"] for row in rows if row["time"] == time) == pytest.approx(100)
    table = run.sel(buffer=1).records["connections"]
    delivered = dict(zip(table.column("flow").to_pylist(), table.column("bytes_up").to_pylist(), strict=True))
    whole = {row["flow"]: row["share"] for row in data(run.sel(buffer=1).plot.share(interval="2s"))}
    assert whole["bbr1"] == pytest.approx(100 * delivered["bbr1"] / sum(delivered.values()))


def test_a_figure_of_the_study_is_a_chart_with_its_data(run: RunResult) -> None:
    spec = run.study.outline.figures[0]
    rows = data(run.chart(spec.id))
    assert {row["x"] for row in rows} == {0.5, 1.0}
    assert len(rows) == 4
