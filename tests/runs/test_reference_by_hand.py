"""How kinds, keys, knobs and metrics are described, and the schema of study files for editors."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest
from typer.testing import CliRunner

from cwndlab import metrics
from cwndlab.apps.reference import command, json_schema
from cwndlab.base.engine_kinds import EngineKind
from cwndlab.cli.registry import command_line
from dataclass_kinds import changeable


def printed(*words: str) -> str:
    result = CliRunner().invoke(command_line(), list(words))
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("x", None, ""),
        ("x", 0, "0"),
        ("x", "a", '"a"'),
        ("x", [1, 2], "[1, 2]"),
        ("delay_ns", 5_000_000, '"5ms"'),
        ("delay_ns", 1_500, '"0.0015ms"'),
        ("delay_ns", 0.5, "0.5"),
        ("delay_ms", 7, "7"),
        ("gap_s", {"kind": "fixed", "value": 0.02}, '"20ms"'),
        ("size", {"kind": "fixed", "value": 200}, '"200B"'),
        ("size", {"kind": "exp", "mean": 2}, '{"kind": "exp", "mean": 2}'),
    ],
)
def test_a_default_is_written_as_in_a_study(key: str, value: object, text: str) -> None:
    assert command._default_text(key, value) == text


def test_a_kind_is_described_by_its_comments_on_one_line() -> None:
    keys = {
        "limit_bytes": {"description": "The [`Limit`](x) of\n bytes.", "default": 5},
        "unit": {"description": "u"},
        "mode": {"description": "How.", "$ref": "#/$defs/Mode"},
        "other": {"$ref": "#/$defs/Other"},
    }
    modes = {"Mode": {"enum": ["a", "b"]}, "Other": {"oneOf": [{"const": "c"}, {"type": "x"}, {"const": 2}]}}
    kind = SimpleNamespace(about="Some\n  [`text`].", keys=keys, definitions=modes, required=["mode"])
    assert command._described("n", cast(EngineKind, kind)) == {
        "kind": "n",
        "about": "Some `text`.",
        "keys": {
            "limit": {"about": "The `Limit` of bytes.", "default": "5", "required": False},
            "mode": {"about": 'How. One of "a", "b".', "default": "", "required": True},
            "other": {"about": ' One of "c", 2.', "default": "", "required": False},
        },
    }
    assert command._mark({"required": True, "default": ""}) == " (required)"
    assert command._mark({"required": False, "default": "5"}) == " (default 5)"
    assert command._mark({"required": False, "default": ""}) == ""


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (str, "text"), (int, "whole number"), (float, "number"), (bool, "true or false"),
        (list[str], "list of text"), (str | None, "text"), (str | int | None, "text or whole number"),
        (Literal["a", "b"], '"a" | "b"'), (list[Literal["a"]] | None, 'list of "a"'),
        (dict, "<class 'dict'>"),
    ],
)  # fmt: skip
def test_a_type_is_named_in_words(hint: object, words: str) -> None:
    assert command._type(hint) == words


def metric(low: float, high: float, **more: Any) -> Any:
    def measure(run: object, *, flows: list[str], share: float = 0.5, link: str | None = None) -> None: ...

    fields: dict[str, Any] = {"name": "m", "title": "M", "unit": "s", "many": False, "tables": ("a", "b")}
    given = {"formula": "The mean.", "measure": measure, "range": SimpleNamespace(low=low, high=high)}
    return SimpleNamespace(**{**fields, **given, **more})


@pytest.mark.parametrize(
    ("low", "high", "text", "data"),
    [
        (-math.inf, math.inf, "any number", [None, None]),
        (0.0, math.inf, "at least 0", [0.0, None]),
        (0.0, 1.0, "0 to 1", [0.0, 1.0]),
        (-math.inf, 5.0, "-inf to 5", [None, 5.0]),
    ],
)
def test_a_metric_is_described_by_its_unit_range_and_options(
    low: float, high: float, text: str, data: list[float | None]
) -> None:
    one = metric(low, high)
    assert command.metric_facts(one) == [
        ("unit", "s"), ("range", text), ("gives", "one number per run"), ("reads", "a, b"),
    ]  # fmt: skip
    assert command._metric_data(one) == {
        "name": "m", "title": "M", "unit": "s", "range": data, "returns": "one number per run",
        "tables": ["a", "b"], "definition": "The mean.",
        "options": {
            "flows": {"type": "list of text", "default": None},
            "share": {"type": "number", "default": "0.5"},
            "link": {"type": "text", "default": ""},
        },
    }  # fmt: skip
    many = command.metric_facts(metric(low, high, unit="1", many=True))
    assert many[0] == ("unit", "none (a plain number)") and "reduce them by `within`" in many[2][1]
    assert command._metric_text(one).splitlines() == [
        "m: The mean.", "", "unit   s", f"range  {text}", "gives  one number per run", "reads  a, b", "",
        "options", "  flows  list of text (required)", "  share  number (default 0.5)", "  link   text",
    ]  # fmt: skip


def test_studies_and_all_metrics_are_listed_as_data() -> None:
    listed = json.loads(printed("list", "--json"))
    lines = printed("list").splitlines()
    width = 2 + max(len(one["name"]) for one in listed)
    assert lines == [f"{one['name']:<{width}}{one['title']}" for one in listed]
    assert {one["name"] for one in listed} > {"bbr", "rfc2416"}
    found = json.loads(printed("metrics", "--json"))
    assert [one["name"] for one in found] == metrics.names()
    assert json.loads(printed("queues", "codel", "--json"))["kind"] == "codel"


def test_a_knob_has_its_value_and_source_in_each_profile() -> None:
    knob = json.loads(printed("knobs", "dup_thresh", "--json"))
    head, doc, blank, *lines = printed("knobs", "dup_thresh").splitlines()
    assert (head, doc, blank) == (f"dup_thresh: {knob['type']}", knob["doc"], "")
    width = 2 + max(map(len, knob["values"]))
    assert lines == [
        f"{profile:<{width}}{json.dumps(value)}  ({knob['sources'][profile]})"
        for profile, value in knob["values"].items()
    ]
    assert printed("knobs").splitlines()[0].split()[0] == json.loads(printed("knobs", "--json"))[0]["name"]
    unit = printed("knobs", "window_law.ledbat.target").splitlines()[0]
    assert unit == "window_law.ledbat.target_ns: time"


def test_names_are_completed_by_their_beginning() -> None:
    result = CliRunner().invoke(
        command_line(),
        [],
        env={"_CWNDLAB_COMPLETE": "complete_bash", "COMP_WORDS": "cwndlab queues fq", "COMP_CWORD": "2"},
        prog_name="cwndlab",
    )
    assert result.stdout.split() == [kind for kind in command.QUEUES.kinds if kind.startswith("fq")]


def test_editors_know_the_sections_of_both_forms_and_references_to_axes() -> None:
    made = json_schema.json_schema()
    assert made["anyOf"] == [
        {"required": ["topology", "traffic"]},
        {"required": ["dumbbell"]}, {"required": ["parking_lot"]}, {"required": ["leaf_spine"]},
    ]  # fmt: skip
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"dumbbell", "measure", "topology", "axes"} <= set(made["properties"])
    assert "title" in made["required"] and not {"topology", "traffic"} & set(made["required"])
    assert json.loads(json_schema.schema_text()) == made and json_schema.schema_text().endswith("}\n")
    count = next(one for one in made["$defs"].values() if "client" in one.get("properties", {}))[
        "properties"
    ]["count"]
    number, reference = count["anyOf"]
    assert (number["type"], reference) == ("integer", {"type": "string", "pattern": r"^(\$|=)"})
    assert count["default"] == 1 and count["description"] and "default" not in number
    figure = made["$defs"]["Figure"]["properties"]["log_x"]
    assert figure["type"] == "boolean", "tables and figures take no references"


def test_only_numbers_and_booleans_may_be_references() -> None:
    text = {"type": "string", "default": "a"}
    assert json_schema._or_reference(dict(text)) == text
    for kind in ("integer", "number", "boolean"):
        made = json_schema._or_reference({"type": kind, "minimum": 1, "title": "T"})
        assert made == {
            "anyOf": [{"type": kind, "minimum": 1}, {"type": "string", "pattern": r"^(\$|=)"}],
            "title": "T",
        }


def test_definitions_are_found_through_lists_and_circles() -> None:
    defs = {
        "a": {"items": [{"$ref": "#/$defs/b"}]},
        "b": {"x": {"$ref": "#/$defs/a"}},
        "c": {},
        "d": {"$ref": 5},
    }
    schema = {"$defs": defs}
    assert json_schema._used(schema, [{"$ref": "#/$defs/a"}]) == {"a", "b"}
    assert json_schema._used(schema, {"y": [{"z": {"$ref": "#/$defs/c"}}]}) == {"c"}
    assert json_schema._used(schema, defs["d"]) == set()


def test_objects_that_are_shared_cannot_be_changed() -> None:
    assert not changeable("apps.reference")
