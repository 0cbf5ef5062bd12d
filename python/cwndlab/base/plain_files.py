"""Access to files in the folder of a study or of results, which may come from a stranger.

Such files are opened only by `open_plain` or `read_inside`, and written only by `write_inside`. These accept
only plain files, and the latter two only files inside the folder, not reached through a link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

#: The largest file that is read whole, in bytes, unless a caller says otherwise.
MAX_BYTES = 64_000_000
#: With O_PATH, where it exists, opening a folder requires permission to search it, not to list it.
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
#: Without this flag, opening a pipe would wait for a writer.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def open_plain(path: Path, mode: str = "rb", *, buffering: int = -1) -> IO[bytes]:
    """Opens a plain file in binary mode; OSError if it is a link, a pipe, a device or a folder."""

    def opener(name: str, flags: int) -> int:
        return _checked(os.open(name, flags | _NO_LINK | _NO_WAIT, 0o666), name)

    file: IO[bytes] = open(path, mode, buffering, opener=opener)
    return file


def read_plain(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file that the user names, perhaps by a link; OSError if it is not plain or too large."""
    with os.fdopen(_checked(os.open(path, os.O_RDONLY | _NO_WAIT), str(path)), "rb") as file:
        return _limited(file, limit, path)


def read_inside(folder: Path, name: str, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a plain file at a path below a folder; OSError if there is none, or if it is too large."""
    *between, last = _parts(name)
    with _below(folder, between) as directory:
        handle = _checked(os.open(last, os.O_RDONLY | _NO_LINK | _NO_WAIT, dir_fd=directory), name)
    with os.fdopen(handle, "rb") as file:
        return _limited(file, limit, folder / name)


def write_inside(folder: Path, name: str, data: bytes) -> Path:
    """Writes a file below a folder, whole or not at all, makes missing folders, and returns the path.

    A link at the file's own path is replaced; a link in place of a folder between is an OSError.
    """
    *between, last = _parts(name)
    folder.mkdir(parents=True, exist_ok=True)
    with _below(folder, between, make=True) as directory:
        temporary = f"{last}.tmp-{os.getpid()}-{os.urandom(4).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        try:
            with os.fdopen(os.open(temporary, flags, 0o666, dir_fd=directory), "wb") as file:
                file.write(data)
            os.replace(temporary, last, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=directory)
            if isinstance(error, OSError):
                error.filename = str(folder / name)  # instead of the temporary file's path
            raise
    return folder / name


def unlink_inside(folder: Path, name: str) -> None:
    """Removes a file at a path below a folder, or a link in its place, if there is one."""
    *between, last = _parts(name)
    with suppress(FileNotFoundError), _below(folder, between) as directory:
        os.unlink(last, dir_fd=directory)


def _limited(file: IO[bytes], limit: int, path: Path) -> bytes:
    # `read` allocates as many bytes as it is asked for: the file's size, not `limit`.
    data = file.read(min(os.fstat(file.fileno()).st_size, limit) + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"is larger than {limit / 1e6:g} MB", str(path))
    return data


def _parts(name: str) -> Sequence[str]:
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise OSError(errno.EINVAL, "lies outside its folder", name)
    return parts


def _checked(handle: int, name: str) -> int:
    """The handle, if it is of a plain file; otherwise closes it and raises OSError."""
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, "is no plain file", name)


@contextmanager
def _below(folder: Path, between: Sequence[str], *, make: bool = False) -> Iterator[int]:
    """A handle of the folder at the path `between` below a folder, reached without following a link."""
    handle = os.open(folder, _DIRECTORY)
    try:
        for part in between:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            try:
                inner = os.open(part, _DIRECTORY | _NO_LINK, dir_fd=handle)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    text = "is a link or a file where a folder belongs; remove it"
                    raise OSError(error.errno, text, str(folder.joinpath(*between))) from None
                raise
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)
