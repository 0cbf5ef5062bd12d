"""Writes the records of a result folder as Parquet, for DuckDB, R and others."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cwndlab.writing import writing

from .result_folder import open_folder, with_cell


def export(folder: Path, target: Path) -> list[Path]:
    """Writes <table>.parquet: the first replicate of every cell, the cell's name in a column."""
    writers: dict[str, tuple[pq.ParquetWriter, Path, pa.Schema]] = {}
    with open_folder(folder) as (campaign, _), writing(target):
        target.mkdir(parents=True, exist_ok=True)
        try:
            for cell in campaign.cells:
                for name, table in campaign.tables(cell).items():
                    labelled = with_cell(table, cell)
                    if name not in writers:
                        temporary = target / f"{name}.parquet.tmp-{os.getpid()}"
                        writer = pq.ParquetWriter(temporary, labelled.schema)
                        writers[name] = (writer, temporary, labelled.schema)
                    writers[name][0].write_table(labelled)
        finally:
            for writer, _, _ in writers.values():
                writer.close()
        return [temporary.replace(target / f"{name}.parquet") for name, (_, temporary, _) in writers.items()]
