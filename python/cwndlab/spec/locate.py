"""The location of a key in a study's text, and the usual notation of its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from cwndlab._core import toml_places

Path = Sequence[str | int]


def place_of(text: str, path: Path) -> tuple[int, int] | None:
    """Line and column (from 1) of the key at `path`, or of its nearest ancestor in the text."""
    places = _places(text)
    lengths = range(len(path), 0, -1)
    return next((places[key] for n in lengths if (key := tuple(path[:n])) in places), None)


@lru_cache(maxsize=8)
def _places(text: str) -> Mapping[tuple[str | int, ...], tuple[int, int]]:
    return {tuple(path): (line, column) for path, line, column in toml_places(text)}


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
