"""A shared store: what one client finished no other does again, and the bytes are those of a plain run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from test_cluster import TestCluster
from test_store import content

from cwndlab.api import Study
from cwndlab.apps.shared_store import shared_store as store_shared
from cwndlab.base.errors import ExtraError, OutputError, StudyError
from cwndlab.results.execution import run_study
from cwndlab.runs.store import provenance
from fake_core import FakeCore, replace_core
from small_study import TEXT, edited

MANY = edited(("replicates = 3", "replicates = 40"))
ANY_PLACE = ["a folder", "file://", "memory://", "s3://"]


class _S3(BaseHTTPRequestHandler):
    """As much of S3 as a store needs: GET, PUT, and PUT with If-None-Match."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Length", str(len(body))),
            ("ETag", '"1"'),
            ("Last-Modified", "Thu, 01 Jan 1998 00:00:00 GMT"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        body = self.objects.get(self.path)
        self._answer(404) if body is None else self._answer(200, body)

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["If-None-Match"] == "*" and self.path in self.objects:
            self._answer(412)
        else:
            self.objects[self.path] = body
            self._answer(200)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """A bucket on loopback, and the environment that leads there."""
    _S3.objects = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _S3)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "any"),
        ("AWS_SECRET_ACCESS_KEY", "any"),
        ("AWS_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    yield _S3.objects
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Each test opens its stores itself."""
    yield
    store_shared.open_store.cache_clear()
    store_shared._open.cache_clear()


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    kind: str = request.param
    if kind == "a folder":
        return str(tmp_path / "shared")
    pytest.importorskip("obstore", reason="obstore is not installed: pip install 'cwndlab[store]'")
    if kind == "file://":
        return (tmp_path / "shared").as_uri()
    if kind == "s3://":
        request.getfixturevalue("s3")
        return "s3://bucket/of/ours"
    return "memory://"


@pytest.mark.parametrize("place", ANY_PLACE, indirect=True)
def test_a_second_client_does_nothing_again_and_ends_in_the_bytes_of_a_plain_run(
    place: str, tmp_path: Path, fake_core: FakeCore
) -> None:
    study = Study.from_toml(MANY)
    first = run_study(study, out=tmp_path / "first", store=place)
    assert (fake_core.runs, first.campaign.fetched) == (80, 0)
    second = run_study(study, out=tmp_path / "second", store=place)
    assert (fake_core.runs, second.campaign.fetched, second.campaign.damaged) == (80, 80, [])
    more = run_study(study, store=place, replicates=50)
    assert (fake_core.runs, more.campaign.fetched) == (100, 80)
    assert set(more.records) == {"connections", "segments", "failures"}
    run_study(study, out=tmp_path / "plain")
    assert content(tmp_path / "first") == content(tmp_path / "second") == content(tmp_path / "plain")
    assert json.loads((tmp_path / "second/provenance.json").read_text())["replicates_fetched"] == 80


@pytest.mark.parametrize("place", ANY_PLACE, indirect=True)
def test_an_object_is_created_once_and_never_torn(place: str) -> None:
    store_shared.prepare(place)
    shared = store_shared.open_store(place)
    bodies = [bytes([65 + i]) * 10_000 for i in range(8)]
    threads = [threading.Thread(target=lambda b=b: shared.put({"ab/x.line": b})) for b in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = shared.get(["ab/x.line"])
    assert winner in bodies
    shared.put({"ab/x.line": b"late"})
    assert shared.get(["ab/x.line", "ab/y.line"]) == [winner, None]
    shared.put({"ab/x.line": b"mended"}, overwrite=True)
    assert shared.get(["ab/x.line"]) == [b"mended"]


def test_clients_that_begin_together_share_the_work(tmp_path: Path, fake_core: FakeCore) -> None:
    replace_core(slow := FakeCore(sleep_s=0.01))
    study = Study.from_toml(edited(("replicates = 3", "replicates = 300")))
    place = str(tmp_path / "shared")
    clients = [
        threading.Thread(target=lambda i=i: run_study(study, out=tmp_path / str(i), store=place, threads=1))
        for i in range(3)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    # how much is shared depends on the scheduler; that it is shared does not: each alone would need all 600
    assert 600 <= slow.runs < 3 * 600
    assert content(tmp_path / "0") == content(tmp_path / "1") == content(tmp_path / "2")


def test_a_client_that_is_killed_leaves_what_it_finished_to_others(
    tmp_path: Path, fake_core: FakeCore
) -> None:
    (tmp_path / "study.toml").write_text(edited(("replicates = 3", "replicates = 400")))
    shared = tmp_path / "shared"
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from fake_core import FakeCore, replace_core\n"
        "from cwndlab.results.execution import run_study; from cwndlab.api import Study\n"
        "replace_core(FakeCore(sleep_s=0.01)); run_study(Study.load(sys.argv[2]), store=sys.argv[3])\n"
    )
    here = str(Path(__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", script, here, tmp_path / "study.toml", shared])
    while len(list(shared.glob("*/*.line"))) < 40 and process.poll() is None:
        threading.Event().wait(0.02)
    process.kill()
    assert process.wait() == -9
    # A worker writes a batch's records before its values; killed between, it leaves records alone.
    values, records = len(list(shared.glob("*/*.line"))), len(list(shared.glob("*/*.arrows")))
    result = run_study(Study.load(tmp_path / "study.toml"), out=tmp_path / "out", store=shared)
    assert values >= 40 and (result.campaign.fetched, fake_core.runs) == (values, 800 - records)
    run_study(Study.load(tmp_path / "study.toml"), out=tmp_path / "plain")
    assert content(tmp_path / "out") == content(tmp_path / "plain")


def test_damage_is_named_computed_again_and_mended(tmp_path: Path, fake_core: FakeCore) -> None:
    study, shared = Study.from_toml(TEXT), tmp_path / "shared"
    run_study(study, store=shared)
    lines, tables = sorted(shared.glob("*/*.line")), sorted(shared.glob("*/*.arrows"))
    assert (len(lines), len(tables)) == (6, 6)
    lines[-1].write_bytes(lines[-1].read_bytes().replace(b":", b";"))
    tables[0].write_bytes(tables[0].read_bytes()[:-1])
    result = run_study(study, store=shared)
    named = " ".join(result.campaign.damaged)
    assert len(result.campaign.damaged) == 2 and fake_core.runs == 8
    assert lines[-1].name in named and tables[0].name in named
    again = run_study(study, store=shared)
    assert again.campaign.damaged == [] and again.campaign.fetched == 6


def test_a_failed_run_is_not_kept_for_others(tmp_path: Path) -> None:
    replace_core(FakeCore(broken='"segments":4'))
    try:
        assert len(run_study(Study.from_toml(TEXT), store=tmp_path / "s").failures) == 3
        replace_core(FakeCore())
        assert run_study(Study.from_toml(TEXT), store=tmp_path / "s").failures == []
    finally:
        replace_core(None)


def test_a_store_that_fails_in_the_middle_loses_nothing(
    tmp_path: Path, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, put, room = Study.from_toml(MANY), store_shared.FolderObjects.put, [4]

    def until_full(self: store_shared.FolderObjects, objects: dict[str, bytes], **options: bool) -> None:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "No space left on device")
        put(self, objects, **options)

    monkeypatch.setattr(store_shared.FolderObjects, "put", until_full)
    with pytest.raises(OutputError, match=r"shared: cannot be used as a store: No space left.*continues"):
        run_study(study, out=tmp_path / "out", store=tmp_path / "shared")
    performed = fake_core.runs
    assert performed > 0
    monkeypatch.undo()
    run_study(study, out=tmp_path / "out", store=tmp_path / "shared")
    assert fake_core.runs == 80
    run_study(study, out=tmp_path / "plain")
    assert content(tmp_path / "out") == content(tmp_path / "plain")


def test_a_run_that_fails_leaves_no_process_that_may_hold_the_lock(
    tmp_path: Path, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that asks git forks; a run after it in the same program found the folder in use."""
    ended: list[bool] = []
    put, puts, is_full = store_shared.FolderObjects.put, [], threading.Event()

    def slow_git() -> None:
        is_full.wait(60)
        time.sleep(0.5)
        ended.append(True)

    def full(self: store_shared.FolderObjects, objects: dict[str, bytes], **options: bool) -> None:
        puts.append(objects)
        if len(puts) > 1:  # the first one marks the store
            is_full.set()
            raise OSError(28, "No space left on device")
        put(self, objects, **options)

    monkeypatch.setattr(provenance, "git_hash", slow_git)
    monkeypatch.setattr(store_shared.FolderObjects, "put", full)
    with pytest.raises(OutputError, match="No space left"):
        run_study(Study.from_toml(MANY), out=tmp_path / "out", store=tmp_path / "shared")
    assert ended


def _missing_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "any")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")


def _no_obstore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)


@pytest.mark.parametrize(
    ("place", "before", "said"),
    [
        ("foo://x", None, "foo://x: .*write a folder, file:///"),
        (
            "s3://bucket",
            _missing_server,
            "s3://bucket: cannot be used as a store: .*what is finished is kept",
        ),
        ("s3://bucket", _no_obstore, r"needs obstore: pip install 'cwndlab\[store\]'"),
        ("{tmp}/a-file", None, "a-file: cannot be written: File exists"),
        ("{tmp}/others", None, "others: holds other files"),
        ("{tmp}/newer", None, "newer: was written by another version of cwndlab"),
    ],
)
def test_a_store_that_cannot_be_used_is_said_before_anything_runs(
    place: str,
    before: Callable[[pytest.MonkeyPatch], None] | None,
    said: str,
    tmp_path: Path,
    fake_core: FakeCore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if before is not _no_obstore and "://" in place:
        pytest.importorskip("obstore", reason="obstore is not installed: pip install 'cwndlab[store]'")
    if before is not None:
        before(monkeypatch)
    (tmp_path / "a-file").write_text("mine")
    for name, file in (("others", "thesis.tex"), ("newer", "cwndlab-store")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("cwndlab store, layout 3\n")
    with pytest.raises((OutputError, ExtraError), match=said):
        run_study(Study.from_toml(TEXT), out=tmp_path / "out", store=place.format(tmp=tmp_path))
    assert fake_core.runs == 0 and not (tmp_path / "out").exists()


def test_workers_of_a_cluster_take_from_the_store_and_put_there(tmp_path: Path, fake_core: FakeCore) -> None:
    study, shared = Study.from_toml(MANY), tmp_path / "shared"
    with pytest.raises(StudyError, match="memory:// cannot be shared"):
        run_study(study, cluster="tcp://127.0.0.1:9", store="memory://")
    made = TestCluster(tmp_path)
    try:
        address = made.address
        relative = os.path.relpath(shared)  # workers may stand elsewhere
        assert run_study(study, out=tmp_path / "far", cluster=address, store=relative).campaign.fetched == 0
        assert len(list(shared.glob("*/*.line"))) == 80
        result = run_study(study, out=tmp_path / "again", cluster=address, store=relative)
        assert result.campaign.fetched == 80 and fake_core.runs == 0
        assert run_study(study, out=tmp_path / "near", store=shared).campaign.fetched == 80
    finally:
        made.close()
    assert fake_core.runs == 0
    run_study(study, out=tmp_path / "plain")
    for name in ("far", "again", "near"):
        assert content(tmp_path / name) == content(tmp_path / "plain")


pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
