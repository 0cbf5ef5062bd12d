"""How colours look: CIE L*a*b*, also to readers with colour blindness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: From linear sRGB to XYZ (IEC 61966-2-1), and XYZ of white.
_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = _XYZ.sum(axis=1)
#: Machado, Oliveira and Fernandes 2009, severity 1.0, for linear sRGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def linear(colour: str) -> Array:
    """Linear red, green and blue of `#rrggbb`, 0 to 1."""
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour: str, blindness: str = "none") -> Array:
    """CIE L*a*b* of `#rrggbb`, as a reader with this blindness sees it."""
    seen = np.clip(BLINDNESS[blindness] @ linear(colour), 0, 1)
    share = _XYZ @ seen / _WHITE
    cubic = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * cubic[1] - 16, 500 * (cubic[0] - cubic[1]), 200 * (cubic[1] - cubic[2])])


def lightness(colour: str) -> float:
    """CIE L*, 0 to 100: what remains of a colour in a grey print."""
    return float(lab(colour)[0])


def luminance(colour: str) -> float:
    """Relative luminance, 0 to 1 (WCAG 2)."""
    return float((_XYZ @ linear(colour))[1])
