"""Checks of the installation: packages, tools, kernels and shipped studies."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cwndlab.base.core import Check
from cwndlab.base.errors import CwndlabError, install
from cwndlab.plan.plan import build_checked
from cwndlab.runs.executors.threads import available
from cwndlab.runs.kernel_side import CATALOGUE, kernels
from cwndlab.study.document import read_document, shipped_studies
from cwndlab.study.study_spec import StudySpec


def examine() -> Iterator[Check]:
    """A check for each component that cwndlab needs or can use."""
    yield Check("python", sys.version_info >= (3, 11), sys.version.split()[0], True)
    try:
        from cwndlab import _core

        yield Check("core", _core.parse_time("50ms") == 50_000_000, f"version {_core.version()}", True)
    except ImportError as error:
        yield Check("core", False, str(error), True)
    yield Check("processors", True, f"{available()} threads", True)
    for package, use in (
        ("pyarrow", "records"),
        ("numpy", "statistics"),
        ("altair", "figures"),
        ("vl-convert-python", "figures"),
    ):
        yield _package(package, use, required=True)
    for package, use, extra in (
        ("scipy", "cwndlab search and fit", "search"),
        ("distributed", "--cluster", "cluster"),
        ("obstore", "--store s3://…", "store"),
        ("anywidget", "widgets in notebooks", "notebook"),
        ("xarray", "to_xarray()", "notebook"),
    ):
        yield _package(package, f"{use}: {install(extra)}", required=False)
    yield _live()
    for tool, use in (("ns", "the comparison with ns-2"), ("tshark", "reading pcapng traces")):
        path = shutil.which(tool)
        yield Check(tool, path is not None, path or f"not installed; it is for {use}")
    try:
        for found in kernels().examine():
            yield found._replace(name=f"linux: {found.name}")
    except CwndlabError as error:
        yield Check("linux", False, str(error))
    try:
        for name in shipped_studies():
            build_checked(StudySpec, read_document(name), CATALOGUE)
        yield Check("studies", True, f"{', '.join(shipped_studies())}", True)
    except Exception as error:  # doctor reports any failure
        yield Check("studies", False, str(error), True)
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(Path(folder)).free
        yield Check("disk", free > 100e6, f"{free / 1e9:.1f} GB free for temporary files", True)


def _live() -> Check:
    """Whether reports can embed the simulator."""
    from cwndlab import _core
    from cwndlab.apps.live.embed import engine_module

    works = not isinstance(engine_module(_core.engine_digest()), str)
    detail = "contain the simulator" if works else "do not contain the simulator; `make setup` says why"
    return Check("reports", works, detail)


def _package(name: str, use: str, *, required: bool) -> Check:
    try:
        return Check(name, True, f"version {importlib.metadata.version(name)}", required)
    except importlib.metadata.PackageNotFoundError:
        return Check(name, False, f"not installed; it is for {use}", required)
