"""`make images`: the pictures of the README and the manual, from the README's study, the memos and the
recipes.

It also updates the quickstart's table, from the README's study. Pictures have no labels of single marks and
are rounded to 0.01 pixels, which keeps the files small. One is animated: windows and queue of a run of the
README's study.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import cwndlab
from cwndlab.apps.packets.over_time import with_figures
from cwndlab.report.canvas import field, look_by_name, mark, mark_chart
from cwndlab.report.drawing import draw_svg
from cwndlab.report.palette import PALETTE, PLAIN
from cwndlab.report.svg import inline_svg, on_white

PICTURES = {
    "rfc2416-time-sequence": {"grid": "minute", "variant": "tahoe", "size": "as-traced"},
    "rfc2415-page-delays": {
        **{"grid": "tables_1_to_3", "model": "reconstructed", "http": "1.0", "webs": "16", "ftps": "1"}
    },
    "rfc2884-sequence": {"grid": "traced"},
}
"""For each file name (study-figure), the cells that the figure needs."""

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/images"
#: Names of the pictures from the README's study.
QUESTION, OVER_TIME = "cubic-bbr-share", "cubic-bbr-over-time"


def question() -> cwndlab.Study:
    """The study in the README."""
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    return cwndlab.Study.from_toml(text)


def recipes() -> dict[str, str]:
    """The text of each recipe's study file, by title."""
    page = (ROOT / "docs/guide/recipes.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^### (.+?)\n.*?^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))


def recipe_study(text: str, folder: Path) -> cwndlab.Study:
    """A recipe's study in this folder, with the trace file that one recipe needs: a packet every 2 ms."""
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "up.trace").write_text("".join(f"{2 * k}\n" for k in range(1, 500)), encoding="utf-8")
    return cwndlab.Study.load(folder)


def recipe_picture(text: str, replicates: int | None = None) -> str:
    """The first figure of a recipe's study; if it has none, the figure over time of its single cell."""
    with tempfile.TemporaryDirectory() as folder:
        study = recipe_study(text, Path(folder))
        if not study.outline.figures:
            study = with_figures(study, ["base"])
        run = study.run(replicates=replicates)
        return run.figure(run.plan.study.outline.figures[0].id).svg


def slug(title: str) -> str:
    """A recipe's title as a file name."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def table(report: str) -> None:
    """Copies columns of the study's report (Markdown) to the quickstart's table."""
    page = ROOT / "docs" / "guide" / "quickstart.md"
    text = page.read_text(encoding="utf-8")
    (head,) = re.findall(r"^\| buffer \|.*$", text, flags=re.M)
    lines = report[report.index("| buffer (BDP) |") :].split("\n\n", 1)[0].splitlines()
    rows = [[word.strip() for word in line.strip("|").split("|")] for line in lines]
    columns = [0, *(rows[0].index(title.strip()) for title in head.strip("|").split("|")[1:])]
    shown = "\n".join(f"| {' | '.join(row[k] for k in columns)} |" for row in rows[2:])
    old = re.compile(re.escape(head) + r"\n(\|[-:|]+\|)\n(?:\|.*\n)+")
    page.write_text(old.sub(lambda found: f"{head}\n{found[1]}\n{shown}\n", text), encoding="utf-8")


def write(name: str, svg: str, moves: bool = False) -> None:
    """Write a picture to docs/images."""
    shown = inline_svg(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    path = FOLDER / f"{name}.svg"
    picture = on_white(shown)
    path.write_text((moving(picture) if moves else picture) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


def over_time(run: cwndlab.RunResult, **cell: float) -> str:
    """The congestion windows of all flows above the bottleneck's queue, against time."""
    panels, rows = [], {}
    charts = {
        "cwnd (kB)": (run.sel(cell).plot.cwnd(), "flow"),
        "queue (packets)": (run.sel(cell).plot.queue(), "link"),
    }
    for title, (chart, _) in charts.items():
        (rows[title],) = chart.to_dict()["datasets"].values()
    last = max(row["time"] for shown in rows.values() for row in shown)
    for title, (_, key) in charts.items():
        names = list(dict.fromkeys(row[key] for row in rows[title]))
        flows = key == "flow"
        encoding = {
            "x": field("time:Q", title=None if flows else "time (s)", scale={"domain": [0, last]}),
            "y": field("y:Q", title=title),
            # The queue is grey because colours denote flows.
            "color": look_by_name(
                f"{key}:N", names, PALETTE if flows else [PLAIN], legend={"title": None} if flows else None
            ),
        }
        lines = mark_chart(title, mark("line", encoding, interpolate="step-after", strokeWidth=1.4))
        panels.append({**lines, "width": 620, "height": 150})
    svg = draw_svg({"concat": panels}, rows)
    return svg.replace('<g class="line"', '<g clip-path="url(#shown)" class="line"')


def moving(svg: str) -> str:
    """The picture with a repeated animation that draws everything clipped to `shown` from left to right.

    Readers who prefer no motion see the complete picture.
    """
    style = (
        "<style>.shown{animation:t 15s linear infinite}"
        "@keyframes t{from{transform:scaleX(0)}80%,to{transform:scaleX(1)}}"
        "@media (prefers-reduced-motion:reduce){.shown{animation:none}}</style>"
        '<clipPath id="shown"><rect class="shown" y="-9" width="640" height="999"/></clipPath>'
    )
    return svg.replace("/>", f"/>{style}", 1)


def main() -> None:
    """Run the cells and write the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        run = question().run(out=folder)
        table(Path(folder, "report.md").read_text(encoding="utf-8"))
    write(QUESTION, run.figure("share-by-buffer").svg)
    write(OVER_TIME, over_time(run, buffer=2), moves=True)
    for name, cells in PICTURES.items():
        study, _, figure = name.partition("-")
        write(name, cwndlab.run(study, changes=cells).figure(figure).svg)
    for title, text in recipes().items():
        write(f"recipes/{slug(title)}", recipe_picture(text))


if __name__ == "__main__":
    main()
