"""The server that shows pages of controls on this machine, and runs laws in Python for them."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cwndlab import _core
from cwndlab.errors import RunError
from cwndlab.runs.work import run_here

if TYPE_CHECKING:
    from cwndlab.laws import LawCode

#: What a page asks for a run, next to its own address.
RUN = "run"
#: The most bytes of what a page asks, and the most seconds that a run may take.
MOST, LONGEST = 10_000_000, 60.0


class PageServer(ThreadingHTTPServer):
    """Pages by name, under a random path on the loopback interface; `url` leads to the first.

    Each is made when it is first asked for. Runs that a page asks for are made here, one after the other, if
    the server has the study's congestion controls in Python.

    A page of another site can reach a loopback port, but cannot guess the path. The Host header must name
    this machine, so that no foreign name that resolves to it is served.
    """

    daemon_threads = True

    def __init__(
        self, pages: Mapping[str, Callable[[], str]], port: int = 0, laws: Sequence[LawCode] = ()
    ) -> None:
        """Starts listening; OSError if the port is taken (0: any free one)."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(16)
        self.pages = {f"/{self.token}/{name}": cache(make) for name, make in pages.items()}
        self.laws = laws
        self.making = Lock()
        self.hosts = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}
        self.url = f"http://127.0.0.1:{self.server_port}{next(iter(self.pages))}"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Answers with a page, or 404."""
        make = self.server.pages.get(self.path.partition("?")[0])
        if make is None or self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with self.server.making:
            body = make().encode()
        self._answer(body, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Answers with a run of the scenario that a page asks for, or why there is none."""
        length = int(self.headers.get("Content-Length") or 0)
        known = self.server.laws and self.path == f"/{self.server.token}/{RUN}"
        if not known or length > MOST or self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        asked = json.loads(self.rfile.read(length))
        with self.server.making:
            try:
                records = run_here(
                    asked["scenario"],
                    int(asked["seed"]),
                    asked["replicate"],
                    self.server.laws,
                    max_seconds=LONGEST,
                )
                answer: dict[str, Any] = {"tables": _tables(records, asked["read"])}
            except (RunError, _core.BudgetError) as error:
                answer = {"error": str(error)}
        self._answer(json.dumps(answer).encode(), "application/json")

    def handle(self) -> None:
        """Answers the requests of a connection, until the browser closes it, which it may do at any time."""
        with suppress(ConnectionError):
            super().handle()

    def finish(self) -> None:
        """Closes the connection."""
        with suppress(ConnectionError):
            super().finish()

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: the only client is the user's own browser."""


def _tables(records: _core.Records, read: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """These columns of a run's tables as run.js has them, numbers as 64-bit floats in base64."""
    found = {}
    for name, columns in read.items():
        table = pa.table(records[name]).select(columns)
        found[name] = {"rows": len(table), "columns": {name: _column(table[name]) for name in columns}}
    return found


def _column(column: pa.ChunkedArray) -> dict[str, Any]:
    """A column; one of words as places in a list of them."""
    words = {}
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        coded = column.cast(pa.string()).dictionary_encode().combine_chunks()
        column, words = coded.indices, {"words": coded.dictionary.to_pylist()}
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return {"values": base64.b64encode(np.asarray(values, "<f8").tobytes()).decode(), **words}
