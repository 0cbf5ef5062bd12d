"""Test whether verdicts distinguish wrong models from the right one: `python -m validation.discriminate`.

Rules for verdicts are good if deliberately wrong models fail by them. Each wrong model is the study of a memo
with one fault that contradicts the memo: another TCP, queue or initial window. All models get the same
verdicts as the study. The command prints a table; `--write` puts it into docs/evidence/wrong-models.md. A
test checks a minimum with fewer cells.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cwndlab
from cwndlab.api import Study
from cwndlab.report.contents import collect_outputs
from cwndlab.report.judge import judge
from cwndlab.stats.verdict import Incompatible, Verdict

from .page import replace_part

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "wrong-models.md"
BEGIN, END = "<!-- made by python -m validation.discriminate --write -->", "<!-- end of the table -->"

RIGHT = "as the study has it"
REPLICATES = 10

Changes = Mapping[str, Any]
"""Keys of a study and axes, in the form of `cwndlab run --set`."""


class Memo(NamedTuple):
    """A study with published numbers, and its wrong models."""

    study: str
    title: str
    cells: Changes
    """The cells whose numbers the memo prints."""
    models: Mapping[str, Changes]


#: Linux 6 for the groups of RFC 2415's Table 6, which keep their initial windows.
_TODAY = {f"tcp.groups.iw{iw}": {"profile": "linux-6", "initial_window": iw, "nagle": False} for iw in (1, 3)}

MEMOS: tuple[Memo, ...] = (
    Memo(
        "rfc2415",
        "RFC 2415, Tables 1 to 6",
        {"grid": ["tables_1_to_3", "tables_4_and_5", "table_6"]},
        {
            RIGHT: {},
            "Linux 6 for all connections": {
                "parameters.group": "today",
                "parameters.group_ftp": "today",
                **_TODAY,
            },
            "everything by today's standards": {
                "parameters.access": "2ms",
                "parameters.clock": "syn",
                "parameters.trigger": "whole-primary",
                "parameters.group": "plain",
                "parameters.group_ftp": "plain",
                "parameters.group_iw1": "plain_iw1",
                "parameters.group_iw3": "plain_iw3",
            },
            "RED instead of a FIFO": {
                "topology.links.bottleneck.queue": {
                    "kind": "red",
                    "limit": "25pkt",
                    "min_th": 5.0,
                    "max_th": 15.0,
                    "max_p": 0.1,
                    "w_q": 0.002,
                }
            },
            "a buffer of 50 packets, not 25": {"parameters.buffer": 50},
            "initial windows larger by one": {
                "tcp.initial_window": "= iw + 1",
                "tcp.groups.iw1.initial_window": 2,
                "tcp.groups.iw3.initial_window": 4,
            },
        },
    ),
    Memo(
        "rfc2416",
        "RFC 2416, both listings",
        {"grid": "minute", "variant": "tahoe", "size": ["as-traced", "as-written"], "iw": [1, 4]},
        {
            RIGHT: {},
            "Linux 6": {"tcp.profile": "linux-6"},
            "everything by today's standards": {"tcp.profile": "rfc5681"},
            "RED instead of a FIFO": {
                "topology.links.modem.queue": {
                    "kind": "red",
                    "limit": "3pkt",
                    "min_th": 1.0,
                    "max_th": 2.0,
                    "max_p": 0.1,
                    "w_q": 0.25,
                }
            },
            "four buffers, not three": {
                "topology.links.modem.queue": {
                    "kind": "drop-tail",
                    "limit": "4pkt",
                    "counts_in_service": True,
                }
            },
            "initial windows larger by one": {
                "tcp.groups.larger": {"initial_window": "= iw + 1"},
                "traffic.transfer.tcp": "larger",
            },
        },
    ),
    Memo(
        "rfc2884",
        "RFC 2884, fairness and the gains of Reno",
        {
            "grid": ["fairness", "bulk", "transactions"],
            "background": ["plain", "ecn"],
            "recovery": "reno",
            "size": 5,
            "max_p": [0.02, 0.05, 0.1, 0.2, 0.5],
        },
        {
            RIGHT: {},
            "Linux 6": {"tcp.profile": "linux-6"},
            "everything by today's standards": {"tcp.profile": "rfc5681"},
            "a FIFO instead of RED": {
                "topology.links.bottleneck.forward.queue": {
                    "kind": "cbq",
                    "default": 1,
                    "classes": [
                        {"rate": "10Mbps"},
                        {
                            "parent": 0,
                            "rate": "1.5Mbps",
                            "bounded": True,
                            "queue": {"kind": "drop-tail", "limit": "$limit"},
                        },
                    ],
                }
            },
            "max_th of 30 packets, not 90": {"parameters.max_th": 30},
            "an initial window larger by one": {"tcp.initial_window": 2},
        },
    ),
)


class Outcome(NamedTuple):
    """The verdicts on one model."""

    memo: Memo
    model: str
    verdicts: Counter[Verdict]
    incompatible: Incompatible | None
    claims: Counter[Verdict]

    @property
    def judged(self) -> int:
        """The count of numbers with one of the five verdicts that depend on the runs."""
        return sum(self.verdicts[verdict] for verdict in DECIDED)

    def row(self) -> list[str]:
        """The cells of the table row."""
        counts = [str(self.verdicts[verdict]) for verdict in (*DECIDED, Verdict.NOT_JUDGED)]
        line = ["–", "–"]
        if self.incompatible is not None:
            i = self.incompatible
            line = [f"{i.found} of {i.judged}", f"{i.low} to {i.high}"]
        claims = [str(self.claims[verdict]) for verdict in (Verdict.HOLDS, Verdict.FAILS)]
        return [self.model, *counts, *line, *claims]


DECIDED = (Verdict.AGREES, Verdict.COMPATIBLE, Verdict.CLOSE, Verdict.TREND, Verdict.DIFFERS)
HEAD = (
    *("model", *(verdict.value for verdict in (*DECIDED, Verdict.NOT_JUDGED))),
    *("incompatible", "by chance", "claims that hold", "fail"),
)


def outcome(
    memo: Memo, model: str, replicates: int | None = REPLICATES, cells: Changes | None = None
) -> Outcome:
    """Runs one model of a memo, or only `cells` of it, and judges it."""
    study = Study.load(memo.study)
    changes = {**(memo.cells if cells is None else cells), **memo.models[model]}
    result = cwndlab.run(memo.study, changes=changes, replicates=replicates)
    judged = judge(collect_outputs(result.study, study.folder or Path()), result.results)
    return Outcome(
        memo,
        model,
        Counter(judgement.verdict for judgement in judged.judgements),
        judged.incompatible,
        Counter(c.verdict for c in judged.claims),
    )


def outcomes(only: Sequence[str] = (), replicates: int = REPLICATES) -> Iterator[Outcome]:
    """The outcomes of all models, for all memos or those in `only`."""
    for memo in MEMOS:
        for model in memo.models if not only or memo.study in only else ():
            yield outcome(memo, model, replicates)


def table(found: Sequence[Outcome]) -> str:
    """The outcomes as a Markdown table for each memo."""
    lines = []
    for memo in MEMOS:
        rows = [one.row() for one in found if one.memo is memo]
        if rows:
            lines += [f"**{memo.title}**", "", "| " + " | ".join(HEAD) + " |"]
            lines += ["|---|" + "---:|" * (len(HEAD) - 1)]
            lines += ["| " + " | ".join(row) + " |" for row in rows] + [""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and write it if requested."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "studies", nargs="*", choices=[[], *(memo.study for memo in MEMOS)], help="default: all"
    )
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--write", action="store_true", help="put it into docs/evidence/wrong-models.md")
    asked = parser.parse_args(arguments)
    found = []
    for one in outcomes(asked.studies, asked.replicates):
        found.append(one)
        print("  ".join([one.memo.study, *one.row()]), file=sys.stderr, flush=True)
    text = table(found)
    print(text)
    if asked.write:
        replace_part(PAGE, BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
