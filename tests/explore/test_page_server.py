"""The server of pages answers any request soon, and strangers with nothing."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cwndlab import _core
from cwndlab.apps.explore import server as module
from cwndlab.apps.explore.server import MOST, PageServer
from cwndlab.base import laws
from cwndlab.base.errors import RunError


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PageServer]:
    monkeypatch.setattr(module._Handler, "timeout", 0.5)
    law = laws.from_file(f"mine={Path(__file__).parents[1] / 'laws/reno_in_python.py'}")
    made = PageServer({"": lambda: "page"}, laws=[law])
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def answer(server: PageServer, head: str, body: bytes = b"", token: str | None = None) -> bytes:
    path = f"/{server.token if token is None else token}/run"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        client.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n{head}".encode() + body
        )
        return client.makefile("rb").readline()


@pytest.mark.parametrize("length", ["abc", "-1", "9" * 5000, "1_0", "+5", "٣", "10"])
def test_a_stranger_gets_the_same_answer_whatever_the_length(server: PageServer, length: str) -> None:
    assert b" 404 " in answer(server, f"Content-Length: {length}\r\n\r\n", token="guessed")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("Content-Length: abc\r\n\r\n", b" 400 "),
        ("Content-Length: -1\r\n\r\n", b" 400 "),
        ("Content-Length: +5\r\n\r\n", b" 400 "),
        (f"Content-Length: {'9' * 5000}\r\n\r\n", b" 400 "),
        (f"Content-Length: {MOST + 1}\r\n\r\n", b" 413 "),
        ("\r\n", b" 411 "),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b" 411 "),
        ("Content-Length: 1\r\nContent-Length: 2\r\n\r\n", b" 411 "),
        ("Content-Length: 2\r\n\r\n[]", b" 400 "),
        ("Content-Length: 4\r\n\r\n\xff\xfe{}", b" 400 "),
        ("Content-Length: 100\r\n\r\nlate", b" 408 "),
    ],
)
def test_a_wrong_request_is_answered_with_its_error(server: PageServer, head: str, status: bytes) -> None:
    assert status in answer(server, head)


def test_a_header_that_does_not_come_closes_the_connection(server: PageServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        client.sendall(b"POST /x HTTP/1.1\r\nHost: ")
        assert client.recv(100) == b""


@pytest.mark.parametrize(
    "head", ["POST /x HTTP/1.1\r\nHost: ", "GET /" + "x" * 100, "GET / HTTP/1.1\r\n" + "A: b\r\n" * 20]
)
def test_a_head_that_comes_byte_by_byte_closes_the_connection(server: PageServer, head: str) -> None:
    before = threading.active_count()
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        client.settimeout(0.05)
        until = time.monotonic() + 3
        place = 0
        while time.monotonic() < until:
            try:
                client.sendall(head[place % len(head)].encode() if place < len(head) else b"x")
                place += 1
                if client.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert time.monotonic() < until, "the server still reads"
    until = time.monotonic() + 3
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert threading.active_count() <= before


def test_a_head_that_comes_byte_by_byte_in_time_is_answered(server: PageServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as client:
        for (
            letter
        ) in f"GET {urlsplit(server.url).path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n":
            client.sendall(letter.encode())
        assert client.makefile("rb").readline() == b"HTTP/1.0 200 OK\r\n"


def test_a_body_of_the_largest_length_is_read_and_one_more_byte_is_too_much(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    assert b" 400 " in answer(server, "Content-Length: 3\r\n\r\n[] ")
    assert b" 413 " in answer(server, "Content-Length: 4\r\n\r\n[]  ")


@pytest.mark.parametrize("error", [RunError("it broke"), _core.BudgetError("it broke")])
def test_a_run_that_fails_is_answered_with_its_error(
    server: PageServer, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def run_here(*given: object, **limits: object) -> None:
        asked.append((given[:3], limits))
        raise error

    monkeypatch.setattr(module, "run_here", run_here)
    body = json.dumps({"scenario": "{}", "seed": "7", "replicate": 2, "read": {}})
    client = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    client.request("POST", f"/{server.token}/run", body)
    found = client.getresponse()
    assert found.status == 200 and json.loads(found.read()) == {"error": str(error)}
    assert found.getheader("Cache-Control") == "no-store"
    assert asked == [(("{}", 7, 2), {"max_seconds": 60.0})]
    client.close()
