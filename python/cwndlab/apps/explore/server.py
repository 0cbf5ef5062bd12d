"""The local server for pages of controls; it also runs studies with laws in Python for them."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from cwndlab import _core
from cwndlab.base.errors import RunError
from cwndlab.runs.work import run_here

if TYPE_CHECKING:
    from cwndlab.base.laws import LawCode

#: The last part of the path to which a page posts a run; the page's own path has the same parent.
RUN = "run"
#: Most bytes of a request's body, and most seconds of a run.
MOST, LONGEST = 10_000_000, 60.0
#: Most seconds for the head of a request to arrive, and for its body.
PATIENCE_S = 10.0
#: A valid Content-Length, of at most 19 digits.
_LENGTH = re.compile(r"[0-9]{1,19}", re.ASCII)


class PageServer(ThreadingHTTPServer):
    """Serves pages under a random path on the loopback interface; `url` is the address of the first page.

    A page is made when it is first requested. If the study has congestion controls in Python, the server also
    runs the study for its pages, one run at a time.

    Other sites can reach a loopback port, but cannot guess the path. The Host header must name this machine,
    so that a foreign name that resolves to it is rejected.
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
    #: Seconds that a request may occupy its thread.
    timeout: ClassVar[float] = PATIENCE_S

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
        """Answers with the records of the requested run, or with an error."""
        known = self.server.laws and secrets.compare_digest(
            self.path.encode(), f"/{self.server.token}/{RUN}".encode()
        )
        if not known or self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        body = self._body()
        if body is None:
            return
        try:
            asked = json.loads(body)
            wanted = (asked["scenario"], int(asked["seed"]), asked["replicate"])
            read = asked["read"]
        except (ValueError, LookupError, TypeError, RecursionError):
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        with self.server.making:
            try:
                records = run_here(*wanted, self.server.laws, max_seconds=LONGEST)
                answer: dict[str, Any] = {"tables": _tables(records, read)}
            except (RunError, _core.BudgetError) as error:
                answer = {"error": str(error)}
        self._answer(json.dumps(answer).encode(), "application/json")

    def _body(self) -> bytes | None:
        """The body of a request; None, after sending an error, if its length is missing, invalid or wrong."""
        given = self.headers.get_all("Content-Length") or []
        if self.headers.get("Transfer-Encoding") is not None or len(given) != 1:
            self.send_error(HTTPStatus.LENGTH_REQUIRED)
        elif not _LENGTH.fullmatch(given[0]):
            self.send_error(HTTPStatus.BAD_REQUEST)
        elif int(given[0]) > MOST:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            body = self._read_in_time(int(given[0]))
            if len(body) == int(given[0]):
                return body
            self.send_error(HTTPStatus.REQUEST_TIMEOUT)
        return None

    def _read_in_time(self, length: int) -> bytes:
        """The next `length` bytes of the body, or fewer if they do not arrive in time."""
        found, until = bytearray(), monotonic() + self.timeout
        while len(found) < length and monotonic() < until:
            try:
                part = self.rfile.read1(min(length - len(found), 1 << 16))
            except TimeoutError:
                break
            if not part:
                break
            found += part
        return bytes(found)

    def handle(self) -> None:
        """Answers the request of a connection, which the browser may close at any time.

        `timeout` limits each read; a timer limits the whole head, which might arrive byte by byte.
        """
        self._late = Timer(self.timeout, self._hang_up)
        self._late.daemon = True
        self._late.start()
        try:
            with suppress(ConnectionError, TimeoutError):
                super().handle()
        finally:
            self._late.cancel()

    def parse_request(self) -> bool:
        """Reads the head of a request and stops the timer that limits it."""
        whole = super().parse_request()
        self._late.cancel()
        return whole

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(SHUT_RDWR)

    def finish(self) -> None:
        """Closes the connection."""
        with suppress(ConnectionError, TimeoutError):
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
    """Columns of a run's tables in the form that run.js reads: 64-bit floats in base64."""
    found = {}
    for name, columns in read.items():
        table = pa.table(records[name]).select(columns)
        found[name] = {"rows": len(table), "columns": {name: _column(table[name]) for name in columns}}
    return found


def _column(column: pa.ChunkedArray) -> dict[str, Any]:
    """A column as base64; words are encoded as indices into a list."""
    words = {}
    if pa.types.is_dictionary(column.type) or pa.types.is_string(column.type):
        coded = column.cast(pa.string()).dictionary_encode().combine_chunks()
        column, words = coded.indices, {"words": coded.dictionary.to_pylist()}
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return {"values": base64.b64encode(np.asarray(values, "<f8").tobytes()).decode(), **words}
