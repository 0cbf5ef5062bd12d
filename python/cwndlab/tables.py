"""The record tables of one run as one sequence of bytes, for files and for the way between machines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import pyarrow as pa

#: The table of a kernel's first segments where the study observes none, and how many rows it has at most.
FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS = "first_segments", 20_000

_MAGIC = b"cwndlab records 2\n"
_CHECKSUM_BYTES = 32


def encode_tables(tables: Mapping[str, pa.Table], key: str) -> bytes:
    """Heading, compressed Arrow streams, and a checksum of these and of the run's key."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    streams: dict[str, bytes] = {}
    for name in sorted(tables):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, tables[name].schema, options=options) as writer:
            writer.write_table(tables[name])
        streams[name] = sink.getvalue().to_pybytes()
    heading = json.dumps({name: len(data) for name, data in streams.items()}).encode() + b"\n"
    body = _MAGIC + heading + b"".join(streams.values())
    return body + _checksum(body, key)


def _checksum(body: bytes | memoryview, key: str) -> bytes:
    """Keyed, so that the records of another run do not pass for those of this one."""
    return hashlib.blake2b(body, key=key.encode(), digest_size=_CHECKSUM_BYTES).digest()


def is_whole(data: bytes, key: str) -> bool:
    """Whether these are the records of the run with this key, undamaged."""
    body = memoryview(data)[:-_CHECKSUM_BYTES]
    return data.startswith(_MAGIC) and _checksum(body, key) == data[-_CHECKSUM_BYTES:]


def decode_tables(data: bytes, key: str) -> dict[str, pa.Table]:
    """What `encode_tables` made; ValueError if it is damaged or another run's."""
    if not is_whole(data, key):
        raise ValueError("damaged")
    end = data.index(b"\n", len(_MAGIC))
    lengths = json.loads(data[len(_MAGIC) : end])
    buffer, position = pa.py_buffer(data), end + 1
    tables: dict[str, pa.Table] = {}
    for name, length in lengths.items():
        tables[name] = pa.ipc.open_stream(buffer.slice(position, length)).read_all()
        position += length
    return tables
