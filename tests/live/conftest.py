"""Tests on the kernel: skipped, with the reason, where this machine does not permit them."""

from __future__ import annotations

import pytest

from cwndlab.live import doctor


@pytest.fixture(scope="session")
def kernel() -> None:
    """Needs namespaces, devices and the router."""
    reason = doctor.reason_not()
    if reason is not None:
        pytest.skip(reason)
