"""Draws charts as SVG: the part of Vega-Lite that reports use, without a JavaScript engine."""

from .chart import draw_svg

__all__ = ["draw_svg"]
