"""The colours of series stay distinct in grey, with colour blindness, and on white and black."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import numpy as np
import pytest

from colours import BLINDNESS, lab, lightness, luminance
from cwndlab.report.palette import DARK, PALETTE
from cwndlab.report.render import page, style


def test_neighbouring_colours_and_the_first_three_differ_in_lightness() -> None:
    pairs = [*pairwise(PALETTE), *combinations(PALETTE[:3], 2)]
    assert [pair for pair in pairs if abs(lightness(pair[0]) - lightness(pair[1])) < 9] == []


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_no_two_colours_look_alike(blindness: str) -> None:
    """A distance of 12 in L*a*b* is plain to see next to each other; just noticeable is 2.3."""
    seen = {colour: lab(colour, blindness) for colour in PALETTE}
    assert [
        pair for pair in combinations(PALETTE, 2) if np.linalg.norm(seen[pair[0]] - seen[pair[1]]) < 12
    ] == []


ON_DARK = [DARK.get(k, colour) for k, colour in enumerate(PALETTE)]


def test_every_colour_has_a_contrast_of_three_with_a_dark_page() -> None:
    (paper,) = set(re.findall("--paper: (#[0-9a-f]{6})", style("style")))
    for colour in ON_DARK:
        assert (luminance(colour) + 0.05) / (luminance(paper) + 0.05) >= 3, colour


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_no_two_colours_look_alike_on_a_dark_page(blindness: str) -> None:
    seen = {colour: lab(colour, blindness) for colour in ON_DARK}
    assert min(np.linalg.norm(seen[a] - seen[b]) for a, b in combinations(ON_DARK, 2)) >= 12


def test_a_dark_page_has_the_lighter_colours_in_its_figures() -> None:
    assert f'[stroke="{PALETTE[0]}"] {{ stroke: {DARK[0]}; }}' in page("lessons.html", lessons=[]).decode()


def test_every_colour_has_a_contrast_of_three_with_white_and_with_black() -> None:
    """What WCAG 2.1 (1.4.11) asks of graphics: reports have a light and a dark theme."""
    for colour in PALETTE:
        assert min(1.05 / (luminance(colour) + 0.05), (luminance(colour) + 0.05) / 0.05) >= 3, colour
