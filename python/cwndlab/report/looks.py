"""What distinguishes the series of a figure: colours, dashes of lines, fills of bars."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.study.outputs import PANEL_QUANTITY, Figure

from .palette import PALETTE, PLAIN, SHADES

#: The names of both in a report of a kernel next to the simulator.
KERNEL, SIMULATOR = "kernel", "simulator"

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4], [3, 1]]

#: The place of the colour that is nearest to one before it.
NEAR = 4

HOLLOW = "transparent"
"""The fill of the simulator's bars next to a kernel's."""

#: The opacities of bars of one colour: the last two digits of a colour in hexadecimal.
_OPACITIES = ["", "80", "33"]


def choose_colours(
    names: Sequence[str], flows: Sequence[str], spec: Figure, *, bars: bool = False
) -> list[str]:
    """A colour for each series: that of the flow of this name, which it has in the whole report.

    Where flows have colours, up to three numbers of the whole network, as a mean and a percentile, have none;
    those of a kernel and the simulator have colours that no flow has.
    A kernel's series has the colour of the simulator's; several quantities of one law have that law's.
    """
    keys, _ = _groups(names, spec, bars=bars)
    order = list(dict.fromkeys(keys))
    if _is_plain(names, flows, spec):
        return (SHADES if bars else [PLAIN] * len(SHADES))[: len(names)]
    if _has_sources(names) and not set(keys) & set(flows) and len(flows) + len(order) <= len(PALETTE):
        free = sorted(range(len(flows), len(PALETTE)), key=NEAR.__eq__)
        return [PALETTE[free[order.index(key)]] for key in keys]
    places = _places(order, flows)
    return [PALETTE[places[key] % len(PALETTE)] for key in keys]


def choose_dashes(names: Sequence[str], spec: Figure) -> list[list[int]]:
    """The dashes of each series; of a kernel's and the simulator's, the simulator's are dashed."""
    keys, levels = _groups(names, spec, bars=False)
    if _has_sources(names):
        at = [2 * level + name.endswith(SIMULATOR) for name, level in zip(names, levels, strict=True)]
    elif len(set(keys)) < len(names) and max(levels) and len(set(keys)) <= len(PALETTE):
        at = levels
    else:
        at = [k + k // len(PALETTE) for k in range(len(names))]
    return [DASHES[k % len(DASHES)] for k in at]


def choose_fills(names: Sequence[str], colours: Sequence[str], spec: Figure) -> list[str] | None:
    """The fill of each series' bars, in its colour; None if colours alone distinguish them."""
    _, levels = _groups(names, spec, bars=True)
    if not _has_sources(names) and not any(levels):
        return None
    return [
        HOLLOW
        if name.endswith(SIMULATOR) and _has_sources(names)
        else colour + _OPACITIES[level % len(_OPACITIES)]
        for name, colour, level in zip(names, colours, levels, strict=True)
    ]


def name_series(names: Sequence[str]) -> dict[str, str]:
    """What series are called next to a figure: a kernel's and the simulator's of one name once, by that name.

    They have one colour, and dashes or outlines tell them apart.
    """
    bases = {name: without_source(name) for name in names}
    if not _has_sources(names) or not all(bases.values()):
        return {name: name for name in names}
    first: dict[str, str] = {}
    for name, base in bases.items():
        first.setdefault(base, name)
    return {name: base for base, name in first.items()}


def _has_sources(names: Sequence[str]) -> bool:
    """Whether the series are a kernel's and the simulator's."""
    return any(without_source(name) != name for name in names)


def _has_quantities(spec: Figure) -> bool:
    """Whether the names of series begin with quantities."""
    return len(spec.quantities) > 1 and spec.panels != PANEL_QUANTITY


def _is_plain(names: Sequence[str], flows: Sequence[str], spec: Figure) -> bool:
    """Whether the series are few numbers of the whole network, next to flows that have colours."""
    several = bool(flows) and _has_quantities(spec) and not set(names) & set(flows)
    return several and len(names) <= len(SHADES) and not _has_sources(names)


def _groups(names: Sequence[str], spec: Figure, *, bars: bool) -> tuple[list[str], list[int]]:
    """What the colour of each series stands for, and which of the series of this colour it is.

    The name of a series begins with its quantity if there are several. What has more values, quantity or
    the rest, has the colours.
    """
    bases = [without_source(name) for name in names]
    pairs = [(first, rest) for first, comma, rest in (base.partition(", ") for base in bases) if comma]
    if _has_quantities(spec) and len(pairs) == len(names):
        firsts, rests = (list(column) for column in zip(*pairs, strict=True))
        keys, others = (rests, firsts) if len(set(rests)) >= len(set(firsts)) else (firsts, rests)
        order = list(dict.fromkeys(others))
        room = len(DASHES) // 2
        if bars:
            room = 1 if _has_sources(names) else len(_OPACITIES)
        if len(set(keys)) <= len(PALETTE) and len(order) <= room:
            return keys, [order.index(other) for other in others]
    order = list(dict.fromkeys(bases))
    return bases, [order.index(base) // len(PALETTE) for base in bases]


def _places(order: Sequence[str], flows: Sequence[str]) -> dict[str, int]:
    """Each name's place in the palette: flows have theirs, others take those that are free."""
    shown = {name: flows.index(name) for name in order if name in flows}
    if not shown or len(order) > len(PALETTE):
        shown = shown if len(shown) == len(order) else {}
        return shown or {name: k for k, name in enumerate(order)}
    used = {place % len(PALETTE) for place in shown.values()}
    # A colour of a flow that this figure does not show is the last to be taken.
    free = [*range(min(len(flows), len(PALETTE)), len(PALETTE)), *range(len(flows))]
    left = iter([place for place in free if place not in used])
    return {name: shown[name] if name in shown else next(left) for name in order}


def without_source(name: str) -> str:
    """The name of a series without which of a kernel and the simulator it is of."""
    return name.removesuffix(KERNEL).removesuffix(SIMULATOR).removesuffix(", ")
