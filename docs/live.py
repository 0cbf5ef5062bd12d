"""Live examples in the manual: Sphinx runs `setup` (conf.py).

A page with a comment `<!-- live: NAME -->` gets a frame in its place, in which NAME runs in the reader's
browser. NAME is a lesson, or `first toml block`: the study that the page itself shows. Elsewhere than in the
manual the comment is invisible. The page of all lessons is written to `live/index.html`.
"""

import re
import sys
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from cwndlab import OutputError, Study
from cwndlab.apps.explore import lessons

MARK = re.compile(r"^<!-- live: (.+) -->$", re.MULTILINE)
TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OWN = "first toml block"
FRAME = """
```{{raw}} html
<iframe title="{title}" src="{src}" loading="lazy"
  style="width: 100%; height: 60rem; border: 1px solid #8888"></iframe>
```
"""


@cache
def _lessons(folder: Path) -> frozenset[str]:
    """Writes the lessons' pages into a folder; their file names, none without the engine for pages."""
    try:
        pages = {name: make() for name, make in lessons.pages().items()}
    except OutputError as error:
        print(f"live examples: skipped, {error}", file=sys.stderr)
        return frozenset()
    folder.mkdir(parents=True, exist_ok=True)
    for name, html in pages.items():
        (folder / name).write_text(html, encoding="utf-8")
    return frozenset(pages)


def _embed(app: Sphinx, page: str, source: list[str]) -> None:
    """Puts frames in place of a page's comments."""
    folder = Path(app.outdir) / "live"

    def frame(found: re.Match[str]) -> str:
        name, written = f"{found[1]}.html", _lessons(folder)
        if not written:
            return ""
        if found[1] == OWN:
            name = f"{page.replace('/', '-')}.html"
            Study.from_toml(TOML.findall(source[0])[0]).explore().save(folder / name)
        elif name not in written:
            raise ExtensionError(f"{page}: no lesson '{found[1]}'; there are {', '.join(lessons.NAMES)}")
        return FRAME.format(title=found[1], src="../" * page.count("/") + f"live/{name}")

    source[0] = MARK.sub(frame, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("source-read", _embed)
    return {"parallel_read_safe": False}
