"""Finds the line of a dotted key in TOML text, for error messages. Best effort: it never raises."""

from __future__ import annotations

import re
from collections.abc import Sequence

Path = Sequence[str | int]

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")
_HEADER = re.compile(rf"\s*\[(\[)?\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")


def _split(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_KEY, dotted)]


def line_of(text: str, path: Path) -> int | None:
    """Line (1-based) of the key at `path`, or of the nearest key above it that stands in the text."""
    best: tuple[int, int, int] | None = None  # depth, line, end of its value
    current: list[str | int] = []
    counts: dict[tuple[str | int, ...], int] = {}
    lines = text.splitlines()
    depth = 0  # of brackets that a value left open
    quote = ""  # that a value left open
    for number, line in enumerate(lines, start=1):
        if quote or depth:
            depth, quote = _after(line, depth, quote)
            if best is not None and best[2] == number - 1 and best[0] < len(path):
                best = _inside(line, path, best, number)
            continue
        header = _HEADER.match(line)
        if header:
            current = []
            parts = _split(header[2])
            for index, part in enumerate(parts):
                current.append(part)
                key = tuple(current)
                if header[1] and index == len(parts) - 1:
                    counts[key] = counts.get(key, -1) + 1
                if key in counts:
                    current.append(counts[key])
            best = _better(best, current, path, number)
            continue
        found = _DOTTED.match(line)
        if found:
            best = _better(best, [*current, *_split(found[1])], path, number)
            depth, quote = _after(line[found.end() :], 0, "")
    return best[1] if best else None


def _better(
    best: tuple[int, int, int] | None, here: Path, path: Path, number: int
) -> tuple[int, int, int] | None:
    shared = 0
    for a, b in zip(here, path, strict=False):
        if a != b:
            break
        shared += 1
    if 0 < shared == len(path) < len(here) and best is None:
        return (shared, number, number)  # a table that only its sub-tables' headings name
    if shared == len(here) and shared > 0 and (best is None or shared > best[0]):
        return (shared, number, number)
    return best


def _inside(line: str, path: Path, best: tuple[int, int, int], number: int) -> tuple[int, int, int]:
    """Within a value over several lines: an inline table's key, if it is the one looked for."""
    last = next((part for part in reversed(path) if isinstance(part, str)), "")
    if last and re.search(rf"""(?:^|[\s{{,."'])["']?{re.escape(last)}["']?\s*=""", line):
        return (len(path), number, number)
    return (best[0], best[1], number)


def _after(rest: str, depth: int, quote: str) -> tuple[int, str]:
    """Open brackets and open multi-line quote after this piece of a line."""
    position = 0
    while position < len(rest):
        if quote:
            end = rest.find(quote, position)
            if end < 0:
                return depth, quote if len(quote) == 3 else ""
            if quote[0] == '"' and end > 0 and rest[end - 1] == "\\":
                position = end + 1
                continue
            position, quote = end + len(quote), ""
            continue
        char = rest[position]
        if char == "#":
            break
        if char in "\"'":
            quote = char * 3 if rest.startswith(char * 3, position) else char
            position += len(quote)
            continue
        depth += (char in "[{") - (char in "]}")
        position += 1
    return max(depth, 0), quote if len(quote) == 3 else ""


def dotted(raw: object, path: Path) -> str:
    """A path as people write it: list elements by their `name` or `id`, else by their number (from 1)."""
    parts: list[str] = []
    here = raw
    for step in path:
        if isinstance(step, int):
            element = here[step] if isinstance(here, list) and 0 <= step < len(here) else None
            label = (element.get("name") or element.get("id")) if isinstance(element, dict) else None
            parts.append(str(label) if isinstance(label, str | int) else str(step + 1))
            here = element
        else:
            parts.append(step)
            here = here.get(step) if isinstance(here, dict) else None
    return ".".join(parts)
