"""The conditions of a study in a line: its network and flows, with every value that is not a default."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cwndlab.base.writing import join_words
from cwndlab.report.digits import space_unit
from cwndlab.study.shorthand import NETWORKS

#: Keys of a short form that are shown by their value alone, in this order.
_PLAIN = ("preset", "rate", "rtt", "queue")
#: Keys of a flow that are omitted because its name and count show them.
_OF_NAME = frozenset({"name", "cc", "stack", "count"})
#: Links of a full form are listed up to this number; more are counted.
_MOST_LINKS = 3


def network_words(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """The network, the flows and the TCP knobs, each in a few words, from a study's tables as written.

    For values that an axis varies, only the key is named; the tables of the report list the values.
    """
    varied = _varied(tables)
    parameters = {
        name: value
        for name, value in _pairs(tables.get("parameters"))
        if f"parameters.{name}" not in varied and not _is_varied(value)
    }
    tables = {key: _filled(value, parameters) for key, value in tables.items()}
    name = next((name for name in NETWORKS if isinstance(tables.get(name), Mapping)), None)
    if name is not None:
        own = _last_parts(varied, name) | _last_parts(varied, "topology.links.bottleneck")
        own |= {"rtt": varied["topology.rtt"]} if "topology.rtt" in varied else {}
        network = [", ".join(_network(tables[name], own)), *_flows(tables[name])]
    else:
        network = [", ".join(_links(tables, varied)), *_traffic(tables)]
    over_ipv6 = "IPv6" if dict(_pairs(tables.get("run"))).get("network") == "ipv6" else ""
    return tuple(filter(None, (*network, ", ".join(_tcp(tables)), over_ipv6)))


def _filled(value: Any, parameters: Mapping[str, object]) -> Any:
    """The value with parameters inserted for references such as "$rate" and "{rate}Mbps"."""
    if isinstance(value, Mapping):
        return {key: _filled(part, parameters) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, parameters) for part in value]
    if not isinstance(value, str):
        return value
    if value.startswith("$") and value[1:] in parameters:
        return parameters[value[1:]]
    return re.sub(r"\{(\w+)\}", lambda found: str(parameters.get(found[1], found[0])), value)


def _varied(tables: Mapping[str, Any]) -> dict[str, str]:
    """The keys that axes set, with the titles of the axes; they override the written values."""
    titles = {}
    axes = tables.get("axes")
    for name, axis in axes.items() if isinstance(axes, Mapping) else ():
        if not isinstance(axis, Mapping):
            continue
        keys = axis.get("sets", [])
        paths = [keys] if isinstance(keys, str) else list(keys)
        for value in axis.get("values", ()):
            if isinstance(value, Mapping):
                paths += value.get("set", {})
        for path in paths:
            titles[str(path)] = str(axis.get("title", name))
    return titles


def _last_parts(varied: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The last parts of the keys below `prefix` that axes set, with the titles of the axes."""
    below = {path: title for path, title in varied.items() if path.startswith(f"{prefix}.")}
    return {path.rpartition(".")[2]: title for path, title in below.items()}


def _network(section: Mapping[str, Any], varied: Mapping[str, str]) -> Iterator[str]:
    """Descriptions of the keys of a short form, without its flows."""
    if "hops" in section:
        yield f"{section['hops']} bottlenecks"
    for key in _PLAIN:
        value = section.get(key, "drop-tail" if key == "queue" else None)
        if key in varied:
            yield f"{key} by {varied[key]}"
        elif _is_varied(value):
            continue  # the report's tables list the values
        elif value is not None:
            yield f"preset {value}" if key == "preset" else _value_text(value)
    for key, value in section.items():
        if key in (*_PLAIN, "hops", "flows", "cross", "buffer") or _is_varied(value):
            if key == "down":
                yield f"down in {len(value)} intervals"
            continue
        yield f"{_words(key)} {_value_text(value)}"
    buffer = section.get("buffer")
    if "buffer" in varied:
        yield f"buffer by {varied['buffer']}"
    elif "queue" in varied:
        return  # a queue that an axis sets has its own limit
    elif isinstance(buffer, int | float):
        yield f"buffer {buffer:g} BDP"
    elif isinstance(buffer, str) and not _is_open(buffer):
        yield f"buffer {space_unit(buffer)}"


def _flows(section: Mapping[str, Any]) -> Iterator[str]:
    """The flows by name, each with its number and its own settings."""
    groups = [(flow, key) for key in ("flows", "cross") for flow in _list_of_tables(section.get(key))]
    names: dict[str, int] = {}
    for flow, key in groups:
        name = _flow_text(flow)
        if key == "cross":
            name = f"{name or 'flow'} at each bottleneck"
        count = flow.get("count", 1)
        if name and count:
            names[name] = names.get(name, 0) + (count if isinstance(count, int) else 1)
    if names:
        yield join_words([f"{count} × {name}" if count > 1 else name for name, count in names.items()])


def _flow_text(flow: Mapping[str, Any]) -> str:
    law, stack = flow.get("cc", "cubic"), flow.get("stack", "")
    kind = f"{stack} {law}".strip() if isinstance(law, str) and not _is_open(law) else str(stack)
    name = str(flow.get("name", kind))
    own = [kind] if kind not in ("", "cubic", name) else []
    own += [
        f"{_words(key)} {_value_text(value)}"
        for key, value in flow.items()
        if key not in _OF_NAME and key not in ("app", "tcp", "down") and not _is_varied(value)
    ]
    app = flow.get("app")
    if isinstance(app, Mapping):
        own.append(str(app.get("kind", "application")))
    knobs = [(key, value) for key, value in _pairs(flow.get("tcp")) if not _is_varied(value)]
    own += [f"{_words(key)} {_value_text(value)}" for key, value in knobs]
    if flow.get("down"):
        own.append("with outages")
    return f"{name} ({', '.join(own)})" if own and name else name


def _links(tables: Mapping[str, Any], varied: Mapping[str, str]) -> Iterator[str]:
    """Descriptions of the links of a full form that have a queue or a rate."""
    topology = tables.get("topology")
    links = topology.get("links") if isinstance(topology, Mapping) else None
    named = (
        list(links.items())
        if isinstance(links, Mapping)
        else [(str(link.get("name", "link")), link) for link in _list_of_tables(links)]
    )
    shown = [(name, link) for name, link in named if isinstance(link, Mapping)]
    if len(shown) > _MOST_LINKS:  # with many links, list only those with a queue
        shown = [(name, link) for name, link in shown if '"queue"' in json.dumps(link, default=str)]
        if not 0 < len(shown) <= _MOST_LINKS:
            yield f"{len(named)} links"
            return
    for name, link in shown:
        parts = list(_link(link, varied, f"topology.links.{name}", ""))
        for side in ("forward", "reverse"):
            if isinstance(own := link.get(side), Mapping):
                parts += _link(own, varied, f"topology.links.{name}.{side}", f"{side} ")
        yield f"{name}: {', '.join(parts)}" if parts else name
    if len(shown) < len(named):
        yield f"{len(named) - len(shown)} other links"
    if isinstance(topology, Mapping) and "rtt" in topology:
        yield f"RTT {_value_text(topology['rtt'])}"


def _link(link: Mapping[str, Any], varied: Mapping[str, str], at: str, side: str) -> Iterator[str]:
    """Descriptions of the keys of a link, or of one direction of it."""
    for key, value in link.items():
        if (title := varied.get(f"{at}.{key}")) is not None:
            yield f"{side}{_words(key)} by {title}"
        elif key in ("rate", "delay") and not _is_varied(value):
            yield f"{side and side + key + ' '}{_value_text(value)}"
        elif key == "queue" and not _is_varied(value):
            yield f"{side and side + 'queue '}{_value_text(value)}"
        elif key == "impairments":
            yield from (f"{side}{_value_text(impairment)}" for impairment in _list_of_tables(value))


def _is_open(value: object) -> bool:
    """Whether a value refers to an axis, as "$iw", "{rate}Mbps" and "= 2 * n" do."""
    if isinstance(value, Mapping):
        return any(_is_open(part) for part in value.values())
    if isinstance(value, list):
        return any(_is_open(part) for part in value)
    return isinstance(value, str) and re.search(r"^=|\$[a-z]|\{[a-z]|\w\(", value) is not None


def _is_varied(value: object) -> bool:
    """Whether a value is a list, which becomes an axis, or refers to an axis."""
    return isinstance(value, list) or _is_open(value)


def _traffic(tables: Mapping[str, Any]) -> Iterator[str]:
    names = [str(entry.get("name", "")) for entry in _list_of_tables(tables.get("traffic"))]
    if named := list(filter(None, names)):
        yield join_words(named) if len(named) <= 4 else f"{len(named)} kinds of traffic"


def _tcp(tables: Mapping[str, Any]) -> Iterator[str]:
    """The TCP knobs that apply to all flows."""
    for key, value in _pairs(tables.get("tcp")):
        if key not in ("groups", "defaults") and not _is_varied(value):
            yield f"{_words(key)} {_value_text(value)}"


def _pairs(table: object) -> Sequence[tuple[str, Any]]:
    return list(table.items()) if isinstance(table, Mapping) else []


def _list_of_tables(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _value_text(value: object) -> str:
    """A value of a study file in words; a table by its kind, with its other keys in parentheses."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return join_words([_value_text(part) for part in value])
    if not isinstance(value, Mapping):
        return space_unit(str(value))
    others = ", ".join(
        f"{_words(key)} {_value_text(part)}"
        for key, part in value.items()
        if key != "kind" and not _is_open(part)
    )
    kind = str(value.get("kind", ""))
    return f"{kind} ({others})" if kind and others else kind or others


def _words(key: str) -> str:
    return key.replace("_", " ")
