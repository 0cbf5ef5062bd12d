"""Record columns as numpy arrays: read from Arrow's buffers, so they have to follow its layout."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from cwndlab import _core
from cwndlab.api import Study
from cwndlab.base.arrow_tables import read_table
from cwndlab.plan.plan import make_plan
from cwndlab.records import run_view as view
from cwndlab.records.run_view import EngineColumns, TableColumns, WholeRun, to_numpy
from cwndlab.records.window import Rows, equals

NUMBERS = list(range(20))
WORDS = ["a", "b", "c", "a"] * 5
KINDS = [
    *((kind, NUMBERS) for kind in (pa.uint8(), pa.uint32(), pa.uint64(), pa.int64(), pa.float64())),
    (pa.bool_(), [True, True, False, True] * 5),
    (pa.dictionary(pa.uint8(), pa.string()), WORDS),
    (pa.string(), WORDS),
    (pa.list_(pa.uint64()), [[], [1, 2], [], [3, 4, 5, 6], [7, 8]] * 4),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[str(kind) for kind, _ in KINDS])
@pytest.mark.parametrize("every", [100, 7], ids=["whole", "with nulls"])
def test_a_column_has_the_values_that_arrow_lists(kind, values, every):
    lists = pa.types.is_list(kind)  # none of which are missing in any table
    whole = pa.array(
        [None if k % every == every - 1 and not lists else v for k, v in enumerate(values)], kind
    )
    missing = -1 if pa.types.is_integer(kind) else float("nan") if pa.types.is_floating(kind) else None
    for chunks in ([whole], [whole.slice(3, 15)], [whole.slice(0, 3), whole.slice(3, 0), whole.slice(4)], []):
        column = pa.chunked_array(chunks, kind)
        found = to_numpy(column)
        wanted = [missing if value is None else value for value in column.to_pylist()]
        if lists:
            assert [list(value) for value in found] == wanted
        else:
            np.testing.assert_array_equal(found, np.array(wanted, dtype=found.dtype))
        if pa.types.is_integer(kind):
            assert found.dtype == (np.int64 if column.null_count else kind.to_pandas_dtype())


@pytest.mark.parametrize("kind", [pa.dictionary(pa.uint8(), pa.string()), pa.string()], ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_rows_with_a_word_are_those_that_arrow_lists(kind, missing):
    whole = pa.array([None if missing and k % 7 == 6 else word for k, word in enumerate(WORDS)], kind)
    for chunks in ([whole], [whole.slice(3, 15)], [whole.slice(0, 3), whole.slice(4)], [whole.slice(0, 0)]):
        table = pa.table({"kind": pa.chunked_array(chunks, kind)})
        columns = TableColumns(table)
        for word in ("a", "c", "d"):
            wanted = [value == word for value in table["kind"].to_pylist()]
            assert columns.equals("kind", word).tolist() == wanted
            some = Rows(columns, np.arange(len(wanted))[::2])
            assert equals(some, "kind", word).tolist() == wanted[::2]
            assert equals({"kind": columns["kind"]}, "kind", word).tolist() == wanted


def test_a_column_is_not_copied():
    column = pa.chunked_array([pa.array(NUMBERS, pa.uint64())])
    assert to_numpy(column).ctypes.data == column.chunk(0).buffers()[1].address


@pytest.fixture(scope="module")
def traced():
    """A run with segments, queue samples and files that its end cuts short."""
    plan = make_plan(Study.load("rfc2884").set({"workload": "traced"}))
    (cell,) = plan.cells
    return _core.Scenario(cell.scenario).run(plan.seed, 0), cell.compiled.scenario


def test_columns_of_the_engine_are_those_that_arrow_would_give(traced):
    records, scenario = traced
    seen = set()
    assert (WholeRun(records, scenario).columns("connections")["end_ns"] == -1).any()  # null: still open
    for name in records.names:
        arrow, own = TableColumns(WholeRun(records, scenario).table(name)), EngineColumns(records.table(name))
        assert list(own) == list(arrow)
        for column in arrow:
            wanted, found = arrow[column], own[column]
            assert found.dtype == wanted.dtype
            kind = WholeRun(records, scenario).table(name).schema.field(column).type
            if pa.types.is_list(kind):
                assert [value.tolist() for value in found] == [value.tolist() for value in wanted]
                continue
            np.testing.assert_array_equal(found, wanted)
            seen.add(str(wanted.dtype))
            if pa.types.is_dictionary(kind):
                for word in {*map(str, wanted), "nothing"}:
                    assert own.equals(column, word).tolist() == arrow.equals(column, word).tolist()
    assert seen >= {"uint32", "uint64", "bool", "object", "float64", "int64"}


def test_large_tables_are_not_copied(traced, monkeypatch):
    assert isinstance(WholeRun(*traced).columns("connections"), EngineColumns)
    monkeypatch.setattr(view, "SMALL", 0)
    assert type(WholeRun(*traced).columns("connections")) is TableColumns


def test_an_unknown_column_is_named(traced):
    with pytest.raises(KeyError, match="start_ms"):
        traced[0].table("connections").column("start_ms")


RUN = """
import sys, cwndlab
study = {"title": "one flow", "measure": ["goodput", "share", "loss_rate", "queue_delay"],
         "probes": {"segments_at": "a_sender"},
         "dumbbell": {"rate": "10Mbps", "rtt": "40ms", "flows": [{"name": "a", "cc": "cubic"}]},
         "run": {"duration": "1s"}}
run = cwndlab.Study.from_dict(study).run()
assert run.estimate("goodput").value
assert "pandas" not in sys.modules
"""


def test_a_run_does_not_import_pandas():
    """Arrow imports it for `pa.table` and `to_numpy` where it is installed: half a second in each command."""
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", RUN], check=True)


def test_a_stream_becomes_a_table():
    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    assert read_table(table).equals(table)
