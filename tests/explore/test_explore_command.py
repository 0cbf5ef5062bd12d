"""What `cwndlab explore` writes or serves, and the parts of its pages."""

from __future__ import annotations

import base64
import json
import re
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from cwndlab.api import Study
from cwndlab.apps.explore import command, lessons, picture, server
from cwndlab.apps.explore import page as pages_of
from cwndlab.apps.explore.controls import Control, derive_study
from cwndlab.base.errors import OutputError, StudyError
from cwndlab.cli.registry import command_line
from cwndlab.report.palette import PALETTE

STUDY = """
title = "One"
about = "Why."
measure = ["goodput"]
[dumbbell]
rate = "2Mbps"
rtt = "20ms"
flows = [{ cc = "reno" }]
[run]
duration = "1s"
"""
LAW = Path(__file__).parents[1] / "laws/stubborn.py"


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Pages, ports and laws of servers that are started, and addresses that a browser opens."""
    seen: list[Any] = []

    class Server:
        url = "http://127.0.0.1:9/x/"

        def __init__(self, pages: dict[str, Callable[[], str]], port: int, laws: list[Any]) -> None:
            if port == 81:
                raise OSError(98, "taken")
            seen.append((pages, port, [law.class_name for law in laws]))

        def __enter__(self) -> Server:
            return self

        def __exit__(self, *_: object) -> None:
            seen.append("closed")

        def serve_forever(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(server, "PageServer", Server)
    monkeypatch.setattr(webbrowser, "open", seen.append)
    monkeypatch.setattr(pages_of, "page", lambda derived, *_, served=False: f"{derived.study.title} {served}")
    monkeypatch.setattr(lessons, "page", lambda name, index="": f"lesson {name} {index}")
    monkeypatch.setattr(lessons, "index", lambda: ("index", "list"))
    return seen


def explore(*arguments: str) -> Result:
    return CliRunner().invoke(command_line(), ["explore", *arguments])


def test_without_a_study_the_lessons_are_served(served: list[Any]) -> None:
    result = explore("--port", "8080")
    assert result.exit_code == 0
    assert result.stdout == "page: http://127.0.0.1:9/x/\nCtrl-C ends it.\n\n"
    ((pages, port, laws), address, closed) = served
    assert [*pages] == ["index.html", *(f"{name}.html" for name in lessons.NAMES), "lessons.json"]
    assert pages["ecn-l4s.html"]() == "lesson ecn-l4s index.html"
    assert (port, laws, address, closed) == (8080, [], "http://127.0.0.1:9/x/", "closed")


def test_a_lesson_is_one_page_and_takes_no_options_of_studies(served: list[Any]) -> None:
    assert explore("queues", "--no-browser").exit_code == 0
    ((pages, port, _), closed) = served
    assert (port, closed) == (0, "closed") and pages["index.html"]() == "lesson queues "
    result = explore("queues", "--set", "run.duration=1s")
    says = "set: a lesson has no set; it takes out, port, browser"
    assert isinstance(result.exception, StudyError) and str(result.exception) == says


def test_a_port_that_is_taken_is_an_error(served: list[Any]) -> None:
    result = explore("--port", "81")
    assert isinstance(result.exception, OutputError)
    assert str(result.exception) == "port 81: taken; leave out port"


def test_a_page_is_written_to_a_file_and_lessons_to_a_folder(served: list[Any], tmp_path: Path) -> None:
    study = tmp_path / "one.toml"
    study.write_text(STUDY)
    out = tmp_path / "new" / "page.html"
    result = explore(str(study), "-o", str(out))
    assert result.exit_code == 0 and result.stdout == f"page: {out}\n"
    assert out.read_text() == "One False"
    assert "Compiling the settings" in result.stderr and f"writing {out} …" in result.stderr
    folder = explore(str(study), "-o", str(tmp_path))
    assert str(folder.exception) == f"{tmp_path}: is a folder; name a file"
    result = explore("-o", str(tmp_path / "all"))
    assert result.stdout == f"page: {tmp_path / 'all/index.html'}\n" and "Compiling" not in result.stderr
    assert (tmp_path / "all/queues.html").read_text() == "lesson queues index.html"
    assert (tmp_path / "all/lessons.json").read_text() == "list"
    assert served == []


def test_a_law_of_ones_own_is_run_by_the_server_and_shown_first(served: list[Any]) -> None:
    assert explore("--cc", f"mine={LAW}:Stubborn").exit_code == 0
    ((pages, _, laws), address, _) = served
    assert laws == ["Stubborn"] and pages["index.html"]().endswith(" True")
    assert address == "http://127.0.0.1:9/x/#yours_cc=mine"


def test_studies_and_lessons_are_completed() -> None:
    found = command._studies_and_lessons("rfc2416")
    assert found == ["rfc2416"]
    assert command._studies_and_lessons("slow")[0] == "slow-start"


def test_an_address_sets_controls_and_those_of_a_second_setting() -> None:
    assert pages_of.address({}) == "#"
    assert pages_of.address({"rate": "5 Mbps", "on": True}) == "#rate=5+Mbps&on=true"
    assert pages_of.address({"iw": 4}, {}) == "#iw=4&vs.="
    assert pages_of.address({}, {"iw": 4}) == "#vs.=&vs.iw=4"


def test_the_texts_of_a_graph_have_the_values_for_which_they_are_shown() -> None:
    assert pages_of.cases_of("Look.") == [({}, "Look.")]
    given = [{"text": "a", "when": {"iw": [1, 2], "on": True, "cc": "reno"}}, {"text": "b"}]
    assert pages_of.cases_of(given) == [({"iw": ["1", "2"], "on": ["true"], "cc": ["reno"]}, "a"), ({}, "b")]


@pytest.mark.parametrize(("parameters", "open_"), [(10, True), (11, False)])
def test_parameters_are_folded_away_if_there_are_more_than_twelve_controls(
    parameters: int, open_: bool
) -> None:
    groups = ["network", "study", *["parameter"] * parameters]
    made = [Control(str(k), "", "", group, (), 0, False) for k, group in enumerate(groups)]
    assert [(title, shown, len(mine)) for title, shown, mine in pages_of._groups(made)] == [
        ("What the study varies", True, 1),
        ("Network", True, 1),
        ("Parameters", open_, parameters),
    ]


def test_the_script_gets_the_controls_the_values_and_the_study() -> None:
    found = derive_study(Study.from_toml(STUDY, name="one"))
    few = tuple(one for one in found.controls if one.name in ("rate", "loss"))
    found, tables = replace(found, controls=few).tables()
    made = json.loads(json.dumps(pages_of.content(found, tables, {"queue": "Look."})))
    assert (made["name"], made["seed"]) == (found.study.name, str(found.study.base.run.seed))
    rate = made["controls"][0]
    assert {key: rate[key] for key in ("name", "ordered", "base")} == {
        "name": "rate",
        "ordered": True,
        "base": 2,
    }
    assert rate["stops"][0] == {"value": 0.4, "title": "0.4"}
    assert made["base"] == found.scenario(found.base)
    assert made["look"] == [["queue", [[{}, "Look."]]]]
    assert made["pool"][0] is None and len(made["pool"]) == len(set(map(str, made["pool"])))
    table = next(one for one in made["tables"] if ["links", 0, "rate_bps"] in one["places"])
    at = table["places"].index(["links", 0, "rate_bps"])
    assert table["controls"] == [0]
    assert [made["pool"][row[at]] for row in table["rows"]] == [4e5, 1e6, 2e6, 4e6, 1e7]
    assert "grids" not in made["study"] and made["axes"]["rate"] == 2
    assert made["order"] == list(found.study.outline.axes)
    assert made["columns"] == '  { heading = "goodput, reno (Mbit/s)", quantity = "goodput" },\n'


def test_a_picture_draws_each_line_from_the_left_to_its_end_and_to_the_height_of_the_highest() -> None:
    """The axes begin at (2, 112) and end at (318, 18): 316 and 94 pixels."""
    one = (np.array([0.0, 1.0, 4.0]), np.array([0.0, 20.0, np.nan]))
    two = (np.array([0.0, 2.0]), np.array([5.0, 10.0]))
    svg = picture._svg([one, two], "kB")
    assert re.findall(r'points="([^"]*)"', svg) == ["2.0,112.0 81.0,18.0", "2.0,88.5 160.0,65.0"]
    assert re.findall(r'stroke="(#\w+)" stroke-width', svg) == PALETTE[:2]
    assert '<line x1="2" x2="318" y1="112" y2="112"/>' in svg and 'viewBox="0 0 320 130"' in svg
    assert '<text x="2" y="12">20 kB</text>' in svg
    assert '<text x="318" y="126" text-anchor="end">4 s</text>' in svg
    many = (np.linspace(0, 1, 1000), np.linspace(0, 1, 1000))
    (points,) = re.findall(r'points="([^"]*)"', picture._svg([many], ""))
    assert len(points.split()) == 400 and points.endswith(" 318.0,18.0")


def test_a_picture_has_the_values_of_each_flows_first_connection() -> None:
    flows = '[{ cc = "reno", start = "0s" }, { cc = "cubic", start = "0.2s" }]'
    found = derive_study(Study.from_toml(STUDY.replace('[{ cc = "reno" }]', flows)))
    queue = picture._lines(found, "queue", found.base)
    windows = picture._lines(found, "window", found.base)
    trips = picture._lines(found, "round_trip", found.base)
    assert (len(queue), len(windows), len(trips)) == (1, 2, 2)
    (x, y), (later, _) = windows
    assert x[0] < 0.2 <= later[0] and x[-1] <= 1.0
    assert y[0] == pytest.approx(14.48, rel=0.05), "ten segments of 1448 bytes in kB"
    assert 20 <= np.nanmin(trips[0][1]) < np.nanmax(trips[0][1]) < 400, "20 ms without a queue"
    assert np.nanmax(queue[0][1]) >= 3
    state = picture._state(found, {"rate": 4})
    rate = next(k for k, one in enumerate(found.controls) if one.name == "rate")
    assert found.controls[rate].stops[state[rate]].value == 4
    assert [at for k, at in enumerate(state) if k != rate] == [
        at for k, at in enumerate(found.base) if k != rate
    ]


def test_columns_are_sent_as_floats_and_words_as_indices() -> None:
    words = pa.table({"word": ["b", "a", "b"], "n": [1, 2, None], "x": [0, 0, 0]})
    made = server._tables({"t": words, "other": words}, {"t": ["word", "n"]})  # type: ignore[arg-type]
    assert list(made) == ["t"] and made["t"]["rows"] == 3 and list(made["t"]["columns"]) == ["word", "n"]
    word, n = made["t"]["columns"].values()
    assert word["words"] == ["b", "a"] and "words" not in n
    assert np.frombuffer(base64.b64decode(word["values"]), "<f8").tolist() == [0.0, 1.0, 0.0]
    values = np.frombuffer(base64.b64decode(n["values"]), "<f8")
    assert values[:2].tolist() == [1.0, 2.0] and np.isnan(values[2])


def test_of_a_download_the_servers_window_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each flow the first connection, at the end that sends more; a queue is that of the bottleneck."""
    cwnd = pa.table(
        {
            "time_ns": [1_000_000_000, 2_000_000_000, 3_000_000_000, 4_000_000_000],
            "connection": [5, 5, 6, 9],
            "from_client": [True, False, False, True],
            "cwnd_bytes": [1000, 2000, 3000, 4000],
        }
    )
    connections = pa.table(
        {"traffic": [1, 0, 0], "connection": [9, 5, 6], "bytes_up": [7, 7, 9], "bytes_down": [7, 8, 0]}
    )
    queues = pa.table({"time_ns": [0, 500_000_000], "packets": [3, 4]})
    asked: list[Any] = []

    def run(scenario: str, seed: int, replicate: int) -> dict[str, pa.Table]:
        asked.append((json.loads(scenario), seed, replicate))
        return {"cwnd": cwnd, "connections": connections, "queues": queues}

    monkeypatch.setattr(picture, "_core", SimpleNamespace(run=run))
    monkeypatch.setattr(picture, "bottleneck", lambda links: 4)
    scenario = {"probes": {"x": 1}, "links": []}
    cell = SimpleNamespace(compiled=SimpleNamespace(scenario=scenario))
    base = SimpleNamespace(run=SimpleNamespace(seed=7))
    derived = cast(Any, SimpleNamespace(cell=lambda state: cell, study=SimpleNamespace(base=base)))
    lines = picture._lines(derived, "window", ())
    assert [(x.tolist(), y.tolist()) for x, y in lines] == [([2.0], [2.0]), ([4.0], [4.0])]
    probes = {"x": 1, "cwnd": True, "queues": [4]}
    assert asked == [(scenario | {"probes": probes}, 7, 0)]
    assert [(x.tolist(), y.tolist()) for x, y in picture._lines(derived, "queue", ())] == [
        ([0.0, 0.5], [3.0, 4.0])
    ]


def test_a_request_has_ten_megabytes_and_a_run_a_minute() -> None:
    assert (server.MOST, server.LONGEST, server.PATIENCE_S) == (10_000_000, 60.0, 10.0)
    assert server.PageServer.daemon_threads and server._Handler.timeout == 10.0


def test_a_number_that_no_float_has_is_rounded() -> None:
    made = server._column(pa.chunked_array([[2**53 + 1, 2**62]]))
    assert np.frombuffer(base64.b64decode(made["values"]), "<f8").tolist() == [float(2**53), float(2**62)]
