"""`make images`: the pictures of the README and the manual: its study, and one of each memo's report.

Slim: without the labels of single marks, to a hundredth of a pixel.
"""

from __future__ import annotations

import re
from pathlib import Path

import cwndlab
from cwndlab.report.svg import inline_svg, on_white

PICTURES = {
    "rfc2416-time-sequence": {"variant": "tahoe", "size": "as-traced"},
    "rfc2415-page-delays": {
        **{"grid": "tables_1_to_3", "model": "reconstructed", "http": "1.0", "webs": "16", "ftps": "1"}
    },
    "rfc2884-sequence": {"grid": "traced"},
}
"""Name of the file, study and figure in it, and the cells that the figure needs."""

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/images"
#: The picture of the study that the README shows.
QUESTION = "cubic-bbr-share"


def question() -> cwndlab.Study:
    """The README's study."""
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    return cwndlab.Study.from_toml(text)


def write(name: str, run: cwndlab.RunResult, figure: str) -> None:
    """Writes a figure of a run as a picture."""
    svg = inline_svg(run.figure(figure).svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    path = FOLDER / f"{name}.svg"
    path.write_text(on_white(svg) + "\n", encoding="utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


def main() -> None:
    """Runs the cells and writes the pictures."""
    write(QUESTION, question().run(), "share-by-buffer")
    for name, cells in PICTURES.items():
        study, _, figure = name.partition("-")
        write(name, cwndlab.run(study, changes=cells), figure)


if __name__ == "__main__":
    main()
