"""What `cwndlab metrics`, `knobs` and `queues` print, and the pages of the manual made from the same."""

from __future__ import annotations

import json
import os
import re
import runpy
from pathlib import Path

import pytest

from cwndlab import metrics
from cwndlab.apps.reference.command import APPLICATIONS, IMPAIRMENTS, QUEUES, Section
from cwndlab.base.engine_kinds import UNIT_SUFFIX, required_keys
from cwndlab.cli import app
from cwndlab.study.measures import ALIASES

SECTIONS = (QUEUES, APPLICATIONS, IMPAIRMENTS)
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = runpy.run_path(str(ROOT / "tools" / "reference.py"))["pages"](DOCS)


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as caught:
        app(list(words))
    out, err = capsys.readouterr()
    return out if not caught.value.code else err


@pytest.mark.parametrize("path", sorted(PAGES), ids=lambda path: path.name)
def test_the_generated_pages_are_current(path: Path) -> None:
    wanted = PAGES[path]
    if "CWNDLAB_REGENERATE" in os.environ:
        path.write_text(wanted)
    assert path.read_text() == wanted, "run: CWNDLAB_REGENERATE=1 pytest tests/runs/test_reference.py"


@pytest.mark.parametrize(
    ("section", "kind"), [(section, kind) for section in SECTIONS for kind in section.kinds]
)
def test_every_kind_and_each_of_its_keys_is_described(section: Section, kind: str) -> None:
    found = section.kinds[kind]
    assert found["about"] and all(words["about"] for words in found["keys"].values())
    page = section.pages.get(kind) or section.page or kind.replace("-", "_")
    assert (DOCS / f"models/{page}.md").exists()


@pytest.mark.parametrize(
    ("section", "part"),
    [
        (QUEUES, '"links":[{"name":"x","queue":{"kind":"?"}}]'),
        (IMPAIRMENTS, '"links":[{"name":"x","impairments":[{"kind":"?"}]}]'),
        (APPLICATIONS, '"traffic":[{"name":"x","app":{"kind":"?"}}]'),
    ],
)
def test_the_kinds_are_the_engines(section: Section, part: str) -> None:
    from cwndlab._core import check_scenario

    with pytest.raises(ValueError, match="unknown variant") as caught:
        check_scenario(f'{{"duration_ns":1,"nodes":["a"],{part}}}')
    assert list(section.kinds) == re.findall(r"`([a-z0-9-]+)`", str(caught.value).split("expected")[1])


def test_lists_name_everything_and_details_say_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    listed = output(capsys, "metrics").splitlines()
    assert [line.split()[0] for line in listed] == metrics.names()
    shown = output(capsys, "metrics", "queueing_delay")
    assert "queue_delay: Queueing delay at a link" in shown and "unit   s" in shown and "link  text" in shown
    share = output(capsys, "metrics", "share")
    assert "required" in share and "\\frac" not in share and "Σ" in share
    assert "rfc5681    3  (RFC 5681, 3.2)" in output(capsys, "knobs", "dup_thresh")
    assert "Time within which the delay must fall" in output(capsys, "queues", "codel")
    assert '(default "100ms")' in output(capsys, "queues", "codel")
    assert '(default "200B")' in output(capsys, "apps", "voip")
    assert "burst  Size of the bucket" in output(capsys, "impairments", "policer")
    assert json.loads(output(capsys, "metrics", "goodput", "--json"))["unit"] == "bit/s"
    assert json.loads(output(capsys, "queues", "--json"))[1]["kind"] == "drop-tail"
    assert {knob["name"] for knob in json.loads(output(capsys, "knobs", "--json"))} >= {"mss", "window_law"}


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("metrics", "goodputt"), "goodput"),
        (("knobs", "window_lw"), "window_law"),
        (("queues", "coddel"), "codel"),
        (("apps", "voipp"), "voip"),
        (("impairments", "policr"), "policer"),
    ],
)
def test_misspelt_names_get_the_nearest(
    capsys: pytest.CaptureFixture[str], words: tuple[str, str], right: str
) -> None:
    assert f'did you mean "{right}"' in output(capsys, *words)


def test_other_names_of_metrics_lead_to_metrics() -> None:
    assert set(ALIASES.values()) <= set(metrics.names())
    assert not set(ALIASES) & set(metrics.names())


@pytest.mark.parametrize(
    ("section", "kind"), [(section, kind) for section in SECTIONS for kind in section.kinds]
)
def test_the_required_keys_are_those_that_the_engine_asks_for(
    section: Section, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = section.kinds[kind]["keys"]
    marked = {key for key, words in found.items() if words["required"]}
    assert marked <= {UNIT_SUFFIX.sub("", key) for key in required_keys(kind)}
    page = (
        (DOCS / f"reference/{section.plural}.md")
        .read_text()
        .partition(f"\n## {kind}\n")[2]
        .partition("\n## ")[0]
    )
    assert {key for key in found if f"| `{key}` | **required** |" in page} == marked
    said = output(capsys, section.plural, kind)
    assert said.count("(required)") == len(marked)
    assert not any(words["required"] and words["default"] for words in found.values())
