"""`make trust`: the page "How far to trust it", with every number that others measured on real hosts.

The input are folders that `cwndlab run` wrote for the studies in `TESTBEDS`. Each published number becomes a
row: the measured and the simulated value, and whether they differ by at most 10 %, or the simulated one lies
where a further trial of the testbed would. `docs/evidence/trust-causes.toml` explains the others.
"""

from __future__ import annotations

import math
import statistics
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cwndlab
from cwndlab.report.canvas import LOG, field, layer_chart, look_by_name, mark
from cwndlab.report.contents import collect_outputs
from cwndlab.report.digits import number
from cwndlab.report.drawing import draw_svg
from cwndlab.report.judge import judge
from cwndlab.report.palette import PALETTE
from cwndlab.report.svg import on_white
from cwndlab.stats.distributions import LEVEL, t_quantile
from cwndlab.stats.tables import JudgedCell, JudgedTable, read_published
from cwndlab.stats.verdict import Verdict
from cwndlab.study.values import label

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/guide/trust.md"
NUMBERS = ROOT / "docs/evidence/trust.md"
CAUSES = ROOT / "docs/evidence/trust-causes.toml"
UNEXPLAINED = "No cause found"
PICTURE = ROOT / "docs/images/trust.svg"
WITHIN = 0.1
#: A second testbed for CloudLab's measurements, shown but not counted.
SECOND = "FABRIC: many flows"
#: For each study of measurements on hosts: the testbed of each table, by the start of the table's name.
TESTBEDS = {
    "bbr-shared": {"": "FABRIC: BBR next to CUBIC or Reno"},
    "many-flows": {"cloudlab": "CloudLab: many flows", "fabric": SECOND},
    "l4s": {
        "classic-queues": "FABRIC: Prague in FIFO, CoDel and PIE",
        "l4s-queue": "FABRIC: Prague in DualPI2",
        "": "heistp: CUBIC and Prague",
    },
}


class Row(NamedTuple):
    """A number that others measured, and the simulated one."""

    testbed: str
    study: str
    table: str
    what: str
    measured: float
    printed: str
    here: float
    low: float
    high: float
    unit: str
    scatter: float
    """Half the width of the range of 95 % of further trials; NaN if the trials are not published."""

    @property
    def difference(self) -> float:
        """The simulated number relative to the measured one, minus 1."""
        return self.here / self.measured - 1

    @property
    def outcome(self) -> str:
        """Whether both agree: within 10 %, within the testbed's scatter, or neither."""
        if abs(self.difference) <= WITHIN:
            return "within 10 %"
        inside = not math.isnan(self.scatter) and abs(self.here - self.measured) <= self.scatter
        return "within its scatter" if inside else "outside"


def scatter_of(table: JudgedTable, cell: JudgedCell, folder: Path) -> float:
    """Half the width of the 95 % prediction interval of a further trial; NaN if it is unknown."""
    name, column = table.spec.published, table.column(cell).published
    assert name is not None and column is not None
    for line in read_published(folder, name, table.id, []):
        if [line[axis] for axis in table.spec.rows] == [label(value) for value in cell.row]:
            trials = [float(line[key]) for key in line if key.startswith(f"{column}_trial_")]
            runs = len(trials) or table.spec.published_runs
            if runs < 2:
                return math.nan
            deviation = statistics.stdev(trials) if trials else float(line.get(f"{column}_sd") or "nan")
            return t_quantile(0.5 + LEVEL / 2, runs - 1) * deviation * math.sqrt(1 + 1 / runs)
    return math.nan


def described(table: JudgedTable, cell: JudgedCell) -> str:
    """A description of a number: its column and its row."""
    column = table.column(cell)
    where = ", ".join(f"{axis} {label(v)}" for axis, v in zip(table.spec.rows, cell.row, strict=True))
    group = f"{column.group}, " if column.group else ""
    return f"{group}{column.heading}; {where}"


def rows_of(folder: str) -> Iterator[Row]:
    """The numbers of one study's run."""
    run = cwndlab.open_results(folder)
    study = run.study
    home = study.folder or Path()
    judged = judge(collect_outputs(study, home), run.results)
    names = TESTBEDS[study.name]
    for table in judged.grids:
        testbed = next((title for start, title in names.items() if table.id.startswith(start)), None)
        for cell in table.numbers:
            if (
                testbed is None
                or cell.published is None
                or cell.estimate is None
                or math.isnan(cell.estimate.value)
            ):
                continue
            assert cell.judgement is not None
            if cell.judgement.verdict is Verdict.SUSPECT or cell.published.value == 0:
                continue
            e = cell.estimate
            yield Row(
                testbed,
                study.name,
                table.id,
                described(table, cell),
                cell.published.value,
                cell.published.text,
                e.value,
                e.ci_low,
                e.ci_high,
                e.unit,
                scatter_of(table, cell, home),
            )


def short(row: Row) -> str:
    """A description of a number with its table."""
    return f"`{row.table}` {row.what}"


def percent(part: int, whole: int) -> str:
    """A share as a whole percentage."""
    return f"{100 * part / whole:.0f} %"


def counts(rows: Sequence[Row]) -> tuple[int, int, int]:
    """Counts of the rows within 10 %, only within the testbed's scatter, and outside of both."""
    outcomes = [row.outcome for row in rows]
    return outcomes.count("within 10 %"), outcomes.count("within its scatter"), outcomes.count("outside")


def summary(rows: Sequence[Row]) -> list[str]:
    """The lines of the table of testbeds."""
    lines = [
        "| testbed | numbers | within 10 % | within its scatter only | outside |",
        "|---|---|---|---|---|",
    ]
    for testbed in dict.fromkeys(row.testbed for row in rows):
        mine = [row for row in rows if row.testbed == testbed]
        near, inside, outside = counts(mine)
        lines.append(
            f"| {testbed} | {len(mine)} | {near} ({percent(near, len(mine))}) | {inside} | {outside} |"
        )
    return lines


def line(row: Row) -> str:
    """One number as a line of a table."""
    spread = f" ({number(row.low)} … {number(row.high)})" if row.low < row.high else ""
    unit = "" if row.unit == "1" else f" {row.unit}"
    return (
        f"| {row.what} | {number(row.measured)}{unit} | {number(row.here)}{spread} | "
        f"{100 * row.difference:+.0f} % | {row.outcome} |"
    )


ABOUT = (
    "`make trust` runs the studies and writes this page, [every number](../evidence/trust.md) and the",
    "figure. A number is *within its scatter* if",
    "it lies in the 95 % prediction interval of one more trial, where the testbed's trials are published.",
    "RFC 2415 and RFC 2416 have simulated numbers, and the memo of RFC 2884 does not state RED's",
    "parameters, so their studies are left out. Published numbers that contradict their source are left out.",
)
HEAD = ["| number | measured | here (95 % interval) | difference | |", "|---|---|---|---|---|"]


def second(rows: Sequence[Row]) -> list[str]:
    """A paragraph that compares the second testbed with the first and the simulator; empty without it."""
    first = {(r.table.partition("-")[2], r.what): r.measured for r in rows if r.table.startswith("cloudlab")}
    mine = [row for row in rows if row.testbed == SECOND]
    if not mine:
        return []
    pairs = [(r, first[r.table.partition("-")[2], r.what]) for r in mine]
    agree = sum(abs(r.measured / other - 1) <= WITHIN for r, other in pairs)
    here = counts(mine)[0]
    return [
        "",
        f"FABRIC repeated CloudLab's measurements of many flows on virtual hosts. Of {len(mine)} numbers the",
        f"two testbeds have {agree} within 10 % of each other, and the simulator has {here} within 10 % of",
        "FABRIC's. They are listed, but not counted.",
    ]


def causes(rows: Sequence[Row]) -> list[tuple[str, int, str]]:
    """The causes of the numbers outside, with count and text; numbers without a known cause come last."""
    known = tomllib.loads(CAUSES.read_text(encoding="utf-8"))["causes"]
    left = [row for row in rows if row.outcome == "outside"]
    found = []
    for cause in known:
        mine = [r for r in left if any(_is_of(r, part) for part in cause["numbers"])]
        left = [r for r in left if r not in mine]
        if mine:
            found.append((cause["title"], len(mine), " ".join(cause["text"].split())))
    if left:
        found.append((UNEXPLAINED, len(left), ""))
    return found


def _is_of(row: Row, part: dict[str, str]) -> bool:
    return part["table"] in row.table and all(word in row.what for word in part.get("what", "").split("&"))


def page(rows: Sequence[Row]) -> str:
    """The page with the counts and the causes of numbers outside."""
    everything, rows = rows, [row for row in rows if row.testbed != SECOND]
    near, inside, outside = counts(rows)
    n, explained = len(rows), causes(rows)
    share = "most" if any(title == UNEXPLAINED for title, _, _ in explained) else "each"
    lines = [
        *("# How far to trust it", ""),
        f"Of {n} numbers that others measured on real hosts, the simulator gives {near} within 10 % "
        f"({percent(near, n)}).",
        f"Another {inside} lie where a further trial of the same testbed would lie. {outside} "
        f"({percent(outside, n)}) are outside, {share} with a cause that was tested by changing it.",
        *("", "![Simulated against measured, log-log](../images/trust.svg)", ""),
        *ABOUT,
        *("", *summary(rows), *second(everything), "", "## Outside", ""),
        "Why, and what was tried ([each with its numbers](../evidence/trust.md#causes)):",
        *(
            "",
            "| cause | numbers |",
            "|---|---|",
            *(f"| {title} | {count} |" for title, count, _ in explained),
        ),
    ]
    return "\n".join(lines) + "\n"


def numbers(rows: Sequence[Row]) -> str:
    """The page with every number and the causes of those outside."""
    counted = [row for row in rows if row.testbed != SECOND]
    lines = [
        *("# Numbers that others measured", ""),
        "[How far to trust it](../guide/trust.md) counts these numbers; `make trust` writes both pages.",
        *("", "## Causes", ""),
        *(f"- **{title}** ({count}). {text}".rstrip() for title, count, text in causes(counted)),
        *("", "## Outside", "", *HEAD),
        *(line(row) for row in counted if row.outcome == "outside"),
    ]
    for testbed in dict.fromkeys(row.testbed for row in rows):
        mine = [row for row in rows if row.testbed == testbed]
        for table in dict.fromkeys(row.table for row in mine):
            of_table = [row for row in mine if row.table == table]
            lines += ["", f"## {testbed}: {of_table[0].study}, `{table}`", "", *HEAD, *map(line, of_table)]
    return "\n".join(lines) + "\n"


def picture(rows: Sequence[Row]) -> str:
    """The simulated against the measured numbers on logarithmic scales, with lines at equality and ±10 %."""
    shown = [r for r in rows if r.measured > 0 and r.here > 0 and r.testbed != SECOND]
    names = list(dict.fromkeys(row.testbed for row in shown))
    low = 0.8 * min(min(r.measured, r.here) for r in shown)
    high = 1.25 * max(max(r.measured, r.here) for r in shown)
    data = [{"x": r.measured, "y": r.here, "testbed": r.testbed} for r in shown]
    guides = [{"x": x, "y": x * k, "k": k} for k in (1, 1 + WITHIN, 1 - WITHIN) for x in (low, high)]
    scale = {**LOG, "domain": [low, high]}
    x = field("x:Q", title="measured by others (Mb/s, ms or a ratio)", scale=scale)
    y = field("y:Q", title="simulated", scale=scale)
    colour = look_by_name("testbed:N", names, PALETTE[: len(names)])
    chart = layer_chart(
        "points",
        [
            {
                **mark("line", {"x": x, "y": y, "detail": field("k:N")}, strokeWidth=1, opacity=0.6),
                "data": {"name": "guides"},
            },
            mark("point", {"x": x, "y": y, "color": colour}, filled=True, size=22, opacity=0.7),
        ],
    )
    return on_white(draw_svg({**chart, "width": 440, "height": 440}, {"points": data, "guides": guides}))


def main(folders: Sequence[str]) -> None:
    """Write the pages and the figure for the runs in these folders."""
    rows = [row for folder in folders for row in rows_of(folder)]
    PAGE.write_text(page(rows), encoding="utf-8")
    NUMBERS.write_text(numbers(rows), encoding="utf-8")
    PICTURE.write_text(picture(rows) + "\n", encoding="utf-8")
    near, inside, outside = counts([row for row in rows if row.testbed != SECOND])
    print(f"{near} within 10 %, {inside} within the testbed's scatter, {outside} outside")


if __name__ == "__main__":
    main(sys.argv[1:])
