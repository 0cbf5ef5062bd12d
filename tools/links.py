"""Check that the files and headings that links in Markdown files name exist.

External links are not fetched. Anchors of headings follow GitHub's rules; the manual (`make docs`) uses the
same rules and checks its own pages again.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import repository
from repository import ROOT

MANUAL = ROOT / "docs"
#: Blocks that may look like links or headings but are none: code and comments.
BLOCK = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)|<!--.*?-->", re.S | re.M)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(\s*<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.M)
EXTERNAL = re.compile(r"[a-z][a-z+.-]*:", re.I)
#: Headings and explicit targets: `## Name`, `(name)=`, `<a id="name">`.
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
TARGET = re.compile(r"^\((\S+)\)=$|<a (?:id|name)=\"([^\"]+)\"", re.M)


def prose(file: Path) -> str:
    """The text of a file with code blocks and comments blanked; line numbers are kept."""
    return BLOCK.sub(lambda found: "\n" * found[0].count("\n"), file.read_text())


@cache
def anchors(file: Path) -> frozenset[str]:
    """The anchors of a file's headings; repeated headings get the suffix `-1`, `-2` and so on."""
    text = prose(file)
    found, seen = set(), Counter[str]()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\]\([^)]*\)", "", heading)  # the text of a link
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return frozenset(found | {a or b for a, b in TARGET.findall(text)})


def faults(file: Path) -> Iterator[tuple[int, str]]:
    """The line and an error message for each broken link of a file."""
    text = CODE.sub("", prose(file))
    for found in LINK.finditer(text):
        link = unquote(found[1] or found[2])
        if EXTERNAL.match(link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        message = ""
        if not target.exists():
            message = "there is no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            message = f"{target.relative_to(ROOT)} has no heading of this name"
        elif anchor and MANUAL in file.parents and MANUAL not in target.parents:
            message = "the manual cannot link to a heading of a file outside docs/"
        if message:
            yield text.count("\n", 0, found.start()) + 1, f"{link}: {message}"


def main() -> int:
    """Print broken links; returns 1 if there are any."""
    failed = False
    for file in repository.files("*.md"):
        for line, message in faults(file):
            failed = True
            print(f"{file.relative_to(ROOT)}:{line}: {message}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
