"""Several record tables as one sequence of bytes, for files and for the way between machines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import pyarrow as pa

_MAGIC = b"cwndlab records 1\n"


def encode_tables(tables: Mapping[str, pa.Table]) -> bytes:
    """Several tables in one file: heading, Arrow streams, checksum."""
    streams: dict[str, bytes] = {}
    for name in sorted(tables):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, tables[name].schema) as writer:
            writer.write_table(tables[name])
        streams[name] = sink.getvalue().to_pybytes()
    heading = json.dumps({name: len(data) for name, data in streams.items()}).encode() + b"\n"
    body = _MAGIC + heading + b"".join(streams.values())
    return body + hashlib.blake2s(body).digest()


def decode_tables(data: bytes) -> dict[str, pa.Table]:
    """What `encode_tables` made, without a copy; ValueError if it is damaged."""
    body, checksum = data[:-32], data[-32:]
    if not body.startswith(_MAGIC) or hashlib.blake2s(body).digest() != checksum:
        raise ValueError("damaged")
    end = body.index(b"\n", len(_MAGIC))
    lengths = json.loads(body[len(_MAGIC) : end])
    buffer, position = pa.py_buffer(data), end + 1
    tables: dict[str, pa.Table] = {}
    for name, length in lengths.items():
        tables[name] = pa.ipc.open_stream(buffer.slice(position, length)).read_all()
        position += length
    return tables
