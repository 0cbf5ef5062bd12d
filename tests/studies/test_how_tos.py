"""Every code block of the how-tos, executed in the order of its page as a new user would.

Three pages of the guide begin with such a how-to. What takes minutes or another machine is a `console` block.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cwndlab.cli import app
from cwndlab.metrics import _declared
from cwndlab_linux.virtual.doctor import reason_not_virtual

DOCS = Path(__file__).parents[2] / "docs"
HOW_TOS = sorted((DOCS / "how-to").glob("*.md"))
PAGES = [*HOW_TOS, *(DOCS / f"guide/{name}.md" for name in ("cluster", "fit", "linux"))]
#: A block, with the prose before it, which names the file that it is: "Write `question.toml`:".
BLOCK = re.compile(r"(?P<prose>.*?)^```(?P<kind>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"[Ww]rite\s+`([\w.]+)`:\s*\Z")
#: What is left behind, besides the results of studies.
MADE = {
    "plot-a-cwnd": ["cwnd.svg", "sequence.svg", "queue.svg", "share.svg", "window-out/figures/window.svg"],
    "sweep-a-buffer": ["utilization.svg"],
    "first-steps-in-python": ["share.html", "cwnd.html"],
    "export-pcapng": ["cubic.pcapng", "router.pcapng"],
    "fit": ["fitted/fit.html", "compared/report.html", "stated/study.toml"],
    "reopen-results": ["cwnd.svg", "parquet/connections.parquet"],
    "cluster": ["sweep-out/report.html", "again/report.html"],
}


@pytest.fixture(autouse=True)
def a_new_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(_declared._known)
    yield
    _declared._known.clear()
    _declared._known.update(before)
    sys.modules.pop("mine", None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_works(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if page.stem == "linux" and (reason := reason_not_virtual()) is not None:
        pytest.skip(f"virtual time: {reason}")
    if page.stem == "explore-in-a-notebook":
        pytest.importorskip("anywidget")
    if page.stem == "train-a-policy":
        for package in ("gymnasium", "pettingzoo", "greenlet", "onnx", "onnxruntime"):
            pytest.importorskip(package)
    blocks = list(BLOCK.finditer(page.read_text()))
    assert blocks
    names: dict[str, object] = {}
    last: dict[str, str] = {}
    for block in blocks:
        kind, code = block["kind"], block["code"]
        if kind in ("console", "text"):
            continue
        if named := NAMED.search(block["prose"]):
            last[kind] = named[1]
        if kind in ("toml", "csv") or (kind == "python" and named):
            Path(last[kind]).write_text(code)
        elif kind == "python":
            exec(compile(code, str(page), "exec"), names)
        else:
            assert kind == "sh", f"nothing runs {kind} blocks"
            for line in code.splitlines():
                program, *words = shlex.split(line, comments=True)
                assert program == "cwndlab"
                with pytest.raises(SystemExit) as caught:
                    app(words)
                assert not caught.value.code, (line, capsys.readouterr().err)
    for made in MADE.get(page.stem, []):
        assert Path(made).stat().st_size > 1000, made


def test_there_are_eleven_how_tos_and_the_manual_lists_them() -> None:
    index = (DOCS / "index.md").read_text()
    assert len(HOW_TOS) == 11
    assert all(f"how-to/{page.stem}\n" in index for page in HOW_TOS)
