"""Record tables of selected cells: names in place of indices, and which replicate is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from cwndlab.base.errors import NotFoundError
from cwndlab.results.records import RecordTables, rows_of_flow, with_names
from cwndlab.results.selection import SHOWN, select_cells
from cwndlab.study.cells import CellInfo, Cells
from cwndlab.study.labels import AxisInfo, Labels

SCENARIO: dict[str, Any] = {
    "traffic": [{"name": "web.0"}, {"name": "web.1"}, {"name": "bulk"}],
    "links": [{"name": "a>b"}, {"name": "b>a"}],
}
#: Connections out of order, so that a connection's number is not its row.
CONNECTIONS = pa.table(
    {"connection": pa.array([7, 2, 4], pa.uint32()), "traffic": pa.array([2, 0, 1], pa.uint32())}
)


class Source:
    """Tables of the cells "x" and "y", of which the second replicate has other numbers."""

    def __init__(self) -> None:
        self.read: list[tuple[str, int]] = []

    def tables(self, cell: str, replicate: int = 0) -> dict[str, pa.Table]:
        self.read.append((cell, replicate))
        number = 10 * replicate + (cell == "y")
        return {
            "connections": CONNECTIONS,
            "objects": pa.table({"traffic": pa.array([2, 1], pa.uint32()), "n": [number, number + 1]}),
            "links": pa.table({"link": pa.array([1, 0], pa.uint32())}),
            "cwnd": pa.table({"connection": pa.array([], pa.uint32())}),
        }

    def scenario(self, cell: str) -> dict[str, Any]:
        return SCENARIO


def tables(*cells: str) -> RecordTables:
    source: Any = Source()
    return RecordTables(cells, source)


def test_a_table_has_the_rows_of_each_cell_with_its_name_first() -> None:
    both = tables("x", "y")
    assert both["objects"].to_pydict() == {
        "cell": ["x", "x", "y", "y"],
        "flow": ["bulk", "web.1", "bulk", "web.1"],
        "n": [0, 1, 1, 2],
    }
    assert both("objects", replicate=1)["n"].to_pylist() == [10, 11, 11, 12]
    assert both("objects", cell="y")["n"].to_pylist() == [1, 2]
    assert both["links"].to_pydict() == {"cell": ["x", "x", "y", "y"], "link": ["b>a", "a>b", "b>a", "a>b"]}


def test_a_table_is_read_once() -> None:
    both = tables("x", "y")
    assert both["objects"] is both["objects"]
    source: Any = both.source
    assert source.read == [("x", 0), ("y", 0)]
    assert both("objects", replicate=1) is not both["objects"]


def test_the_names_of_tables_are_those_that_were_recorded() -> None:
    assert list(tables("x")) == ["connections", "links", "objects"] and len(tables("x", "y")) == 3
    assert "links" in tables("x") and "cwnd" not in tables("x") and "segments" not in tables("x")
    assert repr(tables("x")) == (
        "<RecordTables of x; recorded in x:\n    connections           3 rows\n"
        "    links                 2 rows\n    objects               2 rows>"
    )
    assert repr(tables("x", "y")).startswith("<RecordTables of 2 cells; recorded in x:\n")
    assert tables("x")._repr_html_().startswith("<pre>&lt;RecordTables of x; recorded in x:\n")


def test_a_missing_table_or_cell_is_reported_with_the_nearest() -> None:
    with pytest.raises(NotFoundError, match='there is no table "linkz"; did you mean "links"'):
        tables("x")["linkz"]
    with pytest.raises(NotFoundError, match='no cell "z"; known: x, y'):
        tables("x", "y")("links", cell="z")
    assert tables("x").only_cell() == "x"
    with pytest.raises(NotFoundError) as error:
        tables("x", "y").only_cell()
    assert str(error.value) == (
        "2 cells are selected; select one by axes, run.sel({AXIS: VALUE, …}), or by its name, "
        'run.sel(cell="x")'
    )


def test_the_flow_of_a_connection_is_found_by_its_number() -> None:
    sent = pa.table({"time_ns": [1, 2, 3], "connection": pa.array([4, 7, 2], pa.uint32())})
    named = with_names(sent, CONNECTIONS, SCENARIO)
    assert named.column_names == ["time_ns", "flow", "connection"]
    assert named["flow"].to_pylist() == ["web.1", "bulk", "web.0"]
    assert with_names(sent, None, SCENARIO).column_names == ["time_ns", "connection"]
    none = with_names(sent.slice(0, 0), CONNECTIONS.slice(0, 0), SCENARIO)
    assert none.column_names == ["time_ns", "flow", "connection"] and none.num_rows == 0


@pytest.mark.parametrize(
    ("flow", "found"), [(None, [0, 1, 2]), ("web", [0, 2]), ("web.1", [2]), ("bulk", [1])]
)
def test_the_rows_of_a_flow_are_those_of_its_instances(flow: str | None, found: list[int]) -> None:
    table = with_names(
        pa.table({"traffic": pa.array([0, 2, 1], pa.uint32()), "n": [0, 1, 2]}), None, SCENARIO
    )
    assert rows_of_flow(table, flow)["n"].to_pylist() == found


CELLS = Cells(
    tuple(CellInfo(f"rate={rate},cc={cc}", {"rate": rate, "cc": cc}) for rate in (1, 5, 10) for cc in "ab"),
    Labels(axes={"rate": AxisInfo(unit="Mbit/s")}),
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"rate": 5}, ["rate=5,cc=a", "rate=5,cc=b"]),
        ({"rate": slice(5, None), "cc": "a"}, ["rate=5,cc=a", "rate=10,cc=a"]),
        ({"rate": "10Mbps", "cc": ["b"]}, ["rate=10,cc=b"]),
        ({"cell": "rate=1,cc=b"}, ["rate=1,cc=b"]),
        ({"cell": ["rate=10,cc=b", "rate=1,cc=b"], "rate": 1}, ["rate=1,cc=b"]),
    ],
)
def test_cells_are_selected_by_axes_and_names(wanted: dict[str, Any], found: list[str]) -> None:
    assert [cell.id for cell in select_cells(CELLS, wanted)] == found


def test_a_selection_without_cells_lists_five_that_there_are() -> None:
    with pytest.raises(NotFoundError) as error:
        select_cells(CELLS, {"cell": "rate=1,cc=a", "rate": 5})
    assert SHOWN == 5
    assert str(error.value) == (
        "no cell has {'cell': 'rate=1,cc=a', 'rate': 5}; there are: rate=1,cc=a; rate=1,cc=b; rate=5,cc=a; "
        "rate=5,cc=b; rate=10,cc=a"
    )
