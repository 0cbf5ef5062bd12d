"""Policies: congestion controls that observe named features of a flow and act on its window.

`cwndlab.apps.gym` trains them. A subclass of `Policy` in a file, or an ONNX file, is a congestion control
like any other: `cwndlab run study.toml --cc policy.onnx`.
"""

from .actions import ACTIONS
from .features import FEATURES, FlowStep
from .interface import Interface
from .law import Policy
from .onnx import OnnxPolicy, write_interface

__all__ = ["ACTIONS", "FEATURES", "FlowStep", "Interface", "OnnxPolicy", "Policy", "write_interface"]
