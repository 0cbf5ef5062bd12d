"""The grammar of all expressions: conditions, parameters, derived quantities, claims, findings, criteria.

    ftps > 0 or http == '1.0'
    all(drop_rate[iw=[2, 3, 4]] - drop_rate[iw=1] < 1)

Expressions have numbers, texts, names, lists, ``+ - * / // %``, comparisons, ``and or not in``,
``a if c else b``, function calls, and selections ``name[axis=value]``. Python's parser parses an expression,
and one of two evaluators walks its tree, each with its own functions: `cwndlab.study.expr` for numbers and
`cwndlab.stats.expression` for measured quantities. No code is executed.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from functools import lru_cache
from keyword import iskeyword
from typing import NamedTuple, TypeAlias

LONGEST = 2000
DEEPEST = 40
#: The operators, comparisons and other nodes that an expression may have, besides function calls.
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn)
_NODES = (ast.Constant, ast.Name, ast.List, ast.Tuple, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)
SYNTAX = "numbers, names, + - * / // %, comparisons, and, or, not, if … else"
#: Matches a comment or a text, whose brackets are kept; a name or a number; or any other character.
_TOKEN = re.compile(r"""#.*|"[^"]*"|'[^']*'|[\w.]+|\S""")


class ExpressionError(ValueError):
    """An invalid expression; `column` is the position of the error in its text, from 1."""

    def __init__(self, problem: str, column: int, right: str | None = None) -> None:
        self.problem, self.column, self.right = problem, column, right
        super().__init__(f"column {column}: {problem}" + (f"; {right}" if right else ""))


@lru_cache(maxsize=1024)
def parse(text: str) -> ast.expr:
    """The syntax tree of an expression, not to be modified; selections are calls. ExpressionError, with the
    column, for an invalid expression.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"longer than {LONGEST} characters", LONGEST)
    flat = text.replace("\n", " ").replace("\t", " ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # SyntaxWarnings about code that `_check` rejects
            tree = ast.parse(_brackets_to_calls(flat), mode="eval").body
    except ExpressionError:
        raise
    except SyntaxError as error:
        raise ExpressionError(error.msg, error.offset or len(flat) + 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"cannot be read: {error}", 1) from None
    if _depth(tree) > DEEPEST:
        raise ExpressionError(f"nested deeper than {DEEPEST}", 1)
    for node in ast.walk(tree):
        _check(node, flat)
    return tree


def _check(node: ast.AST, text: str) -> None:
    """ExpressionError if the node is not allowed in any expression."""
    if isinstance(node, ast.Compare):
        for relation in node.ops:
            if not isinstance(relation, _COMPARISONS):
                problem = f"{type(relation).__name__} is no comparison here"
                raise ExpressionError(problem, node.col_offset + 1, "< <= > >= == !=")
    allowed = isinstance(node, _NODES)
    if isinstance(node, ast.BinOp):
        allowed = isinstance(node.op, _ARITHMETIC)
    if isinstance(node, ast.Call):
        allowed = isinstance(node.func, ast.Name)
    if not allowed and isinstance(node, ast.expr):
        raise not_allowed(node, text)


def not_allowed(node: ast.expr, text: str, right: str = SYNTAX) -> ExpressionError:
    """The error for a node that is not allowed in this kind of expression."""
    shown = text.encode()[node.col_offset : node.end_col_offset].decode(errors="replace")
    return ExpressionError(f"{shown!r} is not allowed in an expression", node.col_offset + 1, right)


def _brackets_to_calls(text: str) -> str:
    """The text with `name[a=1]` as `name(a=1)`, which Python can parse; columns stay the same."""
    out = list(text)
    stack: list[tuple[int, bool]] = []
    previous = ""
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == "[":
            after_name = previous.isidentifier() and not iskeyword(previous)
            stack.append((token.start(), after_name))
            if after_name:
                out[token.start()] = "("
        elif word == "]":
            if not stack:
                raise ExpressionError("a ] without its [", token.start() + 1)
            if stack.pop()[1]:
                out[token.start()] = ")"
        previous = word
    if stack:
        raise ExpressionError("a [ without its ]", stack[-1][0] + 1)
    return "".join(out)


def _depth(node: ast.AST) -> int:
    level, deepest = [node], 0
    while level:
        deepest += 1
        level = [child for parent in level for child in ast.iter_child_nodes(parent)]
    return deepest


#: The argument `kind` of `sample.relate` for each operator.
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "difference",
    ast.Mult: "product",
    ast.Div: "ratio",
}
_RIGHT = 'write "a / b", "a - b", "a + b", "a * b", or "increase(a, b)", in % from a to b'
#: The functions that compare a cell's number with that of another cell.
COMPARISONS = ("decrease", "increase", "ratio", "difference")


#: The wanted value or values of an axis.
Wanted: TypeAlias = bool | int | float | str | list[bool | int | float | str]


class Operation(NamedTuple):
    """An operation on two quantities: its kind and their names."""

    kind: str
    of: str
    by: str


class Compare(NamedTuple):
    """A comparison of a cell's quantity with that of another cell, replicate by replicate."""

    #: The kind: decrease = 100 (1 - cell/other) %, increase = 100 (cell/other - 1) %, ratio = cell/other,
    #: difference = cell - other.
    kind: str
    #: The axes in which the other cell differs, with its values.
    to: Mapping[str, Wanted]

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(f'{axis}={value!r}' for axis, value in self.to.items())})"


def _parsed(text: str, right: str) -> ast.expr:
    try:
        return parse(text)
    except ExpressionError as error:
        raise ValueError(f"{text!r} is no expression: {error.problem}; {right}") from None


def operation(text: str) -> Operation:
    """The operation that an expression applies to two quantities; ValueError for other expressions."""
    match _parsed(text, _RIGHT):
        case ast.BinOp(left=ast.Name(id=of), op=op, right=ast.Name(id=by)) if type(op) in OPERATORS:
            return Operation(OPERATORS[type(op)], of, by)
        case ast.Call(func=ast.Name(id="increase"), args=[ast.Name(id=by), ast.Name(id=of)], keywords=[]):
            return Operation("increase", of, by)
    raise ValueError(f"{text!r} does not combine two quantities; {_RIGHT}")


def comparison(given: object) -> Compare:
    """The comparison that an expression like "ratio(iw=1)" makes; ValueError for other expressions."""
    if isinstance(given, Compare):
        return given
    if isinstance(given, Mapping):  # the notation until version 0.2
        former = Compare(str(given.get("kind", "ratio")), dict(given.get("to", {})))
        raise ValueError(f'a comparison is an expression; write compare = "{former}"')
    right = f'write for instance "decrease(iw=1)"; known: {", ".join(COMPARISONS)}'
    match _parsed(str(given), right):
        case ast.Call(func=ast.Name(id=kind), args=[], keywords=[*axes]) if kind in COMPARISONS and axes:
            try:
                return Compare(kind, {str(axis.arg): ast.literal_eval(axis.value) for axis in axes})
            except ValueError:
                pass
    raise ValueError(f"{given!r} compares with no other cell; {right}")
