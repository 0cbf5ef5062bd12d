"""Find what has outgrown its place in the Python package: `make check`.

A file has at most 500 lines and a function 60. A class has a name of its own, and so has a file, except
those that Python names (`__init__.py`, `__main__.py`) and commands, which are named after what they run.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator

from repository import ROOT

PACKAGE = ROOT / "python" / "cwndlab"
MOST_LINES, LONGEST = 500, 60


def complaints() -> Iterator[str]:
    """What is too long, and what has the name of another."""
    named: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        text, where = path.read_text(encoding="utf-8"), str(path.relative_to(PACKAGE))
        if not path.name.startswith("__") and path.parent.name != "commands":
            named[f"file {path.name}"].append(where)
        if (lines := text.count("\n")) > MOST_LINES:
            yield f"{where}: has {lines} lines; at most {MOST_LINES}"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[f"class {node.name}"].append(where)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                if (length := node.end_lineno - node.lineno + 1) > LONGEST:
                    yield f"{where}:{node.lineno}: {node.name} has {length} lines; at most {LONGEST}"
    yield from (f"{name}: {', '.join(places)}" for name, places in named.items() if len(places) > 1)


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
