"""Export of a result folder's records: as Parquet for DuckDB, R and others, or as qlog for qvis."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cwndlab.apps.export.qlog import VERSIONS, qlog
from cwndlab.base.errors import OutputError, StudyError, nearest
from cwndlab.base.plain_files import open_plain, write_inside
from cwndlab.base.writing import output_errors
from cwndlab.plan.scenario import has_connections, indices_of_flow, sender
from cwndlab.results.result_folder import open_folder, with_cell
from cwndlab.runs.campaign import Campaign
from cwndlab.runs.single_run import with_probes


def export(folder: Path, target: Path) -> list[Path]:
    """Writes TABLE.parquet files: the first replicate of every cell, with the cell's name in a column."""
    _reject_link(folder, target)
    writers: dict[str, tuple[pq.ParquetWriter, Path, pa.Schema]] = {}
    with open_folder(folder) as (campaign, _), output_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened:
            for cell in campaign.cells:
                for name, table in campaign.tables(cell).items():
                    labelled = with_cell(table, cell)
                    if name not in writers:
                        temporary = target / f"{name}.parquet.tmp-{os.getpid()}"
                        temporary.unlink(missing_ok=True)
                        file = opened.enter_context(open_plain(temporary, "xb"))
                        writer = opened.enter_context(pq.ParquetWriter(file, labelled.schema))
                        writers[name] = (writer, temporary, labelled.schema)
                    writers[name][0].write_table(labelled)
        return [temporary.replace(target / f"{name}.parquet") for name, (_, temporary, _) in writers.items()]


def _reject_link(folder: Path, target: Path) -> None:
    """OutputError if the target is a symbolic link in the result folder, which may lead anywhere."""
    if target.is_symlink() and target.parent.resolve() == folder.resolve():
        raise OutputError(
            f"{target}: is a link that leads out of the result folder; remove it, or give --out"
        )


#: Most qlog files, one per connection, that an export writes.
MAX_CONNECTIONS = 1000


def export_qlog(folder: Path, target: Path, version: str, flow: str | None = None) -> list[Path]:
    """Writes a file CELL-FLOW-CONNECTION.sqlog for each connection in the first replicate of every cell.

    The log is that of the data sender, so each run is simulated again with packets recorded at the senders.

    Raises:
        StudyError: there is no such version.
        NotFoundError: there is no such flow.
        OutputError: there are too many connections, or a run cannot be simulated again.

    """
    if version not in VERSIONS:
        raise StudyError(
            f'there is no version "{version}" of qlog', key="--qlog", right=nearest(version, VERSIONS)
        )
    _reject_link(folder, target)
    written: list[Path] = []
    with open_folder(folder) as (campaign, _), output_errors(target):
        if campaign.backend:
            raise OutputError("a kernel's run has no qlog; its packets are in kernel/ as pcapng if observed")
        target.mkdir(parents=True, exist_ok=True)
        for cell in campaign.cells:
            for name, text in _qlogs(campaign, cell, version, flow):
                file = f"{re.sub(r'[^A-Za-z0-9.=_-]+', '-', name)}.sqlog"
                written.append(write_inside(target, file, text.encode()))
    return written


def _qlogs(campaign: Campaign, cell: str, version: str, flow: str | None) -> Iterator[tuple[str, str]]:
    """The name and content of the qlog file of each connection of a cell."""
    scenario = campaign.scenario(cell)
    found = [(k, entry) for k, entry in enumerate(scenario["traffic"]) if has_connections(entry)]
    chosen = indices_of_flow([str(entry["name"]) for _, entry in found], flow, " of TCP or QUIC")
    entries = dict(found[k] for k in chosen)
    for node in dict.fromkeys(sender(entry) for entry in entries.values()):
        probes = {"segments_at": node, "cwnd": True, "states": True, "connections": True}
        tables = with_probes(campaign, cell, 0, probes)
        segments, windows, timeouts = (
            _by_connection(tables[name]) for name in ("segments", "cwnd", "timeouts")
        )
        connections = tables["connections"].to_pylist()
        if len(connections) > MAX_CONNECTIONS:
            problem = f"cell {cell} has {len(connections)} connections, each with a file of its own"
            raise OutputError(f"{problem}; at most {MAX_CONNECTIONS}")
        for row in connections:
            entry = entries.get(row["traffic"])
            if entry is None or sender(entry) != node:
                continue
            number, client = row["connection"], entry["client"] == node
            name = f"{cell}-{entry['name']}-{number}"
            own, expired = (
                [one for one in rows.get(number, ()) if one["from_client"] == client]
                for rows in (windows, timeouts)
            )
            packets, quic = segments.get(number, ()), "stack" in entry
            yield name, qlog(packets, own, expired, name, version, client=client, quic=quic)


def _by_connection(table: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """The rows of a table by connection."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        found.setdefault(row["connection"], []).append(row)
    return found
