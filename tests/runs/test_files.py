"""Files are written whole, and nothing that is not a file is replaced."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cwndlab.base.writing import write_atomic


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as threads:
        read = threads.submit(pipe.read_bytes)
        write_atomic(pipe, b"data")
        assert read.result() == b"data"
    assert pipe.is_fifo()


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    write_atomic(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]
