"""Compare captures of others with tcptrace's output: `python -m validation.goldens FOLDER`.

The folder is the user's, such as a clone of blitz/tcptrace, seladb/PcapPlusPlus or the-tcpdump-group/tcpdump;
nothing is downloaded. Every capture below it is diagnosed. If OUTPUTbench next to it contains NAME.long, the
output of `tcptrace -l`, the numbers of data segments, bytes and retransmissions are compared with it; with
`--tcptrace`, also with an installed tcptrace's.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cwndlab.apps.captures.capture_formats import is_capture
from cwndlab.apps.captures.from_capture import read
from cwndlab.apps.diagnosis.conversation import Conversation
from cwndlab.apps.diagnosis.diagnosis import diagnose
from cwndlab.base.errors import StudyError
from cwndlab.base.writing import markdown_lines

REASONS = Path(__file__).with_name("golden_captures.toml")
#: Suffixes of captures, compressed ones included.
_NAMES = re.compile(r"\.(pcap|pcapng|cap|dmp|dump|snoop|snp|erf|netm|epeek\d*|tsh|ntar|zst)(\.gz|\.zst)?$")
_TCPTRACE_S = 60


class Side(NamedTuple):
    """Numbers of data segments, bytes and retransmitted segments that an end sent."""

    segments: int
    bytes: int
    again: int

    @property
    def text(self) -> str:
        """The numbers as a table cell."""
        return f"{self.segments} / {self.bytes} / {self.again}"


def ours(conversations: list[Conversation]) -> list[Side]:
    """What the sender of each connection sent, according to the diagnosis."""
    found = []
    for one in conversations:
        data = [p for p in one.packets if p.out and p.len and not p.unseen and not p.probe]
        highest = again = 0
        for packet in data:
            again += packet.seq < highest
            highest = max(highest, packet.end)
        found.append(Side(len(data), sum(p.len for p in data), again))
    return found


def of_tcptrace(text: str) -> Iterator[list[Side]]:
    """What both ends of each connection sent, from tcptrace's long output."""
    for part in re.split(r"^TCP connection \d+:", text, flags=re.M)[1:]:
        columns = {
            name: [int(number) for number in re.findall(rf"{name}: +(\d+)", part)[:2]]
            for name in ("actual data pkts", "actual data bytes", "rexmt data pkts")
        }
        if all(len(column) == 2 for column in columns.values()):
            yield [Side(*(column[k] for column in columns.values())) for k in (0, 1)]


def compare(conversations: list[Conversation], text: str) -> list[tuple[str, Side, Side]]:
    """The connections whose larger side differs: title, the diagnosis' side, and tcptrace's."""
    made = ours(conversations)
    theirs = [max(sides, key=lambda side: side.bytes) for sides in of_tcptrace(text)]
    if len(made) != len(theirs):
        return [(f"{len(made)} connections, tcptrace {len(theirs)}", Side(0, 0, 0), Side(0, 0, 0))]
    return [
        (f"connection {k + 1}", mine, other)
        for k, (mine, other) in enumerate(zip(made, theirs, strict=True))
        if mine != other
    ]


def captures(folder: Path) -> list[Path]:
    """The captures below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return [path for path in files if _NAMES.search(path.name) or is_capture(path)]


def expected(path: Path, *, run: bool) -> str | None:
    """The output of tcptrace for a capture: a stored one, or that of an installed tcptrace; else None."""
    kept = path.parent / "OUTPUTbench" / f"{path.name}.long"
    if kept.is_file():
        return kept.read_text(errors="replace")
    if not run or shutil.which("tcptrace") is None:
        return None
    try:
        command = ["tcptrace", "-ln", str(path)]
        done = subprocess.run(command, capture_output=True, timeout=_TCPTRACE_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    text = done.stdout.decode(errors="replace")
    return text if done.returncode == 0 and "TCP connection" in text else None


def main() -> int:
    """Prints the table; returns 1 after a crash, or for a difference without a reason."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tcptrace", action="store_true", help="compare with the installed tcptrace, too")
    asked = parser.parse_args()
    reasons: dict[str, str] = tomllib.loads(REASONS.read_text(encoding="utf-8"))["reasons"]
    counts: Counter[str] = Counter()
    rows, unexplained = [], []
    for path in captures(asked.folder):
        try:
            conversations = read(path)
            str(diagnose(conversations))
        except StudyError as error:
            counts["without TCP" if "no TCP segment" in str(error) else "not read"] += 1
            if (text := expected(path, run=False)) is not None:
                theirs = len(list(of_tcptrace(text)))
                reason = reasons.get(path.name)
                if theirs and reason is None:
                    unexplained.append(f"{path}: {error.text}")
                said = f"{theirs} connections" if theirs else "no TCP connection"
                rows.append([path.name, "no connection", said, reason or "" if theirs else ""])
            continue
        except Exception:
            traceback.print_exc()
            counts["crashed"] += 1
            unexplained.append(str(path))
            continue
        counts["explained"] += 1
        text = expected(path, run=asked.tcptrace)
        if text is None:
            continue
        found = compare(conversations, text)
        counts["equal" if not found else "different"] += 1
        for what, mine, other in found[:1]:
            reason = reasons.get(path.name)
            if reason is None:
                unexplained.append(f"{path}: {what}: {mine.text} instead of {other.text}")
            rows.append([path.name, f"{what}: {mine.text}", other.text, reason or "NOT EXPLAINED"])
        if not found:
            rows.append([path.name, "equal", "", ""])
    head = ["capture", "explain: segments / bytes / sent again", "tcptrace", "reason"]
    print("\n".join(markdown_lines(head, rows)))
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    for one in unexplained:
        print(f"not explained: {one}", file=sys.stderr)
    return bool(unexplained)


if __name__ == "__main__":
    sys.exit(main())
