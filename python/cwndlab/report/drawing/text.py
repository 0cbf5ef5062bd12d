"""Text in SVG: its width, and its elements."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

#: Widths of the ASCII characters from the space on in Helvetica, in 1/1000 of the size (Adobe's metrics).
_WIDTHS = (
    *(278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556),
    *(556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667),
    *(611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667),
    *(667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500),
    *(222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584),
)
_OTHER = 556
#: Factors for the larger width of bold type, and of the fonts of other systems.
_BOLD, _RESERVE = 1.06, 1.06

#: The font sizes of labels and of titles, in pixels.
SMALL, LARGE = 12, 13


def text_width(text: str, size: float = SMALL, *, bold: bool = False) -> float:
    """The width of a text in pixels, an upper estimate for common fonts."""
    units = sum(_WIDTHS[ord(c) - 32] if 32 <= ord(c) < 32 + len(_WIDTHS) else _OTHER for c in text)
    return units * size / 1000 * _RESERVE * (_BOLD if bold else 1.0)


def shorten(text: str, limit: float, size: float = SMALL) -> str:
    """The text, cut and ended with "…" if it is wider than `limit` pixels."""
    if text_width(text, size) <= limit:
        return text
    while text and text_width(text + "…", size) > limit:
        text = text[:-1]
    return text + "…"


def tenths(value: float) -> str:
    """A number of pixels as text, rounded to a tenth, which no screen resolves."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def text_element(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "start",
    size: int = SMALL,
    bold: bool = False,
    turned: float = 0.0,
    colour: str = "",
) -> str:
    """The SVG element of a line of text with its baseline at y."""
    look = f' text-anchor="{anchor}"' if anchor != "start" else ""
    look += f' font-size="{size}px"' if size != SMALL else ""
    look += ' font-weight="bold"' if bold else ""
    look += f' fill="{escape(colour)}"' if colour else ""
    at = f"translate({tenths(x)},{tenths(y)})" + (f" rotate({tenths(turned)})" if turned else "")
    return f'<text transform="{at}"{look}>{escape(text, quote=False)}</text>'


def text_lines(lines: Sequence[str], x: float, y: float, step: float, **look: object) -> list[str]:
    """The SVG elements of lines of text; the first has its baseline at y, the others follow by `step`."""
    return [text_element(line, x, y + k * step, **look) for k, line in enumerate(lines)]  # type: ignore[arg-type]
