"""A report that several tests open in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

import cwndlab


@pytest.fixture(scope="session")
def minute_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two transfers of a minute by Tahoe, with claims and published numbers."""
    out = tmp_path_factory.mktemp("rfc2416")
    cwndlab.run("rfc2416", changes={"grid": "minute", "variant": "tahoe", "iw": [1, 4]}, out=out)
    return out / "report.html"
