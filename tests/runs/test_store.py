"""The store keeps what is finished, whatever happens, and a resumed run ends in the same bytes."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from cwndlab.api import Study
from cwndlab.base.arrow_tables import decode_about, decode_tables, encode_tables
from cwndlab.base.errors import OutputError
from cwndlab.results.execution import run_study
from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.store.folder_store import FolderStore
from fake_core import FakeCore, replace_core
from small_study import TEXT, edited

MANY = edited(("replicates = 3", "replicates = 40"))


def outcome(key: str, **values: float | list[float]) -> Outcome:
    return Outcome(Job(key, "cell", "{}", 1, 0, keep_records=False), values, packets=1)


def content(folder: Path) -> dict[str, bytes]:
    """All that must not depend on how a run came about."""
    names = [
        "store/values.pack",
        *(str(p.relative_to(folder)) for p in sorted(folder.glob("store/records/*/*.arrows"))),
    ]
    return {name: (folder / name).read_bytes() for name in names}


def test_values_come_back_exactly(tmp_path: Path) -> None:
    values = {"a": 0.1 + 0.2, "b": math.nan, "c": [1e-300, math.inf, -0.0, 3.0], "d": -math.inf, "e": []}
    with FolderStore(tmp_path / "store") as store:
        store.add(outcome("k" * 40, **values))
        store.finish()
    with FolderStore(tmp_path / "store") as store:
        assert repr(store.values("k" * 40)) == repr(values)


def test_record_tables_come_back_exactly() -> None:
    tables = {
        "x": pa.table(
            {"t_ns": pa.array([1, None, 3], pa.uint64()), "e": pa.array(["a", "b", "a"]).dictionary_encode()}
        )
    }
    tables |= {"none": tables["x"].slice(0, 0), "y": pa.table({"list": [[1], [], [2, 3]] * 1000})}
    data = encode_tables(tables, "run")
    assert decode_tables(data, "run") == tables
    assert decode_tables(encode_tables({}, "run"), "run") == {}
    assert decode_about(encode_tables(tables, "run", {"digest": "abc"}), "run") == {"digest": "abc"}
    for position in (0, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(ValueError):
            decode_tables(bytes(damaged), "run")
    with pytest.raises(ValueError):
        decode_tables(data, "another run")


def test_a_second_run_does_only_what_is_missing(tmp_path: Path, fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    run_study(study, out=tmp_path / "out")
    assert fake_core.runs == 6
    run_study(study, out=tmp_path / "out")
    assert fake_core.runs == 6
    run_study(study, out=tmp_path / "out", replicates=5)
    assert fake_core.runs == 10
    run_study(study, out=tmp_path / "out", seed=8)
    assert fake_core.runs == 16


def test_another_version_of_the_engine_computes_anew(tmp_path: Path, fake_core: FakeCore) -> None:
    study = Study.from_toml(TEXT)
    run_study(study, out=tmp_path / "out")
    newer = FakeCore(version="fake-2")
    replace_core(newer)
    run_study(study, out=tmp_path / "out")
    assert newer.runs == 6


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_bytes_do_not_depend_on_the_number_of_threads(
    tmp_path: Path, fake_core: FakeCore, threads: int
) -> None:
    study = Study.from_toml(MANY)
    run_study(study, out=tmp_path / "one", threads=1)
    run_study(study, out=tmp_path / "many", threads=threads)
    assert content(tmp_path / "one") == content(tmp_path / "many")


def test_damage_is_named_and_computed_again(tmp_path: Path, fake_core: FakeCore) -> None:
    study, out = Study.from_toml(TEXT), tmp_path / "out"
    run_study(study, out=out)
    whole = content(out)
    pack = bytearray((out / "store/values.pack").read_bytes())
    pack[pack.index(b"{", len(pack) // 2)] ^= 1  # within a line: a line's end would damage two
    (out / "store/values.pack").write_bytes(pack)
    records = sorted((out / "store/records").glob("*/*"))[0]
    records.write_bytes(records.read_bytes()[:-1])
    result = run_study(study, out=out)
    assert (
        7 <= fake_core.runs <= 8
    )  # of the damaged line, and of the damaged tables unless they are one replicate's
    named = " ".join(result.campaign.damaged)
    assert "values.pack, line" in named and records.name in named
    assert content(out) == whole
    assert run_study(study, out=out).campaign.damaged == []


def test_a_torn_line_at_the_end_of_a_journal_is_computed_again(tmp_path: Path, fake_core: FakeCore) -> None:
    with FolderStore(tmp_path) as store:
        store.add(outcome("a" * 40, x=1.0))
        store.add(outcome("b" * 40, x=2.0))
    journal = tmp_path / "journal-1.log"
    journal.write_bytes(journal.read_bytes()[:-5])
    with FolderStore(tmp_path) as store:
        assert "a" * 40 in store and "b" * 40 not in store and store.damaged == []
        store.add(outcome("b" * 40, x=2.0))
        store.finish()
        assert store.values("b" * 40) == {"x": 2.0}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "records", "values.pack"]


def test_a_damaged_line_that_nobody_asks_for_again_leaves_the_pack(tmp_path: Path) -> None:
    with FolderStore(tmp_path) as store:
        for key in "abc":
            store.add(outcome(key * 40, x=1.0))
        store.finish()
    pack = tmp_path / "values.pack"
    whole = pack.read_bytes().splitlines(keepends=True)
    pack.write_bytes(whole[0] + whole[1].replace(b"1", b"2", 1) + whole[2])
    with FolderStore(tmp_path) as store:
        assert len(store.damaged) == 1 and "values.pack, line 2" in store.damaged[0]
        store.finish()
        assert store.values("c" * 40) == {"x": 1.0}
    assert pack.read_bytes() == whole[0] + whole[2]
    with FolderStore(tmp_path) as store:
        assert store.damaged == [] and len(store) == 2


@pytest.mark.parametrize("damaged", [True, False])
def test_records_that_are_damaged_or_missing_cost_their_run_alone(tmp_path: Path, damaged: bool) -> None:
    keys = ["a" * 40, "b" * 40, "c" * 40]
    with FolderStore(tmp_path) as store:
        for key in keys:
            tables = encode_tables({"t": pa.table({"key": [key]})}, key)
            store.add(outcome(key, x=1.0)._replace(records=tables))
        store.finish()
    path = tmp_path / "records" / "bb" / f"{keys[1]}.arrows"
    if damaged:
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.unlink()
    with FolderStore(tmp_path) as store:
        for key in keys:
            store.check_records(key, required=True)
        assert [key in store for key in keys] == [True, False, True]
        assert len(store.damaged) == damaged and not path.exists()


def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    with FolderStore(tmp_path), pytest.raises(OutputError, match="another run is writing"):
        FolderStore(tmp_path)


def test_a_lock_that_a_killed_runs_child_still_has_is_waited_for(tmp_path: Path) -> None:
    held = FolderStore(tmp_path)
    release = threading.Timer(0.2, held.close)
    release.start()
    with FolderStore(tmp_path) as store:
        assert len(store) == 0
    release.join()


def test_a_full_disk_is_said_and_what_is_finished_is_kept(
    tmp_path: Path, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, out = Study.from_toml(MANY), tmp_path / "out"
    add, room = FolderStore.add, [30]

    def add_until_full(store: FolderStore, done: Outcome) -> None:
        room[0] -= 1
        if room[0] < 0:
            from cwndlab.base.writing import output_errors

            with output_errors(store.folder):
                raise OSError(28, "No space left on device")
        add(store, done)

    monkeypatch.setattr(FolderStore, "add", add_until_full)
    with pytest.raises(OutputError, match="disk is full"):
        run_study(study, out=out)
    monkeypatch.undo()
    before = fake_core.runs
    run_study(study, out=out)
    assert fake_core.runs - before == 80 - 30
    run_study(study, out=tmp_path / "plain")
    assert content(out) == content(tmp_path / "plain")


def test_a_real_limit_of_the_file_system_is_said(tmp_path: Path) -> None:
    """A file-size limit fails a write half-way, as a full disk does."""
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]);"
        "from cwndlab.runs.store.folder_store import FolderStore;"
        "from cwndlab.base.errors import OutputError;"
        "from cwndlab.runs.executors.protocol import Job, Outcome; from pathlib import Path;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); store = FolderStore(Path(sys.argv[2]))\n"
        "try:\n"
        "    for i in range(1000):\n"
        "        store.add(Outcome(Job(f'{i:040}', 'c', '{}', 1, 0, False), {'x': 1.5}, 1))\n"
        "except OutputError as error: print(i, error)\n"
    )
    here = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", script, here, tmp_path], capture_output=True, text=True, check=True
    )
    kept = int(done.stdout.split()[0])
    assert "disk is full" in done.stdout and kept > 10
    with FolderStore(tmp_path) as store:
        assert all(f"{i:040}" in store for i in range(kept))


def test_a_kill_while_the_pack_is_written_changes_no_byte(tmp_path: Path, fake_core: FakeCore) -> None:
    study, out = Study.from_toml(TEXT), tmp_path / "out"
    run_study(study, out=out)
    whole = content(out)
    pack = out / "store/values.pack"
    lines = pack.read_bytes().splitlines(keepends=True)
    (out / "store/journal-1.log").write_bytes(
        b"".join(reversed(lines))
    )  # the pack is new, the journal still there
    (out / "store/values.pack.tmp-99").write_bytes(b"half")
    next((out / "store/records").iterdir()).joinpath("a.arrows.tmp-99").write_bytes(b"half")
    (out / "study.toml.tmp-99").write_bytes(b"half")
    run_study(study, out=out)
    assert content(out) == whole and fake_core.runs == 6
    assert list(out.rglob("*.tmp-*")) == [] and list(out.rglob("journal-*")) == []
    pack.write_bytes(b"".join(lines[:2]))  # the pack was not renamed yet
    (out / "store/journal-1.log").write_bytes(b"".join(lines[2:]))
    run_study(study, out=out)
    assert content(out) == whole and fake_core.runs == 6


RUNNER = """
import sys
sys.path.insert(0, sys.argv[1])
from fake_core import FakeCore, replace_core
from cwndlab.results.execution import run_study
from cwndlab.api import Study
replace_core(FakeCore(sleep_s=0.002))
run_study(Study.load(sys.argv[2]), out=sys.argv[3], threads=2)
"""


#: Runs a small study, which imports all that a run needs; then each line on its standard input is a run in a
#: forked child. Prints its id, then its end.
FORKING = RUNNER.replace(
    "run_study(S",
    """
import os
from small_study import TEXT
run_study(Study.from_toml(TEXT), out=sys.argv[3] + "-before")
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr
        run_study(Study.load(sys.argv[2]), out=sys.argv[3], threads=2)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
#""",
)


class Runs:
    """Runs of a study in processes that are killed."""

    def __init__(self, folder: Path) -> None:
        self.store, self.mark = folder / "out/store", folder / "out/provenance.json"
        here = Path(__file__).parent.parent
        command = [sys.executable, "-c", FORKING, here, folder / "study.toml", folder / "out"]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def killed(self, when: Callable[[], bool], delay_s: float) -> bool:
        """Kills a run so long after `when`; whether it was still running."""
        assert self.server.stdin is not None and self.server.stdout is not None
        print(file=self.server.stdin, flush=True)
        child = int(self.server.stdout.readline())
        try:
            while not when():
                os.kill(child, 0)
                time.sleep(0.001)
            time.sleep(delay_s)
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = int(self.server.stdout.readline())
        assert status in (0, signal.SIGKILL)
        return status == signal.SIGKILL

    def writes_values(self) -> Callable[[], bool]:
        """Whether a journal more is there than now."""
        before = len(list(self.store.glob("journal-*.log")))
        return lambda: len(list(self.store.glob("journal-*.log"))) > before

    def writes_report(self) -> Callable[[], bool]:
        """Whether all runs of the next process are over: its report follows."""
        before = self.mark.stat().st_mtime_ns

        def over() -> bool:
            return self.mark.stat().st_mtime_ns > before and "unfinished" not in self.mark.read_text()

        return over

    @property
    def kept(self) -> tuple[int, int]:
        """Values and records that are kept."""
        lines = sum(path.read_bytes().count(b"\n") for path in self.store.glob("journal-*.log"))
        return lines, len(list(self.store.glob("records/*/*.arrows")))


def test_thirty_kills_in_all_phases_lose_nothing_and_change_no_byte(
    tmp_path: Path, fake_core: FakeCore
) -> None:
    study, out = tmp_path / "study.toml", tmp_path / "out"
    study.write_text(edited(("replicates = 3", "replicates = 150")))
    runs, chance = Runs(tmp_path), random.Random(1)
    try:
        before = (0, 0)
        for _ in range(14):
            assert runs.killed(runs.writes_values(), chance.uniform(0, 0.02))
            assert runs.kept >= before
            before = runs.kept
        assert 0 < before[0] < 300
        study.write_text(study.read_text() + '[[quantities]]\nname = "again"\nmetric = "retransmits"\n')
        for k in range(8):
            assert runs.killed(runs.writes_values(), chance.uniform(0, 0.01))
            values, records = runs.kept
            assert values >= before[0] and (k > 0 or records == before[1])  # measured, and nothing run
            before = values, records
        assert not runs.killed(lambda: False, 0)
        reports = 0
        for k in range(40):
            (tmp_path / "README.md").write_text(f"{k}\n")  # a report that is there is not written again
            reports += runs.killed(runs.writes_report(), chance.uniform(0, 0.1))
            if reports == 8:
                break
        assert reports == 8
    finally:
        runs.server.kill()
        runs.server.communicate()
    run_study(Study.load(study), out=out)
    assert fake_core.runs == 0
    run_study(Study.load(study), out=tmp_path / "plain")
    assert content(out) == content(tmp_path / "plain")
    assert (out / "verdicts.csv").read_bytes() == (tmp_path / "plain/verdicts.csv").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == sorted(
        path.name for path in (tmp_path / "plain").iterdir()
    )


def test_ctrl_c_stops_cleanly_and_keeps_what_is_done(tmp_path: Path, fake_core: FakeCore) -> None:
    (tmp_path / "study.toml").write_text(edited(("replicates = 3", "replicates = 2000")))
    out = tmp_path / "out"
    runner = (
        RUNNER.replace("run_study(S", "try:\n    run_study(S")
        + "except KeyboardInterrupt:\n    sys.exit(130)\n"
    )
    command = [
        sys.executable,
        "-c",
        runner,
        str(Path(__file__).parent.parent),
        str(tmp_path / "study.toml"),
        str(out),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    journal = out / "store" / "journal-1.log"
    for _ in range(1000):
        if journal.exists() and journal.stat().st_size > 2000:
            break
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130 and b"Traceback" not in stderr
    kept = journal.read_bytes()
    assert kept.endswith(b"\n") and json.loads(kept.splitlines()[-1].split(b" ", 2)[2])
    with FolderStore(out / "store") as store:
        assert store.damaged == []
