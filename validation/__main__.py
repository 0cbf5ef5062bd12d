"""Runs the whole validation; writes build/validation.json and the table in validation/README.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from . import drawn, ecn, laws, overload, web
from .against_ns2 import Outcome, cases, compare
from .page import replace_part
from .row import Row

HERE = Path(__file__).parent
BUILD = HERE.parent / "build"
BEGIN, END = "<!-- begin: python -m validation -->", "<!-- end -->"


def law_rows() -> Iterator[Row]:
    """The rows of all comparisons with laws, ns-2's web traffic and kernels."""
    for law in (laws.slow_start, laws.periodic_loss, laws.random_loss, laws.cubic):
        yield from law()
    yield from web.rows()
    yield from web.bay_rows()
    yield from overload.rows()
    yield from ecn.rows()
    yield from drawn.rows()


def _markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(cells) + " |" for cells in body]


def report(rows: Sequence[Row], outcomes: Sequence[Outcome]) -> str:
    """The tables for validation/README.md."""
    lines: list[str] = []
    for group, members in groupby(rows, key=lambda row: row.group):
        head = ("check", "source", "expected", "measured", "off", "tolerance", "passed")
        lines += [f"### {group}", "", *_markdown(head, [row.cells() for row in members]), ""]
    lines += ["### ns-2.35, event by event", ""]
    body = []
    for o in outcomes:
        timeout = "none" if o.first_timeout_s == float("inf") else f"{o.first_timeout_s:.3f} s"
        where, ours, why = "nowhere", "", ""
        if o.parting:
            where = f"event {o.parting.index + 1} ({o.parting.kind}): {o.parting.theirs}"
            ours, why = str(o.parting.ours), o.explained.cause if o.explained else "NOT EXPLAINED"
        body.append([o.case.golden, str(o.events), timeout, where, ours, why, "yes" if o.passed else "NO"])
    head = (
        "scenario",
        "events",
        "first timeout in ns-2",
        "parts from ns-2 at",
        "ours there",
        "why",
        "passed",
    )
    lines += _markdown(head, body)
    return "\n".join(lines)


def main() -> int:
    """Runs all checks; returns 1 if anything is outside its tolerance or unexplained."""
    rows = list(law_rows())
    for row in rows:
        print("  ".join(row.cells()), flush=True)
    outcomes = [compare(case) for case in cases()]
    for outcome in outcomes:
        parts = (
            f"parts at {outcome.parting.theirs}, ours {outcome.parting.ours}" if outcome.parting else "same"
        )
        verdict = "ok" if outcome.passed else "NO"
        print(f"{outcome.case.golden:<32} {outcome.events:>4} events  {parts}  {verdict}", flush=True)

    BUILD.mkdir(exist_ok=True)
    data = [*(row.to_json() for row in rows), *(outcome.to_json() for outcome in outcomes)]
    (BUILD / "validation.json").write_text(json.dumps(data, indent=1) + "\n")
    replace_part(HERE / "README.md", BEGIN, END, report(rows, outcomes))
    failed = [row.check for row in rows if not row.passed] + [o.case.golden for o in outcomes if not o.passed]
    print(f"validation: {len(data) - len(failed)} of {len(data)} checks passed; build/validation.json")
    for name in failed:
        print(f"  outside: {name}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
