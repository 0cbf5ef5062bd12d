"""Policies in ONNX files: the same runs as the same policy in Python, and errors for other files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
from proportional import Proportional
from shared import TEXT, study

from cwndlab import StudyError
from cwndlab.apps.policy import Interface, write_interface
from cwndlab.base.laws import from_file
from cwndlab.cli import app
from cwndlab.runs.executors.threads import Threads


def linear(file: Path, weights: Sequence[Sequence[float]], bias: Sequence[float]) -> Path:
    """Writes a model: the weights, a row for each output, times the observation, plus the bias."""
    outputs, inputs = len(weights), len(weights[0])
    make = onnx.helper
    nodes = [make.make_node("Gemm", ["seen", "weights", "bias"], ["action"], transB=1)]
    floats = onnx.TensorProto.FLOAT
    graph = make.make_graph(
        nodes,
        "policy",
        [make.make_tensor_value_info("seen", floats, [None, inputs])],
        [make.make_tensor_value_info("action", floats, [None, outputs])],
        [
            make.make_tensor("weights", floats, [outputs, inputs], [w for row in weights for w in row]),
            make.make_tensor("bias", floats, [outputs], list(bias)),
        ],
    )
    opset = [make.make_opsetid("", 17)]
    onnx.save(make.make_model(graph, opset_imports=opset, ir_version=9), file)
    return file


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """`Proportional` as an ONNX file."""
    file = linear(tmp_path / "Keeps RTT.onnx", [[-1]], [1.5])
    write_interface(file, Proportional.interface)
    return file


def test_a_policy_in_onnx_runs_as_the_same_policy_in_python(model: Path) -> None:
    in_onnx, in_python = (study().run(cc={"agent": law}) for law in (f"{model}", Proportional))
    assert not in_onnx.failures
    assert in_onnx.values.equals(in_python.values)


def test_its_name_is_that_of_the_file_and_its_key_covers_the_model(model: Path) -> None:
    first = from_file(str(model))
    assert first.name == "keeps-rtt"
    assert from_file(f"mine={model}").name == "mine"
    linear(model, [[-2]], [1.5])
    write_interface(model, Proportional.interface)
    assert from_file(str(model)).digest != first.digest


def test_onnx_still_reads_a_file_with_an_interface(model: Path) -> None:
    loaded = onnx.load(model)
    onnx.checker.check_model(loaded)
    about = {entry.key: entry.value for entry in loaded.metadata_props}
    assert Interface.from_json(about["cwndlab.interface"]) == Proportional.interface


def test_the_largest_output_chooses(tmp_path: Path) -> None:
    """Double the window up to three halves of the smallest round-trip time, then halve it."""
    file = linear(tmp_path / "chooser.onnx", [[1], [-9], [-9], [-9], [0]], [-1.5, 0, 0, 0, 0])
    write_interface(file, Interface(observation=("rtt_ratio",), action="cwnd_choice"))
    run = study().set({"buffer": 2}).run(cc={"agent": str(file)})
    assert not run.failures
    assert 0.5 < run.estimate("goodput_tested").value < 7.5


def test_the_command_line_takes_an_onnx_file(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    with pytest.raises(SystemExit) as caught:
        app(["run", "study.toml", "--cc", f"agent={model}", "--set", "buffer=2", "-o", "out"])
    assert not caught.value.code
    assert "Keeps RTT.onnx" in Path("out/provenance.json").read_text()


def test_files_that_are_no_policies_are_errors(tmp_path: Path) -> None:
    other = tmp_path / "other.onnx"
    with pytest.raises(StudyError, match="cannot be read"):
        from_file(str(other))
    other.write_bytes(b"not a model")
    with pytest.raises(StudyError, match="is not an ONNX model"):
        from_file(str(other))
    linear(other, [[1]], [0])
    with pytest.raises(StudyError, match=r"does not state what its policy observes; .*write_interface"):
        from_file(str(other))
    write_interface(other, Interface(observation=("rtt_ms", "loss_share")))
    with pytest.raises(StudyError, match=r"input has the shape .*1\]; its interface needs \[1, 2\]"):
        from_file(str(other))


def endless(file: Path) -> Path:
    """Writes a model with a loop of 2^62 turns."""
    make, kinds = onnx.helper, onnx.TensorProto
    body = make.make_graph(
        [make.make_node("Identity", ["go"], ["go on"]), make.make_node("Identity", ["value"], ["same"])],
        "body",
        [
            make.make_tensor_value_info("turn", kinds.INT64, []),
            make.make_tensor_value_info("go", kinds.BOOL, []),
            make.make_tensor_value_info("value", kinds.FLOAT, None),
        ],
        [
            make.make_tensor_value_info("go on", kinds.BOOL, []),
            make.make_tensor_value_info("same", kinds.FLOAT, None),
        ],
    )
    return written(
        file,
        [make.make_node("Loop", ["turns", "always", "seen"], ["action"], body=body)],
        [
            make.make_tensor("turns", kinds.INT64, [], [1 << 62]),
            make.make_tensor("always", kinds.BOOL, [], [1]),
        ],
    )


def huge(file: Path) -> Path:
    """Writes a model with one multiplication of large matrices, which ONNX Runtime does not interrupt."""
    make = onnx.helper
    nodes = [
        make.make_node("ConstantOfShape", ["size"], ["zeros"]),
        make.make_node("MatMul", ["zeros", "zeros"], ["product"]),
        make.make_node("ReduceSum", ["product"], ["sum"]),
        make.make_node("Add", ["sum", "seen"], ["action"]),
    ]
    return written(file, nodes, [make.make_tensor("size", onnx.TensorProto.INT64, [2], [6000, 6000])])


def wrong(file: Path) -> Path:
    """Writes a model that loads and fails when it is computed."""
    nodes = [onnx.helper.make_node("Gather", ["seen", "where"], ["action"], axis=1)]
    return written(file, nodes, [onnx.helper.make_tensor("where", onnx.TensorProto.INT64, [1], [7])])


def written(file: Path, nodes: list[onnx.NodeProto], values: list[onnx.TensorProto]) -> Path:
    """Writes a model of one number for one number."""
    make, floats = onnx.helper, onnx.TensorProto.FLOAT
    ends = (make.make_tensor_value_info(name, floats, [None, 1]) for name in ("seen", "action"))
    graph = make.make_graph(nodes, "policy", *([end] for end in ends), values)
    onnx.save(make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9), file)
    write_interface(file, Proportional.interface)
    return file


@pytest.mark.parametrize("make", [endless, huge])
def test_a_model_that_does_not_return_fails_its_cells_by_name(
    make: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "0.5")
    file = make(tmp_path / "slow.onnx")
    began = time.monotonic()
    result = study().set({"buffer": 2}).run(cc={"agent": str(file)}, replicates=1)
    assert time.monotonic() - began < 15
    (failure,) = result.failures
    assert re.search(r"slow\.onnx: CallTimeout: the call has not returned for 0\.5 s", failure.reason)
    assert "onnxruntime" not in capfd.readouterr().err


def test_a_model_that_does_not_return_is_ended_without_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cwndlab.apps.processes.processes.Processes", Threads)
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "0.5")
    result = study().set({"buffer": 2}).run(cc={"agent": str(endless(tmp_path / "slow.onnx"))}, replicates=1)
    assert "slow.onnx: CallTimeout" in result.failures[0].reason


def test_a_model_that_fails_is_named(tmp_path: Path) -> None:
    result = study().set({"buffer": 2}).run(cc={"agent": str(wrong(tmp_path / "bad.onnx"))}, replicates=1)
    assert re.search(r"bad\.onnx: .*Gather", result.failures[0].reason)
