"""What is installed and works."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cwndlab.backends.threads import available
from cwndlab.errors import install
from cwndlab.metrics._catalogue import CATALOGUE
from cwndlab.plan.load import build_checked
from cwndlab.spec.document import read_document, shipped
from cwndlab.spec.study_spec import StudySpec


@dataclass(frozen=True)
class Item:
    """One check."""

    name: str
    works: bool
    required: bool
    detail: str


def examine() -> Iterator[Item]:
    """Everything that cwndlab needs or can use."""
    yield Item("python", sys.version_info >= (3, 11), True, sys.version.split()[0])
    try:
        from cwndlab import _core

        yield Item("core", _core.parse_time("50ms") == 50_000_000, True, f"version {_core.version()}")
    except ImportError as error:
        yield Item("core", False, True, str(error))
    yield Item("processors", True, True, f"{available()} threads")
    for package, use in (
        ("pyarrow", "records"),
        ("numpy", "statistics"),
        ("altair", "figures"),
        ("vl-convert-python", "figures"),
    ):
        yield _package(package, use, required=True)
    for package, use, extra in (
        ("scipy", "cwndlab search", "search"),
        ("distributed", "--cluster", "cluster"),
        ("obstore", "--store s3://…", "store"),
        ("anywidget", "widgets in notebooks", "notebook"),
        ("xarray", "to_xarray()", "notebook"),
    ):
        yield _package(package, f"{use}: {install(extra)}", required=False)
    yield _live()
    for tool, use in (("ns", "the comparison with ns-2"), ("tshark", "reading pcapng traces")):
        path = shutil.which(tool)
        yield Item(tool, path is not None, False, path or f"not installed; it is for {use}")
    if sys.platform == "linux":
        # Elsewhere these modules cannot be imported.
        from cwndlab.backends.linux import kernel_doctor
        from cwndlab.backends.linux_virtual import doctor as virtual_doctor

        for found in (*kernel_doctor.examine(), virtual_doctor.examine()):
            yield Item(f"linux: {found.name}", found.works, False, found.detail)
    else:
        yield Item("linux", False, False, f"the kernel backends need Linux; this is {sys.platform}")
    try:
        for name in shipped():
            build_checked(StudySpec, read_document(name), CATALOGUE)
        yield Item("studies", True, True, f"{', '.join(shipped())}")
    except Exception as error:  # doctor reports any failure
        yield Item("studies", False, True, str(error))
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(Path(folder)).free
        yield Item("disk", free > 100e6, True, f"{free / 1e9:.1f} GB free for temporary files")


def _live() -> Item:
    """Whether reports contain the simulator."""
    from cwndlab import _core
    from cwndlab.report.embed import engine_module

    works = not isinstance(engine_module(_core.engine_digest()), str)
    detail = "contain the simulator" if works else "do not contain the simulator; `make setup` says why"
    return Item("reports", works, False, detail)


def _package(name: str, use: str, *, required: bool) -> Item:
    try:
        return Item(name, True, required, f"version {importlib.metadata.version(name)}")
    except importlib.metadata.PackageNotFoundError:
        return Item(name, False, required, f"not installed; it is for {use}")
