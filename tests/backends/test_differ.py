"""Simulator and kernel, and a kernel and itself, in drawn scenarios; what was found is not run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from cwndlab.backends.linux_virtual import images
from cwndlab.backends.linux_virtual.backend import VirtualKernel
from cwndlab.differ.compare import Comparison
from cwndlab.differ.differing import Differ
from cwndlab.errors import OutputError

pytestmark = pytest.mark.usefixtures("virtual")


def test_a_kernel_agrees_with_itself(tmp_path: Path) -> None:
    image = images.find()
    (row,) = Differ(1, (image, image), tmp_path).run(1, 0)
    assert row.is_same and row.packets > 100


def test_scenarios_are_compared_once_and_one_that_differs_is_made_simpler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In scenario 4 of seed 1 both sides send and receive the same; every other counts as different here."""
    monkeypatch.setattr("cwndlab.differ.differing.TRIES", 2)
    told = Comparison.kind.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Comparison, "kind", property(lambda self: told(self) if self.same or self.agree > 300 else "few packets")
    )
    said: list[str] = []
    differ = Differ(1, (images.find(),), tmp_path, say=said.append)
    rows = differ.run(5, 1)
    assert [row.index for row in rows] == [0, 1, 2, 3, 4] and rows[4].is_same
    few = min((row for row in rows if row.kind == "few packets"), key=lambda row: row.packets)
    assert (tmp_path / f"{few.index:04d}" / "minimal.toml").exists()
    monkeypatch.setattr(VirtualKernel, "start", lambda *_: pytest.fail("runs again"))
    assert Differ(1, (images.find(),), tmp_path).run(5, 1) == rows
    with pytest.raises(OutputError, match="another seed"):
        Differ(2, (images.find(),), tmp_path).run(5, 1)
