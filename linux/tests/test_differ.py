"""Simulator and kernel, and a kernel and itself, in drawn scenarios; what was found is not run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.base.errors import OutputError
from cwndlab_linux.differ.differing import Differ
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel

pytestmark = pytest.mark.usefixtures("virtual")


def test_a_kernel_agrees_with_itself(tmp_path: Path) -> None:
    image = images.find()
    (row,) = Differ(1, (image, image), tmp_path).run(1, 0)
    assert row.is_same and row.packets > 100


def test_scenarios_are_compared_once_and_one_that_differs_is_made_simpler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tolerance of 0 the kernel's microsecond makes every scenario differ."""
    monkeypatch.setattr("cwndlab_linux.differ.differing.TRIES", 2)
    monkeypatch.setattr("cwndlab_linux.differ.packets_at_server.TOLERANCE_NS", 0)
    said: list[str] = []
    rows = Differ(1, (images.find(),), tmp_path, say=said.append).run(2, 1)
    assert [row.index for row in rows] == [0, 1] and not any(row.is_same for row in rows)
    shortest = min(rows, key=lambda row: row.packets)
    folder = tmp_path / f"{shortest.index:04d}"
    assert {path.name for path in folder.iterdir()} >= {
        "study.toml",
        "aligned.toml",
        "packets.txt",
        "minimal.toml",
    }
    assert "# the simulator:" in (folder / "packets.txt").read_text()
    assert any("simplest of" in line for line in said)
    monkeypatch.setattr(VirtualKernel, "start", lambda *_: pytest.fail("runs again"))
    assert Differ(1, (images.find(),), tmp_path).run(2, 1) == rows
    with pytest.raises(OutputError, match="another seed"):
        Differ(2, (images.find(),), tmp_path).run(2, 1)
