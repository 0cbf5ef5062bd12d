"""Sphinx: `make docs`."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for live.py

project = "cwndlab"
author = "the cwndlab contributors"
version = release = installed("cwndlab")
extensions = ["myst_parser", "sphinx.ext.autodoc", "live"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
# profiles.md gives each knob a heading of the third level, so that the table of contents stays short
suppress_warnings = [
    "myst.header",
    "misc.highlighting_failure",
]  # examples with an ellipsis are not quite TOML
html_theme = "furo"
html_title = f"cwndlab {release}"
exclude_patterns = ["build"]
autodoc_typehints = "description"
