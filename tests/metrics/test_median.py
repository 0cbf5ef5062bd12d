"""The median without numpy's, compared with it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.base.numbers import median
from cwndlab.metrics import _rows


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 3),
    data=st.data(),
)
def test_the_median_is_numpys(rows: int, columns: int, data: st.DataObject) -> None:
    size = rows * columns
    drawn = data.draw(st.lists(st.floats(-1e9, 1e9) | st.just(np.nan), min_size=size, max_size=size))
    values = np.array(drawn).reshape(rows, columns)
    np.testing.assert_array_equal(median(values), np.median(values, axis=0))
    np.testing.assert_array_equal(median(values[:, 0]), np.median(values[:, 0]))


def test_numpys_masked_arrays_are_not_imported() -> None:
    code = (
        "import sys, numpy; from cwndlab.base.numbers import median; "
        "median(numpy.ones(3)); assert 'numpy.ma' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("delays", "wanted"),
    [
        ([3.0], 3.0),
        ([3.0, 1.0], 2.0),
        ([0.1, 0.7, 0.2], 0.2),
        ([1.0, np.inf, 2.0, np.inf], np.nan),
        ([1.0, np.inf], np.nan),
        ([1.0, 2.0, np.inf], 2.0),
        ([np.inf], np.nan),
        ([], np.nan),
    ],
)
def test_unfinished_objects_are_longer_than_all_others(delays: list[float], wanted: float) -> None:
    assert _rows.median(np.array(delays)) == pytest.approx(wanted, rel=0, abs=0, nan_ok=True)
