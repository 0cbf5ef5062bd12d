"""Evaluates numeric expressions (`cwndlab.study.grammar`): parameters, and conditions on cells.

Names are parameters and axes; functions are ``min max round abs int float``. Powers, attributes and other
calls are not allowed, so a study cannot access the interpreter or make a number of unbounded size.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from cwndlab.base.errors import StudyError, nearest

from .grammar import SYNTAX, ExpressionError, not_allowed, parse

_LARGEST = 2**63
#: The most digits for `round`: Python computes the power of ten first, however large.
_DIGITS = 20
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISON: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def _round(value: Any, digits: int = 0, *more: Any) -> Any:
    if more or not isinstance(digits, int) or abs(digits) > _DIGITS:
        raise ValueError(f"round() takes a number and at most {_DIGITS} digits")
    return round(value, digits) if digits else round(value)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "round": _round,
    "abs": abs,
    "int": int,
    "float": float,
}
_WORDS = {"true": True, "false": False}


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.expr:
    """The syntax tree of a numeric expression; StudyError if it has a selection or an unknown function."""
    try:
        tree = parse(text.strip())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (_name(node) not in _FUNCTIONS or node.keywords):
                raise not_allowed(node, text.strip(), f"{SYNTAX}, {' '.join(_FUNCTIONS)}")
    except ExpressionError as error:
        right = error.right or 'write for instance "= 2 * webs" or "ftps > 0"'
        raise StudyError(f"{text!r} is no expression: {error.problem}", right=right) from None
    return tree


def _name(call: ast.Call) -> str:
    """The name of the function that is called; the grammar allows only names."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def names_in(text: str) -> set[str]:
    """The names that an expression uses."""
    return {
        node.id
        for node in ast.walk(_parse(text))
        if isinstance(node, ast.Name) and node.id not in _FUNCTIONS and node.id not in _WORDS
    }


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression; StudyError if it cannot be computed."""
    try:
        return _value(_parse(text), names)
    except StudyError:
        raise
    except ZeroDivisionError:
        raise StudyError(f"{text!r} divides by zero") from None
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise StudyError(f"{text!r} cannot be computed: {error}") from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return _bounded(value)
        case ast.Name(id=name):
            if name in names:
                return names[name]
            if name in _WORDS:
                return _WORDS[name]
            raise StudyError(f"{name!r} is neither a parameter nor an axis", right=nearest(name, names))
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, names) for item in items]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            a, b = _value(left, names), _value(right, names)
            if not (isinstance(a, int | float) and isinstance(b, int | float)):
                raise StudyError("arithmetic is for numbers", right='text is put together as "{a}B"')
            return _bounded(_ARITHMETIC[type(op)](a, b))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(value, names) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_value(value, names) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            a = _value(left, names)
            for relation, comparator in zip(ops, comparators, strict=True):
                if type(relation) not in _COMPARISON:
                    break
                b = _value(comparator, names)
                if not _COMPARISON[type(relation)](a, b):
                    return False
                a = b
            else:
                return True
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, names) else orelse, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*(_value(arg, names) for arg in args)))
    raise StudyError(f"{ast.unparse(node)!r} is not allowed in an expression", right=SYNTAX)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise StudyError("a number leaves 64 bits")
    return value
