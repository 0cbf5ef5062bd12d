"""`make gallery`: scorecards of all shipped congestion controls and queues, as pages of the manual.

The input are folders that `cwndlab evaluate` wrote. Each pack becomes a page, with a sentence for each
subject and the claims of its studies; `separation.md` shows which rows distinguish which subjects.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from cwndlab.apps.evaluate import pack
from cwndlab.apps.evaluate.scorecard import Standing
from cwndlab.report.digits import number

FOLDER = Path(__file__).parents[1] / "docs/gallery"
MARKS = {"met": "✓", "not met": "✗", "undecided": "?", "does not apply": "–"}
#: Most undistinguished pairs to name in a row of `separation.md`.
SHOWN = 6
SEPARATION = """
A row is worth its time if it separates subjects that are known to differ. The first table has the number of
rows in which two subjects differ at 95 %, with the packs' own numbers of runs; the second has the number of
pairs that each row separates. DCTCP is Reno where nothing marks packets; SEARCH is CUBIC after slow start.
`make gallery` makes this page.
"""
ABOUT = """
Each number is the mean of the runs with its 95 % interval. Where the document states a limit, ✓ means met,
✗ not met, ? undecided, and – that the limit does not apply. `make gallery` runs this again;
[Evaluations](../guide/evaluate.md) explains what is measured.
"""


#: The standing of subjects that do not differ at 95 %.
OPEN = Standing.OPEN.value


def sentence(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A subject's result in a pack: its limits, and the rows in which it is first or last at 95 %."""
    outcomes = Counter(row["numbers"][name]["outcome"] for row in rows if name in row["numbers"])
    limits = [f"{outcomes[one]} {one}" for one in MARKS if outcomes[one] and one != "does not apply"]
    ranked = [set(row["standings"].get(name, {}).values()) for row in rows if row["better"]]
    first, last = (sum(found == {one.value} for found in ranked) for one in (Standing.BETTER, Standing.WORSE))
    parts = [f"of its limits {', '.join(limits)}"] if limits else []
    parts.append(
        f"surely better than all others in {first} and worse than all in {last} of {len(ranked)} rows"
    )
    return f"- **{name}**: {'; '.join(parts)}."


def separated(row: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs of subjects that differ in a row at 95 %."""
    return [
        (one, other)
        for one, other in combinations(names, 2)
        if row["standings"].get(one, {}).get(other, OPEN) != OPEN
    ]


def separation(scorecards: Sequence[Mapping[str, Any]]) -> str:
    """The page that shows which rows distinguish which subjects."""
    lines = ["# Which rows separate which subjects", "", *SEPARATION.strip().splitlines()]
    for scorecard in scorecards:
        names = [subject["name"] for subject in scorecard["subjects"]]
        pairs = list(combinations(names, 2))
        rows = [row for of in scorecard["packs"] for row in of["rows"]]
        apart = {row["id"]: separated(row, names) for row in rows}
        lines += ["", f"## {', '.join(names)}", "", f"| rows of {len(rows)} | {' | '.join(names)} |"]
        lines.append("|---" * (1 + len(names)) + "|")
        counts = Counter(pair for found in apart.values() for pair in found)
        for one in names:
            shown = ["" if one == other else str(counts[one, other] + counts[other, one]) for other in names]
            lines.append(f"| {one} | {' | '.join(shown)} |")
        lines += ["", "| row | pairs separated | not separated |", "|---|---|---|"]
        for name, found in apart.items():
            alike = [f"{one} and {other}" for one, other in pairs if (one, other) not in found]
            rest = ", ".join(alike) if len(alike) <= SHOWN else f"{len(alike)} pairs"
            lines.append(f"| {name} | {len(found)} of {len(pairs)} | {rest} |")
    return "\n".join(lines) + "\n"


def cell(found: Mapping[str, Any] | None) -> str:
    """A number with its interval and mark, as the text of a table cell."""
    if found is None:
        return "n/a"
    text = "n/a" if found["estimate"] is None else number(found["estimate"])
    if found["ci_low"] is not None and found["ci_high"] is not None:
        text += f" ({number(found['ci_low'])} … {number(found['ci_high'])})"
    text = f"{text} {MARKS.get(found['outcome'], '')}".rstrip()
    return f"{text}; {found['where']}" if found.get("where") else text


def claims(results: Path, name: str) -> list[str]:
    """The claims of a pack's studies with verdicts and notes, as lines of a Markdown list."""
    found = []
    for file in sorted(pack.load(name).folder.glob("*/claims.toml")):
        declared = tomllib.loads(file.read_text(encoding="utf-8"))["claims"]
        with (results / file.parent.name / "claims.csv").open(encoding="utf-8", newline="") as judged:
            verdicts = {row["claim"]: row["verdict"] for row in csv.DictReader(judged)}
        for claim in declared:
            note = " ".join(claim.get("note", "").split())
            found.append(
                f'- **{verdicts[claim["id"]]}**: "{claim["text"]}" ({claim["section"]}). {note}'.rstrip()
            )
    return found


def page(scorecard: Mapping[str, Any], of: Mapping[str, Any], claimed: Sequence[str] = ()) -> str:
    """The page of one pack of a scorecard."""
    file = pack.load(of["name"]).file
    names = [subject["name"] for subject in scorecard["subjects"]]
    runs = {one["replicates"] for row in of["rows"] for one in row["numbers"].values()}
    counted = " to ".join(str(count) for count in sorted({min(runs), max(runs)}))
    lines = [f"# {file.title}", "", f"[{file.document}]({file.url}). {file.about.strip()}", ABOUT]
    lines += [f"cwndlab {scorecard['cwndlab']}, {counted} runs for each number.", ""]
    lines += [*(sentence(name, of["rows"]) for name in names), ""]
    lines += [f"| section | measured | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for row in of["rows"]:
        unit = f" ({row['unit']})" if row["unit"] else ""
        shown = [cell(row["numbers"].get(name)) for name in names]
        section = row["id"].split("/")[1]
        limit = f". Limit: {row['limit']}" if row["limit"] else ""
        lines.append(f"| {section} | {row['shows']}{unit}{limit} | {' | '.join(shown)} |")
    if file.unmeasured:
        lines += ["", "## Not measured", ""]
        lines += [f"- {entry.section}: {entry.asks}; {entry.reason}." for entry in file.unmeasured]
    if claimed:
        lines += ["", "## Claims", "", "What documents say, as conditions on these runs:", "", *claimed]
    return "\n".join(lines) + "\n"


def main(folders: list[str]) -> None:
    """Write a page for each pack in the scorecards of these folders."""
    FOLDER.mkdir(exist_ok=True)
    scorecards = [json.loads((Path(one) / "scorecard.json").read_text(encoding="utf-8")) for one in folders]
    (FOLDER / "separation.md").write_text(separation(scorecards), encoding="utf-8")
    for folder, scorecard in zip(folders, scorecards, strict=True):
        for of in scorecard["packs"]:
            path = FOLDER / f"{of['name']}.md"
            claimed = claims(Path(folder) / of["name"], of["name"])
            path.write_text(page(scorecard, of, claimed), encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
