"""The JSON Schema of study files, for editors: `python -m cwndlab.apps.reference.json_schema` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cwndlab.study.base import Open, Strict
from cwndlab.study.schema import MODEL_SECTIONS, StudyFile
from cwndlab.study.shorthand import NETWORKS, Short


def json_schema() -> dict[str, Any]:
    """The JSON Schema of study files, for editors, as a dictionary; `schema_text` is its text."""
    schema = StudyFile.model_json_schema()
    short = Short.model_json_schema()
    schema["properties"] |= short["properties"]
    schema["$defs"] |= {name: made for name, made in short["$defs"].items() if name not in schema["$defs"]}
    schema["required"] = [key for key in schema["required"] if key not in ("topology", "traffic")]
    full: dict[str, Any] = {"required": ["topology", "traffic"]}
    schema["anyOf"] = [full, *({"required": [name]} for name in NETWORKS)]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    models = {model.__name__: model for model in _subclasses(Strict) + _subclasses(Open)}
    model = set(_used(schema, [schema["properties"][name] for name in MODEL_SECTIONS]))
    for name, definition in schema["$defs"].items():
        _write_defaults(definition["properties"], models[name])
        if name in model:
            definition["properties"] = {
                k: _or_reference(v) for k, v in definition.get("properties", {}).items()
            }
    return schema


def _subclasses(kind: type[BaseModel]) -> list[type[BaseModel]]:
    return [kind, *(deeper for direct in kind.__subclasses__() for deeper in _subclasses(direct))]


def _write_defaults(properties: dict[str, Any], model: type[BaseModel]) -> None:
    """Writes defaults as in a study file; pydantic's defaults of quantities lack the unit."""
    for key, value in model.model_construct().model_dump(mode="json", warnings=False).items():
        if key in properties and "default" in properties[key]:
            properties[key]["default"] = value


def _used(schema: dict[str, Any], start: Any) -> set[str]:
    """Names of the definitions that are reachable from `start`."""
    found: set[str] = set()
    todo = [start]
    while todo:
        here = todo.pop()
        if isinstance(here, dict):
            ref = here.get("$ref")
            if isinstance(ref, str) and (name := ref.rsplit("/", 1)[-1]) not in found:
                found.add(name)
                todo.append(schema["$defs"][name])
            todo.extend(here.values())
        elif isinstance(here, list):
            todo.extend(here)
    return found


def _or_reference(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition extended by references such as "$webs" or "= 2 * webs", for numbers and booleans."""
    if definition.get("type") in ("integer", "number", "boolean"):
        reference = {"type": "string", "pattern": r"^(\$|=)"}
        kept: dict[str, Any] = {
            k: definition.pop(k) for k in ("description", "title", "default") if k in definition
        }
        return {"anyOf": [definition, reference]} | kept
    return definition


def schema_text() -> str:
    """The text of `study.schema.json`; a test keeps the file current."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("study.schema.json").write_text(schema_text(), encoding="utf-8")
