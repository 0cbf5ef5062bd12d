"""Figures in a report are written shortly and draw the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cwndlab.report.svg import inline_svg

START = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><g fill="none">'


def compacted(inside: str) -> str:
    return inline_svg(f"{START}{inside}</g></svg>")


def points(path: str) -> list[tuple[float, float]]:
    """Where the steps of a path lead."""
    x = y = 0.0
    found = []
    for command, numbers in re.findall(r"([MLhvl])([^MLhvl]*)", path):
        given = [float(n) for n in numbers.split(",")]
        if command in "ML":
            x, y = given
        else:
            right, down = {"h": (given[0], 0.0), "v": (0.0, given[0])}.get(command, tuple(given))
            x, y = x + right, y + down
        found.append((round(x, 6), round(y, 6)))
    return found


def test_a_line_in_steps_passes_every_point_within_half_a_tenth() -> None:
    given = [(k * 0.3333, (k * k % 7) * 1.2345) for k in range(500)]
    page = compacted(f'<path stroke="#111" d="M{"L".join(f"{x:.4f},{y:.4f}" for x, y in given)}"/>')
    drawn = points(ElementTree.fromstring(page).findall(".//path")[0].attrib["d"])
    assert len(drawn) == len(given)
    assert (
        max(abs(a - b) for one, two in zip(drawn, given, strict=True) for a, b in zip(one, two, strict=True))
        <= 0.0501
    )


def test_what_draws_nothing_is_left_out() -> None:
    nothing = '<g class="empty"><path d="M0,0h0v0h0Z"/><path d="" fill="#111"/></g>'
    page = compacted(nothing + '<path d="M1,1h2v2Z" fill="#222"/>')
    assert re.findall(r"<path[^>]*>", page) == ['<path d="M1,1h2v2Z" fill="#222" />']
    assert "class" not in page


def test_what_marks_have_in_common_is_written_once() -> None:
    lines = "".join(f'<line x2="{k}" y2="0" stroke="#123456" opacity="1"/>' for k in range(1, 5))
    texts = "".join(
        f'<text font-size="12px" text-anchor="{"end" if k else "start"}">{k}</text>' for k in range(5)
    )
    root = ElementTree.fromstring(compacted(f"<g>{lines}</g><g>{texts}</g>"))
    assert [line.attrib for line in root.iter("line")] == [{"x2": str(k)} for k in range(1, 5)]
    assert [group.get("stroke") for group in root.iter("g")].count("#123456") == 1
    assert root.get("font-size") == "12px"
    assert [text.get("text-anchor", root.get("text-anchor")) for text in root.iter("text")] == [
        "start"
    ] + 4 * ["end"]


def test_a_scaled_group_keeps_its_factors() -> None:
    assert 'transform="scale(0.125)"' in compacted(
        '<path transform="scale(0.125)" d="M0,0h9" stroke="#111"/>'
    )
