"""Timeouts with nanosecond resolution for asyncio, since epoll's timeouts are whole milliseconds."""

from __future__ import annotations

import ctypes
import math
import os
import selectors
import struct
import time

_libc = ctypes.CDLL(None, use_errno=True)


class PreciseSelector(selectors.EpollSelector):
    """A selector for asyncio whose timeouts use a timer of the kernel (`timerfd_create`)."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = _libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._timer < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"timerfd_create: {os.strerror(number)}")
        self._is_set = False
        self.register(self._timer, selectors.EVENT_READ, (None, None))  # asyncio calls nothing

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The ready files, as asyncio expects them; an empty list after `timeout` seconds."""
        waits = timeout is not None and timeout > 0
        if waits or self._is_set:
            self._set(math.ceil(timeout * 1e9) if timeout is not None and waits else 0)
        ready = super().select(None if waits else timeout)
        return [(key, events) for key, events in ready if key.fd != self._timer]

    def _set(self, wait_ns: int) -> None:
        """Sets the timer to expire once, or stops it if `wait_ns` is 0; an earlier expiry is discarded."""
        seconds, rest = divmod(wait_ns, 10**9)
        _libc.timerfd_settime(self._timer, 0, struct.pack("=4q", 0, 0, seconds, rest), None)
        self._is_set = wait_ns > 0

    def close(self) -> None:
        """Closes the selector and its timer."""
        super().close()
        os.close(self._timer)
