"""The JSON Schema for editors says what the models say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cwndlab.api import Study
from cwndlab.apps.reference import json_schema
from cwndlab.base.errors import StudyError
from cwndlab.study.document import shipped_studies
from cwndlab.study.schema import Claims, Distribution

SHOWN = """
title = "What is shown"
dumbbell = { rate = "10Mbps", rtt = "20ms", buffer = [1, 2], flows = [{ cc = "reno" }] }
run = { duration = "1s" }
[[quantities]]
name = "goodput"
metric = "goodput"
[[tables]]
id = "t"
title = "t"
rows = ["buffer"]
columns = [{ heading = "goodput", quantity = "goodput", digits = 1 }]
[[figures]]
id = "f"
title = "f"
kind = "line"
x = "buffer"
quantity = "goodput"
width = 620
log_x = true
[[marks]]
table = "t"
lines = [1]
reason = "a reason"
"""

jsonschema = pytest.importorskip("jsonschema")


def test_the_generated_schema_is_current() -> None:
    file = Path(json_schema.__file__).with_name("study.schema.json")
    assert file.read_text() == json_schema.schema_text(), "run: python -m cwndlab.apps.reference.json_schema"


@pytest.mark.parametrize("name", shipped_studies())
def test_shipped_studies_fulfil_it_and_misspelt_keys_do_not(name: str) -> None:
    import tomllib

    raw = tomllib.loads(shipped_studies()[name].read_text())
    checker = jsonschema.Draft202012Validator(json.loads(json_schema.schema_text()))
    assert [error.message for error in checker.iter_errors(raw)] == []
    raw["quantites"] = raw.pop("quantities")
    assert not checker.is_valid(raw)


def test_every_key_is_described() -> None:
    for made in (json_schema.json_schema(), Claims.model_json_schema()):
        parts = {"": made, **made["$defs"]}
        keys = {
            f"{name}.{key}": one
            for name, part in parts.items()
            for key, one in part.get("properties", {}).items()
        }
        assert [key for key, one in keys.items() if not one.get("description")] == []


def test_defaults_are_written_as_in_a_file() -> None:
    tables = json_schema.json_schema()["$defs"]
    default = {key: about.get("default") for key, about in tables["Limits"]["properties"].items()}
    assert (default["max_lateness"], default["cpu_share"], default["hidden_drops"]) == ("50ms", "80%", 0)
    assert tables["Link"]["properties"]["header"]["default"] == "0B"


@pytest.mark.parametrize(
    ("written", "wrong", "message"),
    [
        (
            "width = 620",
            'width = "620"',
            """figures.f.width: '620' does not fit; it must be a whole number""",
        ),
        (
            "log_x = true",
            'log_x = "yes"',
            """figures.f.log_x: 'yes' does not fit; it must be true or false""",
        ),
        ("digits = 1", 'digits = "1"', """columns.1.digits: '1' does not fit; it must be a whole number"""),
        ("lines = [1]", 'lines = ["1"]', """marks.1.lines.1: '1' does not fit; it must be a whole number"""),
    ],
)
def test_a_number_in_quotes_is_an_error_where_a_number_is_needed(
    written: str, wrong: str, message: str
) -> None:
    text = SHOWN.replace(written, wrong)
    assert text != SHOWN and Study.from_toml(SHOWN)
    with pytest.raises(StudyError, match=re.escape(message)):
        Study.from_toml(text)


def test_a_value_of_a_wrong_type_names_every_type_that_fits() -> None:
    message = (
        "parameters.law: a table does not fit; it must be true or false, a whole number, a number or text"
    )
    with pytest.raises(StudyError, match=re.escape(message)):
        Study.from_toml('parameters = { law = { name = "cubic" } }\n' + SHOWN)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"values": [1.0], "counts": ["3"]}, "'3' does not fit; it must be a whole number"),
        ({"values": [1.0], "counts": [3.0]}, "3.0 does not fit; it must be a whole number"),
        ({"values": [1.0], "counts": [True]}, "True does not fit; it must be a whole number"),
        ({"values": ["1.5"], "counts": [3]}, "'1.5' does not fit; it must be a number"),
        ({"kind": 5}, "5 does not fit; it must be text in quotes"),
    ],
)
def test_values_of_another_type_are_not_converted(keys: dict[str, object], says: str) -> None:
    with pytest.raises(StudyError) as found:
        Distribution(**keys)
    assert says in str(found.value)
    assert Distribution(values=[1], counts=[3]).values == [1.0]
