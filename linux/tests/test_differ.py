"""Simulator and kernel, and a kernel and itself, in drawn scenarios; what was found is not run again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cwndlab.base.errors import OutputError
from cwndlab_linux.differ.differing import Differ, Row, page
from cwndlab_linux.differ.wide_scenario import CLASSES, draw_wide
from cwndlab_linux.virtual import images
from cwndlab_linux.virtual.backend import VirtualKernel


@pytest.mark.parametrize("index", range(len(CLASSES)))
def test_a_class_of_paths_and_programs_is_a_study_that_becomes_simpler(index: int) -> None:
    scenario = draw_wide(9, index)
    assert scenario == draw_wide(9, index) and scenario.kind == [*CLASSES][index]
    compiled = json.loads(scenario.compile())
    assert len(compiled["traffic"]) == len(scenario.laws) and scenario.kind in scenario.to_toml()
    assert draw_wide(9, index, trains=True).tables["tcp"].pop("trains") == "linux"
    simpler = [*scenario.simplify()]
    assert simpler and all(
        one.to_toml() != scenario.to_toml() and json.loads(one.compile()) for one in simpler
    )


def test_the_page_has_a_table_by_class() -> None:
    rows = [
        Row(k, "a path", kind, 0.5, 5, 5, in_order=True, completion=0.0, drawn=drawn)
        for k, (kind, drawn) in enumerate([("same", "pages"), ("an ACK", "pages"), ("same", "jitter")])
    ]
    text = page(rows, ("the simulator", "Linux"))
    assert "| pages | 2 | 1 | 2 | 2 |" in text and "| jitter | 1 | 1 | 1 | 1 |" in text


@pytest.mark.usefixtures("virtual")
def test_classes_with_sysctls_of_their_own_run_on_a_kernel(tmp_path: Path) -> None:
    rows = Differ(5, (images.find(),), tmp_path, wide=True).run(11, 0)
    assert [row.drawn for row in rows] == [*CLASSES][:11] and not any(row.kind == "failed" for row in rows)
    assert sum(row.is_same for row in rows) >= 9


@pytest.mark.usefixtures("virtual")
def test_a_kernel_agrees_with_itself(tmp_path: Path) -> None:
    image = images.find()
    (row,) = Differ(1, (image, image), tmp_path).run(1, 0)
    assert row.is_same and row.packets > 100


@pytest.mark.usefixtures("virtual")
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
