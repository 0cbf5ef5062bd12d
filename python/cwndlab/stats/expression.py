"""Evaluates expressions (`cwndlab.study.grammar`) over the quantities of a study's results.

    page_delay[iw=3, webs=16] < page_delay[iw=1, webs=16]
    all(drop_rate[iw=[2, 3, 4]] - drop_rate[iw=1] < 1)

`quantity[axis=value]` selects cells. A selection has a number for each value of the axes that it does not
name; two selections are joined on the axes that they share. See docs/guide/claims.md.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from cwndlab.base.errors import StudyError, nearest
from cwndlab.base.numbers import ANY, NON_NEGATIVE, Floats, Range, median, reduced_range
from cwndlab.study.grammar import OPERATORS, ExpressionError, not_allowed, parse
from cwndlab.study.values import as_list

from .distributions import LEVEL
from .field import (
    INDEX,
    Field,
    Key,
    combine,
    count,
    kleene_and,
    kleene_not,
    kleene_or,
    lists_equal,
    neither_less,
    reduce,
    relative_scatter,
    surely_less,
)
from .results import Results
from .sample import Derived, Number, common_range, derive, relate

Operation: TypeAlias = Callable[[Floats, Floats], Floats]

Less: TypeAlias = Callable[[Number, Number], Floats]
"""Returns whether its first number is less than its second: 1, 0, or NaN if undecided."""

Decision: TypeAlias = Callable[[Number, Number, Less], Floats]

_COMPARISONS: dict[type[ast.cmpop], Decision] = {
    ast.Lt: lambda a, b, less_: less_(a, b),
    ast.LtE: lambda a, b, less_: kleene_not(less_(b, a)),
    ast.Gt: lambda a, b, less_: less_(b, a),
    ast.GtE: lambda a, b, less_: kleene_not(less_(a, b)),
    ast.Eq: lambda a, b, less_: neither_less(less_(a, b), less_(b, a)),
    ast.NotEq: lambda a, b, less_: kleene_not(neither_less(less_(a, b), less_(b, a))),
}


def _kleene(pair: Operation) -> Callable[[Floats], Floats]:
    def rows(matrix: Floats) -> Floats:
        result: Floats = matrix[0]
        for row in matrix[1:]:
            result = pair(result, row)
        return result

    return rows


every = _kleene(kleene_and)
"""The three-valued "and" of all rows of a matrix, for each column."""

_OVER_CONDITIONS: dict[str, tuple[Callable[[Floats], Floats], bool]] = {
    "all": (every, False),
    "any": (_kleene(kleene_or), False),
    "count": (count, True),
    "share": (lambda m: np.asarray(count(m) / len(m)), True),
}
"""Reductions of conditions: a function of the cells' truth values, and whether it returns a number."""

_OVER_NUMBERS: dict[str, Callable[[Floats], Floats]] = {
    "min": lambda m: np.asarray(np.min(m, axis=0)),
    "max": lambda m: np.asarray(np.max(m, axis=0)),
    "mean": lambda m: np.asarray(np.mean(m, axis=0)),
    "sum": lambda m: np.asarray(np.sum(m, axis=0)),
    "median": median,
}

FUNCTIONS = (
    *_OVER_CONDITIONS,
    *_OVER_NUMBERS,
    *("abs", "decrease", "increase", "ratio", "estimate", "low", "high", "quantile", "shift", "take", "size"),
    "scatter",
)


class Evaluator:
    """Evaluates expressions over the results of a study; each node and each selection is computed once."""

    def __init__(self, results: Results, *, level: float = LEVEL) -> None:
        self.results = results
        #: The confidence level at which comparisons are decided.
        self.level = level
        #: The number of comparisons of random numbers since the last `restart`; each cell counts.
        self.comparisons = 0
        #: The value of each node by its `id`, with the node: while it exists, no other object has its `id`.
        self._nodes: dict[int, tuple[ast.expr, Field]] = {}
        self._quantities: dict[str, Field] = {}
        self._text = ""
        self._cells: dict[str, list[str]] = {}
        #: The numbers, as (cell id, quantity), that expressions have read since the last `restart`.
        self.used: set[tuple[str, str]] = set()

    def restart(self) -> None:
        """Prepares for the next expression: clears nodes, `used` and `comparisons`, keeps selected cells."""
        self._nodes.clear()
        self.used.clear()
        self.comparisons = 0

    def evaluate(self, text: str) -> Field:
        """The value of an expression; an ExpressionError names the column of the error."""
        self._text = text
        return self._node(parse(text))

    def value(self, node: ast.expr) -> Field:
        """The value of a part of a parsed expression."""
        return self._node(node)

    def _node(self, node: ast.expr) -> Field:
        column = node.col_offset + 1
        if id(node) in self._nodes:
            return self._nodes[id(node)][1]
        try:
            value = self._dispatch(node)
            self._nodes[id(node)] = (node, value)
            return value
        except ExpressionError:
            raise
        except StudyError as error:
            raise ExpressionError(error.problem, column, error.right) from None
        except ValueError as error:
            raise ExpressionError(str(error), column) from None

    def _dispatch(self, node: ast.expr) -> Field:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            if isinstance(node.value, bool) or abs(node.value) > sys.float_info.max:
                raise ExpressionError("not a number that can be compared", node.col_offset + 1)
            return Field.number(float(node.value))
        if isinstance(node, ast.List):
            return Field.sequence(self._constant(item) for item in node.elts)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            left, right = self._number(node.left), self._number(node.right)
            return combine(left, right, partial(relate, OPERATORS[type(node.op)]))
        if isinstance(node, ast.BoolOp):
            parts = [self._condition(value) for value in node.values]
            both = _elementwise(kleene_and if isinstance(node.op, ast.And) else kleene_or)
            result = parts[0]
            for part in parts[1:]:
                result = combine(result, part, both)
            return result
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.Name):
            return self._quantity(node.id, node, [], [])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in FUNCTIONS:
                return self._call(node.func.id, node)
            return self._quantity(node.func.id, node.func, node.args, node.keywords)
        syntax = "numbers, quantities, + - * /, comparisons, and, or, not, and " + " ".join(FUNCTIONS)
        raise not_allowed(node, self._text, syntax)

    def _number(self, node: ast.expr) -> Field:
        value = self._node(node)
        if value.condition:
            raise ExpressionError("a number is needed, not a condition", node.col_offset + 1)
        return value

    def _condition(self, node: ast.expr) -> Field:
        value = self._node(node)
        if not value.condition:
            raise ExpressionError(
                "a condition is needed, not a number", node.col_offset + 1, "compare it with something"
            )
        return value

    def _constant(self, node: ast.expr) -> float:
        value = self._node(node)
        if value.axes or not value.constant:
            raise ExpressionError("a list holds plain numbers only", node.col_offset + 1)
        return float(value.data[()].derived.values[0])

    def _unary(self, node: ast.UnaryOp) -> Field:
        if isinstance(node.op, ast.Not):
            return self._condition(node.operand).map(kleene_not)
        if isinstance(node.op, ast.USub):
            value = self._number(node.operand)
            return value.map(operator.neg, lambda within: Range(-within.high, -within.low))
        if isinstance(node.op, ast.UAdd):
            return self._number(node.operand)
        raise ExpressionError("only -, + and not are allowed before a value", node.col_offset + 1)

    def _compare(self, node: ast.Compare) -> Field:
        sides = [self._number(n) for n in (node.left, *node.comparators)]
        result: Field | None = None
        for kind, a, b in zip(node.ops, sides, sides[1:], strict=False):
            if type(kind) not in _COMPARISONS:
                raise ExpressionError(
                    f"{type(kind).__name__} is no comparison here", node.col_offset + 1, "< <= > >= == !="
                )
            if a.literal or b.literal:
                if not isinstance(kind, ast.Eq | ast.NotEq):
                    raise ExpressionError("lists are compared by == or !=", node.col_offset + 1)
                step = lists_equal(a, b, self.level)
                step = step if isinstance(kind, ast.Eq) else step.map(kleene_not)
            else:
                step = _decide(a, b, _COMPARISONS[type(kind)], self.level)
            self.comparisons += 0 if a.constant and b.constant else len(step.data)
            result = step if result is None else combine(result, step, _elementwise(kleene_and))
        assert result is not None  # the grammar gives at least one comparison
        return result

    def _call(self, name: str, node: ast.Call) -> Field:
        over, args = None, node.args
        for keyword in node.keywords:
            if keyword.arg != "over" or not isinstance(keyword.value, ast.Name):
                raise ExpressionError(
                    f"{name} takes no {keyword.arg!r}", node.col_offset + 1, "over=AXIS reduces one axis"
                )
            over = keyword.value.id
        wanted = 2 if name in ("decrease", "increase", "ratio", "quantile", "shift", "take") else 1
        several = name in ("min", "max") and len(args) > 1
        if len(args) != wanted and not several:
            raise ExpressionError(f"{name} takes {wanted} value(s), not {len(args)}", node.col_offset + 1)
        if name in _OVER_CONDITIONS:
            rows, number = _OVER_CONDITIONS[name]
            return reduce(self._condition(args[0]), rows, over, bounds=number)
        first = self._number(args[0])
        if first.bounds and name not in ("abs", "min", "max"):
            raise ExpressionError(f"{name} takes no count", args[0].col_offset + 1)
        if several:
            pair = np.minimum if name == "min" else np.maximum
            for other in args[1:]:
                first = combine(first, self._number(other), _elementwise(pair, common_range))
            return first
        if name in _OVER_NUMBERS:
            return reduce(first, _OVER_NUMBERS[name], over, within=partial(reduced_range, name))
        if name == "abs":
            return first.map(lambda v: np.asarray(np.abs(v)))
        if name in ("decrease", "increase", "ratio"):
            second = self._number(args[1])
            if name != "ratio":  # a change is from the first value to the second
                first, second = second, first
            return combine(first, second, partial(relate, name))
        if name in ("estimate", "low", "high"):
            ends = {k: first.interval(k) for k in first.data}
            attribute = "value" if name == "estimate" else name
            return Field(
                first.axes, {k: Derived.constant(float(getattr(i, attribute))) for k, i in ends.items()}
            )
        if name == "scatter":
            return first.map(relative_scatter, lambda _: NON_NEGATIVE)
        if name == "size":
            return Field.number(float(len(first.data)))
        second_value = self._constant(args[1])
        if name == "quantile":
            if not 0.0 <= second_value <= 1.0:
                raise ExpressionError("a quantile lies between 0 and 1", args[1].col_offset + 1)
            return reduce(
                first,
                partial(_quantile, second_value),
                over,
                within=lambda bounds: bounds,
            )
        if INDEX not in first.axes or second_value != int(second_value):
            raise ExpressionError(f"{name} needs a list quantity and a whole number", node.col_offset + 1)
        return _reindex(first, name, int(second_value))

    def _quantity(
        self, name: str, node: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Field:
        column = node.col_offset + 1
        if name not in self.results.labels.quantities:
            raise ExpressionError(
                f"no quantity or function {name!r}",
                column,
                nearest(name, [*self.results.labels.quantities, *FUNCTIONS]),
            )
        where, positions = self._selection(args, keywords)
        asked = repr((name, where, positions))
        if asked not in self._quantities:
            self._quantities[asked] = self._selected(name, where, positions, column)
            self._cells[asked] = [cell.id for cell in self.results.select(where)]
        self.used |= {(cell, name) for cell in self._cells[asked]}
        return self._quantities[asked]

    def _selected(
        self, name: str, where: dict[str, Any], positions: list[int] | int | None, column: int
    ) -> Field:
        cells = self.results.select(where)
        if not cells:
            raise ExpressionError("no cell of the study has all of these axis values", column)
        fixed = {axis for axis, value in where.items() if not isinstance(value, list)}
        open_axes = [a for a in self.results.axes if a not in fixed and any(a in c.axes for c in cells)]
        uneven = [a for a in open_axes if any(a not in c.axes for c in cells)]
        if uneven:
            raise ExpressionError(
                f"the cells selected do not all have the axis {uneven[0]!r}", column, f"fix {uneven[0]}"
            )
        data: dict[Key, Number] = {}
        lengths: dict[Key, int] = {}
        is_list = self.results.is_list(name)
        for cell in cells:
            key = tuple(cell.axes[a] for a in open_axes)
            if not is_list:
                data[key] = self.results.sample(cell.id, name)
                continue
            numbers = self.results.positions(cell.id, name, None if positions is None else as_list(positions))
            lengths[key] = len(numbers)
            for i, number in numbers.items():
                data[key if type(positions) is int else (*key, i)] = number
        if not is_list:
            return Field(tuple(open_axes), data)
        axes = tuple(open_axes) if type(positions) is int else (*open_axes, INDEX)
        return Field(axes, data, lengths=lengths if positions is None else None)

    def _selection(
        self, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> tuple[dict[str, Any], list[int] | int | None]:
        where: dict[str, Any] = {}
        for arg in args:
            if not isinstance(arg, ast.Name) or arg.id not in self.results.labels.cells:
                raise ExpressionError(
                    "a selection is axis=value or the name of a cell",
                    arg.col_offset + 1,
                    nearest(getattr(arg, "id", ""), self.results.labels.cells),
                )
            where.update(self.results.labels.cells[arg.id])
        positions: list[int] | int | None = None
        for keyword in keywords:
            if keyword.arg is None:
                raise ExpressionError("** is not allowed", keyword.value.col_offset + 1)
            value = _axis_value(keyword.value)
            if keyword.arg == INDEX:
                positions = value
                if not all(type(v) is int and v >= 0 for v in as_list(value)):
                    raise ExpressionError("a position is a whole number from 0", keyword.value.col_offset + 1)
                continue
            where[keyword.arg] = value
        return where, positions


def _quantile(share: float, matrix: Floats) -> Floats:
    """The quantile of each column of a matrix."""
    return np.asarray(np.quantile(matrix, share, axis=0))


def _elementwise(
    f: Operation, within: Callable[[Derived, Derived], Range] = lambda a, b: ANY
) -> Callable[[Number, Number], Number]:
    """Turns a function of arrays into a function of `Number`s; `within` returns the range of its result."""
    return lambda a, b: derive(f, [a, b], within(a.derived, b.derived))


def _decide(a: Field, b: Field, decision: Decision, level: float) -> Field:
    """A condition for each pair of numbers that `combine` makes: 1 is true, 0 false, NaN undecided."""
    less_ = partial(surely_less, bounds=a.bounds or b.bounds, level=level)
    decided = combine(a, b, lambda x, y: Derived(decision(x, y, less_)))
    return Field(decided.axes, decided.data, condition=True)


def _axis_value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool):
        return node.value
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _axis_value(node.operand)
        if type(inner) in (int, float):
            return -inner
    if isinstance(node, ast.List):
        return [_axis_value(item) for item in node.elts]
    raise ExpressionError(
        "a value of an axis is a number, a word, or a list of them",
        node.col_offset + 1,
        'a value with - or . in it needs quotes, like size="as-traced"',
    )


def _reindex(x: Field, name: str, k: int) -> Field:
    """`take(x, k)`: a list's first k (last -k for negative k); `shift(x, k)`: position i becomes i + k."""
    at = x.axes.index(INDEX)
    longest = 1 + max((int(key[at]) for key in x.data), default=-1)
    lengths = None
    if name == "take" and x.lengths is not None:
        lengths = {key: min(n, abs(k)) for key, n in x.lengths.items()}
    data = {}
    for key, value in x.data.items():
        position = int(key[at])
        length = (x.lengths or {}).get((*key[:at], *key[at + 1 :]), longest)
        if name == "shift":
            data[(*key[:at], position + k, *key[at + 1 :])] = value
        elif (position < k) if k >= 0 else (position >= length + k):
            data[key] = value
    return Field(x.axes, data, lengths=lengths if k >= 0 else None)
