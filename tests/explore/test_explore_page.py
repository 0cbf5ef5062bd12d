"""The page of a study's controls in a real browser: from disk, and served."""

from __future__ import annotations

import base64
import http.client
import json
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

import cwndlab
from cwndlab.api import Study
from cwndlab.apps.explore import lessons
from cwndlab.apps.explore.controls import Explored, derive_study
from cwndlab.apps.explore.page import cases_of, page
from cwndlab.apps.explore.server import PageServer
from cwndlab.apps.notebook import widget
from cwndlab.apps.notebook.widget import ExplorePage
from cwndlab.base.errors import ExtraError, StudyError
from cwndlab.runs.work import run_here
from cwndlab.study.congestion import congestion_control

STUBBORN = Path(__file__).parents[1] / "laws/stubborn.py:Stubborn"
WEB = Path(__file__).parents[2] / "web"
MODULE = Path(cwndlab.__file__).parent / "report" / "live" / "engine.wasm.gz"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_module = pytest.mark.skipif(
    not MODULE.exists(), reason="no WebAssembly module: rustup lacks wasm32-unknown-unknown"
)


#: What a notebook does with a widget: it imports the module and gives it a model.
HOST = """<!doctype html><title>notebook</title><body><script type="module">
const traits = {given};
const acts = [];
window.model = {{
  get: (name) => traits[name], save_changes() {{}}, on: (_, act) => acts.push(act), off() {{}},
  set(name, value) {{ traits[name] = value; }},
  assign(name, value) {{ traits[name] = value; for (const act of acts) act(); }},
}};
const address = URL.createObjectURL(new Blob([{script}], {{ type: "text/javascript" }}));
const {{ default: widget }} = await import(address);
widget.render({{ model: window.model, el: document.body }});
</script>"""


@pytest.fixture(scope="module")
def derived() -> Explored:
    study = Study.build(
        "One transfer",
        name="one",
        dumbbell={"rate": "10Mbps", "rtt": "40ms", "flows": [{"cc": "cubic", "start": "0s"}]},
        run={"duration": "30s"},
    )
    found = derive_study(study)
    return replace(found, controls=tuple(c for c in found.controls if c.name in ("rate", "cc")))


@pytest.fixture(scope="module")
def file(derived: Explored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("explore") / "explore.html"
    made.write_text(page(derived))
    return made


@pytest.fixture(scope="module")
def seen(file: Path) -> Any:
    if CHROMIUM is None or shutil.which("node") is None or not (WEB / "node_modules").exists():
        pytest.skip("needs chromium, node and the packages in web/ (`npm ci --prefix web`)")
    notebook = file.with_name("notebook.html")
    script = resources.files("cwndlab.report").joinpath("live", "widget.js").read_text()
    given = {"title": "One transfer", "html": file.read_text(), "height": "40rem", "address": ""}
    notebook.write_text(HOST.format(script=json.dumps(script), given=json.dumps(given).replace("</", "<\\/")))
    lesson = file.with_name("lesson.html")
    lesson.write_text(lessons.page("slow-start"))
    pages = [one.as_uri() for one in (file, notebook, lesson)]
    command = ["node", "explore.mjs", CHROMIUM, *pages, str(file.parent)]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    (file.parent / "seen.json").write_text(done.stdout)
    return made


@needs_module
def test_a_slider_moves_the_run(seen: Any) -> None:
    address, value, redrawn = seen["dragged"]
    assert (address, value) == ("#rate=50", "50 Mbit/s")
    assert redrawn


@needs_module
def test_a_slider_moves_by_keyboard_alone(seen: Any) -> None:
    assert seen["keyboardReturns"] == [True, "#"] or seen["keyboardReturns"] == [True, ""]


@needs_module
def test_two_settings_are_overlaid(seen: Any) -> None:
    address, totals = seen["compared"]
    assert address == "#vs.=&vs.cc=bbr3"
    packets, _, window, *_ = seen["overlay"]
    assert packets[:4] == ["A", "B", "acknowledged", "sent"] and len(packets) == len(set(packets))
    assert window == ["A", "B", "in flight", "cwnd", "ssthresh"]
    assert seen["hides"]
    a, b = re.findall(r"^[AB]: \S+\t([\d.]+)", totals, re.MULTILINE)
    assert 8 < float(a) <= 10 and 8 < float(b) <= 10 and a != b
    assert seen["zooms"]


@needs_module
def test_the_address_holds_the_state(seen: Any) -> None:
    assert seen["fromLink"]
    assert seen["start"] == ["", True] or seen["start"] == ["#", True]


@needs_module
def test_the_saved_study_file_runs_what_was_shown(seen: Any, derived: Explored, tmp_path: Path) -> None:
    name, text = seen["file"]
    assert name == "one.toml"
    study = Study.from_toml(text)
    cells = study.plan().cells
    second = next(k for k, c in enumerate(derived.controls) if c.name == "cc")
    bbr = [stop.title for stop in derived.controls[second].stops].index("bbr3")
    state = tuple(bbr if k == second else c.base for k, c in enumerate(derived.controls))
    assert [cell.compiled.scenario for cell in cells] == [
        derived.scenario(derived.base),
        derived.scenario(state),
    ]
    (table,) = study.outline.tables
    assert table.rows == ["cc"]


@needs_module
def test_nothing_overflows_or_is_tiny_on_a_telephone(seen: Any) -> None:
    assert seen["narrow"] == 0
    assert seen["smallest"] >= 12


@needs_module
def test_one_graph_stays_beside_the_sliders_on_a_telephone(seen: Any) -> None:
    top, bottom = seen["beside"]
    assert seen["graphs"] == 1
    assert 0 <= top < bottom < 844 / 2
    (caption,) = seen["switched"]
    assert caption.startswith("Queue (packets)")


@needs_module
def test_what_a_lesson_says_of_a_graph_follows_the_settings(seen: Any) -> None:
    (short, otherwise) = (text for _, text in cases_of(lessons.advice("slow-start")["look"]["sequence"]))
    assert [caption.partition(") ")[2] for caption in seen["told"]] == [otherwise, otherwise, short]


@needs_module
def test_the_graphs_of_a_lesson_end_with_its_transfer_and_say_what_to_look_for(seen: Any) -> None:
    span, captions, totals = seen["lesson"]
    first, last = map(float, span.split())
    (took,) = re.findall(r"^transfer\t[\d.]+\t([\d.]+)", totals, re.MULTILINE)
    assert first == 0 and float(took) < last < 1.2 * float(took)
    look = lessons.advice("slow-start")["look"]
    said = [caption.partition(") ")[2] for caption in captions[: len(look)]]
    assert said == [cases_of(given)[0][1] for given in look.values()]
    assert [caption.partition(" (")[0] for caption in captions[:2]] == [
        "Packets of transfer",
        "Window of transfer",
    ]
    assert all(len(caption) > 40 for caption in captions)


@needs_module
def test_the_page_fetches_nothing_and_logs_no_error(seen: Any, file: Path) -> None:
    assert seen["errors"] == []
    pages = {file.as_uri(), file.with_name("lesson.html").as_uri()}
    assert {url.partition("#")[0] for url in seen["requests"]} == pages


@needs_module
def test_a_notebook_reads_and_sets_the_settings_of_the_page(seen: Any) -> None:
    assert "rate (Mb/s)" in seen["framed"]
    assert seen["read"] == "#rate=20"
    assert seen["assigned"] == "5 Mbit/s"


EVIL = """<!doctype html><body><script>
try { parent.document.body.setAttribute("data-owned", parent.document.title); } catch (error) {}
document.title = "ran"; parent.postMessage({ cwndlab: "#ran" }, "*");
</script>"""


@pytest.mark.parametrize("how", ["widget", "frame"])
def test_a_strangers_page_runs_but_reaches_nothing_of_the_notebook(tmp_path: Path, how: str) -> None:
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    script = resources.files("cwndlab.report").joinpath("live", "widget.js").read_text()
    given = {"title": "evil", "html": EVIL, "height": "40rem", "address": ""}
    text = HOST.format(script=json.dumps(script), given=json.dumps(given).replace("</", "<\\/"))
    if how == "frame":
        text = f"<!doctype html><title>notebook</title><body>{ExplorePage('evil', EVIL)._repr_html_()}"
    mark = "document.body.setAttribute('data-heard', event.data.cwndlab)"
    hear = f"<script>addEventListener('message', (event) => {mark})</script>"
    notebook = tmp_path / "notebook.html"
    notebook.write_text(text.replace("<body>", f"<body>{hear}", 1))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--virtual-time-budget=5000",
        "--dump-dom",
        notebook.as_uri(),
    ]
    heard = False
    for _ in range(5):  # the command may end before the frame has run, most of all on a busy machine
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        (body,) = re.findall(r"<body[^>]*>", done.stdout.partition("<script")[0])
        assert 'sandbox="allow-scripts allow-downloads"' in done.stdout
        assert "data-owned" not in body
        heard = 'data-heard="#ran"' in body
        if heard or how != "frame":  # a frame that is added later seldom runs at all
            break
    assert heard or how != "frame"


def test_a_notebook_without_widgets_shows_the_page_in_a_frame() -> None:
    shown = ExplorePage("One", "<p>&</p>")._repr_html_()
    assert '<iframe title="One"' in shown and "&lt;p&gt;&amp;&lt;/p&gt;" in shown


def test_a_page_is_a_widget_where_anywidget_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget")
    made = ExplorePage("One", "<p>1</p>").widget()
    assert (made.title, made.html, made.address) == ("One", "<p>1</p>", "")
    made.address = "#rate=5"
    widget._widget_class.cache_clear()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ExtraError, match="pip install"):
        ExplorePage("One", "").widget()


@needs_module
def test_the_page_is_one_light_file(file: Path) -> None:
    text = file.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and "default-src 'none'" in policy[1]
    assert "unsafe-eval'" not in policy[1].replace("'wasm-unsafe-eval'", "")
    assert len(text.encode()) < 1_500_000


def test_a_page_has_the_text_and_the_readme_of_its_study(tmp_path: Path) -> None:
    file = tmp_path / "question.toml"
    flows = 'rate = "10Mbps"\nrtt = "40ms"\nflows = [{ cc = "cubic" }]'
    file.write_text(f'title = "T"\nabout = "For the class."\n[dumbbell]\n{flows}\n[run]\nduration = "1s"\n')
    (tmp_path / "README.md").write_text("# T\n\nRead **this** first.\n")
    found = derive_study(Study.load(file))
    text = page(replace(found, controls=()))
    above = text[: text.index('id="explore-controls"')]
    assert '<p class="about">For the class.</p>' in above
    assert "<p>Read <strong>this</strong> first.</p>" in above
    assert '<details class="readme" open>' in above
    (tmp_path / "README.md").write_text("# T\n\n" + 400 * "Read on. ")
    assert '<details class="readme"><summary>' in page(replace(found, controls=()))


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer({"index.html": lambda: "the page"}) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def answer(server: PageServer, path: str, host: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.request("GET", path, headers={"Host": host} if host else {})
    response = connection.getresponse()
    return response.status, response.read()


def test_pages_are_served_to_those_who_know_the_path(server: PageServer) -> None:
    path = urlsplit(server.url).path
    assert answer(server, path) == (200, b"the page")
    assert answer(server, "/index.html")[0] == 404
    assert answer(server, path + "x")[0] == 404


def test_pages_are_not_served_under_a_foreign_name(server: PageServer) -> None:
    path = urlsplit(server.url).path
    assert answer(server, path, host=f"attacker.example:{server.server_port}")[0] == 404


def test_a_browser_that_closes_early_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, failed = threading.Event(), []
    monkeypatch.setattr(PageServer, "handle_error", lambda *_: failed.append(sys.exc_info()))
    with PageServer(
        {"index.html": lambda: asked.wait(10) and "x" * 50_000_000}
    ) as server:  # more than buffers hold
        server.daemon_threads = False  # closing waits for the answer
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        browser = socket.create_connection(("127.0.0.1", server.server_port))
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        host = f"127.0.0.1:{server.server_port}"
        browser.sendall(f"GET {urlsplit(server.url).path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        time.sleep(0.05)  # the request has been read
        browser.close()
        asked.set()
        server.shutdown()
        thread.join()
    assert failed == []


def test_the_server_listens_on_the_loopback_interface_alone(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_server_runs_a_law_in_python_as_the_engine_does() -> None:
    loaded = Study.load(lessons.FOLDER / lessons.OWN_LAW)
    study = loaded.configure({}, dict([congestion_control(str(STUBBORN))]))
    derived = derive_study(study)
    (cc,) = (control for control in derived.controls if control.has_stop("stubborn"))
    with pytest.raises(StudyError, match="in Python run in this process"):
        page(derived)
    text = page(derived, served=True)
    assert "connect-src 'self'" in text and 'id="live-engine"></script>' in text
    at = next(k for k, stop in enumerate(cc.stops) if stop.value == "stubborn")
    state = tuple(at if control is cc else control.base for control in derived.controls)
    scenario = {**derived.scenario(state), "duration_ns": 2_000_000_000}
    read = {"connections": ["connection", "end_ns", "segments_sent"], "objects": ["kind"]}
    asked = {"scenario": json.dumps(scenario), "seed": "1", "replicate": 0, "read": read}
    with PageServer({"index.html": lambda: text}, laws=list(study.laws.values())) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
        path = urlsplit(server.url).path.rpartition("/")[0]
        connection.request("POST", f"{path}/run", json.dumps(asked))
        got = json.loads(connection.getresponse().read())["tables"]
        connection.request("POST", "/elsewhere/run", json.dumps(asked))
        assert connection.getresponse().status == 404
        server.shutdown()
        thread.join()
    ours = run_here(json.dumps(scenario), 1, 0, study.laws.values())
    sent = pa.table(ours["connections"])["segments_sent"].to_pylist()
    columns = got["connections"]["columns"]
    assert np.frombuffer(base64.b64decode(columns["segments_sent"]["values"])).tolist() == sent
    assert np.isnan(np.frombuffer(base64.b64decode(columns["end_ns"]["values"]))).all()
    assert got["connections"]["rows"] == len(sent) == 2
