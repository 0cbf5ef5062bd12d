"""Check the structure of the crates: `make check`.

A file has at most 500 lines, and a function 60. No function has two boolean parameters, which callers would
confuse, except for keyword arguments of Python. No comment refers to an item whose own comment refers to a
third ("As [`x`]"). The files of a crate do not import each other in a cycle.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from repository import ROOT

CRATES = ROOT / "crates"
MOST_LINES, LONGEST = 500, 60
#: Files and modules that are compiled only for tests.
TESTS = re.compile(r"(^|/)(tests|scripts|properties|fuzz|comparison|testing|test_packet)(/|\.rs$)")
FUNCTION = re.compile(r"^( *)(?:pub(?:\([a-z: ]+\))? )?(?:const |unsafe |extern \"C\" )*fn (\w+)")
AS = re.compile(r"\s*//[/!] As \[`(?:\w+::)*(\w+)`\]")

Module = tuple[str, ...]


def complaints() -> Iterator[str]:
    """A message for each violation."""
    for crate in sorted(path for path in CRATES.iterdir() if path.is_dir()):
        for path in sorted((crate / "src").rglob("*.rs")):
            text, where = path.read_text(encoding="utf-8"), str(path.relative_to(CRATES))
            if (lines := text.count("\n")) > MOST_LINES:
                yield f"{where}: has {lines} lines; at most {MOST_LINES}"
            if not TESTS.search(where):
                yield from (f"{where}:{problem}" for problem in _functions(product(text).splitlines()))
        yield from (f"{crate.name}: imports in a circle: {', '.join(circle)}" for circle in circles(crate))
    yield from _chains()


def product(text: str) -> str:
    """The text of a file before its module of tests."""
    tests = re.search(r"^#\[cfg\(test\)\]\nmod \w+ \{$", text, re.MULTILINE)
    return text[: tests.start()] if tests else text


def _functions(lines: list[str]) -> Iterator[str]:
    """Functions that are too long, or have several boolean parameters that no trait requires."""
    is_of_trait = False
    for number, line in enumerate(lines):
        if line.startswith("impl"):
            is_of_trait = " for " in line
        if not (found := FUNCTION.match(line)):
            continue
        indent, name = found.groups()
        last = number
        while not lines[last].rstrip().endswith(("{", ";", "}")):
            last += 1
        head = " ".join(lines[number : last + 1])
        parameters = head[head.index(name) :].partition("(")[2]
        if lines[last].rstrip().endswith("{"):
            end = next(k for k in range(last, len(lines)) if lines[k] == indent + "}")
            if (length := end - number + 1) > LONGEST:
                yield f"{number + 1}: {name} has {length} lines; at most {LONGEST}"
        count = len(re.findall(r": bool\b", parameters))
        if count > 1 and not is_of_trait and "Python<" not in parameters:
            yield f"{number + 1}: {name} takes {count} truth values; a type or a number would name them"


def _chains() -> Iterator[str]:
    """Items whose comment refers to an item whose comment refers to a third."""
    refers: dict[str, tuple[str, str]] = {}
    for path in sorted(CRATES.rglob("src/**/*.rs")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if found := AS.match(line):
                names = (FUNCTION.match(later) for later in lines[number:])
                if item := next((name for name in names if name), None):
                    refers[item[2]] = (found[1], f"{path.relative_to(CRATES)}:{number + 1}")
    for described, (other, where) in refers.items():
        if other in refers and other != described:
            yield f"{where}: {described} is described by {other}, which is described by {refers[other][0]}"


def circles(crate: Path) -> Iterator[list[str]]:
    """Sets of files of a crate that import each other in a cycle, as module names."""
    files = {
        _module(path.relative_to(crate / "src")): path
        for path in (crate / "src").rglob("*.rs")
        if not TESTS.search(str(path.relative_to(crate)))
    }
    imports: dict[Module, set[Module]] = defaultdict(set)
    for module, path in files.items():
        text = re.sub(r"//.*", "", product(path.read_text(encoding="utf-8")))
        for statement in re.finditer(r"^ *use ((?:crate|super|self)::[^;]+);", text, re.MULTILINE):
            for name in _expanded(statement[1]):
                target = _resolved(name, module)
                while target not in files:
                    target = target[:-1]
                if target != module:
                    imports[module].add(target)
    yield from (sorted("::".join(one) or "lib" for one in circle) for circle in _components(files, imports))


def _module(path: Path) -> Module:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _expanded(tree: str) -> Iterator[Module]:
    """The names that `a::{b, c::{d, e}}` imports."""
    head, brace, rest = tree.strip().partition("{")
    prefix = tuple(part.strip() for part in head.split("::") if part.strip())
    if not brace:
        yield (*prefix[:-1], prefix[-1].split(" as ")[0])
        return
    depth, item = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if item.strip():
                yield from ((*prefix, *name) for name in _expanded(item))
            item = ""
        else:
            item += letter


def _resolved(name: Module, module: Module) -> Module:
    """The path of an imported module from the crate's root."""
    at = () if name[0] == "crate" else module
    name = name[1:] if name[0] in ("crate", "self") else name
    while name and name[0] == "super":
        at, name = at[:-1], name[1:]
    return (*at, *name)


def _components(nodes: Iterable[Module], edges: dict[Module, set[Module]]) -> Iterator[list[Module]]:
    """Strongly connected components of more than one node."""
    reached: dict[Module, set[Module]] = {}
    for node in nodes:
        seen, frontier = set[Module](), [node]
        while frontier:
            for target in edges[frontier.pop()] - seen:
                seen.add(target)
                frontier.append(target)
        reached[node] = seen
    done = set[Module]()
    for node, seen in reached.items():
        circle = [other for other in seen if node in reached[other]]
        if len(circle) > 1 and node not in done:
            done.update(circle)
            yield circle


if __name__ == "__main__":
    found = list(complaints())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
