"""What metrics, knobs and queues there are: `cwndlab metrics`, and the pages of docs/reference."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from cwndlab.errors import StudyError, nearest

from .options import JsonOption
from .output import columns, echo

if TYPE_CHECKING:
    from cwndlab.metrics import Metric


def _metric_names() -> list[str]:
    from cwndlab import metrics as known

    return known.names()


def _knob_names() -> list[str]:
    from cwndlab._core import tcp_knobs

    return [str(knob["name"]) for knob in json.loads(tcp_knobs())]


def _queue_names() -> list[str]:
    from cwndlab.spec.queues import QUEUES

    return list(QUEUES)


def _argument(names: Callable[[], list[str]]) -> Any:
    """A name of the list, which the shell completes."""
    return typer.Argument(
        metavar="[NAME]",
        help="show everything about this one",
        autocompletion=lambda incomplete: [name for name in names() if name.startswith(incomplete)],
    )


MetricName = Annotated[str | None, _argument(_metric_names)]
KnobName = Annotated[str | None, _argument(_knob_names)]
QueueName = Annotated[str | None, _argument(_queue_names)]


def metrics(name: MetricName = None, as_json: JsonOption = False) -> None:
    """List the metrics, or show one: formula, unit, range, options."""
    from cwndlab import metrics as known

    if name is None:
        found = [known.get(metric) for metric in known.names()]
        if as_json:
            echo(json.dumps([_metric_data(metric) for metric in found], indent=1, ensure_ascii=False))
        else:
            echo(columns([(metric.name, metric.title) for metric in found]))
        return
    if known.ALIASES.get(name, name) not in known.names():
        right = nearest(name, [*known.names(), *known.ALIASES])
        raise StudyError(f'there is no metric "{name}"', right=right)
    metric = known.get(known.ALIASES.get(name, name))
    if as_json:
        echo(json.dumps(_metric_data(metric), indent=1, ensure_ascii=False))
    else:
        echo(_metric_text(metric))


def knobs(name: KnobName = None, as_json: JsonOption = False) -> None:
    """List the knobs of TCP, or show one: values of all profiles, with their sources."""
    from cwndlab._core import tcp_knobs

    found: dict[str, dict[str, Any]] = {knob["name"]: knob for knob in json.loads(tcp_knobs())}
    if name is None:
        rows = [(knob["name"], f"{knob['type']}. {knob['doc']}") for knob in found.values()]
        echo(json.dumps(list(found.values()), indent=1, ensure_ascii=False) if as_json else columns(rows))
        return
    plain = {re.sub(r"_(ns|bytes|segments)\Z", "", known): known for known in found}
    knob = found.get(name) or found.get(plain.get(name, ""))
    if knob is None:
        raise StudyError(f'there is no TCP knob "{name}"', right=nearest(name, [*found, *plain]))
    if as_json:
        echo(json.dumps(knob, indent=1, ensure_ascii=False))
        return
    echo(f"{knob['name']}: {knob['type']}\n{knob['doc']}\n")
    echo(columns([(p, f"{_value(v)}  ({knob['sources'][p]})") for p, v in knob["values"].items()]))


def queues(name: QueueName = None, as_json: JsonOption = False) -> None:
    """List the kinds of queues, or show one: keys with their defaults."""
    from cwndlab.spec.queues import QUEUES

    if name is not None and name not in QUEUES:
        raise StudyError(f'there is no queue "{name}"', right=nearest(name, QUEUES))
    if name is None and as_json:
        echo(json.dumps([_queue_data(kind) for kind in QUEUES], indent=1, ensure_ascii=False))
    elif name is None:
        echo(columns([(kind, _sourced(kind)) for kind in QUEUES]))
    elif as_json:
        echo(json.dumps(_queue_data(name), indent=1, ensure_ascii=False))
    else:
        keys: dict[str, dict[str, str]] = _queue_data(name)["keys"]
        shown = {
            key: f"(default {words['default']})" if words["default"] else "" for key, words in keys.items()
        }
        rows = [(key, f"{words['about']} {shown[key]}") for key, words in keys.items()]
        echo(f"{name}: {_sourced(name)}\n")
        echo(columns(rows) if rows else "It has no keys.")


# ── metrics ───────────────────────────────────────────────────────────────────────────────────────────────


def _options(metric: Metric) -> dict[str, tuple[str, str | None]]:
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
    many = str(inspect.signature(metric.measure).return_annotation).startswith("list")
    return "many numbers per run; reduce them by `within`" if many else "one number per run"


def _metric_data(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "unit": metric.unit,
        "range": [None if abs(end) == float("inf") else end for end in (metric.range.low, metric.range.high)],
        "returns": _returns(metric),
        "tables": list(metric.tables),
        "options": {n: {"type": t, "default": d} for n, (t, d) in _options(metric).items()},
        "definition": metric.formula,
    }


def _facts(metric: Metric) -> list[tuple[str, str]]:
    return [
        ("unit", "none (a plain number)" if metric.unit == "1" else metric.unit),
        ("range", _range(metric)),
        ("gives", _returns(metric)),
        ("reads", ", ".join(metric.tables)),
    ]


def _metric_text(metric: Metric) -> str:
    from cwndlab.report.formula import plain

    options = [
        (
            f"  {name}",
            kind + (" (required)" if default is None else f" (default {default})" if default else ""),
        )
        for name, (kind, default) in _options(metric).items()
    ]
    parts = [f"{metric.name}: {plain(metric.formula)}", columns(_facts(metric))]
    if options:
        parts.append("options\n" + columns(options))
    return "\n\n".join(parts)


def metrics_page() -> str:
    """docs/reference/metrics.md."""
    from cwndlab import metrics as known

    lines = [
        "# Metrics",
        "",
        'A quantity of a study names a metric: `metric = "goodput"`, with `options`, and may ask for another',
        "unit of the same kind. It is measured in the window that the quantity asks for, by default from",
        "the warm-up to the end of the run.",
        "`cwndlab metrics NAME` prints the same. Further names: "
        + ", ".join(f"`{alias}` is `{name}`" for alias, name in sorted(known.ALIASES.items()))
        + ".",
        "",
        "<!-- Made from python/cwndlab/metrics; remake it with",
        "`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py`. -->",
        "",
        "| metric | unit | what it measures |",
        "|---|---|---|",
    ]
    found = [known.get(name) for name in known.built_in()]
    lines += [f"| [`{m.name}`](#{m.name.replace('_', '-')}) | {m.unit} | {m.title} |" for m in found]
    for metric in found:
        lines += [
            "",
            f"({metric.name.replace('_', '-')})=",
            f"## {metric.name}",
            "",
            _markdown(metric.formula),
            "",
        ]
        lines += [f"- {fact}: {words}" for fact, words in _facts(metric)]
        for name, (kind, default) in _options(metric).items():
            more = " (required)" if default is None else f" (default `{default}`)" if default else ""
            lines.append(f"- option `{name}`: {kind.replace('|', 'or')}{more}")
    return "\n".join(lines) + "\n"


def _markdown(doc: str) -> str:
    """A docstring with its formulas as the manual writes them."""
    return re.sub(r"\\\((.*?)\\\)", r"$\1$", doc, flags=re.DOTALL)


# ── queues ────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def engine_queue(kind: str) -> dict[str, Any]:
    """The keys of a kind of queue with their defaults, as the engine completes them."""
    from cwndlab.core import core
    from cwndlab.spec.queues import QUEUES
    from cwndlab.study import Study

    study = Study.from_dict(
        {
            "title": kind,
            "topology": {"nodes": ["a", "b"], "links": [{"between": ["a", "b"], "rate": "1Mbps"}]},
            "traffic": [{"name": "x", "client": "a", "server": "b", "app": {"kind": "bulk"}}],
            "run": {"duration": "1s"},
        }
    )
    scenario = json.loads(study.plan().cells[0].scenario)
    scenario["links"][0]["queue"] = {"kind": kind, **QUEUES[kind].example}
    completed: dict[str, Any] = json.loads(core().complete_scenario(json.dumps(scenario)))
    return completed["links"][0]["queue"]  # type: ignore[no-any-return]


def _queue_data(kind: str) -> dict[str, Any]:
    from cwndlab.spec.queues import QUEUES

    described = QUEUES[kind]
    defaults = {}
    for key, value in engine_queue(kind).items():
        plain = re.sub(r"_(ns|bytes)\Z", "", key)
        given = "" if key in described.example else _value(value)
        defaults[plain] = f'"{value / 1e6:g}ms"' if key.endswith("_ns") and value is not None else given
    keys = {key: {"about": about, "default": defaults.get(key, "")} for key, about in described.keys.items()}
    return {"kind": kind, "about": described.about, "source": described.source, "keys": keys}


def _sourced(kind: str) -> str:
    from cwndlab.spec.queues import QUEUES

    described = QUEUES[kind]
    return described.about + (f" ({described.source})" if described.source else "")


def queues_page() -> str:
    """docs/reference/queues.md."""
    from cwndlab.spec.queues import QUEUES

    lines = [
        "# Queues",
        "",
        'The `queue` of a link: `queue = { kind = "codel", target = "5ms" }`. `[dumbbell]` takes the name',
        "of a kind, too.",
        "`cwndlab queues NAME` prints the same. There is neither CAKE nor FQ-PIE (`fq_pie`).",
        "",
        "<!-- Made from spec/queues.py and the engine's defaults; remake it with",
        "`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py`. -->",
    ]
    for kind, described in QUEUES.items():
        data = _queue_data(kind)
        lines += [
            "",
            f"## {kind}",
            "",
            f"{_sourced(kind)} Model: [{described.page}](../models/{described.page}.md).",
        ]
        if data["keys"]:
            lines += ["", "| key | default | |", "|---|---|---|"]
        for key, words in data["keys"].items():
            default = f"`{words['default']}`" if words["default"] else ""
            lines.append(f"| `{key}` | {default} | {words['about']} |")
    return "\n".join(lines) + "\n"


def pages(docs: Path) -> dict[Path, str]:
    """The generated pages of the manual."""
    return {docs / "reference/metrics.md": metrics_page(), docs / "reference/queues.md": queues_page()}
