"""The legend of a chart: a symbol and a label for each series, above the panels."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .marks import Layer, paint, stroke_attributes, symbol
from .text import SMALL, tenths, text_element, text_width

#: Pixels between a symbol and its label, between columns, and between rows; and the height of a line.
_GAP, _COLUMN_GAP, _ROW_GAP, _LINE = 8, 22, 4, 14
#: The default area of a symbol, in square pixels.
_SIZE = 90


def label_texts(expression: str | None, names: Sequence[str]) -> dict[str, list[str]]:
    """The lines of each label, from an expression that `canvas.label_lines` made; None: one line each."""
    if expression is None:
        return {name: [name] for name in names}
    lines: dict[str, list[str]] = json.loads(expression.removesuffix("[datum.label]"))
    return {name: lines.get(name, [name]) for name in names}


class Legend(NamedTuple):
    """The entries of a legend, row by row in columns, with a title if its options state one."""

    names: Sequence[str]
    texts: Mapping[str, Sequence[str]]
    looks: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Any]

    @classmethod
    def from_layers(cls, layers: Sequence[Layer]) -> Legend | None:
        """The legend of the layers' channels; None if they have none."""
        looks: dict[str, dict[str, Any]] = {}
        options: Mapping[str, Any] | None = None
        for layer in layers:
            for channel in ("color", "strokeDash", "shape", "fill", "stroke"):
                spec = layer.channels.get(channel)
                if spec is None or spec.get("legend", {}) is None:
                    continue
                options = options or spec.get("legend") or {}
                for name, look in zip(spec["scale"]["domain"], spec["scale"]["range"], strict=False):
                    looks.setdefault(name, {}).setdefault(channel, look)
        if options is None or not looks:
            return None
        names = list(options.get("values", looks))
        return cls(names, label_texts(options.get("labelExpr"), names), looks, options)

    @property
    def _side(self) -> float:
        return math.sqrt(self.options.get("symbolSize", _SIZE))

    def _columns(self, room: float) -> int:
        """The number of columns: that of the legend's options, or fewer if they exceed the width `room`."""
        columns = int(self.options.get("columns", len(self.names)))
        while columns > 1 and sum(self._widths(columns)) > room + _COLUMN_GAP:
            columns -= 1
        return columns

    def _width(self, name: str) -> float:
        return self._side + _GAP + max(text_width(line) for line in self.texts[name])

    def _widths(self, columns: int) -> list[float]:
        return [
            max(self._width(name) for name in self.names[k::columns]) + _COLUMN_GAP
            for k in range(min(columns, len(self.names)))
        ]

    def draw(self, room: float) -> tuple[list[str], float]:
        """The SVG elements of the legend, and its height in pixels; `room` is the available width."""
        elements: list[str] = []
        left = top = 0.0
        if title := self.options.get("title"):
            elements.append(text_element(title, 0, 0.79 * SMALL + 1))
            if self.options.get("titleOrient") == "left":
                left = text_width(title) + _COLUMN_GAP
            else:
                top = _LINE + _ROW_GAP
        columns = self._columns(room - left)
        widths = self._widths(columns)
        for start in range(0, len(self.names), columns):
            row = self.names[start : start + columns]
            x = left
            for name, width in zip(row, widths, strict=False):
                elements += self._entry(name, x, top)
                x += width
            top += max(_LINE * len(self.texts[name]) for name in row) + _ROW_GAP
        return elements, top - _ROW_GAP

    def _entry(self, name: str, x: float, top: float) -> list[str]:
        look, side, middle = self.looks[name], self._side, top + _LINE / 2
        colour = look.get("color") or look.get("stroke") or ""
        kind = self.options.get("symbolType", "circle")
        if kind == "stroke":
            line = f"M{tenths(x)},{tenths(middle)}h{tenths(side)}"
            width = self.options.get("symbolStrokeWidth", 2)
            drawn = f'<path d="{line}"{stroke_attributes(colour, width, look.get("strokeDash"))}/>'
        elif kind == "square":
            fill = look.get("fill", colour)
            box = f"M{tenths(x)},{tenths(middle - side / 2)}h{tenths(side)}v{tenths(side)}h{tenths(-side)}Z"
            edge = f' stroke="{paint(look["stroke"])}" stroke-width="1.6"' if "stroke" in look else ""
            drawn = f'<path d="{box}" fill="{"none" if fill == "transparent" else paint(fill)}"{edge}/>'
        else:
            at = f"translate({tenths(x + side / 2)},{tenths(middle)})"
            drawn = symbol(look.get("shape", "circle"), side**2, colour, at)
        lines = self.texts[name]
        baseline = top + 0.79 * SMALL + 1
        return [
            drawn,
            *(text_element(line, x + side + _GAP, baseline + k * _LINE) for k, line in enumerate(lines)),
        ]
