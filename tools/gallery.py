"""`make gallery`: scorecards of all shipped congestion controls and queues, as pages of the manual.

Takes the folders that `cwndlab evaluate` wrote. Each of their packs becomes a page, with its studies' claims.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cwndlab.apps.evaluate import pack
from cwndlab.report.digits import number

FOLDER = Path(__file__).parents[1] / "docs/gallery"
MARKS = {"met": "✓", "not met": "✗", "undecided": "?", "does not apply": "–"}
ABOUT = """
Each number is the mean of the runs with its 95 % interval. Where the document states a limit, ✓ means met,
✗ not met, ? undecided, and – that the limit does not apply. `make gallery` runs this again;
[Evaluations](../guide/evaluate.md) explains what is measured.
"""


def cell(found: Mapping[str, Any] | None) -> str:
    """A number with its interval and mark."""
    if found is None:
        return "n/a"
    text = "n/a" if found["estimate"] is None else number(found["estimate"])
    if found["ci_low"] is not None and found["ci_high"] is not None:
        text += f" ({number(found['ci_low'])} … {number(found['ci_high'])})"
    return f"{text} {MARKS.get(found['outcome'], '')}".rstrip()


def claims(results: Path, name: str) -> list[str]:
    """The claims of a pack's studies, each with its verdict and its note, as a list."""
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
    lines += [f"| section | measured | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for row in of["rows"]:
        unit = f" ({row['unit']})" if row["unit"] else ""
        shown = [cell(row["numbers"].get(name)) for name in names]
        section = row["id"].split("/")[1]
        lines.append(f"| {section} | {row['shows']}{unit} | {' | '.join(shown)} |")
    if claimed:
        lines += ["", "## Claims", "", "What documents say, as conditions on these runs:", "", *claimed]
    return "\n".join(lines) + "\n"


def main(folders: list[str]) -> None:
    """Writes a page for each pack in the scorecards of these folders."""
    FOLDER.mkdir(exist_ok=True)
    for folder in folders:
        scorecard = json.loads((Path(folder) / "scorecard.json").read_text(encoding="utf-8"))
        for of in scorecard["packs"]:
            path = FOLDER / f"{of['name']}.md"
            claimed = claims(Path(folder) / of["name"], of["name"])
            path.write_text(page(scorecard, of, claimed), encoding="utf-8")
            print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
