"""Formulas of metrics, which are written in TeX, as a line of Unicode text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SIGNS = {
    "sum": "Σ", "prod": "Π", "int": "∫", "in": "∈", "cdot": "·", "times": "×", "le": "≤", "leq": "≤",
    "ge": "≥", "geq": "≥", "ne": "≠", "approx": "≈", "infty": "∞", "sqrt": "√", "ldots": "…", "dots": "…",
    "to": "→", "pm": "±", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "lambda": "λ",
    "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ", "phi": "φ", "omega": "ω",
    "left": "", "right": "", "quad": " ", "qquad": " ",
}  # fmt: skip
_ACCENTS = {
    "tilde": "\N{COMBINING TILDE}",
    "hat": "\N{COMBINING CIRCUMFLEX ACCENT}",
    "bar": "\N{COMBINING MACRON}",
}
_LOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_HIGH = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\s+|.", re.S)
#: A formula in a docstring: $$ … $$, \( … \) or \[ … \].
_FORMULA = re.compile(r"\$\$(.*?)\$\$|\\\((.*?)\\\)|\\\[(.*?)\\\]", re.S)
NBSP = "\N{NO-BREAK SPACE}"


def plain(text: str) -> str:
    """A text, each formula in it as Unicode."""
    return _FORMULA.sub(lambda found: unicode(next(one for one in found.groups() if one is not None)), text)


def unicode(tex: str) -> str:
    r"""TeX's mathematics as a line: `\frac{x_i^2}{n}` is xᵢ² / n. Unknown commands keep their names."""
    return " ".join(_sequence(iter(_TOKEN.findall(tex))).replace(NBSP, " ").split())


def _sequence(tokens: Iterator[str]) -> str:
    """All up to the closing brace."""
    parts: list[str] = []
    fractions: list[int] = []
    for token in tokens:
        if token == "}":
            break
        if token == "\\frac":
            fractions.append(len(parts))
            above, below = _argument(tokens), _argument(tokens)
            parts.append(f"{_group(above, '+-')} / {_group(below, ' +-·/')}")
        elif token in "_^":
            parts.append(_script(token, _argument(tokens)))
        else:
            parts.append(_token(token, tokens))
    for place in fractions:  # a fraction that is one factor of several
        before, after = "".join(parts[:place]).rstrip(), "".join(parts[place + 1 :]).strip()
        if (before and before[-1] not in "=+-(,") or (after and after[0] not in "=+-),"):
            parts[place] = f"({parts[place]})"
    return "".join(parts)


def _token(token: str, tokens: Iterator[str]) -> str:
    name = token[1:] if token.startswith("\\") else None
    if token == "{":
        return _sequence(tokens)
    if name is None:
        return token
    if name in _ACCENTS:
        return _argument(tokens) + _ACCENTS[name]
    if name in ("text", "mathrm", "operatorname"):
        return _argument(tokens).replace(" ", NBSP)
    if name in ",;: !":
        return "" if name == "!" else " "
    return _SIGNS.get(name, name)


def _argument(tokens: Iterator[str]) -> str:
    """What a command applies to: a group in braces, or the next sign."""
    token = next((one for one in tokens if not one.isspace()), "")
    return _token(token, tokens)


def _script(mark: str, text: str) -> str:
    """A subscript or superscript; one that Unicode lacks keeps TeX's mark."""
    table, text = (_LOW if mark == "_" else _HIGH), text.replace(" ", "")
    if all(ord(sign) in table for sign in text):
        return text.translate(table)
    text = "".join(text.split(NBSP)) if mark == "_" else text
    return f"{mark}{text}" if text.isalnum() else f"{mark}({text})"


def _group(text: str, operators: str) -> str:
    """In parentheses if there is more than one factor in it."""
    text = text.strip()
    inside = text[1:-1]
    enclosed = text.startswith("(") and text.endswith(")") and "(" not in inside and ")" not in inside
    return f"({text})" if not enclosed and any(sign in text for sign in operators) else text
