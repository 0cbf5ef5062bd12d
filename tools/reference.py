"""The pages of docs/reference that are made from the package: metrics, queues, applications, impairments.

`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py` writes them.
"""

from __future__ import annotations

import re
from pathlib import Path

from cwndlab import metrics
from cwndlab.commands.reference import (
    APPLICATIONS,
    IMPAIRMENTS,
    QUEUES,
    Section,
    metric_facts,
    metric_options,
)
from cwndlab.spec.measures import ALIASES


def metrics_page() -> str:
    """docs/reference/metrics.md."""
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
    """A docstring with its formulas as the manual writes them."""
    return re.sub(r"\\\((.*?)\\\)", r"$\1$", doc, flags=re.DOTALL)


def pages(docs: Path) -> dict[Path, str]:
    """The generated pages of the manual."""
    made = {docs / "reference/metrics.md": metrics_page()}
    for section in (QUEUES, APPLICATIONS, IMPAIRMENTS):
        made[docs / f"reference/{section.plural}.md"] = kinds_page(section)
    return made


def kinds_page(section: Section) -> str:
    """The kinds of one part of a study."""
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
            default = f"`{words['default']}`" if words["default"] else ""
            lines.append(f"| `{key}` | {default} | {words['about']} |")
    return "\n".join(lines) + "\n"
