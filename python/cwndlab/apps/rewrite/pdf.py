"""Printing of a report by Chromium, as a PDF with bookmarks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cwndlab.base.errors import OutputError
from cwndlab.base.writing import output_errors, write_atomic

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
#: Seconds after which printing is aborted.
PATIENCE = 300
FLAGS = ("--headless", "--disable-gpu", "--no-pdf-header-footer", "--generate-pdf-document-outline")


def print_pdf(page: Path, out: Path) -> Path:
    """Prints a page to the PDF `out`, with its headings as bookmarks; returns `out`.

    Raises:
        OutputError: there is no browser, or it printed nothing.

    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        right = f"install Chromium or Chrome, or print {page} from a browser"
        raise OutputError(f"a PDF needs one of {', '.join(BROWSERS)}; {right}")
    # Chromium refuses to run as root with its sandbox; the user's own page runs no foreign scripts.
    flags = [*FLAGS, "--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else list(FLAGS)
    with tempfile.TemporaryDirectory() as profile:
        printed = Path(profile) / "report.pdf"
        command = [browser, *flags, f"--user-data-dir={profile}/profile", f"--print-to-pdf={printed}"]
        try:
            done = subprocess.run(
                [*command, page.resolve().as_uri()], capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            raise OutputError(f"{browser} printed nothing within {PATIENCE} s") from None
        if not printed.is_file():
            said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise OutputError(f"{browser} printed nothing: {said[0]}")
        content = printed.read_bytes()
    with output_errors(out):
        write_atomic(out, content)
    return out
