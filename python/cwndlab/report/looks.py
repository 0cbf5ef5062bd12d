"""The looks that distinguish the series of a figure: colours, dashes of lines, fills of bars."""

from __future__ import annotations

from collections.abc import Sequence

from cwndlab.study.outputs import PANEL_QUANTITY, Figure

from .palette import PALETTE, PLAIN, SHADES

#: The endings of series' names in a report that compares a kernel with the simulator.
KERNEL, SIMULATOR = "kernel", "simulator"

DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4], [3, 1]]

#: The index in the palette of the colour most similar to an earlier one.
NEAR = 4

HOLLOW = "transparent"
"""The fill of the simulator's bars next to a kernel's bars."""

#: Suffixes of a colour that set the opacity of its bars, in hexadecimal.
_OPACITIES = ["", "80", "33"]


def choose_colours(
    names: Sequence[str], flows: Sequence[str], spec: Figure, *, bars: bool = False
) -> list[str]:
    """A colour for each series. A series named after a flow has the flow's colour in the whole report.

    Series that differ only in kernel or simulator share a colour, and so do several quantities of one flow.
    If flows have colours, up to three series of the whole network (such as a mean and a percentile) are grey;
    if such series compare a kernel with the simulator, they get colours that no flow has.
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
    """The dashes of each series, which distinguish the kernel's and the simulator's series of one name."""
    keys, levels = _groups(names, spec, bars=False)
    if _has_sources(names):
        at = [2 * level + name.endswith(SIMULATOR) for name, level in zip(names, levels, strict=True)]
    elif len(set(keys)) < len(names) and max(levels) and len(set(keys)) <= len(PALETTE):
        at = levels
    else:
        at = [k + k // len(PALETTE) for k in range(len(names))]
    return [DASHES[k % len(DASHES)] for k in at]


def choose_fills(names: Sequence[str], colours: Sequence[str], spec: Figure) -> list[str] | None:
    """The fill of each series' bars, based on its colour; None if colours alone distinguish the bars."""
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
    """Series -> its text in a legend.

    Series that differ only in kernel or simulator have one entry, without that ending: they share a colour
    and differ in dashes or outlines.
    """
    bases = {name: without_source(name) for name in names}
    if not _has_sources(names) or not all(bases.values()):
        return {name: name for name in names}
    first: dict[str, str] = {}
    for name, base in bases.items():
        first.setdefault(base, name)
    return {name: base for base, name in first.items()}


def _has_sources(names: Sequence[str]) -> bool:
    """Whether some names end with `KERNEL` or `SIMULATOR`."""
    return any(without_source(name) != name for name in names)


def _has_quantities(spec: Figure) -> bool:
    """Whether the series' names begin with the names of quantities."""
    return len(spec.quantities) > 1 and spec.panels != PANEL_QUANTITY


def _is_plain(names: Sequence[str], flows: Sequence[str], spec: Figure) -> bool:
    """Whether the series are quantities of the whole network, in a report whose flows have colours.

    False for more series than `SHADES`, or if a kernel's series are compared with the simulator's.
    """
    several = bool(flows) and _has_quantities(spec) and not set(names) & set(flows)
    return several and len(names) <= len(SHADES) and not _has_sources(names)


def _groups(names: Sequence[str], spec: Figure, *, bars: bool) -> tuple[list[str], list[int]]:
    """For each series, the part of its name that sets its colour, and its number among those of that colour.

    If a figure shows several quantities, a series' name begins with its quantity. Its colour is then that of
    the quantity or of the rest of the name, whichever has more values.
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
    """Each name's index in the palette: flows keep theirs, other names use free ones."""
    shown = {name: flows.index(name) for name in order if name in flows}
    if not shown or len(order) > len(PALETTE):
        shown = shown if len(shown) == len(order) else {}
        return shown or {name: k for k, name in enumerate(order)}
    used = {place % len(PALETTE) for place in shown.values()}
    # Colours of flows that this figure does not show are used last.
    free = [*range(min(len(flows), len(PALETTE)), len(PALETTE)), *range(len(flows))]
    left = iter([place for place in free if place not in used])
    return {name: shown[name] if name in shown else next(left) for name in order}


def without_source(name: str) -> str:
    """The name of a series without its ending `KERNEL` or `SIMULATOR`."""
    return name.removesuffix(KERNEL).removesuffix(SIMULATOR).removesuffix(", ")
