"""Update the tables of docs/evidence/packetdrill-collections.md from the public collections.

    python tools/packetdrill_collections.py google=DIR freebsd=DIR linux=DIR

Any of these may be given; each DIR is searched recursively. The scripts' licences keep them out of git.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from cwndlab.apps.packetdrill.packetdrill_scripts import find_scripts, markdown, run_script

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "packetdrill-collections.md"
#: For each collection, the TCP profile and whether advertised windows are ignored.
SETTINGS = {"google": ("linux-6", False), "linux": ("linux-6", False), "freebsd": ("rfc5681", True)}


def main(arguments: list[str]) -> None:
    """Replace the table of each named collection, between its markers."""
    page = PAGE.read_text(encoding="utf-8")
    for argument in arguments:
        name, _, folder = argument.partition("=")
        if name not in SETTINGS or not folder:
            sys.exit(f"expected {'=DIR '.join(SETTINGS)}=DIR, found {argument!r}")
        profile, ignore_windows = SETTINGS[name]
        root = Path(folder)
        outcomes = [run_script(path, profile, ignore_windows=ignore_windows) for path in find_scripts([root])]
        table = f"<!-- {name} -->\n{markdown(outcomes, root)}\n<!-- end of {name} -->"
        page = re.sub(
            f"<!-- {name} -->.*<!-- end of {name} -->", table.replace("\\", "\\\\"), page, flags=re.S
        )
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
