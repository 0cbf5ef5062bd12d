"""Describes in a report what was run and how quantities were measured."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cwndlab import metrics
from cwndlab.base.writing import count_text, with_unit
from cwndlab.study.document import shipped_studies
from cwndlab.study.values import text

from .digits import space_unit
from .model import Definition, Fact

if TYPE_CHECKING:
    from cwndlab.stats.results import Results, Value
    from cwndlab.study.cells import CellInfo
    from cwndlab.study.schema import Quantity

#: The file name of the copy of the user's own kernel configuration in a result folder.
STACK_FILE = "stack.toml"


def missing_runs(content: Mapping[str, Any]) -> str:
    """A sentence on the runs that failed; "" if none failed."""
    failures = content.get("failures", [])
    if not failures:
        return ""
    first = failures[0]
    wanted = sum(cell.get("requested", cell["replicates"]) for cell in content["cells"])
    failed = f"{len(failures)} of {wanted} runs gave no number, the first {first['cell']}, replicate "
    return f"{failed}{first['replicate']}: {first['reason']}. {first['advice']}".strip()


def facts(content: Mapping[str, Any]) -> list[Fact]:
    """Facts about a run: what was run, how long it took, and how to run it again."""
    replicates = [cell["replicates"] for cell in content["cells"]]
    span = _span(replicates)
    fetched = content.get("replicates_fetched", 0)
    requested = _span([cell.get("requested", cell["replicates"]) for cell in content["cells"]])
    if requested != span:
        span += f" of {requested} requested"
    if until := content.get("until"):
        span += f", until the half-width is {until:.3g} of each number, or the cap"
        span += " (Chow and Robbins 1965)"
    return [
        Fact(
            "cells",
            f"{len(replicates)}: combinations of the values that vary" if len(replicates) > 1 else "1",
        ),
        Fact("replicates of each", span),
        Fact("simulated", f"{content['scenario']['duration_ns'] / 1e9:g} s a run"),
        Fact(
            "took",
            f"{content['seconds']:g} s for {count_text(content['replicates_run'], 'run')} on "
            + with_builds(content, content["ran_on"])
            + (f", {fetched} taken from {content['store']}" if fetched else ""),
        ),
        Fact("version", f"cwndlab {content['cwndlab']}" + _commit(content["git"])),
        *(
            Fact("page written by", f"cwndlab {version} of another build; the numbers are as measured then")
            for version in [content.get("reported_by")]
            if version
        ),
        *_backend_facts(content),
        *(Fact(f"QUIC stack {name}", version) for name, version in content.get("stacks", {}).items()),
        *(
            Fact(
                f"congestion control {own['name']}",
                f"class {own['class']} of {own['file']}, digest {own['digest']}; its text is {own['copy']}",
            )
            for own in content.get("congestion_controls", [])
        ),
        Fact("run again", _command_again(content)),
    ]


def _span(replicates: Sequence[int]) -> str:
    """The range of the numbers of replicates: "5", or "3 to 5"."""
    least, most = min(replicates), max(replicates)
    return str(least) if least == most else f"{least} to {most}"


def describe_run(
    content: Mapping[str, Any], tables: Mapping[str, Any] = MappingProxyType({})
) -> tuple[str, ...]:
    """A run in a few words, ending with the command to repeat it; `tables` are the study file's."""
    replicates = [cell["replicates"] for cell in content["cells"]]
    cells, runs = len(replicates), _span(replicates)
    each = " each" if cells > 1 else ""
    warmup = tables.get("run", {}).get("warmup")
    left_out = f", the first {space_unit(warmup)} left out" if isinstance(warmup, str) else ""
    words = [
        f"{count_text(cells, 'cell')}, {runs} run{'s' if max(replicates) != 1 else ''}{each} "
        f"of {content['scenario']['duration_ns'] / 1e9:g} s{left_out}"
    ]
    if content.get("backend"):
        # Each release is followed by details in parentheses.
        releases = dict.fromkeys(release.split(" ")[0] for release in content["kernel"].split("), "))
        stack = content["stack"]
        words.append(f"Linux {', '.join(releases)}, {stack.get('about') or 'stack ' + stack['name']}")
    if max(replicates) > 1:
        words.append("95 % intervals")
    network: tuple[str, ...] = import_module("cwndlab.apps.headline.conditions").network_words(tables)
    return (*network, *words, _command_again(content).removesuffix(" -o DIR"))


def _commit(git: str | None) -> str:
    """The commit of cwndlab's source tree, to append to the version; "" if it is unknown."""
    if not git:
        return ""
    return f", commit {git.rstrip('+')[:12]}" + (" with uncommitted changes" if git.endswith("+") else "")


def _command_again(content: Mapping[str, Any]) -> str:
    """The command that repeats a run; a study of the user's own is run from its copy in the result folder."""
    sets = {axis: ",".join(map(str, values)) for axis, values in content["set"].items()}
    kernels = content.get("kernel_option")
    if content["study"] in shipped_studies():
        words = ["cwndlab", "run", str(content["study"])]
        # `--cc` below adds a congestion control to its axis again
        changed = {key: value for key, value in content["changed"].items() if not key.startswith("axes.")}
        kernels = changed.pop("run.kernel", kernels)
        sets |= {key: str(value) for key, value in changed.items()}
    else:  # the copy contains the changed keys
        words = ["cwndlab", "run", "study.toml"]
    for key, value in sets.items():
        words += ["--set", f"{key}={value}"]
    for own in content.get("congestion_controls", []):
        words += ["--cc", f"{own['name']}={own['copy']}:{own['class']}"]
    if content.get("backend"):
        stack = content["stack"].get("file") or content["stack"]["name"]
        words += ["--backend", str(content["backend"]), "--stack", str(stack)]
    if kernels:
        words += ["--kernel", kernels if isinstance(kernels, str) else ",".join(kernels)]
    if content.get("replicates"):
        words += ["--replicates", str(content["replicates"])]
    if content.get("until"):
        words += ["--until", f"{100 * content['until']:.6g}%"]
    if content.get("sensitivity"):
        words += ["--sensitivity", str(content["sensitivity"])]
    return shlex.join([*words, "--seed", str(content["seed"]), "-o", "DIR"])


def _backend_facts(content: Mapping[str, Any]) -> list[Fact]:
    """Facts about the kernel, the machine and the timing of a run on a kernel; empty for other runs."""
    if not content.get("backend"):
        return []
    facts: list[Fact] = import_module("cwndlab.apps.twin.kernel_facts").backend_facts(content)
    return facts


def with_builds(content: Mapping[str, Any], releases: str) -> str:
    """The kernels' releases; kernels in virtual time are followed by the digest of their build."""
    return releases.replace(" (", " (build ") if content.get("backend") == "linux-virtual" else releases


#: The most windows that are listed individually.
FEW_WINDOWS = 4
#: (cell, quantity) -> start and end, in seconds, of the window in which it was measured.
Windows: TypeAlias = Mapping[tuple[str, str], tuple[float, float]]


def definitions(quantities: Iterable[Quantity], results: Results, windows: Windows) -> list[Definition]:
    """The metrics of these quantities, in the study's order, each with its quantities and their windows."""
    by_metric: dict[str, list[Quantity]] = {}
    by_name = {quantity.name: quantity for quantity in quantities}
    for quantity in by_name.values():
        if quantity.metric is not None:
            by_metric.setdefault(quantity.metric, []).append(quantity)
    listed = [
        Definition(
            _short_titles(asked),
            name,
            _paragraphs(metrics.get(name).formula),
            tuple(_words(q, by_name, results, windows) for q in asked),
        )
        for name, asked in by_metric.items()
    ]
    derived = tuple(
        f"{q.title or q.name}: {q.derived}, run by run" for q in by_name.values() if q.derived is not None
    )
    if derived:
        titles = "; ".join(q.title or q.name for q in by_name.values() if q.derived is not None)
        listed.append(
            Definition(
                titles[:1].upper() + titles[1:],
                "derived",
                ("Computed from two quantities of the same run.",),
                derived,
            )
        )
    return listed


def _short_titles(quantities: Sequence[Quantity]) -> str:
    """The titles of quantities, each up to the first comma: "loss rate" for "loss rate, cubic"."""
    titles = (q.title or q.name.replace("_", " ") for q in quantities)
    text = "; ".join(dict.fromkeys(title.split(", ")[0] for title in titles))
    return text[:1].upper() + text[1:]


def _words(quantity: Quantity, by_name: Mapping[str, Quantity], results: Results, windows: Windows) -> str:
    details = [f"{name} = {value}" for name, value in quantity.options.items()]
    if quantity.within is not None:
        details.append(f"{quantity.within} of each run")
    if window := _window(quantity.name, results, windows):
        details.append(f"measured {window}")
    title = quantity.title or quantity.name.replace("_", " ")
    words = with_unit(title, metrics.find_unit(quantity, by_name))
    if details:
        words += f": {', '.join(details)}"
    more = [text for text in (_adjustment(quantity, by_name, results), quantity.about) if text]
    return ". ".join((words, *more))


def _adjustment(quantity: Quantity, by_name: Mapping[str, Quantity], results: Results) -> str:
    """A sentence on the controls for which means are adjusted, and on the runs saved; "" if not adjusted."""
    saved = [
        (plain / interval.half_width) ** 2
        for cell in (results.cells if quantity.adjust_for else ())
        if (sample := results.sample(cell.id, quantity.name)).adjusted is not None
        if (interval := sample.estimate()).half_width > 0.0
        if (plain := replace(sample, controls=()).estimate().half_width) > 0.0
    ]
    if not saved:
        return ""
    names = " and ".join(by_name[name].title or name.replace("_", " ") for name in quantity.adjust_for)
    return (
        f"Adjusted for {names}, which gives intervals as of {float(np.median(saved)):.1f} times as many runs "
        f"(median of {len(saved)} cells)"
    )


def _window(quantity: str, results: Results, windows: Windows) -> str:
    """The window that was measured, in words; with the cells of each window if there are several."""
    spans = {cell.id: windows.get((cell.id, quantity)) for cell in results.cells}
    if len(set(spans.values())) > 1:  # ignore cells in which no replicate has a value
        data = results.data
        spans = {c: w for c, w in spans.items() if any(_is_number(v) for v in data.get((c, quantity), ()))}
    cells: dict[tuple[float, float] | None, list[CellInfo]] = {}
    for cell in results.cells:
        if cell.id in spans:
            cells.setdefault(spans[cell.id], []).append(cell)
    words = {window: f"from {window[0]:g} s to {window[1]:g} s" for window in cells if window is not None}
    if len(words) < 2:
        return "".join(words.values())
    for axis in results.axes:
        values = {w: list(dict.fromkeys(text(c.axes.get(axis, "")) for c in cells[w])) for w in words}
        every = [value for those in values.values() for value in those]
        if len(every) == len(set(every)) and "" not in every:
            return ", ".join(f"{words[w]} ({axis} = {', '.join(those)})" for w, those in values.items())
    if len(words) > FEW_WINDOWS:
        start, end = (sorted({w[place] for w in words}) for place in (0, 1))
        ends = [
            f"{spans[0]:g} s" if len(spans) == 1 else f"{spans[0]:g} … {spans[-1]:g} s"
            for spans in (start, end)
        ]
        return f"from {ends[0]} to {ends[1]}, depending on the cell"
    return ", ".join(f"{words[w]} (cells: {len(cells[w])})" for w in words)


def _is_number(value: Value) -> bool:
    return math.isfinite(value) if isinstance(value, float) else bool(np.isfinite(value).any())


def _paragraphs(doc: str) -> tuple[str, ...]:
    """A metric's docstring as paragraphs of plain text, with formulas in Unicode."""
    return tuple(_plain(" ".join(part.split())) for part in doc.split("\n\n") if part.strip())


def _plain(text: str) -> str:
    return formulas_as_text(text).replace("`", "").strip()


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
#: Matches a formula in a docstring: $$ … $$, \( … \) or \[ … \].
_FORMULA = re.compile(r"\$\$(.*?)\$\$|\\\((.*?)\\\)|\\\[(.*?)\\\]", re.S)
NBSP = "\N{NO-BREAK SPACE}"


def formulas_as_text(text: str) -> str:
    """The text with its formulas in Unicode."""
    return _FORMULA.sub(
        lambda match: tex_as_text(next(group for group in match.groups() if group is not None)), text
    )


def tex_as_text(tex: str) -> str:
    r"""TeX's mathematics as a line: `\frac{x_i^2}{n}` is xᵢ² / n. Unknown commands keep their names."""
    return " ".join(_sequence(iter(_TOKEN.findall(tex))).replace(NBSP, " ").split())


def _sequence(tokens: Iterator[str]) -> str:
    """The text of all tokens up to the next closing brace."""
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
    for place in fractions:  # parentheses if the fraction is a factor
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
    """The text of a command's argument: a group in braces, or the next token."""
    token = next((token for token in tokens if not token.isspace()), "")
    return _token(token, tokens)


def _script(mark: str, text: str) -> str:
    """A subscript or superscript in Unicode; in TeX's notation if Unicode lacks one of its signs."""
    table, text = (_LOW if mark == "_" else _HIGH), text.replace(" ", "")
    if all(ord(sign) in table for sign in text):
        return text.translate(table)
    text = "".join(text.split(NBSP)) if mark == "_" else text
    return f"{mark}{text}" if text.isalnum() else f"{mark}({text})"


def _group(text: str, operators: str) -> str:
    """The text, in parentheses if it has one of these operators and no parentheses yet."""
    text = text.strip()
    inside = text[1:-1]
    enclosed = text.startswith("(") and text.endswith(")") and "(" not in inside and ")" not in inside
    return f"({text})" if not enclosed and any(sign in text for sign in operators) else text
