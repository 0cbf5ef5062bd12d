"""How often `cwndlab fit` covers the paths of Linux's captures: `python -m validation.kernel_fits --seed 63`.

Each random path, as in `fit_table`, is run on Linux in virtual time, written as pcapng and fitted. A third
has no cross traffic, a third datagrams, and a third another TCP flow. The command prints the table of
docs/evidence/fit-captures.md; `--write` puts it there.
"""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cwndlab.base.writing import markdown_lines

from .fit_table import ROOT, Row, TruePath, measure, measure_all
from .fit_table_page import PARAMETERS
from .page import replace_part

PAGE, ROWS = ROOT / "docs/evidence/fit-captures.md", ROOT / "build/kernel-fits.jsonl"
BEGIN, END = "<!-- made by python -m validation.kernel_fits --write -->", "<!-- end of the table -->"
CROSS = {"none": "none", "datagrams": "datagrams, Poisson", "tcp": "another TCP flow"}
#: The reason for a row whose fit raised an unexpected exception.
CRASHED = "crashed"


def paths(seed: int, count: int) -> list[TruePath]:
    """Paths on Linux that limit their transfers, with each kind of cross traffic in turn."""
    kinds = list(CROSS)
    drawn = (TruePath.drawn(seed * 10_000 + k) for k in range(count))
    return [
        replace(path, limit="network", backend="linux-virtual", cross=kinds[k % len(kinds)])
        for k, path in enumerate(drawn)
    ]


def fit_path(path: TruePath) -> Row:
    """The fit of one path; an unexpected exception also yields a row."""
    try:
        return measure(path, answers=False)
    except Exception:
        traceback.print_exc()
        return Row(path, reasons=(CRASHED,))


def table(rows: Sequence[Row]) -> list[str]:
    """The coverage by cross traffic, as a Markdown table."""
    lines = []
    for cross, words in [*CROSS.items(), ("", "**all**")]:
        group = [row for row in rows if cross in ("", row.path.cross)]
        covered = [row.covered_on_hosts for row in group]
        cells = [_share([one[name] for one in covered if name in one]) for name in PARAMETERS]
        every = _share([inside for one in covered for inside in one.values()], percent=True)
        draws = _share([inside for row in group for inside in row.covered.values()], percent=True)
        fitted = f"{sum(bool(row.errors) for row in group)} of {len(group)}"
        lines.append([words, fitted, *cells, every, draws])
    head = ["cross traffic", "fitted", *PARAMETERS.values(), "all intervals", "by the draws alone"]
    return markdown_lines(head, lines)


def _share(truths: Sequence[bool], *, percent: bool = False) -> str:
    if not truths:
        return "–"
    share = f" ({100 * sum(truths) / len(truths):.0f} %)" if percent else ""
    return f"{sum(truths)} of {len(truths)}{share}"


def responses(rows: Sequence[Row]) -> list[str]:
    """The fitted response of the cross traffic, as a Markdown table."""
    words = {"": "no cross traffic", "none": "datagrams", "as TCP": "TCP", "either": "either"}
    lines = []
    for cross, name in CROSS.items():
        group = [row for row in rows if row.path.cross == cross and row.errors]
        counts = [sum(row.response == word and not row.warned for row in group) for word in words]
        lines.append([name, *map(str, counts), str(sum(row.warned for row in group))])
    return markdown_lines(
        ["cross traffic", *(f"taken for {word}" for word in words.values()), "warning"], lines
    )


def outside(rows: Sequence[Row]) -> list[str]:
    """A line for each path without a fit, or with a true value outside of an interval."""
    found = []
    for row in rows:
        missed = [
            f"{name} {row.errors[name]:+.2g}" for name, inside in row.covered_on_hosts.items() if not inside
        ]
        if missed or not row.errors:
            path, why = row.path, ", ".join(missed) or "no fit: " + ", ".join(row.reasons)
            what = f"{path.rate_mbps:.3g} Mb/s, {path.rtt_ms:.3g} ms, {path.buffer_bdp:.2g} BDP, "
            found.append(f"{path.seed}: {what}{path.loss_percent} % loss, {path.cc}, {path.cross}: {why}")
    return found


def main() -> None:
    """Print the tables, and write them if requested."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--paths", type=int, default=60)
    parser.add_argument("--seed", type=int, default=63)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, default=ROWS, help="finished rows, one a line")
    parser.add_argument("--write", action="store_true", help="put it into docs/evidence/fit-captures.md")
    asked = parser.parse_args()
    rows = measure_all(paths(asked.seed, asked.paths), fit_path, asked.rows, asked.jobs)
    crashed = sum(CRASHED in row.reasons for row in rows)
    text = "\n".join([*table(rows), "", *responses(rows)])
    print(text, *outside(rows), f"{crashed} tracebacks", sep="\n")
    if asked.write:
        replace_part(PAGE, BEGIN, END, f"\n{text}\n")


if __name__ == "__main__":
    main()
