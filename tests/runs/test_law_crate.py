"""Congestion controls in Rust, of crates of the user's own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import cwndlab
from cwndlab.api import Study
from cwndlab.apps.law_crate import crate
from cwndlab.apps.new.command import new
from cwndlab.base.errors import StudyError
from cwndlab.base.laws import from_file
from cwndlab.study.congestion import congestion_control

ROOT = Path(__file__).parents[2]
AIMD = ROOT / "tests/laws/aimd"
pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")

#: Losses at random, and the engine's Reno next to the one in the crate.
STUDY = """
title = "Reno twice"
measure = ["goodput", "loss_rate", "fast_retransmits"]
[dumbbell]
rate = "10Mbps"
rtt = "40ms"
impairments = [{ kind = "bernoulli", p = 0.02 }]
flows = [{ name = "tested", cc = ["reno", "tested"], tcp = { reduce_from = "flight-size", pacing = false } }]
[run]
duration = "20s"
replicates = 2
"""
#: RFC 5681 in bytes, as the engine has it.
RENO = """
use cwndlab_tcp::{AckReport, AfterAck, CongestionControl, LawError, LossEvent, Window};

#[derive(Debug, Default)]
pub struct Reno(u64);

pub fn new(_seed: u64) -> Reno {
    Reno::default()
}

impl CongestionControl for Reno {
    fn on_ack(
        &mut self, ack: &AckReport, _: &AfterAck, bytes: u64, window: &mut Window
    ) -> Result<(), LawError> {
        let cwnd = window.cwnd_bytes() as u64;
        self.0 += bytes;
        if bytes > 0 && self.0 >= cwnd {
            self.0 = (self.0 - cwnd).min(cwnd);
            window.set_cwnd_bytes((cwnd + u64::from(ack.mss)) as f64);
        }
        Ok(())
    }

    fn on_loss(&mut self, event: &LossEvent, window: &mut Window) -> Result<(), LawError> {
        self.0 = 0;
        window.set_cwnd_bytes((event.flight_bytes / 2).max(u64::from(2 * event.mss)) as f64);
        Ok(())
    }
}
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled once is kept in the folder of cargo."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "target/tests-of-laws"))


@pytest.fixture
def law(tmp_path: Path) -> Path:
    """A crate next to no other, whose path to the engine's crates is absolute."""
    folder = tmp_path / "tested"
    shutil.copytree(AIMD, folder, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    edit(folder / "Cargo.toml", "../../../crates", f"{ROOT}/crates")
    edit(folder / "Cargo.toml", 'name = "aimd"', 'name = "tested"')
    return folder


def edit(file: Path, old: str, text: str) -> None:
    content = file.read_text()
    assert old in content
    file.write_text(content.replace(old, text))


def values(result: Any) -> dict[tuple[str, str], Any]:
    return {key: list(runs) for key, runs in result.results.data.items()}


def test_reno_in_a_crate_is_reno_in_the_engine_and_is_built_again_from_the_results(
    law: Path, tmp_path: Path
) -> None:
    (law / "src/lib.rs").write_text(RENO)
    out = tmp_path / "out"
    result = cwndlab.run(Study.from_toml(STUDY), cc={"tested": str(law)}, out=out)
    assert not result.failures
    found = values(result)
    for (cell, quantity), runs in found.items():
        assert runs == found[cell.replace("cc=tested", "cc=reno"), quantity]
    assert min(found["cc=tested", "fast_retransmits"]) > 0
    (kept,) = json.loads((out / "provenance.json").read_text())["congestion_controls"]
    digest = from_file(str(law)).digest
    assert kept["digest"] == digest and kept["class"] == "Law" and kept["file"] == str(law)
    assert "--cc tested=congestion_controls/tested.py:Law" in (out / "report.md").read_text().replace(
        "\\_", "_"
    )
    # The folder's copy alone is enough, on a machine that has not built the law.
    shutil.rmtree(law)
    for library in (ROOT / "target/tests-of-laws/cwndlab/laws").glob("*.so"):
        library.unlink()
    copy = from_file(f"tested={out / kept['copy']}:Law")
    assert copy.digest == digest
    assert values(cwndlab.run(Study.from_toml(STUDY), cc={"tested": f"{out / kept['copy']}:Law"})) == found


def test_the_digest_covers_what_is_compiled_and_nothing_else(law: Path) -> None:
    first = from_file(str(law))
    assert (first.name, first.uses_random, first.ecn) == ("tested", False, "")
    (law / "notes.txt").write_text("not compiled")
    assert from_file(f"other={law}").digest == first.digest
    shared = law.parent / "shared"
    (shared / "src").mkdir(parents=True)
    (shared / "src/lib.rs").write_text("pub const B: f64 = 0.5;\n")
    (shared / "Cargo.toml").write_text('[package]\nname = "shared"\nversion = "0.1.0"\nedition = "2021"\n')
    edit(law / "Cargo.toml", "[dependencies]", '[dependencies]\nshared = { path = "../shared" }')
    edit(law / "src/lib.rs", "b: 0.5", "b: shared::B")
    second = from_file(str(law))
    (shared / "src/lib.rs").write_text("pub const B: f64 = 0.25;\n")
    third = from_file(str(law))
    assert len({first.digest, second.digest, third.digest}) == 3
    edit(law / "Cargo.toml", "uses_random = false", 'uses_random = true\necn = "l4s"')
    stated = from_file(str(law))
    assert (stated.uses_random, stated.brings) == (True, {"ecn": "l4s"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("let _ = 1 / (self.b as u64 / 2);", r"on_loss: panicked at .*tested/src/lib\.rs:\d+:\d+: attempt"),
        ("loop { std::hint::spin_loop(); }", "tested: CallTimeout: the call has not returned for 1 s"),
        ('return Err(LawError("lost".to_owned()));', r"tested: on_loss: lost \(flow tested, "),
    ],
)  # fmt: skip
def test_a_law_that_fails_ends_its_runs_and_says_where(
    call: str, message: str, law: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CWNDLAB_CALL_LIMIT_S", "1")
    edit(law / "src/lib.rs", "let kept", f"{call}\n        #[allow(unreachable_code)]\n        let kept")
    result = cwndlab.run(Study.from_toml(STUDY), cc={"tested": str(law)}, replicates=1)
    (failure,) = result.failures
    assert failure.cell == "cc=tested" and re.search(message, failure.reason), failure.reason
    assert ("cc=reno", "goodput") in result.results.data


@pytest.mark.parametrize(
    ("file", "old", "text", "message"),
    [
        ("src/lib.rs", "pub fn new", "fn make", r"build the law in .*tested:\nerror.*pub fn new\(seed"),
        ("src/lib.rs", "Ok(())", "Ok(1)", r"error\[E0308\]: mismatched types"),
        ("Cargo.toml", "uses_random = false", "random = true", "has random, which no law has.*uses_random"),
        ("Cargo.toml", "uses_random = false", 'ecn = "l5s"', "ecn = 'l5s', which is no form of ECN.*l4s"),
        ("Cargo.toml", "uses_random = false", "uses_random = 1", "uses_random is 1"),
        ("Cargo.toml", 'name = "tested"', "", r"Cargo\.toml: it has no \[package\] with a name"),
        ("Cargo.toml", "[package]", "[package", r"Cargo\.toml: .*line 1"),
        ("Cargo.toml", 'name = "tested"', 'name = "reno"', "reno is a window law of the engine"),
    ],
)  # fmt: skip
def test_a_crate_that_cannot_be_used_says_why(
    file: str, old: str, text: str, message: str, law: Path
) -> None:
    edit(law / file, old, text)
    with pytest.raises(StudyError) as caught:
        from_file(str(law))
    assert re.search(message, caught.value.text, re.DOTALL), caught.value.text


def test_another_copy_of_the_engine_s_crates_is_named(law: Path) -> None:
    other = law.parent / "clone"
    for name in ("cwndlab-tcp", "cwndlab-units", "cwndlab-engine"):
        shutil.copytree(ROOT / "crates" / name, other / "crates" / name)
    shutil.copy(ROOT / "Cargo.toml", other)
    edit(other / "Cargo.toml", '[patch.crates-io]\ngetrandom = { path = "crates/entropy" }', "")
    edit(law / "Cargo.toml", f"{ROOT}/crates", f"{other}/crates")
    with pytest.raises(StudyError, match="is another copy of cwndlab than this one") as caught:
        from_file(str(law))
    assert f'path = "{ROOT}/crates/cwndlab-tcp"' in caught.value.text


@pytest.mark.parametrize("first", [True, False], ids=["ours first", "theirs first"])
def test_of_two_copies_the_other_is_named(tmp_path: Path, first: bool) -> None:
    ours, theirs = (f"cwndlab-tcp v0.3.0 ({folder}/crates/cwndlab-tcp)" for folder in (ROOT, tmp_path))
    both = f"{ours} and {theirs}" if first else f"{theirs} and {ours}"
    said = f"error: package collision in the lockfile: packages {both} are different, but only one can be"
    text = crate._failure(tmp_path, [said]).text
    assert f"depends on {tmp_path}/crates/cwndlab-tcp, which" in text
    assert f'path = "{ROOT}/crates/cwndlab-tcp"' in text


def test_what_a_machine_lacks_is_said(law: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StudyError, match=r"Cargo\.toml cannot be read.*new law-rust"):
        from_file(str(law.parent))
    with pytest.raises(StudyError, match="there is no congestion control"):
        congestion_control(str(law.parent / "nothing"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(StudyError, match="built by cargo, and there is none here; install Rust"):
        from_file(str(law))
    monkeypatch.setattr(crate, "ROOT", law.parent)
    with pytest.raises(StudyError, match="this is an installed wheel; clone the repository"):
        from_file(str(law))
    with pytest.raises(StudyError, match="this is an installed wheel"):
        new(["law-rust", str(law.parent / "new")])


def test_the_commands_of_the_page_work_from_an_empty_folder(tmp_path: Path) -> None:
    page = (ROOT / "docs/guide/add-a-law.md").read_text()
    commands = re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)[0]
    steps = [line.partition("#")[0].strip() for line in commands.splitlines()]
    assert [step.split()[:2] for step in steps[:3]] == [["cwndlab", "new"], ["cd", "mine"], ["cargo", "test"]]
    # Fewer runs, and a page that is written instead of served.
    short = {"run": "--replicates 1 --set run.duration=5s,run.warmup=1s,buffer=1"}
    short["evaluate"] = "--only 5.1.2-too --replicates 1"
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target/tests-of-laws/crate")}
    folder = tmp_path
    for step in steps:
        name, *words = step.split()
        if name == "cd":
            folder = folder / words[0]
            continue
        command = [name, *words] if name == "cargo" else [sys.executable, "-m", "cwndlab", *words]
        command += short.get(words[0], "").split()
        if words[0] == "explore":
            _look_at_page([*command, "--no-browser"], folder)
            continue
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, (step, done.stderr)
        assert name == "cargo" or "failed" not in done.stderr, (step, done.stderr)
    assert "--cc mine=" in (folder / "results/report.md").read_text()
    assert "mine" in (folder / "mine-scorecard/scorecard.md").read_text()


def _look_at_page(command: list[str], folder: Path) -> None:
    """The page of sliders is served."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().removeprefix("page: ").strip()
            with urlopen(address) as page:
                assert page.status == 200 and b"mine" in page.read()
        finally:
            server.terminate()
