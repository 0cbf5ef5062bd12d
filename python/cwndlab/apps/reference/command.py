"""The commands that list studies, metrics, knobs, queues, applications and impairments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from cwndlab import _core
from cwndlab.base.engine_kinds import UNIT_SUFFIX, EngineKind, engine_kinds
from cwndlab.base.errors import StudyError, nearest
from cwndlab.cli.arguments import JsonOption
from cwndlab.cli.output import columns, echo, echo_json
from cwndlab.study.knobs import plain_name
from cwndlab.study.measures import ALIASES

if TYPE_CHECKING:
    from cwndlab.metrics import Metric

#: Keys that users do not write in a study: the unit is part of a limit.
_IMPLIED = ("unit",)


def list_studies(json_: JsonOption = False) -> None:
    """List the shipped studies."""
    from cwndlab.study.document import titles

    found = titles()
    if json_:
        echo(json.dumps([{"name": n, "title": t} for n, t in found.items()], indent=1, ensure_ascii=False))
    else:
        echo(columns(list(found.items())))


@dataclass(frozen=True)
class Section:
    """All kinds of one part of a study, such as queues."""

    what: str
    plural: str
    intro: str
    #: Pages in docs/models/ by kind; other kinds use `page`, or the page with the kind's name.
    pages: Mapping[str, str] = field(default_factory=dict)
    page: str | None = None

    @cached_property
    def kinds(self) -> Mapping[str, Mapping[str, Any]]:
        """The name, description and keys of each kind, by name."""
        return {name: _described(name, kind) for name, kind in engine_kinds(self.what).items()}


def _described(name: str, kind: EngineKind) -> dict[str, Any]:
    """A kind's name, description and keys."""
    keys = {
        UNIT_SUFFIX.sub("", key): {
            "about": _one_line(value.get("description", "")) + _listed_one_line(value, kind.definitions),
            "default": _default_text(key, value.get("default")),
            "required": key in kind.required,
        }
        for key, value in kind.keys.items()
        if key not in _IMPLIED
    }
    return {"kind": name, "about": _one_line(kind.about), "keys": keys}


def _listed_one_line(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The allowed values of a key as a sentence, if they are enumerated."""
    listed = definitions.get(value.get("$ref", "").rpartition("/")[2], {})
    words = listed.get("enum") or [choice["const"] for choice in listed.get("oneOf", ()) if "const" in choice]
    return f" One of {', '.join(map(json.dumps, words))}." if words else ""


def _one_line(text: str) -> str:
    """A doc comment on one line, without its links."""
    return re.sub(r"\[(`[^`]*`)\](\([^)]*\))?", r"\1", " ".join(text.split()))


def _default_text(key: str, value: object) -> str:
    """A default as written in a study; "" for None."""
    if value is None:
        return ""
    if isinstance(value, dict) and value.get("kind") == "fixed":
        number = value["value"]
        return f'"{number * 1e3:g}ms"' if key.endswith("_s") else f'"{number:g}B"'
    if key.endswith("_ns") and isinstance(value, int):
        return f'"{value / 1e6:g}ms"'
    return json.dumps(value, ensure_ascii=False)


QUEUES = Section(
    "queue",
    "queues",
    'The `queue` of a link: `queue = { kind = "codel", target = "5ms" }`. `[dumbbell]` takes the name\n'
    'of a kind, too. A `limit` is written as "25pkt", "64KiB" or "1BDP".',
    pages={"infinite": "link", "drop-on-full": "drop_tail"},
)
APPLICATIONS = Section(
    "app",
    "apps",
    "The `app` of a `[[traffic]]` entry, and of a group of flows of `[dumbbell]`:\n"
    '`app = { kind = "cbr", rate = "5Mbps" }`.',
    page="applications",
)
IMPAIRMENTS = Section(
    "impairment",
    "impairments",
    'The `impairments` of a link: `impairments = [{ kind = "jitter", max = "2ms" }]`, also in `forward`\n'
    "and `reverse`.",
    page="loss",
)


def _metric_names() -> list[str]:
    from cwndlab import metrics as known

    return known.names()


def _knob_names() -> list[str]:
    return [str(knob["name"]) for knob in json.loads(_core.tcp_knobs())]


def _argument(names: Callable[[], list[str]]) -> Any:
    """An optional name argument with shell completion."""
    return typer.Argument(
        metavar="[NAME]",
        help="show everything about this one",
        autocompletion=lambda incomplete: [name for name in names() if name.startswith(incomplete)],
    )


MetricName = Annotated[str | None, _argument(_metric_names)]
KnobName = Annotated[str | None, _argument(_knob_names)]
QueueName = Annotated[str | None, _argument(lambda: list(QUEUES.kinds))]
AppName = Annotated[str | None, _argument(lambda: list(APPLICATIONS.kinds))]
ImpairmentName = Annotated[str | None, _argument(lambda: list(IMPAIRMENTS.kinds))]


def metrics(name: MetricName = None, as_json: JsonOption = False) -> None:
    """List the metrics, or describe one: formula, unit, range, options."""
    from cwndlab import metrics as known

    if name is None:
        found = [known.get(metric) for metric in known.names()]
        if as_json:
            echo_json([_metric_data(metric) for metric in found])
        else:
            echo(columns([(metric.name, metric.title) for metric in found]))
        return
    name = ALIASES.get(name, name)
    if name not in known.names():
        raise StudyError(f'there is no metric "{name}"', right=nearest(name, known.names()))
    metric = known.get(name)
    if as_json:
        echo_json(_metric_data(metric))
    else:
        echo(_metric_text(metric))


def knobs(name: KnobName = None, as_json: JsonOption = False) -> None:
    """List the TCP knobs, or describe one: its value in each profile, with the source."""
    from cwndlab._core import tcp_knobs

    found: dict[str, dict[str, Any]] = {knob["name"]: knob for knob in json.loads(tcp_knobs())}
    if name is None:
        rows = [(knob["name"], f"{knob['type']}. {knob['doc']}") for knob in found.values()]
        if as_json:
            echo_json(list(found.values()))
        else:
            echo(columns(rows))
        return
    plain = {plain_name(known): known for known in found}
    knob = found.get(name) or found.get(plain.get(name, ""))
    if knob is None:
        raise StudyError(f'there is no TCP knob "{name}"', right=nearest(name, [*found, *plain]))
    if as_json:
        echo_json(knob)
        return
    echo(f"{knob['name']}: {knob['type']}\n{knob['doc']}\n")
    echo(columns([(p, f"{_value(v)}  ({knob['sources'][p]})") for p, v in knob["values"].items()]))


def queues(name: QueueName = None, as_json: JsonOption = False) -> None:
    """List the kinds of queues, or describe one: its keys and their defaults."""
    _show(QUEUES, name, as_json)


def apps(name: AppName = None, as_json: JsonOption = False) -> None:
    """List the kinds of applications, or describe one: its keys and their defaults."""
    _show(APPLICATIONS, name, as_json)


def impairments(name: ImpairmentName = None, as_json: JsonOption = False) -> None:
    """List the kinds of impairments of a link, or describe one: its keys and their defaults."""
    _show(IMPAIRMENTS, name, as_json)


def _show(section: Section, name: str | None, as_json: bool) -> None:
    if name is not None and name not in section.kinds:
        raise StudyError(f'there is no {section.what} "{name}"', right=nearest(name, section.kinds))
    if as_json:
        echo_json(section.kinds[name] if name is not None else list(section.kinds.values()))
    elif name is None:
        echo(columns([(kind, found["about"]) for kind, found in section.kinds.items()]))
    else:
        found = section.kinds[name]
        rows = [(key, words["about"] + _mark(words)) for key, words in found["keys"].items()]
        echo(f"{name}: {found['about']}\n")
        echo(columns(rows) if rows else "It has no keys.")


def _mark(words: Mapping[str, Any]) -> str:
    """The text after a key's description: "(required)" or the default."""
    if words["required"]:
        return " (required)"
    return f" (default {words['default']})" if words["default"] else ""


# ── metrics ───────────────────────────────────────────────────────────────────────────────────────────────


def metric_options(metric: Metric) -> dict[str, tuple[str, str | None]]:
    """The type of each option in words, and its default as TOML (None: required; "": no default)."""
    hints = get_type_hints(metric.measure)
    return {
        p.name: (_type(hints[p.name]), None if p.default is p.empty else _value(p.default))
        for p in inspect.signature(metric.measure).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }


def _type(hint: Any) -> str:
    if get_origin(hint) is list:
        return f"list of {_type(get_args(hint)[0])}"
    if get_args(hint) and get_origin(hint) is not None:
        parts = [part for part in get_args(hint) if part is not type(None)]
        if all(isinstance(part, str) for part in parts):
            return " | ".join(f'"{part}"' for part in parts)
        return " or ".join(_type(part) for part in parts)
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(hint, str(hint))


def _value(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _range(metric: Metric) -> str:
    low, high = metric.range.low, metric.range.high
    if low == float("-inf") and high == float("inf"):
        return "any number"
    return f"{low:g} to {high:g}" if high < float("inf") else f"at least {low:g}"


def _returns(metric: Metric) -> str:
    return "many numbers per run; reduce them by `within`" if metric.many else "one number per run"


def _metric_data(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "unit": metric.unit,
        "range": [None if abs(end) == float("inf") else end for end in (metric.range.low, metric.range.high)],
        "returns": _returns(metric),
        "tables": list(metric.tables),
        "options": {n: {"type": t, "default": d} for n, (t, d) in metric_options(metric).items()},
        "definition": metric.formula,
    }


def metric_facts(metric: Metric) -> list[tuple[str, str]]:
    """The unit, range, form and tables of a metric, in words."""
    return [
        ("unit", "none (a plain number)" if metric.unit == "1" else metric.unit),
        ("range", _range(metric)),
        ("gives", _returns(metric)),
        ("reads", ", ".join(metric.tables)),
    ]


def _metric_text(metric: Metric) -> str:
    from cwndlab.report.methods import formulas_as_text

    options = [
        (
            f"  {name}",
            kind + (" (required)" if default is None else f" (default {default})" if default else ""),
        )
        for name, (kind, default) in metric_options(metric).items()
    ]
    parts = [f"{metric.name}: {formulas_as_text(metric.formula)}", columns(metric_facts(metric))]
    if options:
        parts.append("options\n" + columns(options))
    return "\n\n".join(parts)
