"""The JSON Schema for editors says what the models say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cwndlab.spec import schema
from cwndlab.spec.document import shipped

jsonschema = pytest.importorskip("jsonschema")


def test_the_generated_schema_is_current() -> None:
    file = Path(schema.__file__).with_name("study.schema.json")
    assert file.read_text() == schema.schema_text(), "run: python -m cwndlab.spec.schema"


@pytest.mark.parametrize("name", shipped())
def test_shipped_studies_fulfil_it_and_misspelt_keys_do_not(name: str) -> None:
    import tomllib

    raw = tomllib.loads(shipped()[name].read_text())
    checker = jsonschema.Draft202012Validator(json.loads(schema.schema_text()))
    assert [error.message for error in checker.iter_errors(raw)] == []
    raw["topolgy"] = raw.pop("topology")
    assert not checker.is_valid(raw)
