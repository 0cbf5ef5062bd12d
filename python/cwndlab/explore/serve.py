"""Serves pages on this machine, under an address that only its user knows."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PageServer(ThreadingHTTPServer):
    """Pages by name, under a random path on the loopback interface; `url` leads to the first.

    A page of another site can reach a loopback port, but cannot guess the path. The Host header must name
    this machine, so that no foreign name that resolves to it is served.
    """

    daemon_threads = True

    def __init__(self, pages: Mapping[str, str], port: int = 0) -> None:
        """Starts listening; OSError if the port is taken (0: any free one)."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = secrets.token_urlsafe(16)
        self.pages = {f"/{self.token}/{name}": text.encode() for name, text in pages.items()}
        self.hosts = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}
        self.url = f"http://127.0.0.1:{self.server_port}{next(iter(self.pages))}"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer

    def do_GET(self) -> None:
        """Answers with a page, or 404."""
        body = self.server.pages.get(self.path.partition("?")[0])
        if body is None or self.headers.get("Host") not in self.server.hosts:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing: the only client is the user's own browser."""
