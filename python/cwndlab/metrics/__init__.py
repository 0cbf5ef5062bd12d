"""Metrics: pure functions from one run's records to a number, or to one number per object.

Each module whose name has no leading underscore holds the metrics of one topic, declared by the public
decorator `@metric` (`_declared.py` describes its arguments). A metric's docstring says in its first paragraph
what it measures, then gives the formula and its source. It returns NaN where nothing can be measured. Its
options are its keyword-only parameters; they are checked against their types with the study
(`study/consistency.py`; `_rows.py` has types).

A metric sees only the window that the quantity asks for: by default from the warm-up to the end of the run.
A study's quantity names the metric and its options, and may ask for another unit of the same kind.
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
from ._declared import from_file as from_file
from ._declared import get as get
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
    """The package, which lists its metrics when it is called: `cwndlab.metrics()`."""

    def __call__(self) -> dict[str, str]:
        """Every metric, those of the user's own too, with its unit.

        >>> cwndlab.metrics()["goodput"]
        'bit/s'
        """
        return {name: get(name).unit for name in names()}


sys.modules[__name__].__class__ = _Metrics
