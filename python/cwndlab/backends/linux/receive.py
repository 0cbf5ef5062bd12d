"""Reading from a socket with one registration for many reads.

asyncio's own `sock_recv` asks the socket first, then registers and unregisters it: four calls of the kernel
around each read that has to wait. For a long transfer that is most of the work, above all in a guest.
"""

from __future__ import annotations

import asyncio
import socket

#: Read into by all and looked at by nobody: applications count bytes.
_SCRATCH = bytearray(1 << 16)


async def receive(loop: asyncio.AbstractEventLoop, sock: socket.socket, wanted: int | None) -> int:
    """Reads until `wanted` bytes (None: for ever) or the end of the stream; how many there were."""
    if wanted is not None and wanted <= 0:
        return 0
    got = 0
    done: asyncio.Future[int] = loop.create_future()

    def ready() -> None:
        nonlocal got
        try:
            count = sock.recv_into(_SCRATCH)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            count = 0
            if not done.done():
                done.set_exception(error)
        got += count
        if not done.done() and (count == 0 or (wanted is not None and got >= wanted)):
            done.set_result(got)

    fd = sock.fileno()
    loop.add_reader(fd, ready)
    try:
        return await done
    finally:
        loop.remove_reader(fd)
