"""Recipes of QUIC stacks: what a build leaves, what is wrong, and one that runs in virtual time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from program_runs import goodput, run, study

from cwndlab.base.errors import RunError, StudyError
from cwndlab.cli import app
from cwndlab_linux import quic_stacks
from cwndlab_linux.virtual import program_files


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cwndlab" / "stacks"


def test_every_recipe_has_a_builder_laws_and_a_pinned_version() -> None:
    found = list(quic_stacks.recipes())
    assert [one.name for one in found] == sorted(one.name for one in found) and len(found) >= 6
    for one in found:
        assert one.builder in quic_stacks._BUILDERS and one.laws and one.title
        files = one.files
        assert files["recipe.toml"].parent.name == one.name, "its own files come before those it shares"
        pinned = {"go": "go.mod", "cargo": "Cargo.toml", "python": "requirements.txt"}.get(one.builder)
        assert pinned is None or one.version in files[pinned].read_text(), one.name


def test_a_stack_that_was_built_is_listed_and_found_by_its_name(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def builder(stack: quic_stacks.StackRecipe, folder: Path) -> None:
        (folder / quic_stacks.PROGRAM).write_text("#!/bin/sh\n")

    monkeypatch.setitem(quic_stacks._BUILDERS, "go", builder)
    with pytest.raises(SystemExit) as done:
        app(["linux", "stacks", "quic-go"])
    assert not done.value.code
    assert "(built)" in capsys.readouterr().out
    assert {path.name for path in (cache / "bin").iterdir()} == {"quic-go-server", "quic-go-client"}
    stack = quic_stacks.recipe("quic-go")
    assert stack.is_built and f"{stack.folder}/program server" in (cache / "bin/quic-go-server").read_text()
    assert not quic_stacks.recipe("aioquic").is_built
    # The programs outlive the installation that built them.
    assert str(quic_stacks.RECIPES) not in (cache / "bin/quic-go-server").read_text()
    (cache / "certificate.pem").unlink()
    assert not stack.is_built
    quic_stacks.build(stack, print)
    assert (
        stack.is_built and (cache / "key.pem").read_bytes() == (quic_stacks.RECIPES / "key.pem").read_bytes()
    )


def test_a_build_that_fails_leaves_nothing_and_says_why(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(RunError, match="quic-go needs go, which is not here"):
        quic_stacks.build(quic_stacks.recipe("quic-go"), lambda _: None)
    assert list(cache.iterdir()) == []
    with pytest.raises(StudyError, match="did you mean"):
        quic_stacks.recipe("quicgo")


def test_a_program_of_a_recipe_that_is_not_built_is_an_error_with_the_command(cache: Path) -> None:
    scenario = json.loads(study(APP).plan().cells[0].scenario)
    with pytest.raises(StudyError, match="build it: cwndlab linux stacks quic-go"):
        program_files.commands(scenario, None)


APP = """
[[traffic]]
name = "x"
client = "a"
server = "b"
[traffic.app]
kind = "program"
from = "server"
server = "quic-go-server {server} 4433 reno"
client = "quic-go-client {server} 4433 3000000"
"""


@pytest.mark.usefixtures("virtual")
def test_quic_go_sends_over_the_links_of_a_study(tmp_path: Path) -> None:
    stack = quic_stacks.recipe("quic-go")
    if not stack.is_built and shutil.which("go") is None:
        pytest.skip("there is no Go")
    quic_stacks.build(stack, lambda _: None)
    result, programs = run(tmp_path / "out", APP)
    client = next(one for one in programs if one["end"] == "client")
    assert client["exit_code"] == 0 and client["stderr"] == "3000000 bytes\n"
    assert goodput(result) > 3e6


@pytest.mark.usefixtures("virtual")
def test_a_stack_that_asks_the_processor_for_random_numbers_gets_those_of_the_guest(tmp_path: Path) -> None:
    """ngtcp2's BBR version 2 draws when it probes again."""
    stack = quic_stacks.recipe("ngtcp2")
    if not stack.is_built and (shutil.which("gtlsserver") is None or shutil.which("cc") is None):
        pytest.skip("there is no ngtcp2, or no C compiler")
    quic_stacks.build(stack, lambda _: None)
    app = APP.replace("quic-go", "ngtcp2").replace("reno", "bbr2").replace("3000000", "0")
    run(tmp_path / "out", app, verify=True)
    (path,) = (one for one in (tmp_path / "out/kernel").glob("*.json") if not one.name.startswith("sysctls"))
    assert json.loads(path.read_text())["second_run_differs"] == []
