"""SVG of figures: inside a page, shorter, and as files of their own."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset(
    "svg g path rect circle line text tspan defs clipPath title desc linearGradient stop".split()
)
_ATTRIBUTES = frozenset(
    """class width height viewBox version color opacity d x y dy x1 x2 y1 y2 cx cy r rx ry transform id
    fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset stroke-linecap
    stroke-linejoin stroke-miterlimit clip-path offset stop-color font-family font-size font-weight font-style
    text-anchor dominant-baseline""".split()
)
"""Without the label of every single mark: thousands of them help no reader; the figure has one of its own."""


def inline_svg(svg: str, prefix: str = "", title: str = "", description: str = "", look: str = "") -> str:
    """A figure's SVG for use inside a page: only drawing elements and attributes, no links, no scripts.

    A figure with anything else is a ValueError, not a page with a hole. `prefix` goes before its ids, so
    that figures of one page do not take each other's clips. `look` is its class in the page's style, which
    also gets its width as drawn.
    """
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        if not isinstance(element.tag, str) or element.tag.removeprefix(_SVG) not in _ELEMENTS:
            raise ValueError(f"element {element.tag!r} has no place in a figure")
        element.tag = element.tag.removeprefix(_SVG)
        for name in list(element.attrib):
            if name not in _ATTRIBUTES:
                del element.attrib[name]
            elif "url(" in element.attrib[name]:
                inside = re.fullmatch(r"url\(#([\w-]+)\)", element.attrib[name])
                if not inside:
                    raise ValueError(f"attribute {name} refers to {element.attrib[name]!r}")
                element.attrib[name] = f"url(#{prefix}{inside[1]})"
            elif name == "id":
                element.attrib[name] = prefix + element.attrib[name]
    root.attrib.pop("id", None)
    root.set("viewBox", root.get("viewBox") or f"0 0 {root.get('width')} {root.get('height')}")
    width = root.attrib.pop("width", "")
    root.attrib.pop("height", None)
    compact(root)
    if look:
        root.attrib |= {"class": look, "style": f"--width:{width}px"}
    _share_marks(root, prefix)
    labels = {tag: text for tag, text in (("title", title), ("desc", description)) if text}
    for position, (tag, text) in enumerate(labels.items()):
        element = ElementTree.Element(tag, id=f"{prefix}{tag}")
        element.text = text
        root.insert(position, element)
    if labels:
        root.set("role", "img")
        root.set("aria-labelledby", " ".join(f"{prefix}{tag}" for tag in labels))
    return ElementTree.tostring(root, encoding="unicode")


#: As many equal marks pay for writing their shape once.
_MANY = 6
_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")


def _share_marks(root: ElementTree.Element, prefix: str) -> None:
    """Writes the shape of marks that differ only in their place once: packet graphs get half as long."""
    shapes = ElementTree.Element("defs")
    for parent in list(root.iter()):
        alike: dict[tuple[tuple[str, str], ...], list[tuple[ElementTree.Element, re.Match[str]]]] = {}
        for mark in parent:
            place = _PLACE.fullmatch(mark.get("transform", ""))
            if mark.tag == "path" and place and "id" not in mark.attrib:
                look = tuple((k, v) for k, v in mark.attrib.items() if k != "transform")
                alike.setdefault(look, []).append((mark, place))
        for look, marks in alike.items():
            if len(marks) < _MANY:
                continue
            name = f"{prefix}mark{len(shapes)}"
            shapes.append(ElementTree.Element("path", {"id": name, **dict(look)}))
            for mark, place in marks:
                mark.tag, mark.attrib = "use", {"href": f"#{name}", "x": place[1], "y": place[2]}
    if len(shapes):
        root.append(shapes)


def on_white(svg: str) -> str:
    """The same picture with a white ground and black text."""
    return re.sub(
        r"(<svg\b[^>]*>)", r'\1<rect width="100%" height="100%" fill="#fff"/>', svg, count=1
    ).replace("<svg ", '<svg color="#111" ', 1)


_NUMBER = re.compile(r"-?\d*\.?\d+(?:e[-+]?\d+)?")
_POLYLINE = re.compile(rf"(?:[ML]{_NUMBER.pattern},{_NUMBER.pattern})+Z?")

#: Attributes with numbers that place or shape something.
_GEOMETRY = frozenset("d transform x y x1 x2 y1 y2 cx cy".split())
#: Values that an attribute has anyway.
_DEFAULTS = {"opacity": "1", "x1": "0", "x2": "0", "y1": "0", "y2": "0", "transform": "translate(0,0)"}
#: What concerns text alone, so that it can be written once for a whole figure.
_OF_TEXT = ("font-family", "font-size", "font-weight", "font-style", "text-anchor")
#: What an element takes from its parent.
_INHERITED = ("fill", "stroke", "stroke-width", "stroke-dasharray")


def compact(root: Element) -> None:
    """Shortens a figure in place. Points are rounded to a tenth of a pixel, finer than a screen shows."""
    for element in root.iter():
        element.attrib.pop("class", None)
        for name in _GEOMETRY & element.attrib.keys():
            element.set(name, _shape(element.attrib[name]))
        for name, value in _DEFAULTS.items():
            if element.get(name) == value:
                del element.attrib[name]
    _drop_blank(root)
    _share_text(root)
    _hoist(root)
    _unwrap(root)


def _shape(text: str) -> str:
    """A path or transformation with rounded numbers; a line through points becomes relative steps."""
    if "scale" in text or "matrix" in text:
        return text
    if not _POLYLINE.fullmatch(text):
        return _NUMBER.sub(lambda match: _tenths(round(10 * float(match[0]))), text)
    parts: list[str] = []
    x = y = 0
    for command, right, down in re.findall(rf"([ML])({_NUMBER.pattern}),({_NUMBER.pattern})", text):
        new_x, new_y = round(10 * float(right)), round(10 * float(down))
        dx, dy = new_x - x, new_y - y
        if command == "M":
            parts.append(f"M{_tenths(new_x)},{_tenths(new_y)}")
        elif dy == 0:
            parts.append(f"h{_tenths(dx)}")
        elif dx == 0:
            parts.append(f"v{_tenths(dy)}")
        else:
            parts.append(f"l{_tenths(dx)},{_tenths(dy)}")
        x, y = new_x, new_y
    return "".join(parts) + "Z" * text.endswith("Z")


def _tenths(value: int) -> str:
    sign, (whole, tenth) = "-" * (value < 0), divmod(abs(value), 10)
    return f"{sign}{whole or ''}.{tenth}" if tenth else f"{sign}{whole}"


def _drop_blank(parent: Element, paint: tuple[str, str] = ("black", "none")) -> None:
    """Removes what draws nothing. `paint` is the fill and the stroke that the children inherit."""
    for child in list(parent):
        if child.tag in ("defs", "clipPath"):
            continue
        own = child.get("fill", paint[0]), child.get("stroke", paint[1])
        _drop_blank(child, own)
        blank = child.tag == "path" and (not child.get("d") or own == ("none", "none"))
        if blank or (child.tag == "g" and len(child) == 0):
            parent.remove(child)


def _unwrap(parent: Element) -> None:
    """Replaces groups that say nothing about their content by the content."""
    children: list[Element] = []
    for child in parent:
        _unwrap(child)
        children.extend([child] if child.tag != "g" or child.attrib else child)
    parent[:] = children


def _share_text(root: Element) -> None:
    """Writes the commonest properties of the texts once, at the root."""
    texts = list(root.iter("text"))
    for name in _OF_TEXT:
        if not texts or name in root.attrib or any(name in group.attrib for group in root.iter("g")):
            continue
        values = Counter(text.get(name) for text in texts)
        common, count = values.most_common(1)[0]
        # A text without the property would take the root's.
        if common is not None and values[None] == 0 and count > 1:
            root.set(name, common)
            for text in texts:
                if text.get(name) == common:
                    del text.attrib[name]


def _hoist(parent: Element) -> None:
    """Writes what all children of a group inherit alike in the group."""
    for child in parent:
        if child.tag not in ("defs", "clipPath"):
            _hoist(child)
    if parent.tag != "g" or len(parent) < 2:
        return
    for name in _INHERITED:
        values = {child.get(name) for child in parent}
        if len(values) == 1 and None not in values:
            for child in parent:
                parent.set(name, child.attrib.pop(name))
