"""`make images`: the README's pictures, one of each memo's report, from the cells that they show.

Slim: without the labels of single marks, to a hundredth of a pixel.
"""

from __future__ import annotations

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

FOLDER = Path(__file__).parents[1] / "docs/images"


def main() -> None:
    """Runs the cells and writes the pictures."""
    for name, cells in PICTURES.items():
        study, _, figure = name.partition("-")
        run = cwndlab.run(study, changes=cells)
        svg = inline_svg(run.figure(figure).svg).replace(
            "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1
        )
        path = FOLDER / f"{name}.svg"
        path.write_text(on_white(svg) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
