"""Policies: congestion controls that observe named features of a flow and act on its window.

`cwndlab.gym` trains them. A subclass of `Policy` in a file, or an ONNX file, is a congestion control like any
other: `cwndlab run study.toml --cc policy.onnx`.
"""

from cwndlab.policy.actions import ACTIONS
from cwndlab.policy.features import FEATURES, FlowStep
from cwndlab.policy.interface import Interface
from cwndlab.policy.law import Policy
from cwndlab.policy.onnx import OnnxPolicy, write_interface

__all__ = ["ACTIONS", "FEATURES", "FlowStep", "Interface", "OnnxPolicy", "Policy", "write_interface"]
