"""What the quantities of a study are: each metric's words and formula, with the options it was asked with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cwndlab import metrics
from cwndlab.spec.schema import Quantity


@dataclass(frozen=True)
class Definition:
    """A metric, and the quantities that were measured by it."""

    metric: str
    text: tuple[str, ...]
    quantities: tuple[str, ...]


def definitions(quantities: Iterable[Quantity]) -> list[Definition]:
    """The metrics behind these quantities, in the study's order."""
    by_metric: dict[str, list[Quantity]] = {}
    known = {quantity.name: quantity for quantity in quantities}
    for quantity in known.values():
        if quantity.metric is not None:
            by_metric.setdefault(quantity.metric, []).append(quantity)
    found = [
        Definition(name, _paragraphs(metrics.get(name).formula), tuple(_asked(q, known) for q in asked))
        for name, asked in by_metric.items()
    ]
    derived = tuple(
        f"{q.title or q.name}: {q.derived} of {q.of} by {q.by}, run by run"
        for q in known.values()
        if q.derived is not None
    )
    if derived:
        found.append(Definition("derived", ("Computed from two quantities of the same run.",), derived))
    return found


def _asked(quantity: Quantity, known: Mapping[str, Quantity]) -> str:
    options = ", ".join(f"{name} = {value}" for name, value in quantity.options.items())
    text = f"{quantity.title or quantity.name.replace('_', ' ')} ({metrics.unit_of(quantity, known)})"
    if quantity.within is not None:
        options += f"{', ' if options else ''}{quantity.within} of each run"
    if options:
        text += f": {options}"
    return f"{text}. {quantity.about}" if quantity.about else text


def _paragraphs(doc: str) -> tuple[str, ...]:
    """A metric's docstring as plain paragraphs, its formula in a line of text."""
    return tuple(_plain(" ".join(part.split())) for part in doc.split("\n\n") if part.strip())


def _plain(text: str) -> str:
    text = text.replace("$$", "").replace("``", "").replace("`", "").strip()
    text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\tilde\{([^{}]*)\}", "\\1\N{COMBINING TILDE}", text)
    text = re.sub(r"_\{([^{}]*)\}", r"_\1", text)
    return re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1 / \2", text)
