"""The simulator's applications on real sockets: bulk, ftp, web 1.0 and 1.1, connect-request-response.

They follow crates/cwndlab-traffic, field by field, and draw the same sizes and pauses from the same streams.
Both ends of a connection live in one process, each in its
own namespace, so that the server knows what the client will ask for; the wire sees no difference.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cwndlab._core import Stream

from .draws import Dist
from .receive import receive

CHUNK = memoryview(bytes(1 << 16))


@dataclass
class Record:
    """A page, file, transaction or object; times in seconds of the loop's clock, None = unfinished."""

    kind: str
    index: int
    start: float
    end: float | None = None
    bytes: int = 0
    #: Client ends of its connections: address and port.
    connections: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class Place:
    """Where a traffic entry lives: how to make sockets at its two ends."""

    client: Callable[[], socket.socket]
    server: Callable[[], socket.socket]
    client_address: str
    server_address: str
    port: int


Serve = Callable[[socket.socket], Awaitable[None]]


class App:
    """What the applications have in common."""

    def __init__(self, entry: Mapping[str, Any], place: Place, bed: Bed) -> None:
        self.entry, self.place, self.bed = entry, place, bed
        self.spec: Mapping[str, Any] = entry["app"]
        self.records: list[Record] = []
        self.loop = bed.loop
        self.plans: dict[tuple[str, int], Serve] = {}
        #: By purpose: what is drawn for one comes from one stream.
        self.streams: dict[str, Stream] = {}

    def dist(self, key: str, stream: str, default: float | None = None) -> Dist:
        """The distribution in a field, drawn from the stream of that name."""
        spec = self.spec.get(key) or {"kind": "fixed", "value": default}
        if stream not in self.streams:
            self.streams[stream] = self.bed.stream(str(self.entry["name"]), stream)
        return Dist(spec, self.bed.shared, self.streams[stream])

    async def serve(self) -> None:
        """Accepts on the server's side and follows the plan of each connection."""
        listener = self.bed.listen(self.place.server(), self.place.server_address, self.place.port)
        while True:
            sock, peer = await self.loop.sock_accept(listener)
            if self.bed.answer_carries_ack:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
            self.bed.opened(sock)
            self.bed.start(self._served(self.plans.pop(peer), sock))

    async def _served(self, plan: Serve, sock: socket.socket) -> None:
        try:
            await plan(sock)
        except OSError:
            pass
        finally:
            self.bed.closed(sock)

    async def connect(self, plan: Serve, record: Record) -> socket.socket:
        """Opens a connection whose other end will follow the plan."""
        sock = self.place.client()
        sock.bind((self.place.client_address, 0))
        mine = sock.getsockname()
        self.plans[mine] = plan
        record.connections.append(mine)
        try:
            await self.loop.sock_connect(sock, (self.place.server_address, self.place.port))
        except OSError:
            self.bed.closed(sock)
            raise
        self.bed.opened(sock)
        return sock

    async def read(self, sock: socket.socket, total: int, got: int = 0) -> int:
        """Reads until `total` bytes of the stream are there; OSError if it ends before."""
        got += await receive(self.loop, sock, total - got)
        if got < total:
            raise ConnectionResetError("closed before all was there")
        return got

    async def write(self, sock: socket.socket, count: int, *, and_close: bool = False) -> None:
        """Writes; with `and_close` the FIN rides on the last segment (MSG_MORE holds it until then)."""
        left = count
        while left > 0:
            part = CHUNK[:left]
            try:
                more = socket.MSG_MORE if and_close and left <= len(CHUNK) else 0
                left -= sock.send(part, more)
            except BlockingIOError:
                await self.bed.writable(sock)
        if and_close:
            sock.shutdown(socket.SHUT_WR)

    async def end_of(self, sock: socket.socket) -> None:
        """Waits for the other side's FIN."""
        await receive(self.loop, sock, None)

    async def sleep(self, seconds: float) -> None:
        """Pause of an application; none at all for 0."""
        if seconds > 0:
            await asyncio.sleep(seconds)


class Bulk(App):
    """One transfer, without a request (crates/cwndlab-traffic/src/bulk.rs); either end may open it."""

    async def run(self) -> None:
        """Until cancelled, or its limit is reached."""
        spec, place = self.spec, self.place
        sender_is_client = spec.get("from", "client") == "client"
        count = spec.get("bytes")
        if spec.get("segments") is not None:
            count = spec["segments"] * self.bed.payload(self.entry)
        # LINUX: if the sender opens, its handshake's ACK takes a buffer that its data then misses.
        opener_is_client = sender_is_client if self.bed.opener == "client" else not sender_is_client
        make = (place.client, place.server) if opener_is_client else (place.server, place.client)
        mine = place.client_address if opener_is_client else place.server_address
        theirs = place.server_address if opener_is_client else place.client_address
        listener = self.bed.listen(make[1](), theirs, place.port)
        active = make[0]()
        active.bind((mine, 0))
        record = Record("file", 0, self.loop.time(), connections=[active.getsockname()])
        if count is not None:
            self.records.append(record)
        accepted = asyncio.ensure_future(self.loop.sock_accept(listener))
        await self.loop.sock_connect(active, (theirs, place.port))
        passive, _ = await accepted
        self.bed.opened(active)
        self.bed.opened(passive)
        self.bed.ready()
        sender, receiver = (active, passive) if opener_is_client == sender_is_client else (passive, active)
        self.bed.start(self._receive(receiver, record, count))
        if count is None:
            while True:
                await self.write(sender, len(CHUNK))
        await self.write(sender, count, and_close=True)
        await self.end_of(sender)
        self.bed.closed(sender)

    async def _receive(self, sock: socket.socket, record: Record, count: int | None) -> None:
        try:
            await self.read(sock, count if count is not None else 1 << 62)
            record.end, record.bytes = self.loop.time(), count or 0
            await self.end_of(sock)
        except OSError:
            pass
        self.bed.closed(sock)


class Series(App):
    """One exchange after another, each on a connection of its own: ftp and CRR (series.rs)."""

    KIND = "file"

    async def run(self) -> None:
        """Until cancelled, or its limit is reached."""
        ftp = self.spec["kind"] == "ftp"
        self.bed.start(self.serve())
        first, pause = self.dist("first_s", "pauses", 0), self.dist("pause_s", "pauses", 0)
        request = self.dist("request_bytes", "requests", 80)
        response = self.dist("file_bytes" if ftp else "response_bytes", "sizes")
        clock = self.spec.get("clock", "syn") if ftp else "syn"
        until_closed = not ftp and self.spec.get("ends", "closed") == "closed"
        limit = self.spec.get("files" if ftp else "transactions")
        await self.sleep(first.draw())
        for index in itertools.count():
            if limit is not None and index >= limit:
                return
            asked, wanted = request.bytes(), response.bytes()
            record = Record("file" if ftp else "transaction", index, self.loop.time())
            self.records.append(record)
            exchange = Exchange(self, asked, wanted, self.spec.get("server_closes", "with-response"))
            try:
                await exchange.open(record)
                if clock == "request":
                    record.start = self.loop.time()
                await exchange.whole()
                if until_closed:
                    await exchange.closed()
                record.end, record.bytes = self.loop.time(), wanted
            except OSError:
                pass
            self.bed.start(exchange.leave())
            await self.sleep(pause.draw())


class Exchange:
    """A connection with one request up and one response down (exchange.rs)."""

    def __init__(self, app: App, request: int, response: int, closes: str) -> None:
        self.app, self.request, self.response, self.closes = app, request, response, closes
        self.all_there = asyncio.Event()
        self.sock: socket.socket | None = None
        self.got = 0

    async def _serve(self, sock: socket.socket) -> None:
        app = self.app
        await app.read(sock, self.request)
        if self.closes == "with-response":
            await app.write(sock, self.response, and_close=True)
        else:
            await app.write(sock, self.response)
            await self.all_there.wait()
            sock.shutdown(socket.SHUT_WR)
        await app.end_of(sock)

    async def open(self, record: Record) -> None:
        """Connects and writes the request."""
        self.sock = await self.app.connect(self._serve, record)
        await self.app.write(self.sock, self.request)

    async def first(self) -> None:
        """The response's first data."""
        assert self.sock is not None
        self.got = await self.app.read(self.sock, 1)

    async def whole(self) -> None:
        """The response's last byte."""
        assert self.sock is not None
        self.got = await self.app.read(self.sock, self.response, self.got)
        self.all_there.set()

    async def closed(self) -> None:
        """The server's FIN; then the client closes too."""
        if self.sock is not None:
            await self.app.end_of(self.sock)
            self.app.bed.closed(self.sock)
            self.sock = None

    async def leave(self) -> None:
        """Closes when the server has."""
        try:
            await self.closed()
        except OSError:
            if self.sock is not None:
                self.app.bed.closed(self.sock)


class Web(App):
    """Pages with in-line objects (web.rs, web/carrier.rs)."""

    async def run(self) -> None:
        """Until cancelled, or its limit is reached."""
        spec = self.spec
        self.bed.start(self.serve())
        think, first = self.dist("think_s", "thinks"), self.dist("first_s", "thinks", 0)
        primary = self.dist("object_bytes", "sizes")
        inline = self.dist("inline_bytes" if spec.get("inline_bytes") else "object_bytes", "sizes")
        request = self.dist("request_bytes", "requests")
        self.clock, self.closes = spec["clock"], spec.get("server_closes", "with-response")
        self.trigger, self.each = spec["inline_trigger"], spec.get("record_objects", False)
        await self.sleep(first.draw())
        for index in itertools.count():
            if spec.get("pages") is not None and index >= spec["pages"]:
                return
            sizes: list[tuple[int, int]] = []
            for k in range(spec.get("inline_objects", 3) + 1):
                size = (primary if k == 0 else inline).bytes()
                sizes.append((request.bytes(), size))
            page = Record("page", index, self.loop.time())
            self.records.append(page)
            fetch = self._persistent if spec["protocol"] == "http/1.1" else self._separate
            try:
                await fetch(page, sizes)
                page.end, page.bytes = self.loop.time(), sum(size for _, size in sizes)
            except OSError:
                pass
            await self.sleep(think.draw())

    def _object(self, page: Record, k: int, count: int) -> Record:
        record = Record("object", page.index * count + k, self.loop.time())
        if self.each:
            self.records.append(record)
        return record

    async def _separate(self, page: Record, sizes: list[tuple[int, int]]) -> None:
        """http/1.0: a connection for each object."""
        asked = asyncio.Event()

        async def one(k: int) -> None:
            request, size = sizes[k]
            record = self._object(page, k, len(sizes))
            exchange = Exchange(self, request, size, self.closes)
            try:
                await exchange.open(page)
                if self.clock == "request":
                    record.start = self.loop.time()
                    if k == 0:
                        page.start = record.start
                if k == 0 and self.trigger == "first-packet":
                    await exchange.first()
                    asked.set()
                await exchange.whole()
                record.end, record.bytes = self.loop.time(), size
            finally:
                self.bed.start(exchange.leave())

        main = asyncio.ensure_future(one(0))
        try:
            if self.trigger == "first-packet":
                waiting = asyncio.ensure_future(asked.wait())
                await asyncio.wait([main, waiting], return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
            else:
                await main
            if main.done():
                main.result()
            await asyncio.gather(main, *(one(k) for k in range(1, len(sizes))))
        finally:
            main.cancel()

    async def _persistent(self, page: Record, sizes: list[tuple[int, int]]) -> None:
        """http/1.1: one connection; a second request asks for all in-line objects."""
        rounds = min(2, len(sizes))
        requests = [sizes[0][0], sizes[1][0] if rounds > 1 else 0]
        ends = list(itertools.accumulate(size for _, size in sizes))
        done = asyncio.Event()

        async def serve(sock: socket.socket) -> None:
            got = await self.read(sock, requests[0])
            with_response = self.closes == "with-response"
            await self.write(sock, ends[0], and_close=with_response and rounds == 1)
            if rounds > 1:
                await self.read(sock, sum(requests), got)
                await self.write(sock, ends[-1] - ends[0], and_close=with_response)
            if not with_response:
                await done.wait()
                sock.shutdown(socket.SHUT_WR)
            await self.end_of(sock)

        objects = [self._object(page, 0, len(sizes))]
        sock = await self.connect(serve, page)
        await self.write(sock, requests[0])
        if self.clock == "request":
            page.start = objects[0].start = self.loop.time()
        got = await self.read(sock, 1 if self.trigger == "first-packet" else ends[0])
        if rounds > 1:
            await self.write(sock, requests[1])
            objects += [self._object(page, k, len(sizes)) for k in range(1, len(sizes))]
        for k, record in enumerate(objects):
            got = await self.read(sock, ends[k], got)
            record.end, record.bytes = self.loop.time(), sizes[k][1]
        done.set()

        async def leave() -> None:
            try:
                await self.end_of(sock)
            except OSError:
                pass
            self.bed.closed(sock)

        self.bed.start(leave())


_SERIES = "kind request_bytes first_s server_closes"
_WEB = "protocol object_bytes inline_bytes inline_objects think_s clock inline_trigger record_objects pages"
#: By kind, the application and the keys that it follows.
APPS: dict[str, tuple[Callable[..., Any], str]] = {
    "bulk": (Bulk, "kind bytes segments from"),
    "ftp": (Series, f"{_SERIES} file_bytes clock pause_s files"),
    "crr": (Series, f"{_SERIES} response_bytes ends transactions"),
    "web": (Web, f"{_SERIES} {_WEB}"),
}


class Bed:
    """What the applications share: the loop, random streams, open sockets."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        scenario: Mapping[str, Any],
        seed: int,
        replicate: int,
        stack: Mapping[str, Any],
    ) -> None:
        self.loop, self.scenario = loop, scenario
        self.opener: str = stack["opener"]
        self.answer_carries_ack: bool = stack.get("answer_carries_ack", False)
        self.shared: Mapping[str, Any] = scenario.get("distributions", {})
        self.seed, self.replicate = seed, replicate
        self.tasks: set[asyncio.Task[Any]] = set()
        self.sockets: dict[int, socket.socket] = {}
        self.failures: list[str] = []
        self.first_ready: float | None = None

    def stream(self, name: str, what: str) -> Stream:
        """A random stream that depends on nothing but these names, the seed and the replicate."""
        return Stream(self.seed, self.replicate, name, what)

    def payload(self, entry: Mapping[str, Any]) -> int:
        """Payload bytes of a full segment."""
        tcp = self.scenario["tcp"][entry["tcp_client"]]
        return int(tcp["mss"]) + int(tcp["header_bytes"]) - 40

    def listen(self, sock: socket.socket, address: str, port: int) -> socket.socket:
        """Makes it a listening socket; it stays until the end."""
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address, port))
        sock.listen(1024)
        return sock

    def start(self, work: Any) -> None:
        """Runs a coroutine; an unexpected end of one is a failure of the run."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(f"{type(error).__name__}: {error}")

    def opened(self, sock: socket.socket) -> None:
        """A connection is there."""
        sock.setblocking(False)
        self.sockets[sock.fileno()] = sock

    def closed(self, sock: socket.socket) -> None:
        """Closes an end."""
        self.sockets.pop(sock.fileno(), None)
        sock.close()

    def ready(self) -> None:
        """The first connection of a bulk transfer is there."""
        if self.first_ready is None:
            self.first_ready = self.loop.time()

    async def writable(self, sock: socket.socket) -> None:
        """Waits for room in the send buffer."""
        waiter = self.loop.create_future()
        fd = sock.fileno()
        self.loop.add_writer(fd, lambda: None if waiter.done() else waiter.set_result(None))
        try:
            await waiter
        finally:
            self.loop.remove_writer(fd)
