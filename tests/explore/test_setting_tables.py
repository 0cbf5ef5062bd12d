"""The tables from which a page takes the scenario of each setting."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from cwndlab.api import Study
from cwndlab.apps.explore import lessons
from cwndlab.apps.explore.controls import Explored, derive_study
from cwndlab.apps.explore.page import content
from cwndlab.apps.explore.table import SettingCompiler, SettingTable


def looked_up(base: Any, tables: list[SettingTable], counts: list[int], state: tuple[int, ...]) -> Any:
    """The scenario of a setting, or its problem: what explore.js does."""
    scenario = json.loads(json.dumps(base))
    for table in tables:
        row = 0
        for control in table.controls:
            row = row * counts[control] + state[control]
        for place, value in zip(table.places, table.rows[row], strict=True):
            if place == ("!",):
                if value:
                    return json.loads(value)
                continue
            inside = scenario
            for key in place[:-1]:
                inside = inside[key]
            if value:
                inside[place[-1]] = json.loads(value)
            else:
                inside.pop(place[-1], None)
    return scenario


def compiled(state: tuple[int, ...]) -> Any:
    """Products, lists of different lengths, and a setting that does not compile."""
    rate, rtt, flows, kind = state
    if kind == 2 and flows == 0:
        return "nothing to steer"
    queue: dict[str, Any] = {"kind": "fifo", "limit": rate * rtt}
    if kind:
        queue = {"kind": "aqm", "limit": rate * rtt if kind == 1 else 7, "steer": {"target": kind}}
    return {"links": [{"rate": rate, "queue": queue}], "traffic": [{"start": k * rtt} for k in range(flows)]}


def test_tables_give_every_setting_its_scenario() -> None:
    counts = [4, 3, 3, 3]
    tables = SettingCompiler(counts, (1, 1, 1, 0), compiled).tables()
    for state in itertools.product(*map(range, counts)):
        assert looked_up(compiled((1, 1, 1, 0)), tables, counts, state) == compiled(state), state


def test_a_value_is_compiled_only_with_the_controls_on_which_it_depends() -> None:
    tables = SettingCompiler([4, 3, 3, 3], (1, 1, 1, 0), compiled).tables()
    rate = next(table for table in tables if ("links", 0, "rate") in table.places)
    limit = next(table for table in tables if ("links", 0, "queue", "limit") in table.places)
    assert (rate.controls, len(rate.rows)) == ((0,), 4)
    assert limit.controls == (0, 1, 3)


def test_a_control_that_depends_on_too_much_stays_at_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cwndlab.apps.explore.table.MOST", 30)
    settings = SettingCompiler([4, 3, 3, 3], (1, 1, 1, 0), compiled)
    tables = settings.tables()
    assert settings.frozen == {3}
    for state in itertools.product(range(4), range(3), range(3)):
        found = looked_up(compiled((1, 1, 1, 0)), tables, [4, 3, 3, 3], (*state, 0))
        assert found == compiled((*state, 0))


@pytest.fixture(scope="module")
def modem() -> Explored:
    return derive_study(Study.load("rfc2416"))


def test_random_settings_of_a_study_are_those_that_the_compiler_makes(modem: Explored) -> None:
    few = [c for c in modem.controls if c.name in ("variant", "rate", "queue", "buffer", "bytes", "profile")]
    found, tables = replace(modem, controls=tuple(few)).tables()
    counts = [len(control.stops) for control in found.controls]
    base = found.scenario(found.base)
    chance = random.Random(7)
    for _ in range(40):
        state = tuple(chance.randrange(count) for count in counts)
        assert looked_up(base, tables, counts, state) == found.scenario(state), state


def test_a_page_offers_axes_parameters_and_knobs_of_the_bottleneck(modem: Explored) -> None:
    offered = {control.name: [stop.title for stop in control.stops] for control in modem.controls}
    assert offered["variant"] == ["Tahoe", "Reno", "NewReno", "SACK", "FACK"]
    assert offered["rate"] == ["1920bps", "4800bps", "9600bps", "19200bps", "48000bps"]
    assert offered["buffer"][2] == "3pkt"
    assert {"delay", "loss", "queue", "profile", "cc", "bytes"} <= offered.keys()


def test_a_control_names_the_studys_own_value() -> None:
    controls = {control.name: control for control in derive_study(lessons.study("loss-recovery")).controls}
    at_start = {name: control.stops[control.base].title for name, control in controls.items()}
    assert (at_start["rate"], at_start["loss"], at_start["queue"]) == ("2Mbps", "0%", "drop-tail")
    # these change with the profile
    assert at_start["iw"] == "the profile's (3 in rfc5681)"
    assert at_start["cc"] == "the profile's (reno in rfc5681)"


def test_an_axis_that_a_page_adds_may_not_have_the_name_of_a_quantity() -> None:
    assert "rate_set" in {control.name for control in derive_study(Study.load("bbr")).controls}


def test_a_page_starts_from_the_studys_own_cell(modem: Explored) -> None:
    first = Study.load("rfc2416").plan().cells[0]
    assert modem.scenario(modem.base) == first.compiled.scenario


def test_short_forms_offer_their_own_keys() -> None:
    study = Study.build(
        "Two", dumbbell={"rate": "10Mbps", "rtt": "40ms", "flows": [{"cc": "cubic"}]}, run={"duration": "2s"}
    )
    assert {c.name for c in derive_study(study).controls} == {"rate", "rtt", "buffer", "queue", "loss", "cc"}


def test_the_study_file_of_a_setting_runs_its_scenario(modem: Explored) -> None:
    shown = content(modem, [], {})
    moved = [k for k, control in enumerate(modem.controls) if control.name in ("iw", "rate", "queue")]
    state = tuple(len(c.stops) - 1 if k in moved else c.base for k, c in enumerate(modem.controls))
    cell = modem.cell(state)
    listed = ", ".join(f"{name} = {json.dumps(value)}" for name, value in cell.axes.items())
    study = Study.from_toml(f"{shown['study']}\n[[grids]]\ncells = [{{ {listed} }}]\n")
    (made,) = study.plan().cells
    assert made.compiled.scenario == modem.scenario(state)
