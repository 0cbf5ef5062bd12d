"""The simulator's applications (crates/cwndlab-traffic) on real sockets: they take events and give commands.

Both ends of a connection run in one process, each in its own namespace, so the server knows what the client
will request; this makes no difference on the wire.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from cwndlab._core import Application, Command

CHUNK = memoryview(bytes(1 << 16))
#: A buffer for received data, shared because its content is never used: applications only count bytes.
_SCRATCH = bytearray(1 << 16)
#: Errors of a kernel, with the reasons that the simulator states (`CloseReason` of cwndlab-tcp).
REASONS = {
    errno.ECONNREFUSED: "connection refused by the peer",
    errno.ECONNRESET: "connection reset by the peer",
    errno.EPIPE: "connection reset by the peer",
    errno.ETIMEDOUT: "the peer stopped acknowledging",
}
#: The reason for ETIMEDOUT before the handshake was complete.
NO_ANSWER = "the peer did not answer the connection request"


@dataclass(frozen=True)
class SocketEnd:
    """One end of a traffic entry: a function that makes its sockets, and its address."""

    make: Callable[[], socket.socket]
    address: str


class Bed:
    """State shared by all applications: the event loop, open sockets, and failures."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, counts: bool = False) -> None:
        self.loop = loop
        self.tasks: set[asyncio.Task[None]] = set()
        self.sockets: dict[int, socket.socket] = {}
        self.failures: list[str] = []
        #: Whether TCP_INFO is read when an end closes.
        self.counts = counts
        #: When both ends of a connection were first established, in seconds of the loop's clock; None before.
        self.first_ready: float | None = None
        loop.set_exception_handler(lambda _, context: self._failed(context.get("exception"), context))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts a coroutine; the run fails if it raises an exception."""
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error, {})

    def _failed(self, error: BaseException | None, context: dict[str, Any]) -> None:
        self.failures.append(f"{type(error).__name__}: {error}" if error else str(context.get("message")))

    def add_socket(self, sock: socket.socket) -> None:
        """Registers the socket of a connection."""
        self.sockets[sock.fileno()] = sock

    def close_socket(self, sock: socket.socket) -> None:
        """Closes the socket of an end."""
        self.sockets.pop(sock.fileno(), None)
        sock.close()

    def note_established(self) -> None:
        """Records the time at which both ends of a connection were first established."""
        if self.first_ready is None:
            self.first_ready = self.loop.time()


class Driver:
    """Drives one application: passes it the events on its sockets, and executes its commands."""

    def __init__(
        self,
        bed: Bed,
        application: Application,
        *,
        client: SocketEnd,
        server: SocketEnd,
        port: int,
        client_opens: bool = True,
        answer_carries_ack: bool = False,
    ) -> None:
        self.bed, self.application = bed, application
        self.places = {True: client, False: server}
        self.port, self.client_opens, self.answer_carries_ack = port, client_opens, answer_carries_ack
        #: What the application recorded, each with the client ends (address, port) of its connections.
        self.records: list[tuple[Command.Record, list[tuple[str, int]]]] = []
        #: The application's writes: connection's ordinal, whether by its client, time in ns, bytes.
        self.writes: list[tuple[int, bool, int, int]] = []
        #: The kernel's counters of ends: connection's ordinal, whether its client, counters of `tcp_info`.
        self.counted: list[tuple[int, bool, *tuple[Any, ...]]] = []
        #: Ends with an open socket.
        self.open_ends: dict[End, None] = {}
        self.listeners: list[socket.socket] = []
        self._opened = 0
        self._used: list[tuple[str, int]] = []
        #: Client ends (address, port) of failed connections, with the reason.
        self.failed: list[list[str | int]] = []
        self._connections: dict[int, Connection] = {}
        #: Connections that are not yet accepted, by the client address.
        self._opening: dict[tuple[str, int], Connection] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._touched: deque[End] = deque()
        self._settling = False

    @property
    def is_busy(self) -> bool:
        """Whether the application has a connection, or its timer is pending."""
        return bool(self._connections) or self._timer is not None

    def start(self) -> None:
        """Starts to listen, and starts the application."""
        place = self.places[not self.client_opens]
        listener = place.make()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((place.address, self.port))
        listener.listen(1024)
        self.listeners.append(listener)
        self.bed.loop.add_reader(listener.fileno(), self._accept, listener)
        self.execute(self.application.start(now_ns()))

    def end(self) -> None:
        """Ends the application, which records unfinished work; commands have no effect afterwards."""
        self.execute(self.application.end(now_ns()))
        for end in list(self.open_ends):
            end.count()
        if self._timer is not None:
            self._timer.cancel()

    def execute(self, commands: list[Command]) -> None:
        """Executes commands in order, and everything that they enable immediately."""
        for command in commands:
            self._carry_out(command)
        self.settle()

    def settle(self, *ends: End) -> None:
        """Performs all immediate actions of these ends, and of ends that commands refer to."""
        self._touched.extend(ends)
        if self._settling:
            return
        self._settling = True
        try:
            while self._touched:
                self._touched.popleft().settle()
        finally:
            self._settling = False

    def _carry_out(self, command: Command) -> None:
        match command:
            case Command.Connect(conn):
                self._connections[conn] = connection = Connection(self, conn, self._opened)
                self._opened += 1
                self._open(connection)
            case Command.Timer(at_ns):
                if self._timer is not None:
                    self._timer.cancel()
                self._timer = self.bed.loop.call_at(at_ns / 1e9, self._expired)
            case Command.Record():
                # Pages, files and transactions are sequential, so the connections opened since the last
                # record belong to this one. Objects are part of a page, which has its own record.
                own = [] if command.kind == "object" else self._used
                self.records.append((command, own))
                if command.kind != "object":
                    self._used = []
            case Command.Write(conn, client, count):
                if end := self._end(conn, client):
                    end.to_write += count
                    self.writes.append((end.connection.ordinal, client, now_ns(), count))
            case Command.Close(conn, client):
                if end := self._end(conn, client):
                    end.closing = True
            case Command.NotifyAt(conn, client, total):
                if end := self._end(conn, client):
                    end.notify_at = total
            case Command.Hold(conn, client):
                if end := self._end(conn, client):
                    end.held = True
            case Command.Read(conn, client, count):
                if end := self._end(conn, client):
                    end.read(count)
            case _:
                raise AssertionError(f"no such command: {command}")

    def _end(self, conn: int, client: bool) -> End | None:
        """The end that a command refers to, to be settled afterwards; None if the connection is over."""
        connection = self._connections.get(conn)
        if connection is None:
            return None
        end = connection.ends[client]
        self._touched.append(end)
        return end

    def _expired(self) -> None:
        self._timer = None
        self.execute(self.application.timer(now_ns()))

    def _open(self, connection: Connection) -> None:
        active, passive = self.places[self.client_opens], self.places[not self.client_opens]
        sock = active.make()
        end = connection.ends[self.client_opens]
        try:
            sock.bind((active.address, 0))
            mine: tuple[str, int] = sock.getsockname()[:2]
            self._opening[mine] = connection
            connection.client_end = mine if self.client_opens else (passive.address, self.port)
            self._used.append(connection.client_end)
            sock.connect((passive.address, self.port))
        except BlockingIOError:
            self.bed.loop.add_writer(sock.fileno(), self._connected, end, sock)
        except OSError as error:
            sock.close()
            self.bed.loop.call_soon(connection.fail, error.errno)
        else:
            self.bed.loop.call_soon(end.establish, sock)

    def _connected(self, end: End, sock: socket.socket) -> None:
        self.bed.loop.remove_writer(sock.fileno())
        if error := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            sock.close()
            end.connection.fail(error)
        else:
            end.establish(sock)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, peer = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        sock.setblocking(False)
        if self.answer_carries_ack:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        connection = self._opening.pop(peer[:2], None)
        if connection is None:  # the connection failed in the meantime
            sock.close()
        else:
            connection.ends[not self.client_opens].establish(sock)

    def free_connection(self, connection: Connection, failure: str) -> None:
        """Frees the application's number of a connection, and records the reason if the connection failed."""
        if failure and connection.client_end is not None:
            self.failed.append([*connection.client_end, failure])
        del self._connections[connection.number]
        self.execute(self.application.finished(now_ns(), connection.number, bool(failure)))


class Connection:
    """A connection of an application, with both ends."""

    def __init__(self, driver: Driver, number: int, ordinal: int) -> None:
        self.driver, self.number = driver, number
        #: Count of connections that the driver opened before; numbers are reused, ordinals are not.
        self.ordinal = ordinal
        #: Address and port of the client; None before it has opened.
        self.client_end: tuple[str, int] | None = None
        #: The ends by whether they are the client's.
        self.ends = {client: End(self, client) for client in (True, False)}
        #: Whether the connection is over for the application; one end may still be draining.
        self.is_over = False

    def fail(self, error: int | None) -> None:
        """Handles a reset or timeout of one end, with this error number of the kernel."""
        established = any(end.sock is not None for end in self.ends.values())
        if error == errno.ETIMEDOUT and not established:
            failure = NO_ANSWER
        else:
            failure = REASONS.get(error or 0) or os.strerror(error or errno.EIO)
        self._finish(failure)

    def end_closed(self) -> None:
        """Handles that one end has sent and received its FIN."""
        if all(end.is_closed for end in self.ends.values()):
            self._finish("")

    def _finish(self, failure: str) -> None:
        if not self.is_over:
            self.is_over = True
            self.driver.free_connection(self, failure)


class End:
    """One end of a connection, which executes the application's commands on its socket."""

    def __init__(self, connection: Connection, client: bool) -> None:
        self.connection, self.driver, self.client = connection, connection.driver, client
        self.sock: socket.socket | None = None
        self.is_closed = False
        #: Bytes still to be written to the kernel, and whether a FIN follows them.
        self.to_write = 0
        self.closing = self._fin_sent = self._waits_for_room = False
        #: Bytes that have arrived in order, and how many of these the application of a held end has read.
        self.received = self._taken = 0
        self.notify_at: int | None = None
        self.held = self._fin_received = False

    def establish(self, sock: socket.socket) -> None:
        """Starts to use the connected socket."""
        self.sock = sock
        bed = self.driver.bed
        bed.add_socket(sock)
        self.driver.open_ends[self] = None
        bed.loop.add_reader(sock.fileno(), self._readable)
        if self.connection.ends[not self.client].sock is not None:
            bed.note_established()
        if not self.connection.is_over:
            self._report(self.driver.application.established)
        self._settle_now()

    def _report(self, event: Callable[..., list[Command]], *more: int) -> None:
        self.driver.execute(event(now_ns(), self.connection.number, self.client, *more))

    def settle(self) -> None:
        """Performs all immediate actions: writes, closes, reports arrivals."""
        if self.sock is None or self.is_closed:
            return
        try:
            self._write(self.sock)
        except OSError as error:
            self._broken(error)
            return
        if self.held and self.notify_at is not None and not self._fin_received:
            try:
                self._look(self.sock)
            except OSError:  # nothing has arrived, or the loop will report the error
                pass
        if self.notify_at is not None and self.received >= self.notify_at:
            self.notify_at = None
            if not self.connection.is_over:
                self._report(self.driver.application.delivered, self.received)
        if self._fin_sent and self._fin_received:
            self._close()
            self.connection.end_closed()

    def _write(self, sock: socket.socket) -> None:
        """Writes until the kernel accepts no more. MSG_MORE delays the last segment until the FIN."""
        loop, fd = self.driver.bed.loop, sock.fileno()
        try:
            while self.to_write > 0:
                is_last = self.closing and self.to_write <= len(CHUNK)
                self.to_write -= sock.send(CHUNK[: self.to_write], socket.MSG_MORE if is_last else 0)
        except BlockingIOError:
            if not self._waits_for_room:
                self._waits_for_room = True
                loop.add_writer(fd, self._settle_now)
            return
        if self._waits_for_room:
            self._waits_for_room = False
            loop.remove_writer(fd)
        if self.closing and not self._fin_sent:
            self._fin_sent = True
            sock.shutdown(socket.SHUT_WR)

    def _settle_now(self) -> None:
        self.driver.settle(self)

    def _readable(self) -> None:
        assert self.sock is not None
        try:
            count = self._look(self.sock) if self.held else self.sock.recv_into(_SCRATCH)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._broken(error)
            return
        if not self.held:
            self.received += count
        if count == 0:
            self.driver.bed.loop.remove_reader(self.sock.fileno())
            self._fin_received = True
            if self.connection.is_over:
                self._close()
                return
            self._report(self.driver.application.peer_closed)
        self._settle_now()

    def _look(self, sock: socket.socket) -> int:
        """The unread bytes of a held end; 0 if only the FIN is left.

        The loop ignores the socket until the application reads, because unread data would wake it repeatedly.
        """
        waiting: int = struct.unpack("i", fcntl.ioctl(sock, termios.FIONREAD, bytes(4)))[0]
        self.received = self._taken + waiting
        if waiting == 0:
            return len(sock.recv(1, socket.MSG_PEEK))
        self.driver.bed.loop.remove_reader(sock.fileno())
        return waiting

    def read(self, count: int) -> None:
        """Reads bytes that have arrived at a held end."""
        if self.sock is None or self.is_closed:
            return
        self._taken += count
        while count > 0:
            count -= self.sock.recv_into(_SCRATCH, min(count, len(_SCRATCH)))
        self.driver.bed.loop.add_reader(self.sock.fileno(), self._readable)

    def count(self) -> None:
        """Records the kernel's counters, if requested."""
        self.driver.open_ends.pop(self, None)
        if self.driver.bed.counts and self.sock is not None:
            counters = tcp_info(self.sock)
            self.driver.counted.append((self.connection.ordinal, self.client, *counters))

    def _broken(self, error: OSError) -> None:
        self._close()
        self.connection.fail(error.errno)

    def _close(self) -> None:
        if self.sock is not None and not self.is_closed:
            self.is_closed = True
            loop, fd = self.driver.bed.loop, self.sock.fileno()
            loop.remove_reader(fd)
            loop.remove_writer(fd)
            self.count()
            self.driver.bed.close_socket(self.sock)


def tcp_info(sock: socket.socket) -> tuple[Any, ...]:
    """The kernel's counters of a connection's end (struct tcp_info, <linux/tcp.h>); times in nanoseconds.

    In order: time busy, limited by the receive window, and by the send buffer; whether the last rate sample
    was application-limited; timeouts, recoveries by timeouts, and their time (None before Linux 6.7).
    """
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 248)
    times = (1000 * micro for micro in struct.unpack_from("=3Q", info, 168))
    rtos: tuple[Any, ...] = (None, None, None)
    if len(info) >= 248:
        count, recoveries, milli = struct.unpack_from("=HHI", info, 240)
        rtos = (count, recoveries, milli * 1_000_000)
    return (*times, bool(info[7] & 1), *rtos)


def now_ns() -> int:
    """The current time of the loop's clock in nanoseconds."""
    return time.monotonic_ns()
