"""The golden files are what the scripts print on ns-2, if it is installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from . import ecn
from .against_ns2 import GOLDEN, HERE


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed (Debian package ns2)")
@pytest.mark.parametrize(
    ("script", "arguments", "golden"),
    [
        ("rfc2416.tcl", ["tahoe", "1", "1000"], "rfc2416-tahoe-iw1-1000B"),
        ("rfc2416.tcl", ["fack", "4", "1024"], "rfc2416-fack-iw4-1024B"),
        ("fall_floyd.tcl", ["reno", "14 26 28"], "fall-floyd-reno-3drops"),
        ("fall_floyd.tcl", ["sack", "14 24 26 28"], "fall-floyd-sack-4drops"),
        ("ecn_steps.tcl", ["sack", "4"], "ecn-steps-sack-limit4"),
    ],
)
def test_golden_is_what_ns2_prints(script: str, arguments: list[str], golden: str) -> None:
    """The output is equal to the byte, because nothing in these runs is random."""
    done = subprocess.run(
        ["ns", str(HERE / "ns2" / script), *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout == (GOLDEN / f"{golden}.txt").read_text()


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed (Debian package ns2)")
def test_a_cell_of_red_and_ecn_is_what_ns2_prints() -> None:
    """The run is reproducible because its random numbers depend only on the seed."""
    lines = ecn.GOLDEN.read_text().splitlines()
    arguments = lines[1].split(",")[:4]
    done = subprocess.run(
        ["ns", str(HERE / "ns2" / "red_ecn.tcl"), *arguments, "320"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == lines[1]
