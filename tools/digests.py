"""Print a digest of the records of every cell of the shipped studies, to compare two versions by `diff`.

Usage: digests.py [STUDY ...] [--sample N] [--threads N]

Each line is `study<TAB>cell<TAB>digest` for replicate 0 with all the cell's probes: the first 16 digits of a
SHA-256 over every record table, schema and rows. Lines come in the order of the studies and their cells.
`--sample N` takes N cells of each study, evenly spaced. An engine error is printed in place of the digest.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

import cwndlab
from cwndlab import Cell, Study, _core

STUDIES = Path(cwndlab.__file__).parent / "studies"


class _Sha256Sink:
    """A writable file object that only hashes the data."""

    closed = False

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return len(data)

    def flush(self) -> None:
        """Does nothing, because nothing is buffered."""

    def close(self) -> None:
        """Does nothing; the hash stays readable."""


def digest(scenario: str, seed: int) -> str:
    """The digest of replicate 0, or the error that the engine reports."""
    try:
        records = _core.run(scenario, seed, 0)
    except (RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    sink = _Sha256Sink()
    for name in records.names:
        sink.write(name.encode() + b"\0")
        table = pa.table(records.table(name)).combine_chunks()
        with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), table.schema) as writer:
            writer.write_table(table)
    return sink.hash.hexdigest()[:16]


def sample(cells: Sequence[Cell], size: int | None) -> Sequence[Cell]:
    """At most `size` cells, evenly spaced; all cells if `size` is None."""
    if size is None or size >= len(cells):
        return cells
    return [cells[k * len(cells) // size] for k in range(size)]


def main() -> None:
    """Print the digests."""
    known = sorted(path.parent.name for path in STUDIES.glob("*/study.toml"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", default=known, help=f"of {', '.join(known)}")
    parser.add_argument("--sample", type=int, metavar="N", help="N cells of each study, evenly spaced")
    parser.add_argument("--threads", type=int, metavar="N", default=os.cpu_count())
    options = parser.parse_args()
    with ThreadPoolExecutor(options.threads) as pool:
        for name in options.studies:
            plan = Study.load(name).plan()
            cells = sample(plan.cells, options.sample)
            seeds = [plan.seed] * len(cells)
            for cell, line in zip(cells, pool.map(digest, (c.scenario for c in cells), seeds), strict=True):
                print(name, cell.id, line, sep="\t", flush=True)


if __name__ == "__main__":
    main()
