"""Converts knobs with units to the engine's keys: `initial = "6s"` becomes `initial_ns = 6000000000`.

A value with a unit sets the key whose name ends with that unit. TCP knobs are checked against the profile's
keys; the engine checks the keys of applications, queues and impairments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from cwndlab._core import parse_quantity, tcp_renamed
from cwndlab.base.errors import Findings, KeyPath, nearest, problem_at
from cwndlab.base.laws import OF_YOUR_OWN

#: Matches text like a number with a unit, known or unknown.
_QUANTITY = re.compile(r"\s*[-+]?[\d.]+\s*[A-Za-zµ%/]+\s*\Z")
_RENAMED = dict(tcp_renamed())
_SUFFIX = {"time": "_ns", "rate": "_bps", "size": "_bytes", "packets": "_segments"}
_EXAMPLE = {"time": '"200ms"', "rate": '"1.5Mbps"', "size": '"1460B"', "packets": '"25pkt"'}


def quantity(text: str, path: KeyPath) -> tuple[str, int | float] | None:
    """The kind (time, rate, size, packets, share) and value of a text with a unit; None without a unit."""
    if not _QUANTITY.match(text):
        return None
    try:
        kind, value = parse_quantity(text)
        if kind == "bdp":
            raise ValueError(f"{text!r} fits only the limit of a queue")
        if kind == "share" and value > 1:
            raise ValueError(f"{text!r} is not a valid percentage; write at most 100%")
    except ValueError as error:
        raise problem_at(path, str(error)) from None
    return kind, value


class Choices(NamedTuple):
    """The knobs of a profile that select an alternative, and those that can be off."""

    #: Knob -> the words that it accepts -> the knobs of that alternative; None if it has none.
    alternatives: Mapping[str, Mapping[str, Mapping[str, Any] | None]] = MappingProxyType({})
    #: Knob that can be off -> its knobs when it is on.
    switches: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def with_words(self, knob: str, words: Iterable[str]) -> Choices:
        """The choices with further words for a knob; these alternatives have no knobs."""
        more = {**self.alternatives[knob], **dict.fromkeys(words)}
        return self._replace(alternatives={**self.alternatives, knob: more})


NO_CHOICES = Choices()


def tcp(
    template: Mapping[str, Any], given: Mapping[str, Any], path: KeyPath, choices: Choices = NO_CHOICES
) -> dict[str, Any]:
    """The profile's configuration `template` with the study's overrides `given`."""
    config, wrong = dict(template), Findings()
    for key, value in given.items():
        with wrong:
            _override(config, template, value, (*path, key), choices)
    wrong.report()
    return config


def _override(
    config: dict[str, Any], template: Mapping[str, Any], value: Any, at: KeyPath, choices: Choices
) -> None:
    """Sets one knob in a configuration; the path `at` ends with the knob's name."""
    key = str(at[-1])
    if key in choices.alternatives:
        config[key] = _alternative(template[key], value, at, choices.alternatives[key])
        return
    if key in choices.switches:
        config[key] = _switch(template[key], value, at, choices.switches[key])
        return
    if key in ("initial_window", "max_window") and key in template:
        config[key] = _window(value, at)
        return
    if isinstance(value, Mapping):
        _known(key, template, at)
        nested = template[key]
        # A table of plain knobs is merged with the profile's; an alternative with its own knobs, such as {
        # delayed = { … } }, replaces the profile's.
        plain = isinstance(nested, Mapping) and not any(isinstance(it, Mapping) for it in nested.values())
        config[key] = tcp(nested, value, at) if plain else convert_to_base_units(value, at)
        return
    kind = quantity(value, at) if isinstance(value, str) else None
    if kind is None:
        _known(key, template, at)
        if isinstance(value, str) and not isinstance(template[key], str | Mapping):
            raise problem_at(at, f"{value!r} does not fit", f"this knob is {_describe(template[key])}")
        if not isinstance(value, str) and isinstance(template[key], bool) != isinstance(value, bool):
            raise problem_at(at, f"{value!r} does not fit", f"this knob is {_describe(template[key])}")
        config[key] = value
        return
    suffixed = _with_suffix(key, kind[0])
    if suffixed in template:
        config[suffixed] = kind[1]
    elif key in template and kind[0] in ("size", "packets") and not key.endswith(("_ns", "_bps")):
        config[key] = kind[1]
    else:
        _known(key, template, at)
        raise problem_at(
            at,
            f"{value!r} is {_amount(kind[0])}, which this knob is not",
            f"it is {_describe(template[key])}",
        )


def alternative_name(value: Any) -> str:
    """The name of an alternative, given as a word or as a table with its knobs."""
    return str(next(iter(value))) if isinstance(value, Mapping) else str(value)


def _alternative(
    current: Any, value: Any, at: KeyPath, words: Mapping[str, Mapping[str, Any] | None]
) -> str | dict[str, Any]:
    """The value of a knob that selects an alternative: "reno", or { reno = { … } } with its knobs.

    Knobs that are not given stay as they are if the alternative does; else the profile's values apply.
    """
    table: Mapping[str, Any] = {value: {}} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or len(table) != 1:
        named = table if isinstance(table, Mapping) else {}
        example = next(word for word in (*named, *words) if words.get(word))
        right = f'write one name, {at[-1]} = "{example}", or {at[-1]} = {{ {example} = {{ … }} }}'
        names = " and ".join(named)
        raise problem_at(at, f"it names both {names}" if names else f"{value!r} does not fit", right)
    word, given = next(iter(table.items()))
    if word not in words:
        right = nearest(word, words)
        if at[-1] == "window_law":
            right += f"; {OF_YOUR_OWN}"
        raise problem_at(at, f'there is no {at[-1]} "{word}"', right)
    inside = (*at, word)
    if not isinstance(given, Mapping):
        raise problem_at(inside, f"{given!r} does not fit", "this is a table of knobs { … }")
    knobs = words[word]
    if knobs is None:
        for key in given:
            raise problem_at((*inside, key), f'there is no TCP knob "{key}" here', f"{word} has no knobs")
        return word
    start = current[word] if isinstance(current, Mapping) and word in current else knobs
    return {word: tcp(start, given, inside)}


def _switch(
    current: Mapping[str, Any] | None, value: Any, at: KeyPath, knobs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The value of a knob that can be off: None if false, else its knobs; `true` keeps the current ones."""
    if value is False:
        return None
    if value is True or isinstance(value, Mapping):
        return tcp(current or knobs, {} if value is True else value, at)
    raise problem_at(at, f"{value!r} does not fit", "this knob is true, false or a table of its knobs")


def _describe(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a whole number" if isinstance(value, int) else "a name" if isinstance(value, str) else "a table"


def _amount(kind: str) -> str:
    """A kind of quantity in words, such as "a time"."""
    return "a number of packets" if kind == "packets" else f"a {kind}"


def _with_suffix(key: str, kind: str) -> str:
    suffix = _SUFFIX.get(kind, "")
    return key if key.endswith(suffix) else key + suffix


@lru_cache(maxsize=1024)
def plain_name(key: str) -> str:
    """The name of a knob without its unit suffix."""
    return next((key.removesuffix(suffix) for suffix in _SUFFIX.values() if key.endswith(suffix)), key)


def _known(key: str, template: Mapping[str, Any], at: KeyPath) -> None:
    if key in template:
        return
    for kind, suffix in _SUFFIX.items():
        if key + suffix in template:
            raise problem_at(
                at,
                f"this knob is {_amount(kind)}",
                f"write it with its unit in quotes, like {_EXAMPLE[kind]}",
            )
    for name in (f"{at[-2]}.{plain_name(key)}", plain_name(key)):
        if name in _RENAMED:
            new = _RENAMED[name]
            written = f"write {new}" if "=" in new else f"write {new} = …"
            raise problem_at(at, f"the knob {key!r} has another place", written)
    plain = [name.removesuffix("_ns").removesuffix("_bytes") for name in template]
    raise problem_at(at, f"there is no TCP knob {key!r}", nearest(key, plain, limit=40))


def _window(value: Any, at: KeyPath) -> Any:
    """A window in the scenario's form, from 4, "4pkt", "64KiB" or "rfc6928"; tables are kept."""
    if isinstance(value, bool):
        raise problem_at(
            at, f"{value!r} is no window", 'a number of segments, "64KiB", or a rule such as "rfc6928"'
        )
    if isinstance(value, int):
        value = f"{value}pkt"
    if isinstance(value, str):
        kind = quantity(value, at)
        if kind is None:
            return value
        if kind[0] not in ("packets", "size"):
            raise problem_at(
                at, f"{value!r} is no window", 'a number of segments, "64KiB", or a rule such as "rfc6928"'
            )
        if kind[1] < 1:
            raise problem_at(at, f"a window of {value!r} sends nothing", "it must be at least 1")
        return {"segments" if kind[0] == "packets" else "bytes": kind[1]}
    return value


def convert_to_base_units(given: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
    """Knobs of a queue, an impairment or a stack, with the engine's names and units."""
    table: dict[str, Any] = {}
    for key, value in given.items():
        at = (*path, key)
        if isinstance(value, Mapping):
            table[key] = convert_to_base_units(value, at)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            table[key] = [
                convert_to_base_units(item, (*at, i)) if isinstance(item, Mapping) else item
                for i, item in enumerate(value)
            ]
        elif isinstance(value, list):
            converted = [quantity(item, at) if isinstance(item, str) else None for item in value]
            kinds = {kind[0] for kind in converted if kind is not None}
            target = _with_suffix(key, kinds.pop()) if len(kinds) == 1 and kinds <= {"time"} else key
            table[target] = [
                kind[1] if kind is not None else item for kind, item in zip(converted, value, strict=True)
            ]
        elif isinstance(value, str) and (kind := quantity(value, at)) is not None:
            target = key if kind[0] in ("packets", "share") or key == "bytes" else _with_suffix(key, kind[0])
            table[target] = kind[1]
        else:
            table[key] = value
    return table


def app(given: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
    """Knobs of an application in the engine's form. A single size or time makes a fixed distribution."""
    table: dict[str, Any] = {}
    for key, value in given.items():
        at = (*path, key)
        if key == "kind":
            table[key] = value
        elif isinstance(value, Mapping) and "kind" in value:
            target, distribution = _distribution(key, value, at)
            table[target] = distribution
        elif (
            isinstance(value, int | float) and not isinstance(value, bool) and key.endswith(("_s", "_bytes"))
        ):
            table[key] = {"kind": "fixed", "value": float(value)}
        elif isinstance(value, str) and (kind := quantity(value, at)) is not None:
            if kind[0] == "time" and not key.endswith("_ns"):
                table[key if key.endswith("_s") else f"{key}_s"] = {"kind": "fixed", "value": kind[1] / 1e9}
            elif kind[0] == "size" and key != "bytes":
                table[_with_suffix(key, "size")] = {"kind": "fixed", "value": float(kind[1])}
            elif kind[0] == "rate":
                table[_with_suffix(key, "rate")] = kind[1]
            else:
                table[key] = kind[1]
        else:
            table[key] = value
    return table


def _distribution(key: str, given: Mapping[str, Any], path: KeyPath) -> tuple[str, dict[str, Any]]:
    table: dict[str, Any] = {}
    kinds: set[str] = set()
    for name, value in given.items():
        kind = (
            quantity(value, (*path, name))
            if isinstance(value, str) and name not in ("kind", "name")
            else None
        )
        if kind is None:
            table[name] = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        else:
            kinds.add(kind[0])
            table[name] = kind[1] / 1e9 if kind[0] == "time" else float(kind[1])
    if len(kinds) > 1:
        raise problem_at(path, f"this distribution mixes {' and '.join(sorted(kinds))}")
    if kinds == {"time"} and not key.endswith("_s"):
        key = f"{key}_s"
    elif kinds == {"size"}:
        key = _with_suffix(key, "size")
    return key, table
