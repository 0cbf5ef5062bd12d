"""Results as xarray datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cwndlab.base.errors import ExtraError
from cwndlab.results.result_tables import ResultTables, axis_column
from cwndlab.results.samples import Samples
from cwndlab.stats.sample import Sample

if TYPE_CHECKING:
    import xarray


def _make_dataset(
    variables: Mapping[str, object], coordinates: Mapping[str, object], attributes: Mapping[str, object]
) -> xarray.Dataset:
    try:
        import xarray
    except ImportError:
        raise ExtraError("to_xarray", "xarray", "notebook") from None
    dataset: xarray.Dataset = xarray.Dataset(variables, coordinates, attributes)
    return dataset


def results_dataset(tables: ResultTables, attributes: Mapping[str, object]) -> xarray.Dataset:
    """The dataset that `RunResult.to_xarray` returns, with these attributes."""
    results = tables.results
    cells, axes = results.cells, results.axes
    alike = all(cell.axes.keys() == axes.keys() for cell in cells)
    dimensions: Mapping[str, list[Any]] = axes if alike else {"cell": [cell.id for cell in cells]}
    coordinates: dict[str, Any] = {} if alike else {**dimensions}
    for name, values in axes.items():
        column = axis_column(tables.axes[name], values if alike else [cell.axes.get(name) for cell in cells])
        unit = results.labels.axis_unit(name)
        about = {"long_name": results.labels.axes[name].title or name} | ({"units": unit} if unit else {})
        coordinates[name] = (name if alike else "cell", column.to_numpy(zero_copy_only=False), about)
    count = max((len(values) for values in results.data.values()), default=0)
    shape = (*map(len, dimensions.values()), count)
    numbers: dict[str, np.ndarray[Any, Any]] = {}
    for cell, name in tables.numbers():
        places = {**cell.axes, "cell": cell.id}
        at = tuple(values.index(places[axis]) for axis, values in dimensions.items())
        runs = results.values(cell.id, name)
        numbers.setdefault(name, np.full(shape, np.nan))[at][: len(runs)] = runs
    variables = {}
    for name, data in numbers.items():
        about = {"units": results.labels.unit(name), "long_name": results.labels.title(name)}
        variables[name] = ((*dimensions, "replicate"), data, about)
    return _make_dataset(variables, {**coordinates, "replicate": range(count)}, attributes)


def samples_dataset(samples: Samples) -> xarray.Dataset:
    """The dataset that `Samples.to_xarray` returns."""
    axes = {axis: values for axis, values in samples.axes.items()}
    runs = [number.runs for number in samples.field.data.values() if isinstance(number, Sample)]
    count = max(map(len, runs)) if len(runs) == len(samples) else 0
    shape = tuple(map(len, axes.values()))
    ends = {name: np.full(shape, np.nan) for name in ("value", "ci_low", "ci_high")}
    single = np.full((*shape, count), np.nan)
    for key, number in samples.field.data.items():
        at = tuple(values.index(value) for values, value in zip(axes.values(), key, strict=True))
        for name, end in zip(ends, number.estimate()[:3], strict=False):
            ends[name][at] = end
        if count and isinstance(number, Sample):
            single[at][: len(number.runs)] = number.runs
    about = {"units": samples.unit}
    variables = {name: (tuple(axes), values, about) for name, values in ends.items()}
    if count:
        variables["runs"] = ((*axes, "replicate"), single, about)
    return _make_dataset(variables, {**axes, **samples.fixed}, {"long_name": samples.name})
