"""Turns what pydantic finds into errors that say where, what, and what would be right."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cwndlab.errors import StudyError, nearest

M = TypeVar("M", bound=BaseModel)
Path = tuple[str | int, ...]


class Invalid(Exception):  # noqa: N818 - carries a path to where it is turned into a StudyError
    """What is wrong at a path of the raw study."""

    def __init__(self, path: Path, problem: str, right: str | None, more: int) -> None:
        super().__init__(problem)
        self.path = path
        self.problem = problem
        self.right = right
        self.more = more


def validate(model: type[M], data: Mapping[str, Any]) -> M:
    """`data` as the model; Invalid carries the first thing that is wrong."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = [_explain(model, data, detail) for detail in error.errors(include_url=False)]
    except RecursionError:
        raise Invalid((), "it is nested too deeply", None, 0) from None
    # An unknown key explains most of the others (what it meant to set is then missing); a union's other
    # branches follow.
    found.sort(key=lambda item: (item[0], -len(item[1])))
    paths = {path for _, path, _, _ in found}
    _, path, problem, right = found[0]
    raise Invalid(path, problem, right, len(paths) - 1)


def _explain(model: type[BaseModel], data: Any, detail: ErrorDetails) -> tuple[int, Path, str, str | None]:
    path = _path_in(data, detail)
    kind, message = detail["type"], detail["msg"]
    if kind == "extra_forbidden":
        known = _fields_at(model, path[:-1], data)
        return 0, path, f"unknown key {str(path[-1])!r}", nearest(str(path[-1]), known)
    if kind == "missing":
        return 1, path, "this key is missing", _example(model, path, data)
    if kind == "value_error":
        return 2, path, str(detail["ctx"]["error"]), None
    given = detail.get("input")
    shown = repr(given) if isinstance(given, str | int | float | bool) else f"a {_kind(given)}"
    if len(shown) > 60:
        shown = shown[:57] + "…"
    if kind == "string_pattern_mismatch":
        return (
            3,
            path,
            f"{shown} is no name here",
            "letters, digits and _ ; nodes, links and traffic may have - and +",
        )
    bound = detail.get("ctx", {})
    if kind == "too_short":
        return 3, path, "there are too few values", f"it needs at least {bound['min_length']}"
    if kind == "too_long":
        return 3, path, "there are too many values", f"it takes at most {bound['max_length']}"
    for name, words in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
        if name in bound:
            return 3, path, f"{shown} does not fit", f"it must be {words} {bound[name]:g}"
    if kind == "literal_error":
        return (
            3,
            path,
            f"{shown} does not fit",
            nearest(str(given), re.findall(r"'([^']*)'", bound["expected"])),
        )
    right = {
        "int_type": "a whole number",
        "float_type": "a number",
        "bool_type": "true or false",
        "string_type": "text in quotes",
        "list_type": "a list [ … ]",
        "dict_type": "a table { … }",
        "model_type": "a table { … }",
    }.get(kind)
    if right is None:
        right = message[:1].lower() + message[1:]
        return 3, path, f"{shown} does not fit", right
    return (4 if kind.endswith("_type") else 3), path, f"{shown} does not fit", f"it must be {right}"


def _kind(value: object) -> str:
    names = {dict: "table", list: "list", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)


def _path_in(data: Any, detail: ErrorDetails) -> Path:
    """Pydantic's location without the tags of unions that it puts in."""
    path: list[str | int] = []
    here = data
    location = detail["loc"]
    for index, step in enumerate(location):
        last = index == len(location) - 1
        if isinstance(here, Mapping) and step in here:
            here = here[step]
        elif isinstance(here, list) and isinstance(step, int) and 0 <= step < len(here):
            here = here[step]
        elif last and detail["type"] == "missing" and isinstance(step, str):
            here = None
        else:
            continue
        path.append(step)
    return tuple(path)


def _models(annotation: Any) -> list[Any]:
    """What a union or an annotated type may be."""
    if get_origin(annotation) is Annotated:
        return _models(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [model for arg in get_args(annotation) for model in _models(arg)]
    return [annotation]


def _fields_at(model: type[BaseModel], path: Sequence[str | int], data: Any) -> list[str]:
    """The keys that the models at `path` know."""
    here: list[Any] = [model]
    for step in path:
        following: list[Any] = []
        data = _step(data, step)
        for candidate in here:
            origin = get_origin(candidate)
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                for name, field in candidate.model_fields.items():
                    if step in (name, field.alias):
                        following += _models(field.annotation)
            elif origin in (list, dict) and get_args(candidate):
                following += _models(get_args(candidate)[-1])
        here = _of_kind(following, data)
    return [
        field.alias or name
        for candidate in here
        if isinstance(candidate, type) and issubclass(candidate, BaseModel)
        for name, field in candidate.model_fields.items()
    ]


def _step(data: Any, step: str | int) -> Any:
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return data.get(step) if isinstance(data, Mapping) else None


def _of_kind(models: list[Any], data: Any) -> list[Any]:
    """Of the models of a union told apart by `kind`, those that the data's kind leaves."""
    kind = data.get("kind", "grid") if isinstance(data, Mapping) else None
    fitting = [
        model
        for model in models
        if isinstance(model, type)
        and issubclass(model, BaseModel)
        and "kind" in model.model_fields
        and kind in get_args(model.model_fields["kind"].annotation)
    ]
    return fitting or models


def _example(model: type[BaseModel], path: Path, data: Any) -> str | None:
    """The description or an example of a missing key."""
    schema = model.model_json_schema()
    here: Any = schema
    for step in path:
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rsplit("/", 1)[-1]]
        here = here.get("items", {}) if isinstance(step, int) else here.get("properties", {}).get(step, {})
    examples = here.get("examples")
    if examples:
        return f'write for instance {path[-1]} = "{examples[0]}"'
    text = here.get("description")
    return f"it says: {text}" if text else None


def as_study_error(invalid: Invalid) -> StudyError:
    """Without a place; whoever knows the file adds it."""
    more = f" (and {invalid.more} more)" if invalid.more > 0 else ""
    return StudyError(invalid.problem + more, right=invalid.right)
