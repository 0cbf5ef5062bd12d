"""The commands that list metrics, knobs, queues, applications and impairments."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from cwndlab.errors import StudyError, nearest
from cwndlab.spec.applications import APPLICATIONS as _APPLICATIONS
from cwndlab.spec.described import Kind
from cwndlab.spec.impairments import IMPAIRMENTS as _IMPAIRMENTS
from cwndlab.spec.measures import ALIASES
from cwndlab.spec.queues import QUEUES as _QUEUES

from .arguments import JsonOption
from .output import columns, echo, echo_json

if TYPE_CHECKING:
    from cwndlab.metrics import Metric

_SUFFIX = re.compile(r"_(ns|bytes|bps|s)\Z")


@dataclass(frozen=True)
class Section:
    """All kinds of one part of a study."""

    what: str
    plural: str
    intro: str
    kinds: Mapping[str, Kind]
    #: The part in a scenario: puts it in, given the scenario, and finds it again.
    put: Callable[[dict[str, Any], dict[str, Any]], None]
    find: Callable[[dict[str, Any]], dict[str, Any]]

    def engine_keys(self, kind: str) -> dict[str, Any]:
        """The keys of a kind with their defaults, as the engine completes them; without their units."""
        from cwndlab.core import core

        scenario = json.loads(_scenario())
        example = self.kinds[kind].example
        self.put(scenario, {"kind": kind, **example})
        completed = self.find(json.loads(core().complete_scenario(json.dumps(scenario))))
        return {
            _SUFFIX.sub("", key): "" if key in example else _shown(key, value)
            for key, value in completed.items()
            if key not in ("kind", "unit")
        }

    def data(self, kind: str) -> dict[str, Any]:
        """What there is to know of a kind."""
        described, defaults = self.kinds[kind], self.engine_keys(kind)
        keys = {
            key: {"about": about, "default": defaults.get(key, "")} for key, about in described.keys.items()
        }
        return {"kind": kind, "about": described.about, "source": described.source, "keys": keys}

    def sourced(self, kind: str) -> str:
        """A kind in a line, with its source."""
        described = self.kinds[kind]
        return described.about + (f" ({described.source})" if described.source else "")


@cache
def _scenario() -> str:
    """A scenario with one link and one application."""
    from cwndlab.study import Study

    study = Study.from_dict(
        {
            "title": "one link",
            "topology": {"nodes": ["a", "b"], "links": [{"between": ["a", "b"], "rate": "1Mbps"}]},
            "traffic": [{"name": "x", "client": "a", "server": "b", "app": {"kind": "bulk"}}],
            "run": {"duration": "1s"},
        }
    )
    return study.plan().cells[0].scenario


def _shown(key: str, value: object) -> str:
    """A default as a study writes it; nothing for what is absent without it."""
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
    "of a kind, too. There is neither CAKE nor FQ-PIE (`fq_pie`).",
    _QUEUES,
    lambda scenario, queue: scenario["links"][0].update(queue=queue),
    lambda scenario: scenario["links"][0]["queue"],
)
APPLICATIONS = Section(
    "application",
    "apps",
    "The `app` of a `[[traffic]]` entry, and of a group of flows of `[dumbbell]`:\n"
    '`app = { kind = "cbr", rate = "5Mbps" }`.',
    _APPLICATIONS,
    lambda scenario, app: scenario["traffic"][0].update(app=app),
    lambda scenario: scenario["traffic"][0]["app"],
)
IMPAIRMENTS = Section(
    "impairment",
    "impairments",
    'The `impairments` of a link: `impairments = [{ kind = "jitter", max = "2ms" }]`, also in `forward`\n'
    "and `reverse`.",
    _IMPAIRMENTS,
    lambda scenario, impairment: scenario["links"][0].update(impairments=[impairment]),
    lambda scenario: scenario["links"][0]["impairments"][0],
)


def _metric_names() -> list[str]:
    from cwndlab import metrics as known

    return known.names()


def _knob_names() -> list[str]:
    from cwndlab._core import tcp_knobs

    return [str(knob["name"]) for knob in json.loads(tcp_knobs())]


def _argument(names: Callable[[], list[str]]) -> Any:
    """A name of the list, which the shell completes."""
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
    plain = {re.sub(r"_(ns|bytes|segments)\Z", "", known): known for known in found}
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
        data = section.data(name) if name is not None else [section.data(kind) for kind in section.kinds]
        echo_json(data)
    elif name is None:
        echo(columns([(kind, section.sourced(kind)) for kind in section.kinds]))
    else:
        keys: dict[str, dict[str, str]] = section.data(name)["keys"]
        shown = {
            key: f"(default {words['default']})" if words["default"] else "" for key, words in keys.items()
        }
        rows = [(key, f"{words['about']} {shown[key]}") for key, words in keys.items()]
        echo(f"{name}: {section.sourced(name)}\n")
        echo(columns(rows) if rows else "It has no keys.")


# ── metrics ───────────────────────────────────────────────────────────────────────────────────────────────


def metric_options(metric: Metric) -> dict[str, tuple[str, str | None]]:
    """Each option's type in words, and its default as TOML (None: required; "": none)."""
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
    """Its unit, range, form and tables in words."""
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
