"""The workflow for a program, as its file has it, step by step in a repository of one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from program_runs import NETWORK, needs

from cwndlab.cli import app

WORKFLOW = Path(__file__).parents[2] / "docs/guide/workflows/program.yml"
CLIENT = '#!/bin/sh\nexec iperf3 -c "$1" -t 2 {}\n'
MAKEFILE = "client: client.sh\n\tcp client.sh client\n\tchmod +x client\n"
STUDY = (
    NETWORK.replace("6s", "3s")
    + """
[parameters]
built = ""
[[traffic]]
name = "x"
client = "a"
server = "b"
app = { kind = "program", client = "{built}/client {server}", server = "iperf3 -s -1" }
[[quantities]]
name = "goodput"
metric = "goodput"
options = { traffic = "x" }
window = ["0.5s", "2s"]
"""
)


@pytest.mark.usefixtures("virtual")
def test_the_workflow_for_a_program_compares_it_with_that_of_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("iperf3")
    head = tmp_path / "head"
    (head / "cwndlab").mkdir(parents=True)
    (head / "cwndlab/study.toml").write_text(STUDY)
    (head / "Makefile").write_text(MAKEFILE)
    (head / "client.sh").write_text(CLIENT.format(""))
    as_someone = ("-c", "user.email=a@b", "-c", "user.name=n")
    for words in (["init", "-q"], ["add", "-A"], [*as_someone, "commit", "-qm", "base"]):
        subprocess.run(["git", *words], cwd=head, check=True)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], cwd=head, check=True)
    (head / "client.sh").write_text(CLIENT.format("-b 4M"))
    monkeypatch.chdir(head)
    monkeypatch.setenv("PWD", str(head))
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    text = WORKFLOW.read_text(encoding="utf-8")
    worktree, build = re.findall(r"- run: (git worktree .*|make .*)", text)
    subprocess.run(worktree, shell=True, check=True)
    subprocess.run(build, shell=True, check=True)
    command = re.findall(r"- run: >\n((?: {10}.*\n)+)", text)[-1]
    program, *words = shlex.split(os.path.expandvars(command))
    assert program == "cwndlab"
    with pytest.raises(SystemExit) as done:
        app(words)
    assert done.value.code == 3
    assert (tmp_path / "summary.md").read_text().startswith("goodput moved by −")
