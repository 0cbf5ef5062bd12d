"""What `cwndlab doctor` finds, where it is and where it is not."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from collections import namedtuple
from collections.abc import Iterator

import pytest

from cwndlab.apps.doctor import installation
from cwndlab.base.core import Check
from cwndlab.base.errors import CwndlabError

Usage = namedtuple("Usage", "total used free")


class NoKernels:
    def examine(self) -> Iterator[Check]:
        yield Check("virtual time", True, "Linux 6.12")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "kernels", NoKernels)
    monkeypatch.setattr(installation, "shipped_studies", lambda: ["rfc2415", "rfc2416"])
    monkeypatch.setattr(installation, "build_checked", lambda *_: None)


def found() -> dict[str, Check]:
    return {one.name: one for one in installation.examine()}


def test_what_works_is_there_with_its_version_or_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.2")
    monkeypatch.setattr(shutil, "which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(0, 0, 12_340_000_000))
    checks = found()
    assert all(one.works for one in checks.values())
    assert list(checks) == [
        "python", "core", "processors", "pyarrow", "numpy", "altair", "vl-convert-python", "scipy",
        "distributed", "obstore", "anywidget", "xarray", "reports", "ns", "tshark",
        "linux: virtual time", "studies", "disk",
    ]  # fmt: skip
    assert {name for name, one in checks.items() if one.required} == {
        "python", "core", "processors", "pyarrow", "numpy", "altair", "vl-convert-python", "studies", "disk",
    }  # fmt: skip
    assert checks["python"].detail == sys.version.split()[0] and checks["numpy"].detail == "version 1.2"
    assert (checks["ns"].detail, checks["studies"].detail) == ("/bin/ns", "rfc2415, rfc2416")
    assert checks["disk"].detail == "12.3 GB free for temporary files"
    assert checks["reports"].detail == "contain the simulator"


def test_what_is_missing_says_what_it_is_for_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", none)
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(0, 0, 100_000_000))
    monkeypatch.setattr("cwndlab.apps.live.embed.engine_module", lambda digest: "it is of another version")
    checks = found()
    broken = {name for name, one in checks.items() if not one.works}
    assert broken == {
        "pyarrow", "numpy", "altair", "vl-convert-python", "scipy", "distributed", "obstore", "anywidget",
        "xarray", "reports", "ns", "tshark", "disk",
    }  # fmt: skip
    assert checks["numpy"].detail == "not installed; it is for statistics"
    assert (
        checks["scipy"].detail
        == "not installed; it is for cwndlab search and fit: pip install 'cwndlab[search]'"
    )
    assert checks["tshark"].detail == "not installed; it is for reading pcapng traces"
    assert checks["reports"].detail == "do not contain the simulator; `make setup` says why"
    assert checks["disk"].detail == "0.1 GB free for temporary files"


def test_what_fails_is_reported_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise CwndlabError("it is broken")

    monkeypatch.setattr(installation, "kernels", fail)
    monkeypatch.setattr(installation, "build_checked", fail)
    checks = found()
    assert checks["linux"] == Check("linux", False, "it is broken")
    assert checks["studies"] == Check("studies", False, "it is broken", True)
