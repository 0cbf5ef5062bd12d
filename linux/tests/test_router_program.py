"""A clone builds the router when a kernel's run first needs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cwndlab.base.errors import RunError
from cwndlab_linux import router_program

#: Stands for tools/router.py: "builds" into the folder that it is given.
BUILDER = """
import sys
from pathlib import Path
assert sys.argv[1] == "release"
router = Path(sys.argv[2], "cwndlab-router")
router.write_text("#!/bin/sh")
router.chmod(0o755)
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone without a router, whose builder is the one above; gives the folder of its commands."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "python").symlink_to(sys.executable)
    (commands / "cargo").symlink_to("/bin/true")
    builder = tmp_path / "tools" / "router.py"
    builder.parent.mkdir()
    builder.write_text(BUILDER)
    monkeypatch.setattr(sys, "executable", str(commands / "python"))
    monkeypatch.setattr(router_program, "_BUILDER", builder)
    monkeypatch.setattr(router_program, "__file__", str(tmp_path / "linux" / "package" / "module.py"))
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.delenv("CWNDLAB_ROUTER", raising=False)
    return commands


@pytest.mark.skipif(sys.platform != "linux", reason="no router elsewhere")
def test_a_clone_builds_the_router_once_and_says_so(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert router_program.installed_router() is None
    assert router_program.find_router() == clone / "cwndlab-router"
    assert "building the router" in capsys.readouterr().err
    assert router_program.find_router() == clone / "cwndlab-router"
    assert capsys.readouterr().err == ""


def test_without_a_compiler_the_error_says_how_to_get_the_router(clone: Path) -> None:
    (clone / "cargo").unlink()
    with pytest.raises(RunError, match=r"cwndlab-router is not built; .* CWNDLAB_ROUTER"):
        router_program.find_router()
