"""Tests on the kernel: skipped, with the reason, where this machine does not permit them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest
from users import User

import cwndlab
import cwndlab_linux
from cwndlab_linux import kernel_doctor as doctor
from cwndlab_linux.router_program import find_router
from cwndlab_linux.virtual import doctor as virtual_doctor

#: Where both packages are.
OURS = [str(Path(str(package.__file__)).parents[1]) for package in (cwndlab, cwndlab_linux)]
#: "nobody" of most systems; any that owns nothing will do.
NOBODY = 65534


@pytest.fixture(scope="session")
def kernel() -> None:
    """Needs namespaces, devices and the router."""
    reason = doctor.reason_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def same_user(kernel: None, tmp_path: Path) -> User:
    """The user who runs the tests."""
    return User(sys.executable, tmp_path, os.environ | {"TMPDIR": str(tmp_path)}, {})


@pytest.fixture
def ordinary_user(kernel: None) -> Iterator[User]:
    """One without privileges: the tests' own, or nobody if that is root, by a Python that nobody may run."""
    folder = Path(mkdtemp(prefix="cwndlab-test-"))  # below pytest's own nobody else may look
    folder.chmod(0o777)
    paths = [path for path in sys.path if path.endswith("-packages")]
    environment = os.environ | {
        "TMPDIR": str(folder),
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([*OURS, *paths]),
        "CWNDLAB_ROUTER": str(find_router()),
    }
    ids = {} if os.geteuid() else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    reasons = []
    try:
        for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
            user = User(python, folder, environment, ids)
            try:
                process = user.start("doctor", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            except OSError as error:
                reasons.append(str(error))
                continue
            said = process.communicate(timeout=60)[0]
            if process.returncode == 0 and "ok  linux: namespaces: in a user namespace" in said:
                yield user
                return
            lines = [line for line in said.splitlines() if "namespaces" in line] or said.splitlines()[-1:]
            reasons.append(f"{python}: {' '.join(lines)}")
        pytest.skip(f"no ordinary user can run cwndlab in a user namespace: {'; '.join(reasons)}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def virtual() -> None:
    """Needs a User-Mode Linux that starts here, and the router."""
    reason = virtual_doctor.reason_not_virtual()
    if reason is not None:
        pytest.skip(f"virtual time: {reason}")
