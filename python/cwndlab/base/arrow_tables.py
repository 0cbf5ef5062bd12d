"""The record tables of one run as one sequence of bytes, for files and for transfers between machines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

#: Name and largest number of rows of the table with the first segments of a run on a kernel. Such a run has
#: this table if the study does not record segments.
FIRST_SEGMENTS, FIRST_SEGMENTS_ROWS = "first_segments", 20_000

_MAGIC = b"cwndlab records 4\n"
_CHECKSUM_BYTES = 32
#: Compresses all tables as one frame: Arrow would compress each buffer of each column, in further threads.
_CODEC = pa.Codec("zstd", 2)
EMPTY: Mapping[str, str | int] = MappingProxyType({})


def read_table(stream: Any) -> pa.Table:
    """The table of an Arrow stream, without a copy. `pa.table` would import pandas, which takes 0.5 s."""
    return pa.RecordBatchReader.from_stream(stream).read_all()


def encode_tables(tables: Mapping[str, pa.Table], key: str, about: Mapping[str, str | int] = EMPTY) -> bytes:
    """Record tables as bytes: a heading, Arrow streams in one compressed frame, and a checksum with the key.

    The heading also contains `about`: facts about the run that are not in its tables.
    """
    sink = pa.BufferOutputStream()
    lengths: dict[str, int] = {}
    for name in sorted(tables):
        start = sink.tell()
        with pa.ipc.new_stream(sink, tables[name].schema) as writer:
            writer.write_table(tables[name])
        lengths[name] = sink.tell() - start
    heading = json.dumps({"tables": lengths, "about": dict(about)}).encode() + b"\n"
    frame: bytes = _CODEC.compress(sink.getvalue(), asbytes=True)
    body = _MAGIC + heading + frame
    return body + _checksum(body, key)


def _checksum(body: bytes | memoryview, key: str) -> bytes:
    """The checksum of a body, keyed by the run, so that the records of another run are not accepted."""
    return hashlib.blake2b(body, key=key.encode(), digest_size=_CHECKSUM_BYTES).digest()


def is_whole(data: bytes, key: str) -> bool:
    """Whether `data` holds the undamaged records of the run with this key."""
    body = memoryview(data)[:-_CHECKSUM_BYTES]
    return data.startswith(_MAGIC) and _checksum(body, key) == data[-_CHECKSUM_BYTES:]


def decode_tables(data: bytes, key: str) -> dict[str, pa.Table]:
    """The tables by name, from the bytes of `encode_tables`; ValueError if `is_whole` is false for them."""
    heading, position = _heading(data, key)
    lengths: dict[str, int] = heading["tables"]
    frame = memoryview(data)[position:-_CHECKSUM_BYTES]
    buffer = _CODEC.decompress(frame, sum(lengths.values()))
    tables: dict[str, pa.Table] = {}
    position = 0
    for name, length in lengths.items():
        tables[name] = pa.ipc.open_stream(buffer.slice(position, length)).read_all()
        position += length
    return tables


def decode_about(data: bytes, key: str) -> Mapping[str, str | int]:
    """`about`, from the bytes of `encode_tables`; ValueError if `is_whole` is false for them."""
    about: Mapping[str, str | int] = _heading(data, key)[0]["about"]
    return about


def _heading(data: bytes, key: str) -> tuple[dict[str, Any], int]:
    """The heading, parsed, and the position at which the compressed frame begins."""
    if not is_whole(data, key):
        raise ValueError("damaged")
    end = data.index(b"\n", len(_MAGIC))
    return json.loads(data[len(_MAGIC) : end]), end + 1
