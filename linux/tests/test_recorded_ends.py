"""The kernel still sends what is in `crates/cwndlab-tcp/recorded`, which `cargo test` sends, too."""

from __future__ import annotations

import os

import pytest
from recorded_ends import FOLDER, record

from cwndlab_linux.virtual import images

NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(
    "name", NAMES if os.environ.get("CWNDLAB_REGENERATE") else ["paws-old-duplicate-server"]
)
def test_the_kernel_still_sends_them(name: str) -> None:
    study, _, end = name.rpartition("-")
    found = record(study.removesuffix("-trains"), end, images.find(), trains=study.endswith("-trains"))
    if os.environ.get("CWNDLAB_REGENERATE"):
        (FOLDER / f"{name}.txt").write_text(found)
    assert found == (FOLDER / f"{name}.txt").read_text()
