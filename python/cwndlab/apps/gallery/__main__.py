"""`python -m cwndlab.apps.gallery FOLDER`: write an index page of all reports in a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from cwndlab.base.errors import CwndlabError

from .index import write_index

if len(sys.argv) != 2:
    sys.exit("usage: python -m cwndlab.apps.gallery FOLDER (whose sub-folders hold reports)")
try:
    print(f"reports: {write_index(Path(sys.argv[1]))}")
except CwndlabError as error:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
