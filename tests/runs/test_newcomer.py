"""What someone who knows xarray and msprime tries first works, or says what to write."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cwndlab
from cwndlab import (
    ArgumentError,
    CongestionControl,
    Dumbbell,
    Flow,
    Link,
    NotFoundError,
    Run,
    Study,
    StudyError,
)

NETWORK = Dumbbell(rate="10Mbps", rtt="20ms", flows=[Flow("cubic")])


class Mine(CongestionControl):
    def on_ack(self, ack: cwndlab.AckReport) -> None:
        self.cwnd_bytes += ack.acked_bytes

    def on_loss(self, event: cwndlab.LossEvent) -> None:
        self.cwnd_bytes //= 2


def build(network: Dumbbell = NETWORK) -> Study:
    return Study.build("x", dumbbell=network, measure=["goodput"], run=Run(duration="1s"))


@pytest.mark.parametrize("hidden", ["base", "catalogue", "locate_refusal", "with_model", "document", "raw"])
def test_dir_of_a_study_lists_what_callers_need(hidden: str) -> None:
    assert hidden not in dir(build())
    assert {"run", "set", "save", "axes", "quantities", "title", "stream"} <= set(dir(build()))


def test_dir_of_a_model_lists_its_keys_and_nothing_of_pydantic() -> None:
    assert dir(Flow("cubic")) == sorted(Flow.model_fields)
    assert not [name for name in dir(NETWORK) if name.startswith(("model_", "_"))]


def test_help_has_a_list_of_parameters() -> None:
    for model in (Dumbbell, Flow, Run, Link):
        text = pydoc.render_doc(model, renderer=pydoc.plaintext)
        assert "BeforeValidator" not in text and "pydantic_core" not in text
        assert [*inspect.signature(model).parameters] == [
            *model.positional,
            *(name for name in model.model_fields if name not in model.positional),
        ]
    assert "Flow(cc=None, *, name=None" in pydoc.render_doc(Flow, renderer=pydoc.plaintext)


@pytest.mark.parametrize(
    "model",
    [
        NETWORK,
        Run(duration="10s", replicates=3),
        Link(between=["a", "b"], rate="1Mbps", delay="10ms"),
        Dumbbell(rate=["1Mbps", "2.5Mbps"], rtt="20ms", loss="1%", flows=[Flow("bbr1", count=2)]),
    ],
)
def test_the_constructor_takes_a_repr_back(model: object) -> None:
    names = {"Dumbbell": Dumbbell, "Flow": Flow, "Run": Run, "Link": Link}
    assert eval(repr(model), names) == model
    assert str(model) == repr(model)


def test_a_congestion_control_needs_no_keyword() -> None:
    assert Flow("bbr1") == Flow(cc="bbr1")
    with pytest.raises(ArgumentError, match="Flow takes its keys by name: name=…, cc=…"):
        Flow("bbr1", "reno")  # type: ignore[misc]


def test_a_flow_takes_a_class() -> None:
    run = build(Dumbbell(rate="10Mbps", rtt="20ms", flows=[Flow(cc=Mine), Flow(cc="reno")])).run()
    assert run["goodput"].axes == {"flow": ["mine", "reno"]}
    both = build(Dumbbell(rate="10Mbps", rtt="20ms", flows=[Flow(cc=["cubic", Mine])])).run()
    assert both["goodput"].axes == {"cc": ["cubic", "mine"]}


def test_run_takes_a_class_for_a_study_with_one_law() -> None:
    run = build().run(cc={"mine": Mine})
    assert run["goodput"].axes == {"cc": ["cubic", "mine"]}
    two = build(Dumbbell(rate="10Mbps", rtt="20ms", flows=[Flow("cubic"), Flow("reno")]))
    with pytest.raises(StudyError, match='does not use the window law "mine", and no axis varies it'):
        two.run(cc={"mine": Mine})


def test_a_misspelt_law_fails_where_it_is_written() -> None:
    with pytest.raises(StudyError, match=r'there is no congestion control .cubik.; did you mean "cubic"'):
        Flow(cc="cubik")
    assert Flow("my_cubic").cc == "my_cubic" and Flow("mine").cc == "mine"  # names of your own laws


SCRIPT = """
import cwndlab
from cwndlab import Dumbbell, Flow, Run, Study

@cwndlab.metric(unit="1", low=0)
def answer(run: cwndlab.RunView) -> float:
    \"\"\"The answer.\"\"\"
    return 42.0

study = Study.build(
    "x",
    dumbbell=Dumbbell(rate="10Mbps", rtt="20ms", flows=[Flow("reno")]),
    quantities=[{"name": "answer", "metric": "answer"}],
    run=Run(duration="1s", replicates=2),
)
print(study.run(threads=2)["answer"].estimate().value)
"""


def test_a_script_with_its_own_metric_needs_no_main_guard(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (found.stdout.strip(), found.returncode) == ("42.0", 0), found.stderr


def test_an_impossible_option_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="threads: 0 does not fit; it must be at least 1"):
        build().run(threads=0)


def test_records_of_one_cell_are_chosen_by_its_name() -> None:
    run = build(Dumbbell(rate="10Mbps", rtt="20ms", buffer=[1, 2], flows=[Flow("cubic")])).run()
    one = run.records("cwnd", cell="buffer=2")
    assert set(one["cell"].to_pylist()) == {"buffer=2"}
    assert one == run.sel(buffer=2).records["cwnd"]
    with pytest.raises(NotFoundError, match='no cell "buffer=3"; did you mean "buffer='):
        run.records("cwnd", cell="buffer=3")


def test_metrics_see_the_flow_of_each_row_of_cwnd(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import cwndlab\nimport numpy as np\n"
        '@cwndlab.metric(unit="B", low=0, tables=["cwnd"])\n'
        "def window_at_most(run: cwndlab.RunView, *, traffic: str | None = None) -> float:\n"
        '    """The largest window of a flow."""\n'
        '    rows = run.columns("cwnd")\n'
        '    mine = np.isin(rows["traffic"], run.traffic(traffic))\n'
        '    return float(np.max(rows["cwnd_bytes"][mine], initial=0.0))\n'
    )
    from cwndlab.metrics import _declared

    known = dict(_declared._known)
    try:
        _declared.load_metrics(str(tmp_path / "mine.py"))
        flows = [Flow("reno"), Flow("cubic")]
        quantities = [
            {"name": f"window_{name}", "metric": "window_at_most", "options": {"traffic": name}}
            for name in ("reno", "cubic")
        ]
        run = Study.build(
            "x",
            dumbbell=Dumbbell(rate="10Mbps", rtt="20ms", flows=flows),
            quantities=quantities,
            run=Run(duration="2s", replicates=1),
        ).run()
        rows = run.records["cwnd"]
        for name in ("reno", "cubic"):
            pairs = zip(rows["cwnd_bytes"].to_pylist(), rows["flow"].to_pylist(), strict=True)
            mine = max(window for window, flow in pairs if flow == name)
            assert run["window"].sel(flow=name).estimate().value == mine
    finally:
        _declared._known.clear()
        _declared._known.update(known)


def test_sections_of_a_built_study_can_be_replaced() -> None:
    slower = Dumbbell(rate="5Mbps", rtt="40ms", flows=[Flow("reno")])
    study = build().set(run=Run(duration="2s"), dumbbell=slower)
    again = Study.build("x", dumbbell=slower, measure=["goodput"], run=Run(duration="2s"))
    assert study.to_toml() == again.to_toml()
    values = [
        one.run()["goodput"].estimate().value for one in (study, Study.from_toml(study.to_toml()), again)
    ]
    assert values[0] == values[1] == values[2]


def test_losses_of_0_percent_draw_nothing() -> None:
    network = {"rate": "10Mbps", "rtt": "20ms", "jitter": "0s", "flows": [Flow("reno", start="0s")]}
    none, some = (build(Dumbbell(loss=loss, **network)) for loss in ("0%", "1%"))  # type: ignore[arg-type]
    assert none.plan().cells[0].deterministic and not some.plan().cells[0].deterministic
    assert none.run().estimates["method"].to_pylist() == ["deterministic"]


def test_studies_and_metrics_are_listed() -> None:
    assert "rfc2416" in cwndlab.studies() and all(cwndlab.studies().values())
    listed: Callable[[], dict[str, str]] = cwndlab.metrics  # type: ignore[assignment]
    assert listed()["goodput"] == "bit/s"
    assert "metrics" in dir(cwndlab)


def test_results_are_opened_by_one_name(tmp_path: Path) -> None:
    build().run(tmp_path / "out")
    assert cwndlab.open_results(tmp_path / "out")["goodput"].estimate().value > 0.0
    with pytest.raises(AttributeError, match=r"no attribute 'open'; write cwndlab\.open_results"):
        _ = cwndlab.open  # type: ignore[attr-defined]
    assert "open" not in dir(cwndlab)


def test_a_result_is_iterated_as_a_mapping_of_its_quantities() -> None:
    flows = [Flow("cubic"), Flow("reno")]
    network = Dumbbell(rate="10Mb/s", rtt="20ms", flows=flows)
    short = Run(duration="1s")
    run = Study.build("x", dumbbell=network, measure=["share", "queue_delay"], run=short).run()
    assert next(iter(run)) == "share" and {name for name in run if name.startswith("share")} == {"share"}
    assert all(len(run[name]) for name in run)
    assert "share" in run and "share_cubic" in run and "shard" not in run
    with pytest.raises(NotFoundError, match='no quantity "shard"; did you mean "share"'):
        run["shard"]
    with pytest.raises(AttributeError, match=r"study\.run\(FOLDER\)"):
        run.save  # noqa: B018
