"""Whatever a result folder holds, opening it gives results or an error, and changes nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cwndlab
from cwndlab import OutputError, Study, metrics
from cwndlab.api import open_results
from cwndlab.base.errors import CwndlabError
from cwndlab.metrics import _declared
from cwndlab.results.execution import report_again
from cwndlab.runs.store.folder_store import _checksum
from fuzzing import Answers, tries
from small_study import edited

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**13), 10**13),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([{}]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a small study with a metric of its own."""
    made = tmp_path_factory.mktemp("folder")
    before = dict(_declared._known)
    (made / "mine.py").write_text(
        "import cwndlab\n\n\n@cwndlab.metric(unit='B', low=0)\ndef my_bytes(run: cwndlab.RunView) -> float:\n"
        '    "Bytes."\n    return float(run.columns("connections")["bytes_up"].sum())\n'
    )
    _declared.load_metrics(str(made / "mine.py"))
    text = edited() + '\n[[quantities]]\nname = "mine"\nmetric = "my_bytes"\n'
    cwndlab.run(Study.from_toml(text), out=made / "out", replicates=2)
    _declared._known.clear()
    _declared._known.update(before)
    return made / "out"


def places(content: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    items = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, value in items:
        found += places(value, (*at, key))
    return found


def opened(folder: Path, answers: Answers) -> None:
    known = dict(_declared._known)
    try:
        with answers.counted(CwndlabError):
            for name, quantity in open_results(folder).results.data:
                assert name and quantity
    finally:
        assert set(_declared._known) - set(known) <= {"my_bytes"}
        _declared._known.clear()
        _declared._known.update(known)


def test_forged_statements_are_errors(folder: Path, tmp_path: Path) -> None:
    answers, copy = Answers(), tmp_path / "out"
    text = (folder / "provenance.json").read_text()

    @tries(60)
    @given(which=st.integers(0, 10**6), value=VALUES, remove=st.booleans())
    def forge(which: int, value: Any, remove: bool) -> None:
        content = json.loads(text)
        every = places(content)
        *above, last = every[which % len(every)]
        part = content
        for key in above:
            part = part[key]
        if remove:
            del part[last]
        else:
            part[last] = value
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / "provenance.json").write_text(json.dumps(content))
        opened(copy, answers)

    forge()
    answers.check(accepted=0.2, rejected=0.02)


def test_damaged_files_are_errors(folder: Path, tmp_path: Path) -> None:
    answers, copy = Answers(), tmp_path / "out"

    @tries(60)
    @given(which=st.integers(0, 100), place=st.integers(0, 10**6), data=st.binary(max_size=6))
    def damage(which: int, place: int, data: bytes) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        names = ("provenance.json", "study.toml", "store/values.pack")
        files = [copy / name for name in names] + sorted(copy.rglob("*.arrows")) + sorted(copy.rglob("*.py"))
        file = files[which % len(files)]
        old = file.read_bytes()
        at = place % (len(old) + 1)
        file.write_bytes(old[:at] + data + old[at + len(data) :])
        opened(copy, answers)

    damage()
    answers.check(accepted=0.1, rejected=0.1)


def forged(folder: Path, copy: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    shutil.copytree(folder, copy)
    content = json.loads((copy / "provenance.json").read_text())
    change(content)
    (copy / "provenance.json").write_text(json.dumps(content))
    return copy


@pytest.mark.parametrize("count", [10**12, 10**7])
def test_more_replicates_than_a_folder_can_hold_are_an_error_at_once(
    folder: Path, tmp_path: Path, count: int
) -> None:
    copy = forged(folder, tmp_path / "out", lambda content: content["cells"][0].update(requested=count))
    with pytest.raises(OutputError, match="replicates"):
        report_again(copy)


def test_a_folder_replaces_no_metric_of_cwndlab(folder: Path, tmp_path: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        content["metrics"].append({**content["metrics"][0], "name": "goodput"})

    copy = forged(folder, tmp_path / "out", change)
    shutil.copy(copy / "own_metrics/my_bytes.py", copy / "own_metrics/goodput.py")
    before = metrics.get("goodput")
    with pytest.raises(OutputError, match='a metric "goodput" along, which is not theirs'):
        open_results(copy)
    assert metrics.get("goodput") is before


def test_a_word_in_place_of_a_number_is_an_error(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "out"
    shutil.copytree(folder, copy)
    pack, lines = copy / "store/values.pack", []
    for line in pack.read_bytes().splitlines():
        key, _, body = line.split(b" ", 2)
        body = json.dumps(dict.fromkeys(json.loads(body), "boo")).encode()
        lines.append(b" ".join([key, _checksum(key, body), body]))
    pack.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(OutputError, match="'boo' is not a number"):
        report_again(copy)


def test_a_replicate_that_the_results_do_not_have_is_an_error(folder: Path) -> None:
    known = dict(_declared._known)
    with pytest.raises(KeyError, match=r"there is no replicate 99 of .*; it has 0 to 1"):
        open_results(folder).sel(cell="iw=1").records("connections", replicate=99)
    _declared._known.clear()
    _declared._known.update(known)
