"""Quantities that are computed from two others, in each replicate: `derived = "a / b"`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from .grammar import ExpressionError, parse

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "difference",
    ast.Mult: "product",
    ast.Div: "ratio",
}
_RIGHT = 'write "a / b", "a - b", "a + b", "a * b", or "increase(a, b)", in % from a to b'


class Operation(NamedTuple):
    """What is computed of two quantities."""

    kind: str
    of: str
    by: str


def operation(text: str) -> Operation:
    """The operation of an expression; ValueError if it is none of two quantities."""
    try:
        tree = parse(text)
    except ExpressionError as error:
        raise ValueError(f"{text!r} is no expression: {error.problem}; {_RIGHT}") from None
    match tree:
        case ast.BinOp(left=ast.Name(id=of), op=op, right=ast.Name(id=by)) if type(op) in _OPERATORS:
            return Operation(_OPERATORS[type(op)], of, by)
        case ast.Call(func=ast.Name(id="increase"), args=[ast.Name(id=by), ast.Name(id=of)], keywords=[]):
            return Operation("increase", of, by)
    raise ValueError(f"{text!r} does not combine two quantities; {_RIGHT}")


def expression_of(kind: str, of: str, by: str) -> str:
    """The expression of an operation."""
    signs = {"sum": "+", "difference": "-", "product": "*", "ratio": "/"}
    return f"increase({by}, {of})" if kind == "increase" else f"{of} {signs.get(kind, '/')} {by}"
