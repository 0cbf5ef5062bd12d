"""Studies built in code, and what `to_toml` and `save` write."""

from __future__ import annotations

import difflib
import inspect
import re
from pathlib import Path

import pytest

import cwndlab
from cwndlab import (
    Axis,
    AxisValue,
    Direction,
    Dumbbell,
    Flow,
    Impairment,
    Link,
    Probes,
    Quantity,
    Queue,
    Run,
    Study,
    StudyError,
    Tcp,
    TcpGroup,
    Topology,
    Traffic,
)
from cwndlab.base.errors import OutputError
from cwndlab.study.document import shipped_studies
from small_study import TEXT

COMMENTED = """\
# why
title = "a question"  # short

[dumbbell]
rate = "50Mbps"   # of the bottleneck
rtt = "40ms"
buffer = [0.5, 1, 2]  # BDPs
flows = [{ cc = "cubic" }, { cc = "reno" }]  # two

# how long
[run]
duration = "30s"  # enough?
warmup = "5s"
"""


def scenarios(study: Study) -> list[tuple[str, str]]:
    return [(cell.id, cell.scenario) for cell in study.plan().cells]


def test_models_make_the_study_that_the_file_makes() -> None:
    wire = Link(
        name="wire",
        between=["a", "b"],
        rate="1.5Mbps",
        delay="10ms",
        header="40B",
        queue=Queue(kind="red", limit="25pkt", min_th=5, max_th=15),
        forward=Direction(impairments=[Impairment(kind="bernoulli", p=0.01)]),
    )
    study = Study.build(
        "two nodes",
        topology=Topology(nodes=["a", "b"], links=[wire], rtt="21500us"),
        traffic=[Traffic(name="bulk", client="a", server="b", count=2, app={"kind": "bulk"}, start="1ms")],
        tcp=Tcp(profile="rfc5681", groups={"big": TcpGroup(initial_window=10)}),
        run=Run(duration="2s", replicates=3, until="2.5%"),
        probes=Probes(queue_interval="10ms"),
        axes={"iw": Axis(sets="tcp.initial_window", values=[1, AxisValue(name=4, title="four")])},
        quantities=[Quantity(name="goodput", metric="goodput", unit="kbit/s")],
    )
    text = study.to_toml()
    for line in ('rate = "1.5Mbps"', 'header = "40B"', 'rtt = "21.5ms"', 'until = "2.5%"', "min_th = 5"):
        assert line in text
    assert scenarios(Study.from_toml(text)) == scenarios(study)
    assert study.base.run.until == 0.025


def test_a_wrong_section_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(StudyError, match=r"unknown key 'dumbell'.*dumbbell"):
        Study.build("x", dumbell={})  # type: ignore[call-arg]


def test_an_unchanged_study_is_its_own_text() -> None:
    for name in shipped_studies():
        study = Study.load(name)
        assert study.to_toml() == study.document.text


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"run.duration": "9s"}, ['duration = "9s"  # enough?']),
        (
            {"dumbbell.rate": "20Mbps", "buffer": [1, 2]},
            ['rate = "20Mbps"   # of', "buffer = [1, 2]  # BDPs"],
        ),
        ({"buffer": 4}, ["buffer = [4]  # BDPs"]),
        ({"dumbbell.flows.2.cc": "bbr1"}, ['flows = [{ cc = "cubic" }, { cc = "bbr1" }]  # two']),
        ({"tcp.initial_window": 3, "run.seed": 7}, ["initial_window = 3", "seed = 7"]),
    ],
)
def test_a_change_is_written_into_the_text_and_comments_stay(
    changes: dict[str, object], lines: list[str]
) -> None:
    study = Study.from_toml(COMMENTED).set(changes)
    text = study.to_toml()
    assert scenarios(Study.from_toml(text)) == scenarios(study)
    assert all(line in text for line in lines)
    removed = [d for d in difflib.ndiff(COMMENTED.splitlines(), text.splitlines()) if d.startswith("- ")]
    assert len(removed) <= len(changes)
    assert set(re.findall(r"#.*", COMMENTED)) == set(re.findall(r"#.*", text))


def test_what_the_short_form_cannot_say_is_written_in_full() -> None:
    study = Study.from_toml(COMMENTED).set({"topology.links.bottleneck.delay": "3ms", "buffer": [1, 2]})
    text = study.to_toml()
    assert "[topology]" in text and "[dumbbell]" not in text
    assert scenarios(Study.from_toml(text)) == scenarios(study)


def test_an_axis_of_the_full_form_keeps_the_chosen_values() -> None:
    study = Study.from_toml(TEXT).set({"iw": [4, 7], "webs": 3})
    assert "values = [4, 7]" in study.to_toml() and "webs = 3" in study.to_toml()


def test_a_restriction_that_a_file_cannot_have_is_an_error() -> None:
    with pytest.raises(StudyError, match="restriction to variant cannot be written"):
        Study.load("rfc2416").set({"variant": "sack"}).to_toml()


def test_save_copies_what_the_study_names_and_overwrites_nothing_else(tmp_path: Path) -> None:
    study = Study.load("rfc2416")
    file = study.save(tmp_path / "copy")
    again = Study.load(file)
    assert again.document.text == study.document.text and again.claims == study.claims
    assert (tmp_path / "copy/published/listing.csv").is_file()
    study.save(tmp_path / "copy")
    (tmp_path / "copy/claims.toml").write_text("")
    with pytest.raises(OutputError, match=r"claims.toml: exists"):
        study.save(tmp_path / "copy")
    built = Study.from_dict(dict(Study.from_toml(TEXT).raw), claims=[claim()])
    assert Study.load(built.save(tmp_path / "built")).claims == built.claims


def test_save_copies_a_trace_that_only_a_choice_of_sensitivity_names(tmp_path: Path) -> None:
    Study.load("many-flows").save(tmp_path)
    assert (tmp_path / "released-each-ms.txt").is_file()


def claim() -> dict[str, object]:
    return {"id": "a", "section": "1", "text": "t", "assert": "value('goodput', iw=4) > 0"}


def test_every_public_name_is_there_and_listed() -> None:
    assert set(cwndlab.__all__) <= set(dir(cwndlab))
    for name in cwndlab.__all__:
        assert getattr(cwndlab, name) is not None


ANY = re.compile(r"\bAny\b")


def test_no_public_signature_has_any() -> None:
    scenario = {"RunView.scenario"}  # the compiled scenario is nested data of the engine
    found = set()
    for name in cwndlab.__all__:
        value = getattr(cwndlab, name)
        members = dict(vars(value)) if inspect.isclass(value) else {}
        functions = {name: value} if inspect.isfunction(value) else {}
        for key, member in members.items():
            plain = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(plain) and not key.startswith(("_", "model_")):  # pydantic's
                functions[f"{name}.{key}"] = plain
        found |= {key for key, f in functions.items() if ANY.search(str(f.__annotations__))}
        found |= {
            f"{name}.{key}"
            for key, kind in members.get("__annotations__", {}).items()
            if ANY.search(str(kind))
        }
    assert found <= scenario


def test_the_options_of_a_run_are_typed_as_the_options_object() -> None:
    from dataclasses import fields

    from cwndlab.runs.run_options import OptionFields, RunOptions

    own = {option.name: option.type for option in fields(RunOptions)}
    typed = {name: kind.__forward_arg__ for name, kind in OptionFields.__annotations__.items()}
    assert typed == own


def test_each_option_of_a_run_is_an_option_of_the_command() -> None:
    from dataclasses import fields

    from cwndlab.cli.arguments import RUN_OPTIONS
    from cwndlab.runs.run_options import RunOptions

    assert {option.name for option in fields(RunOptions)} == {*RUN_OPTIONS, "out"}


def test_the_changes_of_run_are_no_longer_called_set() -> None:
    with pytest.raises(TypeError, match="it is called `changes`"):
        cwndlab.run("rfc2416", set={"iw": 4})  # type: ignore[call-arg]


def test_a_quantity_has_one_type_in_all_models() -> None:
    flow = Flow(cc="cubic", rtt=["10ms", "25ms"], bytes="1460B", start="2s")
    network = Dumbbell(rate="1.5Mbps", rtt="40ms", loss="1%", down=[["1s", "1500ms"]], flows=[flow])
    link = Link(between=["a", "b"], rate="1.5Mbps", delay="40ms", loss="1%", header="1460B")
    assert (network.rate, network.rtt, network.loss) == (link.rate, link.delay, link.loss)
    assert (flow.bytes, flow.start) == (link.header, Run(duration="2s").duration)
    text = Study.build("a question", dumbbell=network, run=Run(duration="2s")).to_toml()
    for written in ('"1.5Mbps"', '"40ms"', '"1%"', '[["1s", "1.5s"]]', '["10ms", "25ms"]', '"1460B"'):
        assert written in text


def test_a_network_of_models_is_the_network_of_its_keys() -> None:
    network = Dumbbell(
        rate="50Mbps", rtt="40ms", buffer=[0.5, 1, 2], flows=[Flow(cc="cubic"), Flow(cc="reno")]
    )
    study = Study.build("a question", dumbbell=network, run=Run(duration="30s", warmup="5s"))
    assert scenarios(study) == scenarios(Study.from_toml(COMMENTED))
