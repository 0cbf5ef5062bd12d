"""Check the structure of the Python packages: `make check`.

A file has at most 500 lines, and a function 60. Names of classes and files are unique, except for files that
Python names (`__init__.py`, `__main__.py`) and commands, which are named after what they run. A public
function's name is not a bare preposition or participle; a property's may be. In the packages of WITHOUT_OF,
names such as `labels_of` or `of_packets` are not allowed either. In the core no variable is named `one`,
`found`, `known` or `made`, and the core has at most CORE_LINES lines. Names with a leading underscore are not
imported by other packages.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT

PACKAGES = (ROOT / "python" / "cwndlab", ROOT / "linux" / "cwndlab_linux")
MOST_LINES, LONGEST = 500, 60
#: Modules and packages of commands.
COMMANDS = {"command", "commands", "cli"}
#: Names that do not say what a function does.
BARE = re.compile(
    "about|after|around|at|before|beside|between|but|by|for|from|in|inside|of|on|only|over|than|to|with|within"
    "|without|kept|made|ran|said|told|held|written|drawn|(?!embed)[a-z]+[^e]ed"
)

#: The packages of the core, and its most lines, `__init__.py` and `api.py` of the package included.
CORE = {"base", "records", "metrics", "stats", "study", "plan", "runs", "report", "results", "cli"}
CORE_LINES = 27_000
#: Names that do not say what a variable holds.
VAGUE = {"one", "found", "known", "made"}
#: Packages in which every function's name must have a verb.
WITHOUT_OF = CORE | {"live", "notebook", "packets", "processes", "reproduction", "rewrite", "twin"}
OF = re.compile("[a-z]+_of|of_[a-z_]+")


def complaints() -> Iterator[str]:
    """A message for each violation."""
    named: dict[str, list[str]] = defaultdict(list)
    core_lines = 0
    for package, path in ((one, path) for one in PACKAGES for path in sorted(one.rglob("*.py"))):
        text, where = path.read_text(encoding="utf-8"), str(path.relative_to(package.parent))
        if not path.name.startswith("__") and not COMMANDS & {path.stem, path.parent.name}:
            named[f"file {path.name}"].append(where)
        if (lines := text.count("\n")) > MOST_LINES:
            yield f"{where}: has {lines} lines; at most {MOST_LINES}"
        tree = ast.parse(text)
        if _is_of_core(package, path):
            core_lines += lines
            yield from (f"{where}: {name} does not say what it holds" for name in sorted(_vague_names(tree)))
        bare = re.compile(f"{BARE.pattern}|{OF.pattern}") if WITHOUT_OF & {*path.parts} else BARE
        yield from (f"{where}: {name} does not say what it does" for name in _bare_names(tree, bare))
        yield from (f"{where}: imports {name}, of another package" for name in _private_names(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[f"class {node.name}"].append(where)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                if (length := node.end_lineno - node.lineno + 1) > LONGEST:
                    yield f"{where}:{node.lineno}: {node.name} has {length} lines; at most {LONGEST}"
    if core_lines > CORE_LINES:
        yield f"the core has {core_lines:,} lines; at most {CORE_LINES:,}"
    yield from (f"{name}: {', '.join(places)}" for name, places in named.items() if len(places) > 1)


def _is_of_core(package: Path, path: Path) -> bool:
    parts = path.relative_to(package).parts
    return package == PACKAGES[0] and (parts[0] in CORE or parts in (("__init__.py",), ("api.py",)))


def _vague_names(tree: ast.Module) -> set[str]:
    """Vague names of variables and parameters in functions; fields of classes may have them."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda)]
    inside = (node for function in functions for node in ast.walk(function))
    names = {node.arg if isinstance(node, ast.arg) else getattr(node, "id", "") for node in inside}
    return names & VAGUE


def _private_names(tree: ast.Module) -> Iterator[str]:
    """Names that a file imports although they are private to another package; `_core` is public."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("cwndlab"):
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                private = {part for part in name.split(".") if re.match("_(?!_)", part)}
                if private - {"_core"}:
                    yield name


def _bare_names(tree: ast.Module, bare: re.Pattern[str]) -> Iterator[str]:
    """Functions of modules and classes with a name that `bare` matches, except properties and metrics."""
    for owner in ast.walk(tree):
        for node in owner.body if isinstance(owner, ast.Module | ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and bare.fullmatch(node.name):
                if not any(re.search(r"property|metric\(", ast.unparse(one)) for one in node.decorator_list):
                    yield node.name


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
