"""SVG of figures, for use inside a page and as separate files."""

from __future__ import annotations

import re
from xml.etree import ElementTree

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


def inline_svg(svg: str, prefix: str = "", title: str = "", description: str = "", look: str = "") -> str:
    """A figure's SVG for use inside a page: only drawing elements and attributes, no links, no scripts.

    Other elements raise ValueError; other attributes are dropped. `prefix` is put before ids, so that figures
    of one page do not use each other's clip paths. `look` is the CSS class of the figure; if it is given, the
    original width becomes the CSS variable --width.
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


#: The least number of equal marks whose shape is written once and referenced.
_MANY = 6
_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")


def _share_marks(root: ElementTree.Element, prefix: str) -> None:
    """Writes the shape of marks that differ only in position once, which halves the size of packet graphs."""
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
    """The SVG with a white background and black text."""
    return re.sub(
        r"(<svg\b[^>]*>)", r'\1<rect width="100%" height="100%" fill="#fff"/>', svg, count=1
    ).replace("<svg ", '<svg color="#111" ', 1)
