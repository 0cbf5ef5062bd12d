"""Whatever happens to its files, a store returns what was put in, asks for it again, or reports an error."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cwndlab.base.arrow_tables import encode_tables
from cwndlab.base.errors import OutputError
from cwndlab.runs.executors.protocol import Job, Outcome
from cwndlab.runs.store.folder_store import FolderStore
from fuzzing import Answers, tries

KEYS = [f"{prefix}{k:039}" for k, prefix in enumerate("aab")]
NAMES = [
    "journal-x.log",
    "journal-3.log",
    "values.pack",
    "values.pack.tmp-9",
    "records/zz",
    "records",
    "lock",
    "a b",
]


def outcome(key: str) -> Outcome:
    tables = {"objects": pa.table({"key": [key] * 3})}
    return Outcome(
        Job(key, "cell", "{}", 1, 0, keep_records=True), {"x": 1.5, "y": [2.0]}, 1, encode_tables(tables, key)
    )


OUTCOMES = {key: outcome(key) for key in KEYS}


def make(folder: Path) -> None:
    """A store with a pack, and a journal that a killed run left."""
    with FolderStore(folder) as store:
        for key in KEYS[:2]:
            store.add(OUTCOMES[key])
        store.finish()
    with FolderStore(folder) as store:
        store.add(OUTCOMES[KEYS[2]])


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def damage(folder: Path, action: str, which: int, other: int, place: int, content: bytes) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        return
    path, second = files[which % len(files)], files[other % len(files)]
    data = path.read_bytes()
    match action:
        case "truncate":
            path.write_bytes(data[: place % (len(data) + 1)])
        case "flip" if data:
            at = place % len(data)
            path.write_bytes(data[:at] + bytes([data[at] ^ (1 << (other % 8))]) + data[at + 1 :])
        case "insert":
            at = place % (len(data) + 1)
            path.write_bytes(data[:at] + content + data[at:])
        case "swap":
            after = second.read_bytes()
            second.write_bytes(data)
            path.write_bytes(after)
        case "append":
            path.write_bytes(data + second.read_bytes())
        case "folder":
            remove(path)
            path.mkdir()
            (path / "inside").write_bytes(content)
        case "remove":
            remove(path)
        case "foreign" | "foreign folder":
            new = folder / NAMES[place % len(NAMES)]
            if new.parent.is_file():  # by an earlier damage
                return
            remove(new)
            if action == "foreign":
                new.write_bytes(content)
            else:
                new.mkdir(parents=True)


def check(store: FolderStore) -> None:
    """What the store has is what was put in; nothing else."""
    for key, put in OUTCOMES.items():
        store.check_records(key, required=True)
        if key in store:
            assert store.values(key) == put.values
            assert store.records(key) == put.records


ACTIONS = ["truncate", "flip", "insert", "swap", "append", "folder", "remove", "foreign", "foreign folder"]
numbers = st.integers(0, 2000)


def test_a_damaged_store_gives_what_was_put_in_or_says_what_is_wrong() -> None:
    answers, kept = Answers(), Counter[int]()

    def use(folder: Path) -> None:
        with FolderStore(folder, read_only=True) as reader:
            check(reader)
            kept[len([key for key in KEYS if key in reader])] += 1
        with FolderStore(folder) as store:
            check(store)
            for key, put in OUTCOMES.items():
                if key not in store:
                    store.add(put)
            store.finish()
            check(store)
            assert set(KEYS) == {key for key in KEYS if key in store}
        with FolderStore(folder, read_only=True) as again:
            assert set(KEYS) == {key for key in KEYS if key in again}
            assert not again.damaged

    @tries(15)
    @given(
        st.lists(
            st.tuples(st.sampled_from(ACTIONS), numbers, numbers, numbers, st.binary(max_size=40)), max_size=3
        )
    )
    def damage_and_use(damages: list[tuple[str, int, int, int, bytes]]) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "store"
            make(folder)
            for each in damages:
                damage(folder, *each)
            with answers.counted(OutputError):
                try:
                    use(folder)
                except OutputError as error:
                    assert str(folder) in str(error)
                    raise

    damage_and_use()
    answers.check(accepted=0.2, rejected=0.0)
    assert kept[len(KEYS)] and len(kept) > 1, f"runs that were kept, and how often: {kept}"
