"""The faults that cargo-mutants and cosmic-ray would insert into the sources."""

from __future__ import annotations

import ast
import json
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mutants_run import Areas, Mutant
from mutants_seen import TREES
from repository import ROOT

#: Operators that replace `is`: for equal small integers or short strings, its result is undefined.
IDENTITY = ("_Is", "_IsNot")


def rust_mutants(areas: Areas) -> Iterator[Mutant]:
    """All mutants of the crates that are areas."""
    packages = [word for area in areas.rust for word in ("--package", f"cwndlab-{area}")]
    command = ["cargo", "mutants", "--list", "--json", "--diff", *packages]
    lines: dict[str, list[str]] = {}
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for one in json.loads(listed):
        start = one["span"]["start"]
        yield Mutant(
            "rust",
            one["package"].removeprefix("cwndlab-"),
            one["file"],
            start["line"],
            start["column"],
            one["name"].split(": ", 1)[1],
            _line(one["file"], start["line"], lines),
            {"diff": one["diff"]},
        )


def python_mutants(areas: Areas, folder: Path) -> Iterator[Mutant]:
    """All mutants of the Python package, except in what only type checkers read."""
    lines: dict[str, list[str]] = {}
    typed: dict[str, list[tuple[int, int, int, int]]] = {}
    for file, operator, occurrence, line, column in _session(folder):
        if operator.endswith(IDENTITY) and "_Is" not in operator[: -len("_IsNot")]:
            continue
        if file not in typed:
            typed[file] = list(_for_type_checkers(ROOT / file))
        inside = ((a, b) <= (line, column) < (c, d) for a, b, c, d in typed[file])
        if not any(inside):
            change = operator.removeprefix("core/")
            how = {"operator": operator, "occurrence": str(occurrence)}
            code = _line(file, line, lines)
            yield Mutant("python", areas.of_python(file), file, line, column + 1, change, code, how)


def _line(file: str, number: int, read: dict[str, list[str]]) -> str:
    """A line of a source; `read` caches the files."""
    if file not in read:
        read[file] = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return read[file][number - 1]


def _session(folder: Path) -> list[tuple[str, str, int, int, int]]:
    """cosmic-ray's list (file, operator, occurrence, line, column), renewed if a source is newer."""
    session, config = folder / "python.sqlite", folder / "python.toml"
    newest = max(path.stat().st_mtime for tree in TREES for path in (ROOT / tree).rglob("*.py"))
    if not session.exists() or session.stat().st_mtime < newest:
        folder.mkdir(parents=True, exist_ok=True)
        config.write_text(
            f"[cosmic-ray]\nmodule-path = {json.dumps(TREES)}\nexcluded-modules = []\ntimeout = 1\n"
            'test-command = "false"\n[cosmic-ray.distributor]\nname = "local"\n'
        )
        command = [str(folder / "venv/bin/cosmic-ray"), "init", "--force", str(config), str(session)]
        subprocess.run(command, cwd=ROOT, check=True)
    query = """select module_path, operator_name, occurrence, start_pos_row, start_pos_col
        from mutation_specs order by 1, 4, 5, 2, 3"""
    with sqlite3.connect(session) as database:
        return database.execute(query).fetchall()


def _for_type_checkers(path: Path) -> Iterator[tuple[int, int, int, int]]:
    """The start and end (line, column) of each annotation and of each condition `TYPE_CHECKING`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            parts.append(node.test)
        for one in parts:
            if isinstance(one, ast.expr) and one.end_lineno is not None and one.end_col_offset is not None:
                yield one.lineno, one.col_offset, one.end_lineno, one.end_col_offset
