"""The kinds of queues, applications and impairments with their keys and defaults, as text and as pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from cwndlab.spec.applications import APPLICATIONS as _APPLICATIONS
from cwndlab.spec.described import Kind
from cwndlab.spec.impairments import IMPAIRMENTS as _IMPAIRMENTS
from cwndlab.spec.queues import QUEUES as _QUEUES

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

    def page(self) -> str:
        """The page of docs/reference."""
        lines = [
            f"# {self.plural.capitalize()}",
            "",
            self.intro,
            f"`cwndlab {self.plural} NAME` prints the same.",
            "",
            "<!-- Made from python/cwndlab/spec and the engine's defaults; remake it with",
            "`CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py`. -->",
        ]
        for kind, described in self.kinds.items():
            data = self.data(kind)
            lines += [
                "",
                f"## {kind}",
                "",
                f"{self.sourced(kind)} Model: [{described.page}](../models/{described.page}.md).",
            ]
            if data["keys"]:
                lines += ["", "| key | default | |", "|---|---|---|"]
            for key, words in data["keys"].items():
                default = f"`{words['default']}`" if words["default"] else ""
                lines.append(f"| `{key}` | {default} | {words['about']} |")
        return "\n".join(lines) + "\n"


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
