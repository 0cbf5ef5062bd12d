"""The generated pages of docs/reference: metrics, queues, applications, impairments, and study keys.

`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py` writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cwndlab import metrics
from cwndlab.apps.reference.command import (
    APPLICATIONS,
    IMPAIRMENTS,
    QUEUES,
    Section,
    metric_facts,
    metric_options,
)
from cwndlab.apps.reference.json_schema import json_schema
from cwndlab.study.measures import ALIASES
from cwndlab.study.schema import Claims


def metrics_page() -> str:
    """The content of docs/reference/metrics.md."""
    lines = [
        "# Metrics",
        "",
        'A quantity of a study names a metric: `metric = "goodput"`, with `options`, and may ask for another',
        "unit of the same kind. It is measured in the window that the quantity asks for, by default from",
        "the warm-up to the end of the run.",
        "`cwndlab metrics NAME` prints the same. For other names the error says what to write: "
        + ", ".join(f"`{name}` for `{alias}`" for alias, name in sorted(ALIASES.items()))
        + ".",
        "",
        "<!-- Made from python/cwndlab/metrics; remake it with",
        "`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py`. -->",
        "",
        "| metric | unit | what it measures |",
        "|---|---|---|",
    ]
    found = [metrics.get(name) for name in metrics.built_in()]
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
        lines += [f"- {fact}: {words}" for fact, words in metric_facts(metric)]
        for name, (kind, default) in metric_options(metric).items():
            more = " (required)" if default is None else f" (default `{default}`)" if default else ""
            lines.append(f"- option `{name}`: {kind.replace('|', 'or')}{more}")
    return "\n".join(lines) + "\n"


def _markdown(doc: str) -> str:
    """A docstring with formulas in the manual's syntax."""
    return re.sub(r"\\\((.*?)\\\)", r"$\1$", doc, flags=re.DOTALL)


def pages(docs: Path) -> dict[Path, str]:
    """The generated pages of the manual by path."""
    made = {docs / "reference/metrics.md": metrics_page(), docs / "reference/keys.md": keys_page()}
    for section in (QUEUES, APPLICATIONS, IMPAIRMENTS):
        made[docs / f"reference/{section.plural}.md"] = kinds_page(section)
    return made


def kinds_page(section: Section) -> str:
    """The page with the kinds of one part of a study."""
    lines = [
        f"# {section.plural.capitalize()}",
        "",
        section.intro,
        f"`cwndlab {section.plural} NAME` prints the same.",
        "",
        "<!-- Made from the engine's documentation and defaults; remake it with",
        "`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py`. -->",
    ]
    for kind, found in section.kinds.items():
        page = section.pages.get(kind) or section.page or kind.replace("-", "_")
        lines += ["", f"## {kind}", "", f"{found['about']} Model: [{page}](../models/{page}.md)."]
        if found["keys"]:
            lines += ["", "| key | default | |", "|---|---|---|"]
        for key, words in found["keys"].items():
            default = f"`{words['default']}`" if words["default"] else "**required**" * words["required"]
            lines.append(f"| `{key}` | {default} | {words['about']} |")
    return "\n".join(lines) + "\n"


# ── keys of a study ───────────────────────────────────────────────────────────────────────────────────────

Schema = Mapping[str, Any]

KEYS = """# Keys of a study

Every key of a study file and of `claims.toml`. [Study files](../guide/study-file.md) explains them with
examples. "–" stands for a key that may be left out and has no default.
A table with a `kind` or a `profile` has further keys: see [queues](queues.md), [applications](apps.md),
[impairments](impairments.md), and the [knobs](profiles.md) of TCP.

<!-- Made from the descriptions in python/cwndlab/spec; remake it with
`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py`. -->
"""


def keys_page() -> str:
    """The content of docs/reference/keys.md: a section for each table of a study file and of claims.toml."""
    claims = Claims.model_json_schema()
    return KEYS + "".join([*_sections(json_schema(), "study"), *_sections(claims, "claims")])


def _sections(schema: Schema, file: str) -> Iterator[str]:
    """The sections of one file: its top-level keys, then each table where it is first reached."""
    yield _section(f"`{file}.toml`", f"{file}", file, schema)
    for name, place in _places(schema).items():
        yield _section(f"`{place}`", f"{file}-{name.lower()}", file, schema["$defs"][name])


def _section(title: str, anchor: str, file: str, table: Schema) -> str:
    lines = ["", f"(keys-{anchor})=", f"## {title}", "", " ".join(table["description"].split())]
    lines += ["", "| key | type | default | |", "|---|---|---|---|"]
    for key, about in table["properties"].items():
        default = "**required**" if key in table.get("required", ()) else _default(about.get("default"))
        row = f"| `{key}` | {_type(about, file)} | {default} | {about['description']} |"
        lines.append(row.replace("  |", " |"))
    return "\n".join(lines) + "\n"


def _places(schema: Schema) -> dict[str, str]:
    """The TOML heading under which each table is first reached, as "[[topology.links]]"."""
    found: dict[str, str] = {}

    def visit(path: str, table: Schema) -> None:
        for key, about in table.get("properties", {}).items():
            for name, many, named in _references(about):
                if name not in found:
                    place = f"{path}{key}" + (".NAME" if named else "")
                    found[name] = f"[[{place}]]" if many else f"[{place}]"
                    visit(f"{place}.", schema["$defs"][name])

    visit("", schema)
    return found


def _references(about: Schema, many: bool = False, named: bool = False) -> Iterator[tuple[str, bool, bool]]:
    """The tables that a key accepts: definition, whether in a list, and whether by name."""
    if "$ref" in about:
        yield about["$ref"].rpartition("/")[2], many, named
    for one in (*about.get("anyOf", ()), *about.get("oneOf", ())):
        yield from _references(one, many, named)
    if "items" in about:
        yield from _references(about["items"], True, named)
    for one in about.get("patternProperties", {}).values():
        yield from _references(one, many, True)


#: The names of JSON's types; a key that accepts all of them takes any value.
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def _type(about: Schema, file: str) -> str:
    """The values that a key accepts, in words; tables are links to their sections."""
    if "$ref" in about:
        return f"[table](#keys-{file}-{about['$ref'].rpartition('/')[2].lower()})"
    if parts := [*about.get("anyOf", ()), *about.get("oneOf", ())]:
        words = list(dict.fromkeys(_type(part, file) for part in parts if not _is_implied(part)))
        if {*_TYPES.values()} <= {*words}:
            words = ["any value", *(word for word in words if word not in _TYPES.values())]
        single = " or ".join(words[:-1])
        if words[-1] == f"list of {single}":
            return f"{single}, or a list of these"
        return " or ".join(words)
    if "enum" in about or "const" in about:
        return " or ".join(f"`{json.dumps(word)}`" for word in about.get("enum", [about.get("const")]))
    if about.get("type") == "array":
        return f"list of {_type(about['items'], file)}"
    if about.get("type") == "object":
        named = [_type(pattern, file) for pattern in about.get("patternProperties", {}).values()]
        return f"by name: {named[0]}" if named else "table"
    examples = "".join(f" (`{json.dumps(example)}`)" for example in about.get("examples", ())[:1])
    return _TYPES.get(about.get("type", ""), "any value") + examples


def _is_implied(about: Schema) -> bool:
    """Whether an alternative is null, or a reference to a parameter, which all keys of the model accept."""
    return about.get("type") == "null" or about.get("pattern") == r"^(\$|=)"


def _default(value: object) -> str:
    return "–" if value in (None, []) or isinstance(value, dict) else f"`{json.dumps(value)}`"
