"""Studies in which the simulator once differed from Linux 6.12, each by one rule: now both send the same."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.cli import app
from cwndlab_linux.differ.study_case import StudyCase, compare_study, observed_at_sender
from cwndlab_linux.virtual import images

STUDIES = Path(__file__).with_name("identical")
NAMES = sorted(path.stem for path in STUDIES.glob("*.toml") if not path.stem.endswith(".stack"))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize("name", NAMES)
def test_simulator_and_kernel_send_the_same_packets(name: str, tmp_path: Path) -> None:
    study, stack = Study.load(STUDIES / f"{name}.toml"), str(STUDIES / f"{name}.stack.toml")
    compare_study(study, stack, images.find(), tmp_path, threads=1, say=print)
    (row,) = csv.DictReader((tmp_path / "differ.csv").read_text().splitlines())
    assert (row["kind"], row["agree"]) == ("same", row["packets"]), [*tmp_path.rglob("packets.txt")]
    assert int(row["packets"]) > 100


@pytest.mark.usefixtures("virtual")
def test_trains_are_the_same_too(tmp_path: Path) -> None:
    study, stack = STUDIES / "paws-old-duplicate.toml", str(STUDIES / "paws-old-duplicate.stack.toml")
    compare_study(Study.load(study), stack, images.find(), tmp_path, trains=True, threads=1, say=print)
    (row,) = csv.DictReader((tmp_path / "differ.csv").read_text().splitlines())
    assert (row["kind"], row["agree"]) == ("same", row["packets"])


@pytest.mark.usefixtures("virtual")
def test_a_study_that_differs_has_its_packets_around_the_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a tolerance of 0 the kernel's microsecond makes it differ."""
    monkeypatch.setattr("cwndlab_linux.differ.packets_at_server.TOLERANCE_NS", 0)
    file = STUDIES / "small-segment-opens-window.toml"
    with pytest.raises(SystemExit) as done:
        app(["differ", file, "--stack", file.with_suffix(".stack.toml"), "-o", tmp_path / "out"])
    assert not done.value.code
    assert "at another time" in capsys.readouterr().out
    assert "# the simulator:" in (tmp_path / "out" / "base" / "packets.txt").read_text()
    assert (tmp_path / "out" / "base" / "aligned.json").exists()


def test_a_cell_is_observed_at_the_sender_and_aligned_to_starts_and_ticks() -> None:
    from cwndlab_linux.differ.random_scenario import Alignment

    study = observed_at_sender(Study.load(STUDIES / "paws-old-duplicate.toml"))
    (cell,) = study.plan().cells
    case = StudyCase(cell, 1)
    assert cell.compiled.scenario["probes"]["segments_at"] == cell.compiled.scenario["nodes"].index("server")
    assert case.laws == ["cubic-linux"]
    aligned = case.compile(Alignment((5,), 7, (3,)))
    assert '"trains": "paced"' in aligned
    assert '"trains": "linux"' in StudyCase(cell, 1, trains=True).compile(Alignment((5,), 7, (3,)))
    assert '"start_ns": 5' in aligned and '"name": "flow-0-3"' in aligned and '"tick_phase_ns": 7' in aligned


def test_a_study_is_compared_with_one_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        app(["differ", STUDIES / "paws-old-duplicate.toml", "--kernel", "6.12", "--kernel", "7.3"])
    assert done.value.code == 2 and "2 kernels are given" in capsys.readouterr().err
