"""Policies in ONNX files, whose metadata defines observations and actions."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cwndlab.base.errors import ExtraError, OutputError, StudyError
from cwndlab.base.watch import CallTimeout

from .interface import Interface, Observation
from .law import Policy

#: The key of the interface in the file's metadata.
KEY = "cwndlab.interface"
#: Only fatal errors are logged: errors in a model are raised, and a loop in a model could log endlessly.
SILENT = 4


class OnnxPolicy(Policy):
    """A policy computed by an ONNX model: the first output for one observation.

    For an action with choices, the output has a number for each; the first of the largest is chosen.
    """

    session: ClassVar[Any]
    #: Name of the file, for errors.
    file: ClassVar[str]
    #: ONNX Runtime's options of each call, including `terminate`, which ends the current one.
    run_options: ClassVar[Any]

    def act(self, observation: Observation) -> float:
        """The model's first output, or the index of its largest number."""
        inputs = {self.session.get_inputs()[0].name: observation[None]}
        try:
            output = np.ravel(self.session.run(None, inputs, self.run_options)[0])
            return float(np.argmax(output) if self.interface.acts.choices else output[0])
        except Exception as error:  # its exceptions have no common class
            if self.run_options.terminate:
                raise CallTimeout from None
            raise ValueError(f"{self.file}: {error}") from None

    def stop(self) -> None:
        """Ends the current computation. The model cannot be used again in this process."""
        self.run_options.terminate = True


def write_module(file: Path) -> str:
    """The text of a Python module that contains the policy in a file. StudyError if it cannot be read."""
    try:
        model = file.read_bytes()
    except OSError as error:
        raise StudyError(f"{file} cannot be read: {error.strerror}", key="--cc") from None
    return f"""# The policy in {file.name}.
from base64 import b64decode

from cwndlab.apps.policy.onnx import onnx_policy

Policy = onnx_policy(b64decode("{b64encode(model).decode()}"), {file.name!r})
"""


def onnx_policy(model: bytes, file: str) -> type[OnnxPolicy]:
    """The congestion control for an ONNX model. StudyError if the model is invalid or lacks an interface."""
    try:
        import onnxruntime as ort
    except ImportError:
        raise ExtraError(f"--cc {file}", "onnxruntime", "onnx") from None
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # runs are parallel already
    options.log_severity_level = SILENT
    # Nothing of the model is computed before a run, because there is no time limit here.
    lazy = {"providers": ["CPUExecutionProvider"], "disabled_optimizers": ["ConstantFolding"]}
    try:
        session = ort.InferenceSession(model, options, **lazy)
    except Exception as error:  # its exceptions have no common class
        raise StudyError(f"{file} is not an ONNX model: {error}", key="--cc") from None
    about = session.get_modelmeta().custom_metadata_map
    if KEY not in about:
        right = "write it with cwndlab.apps.policy.write_interface(FILE, INTERFACE)"
        raise StudyError(f"{file} does not state what its policy observes", key="--cc", right=right)
    interface = Interface.from_json(about[KEY])
    _check_sizes(session, interface, file)
    run_options = ort.RunOptions()
    run_options.log_severity_level = SILENT
    content = {"interface": interface, "session": session, "file": file, "run_options": run_options}
    return type("OnnxPolicy", (OnnxPolicy,), content)


def _check_sizes(session: Any, interface: Interface, file: str) -> None:
    """StudyError if the size of the model's input or output does not match the interface."""
    shapes = {"input": (session.get_inputs(), len(interface.features) * interface.history)}
    shapes["output"] = (session.get_outputs(), interface.acts.choices or 1)
    for what, (ends, wanted) in shapes.items():
        size = ends[0].shape[-1] if ends and ends[0].shape else None
        if len(ends) < 1 or (what == "input" and len(ends) > 1) or (isinstance(size, int) and size != wanted):
            raise StudyError(
                f"{file}: the model's {what} has the shape {ends[0].shape if ends else []}",
                key="--cc",
                right=f"its interface needs [1, {wanted}]",
            )


def write_interface(file: str | Path, interface: Interface) -> None:
    """Adds the policy's interface to the metadata of an ONNX file, so that `--cc FILE` can run it.

    Raises:
        OutputError: the file cannot be read or written.

    """
    path = Path(file)
    entry = _field(1, KEY.encode()) + _field(2, interface.to_json().encode())
    try:
        # Field 14 of ModelProto is its repeated metadata; protobuf merges data that is appended to a message.
        path.write_bytes(path.read_bytes() + _field(14, entry))
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None


def _field(number: int, content: bytes) -> bytes:
    """A protobuf field of the wire type for bytes."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low | 0x80]) + _varint(value >> 7) if value > 0x7F else bytes([low])
