"""Metrics: pure functions from one run's records to a number, or to one number per object.

Each module whose name has no leading underscore holds the metrics of one topic, declared by the public
decorator `@metric` (`_declared.py` describes its arguments). A metric's docstring says in its first paragraph
what the metric measures, then gives the formula and its source. A metric returns NaN if nothing can be
measured. Its options are its keyword-only parameters; `study/consistency.py` checks their values when a study
is read (`_rows.py` has the types).

A study's quantity names a metric and its options, and may state a different unit of the same kind. The metric
sees only the quantity's window: by default from the end of the warm-up to the end of the run.
"""

from __future__ import annotations

import sys
from types import ModuleType

from cwndlab.base.core import Value as Value
from cwndlab.records.run_view import Column as Column
from cwndlab.records.window import RunView as RunView

from ._code import code_digest as code_digest
from ._declared import Metric as Metric
from ._declared import MetricCode as MetricCode
from ._declared import MetricFailed as MetricFailed
from ._declared import built_in as built_in
from ._declared import describe_metric as describe_metric
from ._declared import ensure_known as ensure_known
from ._declared import get as get
from ._declared import load_metrics as load_metrics
from ._declared import metric as metric
from ._declared import names as names
from ._declared import own_code as own_code
from ._declared import reopen_metric as reopen_metric
from ._measure import Measurer as Measurer
from ._measure import find_range as find_range
from ._measure import find_scale as find_scale
from ._measure import find_unit as find_unit
from ._measure import is_centred as is_centred
from ._measure import is_list as is_list
from ._rows import select_connections as select_connections


class _Metrics(ModuleType):
    """The class of this package as a module, which can be called: `cwndlab.metrics()` lists the metrics."""

    def __call__(self) -> dict[str, str]:
        """Every metric with its unit, including the user's own.

        >>> cwndlab.metrics()["goodput"]
        'bit/s'
        """
        return {name: get(name).unit for name in names()}


sys.modules[__name__].__class__ = _Metrics
