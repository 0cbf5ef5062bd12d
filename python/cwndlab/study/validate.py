"""Turns pydantic's errors into StudyErrors: where, what is wrong, and what would be right."""

from __future__ import annotations

import copy
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cwndlab.base.errors import KeyPath, StudyError, nearest, problem_at

from .place import Place

M = TypeVar("M", bound=BaseModel)


class _Found(NamedTuple):
    """An error of pydantic's, reworded."""

    path: KeyPath
    problem: str
    right: str | None
    #: 0 for an unknown key, 1 for a missing key, more for a wrong value; a low rank may explain a higher one.
    rank: int


#: The rank of a value with a wrong type, and the beginning of its remedy.
_WRONG_TYPE, _MUST_BE = 4, "it must be "


def validate(model: type[M], data: Mapping[str, Any]) -> M:
    """`data` as the model; StudyError, with the path of each error, if it is invalid."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        misfits = [_Found(*_explain(model, data, detail)) for detail in error.errors(include_url=False)]
    except RecursionError:
        raise problem_at((), "it is nested too deeply") from None
    # An error may follow from an earlier one, as do the errors of a union's other branches.
    misfits.sort(key=lambda item: (item.rank, -len(item.path)))
    causes: list[_Found] = []
    for item in misfits:
        if not any(_explains(cause, item) for cause in causes):
            causes.append(item._replace(right=_alternatives(item, misfits)))
    first, *others = [problem_at(cause.path, cause.problem, cause.right) for cause in causes]
    raise first.replace(others=others)


def _alternatives(item: _Found, misfits: Sequence[_Found]) -> str | None:
    """The remedy of an error; for a wrong type, the types of all branches of the union."""
    if item.rank != _WRONG_TYPE:
        return item.right
    same = [misfit for misfit in misfits if misfit.rank == _WRONG_TYPE and misfit.path == item.path]
    rights = list(dict.fromkeys((misfit.right or "").removeprefix(_MUST_BE) for misfit in same))
    return _MUST_BE + " or ".join([", ".join(rights[:-1]), rights[-1]] if len(rights) > 1 else rights)


def validate_at(place: Place, model: type[M]) -> M:
    """The tables of a `Place` as the model; errors have the file, line and key."""
    try:
        return validate(model, place.raw)
    except StudyError as error:
        raise place.locate(error) from None


def _explains(cause: _Found, item: _Found) -> bool:
    """Whether an error follows from `cause`: one path contains the other, or `cause` is an unknown key that
    was probably meant as the missing key of `item`.
    """
    shorter = min(len(cause.path), len(item.path))
    if cause.path[:shorter] == item.path[:shorter]:
        return True
    return (cause.rank, item.rank) == (0, 1) and cause.path[:-1] == item.path[:-1]


#: Key -> the unit to suggest if its value is a number without a unit.
_UNITS = {
    "rtt": "ms",
    "delay": "ms",
    "start": "s",
    "duration": "s",
    "warmup": "s",
    "rate": "Mbps",
    "limit": "pkt",
    "loss": "%",
    "bytes": "kB",
}


#: Keys until version 0.2, by model and key, with the function that writes their replacement.
_FORMER: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], str]] = {
    ("Quantity", "phase"): lambda table: f'window = "{table["phase"]}"',
    ("Quantity", "whole_run"): lambda table: 'window = "run"',
    ("Quantity", "of"): lambda table: f'derived = "{_write_expression(table)}"',
    ("Quantity", "by"): lambda table: f'derived = "{_write_expression(table)}"',
    ("Grid", "fix"): lambda table: "where = { … }",
    ("Grid", "restrict"): lambda table: "where = { … }",
}


def _write_expression(table: Mapping[str, Any]) -> str:
    """The expression of a derived quantity in the former notation: a table with kind and operands."""
    kind, of, by = (table.get(key, key) for key in ("derived", "of", "by"))
    signs = {"sum": "+", "difference": "-", "product": "*"}
    return f"increase({by}, {of})" if kind == "increase" else f"{of} {signs.get(kind, '/')} {by}"


def _explain(model: type[BaseModel], data: Any, detail: ErrorDetails) -> tuple[KeyPath, str, str | None, int]:
    path = _path_in(data, detail)
    kind, message = detail["type"], detail["msg"]
    if kind == "extra_forbidden":
        key, table, models = str(path[-1]), data, _models_at(model, path[:-1], data)
        for step in path[:-1]:
            table = _step(table, step)
        for candidate in models:
            if (replacement := _FORMER.get((candidate.__name__, key))) is not None:
                return path, f"there is no key {key!r} any more", f"write {replacement(table)}", 0
        keys = [field.alias or name for model in models for name, field in model.model_fields.items()]
        keys = [name for name in keys if name != key]  # another model of a union may have this key
        return path, f"unknown key {key!r}", nearest(key, keys), 0
    if kind == "missing":
        return path, "this key is missing", _example(model, path, data), 1
    given = detail.get("input")
    example = _with_unit(path, given)
    if kind == "value_error":
        problem = str(detail["ctx"]["error"])
        if example is not None and "its unit" in problem:
            problem = re.sub('like ".*"', f'like "{example}"', problem)
        return path, problem, None, 2
    shown = repr(given) if isinstance(given, str | int | float | bool) else _kind(given)
    if len(shown) > 60:
        shown = shown[:57] + "…"
    if kind == "string_pattern_mismatch":
        return (
            path,
            f"{shown} is no name here",
            "letters, digits and _ ; nodes, links and traffic may have - and +",
            3,
        )
    bound = detail.get("ctx", {})
    if kind == "too_short":
        return path, "there are too few values", f"it needs at least {bound['min_length']}", 3
    if kind == "too_long":
        return path, "there are too many values", f"it takes at most {bound['max_length']}", 3
    for name, words in (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below")):
        if name in bound:
            return path, f"{shown} does not fit", f"it must be {words} {bound[name]:g}", 3
    if kind == "literal_error":
        near = nearest(str(given), re.findall(r"'([^']*)'", bound["expected"]))
        return path, f"{shown} does not fit", near, 3
    right = {
        "int_type": "a whole number",
        "float_type": "a number",
        "bool_type": "true or false",
        "string_type": "text in quotes",
        "list_type": "a list [ … ]",
        "dict_type": "a table { … }",
        "model_type": "a table { … }",
    }.get(kind)
    if kind == "string_type" and example is not None:
        right = f'text in quotes, with its unit, like "{example}"'
    if right is None:
        right = message[:1].lower() + message[1:]
        return path, f"{shown} does not fit", right, 3
    return path, f"{shown} does not fit", f"{_MUST_BE}{right}", _WRONG_TYPE if kind.endswith("_type") else 3


def _with_unit(path: KeyPath, given: object) -> str | None:
    """A small number with its probable unit, as an example; None for other values."""
    unit = _UNITS.get(str(path[-1])) if path else None
    is_small = isinstance(given, int | float) and not isinstance(given, bool) and abs(given) < 10_000
    return f"{given:g}{unit}" if is_small and unit is not None else None


def _kind(value: object) -> str:
    names = {dict: "a table", list: "a list", type(None): "nothing"}
    return names.get(type(value), f"a {type(value).__name__}")


def _path_in(data: Any, detail: ErrorDetails) -> KeyPath:
    """The path of an error in the data: pydantic's location without the tags of unions."""
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
    """The types that an annotation allows, with unions resolved."""
    if get_origin(annotation) is Annotated:
        return _models(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [model for arg in get_args(annotation) for model in _models(arg)]
    return [annotation]


def _models_at(model: type[BaseModel], path: Sequence[str | int], data: Any) -> list[type[BaseModel]]:
    """The models that the value at a path may be validated as."""
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
        here = _select_kind(following, data)
    return [cls for cls in here if isinstance(cls, type) and issubclass(cls, BaseModel)]


def _step(data: Any, step: str | int) -> Any:
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return data.get(step) if isinstance(data, Mapping) else None


def _select_kind(models: list[Any], data: Any) -> list[Any]:
    """The models that have the data's `kind`; all models if none has it."""
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


def _example(model: type[BaseModel], path: KeyPath, data: Any) -> str | None:
    """The remedy for a missing key: an example of its value, or its description; None without either."""
    for candidate in _models_at(model, path[:-1], data):
        about = candidate.model_json_schema()["properties"].get(path[-1], {})
        if "examples" in about:
            return f'write for instance {path[-1]} = "{about["examples"][0]}"'
        if "description" in about:
            return f"it says: {about['description']}"
    return None


#: Values that replace invalid values of required keys, so that the rest of the study can be checked.
STAND_INS: dict[str | int, Any] = {
    "duration": "1h",
    "rate": "1Mbps",
    "delay": "1ms",
    "rtt": "1ms",
    "flows": [{}],
}


def leave_out(given: dict[str, Any], path: KeyPath) -> None:
    """Removes the key at a path; a key in `STAND_INS` gets a valid value instead."""
    if not path:
        return
    key, *further = path
    inside = given.get(str(key))
    index = further[0] if further else None
    entry = None
    # The index may be too large: an earlier call may have set the shorter list of `STAND_INS`.
    if isinstance(inside, list) and isinstance(index, int) and index < len(inside):
        entry = inside[index]
    if isinstance(entry, dict):
        if len(further) > 1:
            leave_out(entry, tuple(further[1:]))
        else:
            entry.clear()
    elif further and isinstance(inside, dict):
        leave_out(inside, tuple(further))
    elif key in STAND_INS:
        given[str(key)] = copy.deepcopy(STAND_INS[key])
    else:
        given.pop(str(key), None)
